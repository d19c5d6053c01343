//! Receives the body of a request.
//!
//! The signature covers the body, so it is computed as the body arrives. Until it is verified, only a small part of the body is in
//! memory; the rest is in a temporary file.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;

use super::body_spool::SpooledBody;
use super::budget::Reservation;
use super::errors::Failure;
use crate::service::auth::signature::SignatureCheck;
use crate::service::options::ServiceOptions;

/// A complete body whose signature is not verified yet.
///
/// If the body is larger than the allowance, its beginning is in a temporary file.
pub(in crate::service) struct Received {
    spooled: SpooledBody,
    /// The rest of the body, after the beginning that is in the file.
    rest: Bytes,
}

/// The body of a request in memory, with its memory reservation.
pub(in crate::service) struct Buffered {
    pub(in crate::service) bytes: Bytes,
    _reservation: Reservation,
}

/// The way in which the bytes of a body are kept: in memory, in a temporary file, or not at all.
pub(in crate::service) struct Keeping {
    /// False for a request that will be rejected. The bytes of its body are dropped when they arrive.
    ///
    /// If the request would get 503 with this set to true, it also gets 503 with false. So the response does not reveal which
    /// tokens exist.
    pub(in crate::service) is_kept: bool,
    /// The maximum number of bytes that are kept in memory. The last frame of the body is kept in addition.
    pub(in crate::service) allowance: usize,
    /// The temporary file for all other bytes.
    pub(in crate::service) spooled: SpooledBody,
}

impl Received {
    /// Reads the body of a verified request into memory.
    ///
    /// # Errors
    /// Returns 503 if there is no memory for the bytes beyond the allowance, or if the temporary file cannot be read.
    pub(in crate::service) async fn into_memory(
        self,
        mut reservation: Reservation,
        allowance: usize,
    ) -> Result<Buffered, Failure> {
        let Self { spooled, rest } = self;
        let size = spooled.len().saturating_add(rest.len());
        if !reservation.grow_to(size.saturating_sub(allowance)) {
            return Err(Failure::overloaded());
        }
        let bytes = if spooled.len() == 0 { rest } else { Bytes::from(spooled.read(rest).await?) };
        Ok(Buffered { bytes, _reservation: reservation })
    }
}

/// Reads a body to its end, and adds its bytes to the signature check. If the body is not kept, the result is empty.
///
/// # Errors
/// Returns an error with status 413 if the body exceeds the limit, and 408 if it is too slow. The status is 503 if the body cannot
/// be spooled, and 400 if it ends early.
pub(in crate::service) async fn receive(
    body: Body,
    headers: &HeaderMap,
    options: &ServiceOptions,
    keeping: Keeping,
    signed: &mut SignatureCheck<'_>,
) -> Result<Received, Failure> {
    if body.is_end_stream() {
        return Ok(Received { spooled: keeping.spooled, rest: Bytes::new() });
    }
    let limit = options.limits.body_bytes;
    let announced = body.size_hint().lower();
    let mut body = body;
    if announced > limit as u64 {
        // A client with `Expect: 100-continue` has not sent the body yet.
        if !headers.contains_key(header::EXPECT) {
            drain(&mut body, limit).await;
        }
        return Err(too_large(Some(announced), limit));
    }
    let mut reading = pin!(collect(&mut body, limit, keeping, signed));
    // Most bodies arrive together with the head. Then no timer is needed.
    if let Poll::Ready(read) = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await {
        return read;
    }
    match tokio::time::timeout(options.read_timeout, reading).await {
        Ok(read) => read,
        Err(_) => {
            let description = "the body of the request did not arrive in time";
            Err(Failure::new(StatusCode::REQUEST_TIMEOUT, description).closing())
        }
    }
}

/// Reads and discards up to four times the body limit, for at most two seconds.
///
/// Without this, a client that is still sending when the connection is closed may never see the response.
async fn drain(body: &mut Body, limit: usize) {
    let mut left = limit.saturating_mul(4);
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), read).await;
}

async fn collect(
    body: &mut Body,
    limit: usize,
    keeping: Keeping,
    signed: &mut SignatureCheck<'_>,
) -> Result<Received, Failure> {
    let Keeping { is_kept, allowance, mut spooled } = keeping;
    let mut size: usize = 0;
    // The bytes that are not in the file: they are in memory, or would be in memory if the body were kept. The buffer is empty if
    // the body is not kept.
    let (mut pending, mut pending_bytes) = (Pending::default(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            let description = "the body of the request ends early or has invalid framing";
            Failure::new(StatusCode::BAD_REQUEST, description).closing()
        })?;
        let Ok(bytes) = frame.into_data() else { continue };
        size = size.saturating_add(bytes.len());
        if size > limit {
            drain(body, limit).await;
            return Err(too_large(None, limit));
        }
        signed.update(&bytes);
        pending_bytes = pending_bytes.saturating_add(bytes.len());
        // The last frame stays in memory: the signature is verified next.
        if pending_bytes <= allowance || body.is_end_stream() {
            if is_kept {
                pending.push(bytes);
            }
            continue;
        }
        pending_bytes = 0;
        let written = match is_kept {
            true => spooled.write([std::mem::take(&mut pending).into_bytes(), bytes]).await,
            false => spooled.could_write(size).map(|()| spooled),
        };
        spooled = match written {
            Ok(spooled) => spooled,
            Err(failure) => {
                if failure.is_spool_fault() {
                    drain(body, limit).await;
                }
                return Err(failure.closing());
            }
        };
    }
    Ok(Received { spooled, rest: pending.into_bytes() })
}

/// Bytes in memory. The bytes of a single frame are not copied.
#[derive(Default)]
struct Pending {
    first: Bytes,
    all: Vec<u8>,
}

impl Pending {
    fn push(&mut self, bytes: Bytes) {
        if self.first.is_empty() && self.all.is_empty() {
            self.first = bytes;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&bytes);
    }

    fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { Bytes::from(self.all) }
    }
}

fn too_large(found: Option<u64>, limit: usize) -> Failure {
    let found = found.map_or_else(|| "more".to_owned(), |found| format!("{found} bytes"));
    let description = format!("found a body of {found}, expected at most {limit} bytes");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, description).closing()
}
