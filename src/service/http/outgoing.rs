//! Memory for answers on their way out.

use std::sync::Arc;

use axum::body::{Body, Bytes};

use super::budget::{Account, Budget, Hold};
use super::errors::Failure;
use crate::service::auth::tokens::AppToken;

/// The bytes that every answer may have: about what the system buffers for a connection.
const ANSWER_ALLOWANCE: usize = 32 << 10;

/// Bytes of answers on their way out, beyond what every answer may have. One token gets at most half.
pub(in crate::service) struct Outgoing(Arc<Budget>);

/// An answer in memory, for which its token has room.
struct Held {
    bytes: Vec<u8>,
    _hold: Hold,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Outgoing {
    pub(in crate::service) fn new(bytes: usize) -> Self {
        Self(Budget::new(bytes))
    }

    /// The bytes of answers to a token: none yet.
    pub(in crate::service) fn hold(&self, token: &Arc<AppToken>) -> Hold {
        self.0.hold(Account { token: Arc::as_ptr(token).addr(), peer: None })
    }

    /// How many bytes are held.
    pub(in crate::service) fn held_bytes(&self) -> usize {
        self.0.held_bytes()
    }

    /// Takes room for an answer in memory of so many bytes; false when there is none.
    pub(in crate::service) fn has_room(hold: &mut Hold, bytes: usize) -> bool {
        hold.reach(bytes.saturating_sub(ANSWER_ALLOWANCE))
    }

    /// Makes the body of an answer that is in memory. What `hold` has beyond that is given back.
    ///
    /// # Errors
    /// 503 when the token has no room for more answers at a time.
    pub(in crate::service) fn whole(mut hold: Hold, bytes: Vec<u8>) -> Result<Body, Failure> {
        hold.shrink_to(bytes.len().saturating_sub(ANSWER_ALLOWANCE));
        if !Self::has_room(&mut hold, bytes.len()) {
            return Err(Failure::overloaded());
        }
        if bytes.len() <= ANSWER_ALLOWANCE {
            return Ok(Body::from(bytes));
        }
        Ok(Body::from(Bytes::from_owner(Held { bytes, _hold: hold })))
    }
}
