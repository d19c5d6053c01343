//! The audit log of a running service (`AuditLog`): records requests, syncs the file, and recovers from failed writes.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::chain::AuditHead;
use super::event::Event;
use super::writer::Writer;

/// The time between two syncs, and between two attempts to write again. A record is on disk within a second.
const INTERVAL: Duration = Duration::from_millis(500);

/// The options of an [`AuditLog`].
///
/// ```
/// use casefilter::service::AuditOptions;
/// let options = AuditOptions { is_best_effort: true, ..AuditOptions::default() };
/// assert_eq!(options.rotate_bytes, 256 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditOptions {
    /// The size in bytes that a file should not exceed: a record that would exceed it begins a new file. A file can be longer if a
    /// single record is, or by a record about the log itself.
    pub rotate_bytes: u64,
    /// True if requests are answered while the log cannot be written. Such requests have no record. Once the log can be written
    /// again, a record has the number of these requests.
    pub is_best_effort: bool,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self { rotate_bytes: 256 << 20, is_best_effort: false }
    }
}

/// An audit log: a record of each answered request, in a file that only grows. [`Service::with_audit`](super::super::Service::with_audit)
/// writes it.
///
/// The records form a hash chain, which [`verify_audit_log`](super::verify_audit_log) checks. A record is written to the file before its
/// response is sent. Once it was written, a crash of the process does not lose it. A thread syncs the file twice a second, so a power
/// loss can lose the records of the last second.
pub struct AuditLog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    path: PathBuf,
    options: AuditOptions,
    writer: Mutex<Writer>,
    /// The value of `unrecorded` when the log was last written again.
    unrecorded_before: AtomicU64,
    /// True while the file cannot be written.
    is_failing: AtomicBool,
    /// True once `end` has been called: no request is recorded any more. It is set while `writer` is locked.
    is_ended: AtomicBool,
    /// True when the thread must end.
    is_over: AtomicBool,
    /// The number of records that were written since the log was opened.
    records: AtomicU64,
    /// The number of requests that were answered without a record since the log was opened. Only with `is_best_effort`.
    unrecorded: AtomicU64,
}

impl AuditLog {
    /// Opens a log, or creates its file, which only its owner can read. Writes a record about the start.
    ///
    /// If a crash has left a part of a record at the end of the file, that part stays, and the next record says what it is. If the file
    /// is longer than [`rotate_bytes`](AuditOptions::rotate_bytes), a new file is begun.
    ///
    /// ```
    /// use casefilter::service::{AuditLog, AuditOptions, verify_audit_log};
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("audit.ndjson");
    /// let log = AuditLog::open(&path, AuditOptions::default())?;
    /// log.close()?;
    /// let report = verify_audit_log(&path, None)?;
    /// assert_eq!((report.head.number(), report.is_closed), (2, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, if another service writes it, or if it is not an audit log.
    pub fn open(path: impl Into<PathBuf>, options: AuditOptions) -> io::Result<Self> {
        let path = path.into();
        let mut writer = Writer::new(path.clone(), options.rotate_bytes);
        writer.open()?;
        writer.event(&Event::Opened)?;
        let shared = Arc::new(Shared {
            path,
            options,
            writer: Mutex::new(writer),
            unrecorded_before: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            records: AtomicU64::new(0),
            unrecorded: AtomicU64::new(0),
        });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("audit".to_owned()).spawn(move || own.keep())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Returns the number and the hash of the last record.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        self.shared.lock().head()
    }

    /// Writes a record about the end, syncs the file, and returns the last record.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn close(mut self) -> io::Result<AuditHead> {
        self.stop();
        self.end()
    }

    /// Like [`close`](Self::close), for a log that others still have. No record follows, also if this fails.
    pub(in crate::service) fn end(&self) -> io::Result<AuditHead> {
        let mut writer = self.shared.lock();
        self.shared.is_ended.store(true, Ordering::Relaxed);
        if self.is_failing() {
            writer.open()?;
            self.shared.resume(&mut writer)?;
        } else if self.shared.new_unrecorded() > 0 {
            self.shared.resume(&mut writer)?;
        }
        writer.event(&Event::Closed)?;
        Ok(writer.head())
    }

    /// Returns true if requests must not be answered, because they could not be recorded.
    pub(in crate::service) fn refuses(&self) -> bool {
        self.is_failing() && !self.shared.options.is_best_effort
    }

    pub(in crate::service) fn is_failing(&self) -> bool {
        self.shared.is_failing.load(Ordering::Relaxed)
    }

    /// Returns the numbers of written and of missing records since the log was opened.
    pub(in crate::service) fn counts(&self) -> (u64, u64) {
        (self.shared.records.load(Ordering::Relaxed), self.shared.unrecorded.load(Ordering::Relaxed))
    }

    /// Returns the number of requests without a record that the log does not mention yet.
    pub(in crate::service) fn unmentioned(&self) -> u64 {
        self.shared.new_unrecorded()
    }

    /// Writes the record of a request. `members` is JSON text: members without braces. Returns false if the request must not be
    /// answered, because its record could not be written, or because the log has ended.
    pub(in crate::service) fn record(&self, members: &[u8]) -> bool {
        let shared = &*self.shared;
        if self.is_failing() {
            // The lock may be held for as long as a broken disk takes to answer.
            return shared.leave_out();
        }
        let mut writer = shared.lock();
        if shared.is_ended() {
            return shared.options.is_best_effort;
        }
        match writer.append(members) {
            Ok(()) => {
                shared.records.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(error) => {
                shared.fail(&mut writer, &error);
                shared.leave_out()
            }
        }
    }

    /// Acts as if a sync had failed.
    #[cfg(test)]
    pub(super) fn fail_sync(&self) {
        self.shared.sync_failed(&io::Error::other("the disk is broken"));
    }

    /// Calls a function while the writer is locked.
    #[cfg(test)]
    pub(super) fn while_locked<T>(&self, call: impl FnOnce() -> T) -> T {
        let _writer = self.shared.lock();
        call()
    }

    fn stop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.stop();
        let _ = self.shared.lock().sync();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if `end` has been called. The caller has `writer` locked.
    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Returns true if a request without a record may be answered, and then counts it.
    fn leave_out(&self) -> bool {
        if self.options.is_best_effort {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
        }
        self.options.is_best_effort
    }

    /// Closes the file after a failed write or sync, and logs the first failure.
    fn fail(&self, writer: &mut Writer, error: &io::Error) {
        writer.shut();
        if self.is_failing.swap(true, Ordering::Relaxed) {
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

    /// Syncs the file, and opens it again after a failure, until the log is over.
    fn keep(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            thread::park_timeout(INTERVAL);
            if self.is_failing.load(Ordering::Relaxed) {
                self.recover();
                continue;
            }
            // Records are appended while the file is synced.
            let begun = self.lock().begin_sync();
            match begun {
                Ok(None) => {}
                Ok(Some(file)) => {
                    if let Err(error) = file.sync_data() {
                        self.sync_failed(&error);
                    }
                }
                Err(error) => self.fail(&mut self.lock(), &error),
            }
        }
    }

    /// Stops all writing until a restart.
    fn sync_failed(&self, error: &io::Error) {
        let mut writer = self.lock();
        let error = writer.after_failed_sync(error);
        self.fail(&mut writer, &error);
    }

    /// Returns the number of requests without a record since the log was last written again.
    fn new_unrecorded(&self) -> u64 {
        let before = self.unrecorded_before.load(Ordering::Relaxed);
        self.unrecorded.load(Ordering::Relaxed).saturating_sub(before)
    }

    /// Writes a record with the number of requests that have no record.
    fn resume(&self, writer: &mut Writer) -> io::Result<()> {
        let unrecorded = self.new_unrecorded();
        writer.event(&Event::Resumed { unrecorded })?;
        self.unrecorded_before.fetch_add(unrecorded, Ordering::Relaxed);
        Ok(())
    }

    fn recover(&self) {
        let mut writer = self.lock();
        if self.is_ended() {
            return;
        }
        let recovered = writer.open().and_then(|()| self.resume(&mut writer));
        if recovered.is_err() {
            writer.shut();
            return;
        }
        self.is_failing.store(false, Ordering::Relaxed);
        tracing::info!("the audit log can be written again");
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("file", &self.shared.path).finish_non_exhaustive()
    }
}
