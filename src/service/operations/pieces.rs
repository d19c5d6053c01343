//! Large pages of cases, sent in pieces while they are read.
//!
//! Each piece is read when the connection can take one, on a thread that does not wait for the client. Before the first one
//! is sent, all documents are measured, a slice at a time: others have their turn after each.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};

use super::pages::{PIECE_BYTES, Rest, too_large};
use crate::service::http::budget::Hold;
use crate::service::http::errors::Failure;
use crate::service::http::transport::Due;
use crate::service::state::ServiceState;

impl Rest {
    /// Makes the body of an answer that begins with `first`.
    ///
    /// # Errors
    /// 400 when the answer is larger than one may be; 503 when the token has no room for more answers at a time; faults of the
    /// file.
    pub(super) async fn send(
        self,
        first: String,
        shared: &Arc<ServiceState>,
        mut hold: Hold,
        due: Due,
    ) -> Result<Body, Failure> {
        // One piece that is being written and one that is being read.
        if !hold.reach(PIECE_BYTES.saturating_mul(2)) {
            return Err(Failure::overloaded());
        }
        let most = shared.options.answer_bytes;
        let mut size = self.size(first.len());
        let mut rest = self;
        while !rest.is_measured(&size) && !size.passes {
            (rest, size) = shared
                .bulk(move |shared| {
                    let size = rest.measure(&shared.store, size, most)?;
                    Ok((rest, size))
                })
                .await?;
        }
        if size.passes {
            return Err(too_large(size.next, most));
        }
        if !hold.reach(size.largest.max(PIECE_BYTES).saturating_mul(2)) {
            return Err(Failure::overloaded());
        }
        due.begin();
        let (shared, hold) = (Arc::clone(shared), Arc::new(hold));
        let state = State::First(first, Reader { shared, rest, hold });
        Ok(Body::new(Pieces { state, left: size.bytes as u64, due }))
    }
}

/// What pieces are read with.
struct Reader {
    shared: Arc<ServiceState>,
    rest: Rest,
    hold: Arc<Hold>,
}

/// The body of an answer that is read piece by piece.
struct Pieces {
    state: State,
    /// The bytes that are still to be sent.
    left: u64,
    due: Due,
}

type Reading = Pin<Box<dyn Future<Output = Result<(String, Reader), Failure>> + Send>>;

enum State {
    /// The first piece, which was read with the search.
    First(String, Reader),
    Idle(Reader),
    Reading(Reading),
    Ended,
}

/// A piece in memory, for which its token has room.
struct Piece {
    text: String,
    _hold: Arc<Hold>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Reader {
    async fn read(self) -> Result<(String, Self), Failure> {
        let shared = Arc::clone(&self.shared);
        let mut reader = self;
        let read = move |shared: &ServiceState| {
            let text = reader.rest.piece(&shared.store)?;
            Ok((text, reader))
        };
        shared.bulk(read).await
    }
}

impl Pieces {
    /// Sends a piece.
    fn send(&mut self, text: String, reader: Reader) -> Frame<Bytes> {
        self.left = self.left.saturating_sub(text.len() as u64);
        let bytes = Bytes::from_owner(Piece { text, _hold: Arc::clone(&reader.hold) });
        self.state = if reader.rest.is_read() { State::Ended } else { State::Idle(reader) };
        Frame::data(bytes)
    }
}

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::First(text, reader) => return Poll::Ready(Some(Ok(self.send(text, reader)))),
                State::Idle(reader) => self.state = State::Reading(Box::pin(reader.read())),
                State::Reading(mut reading) => {
                    let Poll::Ready(read) = reading.as_mut().poll(context) else {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    };
                    let frame = read.map(|(text, reader)| self.send(text, reader));
                    return Poll::Ready(Some(frame.map_err(BrokenOff::log)));
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.due.end();
    }
}

/// The rest of an answer could not be read: its connection is closed.
#[derive(Debug)]
struct BrokenOff;

impl BrokenOff {
    fn log(failure: Failure) -> Self {
        let cause = failure.cause().unwrap_or(failure.description());
        tracing::error!(cause, "an answer was broken off");
        Self
    }
}

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the rest of an answer could not be read")
    }
}

impl std::error::Error for BrokenOff {}
