//! Creates an engine from the batches and documents of a store (`Parts`).

use std::hash::BuildHasher;
use std::sync::Arc;

use super::writer::Writer;
use crate::batch::{Batch, BufferedRow};
use crate::column::Selection;
use crate::engine::handle::{Engine, EngineBuilder};
use crate::engine::shared_state::SharedState;
use crate::engine::snapshot::{BatchId, Head, Slot, Snapshot, StoredAddr, View};

/// The end of the range of batch ids. An id shares 64 bits with a row number. At a million writes per second, the ids last for nine
/// years.
const MOST_BATCH_IDS: u64 = 1 << 48;
/// The end of the range of insertion-order numbers in a file. It is so low that the numbers of later writes do not overflow.
const MOST_PLACES: u64 = 1 << 62;

/// The contents of an engine: its batches with their live rows, the cases and deletions in its head, and the next free numbers.
///
/// A [`StagedWrite`](super::transaction::StagedWrite) provides these contents: its
/// [snapshot](super::transaction::StagedWrite::after), and the next free numbers.
pub(crate) struct Parts {
    pub(crate) batches: Vec<(BatchId, Arc<Batch>, Selection)>,
    /// The id of the batch that the head will become.
    pub(crate) head: BatchId,
    /// The cases stored in the head, in order, including cases that were deleted afterwards.
    pub(crate) rows: Vec<BufferedRow>,
    /// The rows, in batches or in the head, that were deleted after the live rows were recorded.
    pub(crate) deleted: Vec<(BatchId, u16)>,
    pub(crate) next_place: u64,
    pub(crate) next_batch: u64,
    /// The number of the last write.
    pub(crate) write: u64,
    /// The hasher of the index that is being replaced by these contents, if there is such an index. Imports in progress have hashed
    /// ids with this hasher.
    pub(crate) hasher: Option<foldhash::quality::RandomState>,
}

#[cfg_attr(not(any(test, feature = "store")), expect(dead_code, reason = "the durable store builds on it"))]
impl EngineBuilder {
    /// Builds an engine with these contents.
    ///
    /// # Errors
    /// Returns an error if the parts are inconsistent. Does not find duplicate ids, duplicate insertion-order numbers or corrupt
    /// batches; [`Engine::validate`] finds them.
    pub(crate) fn restore(self, parts: Parts) -> Result<Engine, String> {
        let engine = self.build();
        let (catalog, sizes) = (&engine.catalog, engine.sizes);
        let mut batches = parts.batches;
        batches.sort_by_key(|(id, ..)| *id);
        let mut view = View::empty(parts.hasher.unwrap_or_default());
        let mut deleted = parts.deleted;
        deleted.sort_unstable();
        deleted.dedup();
        for (id, batch, live) in batches {
            if id >= parts.head || view.slots().any(|slot| slot.id == id) {
                return Err(format!("batch {} is a duplicate, or newer than the head", id.0));
            }
            live.validate(batch.rows())?;
            let from = deleted.partition_point(|(other, _)| *other < id);
            let own = deleted.iter().skip(from).take_while(|(other, _)| *other == id).map(|(_, row)| *row);
            let mut slot = Slot::shared(id, batch, live);
            if deleted.get(from).is_some_and(|(other, _)| *other == id) {
                slot = slot.without(own);
            }
            if sizes.is_covered(slot.live_rows) {
                view.push_covered(catalog, slot, Vec::new());
            } else {
                view.push_uncovered(slot);
            }
        }
        while let Some(mut work) = view.index().key_work(usize::MAX) {
            work.finish(view.index());
            view.put_keys(work);
        }
        view.settle();
        if parts.next_batch <= parts.head.0 || parts.rows.len() > sizes.head().max(64) {
            return Err("the head has too many cases, or its id is not below the next free batch id".into());
        }
        if parts.next_batch >= MOST_BATCH_IDS || parts.next_place >= MOST_PLACES {
            return Err("batch ids or places out of range".into());
        }
        let rows: Vec<Arc<BufferedRow>> = parts.rows.into_iter().map(Arc::new).collect();
        let deleted_in_head: Vec<StoredAddr> = deleted
            .iter()
            .filter(|(id, row)| *id == parts.head && usize::from(*row) < rows.len())
            .map(|(id, row)| StoredAddr::Uncovered(*id, *row))
            .collect();
        let cases = view.cases() + rows.len() - deleted_in_head.len();
        let uncovered = view.uncovered_numbers().filter_map(|number| view.slot(number));
        let mut writer = Writer {
            next_place: parts.next_place,
            next_batch: parts.next_batch,
            unlisted: uncovered.map(|slot| slot.id).collect(),
            head: rows.clone(),
            ..Writer::default()
        };
        let hasher = view.index().hasher();
        for (row, case) in (0_u16..).zip(&rows) {
            if !deleted_in_head.contains(&StoredAddr::Uncovered(parts.head, row)) {
                writer.uncovered.insert(hasher.hash_one(case.id()), parts.head, row);
            }
        }
        let mut head = Head::new(parts.head);
        head.extend(&rows, deleted_in_head.into_iter());
        let snapshot = Snapshot::new(Arc::new(view), head, cases).numbered(parts.write);
        Ok(Engine { current: SharedState::new(snapshot, writer), ..engine })
    }
}
