//! Publishes a staged write, and applies its changes to the writer's state.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::pending_ids::PendingIds;
use crate::batch::{BufferedRow, RowAddr};
use crate::engine::handle::Engine;
use crate::engine::shared_state::Writing;
use crate::engine::snapshot::{BatchId, Snapshot, StoredAddr};
use crate::engine::write::merge::{Merge, Moved};
use crate::index::KeyWork;
use crate::standing::WriteEvents;

/// The changes of a transaction to the writer's state.
pub(super) struct WriterUpdate {
    next_place: u64,
    next_batch: u64,
    /// The deleted uncovered rows, each with the hash of its id.
    removed: Vec<(u64, BatchId, u16)>,
    /// The address changes of rows that merges have moved.
    pub(super) moved: Vec<Moved>,
    /// The new uncovered rows, each with the hash of its id.
    pub(super) inserted: Vec<(u64, BatchId, u16)>,
    /// True if the old head became a batch.
    pub(super) is_new_head: bool,
    /// The cases that the transaction stores in the head.
    pub(super) head: Vec<Arc<BufferedRow>>,
    /// The rows of covered batches that this transaction deletes by edits of the head. In the base, these rows are still live.
    pub(super) deleted: Vec<StoredAddr>,
    /// The merge in progress. Used only if there is a new head.
    pub(super) merge: Option<Merge>,
    /// The work in progress on the keys of the index. Used only if there is a new head.
    pub(super) keys: Option<KeyWork>,
}

impl WriterUpdate {
    pub(super) fn new(next_place: u64, next_batch: u64) -> Self {
        Self {
            next_place,
            next_batch,
            removed: Vec::new(),
            moved: Vec::new(),
            inserted: Vec::new(),
            is_new_head: false,
            head: Vec::new(),
            deleted: Vec::new(),
            merge: None,
            keys: None,
        }
    }

    pub(super) fn take_batch_id(&mut self) -> BatchId {
        let id = BatchId(self.next_batch);
        self.next_batch += 1;
        id
    }

    /// Records the deleted rows that are in uncovered batches.
    pub(super) fn note_deleted(
        &mut self,
        deleted: &HashMap<StoredAddr, u64, foldhash::quality::RandomState>,
    ) {
        self.removed.extend(deleted.iter().filter_map(|(at, hash)| match at {
            StoredAddr::Uncovered(batch, row) => Some((*hash, *batch, *row)),
            StoredAddr::Covered(..) => None,
        }));
    }

    /// Records that the cases of the transaction are rows of the head, starting at row `first`. The function `hash` returns the
    /// hash of a case's id.
    pub(super) fn note_head(
        &mut self,
        ids: &PendingIds,
        hash: impl Fn(RowAddr) -> u64,
        head: BatchId,
        first: u16,
    ) {
        self.inserted.extend(ids.iter().map(|at| (hash(at), head, first + at.row)));
    }
}

/// A write that only needs to be published.
pub(crate) struct StagedWrite<'e> {
    pub(super) engine: &'e Engine,
    pub(super) writer: Writing<'e>,
    pub(super) after: Arc<Snapshot>,
    pub(super) released: Vec<u64>,
    pub(super) update: WriterUpdate,
    /// The events of standing filters, if there are some.
    pub(super) events: Option<WriteEvents>,
}

/// The values that a store writes to its file before it publishes the write.
#[cfg_attr(not(any(test, feature = "store")), expect(dead_code, reason = "the durable store builds on it"))]
impl StagedWrite<'_> {
    /// Returns the next snapshot.
    pub(crate) fn after(&self) -> &Snapshot {
        &self.after
    }

    /// Returns the document numbers of the documents that no longer belong to a case. They may include documents that the
    /// transaction itself stored.
    pub(crate) fn released(&self) -> &[u64] {
        &self.released
    }

    /// Returns the next free insertion-order number after this write.
    pub(crate) fn next_place(&self) -> u64 {
        self.update.next_place
    }

    /// Returns the next free batch id after this write.
    pub(crate) fn next_batch(&self) -> u64 {
        self.update.next_batch
    }

    /// Returns the events of standing filters, if there are some.
    #[cfg(feature = "store")]
    pub(crate) fn events(&self) -> Option<&WriteEvents> {
        self.events.as_ref()
    }
}

impl StagedWrite<'_> {
    /// Makes the write visible to searches. This cannot fail.
    pub(crate) fn publish(mut self) {
        let writer = &mut *self.writer;
        let update = self.update;
        (writer.next_place, writer.next_batch) = (update.next_place, update.next_batch);
        for (hash, batch, row) in update.removed {
            writer.uncovered.remove(hash, batch, row);
        }
        let hasher = self.after.base.index().hasher();
        for (hash, batch, row) in update.inserted {
            writer.uncovered.insert(hash, batch, row);
        }
        for mut moved in update.moved {
            writer.obsolete.append(&mut moved.obsolete);
            moved.each(|id, from, to| {
                let hash = hasher.hash_one(id);
                if let Some((batch, row)) = from {
                    writer.uncovered.remove(hash, batch, row);
                }
                if let Some((batch, row)) = to {
                    writer.uncovered.insert(hash, batch, row);
                }
            });
        }
        if update.is_new_head {
            writer.head.clear();
            writer.deleted.clear();
            writer.merge = update.merge;
            writer.keys = update.keys;
        }
        writer.head.extend(update.head);
        writer.deleted.extend(update.deleted);
        let freed = writer.free();
        let ring = self.engine.watching.as_ref().and_then(|watching| watching.ring.as_ref());
        let ring = ring.zip(self.events.as_ref());
        // Readers of events wait until searches see the write.
        let added = ring.map(|(ring, events)| ring.add(events));
        self.writer.publish(self.after);
        drop(added);
        drop(freed);
    }
}
