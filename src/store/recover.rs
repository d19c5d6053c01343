//! Going on after a fault of the file: opening it again, to read and to write.
//!
//! redb does nothing more with a file once reading or writing it has failed, such as for want of room. Opening it again gives what was
//! committed last. That is what memory shows, or a write that the caller was told of as failed and that is on disk all the same; then the
//! cases are loaded anew. Nothing is acknowledged that could be lost by that:
//!
//! - grouped writes that were not synced are gone with the file that is closed; the store has to be opened anew then;
//! - after a sync that failed, the system shows what may not be on disk: writes stay refused.

use std::sync::Arc;
use std::time::Instant;

use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::load::{Loaded, load};
use super::log::Log;
use super::tables::State;

/// A disk that fails again and again is left alone: opening a file that was not closed in order reads all of it.
const MOST_REOPENINGS: u64 = 8;

/// Recovering takes one part of this many of the time, at most, while the disk stays full.
const PART_OF_TIME: u32 = 5;

impl Store {
    /// Makes the store take writes again after one that failed, as when a disk is no longer full; does nothing otherwise.
    ///
    /// Each write does this first, so that a host needs it only to know early. An attempt may read the whole file.
    /// Attempts take a fifth of the time at most; in between the error says so.
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
    /// [`Failed`](StoreErrorKind::Failed) when the file cannot be written yet, or when only opening the store again can tell what is on
    /// disk; [`ReadOnly`](StoreErrorKind::ReadOnly).
    pub fn recover(&self) -> Result<(), StoreError> {
        self.ready(&mut self.lock_log())
    }

    /// Lets a write begin; after one that failed, the file is opened again first.
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
            // Opening it would write, on top of pages that may not be on disk.
            return refused("a sync failed; check the disk, then open the store again");
        }
        let start = Instant::now();
        if log.next_try.is_some_and(|next| start < next) {
            return refused("the file could not be written; it is tried again in a moment");
        }
        let taken_up = guarded(|| {
            self.open_again(log)?;
            // That it can be written.
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

    /// Opens the file again, and lets memory show what it holds.
    fn open_again(&self, log: &mut Log) -> Result<(), Fault> {
        let found = self.file.reopen(self.catalog())?;
        if !log.is_ahead && is_same(&found, &log.state) {
            self.engine.attach(Arc::new(Documents::of(&self.file)?));
            return Ok(());
        }
        if log.is_unsynced {
            self.file.shut();
            let detail =
                "writes that were not synced are lost; close the store and open it to go on without them";
            return Err(Fault::new(StoreErrorKind::Failed, detail));
        }
        let hasher = Some(self.engine.hasher());
        let Loaded { engine, state, stored, replayed } =
            load(&self.file, self.catalog(), &self.options, hasher)?;
        let since_checkpoint = replayed.saturating_add(state.released);
        self.engine.replace(engine);
        let mut fresh = Log::new(state, stored, since_checkpoint, false);
        (fresh.failed, fresh.reopenings, fresh.next_try) = (true, log.reopenings, log.next_try);
        *log = fresh;
        Ok(())
    }

    /// Reads from the file as it was of this generation, and `again` from the file opened anew if a fault before keeps redb from
    /// reading.
    pub(super) fn reading<T>(
        &self,
        generation: u64,
        read: impl FnOnce() -> Result<T, Fault>,
        again: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let result = guarded(read).or_else(|fault| {
            let is_stuck = fault.kind == StoreErrorKind::Failed && self.reopen(generation);
            if is_stuck { guarded(again) } else { Err(fault) }
        });
        result.map_err(|fault| self.error(fault))
    }

    /// Opens the file again after a fault, if it was not since it was of this generation, so that reading goes on; true when that is
    /// worth another try.
    ///
    /// The next write opens it once more: what was not synced is lost with the file that is closed.
    pub(super) fn reopen(&self, generation: u64) -> bool {
        // The holder of the log may be opening the file, or may be a write that waits for what is read here.
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
            Ok(documents) if is_same(&found, &log.state) => {
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

/// Whether a file holds what memory shows. Opening gives numbers to batches that are made of documents then.
fn is_same(found: &State, shown: &State) -> bool {
    let numbered = |state: &State| State { next_batch: 0, ..*state };
    numbered(found) == numbered(shown)
}
