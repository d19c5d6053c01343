//! The body of a request, as it came over the wire.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;

use super::budget::Hold;
use super::errors::Failure;
use crate::service::auth::signature::Signed;
use crate::service::options::ServiceOptions;

/// A body in memory, for which room was made.
pub(in crate::service) struct Buffered {
    pub(in crate::service) bytes: Bytes,
    _room: Option<Hold>,
}

/// The room for a body.
pub(in crate::service) struct Room {
    /// Whether the bytes are kept. Those of a request that is refused in any case are not, but its client is told as all
    /// others are when there would be no room, so that the answer does not tell which tokens are known.
    pub(in crate::service) is_kept: bool,
    /// The bytes that every body may have.
    pub(in crate::service) allowance: usize,
    /// Where the rest comes from.
    pub(in crate::service) hold: Hold,
}

/// Reads a body to its end, through its signature; one that is not kept is empty then.
///
/// # Errors
/// 413 when it is too large, 408 when it takes too long, 503 when there is no room, 400 when the client breaks off.
pub(in crate::service) async fn read(
    body: Body,
    headers: &HeaderMap,
    options: &ServiceOptions,
    room: Room,
    signed: &mut Signed<'_>,
) -> Result<Buffered, Failure> {
    if body.is_end_stream() {
        return Ok(Buffered { bytes: Bytes::new(), _room: None });
    }
    let most = options.limits.body_bytes;
    let announced = body.size_hint().lower();
    let mut body = body;
    if announced > most as u64 {
        // Who asks first whether to send it is told now.
        if !headers.contains_key(header::EXPECT) {
            drain(&mut body, most).await;
        }
        return Err(too_large(Some(announced), most));
    }
    let mut reading = pin!(collect(&mut body, most, room, signed));
    // Most bodies came with the head, and no clock is needed.
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

/// Throws away some of a body: a client that is still sending when the connection is closed may never see the answer.
async fn drain(body: &mut Body, most: usize) {
    let mut left = most.saturating_mul(4);
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
    most: usize,
    mut room: Room,
    signed: &mut Signed<'_>,
) -> Result<Buffered, Failure> {
    let mut size: usize = 0;
    let mut first = Bytes::new();
    let mut all: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            Failure::new(StatusCode::BAD_REQUEST, "the body of the request breaks off, or is not well framed")
                .closing()
        })?;
        let Ok(bytes) = frame.into_data() else { continue };
        let before = size;
        size = size.saturating_add(bytes.len());
        if size > most {
            drain(body, most).await;
            return Err(too_large(None, most));
        }
        signed.pass(&bytes);
        let Room { is_kept, allowance, hold } = &mut room;
        let beyond = size.saturating_sub(before.max(*allowance));
        let fits = match *is_kept {
            true => beyond == 0 || hold.grow(beyond),
            false => beyond == 0 || hold.has_room(size.saturating_sub(*allowance)),
        };
        if !fits {
            return Err(Failure::overloaded().closing());
        }
        if !*is_kept {
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
    Ok(Buffered { bytes, _room: Some(room.hold) })
}

fn too_large(found: Option<u64>, most: usize) -> Failure {
    let found = found.map_or_else(|| "more".to_owned(), |found| format!("{found} bytes"));
    let description = format!("found a body of {found}, expected at most {most} bytes");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, description).closing()
}
