//! The state that an audit log shares with its threads (`State`): the queue, the counters, and whether the file can be written.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::batch::{Batch, Left};
use super::chain::AuditHead;
use super::options::AuditOptions;
use super::outcome::{DROPPED, GIVEN_UP, Outcome};
use super::queue::Queue;
use super::sync::SyncSlot;
use super::writer::Writer;

/// The time after which a running sync shows that the disk is slow. Until that sync ends, only the thread of the log appends
/// records.
pub(super) const SLOW_SYNC: Duration = Duration::from_millis(250);

/// The maximum time for which a request blocks its thread while it waits for the lock of the writer.
const MOST_WAIT: Duration = Duration::from_micros(200);

/// The time between two checks of a record that another request is writing.
const PAUSE: Duration = Duration::from_millis(1);

/// The state that requests and the threads of a log share.
pub(super) struct State {
    pub(super) path: PathBuf,
    pub(super) options: AuditOptions,
    pub(super) queue: Queue,
    pub(super) slot: Arc<SyncSlot>,
    /// Records that wait until a request writes them. Code that needs both locks takes the lock of `writer` first.
    pub(super) batch: Arc<Batch>,
    writer: Mutex<Writer>,
    /// True while the thread of the log holds the lock of `writer`, or waits for it. Its work may take long.
    is_busy: AtomicBool,
    /// True once the log has ended: no request is recorded any more. It is set while `writer` is locked.
    is_ended: AtomicBool,
    /// The last record.
    head: Mutex<AuditHead>,
    /// The maximum time of a write of a record, and of a sync. After this time, the file is treated as one that cannot be written.
    pub(super) timeout: Duration,
    /// The number of records that were written since the log was opened.
    records: AtomicU64,
    /// The number of requests that were answered without a record since the log was opened. Only with `is_best_effort`.
    unrecorded: AtomicU64,
    /// The number of requests that have given up waiting for a record that may still be written.
    given_up: AtomicU64,
    /// The number of the requests in `unrecorded` that the log already mentions, in records about its recovery.
    unrecorded_before: AtomicU64,
    /// True while the file cannot be written.
    is_failing: AtomicBool,
}

impl State {
    pub(super) fn new(
        path: PathBuf,
        options: AuditOptions,
        (writer, slot): (Writer, Arc<SyncSlot>),
        timeout: Duration,
    ) -> Self {
        let head = Mutex::new(writer.head());
        Self {
            path,
            options,
            queue: Queue::new(),
            slot,
            batch: Arc::default(),
            writer: Mutex::new(writer),
            is_busy: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            head,
            timeout,
            records: AtomicU64::new(0),
            unrecorded: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
            unrecorded_before: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
        }
    }

    /// Appends a record on the thread of its request, together with the waiting records of other requests. This takes a few
    /// microseconds, because it does not wait for the disk. Returns `Ok` with true if the request may be answered, and `Ok` with
    /// false if it may not. Returns `Err` with the record if the thread of the log must write it. That is necessary if a new file
    /// must be begun, if a file must be opened again, or if the disk is slow. It is also necessary if the writer stays locked, or
    /// if the log has ended.
    ///
    /// On a disk that hangs, writing a record also waits, once the system has no more memory for unwritten records. A sync is begun
    /// twice a second. So a sync usually shows that the disk hangs before a write has to wait.
    pub(super) async fn append_with_others(&self, members: Vec<u8>) -> Result<bool, Vec<u8>> {
        let ticket = self.batch.push(members);
        // Other requests that are ready add their records in the meantime. One write of many records costs less than many writes.
        tokio::task::yield_now().await;
        if ticket.may_be_answered().is_none() {
            self.write_batch();
        }
        let start = Instant::now();
        loop {
            if let Some(may_be_answered) = ticket.may_be_answered() {
                return Ok(may_be_answered);
            }
            if let Some(members) = ticket.take() {
                return Err(members);
            }
            // Another request is writing the record.
            if start.elapsed() > self.timeout {
                self.fail(&silent());
                return match self.giving_up(|| ticket.give_up()) {
                    Left::Unwritten(members) => Err(members),
                    Left::Ended(may_be_answered) => Ok(may_be_answered),
                    Left::GivenUp => Ok(self.options.is_best_effort),
                };
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Lets the thread of the log append a record. Returns true if the request may be answered.
    pub(super) async fn append_in_queue(&self, members: Vec<u8>) -> bool {
        let mut waiting = pin!(tokio::time::sleep(self.timeout));
        let queued = tokio::select! {
            biased;
            queued = self.queue.push(members) => queued,
            () = &mut waiting => None,
        };
        let Some(mut queued) = queued else {
            self.fail(&silent());
            return self.leave_out();
        };
        tokio::select! {
            biased;
            ended = queued.ended() => ended.unwrap_or_else(|| {
                self.fail(&io::Error::other("the thread of the log has ended"));
                self.leave_out()
            }),
            () = &mut waiting => {
                self.fail(&silent());
                match self.giving_up(|| queued.give_up()) {
                    Left::Ended(may_be_answered) => may_be_answered,
                    Left::GivenUp | Left::Unwritten(_) => self.options.is_best_effort,
                }
            }
        }
    }

    /// Calls `give_up`, which ends the waiting of a request. Counts the request in `given_up` until [`settle`](Self::settle)
    /// decides the outcome of its record.
    fn giving_up(&self, give_up: impl FnOnce() -> Left) -> Left {
        // The request is counted first, because `settle` may be called for its record at any time.
        self.given_up.fetch_add(1, Ordering::Relaxed);
        let left = give_up();
        if !matches!(left, Left::GivenUp) {
            self.given_up.fetch_sub(1, Ordering::Relaxed);
        }
        left
    }

    /// Decides the outcome of a record: if its request may be answered. `is_written` is true if the record has been written, and
    /// false if it could not be written. Counts a request that is answered without a record, even if it was answered earlier
    /// because it gave up waiting.
    pub(super) fn settle(&self, outcome: &Outcome, is_written: bool) {
        let before = outcome.end(is_written || self.options.is_best_effort);
        if before == GIVEN_UP {
            self.given_up.fetch_sub(1, Ordering::Relaxed);
        }
        if !is_written && before != DROPPED {
            self.leave_out();
        }
    }

    /// Writes the records in the batch. Leaves them there if the thread of the log must write them.
    fn write_batch(&self) {
        if self.is_busy.load(Ordering::Acquire) || self.slot.is_late(SLOW_SYNC) {
            return;
        }
        let Some(mut writer) = self.writer.try_lock_for(MOST_WAIT) else { return };
        let records = self.batch.take();
        if records.is_empty() {
            return;
        }
        let bytes = records.iter().fold(0_usize, |sum, own| sum.saturating_add(own.members.len()));
        let is_written = !self.is_failing() && !self.is_ended() && !self.slot.has_failed();
        if !is_written || !writer.has_room(records.len(), bytes) {
            self.batch.put_back(records).iter().for_each(|own| self.settle(&own.outcome, false));
            return;
        }
        let count = self.append_all(&mut writer, records.iter().map(|own| &*own.members));
        // The writer is still locked. So requests without a record are counted before the thread of the log writes their number.
        for (number, own) in records.iter().enumerate() {
            self.settle(&own.outcome, number < count);
        }
    }

    /// Appends records in order. Returns how many of them were written. If one cannot be written, those after it are not written
    /// either.
    pub(super) fn append_all<'m>(
        &self,
        writer: &mut Writer,
        records: impl Iterator<Item = &'m [u8]>,
    ) -> usize {
        let (count, result) = writer.append_all(records);
        self.note_head(writer);
        self.records.fetch_add(count as u64, Ordering::Relaxed);
        if let Err(error) = result {
            writer.shut();
            self.fail(&error);
        }
        count
    }

    /// Calls a function with the writer, on the thread of the log. During the call, requests do not wait for the writer.
    pub(super) fn with_writer<T>(&self, call: impl FnOnce(&mut Writer) -> T) -> T {
        self.is_busy.store(true, Ordering::Release);
        let result = call(&mut self.writer.lock());
        self.is_busy.store(false, Ordering::Release);
        result
    }

    /// Stores the last record of the writer.
    pub(super) fn note_head(&self, writer: &Writer) {
        *self.head.lock() = writer.head();
    }

    /// Returns the last record.
    pub(super) fn head(&self) -> AuditHead {
        *self.head.lock()
    }

    /// Returns two counts since the log was opened: the written records, and the requests that were answered without a record.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.records.load(Ordering::Relaxed), self.unrecorded.load(Ordering::Relaxed))
    }

    /// Ends the log: no request is recorded any more. The caller must hold the lock of the writer.
    pub(super) fn set_ended(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Returns true while the file cannot be written.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Returns the number of requests without a record that the log does not mention yet. Includes requests whose records may still
    /// be written.
    pub(super) fn unmentioned(&self) -> u64 {
        let given_up = if self.options.is_best_effort { self.given_up.load(Ordering::Relaxed) } else { 0 };
        self.new_unrecorded().saturating_add(given_up)
    }

    /// Returns true if a request may be answered without a record. If so, counts the request.
    pub(super) fn leave_out(&self) -> bool {
        if self.options.is_best_effort {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
        }
        self.options.is_best_effort
    }

    /// Notes that the file cannot be written, and logs the first failure.
    pub(super) fn fail(&self, error: &io::Error) {
        if self.is_failing.swap(true, Ordering::AcqRel) {
            return;
        }
        let (cause, file) = (error.to_string(), self.path.display().to_string());
        if self.options.is_best_effort {
            tracing::error!(
                cause,
                file,
                "the audit log cannot be written: requests are answered without a record"
            );
        } else {
            tracing::error!(cause, file, "the audit log cannot be written: requests get 503");
        }
    }

    /// Notes that the file can be written again, unless the thread that syncs has found a fault in the meantime.
    pub(super) fn recovered(&self) {
        // The thread that syncs notes a fault in the slot before it calls `fail`. If that call came before the next line, it had no
        // effect. In that case, the check of the slot finds the fault.
        self.is_failing.swap(false, Ordering::AcqRel);
        match self.slot.check_written() {
            Ok(()) => tracing::info!("the audit log can be written again"),
            Err(error) => self.fail(&error),
        }
    }

    /// Returns the number of requests without a record that the log does not mention yet. Does not include requests whose records
    /// may still be written.
    pub(super) fn new_unrecorded(&self) -> u64 {
        let before = self.unrecorded_before.load(Ordering::Relaxed);
        self.unrecorded.load(Ordering::Relaxed).saturating_sub(before)
    }

    /// Notes that a record of the log now mentions `unrecorded` further requests that have no record.
    pub(super) fn note_mentioned(&self, unrecorded: u64) {
        self.unrecorded_before.fetch_add(unrecorded, Ordering::Relaxed);
    }
}

/// Returns the error of a disk that does not answer.
pub(super) fn silent() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the disk does not answer")
}
