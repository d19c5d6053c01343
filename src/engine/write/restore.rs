//! An engine made of what another one held.

use std::hash::BuildHasher;
use std::sync::Arc;

use super::writer::Writer;
use crate::batch::{Batch, BufferedRow};
use crate::column::Selection;
use crate::engine::handle::{Engine, EngineBuilder};
use crate::engine::shared_state::SharedState;
use crate::engine::snapshot::{BatchId, Head, Slot, Snapshot, StoredAddr, View, row_number};

/// Batches are numbered in 48 bits beside the 16 of a row: a million writes a second would take nine years to use them up.
const MOST_BATCH_IDS: u64 = 1 << 48;
/// Far from the end of the numbers, so that writes can count on.
const MOST_PLACES: u64 = 1 << 62;

/// The contents of an engine: its batches with their live rows, the cases stored since, and the next free numbers.
///
/// [`Prepared::after`](super::transaction::StagedWrite::after) shows where they come from.
pub(crate) struct Parts {
    pub(crate) batches: Vec<(BatchId, Arc<Batch>, Selection)>,
    /// The number of the batch that the head will become.
    pub(crate) head: BatchId,
    /// The cases stored in the head, in order, deleted ones too.
    pub(crate) rows: Vec<BufferedRow>,
    /// Rows of batches or of the head that were deleted since the live rows were noted.
    pub(crate) died: Vec<(BatchId, u16)>,
    pub(crate) next_place: u64,
    pub(crate) next_batch: u64,
}

#[cfg_attr(not(any(test, feature = "store")), expect(dead_code, reason = "the durable store builds on it"))]
impl EngineBuilder {
    /// An engine that holds these cases.
    ///
    /// # Errors
    /// A sentence about parts that do not belong together; that each id and each place is there once, and
    /// that batches are sound, only [`Engine::validate`] finds out.
    pub(crate) fn restore(self, parts: Parts) -> Result<Engine, String> {
        let engine = self.build();
        let (catalog, sizes) = (&engine.catalog, engine.sizes);
        let mut batches = parts.batches;
        batches.sort_by_key(|(id, ..)| *id);
        let mut view = View::empty();
        let mut died = parts.died;
        died.sort_unstable();
        died.dedup();
        for (id, batch, live) in batches {
            if id >= parts.head || view.slots().any(|slot| slot.id == id) {
                return Err(format!("batch {} is there twice, or newer than the head", id.0));
            }
            live.validate(batch.rows())?;
            let from = died.partition_point(|(other, _)| *other < id);
            let own = died.iter().skip(from).take_while(|(other, _)| *other == id).map(|(_, row)| *row);
            let mut slot = Slot::shared(id, batch, live);
            if died.get(from).is_some_and(|(other, _)| *other == id) {
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
            return Err("a head that cannot be".into());
        }
        if parts.next_batch >= MOST_BATCH_IDS || parts.next_place >= MOST_PLACES {
            return Err("numbers of batches or places that no engine reaches".into());
        }
        let rows: Vec<Arc<BufferedRow>> = parts.rows.into_iter().map(Arc::new).collect();
        let dead: Vec<StoredAddr> = died
            .iter()
            .filter(|(id, row)| *id == parts.head && usize::from(*row) < rows.len())
            .map(|(id, row)| StoredAddr::Uncovered(*id, *row))
            .collect();
        let cases = view.cases() + rows.len() - dead.len();
        let mut writer = Writer {
            next_place: parts.next_place,
            next_batch: parts.next_batch,
            head: rows.clone(),
            ..Writer::default()
        };
        let hasher = view.index().hasher();
        for slot in view.uncovered_numbers().filter_map(|number| view.slot(number)) {
            for row in slot.live.iter(slot.batch.rows()) {
                writer.uncovered.insert(hasher.hash_one(slot.batch.id(row)), slot.id, row_number(row));
            }
        }
        for (row, case) in (0_u16..).zip(&rows) {
            if !dead.contains(&StoredAddr::Uncovered(parts.head, row)) {
                writer.uncovered.insert(hasher.hash_one(case.id()), parts.head, row);
            }
        }
        let mut head = Head::new(parts.head);
        head.extend(&rows, dead.into_iter());
        Ok(Engine { current: SharedState::new(Snapshot::new(Arc::new(view), head, cases), writer), ..engine })
    }
}
