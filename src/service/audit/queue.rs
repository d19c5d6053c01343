//! The queue of an audit log: records that wait until the thread of the log writes them. Waiting requests do not block a thread.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::batch::Left;
use super::chain::AuditHead;
use super::outcome::{DROPPED, GIVEN_UP, Outcome, WAITING};

/// The maximum size of the records in the queue, in bytes. A longer record takes the whole queue. Further requests wait until there
/// is room.
const QUEUE_BYTES: usize = 16 << 20;

/// Records that wait to be written, in the order of the log.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    filled: Condvar,
    room: Arc<Semaphore>,
}

/// The work of the thread of a log.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) entries: Vec<Entry>,
    /// The sender for the last record of the log, or for an error. `None` unless the log must end.
    pub(super) end: Option<SyncSender<io::Result<AuditHead>>>,
    /// True if the thread must end.
    pub(super) is_over: bool,
}

/// A record that waits to be written.
pub(super) struct Entry {
    pub(super) members: Vec<u8>,
    pub(super) outcome: Arc<Outcome>,
    /// Dropping this sender wakes the request. The thread of the log sets the outcome before it drops the entry.
    _wake: oneshot::Sender<()>,
    _room: OwnedSemaphorePermit,
}

/// The handle with which a request waits for its [`Entry`].
pub(super) struct Queued {
    outcome: Arc<Outcome>,
    woken: oneshot::Receiver<()>,
}

impl Queued {
    /// Waits until the entry has been dropped. Returns whether the request may be answered. Returns `None` if the thread of the log
    /// has ended without a decision.
    pub(super) async fn ended(&mut self) -> Option<bool> {
        let _ = (&mut self.woken).await;
        self.outcome.may_be_answered()
    }

    /// Ends the waiting of the request.
    pub(super) fn give_up(&self) -> Left {
        match self.outcome.leave(GIVEN_UP) {
            WAITING => Left::GivenUp,
            _ => Left::Ended(self.outcome.may_be_answered().unwrap_or(false)),
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.outcome.leave(DROPPED);
    }
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            waiting: Mutex::default(),
            filled: Condvar::new(),
            room: Arc::new(Semaphore::new(QUEUE_BYTES)),
        }
    }

    /// Waits until there is room for a record, and adds it. Returns the handle with which the request waits for it.
    pub(super) async fn push(&self, members: Vec<u8>) -> Option<Queued> {
        let size = u32::try_from(members.len().clamp(1, QUEUE_BYTES)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(size).await.ok()?;
        let (wake, woken) = oneshot::channel();
        let outcome = Arc::new(Outcome::default());
        let entry = Entry { members, outcome: Arc::clone(&outcome), _wake: wake, _room: room };
        self.waiting.lock().entries.push(entry);
        self.filled.notify_one();
        Some(Queued { outcome, woken })
    }

    /// Asks the thread of the log to end the log.
    pub(super) fn end(&self, result: SyncSender<io::Result<AuditHead>>) {
        self.waiting.lock().end = Some(result);
        self.filled.notify_one();
    }

    /// Asks the thread of the log to exit.
    pub(super) fn finish(&self) {
        self.waiting.lock().is_over = true;
        self.filled.notify_one();
    }

    /// Waits for work, but at most until `time`. Then moves the work to `work`, whose `entries` must be empty.
    pub(super) fn take_until(&self, time: Instant, work: &mut Waiting) {
        let mut waiting = self.waiting.lock();
        let is_idle =
            |waiting: &mut Waiting| waiting.entries.is_empty() && waiting.end.is_none() && !waiting.is_over;
        let _ = self.filled.wait_while_until(&mut waiting, is_idle, time);
        std::mem::swap(&mut waiting.entries, &mut work.entries);
        work.end = waiting.end.take();
        work.is_over = waiting.is_over;
    }
}
