//! Detects that a client has disconnected while the service computes the response to its request.
//!
//! A client that has disconnected looks like a client that has only closed its sending side. In both cases, the input of the
//! connection ends. But the second client still waits for its response. So a client counts as disconnected only after the delay
//! [`GRACE`], counted from the end of its input. If the connection has failed, the client counts as disconnected immediately.
//!
//! While the service computes a response, hyper does not read from the stream. But it flushes the stream whenever the task of the
//! connection runs. At this moment, a watched stream peeks at its input, without consuming any bytes.
//!
//! Requests on HTTP/2 are not watched. There, hyper always reads from the stream, and drops a request when its client has reset it
//! or has disconnected.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// The time for which a request continues after the end of the client's input.
const GRACE: Duration = Duration::from_secs(1);

/// The time between two checks of the input.
const INTERVAL: Duration = Duration::from_millis(20);

/// The time between two checks of the input, for a request that waits for events.
const WAITING_INTERVAL: Duration = Duration::from_millis(250);

/// The state of a client that is not watched.
const NOT_WATCHED: u8 = 0;
/// The client can send and receive.
const CONNECTED: u8 = 1;
/// The client sends no more, but may still receive.
const INPUT_ENDED: u8 = 2;
/// The connection has failed.
const FAILED: u8 = 3;

/// The state of the client of one connection. The stream and the current request share it. In the default value, `state` is `None`:
/// the client never counts as disconnected.
#[derive(Clone, Default)]
pub(in crate::service) struct ClientWatch {
    state: Option<Arc<AtomicU8>>,
}

/// A guard that ends the watching of the client when it is dropped.
struct Watching<'w>(&'w AtomicU8);

impl ClientWatch {
    /// Creates the state for the client of a connection over HTTP/1.1. The client is watched only while [`gone`](Self::gone) waits.
    pub(super) fn new() -> Self {
        Self { state: Some(Arc::default()) }
    }

    /// Waits until the client has disconnected. The future must be polled by the task of the connection.
    pub(in crate::service) async fn gone(&self) {
        self.gone_within(INTERVAL).await;
    }

    /// Like [`gone`](Self::gone), for a request that takes no processor while it waits: checks the input less often.
    pub(in crate::service) async fn gone_while_waiting(&self) {
        self.gone_within(WAITING_INTERVAL).await;
    }

    async fn gone_within(&self, interval: Duration) {
        let Some(state) = &self.state else { return std::future::pending().await };
        let watching = Watching(state);
        watching.0.store(CONNECTED, Ordering::Relaxed);
        let mut end = None;
        loop {
            tokio::time::sleep(interval).await;
            match watching.0.load(Ordering::Relaxed) {
                FAILED => return,
                INPUT_ENDED if end.get_or_insert_with(Instant::now).elapsed() >= GRACE => return,
                _ => {}
            }
        }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.store(NOT_WATCHED, Ordering::Relaxed);
    }
}

/// A stream that peeks at its input while its client is watched.
pub(super) struct WatchedStream {
    stream: TcpStream,
    watch: ClientWatch,
}

impl WatchedStream {
    pub(super) fn new(stream: TcpStream, watch: ClientWatch) -> Self {
        Self { stream, watch }
    }

    /// Peeks at the input, and updates the state of the client. Does nothing if the client is not watched.
    fn look(&self, context: &mut Context<'_>) {
        let Some(state) = &self.watch.state else { return };
        if state.load(Ordering::Relaxed) != CONNECTED {
            return;
        }
        let mut byte = [0];
        match self.stream.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(0)) => state.store(INPUT_ENDED, Ordering::Relaxed),
            Poll::Ready(Err(_)) => state.store(FAILED, Ordering::Relaxed),
            // The client is still connected. If the input contains bytes, they belong to the next request.
            Poll::Ready(Ok(_)) | Poll::Pending => {}
        }
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.look(context);
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::Shutdown;
    use std::pin::pin;

    use super::*;

    /// Returns the delay after which a client counts as disconnected. Returns `None` if the client still counts as connected after
    /// two seconds. The service first sends the client one byte, which the client does not read. Then `leave` closes or keeps the
    /// client's connection.
    fn gone_after(
        leave: impl FnOnce(std::net::TcpStream) -> Option<std::net::TcpStream>,
    ) -> Option<Duration> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let watch = ClientWatch::new();
            let mut stream = WatchedStream::new(stream, watch.clone());
            tokio::io::AsyncWriteExt::write_all(&mut stream, b"x").await.unwrap();
            let mut byte = [0];
            client.peek(&mut byte).unwrap();
            let _kept = leave(client);
            let start = Instant::now();
            let mut gone = pin!(watch.gone());
            let polled = poll_fn(|context| {
                let is_gone = gone.as_mut().poll(context);
                let _ = Pin::new(&mut stream).poll_flush(context);
                is_gone
            });
            tokio::time::timeout(Duration::from_secs(2), polled).await.ok().map(|()| start.elapsed())
        })
    }

    #[test]
    fn a_failed_connection_counts_at_once_and_the_end_of_input_after_a_while() {
        assert_eq!(gone_after(Some), None);
        // Because of the unread byte, closing resets the connection.
        assert!(gone_after(|_| None).unwrap() < GRACE);
        let ended = |client: std::net::TcpStream| {
            client.shutdown(Shutdown::Write).unwrap();
            Some(client)
        };
        assert!(gone_after(ended).unwrap() >= GRACE);
    }
}
