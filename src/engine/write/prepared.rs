//! A write that is ready, and what it does to the writer's state when everybody may see it.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::merge::{Merge, Moved};
use super::own_ids::OwnIds;
use crate::batch::OwnedRow;
use crate::batch::RowAddr;
use crate::engine::current::Writing;
use crate::engine::snapshot::{BatchId, Snapshot, Where};
use crate::index::KeyWork;

/// What a change does to the writer's state when it is published.
pub(crate) struct Effects {
    pub(crate) next_place: u64,
    pub(crate) next_batch: u64,
    /// Locations of apart rows that died, with the hash of the id.
    pub(crate) removed: Vec<(u64, BatchId, u16)>,
    pub(crate) moved: Vec<Moved>,
    pub(crate) inserted: Vec<(u64, BatchId, u16)>,
    /// The head before is a batch now.
    pub(crate) is_new_head: bool,
    /// Cases stored in the head.
    pub(crate) head: Vec<Arc<OwnedRow>>,
    /// Rows of covered batches whose death the base does not know of.
    pub(crate) died: Vec<Where>,
    /// The merge under way, when there is a new head.
    pub(crate) merge: Option<Merge>,
    /// The work on keys under way, when there is a new head.
    pub(crate) keys: Option<KeyWork>,
}

impl Effects {
    pub(crate) fn new(next_place: u64, next_batch: u64) -> Self {
        Self {
            next_place,
            next_batch,
            removed: Vec::new(),
            moved: Vec::new(),
            inserted: Vec::new(),
            is_new_head: false,
            head: Vec::new(),
            died: Vec::new(),
            merge: None,
            keys: None,
        }
    }

    pub(crate) fn take_batch_id(&mut self) -> BatchId {
        let id = BatchId(self.next_batch);
        self.next_batch = self.next_batch.saturating_add(1);
        id
    }

    pub(crate) fn note_dead(&mut self, dead: &HashMap<Where, u64, foldhash::quality::RandomState>) {
        self.removed.extend(dead.iter().filter_map(|(at, hash)| match at {
            Where::Apart(batch, row) => Some((*hash, *batch, *row)),
            Where::Covered(..) => None,
        }));
    }

    /// The change's cases, whose ids are hashed so, are rows of the head from `first` on.
    pub(crate) fn note_head(
        &mut self,
        ids: &OwnIds,
        hash: impl Fn(RowAddr) -> u64,
        head: BatchId,
        first: u16,
    ) {
        self.inserted.extend(ids.iter().map(|at| (hash(at), head, first.saturating_add(at.row))));
    }
}

/// A write that only has to be published.
pub(crate) struct Prepared<'e> {
    pub(crate) writer: Writing<'e>,
    pub(crate) after: Arc<Snapshot>,
    pub(crate) released: Vec<u64>,
    pub(crate) effects: Effects,
}

/// What a store has to put down before it publishes.
#[cfg_attr(not(any(test, feature = "store")), expect(dead_code, reason = "the durable store builds on it"))]
impl Prepared<'_> {
    /// The cases as they will be.
    pub(crate) fn after(&self) -> &Snapshot {
        &self.after
    }

    /// The numbers of the documents that no case will have any more, those stored by the change itself among them.
    pub(crate) fn released(&self) -> &[u64] {
        &self.released
    }

    /// The next free place, once this is published.
    pub(crate) fn next_place(&self) -> u64 {
        self.effects.next_place
    }

    /// The next free number of a batch, once this is published.
    pub(crate) fn next_batch(&self) -> u64 {
        self.effects.next_batch
    }
}

impl Prepared<'_> {
    /// Lets everyone see the change. Cannot fail.
    pub(crate) fn publish(mut self) {
        let writer = &mut *self.writer;
        let effects = self.effects;
        (writer.next_place, writer.next_batch) = (effects.next_place, effects.next_batch);
        for (hash, batch, row) in effects.removed {
            writer.apart.remove(hash, batch, row);
        }
        let hasher = self.after.base.directory().hasher();
        for (hash, batch, row) in effects.inserted {
            writer.apart.insert(hash, batch, row);
        }
        for mut moved in effects.moved {
            writer.gone.append(&mut moved.gone);
            moved.each(|id, from, to| {
                let hash = hasher.hash_one(id);
                if let Some((batch, row)) = from {
                    writer.apart.remove(hash, batch, row);
                }
                if let Some((batch, row)) = to {
                    writer.apart.insert(hash, batch, row);
                }
            });
        }
        if effects.is_new_head {
            writer.head.clear();
            writer.died.clear();
            writer.merge = effects.merge;
            writer.keys = effects.keys;
        }
        writer.head.extend(effects.head);
        writer.died.extend(effects.died);
        let freed = writer.free();
        self.writer.publish(self.after);
        drop(freed);
    }
}
