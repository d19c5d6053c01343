//! The queue of an audit log: records that wait until the thread of the log writes them. Waiting requests do not block a thread.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::chain::AuditHead;

/// The maximum size of the records in the queue, in bytes. A longer record takes the whole queue. Further requests wait until there is
/// room.
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
    /// The sender for the result of the end of the log, if it must end.
    pub(super) end: Option<SyncSender<io::Result<AuditHead>>>,
    /// True if the thread must end.
    pub(super) is_over: bool,
}

/// A record that waits to be written.
pub(super) struct Entry {
    pub(super) members: Vec<u8>,
    answer: oneshot::Sender<bool>,
    _room: OwnedSemaphorePermit,
}

impl Entry {
    /// Returns true if the request does not wait any more: its client has disconnected, or it was refused. Then it needs no record.
    pub(super) fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    /// Says whether the request may be answered.
    pub(super) fn answer(self, may_be_answered: bool) {
        let _ = self.answer.send(may_be_answered);
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

    /// Waits until a record was written or refused. Returns whether its request may be answered. Returns `None` if the thread of the
    /// log has ended.
    pub(super) async fn send(&self, members: Vec<u8>) -> Option<bool> {
        let size = u32::try_from(members.len().clamp(1, QUEUE_BYTES)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(size).await.ok()?;
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().entries.push(Entry { members, answer, _room: room });
        self.filled.notify_one();
        answered.await.ok()
    }

    /// Asks the thread of the log to end the log.
    pub(super) fn end(&self, result: SyncSender<io::Result<AuditHead>>) {
        self.waiting.lock().end = Some(result);
        self.filled.notify_one();
    }

    /// Asks the thread of the log to end.
    pub(super) fn finish(&self) {
        self.waiting.lock().is_over = true;
        self.filled.notify_one();
    }

    /// Waits for work until `time`, and moves it to `work`, which has no entries.
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
