//! Recovers after a failed read or write of the file: reopens the file for reading and for writing.
//!
//! redb stops using a file after a failed read or write, for example on a full disk. Reopening the file shows the last commit.
//! Usually this is the state in memory. But a write that was reported as failed may be on disk. Then the documents are loaded
//! again. No acknowledged write is lost without an error:
//!
//! - When the file is closed, grouped writes that were not synced are lost. Then the host must open the store again.
//! - After a failed sync, the system may show data that is not on disk. Then all writes fail.

use std::sync::Arc;
use std::time::Instant;

use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError, StoreErrorKind, caught, guarded};
use super::load::{Loaded, load};
use super::log::Log;
use super::tables::{Counted, FORMAT_VERSION, StoreCounters};

/// The maximum number of times that the file is reopened for readers between two synced writes. After that, reads return the error.
/// Without this limit, a failing disk could cause many reopenings, each of which may read the whole file.
const MOST_REOPENINGS: u64 = 8;

/// The minimum time from the start of one recovery attempt to the start of the next, in multiples of the duration of the earlier
/// attempt.
const PART_OF_TIME: u32 = 5;

impl Store {
    /// Makes the store accept writes again after a failed write, for example when a disk is no longer full. Does nothing if no
    /// write has failed.
    ///
    /// Each write first does this by itself. So a host needs this method only to find out early if writes are possible again. An
    /// attempt may read the whole file. After an attempt that took `t` seconds, the next attempt starts `4 t` seconds later at the
    /// earliest. Until then, a call returns an error.
    ///
    /// ```
    /// # use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.recover()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Failed`](StoreErrorKind::Failed) if the file still cannot be written. Also returns it if the host must open the
    /// store again to find out what is on disk. Returns [`ReadOnly`](StoreErrorKind::ReadOnly) if the store was opened for reading
    /// only.
    pub fn recover(&self) -> Result<(), StoreError> {
        self.ready(&mut self.lock_log())
    }

    /// Checks that a write may start. If an earlier write failed, first reopens the file.
    pub(super) fn ready(&self, log: &mut Log) -> Result<(), StoreError> {
        if log.failed && !log.is_read_only {
            self.take_up(log).map_err(|fault| self.error(fault))?;
        }
        log.check().map_err(|fault| self.error(fault))
    }

    fn take_up(&self, log: &mut Log) -> Result<(), Fault> {
        let refused = |why: &str| {
            let detail = format!("an earlier write failed, and {why}");
            Err(Fault::new(StoreErrorKind::Failed, detail))
        };
        if self.file.sync_failed().is_set() {
            // Reopening would write to the file, based on pages that may not be on disk.
            return refused("a sync failed; check the disk, then open the store again");
        }
        let start = Instant::now();
        if log.next_try.is_some_and(|next| start < next) {
            return refused("the file could not be written; the store will try again in a moment");
        }
        let taken_up = guarded(|| {
            self.open_again(log)?;
            // An empty synced write tests if the file can be written.
            Ok(self.file.write(true)?.commit()?)
        });
        log.next_try = start.elapsed().checked_mul(PART_OF_TIME).and_then(|pause| start.checked_add(pause));
        match taken_up {
            Ok(()) => {
                log.failed = false;
                log.synced();
                Ok(())
            }
            Err(fault) => refused(&format!("the file cannot be written yet: {}", fault.detail)),
        }
    }

    /// Reopens the file. If its documents differ from those in memory, loads them.
    fn open_again(&self, log: &mut Log) -> Result<(), Fault> {
        let found = self.file.reopen(self.catalog())?;
        if !log.is_ahead && is_same(&found, log) {
            self.engine.attach(Arc::new(Documents::of(&self.file)?));
            return Ok(());
        }
        // True if a write that was reported as failed after its commit is on disk. Then all writes before it are on disk, too.
        let has_all = found.state.next_document > log.state.next_document
            || found.standing.changes > log.standing.changes
            || found.writes.last > log.writes.last
            // Only the history has changed. Such a change is always synced.
            || (found.writes.last == log.writes.last && found.writes != log.writes);
        if log.is_unsynced && !has_all {
            self.file.shut();
            let detail = "writes that were not synced are lost; close the store and open it again to continue without them";
            return Err(Fault::new(StoreErrorKind::Failed, detail));
        }
        let hasher = Some(self.engine.hasher());
        let Loaded { engine, state, standing, writes, filters, stored, replayed, .. } =
            load(&self.file, self.catalog(), &self.options, hasher)?;
        let since_checkpoint = replayed.saturating_add(state.released);
        // Imports in progress look up ids on other threads.
        engine.read_ids();
        // Snapshots that are held may still have the batches of the old engine. Later checkpoints do not know these batches. So a
        // read transaction is kept for each of them. If that fails, nothing has changed, and the next attempt loads the file again.
        for source in log.stored.values().filter_map(|batch| batch.source.upgrade()) {
            source.keep()?;
        }
        let filters = self.filters.replace_all(filters.iter().collect());
        filters.map_err(|error| Fault::corrupt(format!("standing filters: {error}")))?;
        self.engine.replace(engine);
        let bell = Arc::clone(&log.bell);
        let mut fresh = Log::new((state, standing, writes), bell, stored, since_checkpoint, false);
        (fresh.failed, fresh.reopenings, fresh.next_try) = (true, log.reopenings, log.next_try);
        *log = fresh;
        Ok(())
    }

    /// Calls `read`, which reads from the file of this generation. If redb cannot read because of an earlier error, reopens the
    /// file and calls `again`.
    pub(super) fn reading<T>(
        &self,
        generation: u64,
        read: impl FnOnce() -> Result<T, Fault>,
        again: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let result = guarded(read).or_else(|fault| {
            let generation = fault.generation.unwrap_or(generation);
            let is_stuck = fault.kind == StoreErrorKind::Failed && self.reopen(generation);
            if is_stuck { guarded(again) } else { Err(fault) }
        });
        result.map_err(|fault| self.error(fault))
    }

    /// Calls `work`, which may read columns of stored batches. If redb cannot read because of an earlier error, reopens the file
    /// and calls `work` again. Every operation that searches the engine runs in this function, so that it never answers from a
    /// column that could not be read.
    pub(super) fn with_columns<T>(&self, work: impl Fn() -> T) -> Result<T, StoreError> {
        self.trying_columns(|| caught(&work))
    }

    /// Like `with_columns`, for work that returns the fault of a column.
    pub(super) fn trying_columns<T>(&self, work: impl Fn() -> Result<T, Fault>) -> Result<T, StoreError> {
        // If a fault has no generation, this one is assumed. Another thread may reopen the file in the meantime.
        let before = self.file.generation();
        let result = work().or_else(|fault| {
            let generation = fault.generation.unwrap_or(before);
            let is_stuck = fault.kind == StoreErrorKind::Failed && self.reopen(generation);
            if is_stuck { work() } else { Err(fault) }
        });
        result.map_err(|fault| self.error(fault))
    }

    /// Calls `prepare`, which does the part of a write before its commit, and may read columns of stored batches. If a column
    /// cannot be read, nothing has been written.
    pub(super) fn prepared<T>(
        &self,
        log: &mut Log,
        prepare: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        caught(prepare).unwrap_or_else(|fault| {
            // Damage stays, but after a failed read, the next write opens the file again.
            log.failed |= fault.kind != StoreErrorKind::Corrupt;
            Err(self.error(fault))
        })
    }

    /// Reopens the file for readers after an error, unless the generation of the file has already changed. Returns true if the
    /// caller should read again.
    ///
    /// The store does not accept writes yet: the next write first reopens the file again, and tests if the file can be written. If
    /// grouped writes were lost when the file was closed, the next write returns an error.
    pub(super) fn reopen(&self, generation: u64) -> bool {
        // Another thread has the log. It may be reopening the file, or it may be a write that waits for this read.
        let Some(mut log) = self.log.try_lock() else { return true };
        if self.file.generation() != generation {
            return true;
        }
        if log.is_read_only || log.reopenings >= MOST_REOPENINGS {
            return false;
        }
        log.failed = true;
        log.reopenings = log.reopenings.saturating_add(1);
        let Ok(found) = self.file.reopen(self.catalog()) else { return false };
        let documents = guarded(|| Documents::of(&self.file));
        match documents {
            Ok(documents) if is_same(&found, &log) => {
                self.engine.attach(Arc::new(documents));
                true
            }
            _ => {
                self.file.shut();
                false
            }
        }
    }
}

/// Returns true if the counters of the file equal those in memory. Ignores `next_batch`, because the batches that loading creates
/// get new numbers.
fn is_same(found: &Counted, shown: &Log) -> bool {
    let numbered = |state: &StoreCounters| StoreCounters { next_batch: 0, ..*state };
    numbered(&found.state) == numbered(&shown.state)
        && found.standing == shown.standing
        && (found.writes == shown.writes || found.version < FORMAT_VERSION)
}
