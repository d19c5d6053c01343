//! The thread that syncs an audit log (`keep_synced`), and the file that it shares with the writer (`SyncSlot`).

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::files::is_at;

/// The file of a log, which the writer shares with the thread that syncs. Requests lock it only after a failed write.
pub(super) struct SyncSlot {
    /// The file. `None` after a failure, until the file has been opened again.
    file: Mutex<Option<Arc<File>>>,
    /// The time from which `begun_ms` counts.
    start: Instant,
    /// The time at which the running sync began, in milliseconds. 0 if none is running.
    begun_ms: AtomicU64,
    /// True if records were written since the last sync began.
    is_unsynced: AtomicBool,
    /// True after a failed sync. The system may then have dropped records that it still shows to this process.
    has_failed: AtomicBool,
    /// True if the thread that syncs must end.
    is_over: AtomicBool,
    ended: Condvar,
    #[cfg(test)]
    pub(super) gate: Gate,
}

impl SyncSlot {
    pub(super) fn new() -> Self {
        Self {
            file: Mutex::default(),
            start: Instant::now(),
            begun_ms: AtomicU64::new(0),
            is_unsynced: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            ended: Condvar::new(),
            #[cfg(test)]
            gate: Gate::default(),
        }
    }

    /// Sets the file to sync. It must be open at the path of the log.
    pub(super) fn set(&self, file: Option<Arc<File>>) {
        *self.file.lock() = file;
    }

    /// Replaces the file by the one that `open` returns. Keeps the slot locked while `open` runs. So the thread that syncs does not
    /// report that the old file is no longer at its path.
    pub(super) fn replace(&self, open: impl FnOnce() -> io::Result<Arc<File>>) -> io::Result<Arc<File>> {
        let mut slot = self.file.lock();
        *slot = None;
        self.before_access();
        let file = open()?;
        *slot = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Returns an error if the file cannot be written any more: after a failed sync, or if the thread that syncs has found another
    /// file at its path.
    pub(super) fn check_written(&self) -> io::Result<()> {
        match self.has_failed() || self.file.lock().is_none() {
            true => Err(io::Error::other("a sync of the file failed, or the file was removed")),
            false => Ok(()),
        }
    }

    /// Notes that the file has records that are not on disk.
    pub(super) fn note_write(&self) {
        self.is_unsynced.store(true, Ordering::Release);
    }

    /// Returns an error if the file must not be opened again: after a failed sync, and while a sync is running.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.has_failed() {
            return Err(io::Error::other("an earlier sync of the file failed"));
        }
        if self.begun_ms.load(Ordering::Acquire) > 0 {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "a sync of the file has not ended"));
        }
        Ok(())
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Notes a failed sync, and returns its error.
    pub(super) fn fail(&self, error: &io::Error) -> io::Error {
        self.has_failed.store(true, Ordering::Release);
        io::Error::new(
            error.kind(),
            format!("a sync failed, the log continues only after a restart: {error}"),
        )
    }

    /// Returns true if a sync has been running for longer than `most`.
    pub(super) fn is_late(&self, most: Duration) -> bool {
        let begun = self.begun_ms.load(Ordering::Acquire);
        begun > 0 && self.now_ms().saturating_sub(begun) > u64::try_from(most.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the time since `start`, in milliseconds. It is never 0.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Ends the thread that syncs. Does not wait longer than `most` for a disk that does not answer.
    pub(super) fn end(&self, most: Duration) {
        self.is_over.store(true, Ordering::Release);
        // While this function holds the lock, the thread that syncs is not between its check of `is_over` and its wait.
        let _slot = self.file.try_lock_for(most);
        self.ended.notify_all();
    }

    /// Called before each access to the disk. Tests can make this call wait.
    pub(super) fn before_access(&self) {
        #[cfg(test)]
        self.gate.pass(Hanging::All);
    }

    /// Checks that the file is still at its path. Syncs it if it has records that are not on disk.
    ///
    /// # Errors
    /// Returns an error if the sync fails, or if another file or no file is at the path.
    fn sync(&self, path: &Path) -> io::Result<()> {
        self.begun_ms.store(self.now_ms(), Ordering::Release);
        let synced = self.sync_now(path);
        self.begun_ms.store(0, Ordering::Release);
        synced
    }

    fn sync_now(&self, path: &Path) -> io::Result<()> {
        let Some(file) = self.file.lock().clone() else { return Ok(()) };
        // The slot is not locked during the access to the disk. If another file was begun in the meantime, the old one is not at
        // the path.
        let is_current = |now: &Arc<File>| Arc::ptr_eq(now, &file);
        if !is_at(&file, path) && self.file.lock().as_ref().is_some_and(is_current) {
            return Err(removed());
        }
        let file = {
            let slot = self.file.lock();
            let Some(file) = slot.clone() else { return Ok(()) };
            if !self.is_unsynced.swap(false, Ordering::AcqRel) {
                return Ok(());
            }
            file
        };
        #[cfg(test)]
        self.gate.pass(Hanging::Syncs);
        // Requests can append records during this call.
        file.sync_data().map_err(|error| self.fail(&error))
    }
}

/// Returns the error of a log whose file is not at its path any more.
pub(super) fn removed() -> io::Error {
    io::Error::other("the file was removed or replaced while the service ran")
}

/// Syncs the file of a log each `interval`, until [`SyncSlot::end`] is called. Calls `on_failure` with each error.
pub(super) fn keep_synced(slot: &SyncSlot, path: &Path, interval: Duration, on_failure: impl Fn(&io::Error)) {
    loop {
        {
            let mut waiting = slot.file.lock();
            if !slot.is_over.load(Ordering::Acquire) {
                slot.ended.wait_for(&mut waiting, interval);
            }
            if slot.is_over.load(Ordering::Acquire) {
                return;
            }
        }
        if let Err(error) = slot.sync(path) {
            slot.set(None);
            on_failure(&error);
        }
    }
}

/// The accesses to the disk that hang, as if the disk did not answer.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hanging {
    #[default]
    Nothing,
    /// Syncs of the thread that syncs. This is what hangs first on a disk that does not answer.
    Syncs,
    All,
}

/// A gate before each access to the disk.
#[cfg(test)]
#[derive(Default)]
pub(super) struct Gate {
    hanging: Mutex<Hanging>,
    changed: Condvar,
    /// The number of accesses.
    passed: AtomicU64,
}

#[cfg(test)]
impl Gate {
    pub(super) fn set(&self, hanging: Hanging) {
        *self.hanging.lock() = hanging;
        self.changed.notify_all();
    }

    /// Returns the number of accesses so far.
    pub(super) fn count(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// Waits while accesses of this kind hang.
    fn pass(&self, kind: Hanging) {
        self.passed.fetch_add(1, Ordering::Relaxed);
        let mut hanging = self.hanging.lock();
        while *hanging >= kind {
            self.changed.wait(&mut hanging);
        }
    }
}
