//! The requests of one HTTP/2 connection, and the pieces of their responses that have not been sent yet.
//!
//! hyper hands a piece of a response to the crate `h2`, which keeps it until the windows of the client and the socket have room.
//! Then nothing else knows of the piece, and the future of its request may have ended. So each [`Piece`] notes when it is dropped.
//! `h2` drops it when it has given the last byte to the stream of the connection. A request ends when all pieces of its response
//! have been dropped. The stream of the connection has a time limit of its own for the bytes that wait in it.

use std::collections::BTreeSet;
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use bytes::Buf;
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

use super::places::{Counted, Place};
use super::write_timeout::ResponseDeadline;

/// The requests and the unsent pieces of one connection.
pub(super) struct Streams(Mutex<State>);

struct State {
    /// The number of requests whose response has not been sent completely yet.
    requests: usize,
    /// The time at which the last request ended, or the connection began. Used only while there is no request.
    idle_since: Instant,
    /// The time after which requests are refused and do not prolong the connection, if the client was asked to close it.
    end: Option<Instant>,
    /// True if a request uses the place of the connection.
    has_taken_place: bool,
    /// The deadlines of the pieces that have not been sent yet, each with the number of the piece.
    unsent: BTreeSet<(Instant, u64)>,
    /// The number of all pieces so far.
    pieces: u64,
}

/// An action that is due on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A piece was not sent before its deadline.
    Late,
    /// There has been no request for the given time.
    Idle,
    /// No action is due before this time.
    At(Instant),
}

/// The place that a request uses.
pub(super) enum RequestPlace {
    /// The place of its connection.
    OfConnection,
    /// A place of its own.
    Own { _place: Place, _counted: Counted },
    /// The request has no place, and is rejected.
    Missing,
}

/// A request, from its head until its response has been sent.
pub(in crate::service) struct OpenRequest {
    streams: Arc<Streams>,
    place: RequestPlace,
    /// True if the request is counted in `requests`. The connection then stays open for it.
    is_counted: bool,
}

impl Streams {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            requests: 0,
            idle_since: Instant::now(),
            end: None,
            has_taken_place: false,
            unsent: BTreeSet::new(),
            pieces: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a request. It uses the place of the connection, or one that `further` returns.
    pub(super) fn begin(self: &Arc<Self>, further: impl FnOnce() -> RequestPlace) -> OpenRequest {
        let mut state = self.lock();
        if state.end.is_some_and(|end| end <= Instant::now()) {
            return OpenRequest {
                streams: Arc::clone(self),
                place: RequestPlace::Missing,
                is_counted: false,
            };
        }
        state.requests = state.requests.saturating_add(1);
        let place = match std::mem::replace(&mut state.has_taken_place, true) {
            false => RequestPlace::OfConnection,
            true => further(),
        };
        OpenRequest { streams: Arc::clone(self), place, is_counted: true }
    }

    /// Refuses requests that begin after `end`.
    pub(super) fn end_at(&self, end: Option<Instant>) {
        self.lock().end = end;
    }

    /// Returns the action that is due. The connection may be without a request for at most `timeout`. This time starts at the end
    /// of the last request, or at `since` if that is later.
    pub(super) fn due(&self, now: Instant, since: Instant, timeout: Duration) -> Due {
        let state = self.lock();
        let late = state.unsent.first().map(|(deadline, _)| *deadline);
        let idle = match state.requests {
            0 => state.idle_since.max(since).checked_add(timeout),
            _ => None,
        };
        match (late, idle) {
            (Some(late), _) if late <= now => Due::Late,
            (_, Some(idle)) if idle <= now => Due::Idle,
            // If neither time is set, the next check is after the timeout.
            (late, idle) => {
                let next = late.into_iter().chain(idle).min();
                Due::At(next.or_else(|| now.checked_add(timeout)).unwrap_or(now))
            }
        }
    }
}

impl OpenRequest {
    /// Returns true if the request has a place.
    pub(super) fn has_place(&self) -> bool {
        !matches!(self.place, RequestPlace::Missing)
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if !self.is_counted {
            return;
        }
        let mut state = self.streams.lock();
        state.requests = state.requests.saturating_sub(1);
        if state.requests == 0 {
            state.idle_since = Instant::now();
        }
        if matches!(self.place, RequestPlace::OfConnection) {
            state.has_taken_place = false;
        }
    }
}

/// The body of a response on an HTTP/2 connection.
pub(super) struct SentBody {
    body: Body,
    request: Arc<OpenRequest>,
    deadline: ResponseDeadline,
}

impl SentBody {
    pub(super) fn new(body: Body, request: Arc<OpenRequest>, deadline: ResponseDeadline) -> Self {
        Self { body, request, deadline }
    }
}

impl hyper::body::Body for SentBody {
    type Data = Piece;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Self::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        let piece = |bytes| Piece::new(bytes, Arc::clone(&self.request), self.deadline.of_write());
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A piece of a response. It is dropped when it has been sent, or when its stream has ended.
pub(super) struct Piece {
    bytes: Bytes,
    request: Arc<OpenRequest>,
    /// The entry in `unsent`.
    entry: (Instant, u64),
}

impl Piece {
    fn new(bytes: Bytes, request: Arc<OpenRequest>, deadline: Instant) -> Self {
        let mut state = request.streams.lock();
        state.pieces = state.pieces.wrapping_add(1);
        let entry = (deadline, state.pieces);
        state.unsent.insert(entry);
        drop(state);
        Self { bytes, request, entry }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.request.streams.lock().unsent.remove(&self.entry);
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn chunks_vectored<'b>(&'b self, slices: &mut [IoSlice<'b>]) -> usize {
        self.bytes.chunks_vectored(slices)
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn missing() -> RequestPlace {
        RequestPlace::Missing
    }

    #[test]
    fn one_request_at_a_time_uses_the_place_of_the_connection() {
        let streams = Streams::new();
        let first = streams.begin(missing);
        assert!(first.has_place());
        let second = streams.begin(missing);
        assert!(!second.has_place());
        drop(second);
        assert!(!streams.begin(missing).has_place());
        drop(first);
        assert!(streams.begin(missing).has_place());
    }

    /// Returns the time at which something is due.
    fn time_of(due: Due) -> Instant {
        let Due::At(time) = due else { panic!("{due:?}") };
        time
    }

    #[tokio::test]
    async fn a_connection_is_idle_after_its_last_piece_was_sent() {
        let start = Instant::now();
        let streams = Streams::new();
        assert_eq!(streams.due(start, start + SECOND, SECOND), Due::At(start + 2 * SECOND));
        assert_eq!(streams.due(start + 2 * SECOND, start + SECOND, SECOND), Due::Idle);
        let request = streams.begin(missing);
        let mut body =
            SentBody::new(Body::from("text"), Arc::new(request), ResponseDeadline::new(60 * SECOND));
        // A request that is running has no deadline.
        assert_eq!(streams.due(start + 9 * SECOND, start, SECOND), Due::At(start + 10 * SECOND));
        let piece = body.frame().await.unwrap().unwrap().into_data().ok().unwrap();
        assert!(body.frame().await.is_none());
        drop(body);
        // The future of the request has ended, but its response was not sent yet.
        let deadline = time_of(streams.due(start + SECOND, start, SECOND));
        assert!(deadline >= start + 60 * SECOND);
        assert_eq!(streams.due(deadline, start, SECOND), Due::Late);
        assert!(!streams.begin(missing).has_place());
        drop(piece);
        assert!(streams.lock().unsent.is_empty());
        let end = Instant::now();
        let idle = time_of(streams.due(start, start, SECOND));
        assert!(idle > start + SECOND && idle <= end + SECOND);
        // The time begins anew when the connection is asked to close.
        assert_eq!(streams.due(end, end + SECOND, SECOND), Due::At(end + 2 * SECOND));
    }

    #[test]
    fn late_requests_are_refused_and_do_not_prolong_the_connection() {
        let streams = Streams::new();
        let start = Instant::now();
        streams.end_at(Some(start));
        let late = streams.begin(missing);
        assert!(!late.has_place());
        assert_eq!(streams.due(start + 9 * SECOND, start, SECOND), Due::Idle);
        drop(late);
        assert_eq!(streams.lock().requests, 0);
        streams.end_at(Some(start + 60 * SECOND));
        assert!(streams.begin(missing).has_place());
    }

    #[tokio::test]
    async fn the_pieces_of_a_response_in_chunks_have_one_deadline() {
        let streams = Streams::new();
        let deadline = ResponseDeadline::new(60 * SECOND);
        deadline.begin();
        let begun = Instant::now();
        tokio::time::sleep(Duration::from_millis(5)).await;
        let mut body = SentBody::new(Body::from("text"), Arc::new(streams.begin(missing)), deadline);
        let _piece = body.frame().await.unwrap().unwrap();
        assert!(time_of(streams.due(begun, begun, SECOND)) <= begun + 60 * SECOND);
    }
}
