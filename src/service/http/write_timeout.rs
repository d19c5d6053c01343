//! A stream with a timeout for writes. It protects against clients that do not read their responses.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The deadline of the current response. The response body and the connection share it.
///
/// A response that is sent in chunks has one deadline for all of its chunks. Any other write may take the whole timeout.
#[derive(Clone)]
pub(in crate::service) struct ResponseDeadline {
    timeout: Duration,
    chunked: Arc<Mutex<Option<ChunkedResponse>>>,
    /// True while written bytes wait for the client to read.
    is_waiting: Arc<AtomicBool>,
}

/// A response that is being sent in chunks.
#[derive(Clone, Copy)]
struct ChunkedResponse {
    deadline: Instant,
    /// True after the body has returned its last chunk.
    is_ending: bool,
}

impl ResponseDeadline {
    pub(in crate::service) fn new(timeout: Duration) -> Self {
        Self { timeout, chunked: Arc::default(), is_waiting: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<ChunkedResponse>> {
        self.chunked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true while written bytes wait for the client to read.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    /// Returns true if a response is being sent in chunks.
    pub(in crate::service) fn is_begun(&self) -> bool {
        self.lock().is_some()
    }

    /// Starts the deadline of a response that is sent in chunks.
    pub(in crate::service) fn begin(&self) {
        let deadline = Instant::now().checked_add(self.timeout);
        *self.lock() = deadline.map(|deadline| ChunkedResponse { deadline, is_ending: false });
    }

    /// Marks the chunked response as complete. Its deadline no longer applies after the last chunk has been flushed.
    pub(in crate::service) fn end(&self) {
        if let Some(response) = &mut *self.lock() {
            response.is_ending = true;
        }
    }

    /// Returns the deadline for a write that starts now.
    pub(super) fn of_write(&self) -> Instant {
        let now = Instant::now();
        match &*self.lock() {
            Some(response) => response.deadline,
            None => now.checked_add(self.timeout).unwrap_or(now),
        }
    }

    /// Records that all written bytes have been flushed. Returns false if more chunks of the response will follow.
    fn flushed(&self) -> bool {
        let response = &mut *self.lock();
        if response.is_some_and(|response| !response.is_ending) {
            return false;
        }
        *response = None;
        true
    }
}

/// A stream that fails with [`TimedOut`](io::ErrorKind::TimedOut) if the peer reads too slowly.
///
/// The timeout starts with the first write that has to wait, and ends when all bytes have been flushed. For a response in chunks,
/// it starts before the first chunk and ends after the last chunk.
pub(in crate::service) struct WriteTimeout<S> {
    inner: S,
    deadline: ResponseDeadline,
    /// The running timeout. `None` if no write is waiting.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(in crate::service) fn new(inner: S, deadline: ResponseDeadline) -> Self {
        Self { inner, deadline, timer: None }
    }

    /// Returns `outcome`. If the write is pending and the deadline has passed, returns a timeout error instead.
    fn limit<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            return outcome;
        }
        let deadline = &self.deadline;
        deadline.is_waiting.store(true, Ordering::Relaxed);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline.of_write())));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.limit(context, outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_flush(context);
        if let Poll::Ready(Ok(())) = outcome {
            self.deadline.is_waiting.store(false, Ordering::Relaxed);
            if self.deadline.flushed() {
                self.timer = None;
            }
        }
        self.limit(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_shutdown(context);
        self.limit(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.limit(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
