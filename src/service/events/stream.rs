//! A response with server-sent events: the events of a token, as they happen.
//!
//! The connection asks the response for its next piece when it can accept one. So a slow client takes the memory of a few pieces,
//! and nothing else waits for it. If it does not accept a piece within the write timeout, it is disconnected.

use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use hyper::body::Frame;
use tokio::sync::watch;
use tokio::time::Instant;

use super::hub::Listener;
use super::line::EventLine;
use super::reader::{Signer, Waited};
use crate::service::audit::record::{Answered, By, Note};
use crate::service::http::client_watch::ClientWatch;
use crate::service::http::correlation::CorrelationId;
use crate::service::state::ServiceState;
use crate::standing::Event;

/// The time after which a piece is sent although there are no events. So the client and the service can each notice that the other
/// one has gone.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The maximum number of events in a piece.
const MOST_EVENTS: usize = 100;

/// The size in bytes from which no more events are added to a piece.
const PIECE_BYTES: usize = 16 << 10;

/// The time that a client waits before it connects again, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// A new response with server-sent events.
pub(in crate::service) struct NewStream {
    pub(in crate::service) shared: Arc<ServiceState>,
    pub(in crate::service) signer: Signer,
    /// The name of the operation.
    pub(in crate::service) operation: &'static str,
    pub(in crate::service) id: CorrelationId,
    /// The number of the event after which the stream begins.
    pub(in crate::service) after: u64,
    /// The state of the client's connection.
    pub(in crate::service) client: ClientWatch,
}

/// The state of a stream that is being sent. It makes the pieces of the stream, one after the other.
struct Teller {
    stream: NewStream,
    signal: watch::Receiver<u64>,
    /// The last event number that was sent to the client. When the client connects again, it continues after this event. `None`
    /// before the first piece.
    told: Option<u64>,
    _listener: Listener,
}

impl NewStream {
    /// Returns the body of the response. It holds the permits of the request until it ends.
    pub(in crate::service) fn body(self, listener: Listener) -> Body {
        let signal = self.shared.events.subscribe();
        Body::new(EventStream(State::Idle(Teller { stream: self, signal, told: None, _listener: listener })))
    }
}

impl Teller {
    /// Waits for the next piece. Returns `None` at the end of the stream, or if the client has disconnected.
    async fn next(self) -> Option<(Bytes, Self)> {
        let client = self.stream.client.clone();
        tokio::select! {
            biased;
            piece = self.next_piece() => piece,
            () = client.gone_while_waiting() => None,
        }
    }

    async fn next_piece(mut self) -> Option<(Bytes, Self)> {
        let NewStream { shared, signer, .. } = &self.stream;
        let (shared, signer) = (Arc::clone(shared), signer.clone());
        if self.told.is_none() {
            let text = format!("retry: {RETRY_MS}\nid: {}\n\n", self.stream.after);
            self.told = Some(self.stream.after);
            return Some((Bytes::from(text), self));
        }
        let end = Instant::now().checked_add(HEARTBEAT)?;
        loop {
            match shared.wait_for_events(&mut self.signal, &signer, self.stream.after, end).await {
                Waited::Ended { .. } => return None,
                Waited::Time { last } => {
                    self.stream.after = last;
                    return Some((self.heartbeat(), self));
                }
                Waited::Events => {}
            }
            // If events are gone, the client gets an error when it connects again.
            let found = match shared.read_events(&signer.token, self.stream.after, MOST_EVENTS).await {
                Ok(found) => found,
                Err(failure) => {
                    // Only an internal error is logged. The client gets any other error when it connects again.
                    if failure.status() == StatusCode::INTERNAL_SERVER_ERROR {
                        let cause = failure.cause().unwrap_or(failure.description());
                        tracing::error!(cause, "a stream of events ended: they cannot be read");
                    }
                    return None;
                }
            };
            if found.events.is_empty() {
                self.stream.after = found.last;
                continue;
            }
            // The reading may have waited for other requests.
            if !shared.is_in_force(&signer) {
                return None;
            }
            let (text, count) = piece(&found.events);
            let told = found.events.get(..count).unwrap_or_default();
            self.stream.after = match told.last() {
                Some(event) if count < found.events.len() => event.number,
                _ => found.last,
            };
            self.told = told.last().map(|event| event.number);
            if !self.record(told).await {
                return None;
            }
            shared.events.count_told(count);
            return Some((Bytes::from(text), self));
        }
    }

    /// Returns a piece without events. If events of other tokens have happened since the previous piece, the new piece contains the
    /// number of the last one. When the client connects again, it continues after that event.
    fn heartbeat(&mut self) -> Bytes {
        if self.told == Some(self.stream.after) {
            return Bytes::from_static(b":\n\n");
        }
        self.told = Some(self.stream.after);
        Bytes::from(format!("id: {}\n\n", self.stream.after))
    }

    /// Records events in the audit log. Returns false if they must not be sent to the client.
    async fn record(&self, events: &[Event]) -> bool {
        let Some(audit) = &self.stream.shared.audit else { return true };
        let note = Note::default();
        note.events(events);
        let by = By::Client { operation: self.stream.operation, token: Some(&self.stream.signer.token.name) };
        let correlation_id = self.stream.id.as_str();
        audit.record(Answered { correlation_id, by, status: 200, note: Some(&note) }.members()).await
    }
}

/// Returns the text of the first events, and their count. Takes events until the text has [`PIECE_BYTES`].
fn piece(events: &[Event]) -> (String, usize) {
    let mut text = String::new();
    let mut count: usize = 0;
    for event in events {
        if text.len() >= PIECE_BYTES {
            break;
        }
        // JSON has no line breaks outside strings, and escapes them in strings.
        let data = EventLine::of_client(event).to_json();
        let _ = write!(text, "id: {}\nevent: {}\ndata: {data}\n\n", event.number, event.kind.name());
        count = count.saturating_add(1);
    }
    (text, count)
}

/// A response body that asks its teller for a piece when the connection needs one.
struct EventStream(State);

type Telling = Pin<Box<dyn Future<Output = Option<(Bytes, Teller)>> + Send>>;

enum State {
    Idle(Teller),
    Telling(Telling),
    Ended,
}

impl hyper::body::Body for EventStream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        loop {
            match std::mem::replace(&mut self.0, State::Ended) {
                State::Idle(teller) => self.0 = State::Telling(Box::pin(teller.next())),
                State::Telling(mut telling) => {
                    let Poll::Ready(piece) = telling.as_mut().poll(context) else {
                        self.0 = State::Telling(telling);
                        return Poll::Pending;
                    };
                    let Some((bytes, teller)) = piece else { return Poll::Ready(None) };
                    self.0 = State::Idle(teller);
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, State::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standing::EventKind;
    use crate::value::Timestamp;

    #[test]
    fn a_piece_ends_after_enough_bytes() {
        let event = |number| {
            let id = "line\n".repeat(200);
            Event::new(
                number,
                Timestamp::from_millis(0),
                "\0o\0name",
                &id,
                EventKind::Changed(vec!["a".to_owned()]),
            )
        };
        let events: Vec<Event> = (1..=50).map(event).collect();
        let (text, count) = piece(&events);
        assert!(count > 1 && count < 50 && text.len() >= PIECE_BYTES && text.len() < 2 * PIECE_BYTES);
        assert_eq!(text.matches("\n\n").count(), count);
        let start = "id: 1\nevent: changed\ndata: {\"number\":1,\"time\":\"1970-01-01T00:00:00.000Z\",\"filter\":\"name\",\"id\":\"line\\n";
        assert!(text.starts_with(start), "{text}");
        assert!(text.lines().next_back().is_some_and(str::is_empty));
        assert_eq!(piece(&events[..1]).1, 1);
    }
}
