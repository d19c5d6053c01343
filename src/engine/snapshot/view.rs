//! The view of a search: sealed batches with their live rows, and the index over the covered batches. It also counts selected rows
//! with the index, and subtracts the deleted rows (`known_count`).
//!
//! A shared view never changes. It may cache values that depend only on its batches. Each of them is initialised once: lazy columns
//! in a batch, and [`Tombstones`](super::tombstones::Tombstones) in a slot. The index caches orders of batches, and the identifiers
//! of the strings that its top rows have.

use std::hash::BuildHasher;
use std::sync::Arc;

#[cfg(feature = "store")]
use super::slot::row_number;
use super::slot::{BatchId, Slot, StoredAddr};
use crate::batch::{Batch, RowAddr};
use crate::catalog::{Catalog, FieldId};
use crate::exec::{Known, Visit, find_keys};
use crate::index::{BatchIndex, BatchKeys, GlobalRow, KeyWork, split};
use crate::stop::Pace;

/// The estimated work to look up one row in its batch, or one string in one batch (about 10 ns), in units of [`Pace::spend`].
const WORK_OF_A_ROW: usize = 40;

/// The sealed batches at one moment.
///
/// Each batch has a batch number. The covered batches come first. They have the same batch numbers as in the index, with gaps for
/// dropped batches. The uncovered batches follow, in ascending order of [`BatchId`].
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The covered batches by batch number.
    covered: Vec<Option<Slot>>,
    /// The uncovered batches in ascending order of id.
    uncovered: Vec<Slot>,
    index: Arc<BatchIndex>,
    /// The number of live rows.
    cases: usize,
    /// True if the batches, in the order of their batch numbers, hold the cases in insertion order.
    ordered: bool,
    /// The batch numbers of the covered batches that have deleted rows, in ascending order.
    with_tombstones: Vec<usize>,
}

impl View {
    /// Returns a view without batches, whose index hashes ids and keys with `hasher`.
    pub(crate) fn empty(hasher: foldhash::quality::RandomState) -> Self {
        Self {
            covered: Vec::new(),
            uncovered: Vec::new(),
            index: Arc::new(BatchIndex::new(hasher)),
            cases: 0,
            ordered: true,
            with_tombstones: Vec::new(),
        }
    }

    pub(crate) fn index(&self) -> &BatchIndex {
        &self.index
    }

    pub(crate) fn slot(&self, number: usize) -> Option<&Slot> {
        match number.checked_sub(self.covered.len()) {
            None => self.covered.get(number)?.as_ref(),
            Some(number) => self.uncovered.get(number),
        }
    }

    /// Returns all batches, covered and uncovered.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.covered.iter().flatten().chain(&self.uncovered)
    }

    /// Returns all batches with their batch numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Slot)> {
        (0..self.uncovered_numbers().end).filter_map(|number| Some((number, self.slot(number)?)))
    }

    /// Returns the batch numbers of the uncovered batches.
    pub(crate) fn uncovered_numbers(&self) -> std::ops::Range<usize> {
        self.covered.len()..self.covered.len() + self.uncovered.len()
    }

    pub(crate) fn cases(&self) -> usize {
        self.cases
    }

    /// Returns the covered batches that have deleted rows, with their batch numbers.
    pub(crate) fn covered_with_tombstones(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.with_tombstones.iter().filter_map(|number| Some((*number, self.covered.get(*number)?.as_ref()?)))
    }

    /// Returns true if the batches, in the order of their batch numbers, hold the cases in insertion order.
    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered
    }

    pub(crate) fn batch(&self, at: RowAddr) -> Option<&Batch> {
        self.slot(at.batch as usize).map(|slot| &*slot.batch)
    }

    pub(crate) fn id(&self, at: RowAddr) -> &str {
        self.batch(at).map_or("", |batch| batch.id(usize::from(at.row)))
    }

    pub(crate) fn uncovered(&self, id: BatchId) -> Option<&Slot> {
        self.uncovered.get(self.uncovered.binary_search_by_key(&id, |slot| slot.id).ok()?)
    }

    /// Returns the batch of a stored row, and its row number. Returns `None` for a row of the head.
    pub(crate) fn slot_of(&self, at: StoredAddr) -> Option<(&Slot, u16)> {
        match at {
            StoredAddr::Covered(number, row) => Some((self.covered.get(number as usize)?.as_ref()?, row)),
            StoredAddr::Uncovered(id, row) => Some((self.uncovered(id)?, row)),
        }
    }

    /// Searches the covered batches for the live row with the id `id`. `hash` is the hash of this id. Returns an iterator that
    /// yields at most one row. A later write may have deleted this row, because the view shows only the deletions up to its
    /// creation.
    pub(crate) fn find_covered(&self, hash: u64, id: &str) -> impl Iterator<Item = StoredAddr> {
        self.index.probe_id(hash).filter_map(move |row| {
            let (number, row) = split(row);
            let slot = self.covered.get(number)?.as_ref()?;
            let is_it = slot.is_live(row) && slot.batch.id(usize::from(row)) == id;
            is_it.then_some(StoredAddr::Covered(u32::try_from(number).ok()?, row))
        })
    }

    /// Returns two values for each id: its hash, and its live row in the covered batches, if it has one.
    pub(crate) fn find_all_covered(&self, ids: &[&str]) -> Vec<(u64, Option<StoredAddr>)> {
        let hasher = self.index.hasher();
        let mut found: Vec<(u64, Option<StoredAddr>)> =
            ids.iter().map(|id| (hasher.hash_one(id), None)).collect();
        let batch = |number: usize| self.covered.get(number)?.as_ref().map(|slot| &*slot.batch);
        find_keys(&self.index, FieldId::ID, ids, &batch, |row, id| {
            if self.is_live(row)
                && let ((number, row), Some((_, place))) = (split(row), found.get_mut(id as usize))
            {
                *place = u32::try_from(number).ok().map(|number| StoredAddr::Covered(number, row));
            }
        });
        found
    }

    /// Returns the batch with this batch number, for a search.
    pub(crate) fn visit(&self, number: usize) -> Option<Visit<'_>> {
        let slot = self.slot(number)?;
        Some(Visit { number, batch: &slot.batch, live: &slot.live })
    }

    /// Returns the batches with these batch numbers, for a search.
    pub(crate) fn visits<'v>(
        &'v self,
        numbers: impl Iterator<Item = usize> + Clone,
    ) -> impl Iterator<Item = Visit<'v>> + Clone {
        numbers.filter_map(move |number| self.visit(number))
    }

    /// Returns the number of selected live rows in the covered batches, from the counts of the index. Subtracts the deleted rows.
    ///
    /// Returns `None` if a batch has deleted rows that are not counted per string, because the field has too many strings there. If
    /// the search must stop, returns `None` or a number that is too small.
    pub(crate) fn known_count(&self, known: &Known<'_>, pace: &Pace<'_>) -> Option<u64> {
        match known {
            Known::Rows(rows) => Some(self.count_live(rows, pace)),
            Known::Strings(field, found) => {
                let mut rows: u64 = found.iter().map(|occurrences| occurrences.rows).sum();
                for (number, slot) in self.covered_with_tombstones() {
                    if pace.spend(WORK_OF_A_ROW.saturating_mul(found.len().saturating_add(64))) {
                        return None;
                    }
                    let counts = slot.deleted_counts(*field)?;
                    let deleted = found.iter().filter_map(|occurrences| {
                        counts.get(occurrences.code(number)? as usize).copied().map(u64::from)
                    });
                    let deleted: u64 = deleted.sum();
                    debug_assert!(deleted <= rows, "{deleted} deleted rows of {rows}");
                    rows -= deleted;
                }
                Some(rows)
            }
        }
    }

    /// Returns the number of live rows among `rows`, which are rows of covered batches. If the search must stop, the result may be
    /// too small.
    pub(crate) fn count_live(&self, rows: &[GlobalRow], pace: &Pace<'_>) -> u64 {
        let has_tombstones = self.covered_with_tombstones().next().is_some();
        if !has_tombstones {
            return rows.len() as u64;
        }
        let rows = rows.iter().take_while(|_| !pace.spend(WORK_OF_A_ROW));
        rows.filter(|row| self.is_live(**row)).count() as u64
    }

    pub(crate) fn is_live(&self, row: GlobalRow) -> bool {
        let (number, row) = split(row);
        self.slot(number).is_some_and(|slot| slot.is_live(row))
    }

    /// Marks rows as deleted. Ignores rows of batches that are not in the view.
    pub(crate) fn delete_rows(&mut self, mut deleted: Vec<StoredAddr>) {
        deleted.sort_unstable();
        let batch = |at: &StoredAddr| match at {
            StoredAddr::Covered(number, _) => (Some(*number), None),
            StoredAddr::Uncovered(id, _) => (None, Some(*id)),
        };
        for group in deleted.chunk_by(|a, b| batch(a) == batch(b)) {
            let slot = match group.first() {
                Some(StoredAddr::Covered(number, _)) => {
                    self.covered.get_mut(*number as usize).and_then(Option::as_mut)
                }
                Some(StoredAddr::Uncovered(id, _)) => {
                    let found = self.uncovered.binary_search_by_key(id, |slot| slot.id);
                    found.ok().and_then(|at| self.uncovered.get_mut(at))
                }
                None => None,
            };
            if let Some(slot) = slot {
                *slot = slot.without(group.iter().map(|at| match at {
                    StoredAddr::Covered(_, row) | StoredAddr::Uncovered(_, row) => *row,
                }));
            }
        }
    }

    /// Hides the documents whose document number is `first` or greater: marks their rows as deleted. Drops uncovered batches
    /// without live rows.
    #[cfg(feature = "store")]
    pub(crate) fn hide_documents_from(&mut self, first: u64) {
        let mut hidden = Vec::new();
        let mut hide = |slot: &Slot, address: &dyn Fn(u16) -> StoredAddr| {
            if slot.batch.has_documents_from(first) {
                let is_newer = |row: &usize| slot.batch.document_number(*row).is_some_and(|own| own >= first);
                let newer = slot.live.iter(slot.batch.rows()).filter(is_newer);
                hidden.extend(newer.map(|row| address(row_number(row))));
            }
        };
        for (number, slot) in (0_u32..).zip(&self.covered) {
            if let Some(slot) = slot {
                hide(slot, &|row| StoredAddr::Covered(number, row));
            }
        }
        for slot in &self.uncovered {
            hide(slot, &|row| StoredAddr::Uncovered(slot.id, row));
        }
        self.delete_rows(hidden);
        self.uncovered.retain(|slot| slot.live_rows > 0);
    }

    /// Adds an uncovered batch, which must be the newest.
    pub(crate) fn push_uncovered(&mut self, slot: Slot) {
        debug_assert!(self.uncovered.last().is_none_or(|last| last.id < slot.id), "ascending");
        self.uncovered.push(slot);
    }

    /// Removes the newest batch if it has this id.
    pub(crate) fn pop_uncovered(&mut self, id: BatchId) {
        self.uncovered.pop_if(|last| last.id == id);
    }

    /// Replaces two uncovered batches by `slot`, the batch that they were joined into. The two are the newest batch and the batch
    /// with the id of `slot`.
    pub(crate) fn join_newest(&mut self, slot: Slot) {
        let found = self.uncovered.binary_search_by_key(&slot.id, |slot| slot.id);
        debug_assert!(found.is_ok_and(|at| at + 1 < self.uncovered.len()), "an older batch");
        self.uncovered.pop();
        if let Some(place) = found.ok().and_then(|at| self.uncovered.get_mut(at)) {
            *place = slot;
        }
    }

    /// Adds a batch to the index as a covered batch. If the index has no free batch number, adds it as an uncovered batch. `keys`
    /// is passed to [`BatchIndex::add`].
    pub(crate) fn push_covered(&mut self, catalog: &Catalog, slot: Slot, keys: Vec<(FieldId, BatchKeys)>) {
        let index = Arc::make_mut(&mut self.index);
        let Some(number) = index.add(catalog, &slot.batch, keys) else {
            return self.push_uncovered(slot);
        };
        self.covered.resize(index.numbers(), None);
        if let Some(place) = self.covered.get_mut(number) {
            *place = Some(slot);
        }
    }

    /// Installs the result of `work` in the keys of the index. The work must be finished.
    pub(crate) fn put_keys(&mut self, work: KeyWork) {
        Arc::make_mut(&mut self.index).put(work);
    }

    /// Drops the batches for which `is_dropped` returns true.
    pub(crate) fn drop_where(&mut self, catalog: &Catalog, is_dropped: impl Fn(&Slot) -> bool) {
        self.uncovered.retain(|slot| !is_dropped(slot));
        for (number, place) in self.covered.iter_mut().enumerate() {
            if let Some(slot) = place.take_if(|slot| is_dropped(slot)) {
                Arc::make_mut(&mut self.index).retire(catalog, number, &slot.batch);
            }
        }
    }

    /// Recomputes the values that depend on all batches: the number of cases, their order, and the batches with deleted rows. The
    /// caller must call this after every change of the view.
    pub(crate) fn settle(&mut self) {
        let slots = || self.covered.iter().flatten().chain(&self.uncovered);
        let cases = slots().map(|slot| slot.live_rows).sum();
        let mut last = None;
        let ordered =
            slots().filter(|slot| slot.live_rows > 0).all(|slot| match slot.batch.ordered_places() {
                Some((from, to)) => last.replace(to).is_none_or(|last| last < from),
                None => false,
            });
        let with_tombstones = self.covered.iter().enumerate().filter_map(|(number, slot)| {
            let has_deleted = slot.as_ref().is_some_and(|slot| !slot.is_all_live());
            has_deleted.then_some(number)
        });
        (self.cases, self.ordered, self.with_tombstones) = (cases, ordered, with_tombstones.collect());
    }

    pub(crate) fn validate(&self, catalog: &Catalog) -> Result<(), String> {
        let mut ids = std::collections::HashSet::new();
        let mut places = std::collections::HashSet::new();
        let mut batches = std::collections::HashSet::new();
        for slot in self.slots() {
            let fault = |fault: String| format!("batch {}: {fault}", slot.id.0);
            slot.validate(catalog).map_err(fault)?;
            if !batches.insert(slot.id) {
                return Err(fault("duplicate batch id".into()));
            }
            for row in slot.live.iter(slot.batch.rows()) {
                if !ids.insert(slot.batch.id(row)) || !places.insert(slot.batch.place(row)) {
                    return Err(fault(format!("row {row} has a duplicate id or place")));
                }
            }
        }
        for (number, slot) in self.covered.iter().enumerate() {
            for row in slot.iter().flat_map(|slot| slot.live.iter(slot.batch.rows())) {
                let id = slot.as_ref().map_or("", |slot| slot.batch.id(row));
                let found: Vec<StoredAddr> =
                    self.find_covered(self.index.hasher().hash_one(id), id).collect();
                let own = (u32::try_from(number).ok(), u16::try_from(row).ok());
                if !matches!((found.as_slice(), own), ([StoredAddr::Covered(n, r)], (Some(number), Some(row))) if (*n, *r) == (number, row))
                {
                    return Err(format!(
                        "the index does not find row {row} of batch number {number} by its id"
                    ));
                }
            }
        }
        let covered: Vec<Option<&Batch>> =
            self.covered.iter().map(|slot| slot.as_ref().map(|slot| &*slot.batch)).collect();
        self.index.validate(catalog, &covered)?;
        let mut again = self.clone();
        again.settle();
        if ids.len() != self.cases || (again.cases, again.ordered) != (self.cases, self.ordered) {
            return Err(format!("{} cases, but the count says {}", ids.len(), self.cases));
        }
        if again.with_tombstones != self.with_tombstones {
            return Err("the list of batches with deleted rows is wrong".into());
        }
        if !self.uncovered.is_sorted_by_key(|slot| slot.id) {
            return Err("uncovered batches out of order".into());
        }
        Ok(())
    }
}
