//! A connection that does not wait forever for a client that does not read.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The moment by which an answer that is sent in pieces has to be written, shared by its body and its connection.
///
/// Without it each piece would have the timeout of a whole answer.
#[derive(Clone)]
pub(in crate::service) struct Due {
    timeout: Duration,
    answer: Arc<Mutex<Option<LongAnswer>>>,
}

#[derive(Clone, Copy)]
struct LongAnswer {
    due: Instant,
    /// Its last piece is being written.
    is_ending: bool,
}

impl Due {
    pub(in crate::service) fn new(timeout: Duration) -> Self {
        Self { timeout, answer: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<LongAnswer>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an answer in pieces.
    pub(in crate::service) fn begin(&self) {
        let due = Instant::now().checked_add(self.timeout);
        *self.lock() = due.map(|due| LongAnswer { due, is_ending: false });
    }

    /// Ends the answer once all that it gave is written.
    pub(in crate::service) fn end(&self) {
        if let Some(answer) = &mut *self.lock() {
            answer.is_ending = true;
        }
    }

    /// Returns the moment by which what is written now has to be written.
    fn of_write(&self) -> Instant {
        let now = Instant::now();
        match &*self.lock() {
            Some(answer) => answer.due,
            None => now.checked_add(self.timeout).unwrap_or(now),
        }
    }

    /// Notes that all is written; false when more of the answer is to come.
    fn flushed(&self) -> bool {
        let answer = &mut *self.lock();
        if answer.is_some_and(|answer| !answer.is_ending) {
            return false;
        }
        *answer = None;
        true
    }
}

/// A stream whose writes fail when the peer takes longer than a timeout, from the moment at which it stops
/// reading to the end of what is to be written, or, of an answer in pieces, from its first piece to its last.
pub(in crate::service) struct Transport<S> {
    inner: S,
    due: Due,
    /// Runs from the first write that has to wait until all is flushed, and until the answer in pieces has ended.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Transport<S> {
    pub(in crate::service) fn new(inner: S, due: Due) -> Self {
        Self { inner, due, deadline: None }
    }

    /// The outcome of a write, or that it took too long.
    fn limit<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            return outcome;
        }
        let due = &self.due;
        let deadline =
            self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due.of_write())));
        match deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Transport<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Transport<S> {
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
        if let Poll::Ready(Ok(())) = outcome
            && self.due.flushed()
        {
            self.deadline = None;
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
