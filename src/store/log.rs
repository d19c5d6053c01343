//! The state that one write hands on to the next.

use std::collections::HashMap;
use std::time::Instant;

use super::batches::StoredBatch;
use super::error::{Fault, StoreErrorKind};
use super::tables::State;

/// What the next write needs to know of the file.
#[derive(Default)]
pub(super) struct Log {
    pub(super) state: State,
    /// The stored batches, as they are in the file.
    pub(super) stored: HashMap<u64, StoredBatch>,
    /// Cases stored or deleted since the last checkpoint; the greatest number when one has to be made, so that counting saturates.
    pub(super) since_checkpoint: u64,
    /// A write failed: memory may differ from the file.
    pub(super) failed: bool,
    /// A write was committed that memory does not show.
    pub(super) is_ahead: bool,
    /// The last write is on disk with the next that is synced.
    pub(super) is_unsynced: bool,
    pub(super) is_read_only: bool,
    /// How often the file was opened again to be read since a write succeeded.
    pub(super) reopenings: u64,
    /// When writes are tried again at the earliest.
    pub(super) next_try: Option<Instant>,
}

impl Log {
    pub(super) fn new(
        state: State,
        stored: HashMap<u64, StoredBatch>,
        since_checkpoint: u64,
        is_read_only: bool,
    ) -> Self {
        Self {
            state,
            stored,
            since_checkpoint,
            failed: false,
            is_ahead: false,
            is_unsynced: false,
            is_read_only,
            reopenings: 0,
            next_try: None,
        }
    }

    /// Notes that everything so far is on disk.
    pub(super) fn synced(&mut self) {
        self.is_unsynced = false;
        self.reopenings = 0;
    }

    /// Notes that a write failed.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.is_read_only {
            return Err(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone"));
        }
        if self.failed {
            return Err(Fault::new(StoreErrorKind::Failed, "an earlier write failed; reopen it to go on"));
        }
        Ok(())
    }
}
