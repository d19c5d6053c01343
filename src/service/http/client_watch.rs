//! Notices that a client has gone while its request is answered.
//!
//! A client that has gone looks like one that has only closed its sending side: the end of its input arrives. The second still waits for
//! its response. So the end of the input counts after [`GRACE`], and a failed connection counts at once.
//!
//! hyper does not read while a request is answered, but it flushes the stream whenever the task of the connection runs. A watched stream
//! then looks at its input, without taking any of it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// The time for which a request is still answered after the end of its client's input.
const GRACE: Duration = Duration::from_secs(1);

/// The time between two looks at the input.
const INTERVAL: Duration = Duration::from_millis(20);

/// The states of a client.
const NOT_WATCHED: u8 = 0;
const CONNECTED: u8 = 1;
const INPUT_ENDED: u8 = 2;
const FAILED: u8 = 3;

/// The state of the client of one connection, shared by the stream and the current request.
#[derive(Clone, Default)]
pub(in crate::service) struct ClientWatch {
    state: Arc<AtomicU8>,
}

/// Ends the watching when it is dropped.
struct Watching<'w>(&'w AtomicU8);

impl ClientWatch {
    /// Waits until the client has gone. The task of the connection must poll the future.
    pub(in crate::service) async fn gone(&self) {
        let watching = Watching(&self.state);
        watching.0.store(CONNECTED, Ordering::Relaxed);
        let mut end = None;
        loop {
            tokio::time::sleep(INTERVAL).await;
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

/// A stream that looks at its input while its client is watched.
pub(super) struct WatchedStream {
    stream: TcpStream,
    watch: ClientWatch,
}

impl WatchedStream {
    pub(super) fn new(stream: TcpStream, watch: ClientWatch) -> Self {
        Self { stream, watch }
    }

    /// Updates the state of the client, if it is watched.
    fn look(&self, context: &mut Context<'_>) {
        let state = &self.watch.state;
        if state.load(Ordering::Relaxed) != CONNECTED {
            return;
        }
        let mut byte = [0];
        match self.stream.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(0)) => state.store(INPUT_ENDED, Ordering::Relaxed),
            Poll::Ready(Err(_)) => state.store(FAILED, Ordering::Relaxed),
            // Input that is not read yet: the next request.
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

    /// Returns the time after which a client counts as gone, or `None` if it does not within two seconds. `leave` ends the client, or keeps
    /// it. The service has sent it one byte, which it has not read.
    fn gone_after(
        leave: impl FnOnce(std::net::TcpStream) -> Option<std::net::TcpStream>,
    ) -> Option<Duration> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let watch = ClientWatch::default();
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
        // The unread byte makes it a reset.
        assert!(gone_after(|_| None).unwrap() < GRACE);
        let ended = |client: std::net::TcpStream| {
            client.shutdown(Shutdown::Write).unwrap();
            Some(client)
        };
        assert!(gone_after(ended).unwrap() >= GRACE);
    }
}
