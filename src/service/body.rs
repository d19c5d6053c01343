//! The body of a request, as it came over the wire.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::envelope::Failure;
use super::options::ServiceOptions;

/// A body in memory, for which room was made.
pub(super) struct Buffered<'b> {
    pub(super) bytes: Bytes,
    _room: Option<SemaphorePermit<'b>>,
}

/// What takes the bytes of a body that nobody keeps.
pub(super) type PassOver<'p> = &'p mut (dyn FnMut(&[u8]) + Send);

/// Reads a body to its end; one that is passed `over` takes no room, though there has to be some, and is empty then.
///
/// # Errors
/// 413 when it is too large, 408 when it takes too long, 503 when there is no room, 400 when the client breaks off.
pub(super) async fn read<'b>(
    body: Body,
    headers: &HeaderMap,
    options: &ServiceOptions,
    room: &'b Semaphore,
    over: Option<PassOver<'_>>,
) -> Result<Buffered<'b>, Failure> {
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
    let mut reading = pin!(collect(&mut body, most, room, over));
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

async fn collect<'b>(
    body: &mut Body,
    most: usize,
    room: &'b Semaphore,
    mut over: Option<PassOver<'_>>,
) -> Result<Buffered<'b>, Failure> {
    let mut taken: Option<SemaphorePermit<'_>> = None;
    let mut size: usize = 0;
    let mut first = Bytes::new();
    let mut all: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            Failure::new(StatusCode::BAD_REQUEST, "the body of the request breaks off, or is not well framed")
                .closing()
        })?;
        let Ok(bytes) = frame.into_data() else { continue };
        size = size.saturating_add(bytes.len());
        if size > most {
            drain(body, most).await;
            return Err(too_large(None, most));
        }
        if let Some(over) = &mut over {
            // Told as everyone is that there is no room, though none is taken.
            if room.available_permits() < bytes.len() {
                return Err(Failure::overloaded().closing());
            }
            over(&bytes);
            continue;
        }
        let more = u32::try_from(bytes.len()).ok().and_then(|size| room.try_acquire_many(size).ok());
        let more = more.ok_or_else(|| Failure::overloaded().closing())?;
        match &mut taken {
            Some(taken) => taken.merge(more),
            None => taken = Some(more),
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
    Ok(Buffered { bytes, _room: taken })
}

fn too_large(found: Option<u64>, most: usize) -> Failure {
    let found = found.map_or_else(|| "more".to_owned(), |found| format!("{found} bytes"));
    let description = format!("found a body of {found}, expected at most {most} bytes");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, description).closing()
}
