//! The audit log of a running service (`AuditLog`): takes the records of requests, and starts the threads that write and sync them.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::chain::AuditHead;
use super::event::Event;
use super::files::followed;
use super::keeper::keep;
use super::options::AuditOptions;
use super::state::{State, silent};
use super::sync::{SyncSlot, keep_synced};
use super::writer::Writer;

/// The time between two syncs. A record is on disk within a second.
const SYNC_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum time of a write of a record, and of a sync. After this time, the file is treated as one that cannot be written.
const TIMEOUT: Duration = Duration::from_secs(10);

/// An audit log: a record of each answered request, in a file that only grows.
/// [`Service::with_audit`](super::super::Service::with_audit) writes it.
///
/// The records form a hash chain, which [`verify_audit_log`](super::verify_audit_log) checks. A record is written to the file
/// before its response is sent. A record that has been written survives a crash of the process. The file is synced twice a second,
/// so a power loss can lose the records of the last second.
///
/// As long as the disk answers, a request appends its record itself, together with the records of other requests that are ready.
/// This takes a few microseconds. Syncs, new files and recovery are the work of two threads of the log. If a sync takes longer than
/// a quarter of a second, one of these threads also appends the records. Requests that wait for their records then block no thread,
/// so a slow disk does not stop the service. If a record or a sync takes longer than 10 seconds, the file is treated as one that
/// cannot be written.
pub struct AuditLog {
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
    /// The channel that is disconnected when both threads have ended.
    ended: Mutex<Receiver<()>>,
}

impl AuditLog {
    /// Opens a log, or creates its file, which only its owner can read. Writes a record about the start.
    ///
    /// If a crash has left a part of a record at the end of the file, that part stays. The next record describes it. If the file is
    /// longer than [`rotate_bytes`](AuditOptions::rotate_bytes), a new file is begun.
    ///
    /// ```
    /// use casefilter::service::{AuditBeginning, AuditLog, AuditOptions, verify_audit_log};
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("audit.ndjson");
    /// let log = AuditLog::open(&path, AuditOptions::default())?;
    /// log.close()?;
    /// let report = verify_audit_log(&path, None, AuditBeginning::default())?;
    /// assert_eq!((report.head.number(), report.is_closed), (2, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, if another service writes it, or if it is not an audit log. Also
    /// returns an error if it is not a regular file, or if rotated files beside it have later records.
    pub fn open(path: impl Into<PathBuf>, options: AuditOptions) -> io::Result<Self> {
        Self::with_timeout(path.into(), options, TIMEOUT)
    }

    /// Like [`open`](Self::open), with another timeout for records and syncs.
    pub(super) fn with_timeout(path: PathBuf, options: AuditOptions, timeout: Duration) -> io::Result<Self> {
        let path = followed(&path)?;
        let slot = Arc::new(SyncSlot::new());
        let mut writer = Writer::new(path.clone(), options.rotate_bytes, Arc::clone(&slot));
        writer.open()?;
        writer.event(&Event::Opened)?;
        let state = Arc::new(State::new(path, options, (writer, slot), timeout));
        let (alive, ended) = channel();
        let mut log = Self { state, threads: Vec::new(), ended: Mutex::new(ended) };
        let state = Arc::clone(&log.state);
        let also_alive = alive.clone();
        log.start("audit", move || {
            let _alive = alive;
            keep(&state);
        })?;
        let state = Arc::clone(&log.state);
        log.start("audit-sync", move || {
            let _alive = also_alive;
            keep_synced(&state.slot, &state.path, SYNC_INTERVAL, |error| state.fail(error));
        })?;
        Ok(log)
    }

    fn start(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread::Builder::new().name(name.to_owned()).spawn(work)?);
        Ok(())
    }

    /// Returns the number and the hash of the last record.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        self.state.head()
    }

    /// Writes a record about the end of the log, syncs the file, and returns the number and the hash of the last record.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn close(mut self) -> io::Result<AuditHead> {
        let head = self.end();
        self.stop();
        head
    }

    /// Like [`close`](Self::close), but by reference, for a log that is still in use. No record follows, even if this fails.
    pub(in crate::service) fn end(&self) -> io::Result<AuditHead> {
        let (sender, receiver) = sync_channel(1);
        self.state.queue.end(sender);
        receiver.recv_timeout(self.state.timeout).unwrap_or_else(|_| Err(silent()))
    }

    /// Returns true if requests must not be answered, because they could not be recorded.
    pub(in crate::service) fn refuses(&self) -> bool {
        self.is_failing() && !self.state.options.is_best_effort
    }

    pub(in crate::service) fn is_failing(&self) -> bool {
        self.state.is_failing()
    }

    /// Returns two counts since the log was opened: the records that were written, and the records that are missing.
    pub(in crate::service) fn counts(&self) -> (u64, u64) {
        self.state.counts()
    }

    /// Returns the number of requests without a record that the log has not mentioned yet.
    pub(in crate::service) fn unmentioned(&self) -> u64 {
        self.state.unmentioned()
    }

    /// Waits until the record of a request has been written. `members` is JSON text: members without braces. Returns false if the
    /// request must not be answered, because its record could not be written in time, or because the log has ended.
    ///
    /// If the future is dropped, the record may be missing.
    pub(in crate::service) async fn record(&self, members: Vec<u8>) -> bool {
        let state = &*self.state;
        if state.is_failing() {
            return state.leave_out();
        }
        match state.append_with_others(members).await {
            Ok(may_be_answered) => may_be_answered,
            Err(members) => state.append_in_queue(members).await,
        }
    }

    /// Acts as if a sync had failed.
    #[cfg(test)]
    pub(super) fn fail_sync(&self) {
        let error = self.state.slot.fail(&io::Error::other("the disk is broken"));
        self.state.fail(&error);
    }

    /// Returns the state that the log shares with its threads.
    #[cfg(test)]
    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    /// Ends the threads. Does not wait longer than the timeout for a disk that does not answer.
    fn stop(&mut self) {
        self.state.queue.finish();
        self.state.slot.end(self.state.timeout);
        let _ = self.ended.get_mut().recv_timeout(self.state.timeout);
        self.threads.drain(..).filter(JoinHandle::is_finished).for_each(|thread| drop(thread.join()));
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("file", &self.state.path).finish_non_exhaustive()
    }
}
