//! Serves one connection over HTTP/2 (RFC 9113).
//!
//! hyper and the crate `h2` implement the protocol. They bound the streams of a connection, the sizes of heads, and what a client
//! can cause by frames without requests: resets, `CONTINUATION`, `PING` and `SETTINGS`. They have no limits on time, and none on
//! the responses of all streams together. This file adds these limits:
//!
//! - A connection without a request is asked to close after the read timeout, which also bounds its preface. It is closed soon
//!   after.
//! - If a piece of a response has not been sent before its deadline, the connection is closed. A client delays a piece by not
//!   reading, or by not opening its window.
//! - The first request of a connection uses its [place](super::places), and each further simultaneous request needs a place of its
//!   own.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::closing::OpenConnection;
use super::peers::Client;
use super::places::{Counted, Places};
use super::respond::Responder;
use super::streams::{Due, OpenRequest, RequestPlace, SentBody, Streams};
use super::write_timeout::ResponseDeadline;

/// The maximum number of simultaneous streams of a connection. RFC 9113 recommends at least 100.
const MOST_STREAMS: usize = 100;

/// The maximum size of a request head, in bytes, as RFC 9113 counts it: with 32 bytes for each header.
const HEAD_BYTES: u32 = 64 << 10;

/// The maximum number of headers of a request, as for HTTP/1.1.
const MOST_HEADERS: usize = 100;

/// The maximum number of bytes of request bodies that have arrived on a stream but have not been read yet.
const STREAM_WINDOW: u32 = 64 << 10;
/// The maximum of these bytes for a whole connection.
const CONNECTION_WINDOW: u32 = 128 << 10;

/// The number of unsent bytes of a response at which `h2` takes no further piece, until earlier ones have been sent.
const SEND_BYTES: usize = 64 << 10;

/// The maximum number of streams that a client has reset before the service has read their heads. More of them end the connection.
const MOST_PENDING_RESETS: usize = 20;

/// The maximum number of streams that `h2` resets because the client has broken the protocol. More of them end the connection.
const MOST_ERRORS: usize = 1024;

/// The time after which a connection without a request is closed, once it has been asked to close.
const LINGER: Duration = Duration::from_secs(1);

/// A connection.
pub(super) struct Http2 {
    pub(super) responder: Arc<Responder>,
    pub(super) places: Arc<Places>,
    pub(super) client: Client,
    /// The maximum time without a request.
    pub(super) read_timeout: Duration,
    /// The maximum time for sending a response.
    pub(super) write_timeout: Duration,
    /// The time limit for writes to the connection.
    pub(super) transport: ResponseDeadline,
    pub(super) open: OpenConnection,
}

/// A mark of a request that had more than [`MOST_HEADERS`] headers. All its headers were removed.
#[derive(Clone, Copy)]
struct TooManyHeaders;

/// The state that the requests of a connection share.
struct Shared {
    connection: Http2,
    streams: Arc<Streams>,
    /// Asks the connection to close.
    close: Notify,
}

impl Http2 {
    /// Serves the connection to its end.
    pub(super) async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let (read_timeout, write_timeout, transport) =
            (self.read_timeout, self.write_timeout, self.transport.clone());
        let options = &self.responder.shared().options;
        let most_streams = options.connections_per_peer.min(options.connections).clamp(1, MOST_STREAMS);
        let mut open = self.open.clone();
        let streams = Streams::new();
        let shared =
            Arc::new(Shared { connection: self, streams: Arc::clone(&streams), close: Notify::new() });
        let own = Arc::clone(&shared);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            // The task of the request may run much later, and must not keep large heads until then.
            if request.headers().len() > MOST_HEADERS {
                *request.headers_mut() = HeaderMap::new();
                request.extensions_mut().insert(TooManyHeaders);
            }
            let open = own.begin();
            Arc::clone(&own).answer(request, open)
        });
        let mut connection = pin!(
            http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(u32::try_from(most_streams).unwrap_or(1))
                .max_header_list_size(HEAD_BYTES)
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_send_buf_size(SEND_BYTES)
                .max_pending_accept_reset_streams(MOST_PENDING_RESETS)
                .max_local_error_reset_streams(MOST_ERRORS)
                .serve_connection(TokioIo::new(stream), service)
        );
        // A new piece may have an earlier deadline than the time for which the loop sleeps. This step bounds the delay until the
        // loop notices it.
        let step = read_timeout.min(write_timeout).checked_div(4).unwrap_or_default();
        let (mut since, mut timeout, mut is_closing) = (Instant::now(), read_timeout, false);
        loop {
            let now = Instant::now();
            let must_close = match streams.due(now, since, timeout) {
                Due::Late => {
                    let error = "the client does not read a response in time";
                    tracing::debug!(error, "a connection ended early");
                    return;
                }
                // The last bytes of a response may still wait in the stream. The stream has a time limit for them.
                Due::Idle if is_closing && transport.is_waiting() => {
                    tokio::select! {
                        biased;
                        _ = connection.as_mut() => return,
                        () = tokio::time::sleep(step) => continue,
                    }
                }
                Due::Idle if is_closing => return,
                Due::Idle => true,
                Due::At(next) => tokio::select! {
                    biased;
                    served = connection.as_mut() => {
                        if let Err(error) = served {
                            tracing::debug!(%error, "a connection ended early");
                        }
                        return;
                    }
                    () = open.asked_to_close(), if !is_closing => true,
                    () = shared.close.notified(), if !is_closing => true,
                    () = tokio::time::sleep_until(now.checked_add(step).map_or(next, |step| next.min(step))) => false,
                },
            };
            if must_close {
                // Sends GOAWAY. Running requests are answered.
                connection.as_mut().graceful_shutdown();
                (since, timeout, is_closing) = (Instant::now(), LINGER, true);
                streams.end_at(since.checked_add(LINGER));
            }
        }
    }
}

impl Shared {
    /// Begins a request.
    fn begin(&self) -> OpenRequest {
        let Http2 { responder, places, client, .. } = &self.connection;
        self.streams.begin(|| match client.is_admitted.then(|| places.take(client.peer)) {
            Some(Ok(place)) => {
                RequestPlace::Own { _place: place, _counted: Counted::new(responder.shared()) }
            }
            Some(Err(_)) | None => RequestPlace::Missing,
        })
    }

    /// Answers a request.
    async fn answer(
        self: Arc<Self>,
        mut request: hyper::Request<Incoming>,
        open: OpenRequest,
    ) -> Result<Response<SentBody>, Infallible> {
        let Http2 { responder, client: Client { peer, address, is_admitted }, write_timeout, .. } =
            &self.connection;
        let deadline = ResponseDeadline::new(*write_timeout);
        let is_head = request.method() == Method::HEAD;
        request.extensions_mut().insert(*peer);
        request.extensions_mut().insert(*address);
        request.extensions_mut().insert(deadline.clone());
        let open = Arc::new(open);
        request.extensions_mut().insert(Arc::clone(&open));
        let mut response = if request.extensions().get::<TooManyHeaders>().is_some() {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            response
        } else {
            responder.respond(request, *is_admitted && open.has_place()).await?
        };
        // HTTP/2 has no header `Connection`: the frame GOAWAY replaces it.
        response.headers_mut().remove(header::CONNECTION);
        if is_head {
            remove_body(&mut response);
        }
        if !is_admitted || responder.shared().is_draining() {
            self.close.notify_one();
        }
        Ok(response.map(|body| SentBody::new(body, open, deadline)))
    }
}

/// Removes the body of a response to a HEAD request. For HTTP/1.1, hyper does that.
fn remove_body(response: &mut Response) {
    let body = std::mem::take(response.body_mut());
    if let Some(bytes) = body.size_hint().exact() {
        response.headers_mut().entry(header::CONTENT_LENGTH).or_insert_with(|| bytes.into());
    }
}
