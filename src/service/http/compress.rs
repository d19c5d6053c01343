//! Compresses response bodies with gzip or zstd, if the client accepts it.
//!
//! A small body is compressed at once. A larger one is compressed piece by piece, when the connection needs a piece. Its pieces are
//! compressed on blocking threads, and only a few at the same time. The memory of the uncompressed body stays reserved until its
//! last piece has been compressed.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame};
use tokio::sync::Semaphore;

use super::budget::{Account, Budget, Reservation};
use super::encoding::{Accepted, Coding};
use super::errors::Failure;
use super::peers::Peer;
use super::write_timeout::ResponseDeadline;

/// The size from which bodies are compressed, in bytes. Smaller bodies fit into one network packet.
const LEAST_BYTES: u64 = 1 << 10;

/// The maximum size of a body that is compressed on a thread of the runtime, in bytes. This takes less than a millisecond.
const INLINE_BYTES: usize = 16 << 10;

/// The maximum size of a piece, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The maximum number of bodies that are compressed piece by piece at the same time. It bounds the memory: an encoder takes at most
/// about 1 MiB. A token may use at most half of the encoders, and so may a peer without a token. Further bodies are not compressed.
/// If the client accepts only compressed responses, it gets 503.
const MOST_ENCODERS: usize = 64;

/// The compression level of gzip. It is low, so that compression delays responses little.
const GZIP_LEVEL: u32 = 3;
/// The compression level of zstd. It is low, so that compression delays responses little.
const ZSTD_LEVEL: i32 = 1;

/// The window of zstd, as a power of two. It bounds the memory of the service and of the client.
const ZSTD_WINDOW_LOG: u32 = 17;

/// The limits on compression.
pub(in crate::service) struct Compressor {
    /// The number of encoders in use.
    encoders: Arc<Budget>,
    threads: Arc<Semaphore>,
}

impl Compressor {
    /// Creates limits: at most `threads` blocking threads compress at the same time.
    pub(in crate::service) fn new(threads: usize) -> Self {
        Self {
            encoders: Budget::new(MOST_ENCODERS),
            threads: Arc::new(Semaphore::new(threads.clamp(1, Semaphore::MAX_PERMITS))),
        }
    }

    /// Reserves an encoder for a response whose body is to be compressed in pieces. Must be called before the request is recorded,
    /// because an error changes the status.
    ///
    /// # Errors
    /// Returns 503 if no encoder is free for the account, and the client accepts only compressed responses.
    pub(in crate::service) fn reserve(
        &self,
        mut response: Response,
        accepted: Accepted,
        account: Account,
    ) -> Result<Response, Failure> {
        if accepted.best == Coding::Identity || !is_compressible(&response) || is_inline(&response) {
            return Ok(response);
        }
        let place = self.place(account);
        if place.is_none() && !accepted.identity {
            return Err(Failure::overloaded());
        }
        response.extensions_mut().insert(Reserved(place));
        Ok(response)
    }

    /// Reserves an encoder, if one is free for the account.
    fn place(&self, account: Account) -> Option<Arc<Reservation>> {
        let mut place = self.encoders.reserve(account);
        place.grow(1).then(|| Arc::new(place))
    }

    /// Compresses the body of a response, if it is worth it. Adds the header `Vary`. If no encoder was [reserved](Self::reserve),
    /// this reserves one for `peer`.
    pub(super) async fn compress(
        &self,
        mut response: Response,
        accepted: Accepted,
        peer: Peer,
        deadline: Option<ResponseDeadline>,
    ) -> Response {
        if !is_compressible(&response) {
            return response;
        }
        response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
        let size = response.body().size_hint();
        let is_small = size.upper().is_some_and(|bytes| bytes < LEAST_BYTES);
        if accepted.best == Coding::Identity || is_small && accepted.identity {
            return response;
        }
        let place = match response.extensions_mut().remove() {
            _ if is_inline(&response) => None,
            Some(Reserved(None)) => return response,
            Some(Reserved(place)) => place,
            None => match self.place(Account { token: 0, peer: Some(peer) }) {
                None if accepted.identity => return response,
                None => return overloaded(response),
                place => place,
            },
        };
        let Ok(encoder) = Encoder::new(accepted.best) else { return response };
        let (mut head, body) = response.into_parts();
        let body = match place {
            None => match whole(encoder, body).await {
                Ok(bytes) => Body::from(bytes),
                Err(error) => {
                    let failure = Failure::internal(error.to_string());
                    let cause = failure.cause().unwrap_or_default();
                    tracing::error!(cause, "cannot compress a response");
                    head.status = StatusCode::INTERNAL_SERVER_ERROR;
                    Body::empty()
                }
            },
            Some(place) => {
                // All pieces share one deadline, as without compression. A body that is already sent in chunks has begun its own
                // deadline.
                let deadline = deadline.filter(|deadline| !deadline.is_begun());
                if let Some(deadline) = &deadline {
                    deadline.begin();
                }
                Body::new(Compressed {
                    body,
                    frame: Bytes::new(),
                    state: State::Ready(Box::new(encoder)),
                    threads: Arc::clone(&self.threads),
                    _end: End(deadline),
                    _place: place,
                })
            }
        };
        head.headers.remove(header::CONTENT_LENGTH);
        head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(accepted.best.name()));
        Response::from_parts(head, body)
    }
}

/// The reservation of an encoder for a response, or `None` if the response is sent uncompressed.
#[derive(Clone)]
struct Reserved(Option<Arc<Reservation>>);

/// Returns true for a body in JSON that is not compressed yet.
fn is_compressible(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    is_json && !response.headers().contains_key(header::CONTENT_ENCODING)
}

/// Returns true for a body that is compressed at once, without a reserved encoder.
fn is_inline(response: &Response) -> bool {
    response.body().size_hint().exact().is_some_and(|bytes| bytes <= INLINE_BYTES as u64)
}

/// Returns the 503 response for a client that accepts only compressed responses, if no encoder is free.
fn overloaded(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    *response.body_mut() = Body::empty();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A guard of a response that is compressed in pieces. Dropping it marks the response as [complete](ResponseDeadline::end).
struct End(Option<ResponseDeadline>);

impl Drop for End {
    fn drop(&mut self) {
        if let Some(deadline) = &self.0 {
            deadline.end();
        }
    }
}

/// Compresses a small body.
async fn whole(mut encoder: Encoder, body: Body) -> io::Result<Bytes> {
    let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    encoder.write(&bytes)?;
    encoder.finish().map(Bytes::from)
}

/// An encoder that keeps its output in memory.
enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    fn new(coding: Coding) -> io::Result<Self> {
        match coding {
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.window_log(ZSTD_WINDOW_LOG)?;
                Ok(Self::Zstd(encoder))
            }
            Coding::Gzip | Coding::Identity => {
                Ok(Self::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))))
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Returns the output so far.
    fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Gzip(encoder) => std::mem::take(encoder.get_mut()),
            Self::Zstd(encoder) => std::mem::take(encoder.get_mut()),
        }
    }

    /// Returns the rest of the output.
    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

/// A response body that compresses the pieces of another body.
struct Compressed {
    body: Body,
    /// The part of the last frame of `body` that has not been compressed yet.
    frame: Bytes,
    state: State,
    threads: Arc<Semaphore>,
    _end: End,
    _place: Arc<Reservation>,
}

type Working = Pin<Box<dyn Future<Output = io::Result<(Vec<u8>, Box<Encoder>)>> + Send>>;

enum State {
    Ready(Box<Encoder>),
    Working(Working),
    Ended,
}

/// Compresses a piece on a blocking thread.
async fn work(
    threads: Arc<Semaphore>,
    mut encoder: Box<Encoder>,
    piece: Bytes,
) -> io::Result<(Vec<u8>, Box<Encoder>)> {
    let permit = threads.acquire_owned().await.map_err(io::Error::other)?;
    let work = move || {
        let _permit = permit;
        encoder.write(&piece)?;
        Ok((encoder.take(), encoder))
    };
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

impl hyper::body::Body for Compressed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let own = &mut *self;
        loop {
            match std::mem::replace(&mut own.state, State::Ended) {
                State::Ended => return Poll::Ready(None),
                State::Working(mut working) => {
                    let Poll::Ready(worked) = working.as_mut().poll(context) else {
                        own.state = State::Working(working);
                        return Poll::Pending;
                    };
                    let (bytes, encoder) = worked.map_err(axum::Error::new)?;
                    own.state = State::Ready(encoder);
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(bytes.into()))));
                    }
                }
                State::Ready(encoder) if !own.frame.is_empty() => {
                    let piece = own.frame.split_to(own.frame.len().min(PIECE_BYTES));
                    own.state = State::Working(Box::pin(work(Arc::clone(&own.threads), encoder, piece)));
                }
                State::Ready(encoder) => {
                    // If the result is pending, the state is restored. If it is an error, the state stays `Ended`.
                    let frame = Pin::new(&mut own.body).poll_frame(context);
                    let frame = match frame {
                        Poll::Pending => {
                            own.state = State::Ready(encoder);
                            return Poll::Pending;
                        }
                        Poll::Ready(frame) => frame.transpose()?,
                    };
                    match frame {
                        None => {
                            let rest = encoder.finish().map_err(axum::Error::new)?;
                            return Poll::Ready(Some(Ok(Frame::data(rest.into()))));
                        }
                        Some(frame) => {
                            own.frame = frame.into_data().unwrap_or_default();
                            own.state = State::Ready(encoder);
                        }
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Ended)
    }
}
