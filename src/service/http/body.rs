//! Reads the body of a request into memory.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;

use super::budget::Reservation;
use super::errors::Failure;
use crate::service::auth::signature::SignatureCheck;
use crate::service::options::ServiceOptions;

/// The body of a request in memory, with its memory reservation.
pub(in crate::service) struct Buffered {
    pub(in crate::service) bytes: Bytes,
    _reservation: Option<Reservation>,
}

/// The memory limits for reading a body.
pub(in crate::service) struct BodyMemory {
    /// False for a request that will be rejected. The bytes of its body are dropped when they arrive.
    ///
    /// The request still gets 503 if buffering its body would get 503. So the response does not reveal which tokens exist.
    pub(in crate::service) is_buffered: bool,
    /// The bytes that every body may use without a reservation.
    pub(in crate::service) allowance: usize,
    /// The reservation for all bytes beyond the allowance.
    pub(in crate::service) reservation: Reservation,
}

/// Reads a body to its end, and adds its bytes to the signature check. If the body is not buffered, the result is empty.
///
/// # Errors
/// Returns an error with status 413 if the body exceeds the limit, and 408 if it is too slow. The status is 503 if there is no free
/// memory, and 400 if the body ends early.
pub(in crate::service) async fn read(
    body: Body,
    headers: &HeaderMap,
    options: &ServiceOptions,
    memory: BodyMemory,
    signed: &mut SignatureCheck<'_>,
) -> Result<Buffered, Failure> {
    if body.is_end_stream() {
        return Ok(Buffered { bytes: Bytes::new(), _reservation: None });
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
    let mut reading = pin!(collect(&mut body, limit, memory, signed));
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
    mut memory: BodyMemory,
    signed: &mut SignatureCheck<'_>,
) -> Result<Buffered, Failure> {
    let mut size: usize = 0;
    let mut first = Bytes::new();
    let mut all: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            let description = "the body of the request ends early or has invalid framing";
            Failure::new(StatusCode::BAD_REQUEST, description).closing()
        })?;
        let Ok(bytes) = frame.into_data() else { continue };
        let before = size;
        size = size.saturating_add(bytes.len());
        if size > limit {
            drain(body, limit).await;
            return Err(too_large(None, limit));
        }
        signed.update(&bytes);
        let BodyMemory { is_buffered, allowance, reservation } = &mut memory;
        let beyond = size.saturating_sub(before.max(*allowance));
        let fits = match *is_buffered {
            true => beyond == 0 || reservation.grow(beyond),
            false => beyond == 0 || reservation.could_reserve(size.saturating_sub(*allowance)),
        };
        if !fits {
            return Err(Failure::overloaded().closing());
        }
        if !*is_buffered {
            continue;
        }
        if first.is_empty() && all.is_empty() {
            first = bytes;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&bytes);
        }
    }
    let bytes = if all.is_empty() { first } else { Bytes::from(all) };
    Ok(Buffered { bytes, _reservation: Some(memory.reservation) })
}

fn too_large(found: Option<u64>, limit: usize) -> Failure {
    let found = found.map_or_else(|| "more".to_owned(), |found| format!("{found} bytes"));
    let description = format!("found a body of {found}, expected at most {limit} bytes");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, description).closing()
}
