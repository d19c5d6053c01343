//! The data that a write leaves for the next write (`Log`): the counters, the stored batches, and earlier failures. `tables.rs`
//! defines the counters.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::bell::Bell;
use super::columns::StoredBatch;
use super::error::{Fault, StoreErrorKind};
use super::history_bytes::WriteCounters;
use super::standing_bytes::StandingCounters;
use super::tables::StoreCounters;

/// The state of the file that the next write needs. It is protected by the writer lock.
#[derive(Default)]
pub(super) struct Log {
    pub(super) state: StoreCounters,
    pub(super) standing: StandingCounters,
    pub(super) writes: WriteCounters,
    /// Shows events to readers.
    pub(super) bell: Arc<Bell>,
    /// The stored batches, by batch number.
    pub(super) stored: HashMap<u64, StoredBatch>,
    /// The number of cases that were stored or deleted since the last checkpoint. `u64::MAX` if the next write must make a
    /// checkpoint.
    pub(super) since_checkpoint: u64,
    /// True after a failed write. The state in memory may then differ from the file.
    pub(super) failed: bool,
    /// True between the commit of a write and its publication in memory.
    pub(super) is_ahead: bool,
    /// True if the last write has not been synced yet.
    pub(super) is_unsynced: bool,
    pub(super) is_read_only: bool,
    /// The number of times that the file was reopened for readers since the last synced write.
    pub(super) reopenings: u64,
    /// The earliest time at which the next recovery may be attempted.
    pub(super) next_try: Option<Instant>,
}

impl Log {
    pub(super) fn new(
        (state, standing, writes): (StoreCounters, StandingCounters, WriteCounters),
        bell: Arc<Bell>,
        stored: HashMap<u64, StoredBatch>,
        since_checkpoint: u64,
        is_read_only: bool,
    ) -> Self {
        Self {
            state,
            standing,
            writes,
            bell,
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

    /// Records that all previous writes are on disk. Readers may now see their events.
    pub(super) fn synced(&mut self) {
        self.is_unsynced = false;
        self.reopenings = 0;
        self.bell.ring(self.standing.last_event());
    }

    /// Records that a write failed.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.is_read_only {
            return Err(Fault::new(StoreErrorKind::ReadOnly, "it is open only for reading"));
        }
        if self.failed {
            return Err(Fault::new(
                StoreErrorKind::Failed,
                "an earlier write failed; open the store again to continue",
            ));
        }
        Ok(())
    }
}
