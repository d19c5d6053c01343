//! Stages a transaction: creates the next snapshot, and does a bounded step of the merges.

use std::hash::BuildHasher;
use std::sync::Arc;

use super::buffer::{Buffer, SealedBatch};
use super::staged::{StagedWrite, WriterUpdate};
use super::txn::{Attached, WriteTxn};
use crate::batch::{BufferedRow, RowAddr};
use crate::column::{Bitmap, Selection};
use crate::engine::snapshot::{BatchId, Head, Slot, Snapshot, StoredAddr, View, row_number};
use crate::engine::write::merge::{Merge, join_head};

/// The number of values that a write copies for merges in progress, per stored or deleted case. A write of n cases copies up to n +
/// 1 times this number. During its life, a case is copied by about three merges. Each of these copies has one value per field. With
/// 100 fields, the three copies have 300 values. That is less than this number, so merges keep up with the writes.
const MERGE_STEP: usize = 1024;

/// The number of index keys that a write moves between sorted runs of keys, per stored or deleted case. A write of n cases moves up
/// to n + 1 times this number. A case has few keys, and each key is moved about log(number of batches) times. So the merges of runs
/// do not fall behind the writes.
const KEY_STEP: usize = 128;

/// The budget of a write for merges, in values and in keys.
struct Budget {
    values: usize,
    keys: usize,
    /// The number of cases that the transaction stores or deletes, plus one.
    writes: usize,
}

impl<'e> WriteTxn<'e> {
    /// Does all work that can fail or take time. No search sees the result yet. The transaction must be attached.
    pub(crate) fn stage(mut self) -> StagedWrite<'e> {
        debug_assert!(self.attached.is_some(), "a transaction is attached before it is staged");
        let mut attached = self.attached.take().unwrap_or_else(|| Attached::new(self.engine));
        let events = self.find_events(&mut attached);
        attached.writer.merge.take_if(|merge| merge.is_stuck());
        let changes = self.buffer.rows() + self.deleted.len();
        let writes = changes + 1;
        let number = attached.snapshot.write() + u64::from(changes > 0);
        let mut budget = Budget {
            values: MERGE_STEP.saturating_mul(writes),
            keys: KEY_STEP.saturating_mul(writes),
            writes,
        };
        let staged = match &self.buffer {
            Buffer::Rows(rows) if self.fits_head(&attached.snapshot.head, rows.len()) => {
                let Attached { writer, snapshot } = &mut attached;
                let index = snapshot.base.index();
                if let Some(merge) = &mut writer.merge {
                    merge.step(&self.engine.catalog, index, self.engine.sizes, &mut budget.values);
                }
                if let Some(work) = &mut writer.keys {
                    work.step(index, &mut budget.keys);
                }
                self.stage_in_head(attached, number)
            }
            _ => self.stage_sealed(attached, budget, number),
        };
        StagedWrite { events, ..staged }
    }

    /// Adds the cases and deletions to the head. `number` is the number of the write.
    fn stage_in_head(self, attached: Attached<'e>, number: u64) -> StagedWrite<'e> {
        let Attached { writer, snapshot: before } = attached;
        let mut head = before.head.clone();
        let first = head.rows();
        let rows = match self.buffer {
            Buffer::Rows(rows) => rows,
            Buffer::Batches(..) => Vec::new(),
        };
        let mut update = WriterUpdate::new(self.next_place, writer.next_batch);
        update.note_deleted(&self.deleted);
        let covered = |at: &StoredAddr| matches!(at, StoredAddr::Covered(..));
        update.deleted = self.deleted.keys().copied().filter(covered).collect();
        let hasher = before.base.index().hasher();
        update.note_head(&self.ids, |at| hash_in(&rows, at, hasher), head.id, first);
        let own_deleted = in_head(&self.own_deleted, head.id, first);
        let cases = before.cases() + self.ids.len() - self.deleted.len();
        head.extend(&rows, self.deleted.into_keys().chain(own_deleted));
        update.head = rows;
        let after = Snapshot::new(Arc::clone(&before.base), head, cases).following(&before).numbered(number);
        let after = Arc::new(after);
        StagedWrite { engine: self.engine, writer, after, released: self.released, update, events: None }
    }

    /// Seals the old head. Also adds the batches of the transaction to the view; if the transaction has no batches, its cases start
    /// a new head. `number` is the number of the write.
    fn stage_sealed(mut self, attached: Attached<'e>, mut budget: Budget, number: u64) -> StagedWrite<'e> {
        let Attached { mut writer, snapshot } = attached;
        let engine = self.engine;
        let (catalog, sizes, keep) = (&engine.catalog, engine.sizes, engine.keep);
        let mut view = View::clone(snapshot.view(catalog, keep));
        let mut update = WriterUpdate::new(self.next_place, writer.next_batch);
        update.is_new_head = true;
        update.note_deleted(&self.deleted);
        view.delete_rows(std::mem::take(&mut self.deleted).into_keys().collect());
        view.drop_where(catalog, |slot| slot.live_rows == 0);
        let merge = writer.merge.take();
        if view.uncovered(snapshot.head.id).is_some() {
            let is_merging = |id| merge.as_ref().is_some_and(|merge| merge.has_source(id));
            update.moved.extend(join_head(&mut view, keep, sizes, is_merging));
        }
        let rows = match std::mem::replace(&mut self.buffer, Buffer::Rows(Vec::new())) {
            Buffer::Rows(rows) => rows,
            Buffer::Batches(mut sealed, mut filling) => {
                if filling.rows() > 0 {
                    sealed.push(filling.seal().into());
                }
                self.push_batches(sealed, &mut view, &mut update);
                Vec::new()
            }
        };
        view.settle();
        self.merge_batches(merge, &mut view, &mut update, &mut budget);
        let mut key_work = writer.keys.take();
        while let Some(mut work) = key_work.take().or_else(|| view.index().key_work(budget.writes)) {
            if !work.step(view.index(), &mut budget.keys) {
                key_work = Some(work);
                break;
            }
            view.put_keys(work);
        }
        update.keys = key_work;
        let mut head = Head::new(update.take_batch_id());
        let cases = view.cases();
        let mut own_cases = 0;
        if !rows.is_empty() {
            let hasher = view.index().hasher();
            update.note_head(&self.ids, |at| hash_in(&rows, at, hasher), head.id, 0);
            own_cases = self.ids.len();
            head.extend(&rows, in_head(&self.own_deleted, head.id, 0));
            update.head = rows;
        }
        let after = Arc::new(Snapshot::new(Arc::new(view), head, cases + own_cases).numbered(number));
        StagedWrite { engine, writer, after, released: self.released, update, events: None }
    }

    /// Continues the merge in progress, and starts further merges as far as the budget allows.
    fn merge_batches(
        &self,
        mut merge: Option<Merge>,
        view: &mut View,
        update: &mut WriterUpdate,
        budget: &mut Budget,
    ) {
        let engine = self.engine;
        let (catalog, sizes) = (&engine.catalog, engine.sizes);
        while let Some(mut next) = merge.take().or_else(|| Merge::choose(view, sizes, engine.keep)) {
            if budget.values == 0 || !next.step(catalog, view.index(), sizes, &mut budget.values) {
                update.merge = Some(next);
                return;
            }
            let id = update.take_batch_id();
            update.moved.extend(next.apply(view, catalog, id, sizes));
            view.settle();
        }
    }

    /// Adds sealed batches of the transaction to a view.
    fn push_batches(&self, sealed: Vec<SealedBatch>, view: &mut View, update: &mut WriterUpdate) {
        let mut deleted: Vec<Vec<u16>> = vec![Vec::new(); sealed.len()];
        for at in &self.own_deleted {
            if let Some(rows) = deleted.get_mut(at.batch as usize) {
                rows.push(at.row);
            }
        }
        for (SealedBatch { batch, keys, .. }, deleted) in sealed.into_iter().zip(deleted) {
            let live = Bitmap::ones(batch.rows()).without(deleted.into_iter().map(usize::from));
            let slot = Slot::new(update.take_batch_id(), batch, Selection::from_bitmap(live));
            if self.engine.sizes.is_covered(slot.live_rows) {
                view.push_covered(&self.engine.catalog, slot, keys);
            } else if slot.live_rows > 0 {
                let hasher = view.index().hasher();
                let live = slot.live.iter(slot.batch.rows());
                let inserted =
                    live.map(|row| (hasher.hash_one(slot.batch.id(row)), slot.id, row_number(row)));
                update.inserted.extend(inserted);
                view.push_uncovered(slot);
            }
        }
    }
}

/// Returns the hash of the id of the case at `at`.
fn hash_in(rows: &[Arc<BufferedRow>], at: RowAddr, hasher: &impl BuildHasher) -> u64 {
    rows.get(usize::from(at.row)).map_or(0, |row| hasher.hash_one(row.id()))
}

/// Converts rows of the transaction to addresses in a head. In the head, the rows of the transaction start at row `first`.
fn in_head(rows: &[RowAddr], head: BatchId, first: u16) -> impl Iterator<Item = StoredAddr> {
    rows.iter().map(move |at| StoredAddr::Uncovered(head, first + at.row))
}
