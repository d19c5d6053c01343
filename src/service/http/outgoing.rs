//! The memory budget for response bodies that are being sent.

use std::sync::Arc;

use axum::body::{Body, Bytes};

use super::budget::{Account, Budget, Reservation};
use super::errors::Failure;
use crate::service::auth::in_flight::RequestBytes;
use crate::service::auth::tokens::AppToken;

/// The number of bytes of each response that do not count. This is about the size of a connection's send buffer in the system.
const FREE_BYTES: usize = 32 << 10;

/// The memory budget for responses that are being sent. Each token may use at most half of it.
pub(in crate::service) struct Outgoing(Arc<Budget>);

/// The bytes of a response, with the memory reservation for them.
struct ReservedBytes {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Outgoing {
    pub(in crate::service) fn new(bytes: usize) -> Self {
        Self(Budget::new(bytes))
    }

    /// Returns an empty reservation for the response to a request of a client with this token.
    pub(in crate::service) fn reserve(
        &self,
        token: &Arc<AppToken>,
        in_flight: &Arc<RequestBytes>,
    ) -> Reservation {
        self.0.reserve_within(Account { token: token.address(), peer: None }, in_flight)
    }

    /// Returns the number of reserved bytes.
    pub(in crate::service) fn reserved_bytes(&self) -> usize {
        self.0.reserved_bytes()
    }

    /// Returns the length of the largest response for which a token can reserve memory.
    pub(in crate::service) fn most(&self) -> usize {
        self.0.most().saturating_add(FREE_BYTES)
    }

    /// Reserves memory for a response of `len` bytes. Returns false if the share of the token is used up.
    pub(in crate::service) fn grow_to(reservation: &mut Reservation, len: usize) -> bool {
        reservation.grow_to(len.saturating_sub(FREE_BYTES))
    }

    /// Creates a response body from bytes in memory. Releases reserved bytes that the body does not need.
    ///
    /// # Errors
    /// Returns an error with status 503 if the share of the token is used up.
    pub(in crate::service) fn body(mut reservation: Reservation, bytes: Vec<u8>) -> Result<Body, Failure> {
        reservation.shrink_to(bytes.len().saturating_sub(FREE_BYTES));
        if !Self::grow_to(&mut reservation, bytes.len()) {
            return Err(Failure::overloaded());
        }
        if bytes.len() <= FREE_BYTES {
            return Ok(Body::from(bytes));
        }
        Ok(Body::from(Bytes::from_owner(ReservedBytes { bytes, _reservation: reservation })))
    }
}
