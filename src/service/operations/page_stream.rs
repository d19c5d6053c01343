//! Streams large pages of cases as response bodies, chunk by chunk.
//!
//! Each chunk is read on a blocking thread, but only when the connection can accept a chunk. So no thread waits for a client. All
//! documents of the page are measured before the first chunk is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};

use super::pages::{CHUNK_BYTES, Rest, too_large};
use crate::service::http::budget::Reservation;
use crate::service::http::errors::Failure;
use crate::service::http::write_timeout::ResponseDeadline;
use crate::service::state::ServiceState;

impl Rest {
    /// Creates a response body that starts with the text `first`, and continues with the rest of the page.
    ///
    /// # Errors
    /// Returns an error with status 400 if the response exceeds its size limit, and with status 503 if the share of memory of the
    /// token is used up. Returns an error if the file cannot be read.
    pub(super) async fn stream(
        self,
        first: String,
        shared: &Arc<ServiceState>,
        mut reservation: Reservation,
        deadline: ResponseDeadline,
    ) -> Result<Body, Failure> {
        // Two chunks may be in memory: the connection writes one chunk while the next chunk is read.
        if !reservation.grow_to(CHUNK_BYTES.saturating_mul(2)) {
            return Err(Failure::overloaded());
        }
        let max_bytes = shared.options.max_response_bytes;
        let mut size = self.size(first.len());
        let mut rest = self;
        while !rest.is_measured(&size) && !size.is_over {
            (rest, size) = shared
                .read_page_part(move |shared| {
                    let size = rest.measure(&shared.store, size, max_bytes);
                    let size = size.inspect_err(|failure| shared.count_if_stopped(failure, &rest.stop))?;
                    Ok((rest, size))
                })
                .await?;
        }
        if size.is_over {
            return Err(too_large(size.next, max_bytes));
        }
        if !reservation.grow_to(size.largest.max(CHUNK_BYTES).saturating_mul(2)) {
            return Err(Failure::overloaded());
        }
        deadline.begin();
        let (shared, reservation) = (Arc::clone(shared), Arc::new(reservation));
        let state = StreamState::First(first, Reader { shared, rest, reservation });
        Ok(Body::new(PageStream { state, remaining: size.bytes as u64, deadline }))
    }
}

/// A reader of the remaining chunks of one page.
struct Reader {
    shared: Arc<ServiceState>,
    rest: Rest,
    reservation: Arc<Reservation>,
}

/// A response body that reads its chunks when the connection needs them.
struct PageStream {
    state: StreamState,
    /// The number of bytes that have not been sent yet.
    remaining: u64,
    deadline: ResponseDeadline,
}

type Reading = Pin<Box<dyn Future<Output = Result<(String, Reader), Failure>> + Send>>;

enum StreamState {
    /// The body has not returned the first chunk yet. The search has already read it.
    First(String, Reader),
    Idle(Reader),
    Reading(Reading),
    Ended,
}

/// A chunk in memory, with the memory reservation of its response.
struct Chunk {
    text: String,
    _reservation: Arc<Reservation>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Reader {
    async fn read(self) -> Result<(String, Self), Failure> {
        let shared = Arc::clone(&self.shared);
        let mut reader = self;
        let read = move |shared: &ServiceState| {
            let text = reader.rest.next_chunk(&shared.store)?;
            Ok((text, reader))
        };
        shared.read_page_part(read).await
    }
}

impl PageStream {
    /// Wraps a chunk in an HTTP frame, and updates the state.
    fn frame(&mut self, text: String, reader: Reader) -> Frame<Bytes> {
        self.remaining = self.remaining.saturating_sub(text.len() as u64);
        let bytes = Bytes::from_owner(Chunk { text, _reservation: Arc::clone(&reader.reservation) });
        self.state = if reader.rest.is_read() { StreamState::Ended } else { StreamState::Idle(reader) };
        Frame::data(bytes)
    }
}

impl hyper::body::Body for PageStream {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        loop {
            match std::mem::replace(&mut self.state, StreamState::Ended) {
                StreamState::First(text, reader) => return Poll::Ready(Some(Ok(self.frame(text, reader)))),
                StreamState::Idle(reader) => self.state = StreamState::Reading(Box::pin(reader.read())),
                StreamState::Reading(mut reading) => {
                    let Poll::Ready(read) = reading.as_mut().poll(context) else {
                        self.state = StreamState::Reading(reading);
                        return Poll::Pending;
                    };
                    let frame = read.map(|(text, reader)| self.frame(text, reader));
                    return Poll::Ready(Some(frame.map_err(StreamError::log)));
                }
                StreamState::Ended => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, StreamState::Ended)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}

impl Drop for PageStream {
    fn drop(&mut self) {
        self.deadline.end();
    }
}

/// The error for a chunk that could not be read. It makes hyper close the connection.
#[derive(Debug)]
struct StreamError;

impl StreamError {
    /// Logs the cause of the failure.
    fn log(failure: Failure) -> Self {
        let cause = failure.cause().unwrap_or(failure.description());
        tracing::error!(cause, "cannot read the rest of a response; the connection is closed");
        Self
    }
}

impl std::fmt::Display for StreamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cannot read the rest of the response")
    }
}

impl std::error::Error for StreamError {}
