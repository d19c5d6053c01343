//! What a search sees: sealed batches, which of their rows are live, and what is known of them together.

use std::hash::BuildHasher;
use std::sync::Arc;

use super::tombstones::DeadRows;
use crate::batch::Batch;
use crate::batch::RowAddr;
use crate::catalog::{Catalog, FieldId};
use crate::column::{Bitmap, Selection};
use crate::exec::Known;
use crate::exec::Visit;
use crate::exec::find_keys;
use crate::index::{BatchKeys, Directory, GlobalRow, KeyWork, split};

/// Names a batch for the life of an engine; later batches have greater numbers. One that a head is joined to keeps its
/// own, and its rows keep theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BatchId(pub(crate) u64);

/// A row of a batch that the engine holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Where {
    /// In the covered batch of this number.
    Covered(u32, u16),
    /// In an apart batch, or in the head.
    Apart(BatchId, u16),
}

/// A batch and those of its rows that were neither replaced nor deleted.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) id: BatchId,
    pub(crate) batch: Arc<Batch>,
    pub(crate) live: Arc<Selection>,
    pub(crate) live_rows: usize,
    /// None when every row is live.
    dead: Option<Arc<DeadRows>>,
}

impl Slot {
    pub(crate) fn new(id: BatchId, batch: Batch, live: Selection) -> Self {
        Self::shared(id, Arc::new(batch), live)
    }

    pub(crate) fn shared(id: BatchId, batch: Arc<Batch>, live: Selection) -> Self {
        let live_rows = live.count(batch.rows());
        let dead = (live_rows < batch.rows()).then(|| Arc::new(DeadRows::new(&batch)));
        Self { id, batch, live: Arc::new(live), live_rows, dead }
    }

    /// The same batch with fewer live rows.
    pub(crate) fn without(&self, dead: impl IntoIterator<Item = u16>) -> Self {
        let rows = self.batch.rows();
        let mut died: Vec<u16> = dead.into_iter().filter(|row| self.is_live(*row)).collect();
        died.sort_unstable();
        died.dedup();
        let counts = match &self.dead {
            Some(counts) => counts.with(&self.batch, &died),
            None => DeadRows::new(&self.batch),
        };
        let live = match &*self.live {
            Selection::None => Bitmap::zeros(rows),
            Selection::All => Bitmap::ones(rows),
            Selection::Bitmap(bitmap) => bitmap.clone(),
        };
        let live = Selection::from_bitmap(live.without(died.into_iter().map(usize::from)));
        let live_rows = live.count(rows);
        let dead = (live_rows < rows).then(|| Arc::new(counts));
        Self { id: self.id, batch: Arc::clone(&self.batch), live: Arc::new(live), live_rows, dead }
    }

    /// How many of the dead rows have each string of a field, by code; `None` when that is not counted.
    pub(crate) fn dead_counts(&self, field: FieldId) -> Option<&[u32]> {
        match &self.dead {
            Some(dead) => dead.counts(&self.batch, &self.live, field),
            None => Some(&[]),
        }
    }

    pub(crate) fn is_live(&self, row: u16) -> bool {
        self.live.contains(usize::from(row))
    }

    pub(crate) fn is_all_live(&self) -> bool {
        matches!(*self.live, Selection::All)
    }
}

/// Sealed batches at one moment; never changed once it is shared.
///
/// Batches are numbered: first the covered ones, as the directory numbers them, with gaps where one was
/// retired; behind them the apart ones, ascending by [`BatchId`].
#[derive(Clone, Debug)]
pub(crate) struct View {
    covered: Vec<Option<Slot>>,
    apart: Vec<Slot>,
    directory: Arc<Directory>,
    cases: usize,
    ordered: bool,
    /// The numbers of the covered batches some of whose rows are dead, ascending.
    with_dead: Vec<usize>,
}

impl View {
    /// No batch.
    pub(crate) fn empty() -> Self {
        Self {
            covered: Vec::new(),
            apart: Vec::new(),
            directory: Arc::default(),
            cases: 0,
            ordered: true,
            with_dead: Vec::new(),
        }
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(crate) fn slot(&self, number: usize) -> Option<&Slot> {
        match number.checked_sub(self.covered.len()) {
            None => self.covered.get(number)?.as_ref(),
            Some(number) => self.apart.get(number),
        }
    }

    /// All batches, covered and apart.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.covered.iter().flatten().chain(&self.apart)
    }

    /// All batches with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Slot)> {
        (0..self.apart_numbers().end).filter_map(|number| Some((number, self.slot(number)?)))
    }

    /// The numbers of the apart batches.
    pub(crate) fn apart_numbers(&self) -> std::ops::Range<usize> {
        self.covered.len()..self.covered.len().saturating_add(self.apart.len())
    }

    pub(crate) fn cases(&self) -> usize {
        self.cases
    }

    /// The covered batches some of whose rows are dead, with their numbers.
    pub(crate) fn covered_with_dead(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.with_dead.iter().filter_map(|number| Some((*number, self.covered.get(*number)?.as_ref()?)))
    }

    /// True when walking the batches by number meets the cases in the order of their places.
    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered
    }

    pub(crate) fn batch(&self, at: RowAddr) -> Option<&Batch> {
        self.slot(at.batch as usize).map(|slot| &*slot.batch)
    }

    pub(crate) fn id(&self, at: RowAddr) -> &str {
        self.batch(at).map_or("", |batch| batch.id(usize::from(at.row)))
    }

    pub(crate) fn apart(&self, id: BatchId) -> Option<&Slot> {
        self.apart.get(self.apart.binary_search_by_key(&id, |slot| slot.id).ok()?)
    }

    /// The slot of a row, unless it lies elsewhere.
    pub(crate) fn slot_of(&self, at: Where) -> Option<(&Slot, u16)> {
        match at {
            Where::Covered(number, row) => Some((self.covered.get(number as usize)?.as_ref()?, row)),
            Where::Apart(id, row) => Some((self.apart(id)?, row)),
        }
    }

    /// Live rows of covered batches that have this id, by its hash: one at most, but for deaths that the
    /// view does not know of yet.
    pub(crate) fn find_covered(&self, hash: u64, id: &str) -> impl Iterator<Item = Where> {
        self.directory.probe_id(hash).filter_map(move |row| {
            let (number, row) = split(row);
            let slot = self.covered.get(number)?.as_ref()?;
            let is_it = slot.is_live(row) && slot.batch.id(usize::from(row)) == id;
            is_it.then_some(Where::Covered(u32::try_from(number).ok()?, row))
        })
    }

    /// For each of many ids its hash, and where in the covered batches its live row is, if it has one.
    pub(crate) fn find_all_covered(&self, ids: &[&str]) -> Vec<(u64, Option<Where>)> {
        let hasher = self.directory.hasher();
        let mut found: Vec<(u64, Option<Where>)> = ids.iter().map(|id| (hasher.hash_one(id), None)).collect();
        let batch = |number: usize| self.covered.get(number)?.as_ref().map(|slot| &*slot.batch);
        find_keys(&self.directory, FieldId::ID, ids, &batch, |row, id| {
            if self.is_live(row)
                && let ((number, row), Some((_, place))) = (split(row), found.get_mut(id as usize))
            {
                *place = u32::try_from(number).ok().map(|number| Where::Covered(number, row));
            }
        });
        found
    }

    /// The batch of this number, to be searched.
    pub(crate) fn visit(&self, number: usize) -> Option<Visit<'_>> {
        let slot = self.slot(number)?;
        Some(Visit { number, batch: &slot.batch, live: &slot.live })
    }

    /// The batches of these numbers, to be searched.
    pub(crate) fn visits<'v>(
        &'v self,
        numbers: impl Iterator<Item = usize> + Clone,
    ) -> impl Iterator<Item = Visit<'v>> + Clone {
        numbers.filter_map(move |number| self.visit(number))
    }

    /// How many live rows of the covered batches are selected, from what the directory knows of all rows.
    ///
    /// `None` when a batch has dead rows with too many different strings.
    pub(crate) fn known_count(&self, known: &Known<'_>) -> Option<u64> {
        match known {
            Known::Rows(rows) => Some(self.count_live(rows)),
            Known::Strings(field, found) => {
                let mut rows: u64 = found.iter().map(|occurrences| occurrences.rows).sum();
                for (number, slot) in self.covered_with_dead() {
                    let counts = slot.dead_counts(*field)?;
                    let dead = found.iter().filter_map(|occurrences| {
                        counts.get(occurrences.code(number)? as usize).copied().map(u64::from)
                    });
                    rows = rows.saturating_sub(dead.sum());
                }
                Some(rows)
            }
        }
    }

    /// How many of these rows of covered batches are live.
    pub(crate) fn count_live(&self, rows: &[GlobalRow]) -> u64 {
        match self.covered_with_dead().next() {
            None => rows.len() as u64,
            Some(_) => rows.iter().filter(|row| self.is_live(**row)).count() as u64,
        }
    }

    pub(crate) fn is_live(&self, row: GlobalRow) -> bool {
        let (number, row) = split(row);
        self.slot(number).is_some_and(|slot| slot.is_live(row))
    }

    /// Marks rows dead; those of other batches are left out.
    pub(crate) fn kill(&mut self, mut dead: Vec<Where>) {
        dead.sort_unstable();
        let batch = |at: &Where| match at {
            Where::Covered(number, _) => (Some(*number), None),
            Where::Apart(id, _) => (None, Some(*id)),
        };
        for group in dead.chunk_by(|a, b| batch(a) == batch(b)) {
            let slot = match group.first() {
                Some(Where::Covered(number, _)) => {
                    self.covered.get_mut(*number as usize).and_then(Option::as_mut)
                }
                Some(Where::Apart(id, _)) => {
                    let found = self.apart.binary_search_by_key(id, |slot| slot.id);
                    found.ok().and_then(|at| self.apart.get_mut(at))
                }
                None => None,
            };
            if let Some(slot) = slot {
                *slot = slot.without(group.iter().map(|at| match at {
                    Where::Covered(_, row) | Where::Apart(_, row) => *row,
                }));
            }
        }
    }

    /// Adds a batch that searches ask by itself, which must be the newest.
    pub(crate) fn push_apart(&mut self, slot: Slot) {
        debug_assert!(self.apart.last().is_none_or(|last| last.id < slot.id), "ascending");
        self.apart.push(slot);
    }

    /// Drops the newest batch if it is this one.
    pub(crate) fn pop_apart(&mut self, id: BatchId) {
        self.apart.pop_if(|last| last.id == id);
    }

    /// Puts a batch that the newest one was joined to in the place of both.
    pub(crate) fn join_newest(&mut self, slot: Slot) {
        let found = self.apart.binary_search_by_key(&slot.id, |slot| slot.id);
        debug_assert!(found.is_ok_and(|at| at.saturating_add(1) < self.apart.len()), "an older batch");
        self.apart.pop();
        if let Some(place) = found.ok().and_then(|at| self.apart.get_mut(at)) {
            *place = slot;
        }
    }

    /// Adds a batch that the directory covers from now on; an apart one when there is no number for it. `keys` as for
    /// [`Directory::add`].
    pub(crate) fn push_covered(&mut self, catalog: &Catalog, slot: Slot, keys: Vec<(FieldId, BatchKeys)>) {
        let directory = Arc::make_mut(&mut self.directory);
        let Some(number) = directory.add(catalog, &slot.batch, keys) else { return self.push_apart(slot) };
        self.covered.resize(directory.numbers(), None);
        if let Some(place) = self.covered.get_mut(number) {
            *place = Some(slot);
        }
    }

    /// Puts in what came of work on the directory's keys.
    pub(crate) fn put_keys(&mut self, work: KeyWork) {
        Arc::make_mut(&mut self.directory).put(work);
    }

    /// Drops the batches that `is_dropped` names.
    pub(crate) fn drop_where(&mut self, catalog: &Catalog, is_dropped: impl Fn(&Slot) -> bool) {
        self.apart.retain(|slot| !is_dropped(slot));
        for (number, place) in self.covered.iter_mut().enumerate() {
            if let Some(slot) = place.take_if(|slot| is_dropped(slot)) {
                Arc::make_mut(&mut self.directory).retire(catalog, number, &slot.batch);
            }
        }
    }

    /// Counts anew what depends on all batches together; to be called after every change.
    pub(crate) fn settle(&mut self) {
        let slots = || self.covered.iter().flatten().chain(&self.apart);
        let cases = slots().map(|slot| slot.live_rows).sum();
        let mut last = None;
        let ordered =
            slots().filter(|slot| slot.live_rows > 0).all(|slot| match slot.batch.ordered_places() {
                Some((from, to)) => last.replace(to).is_none_or(|last| last < from),
                None => false,
            });
        let with_dead = self.covered.iter().enumerate().filter_map(|(number, slot)| {
            let has_dead = slot.as_ref().is_some_and(|slot| !slot.is_all_live());
            has_dead.then_some(number)
        });
        (self.cases, self.ordered, self.with_dead) = (cases, ordered, with_dead.collect());
    }

    pub(crate) fn validate(&self, catalog: &Catalog) -> Result<(), String> {
        let mut ids = std::collections::HashSet::new();
        let mut places = std::collections::HashSet::new();
        let mut batches = std::collections::HashSet::new();
        for slot in self.slots() {
            let fault = |fault: String| format!("batch {}: {fault}", slot.id.0);
            slot.batch.validate(catalog).map_err(fault)?;
            slot.live.validate(slot.batch.rows()).map_err(fault)?;
            match &slot.dead {
                Some(dead) => dead.validate(&slot.batch, &slot.live).map_err(fault)?,
                None if slot.is_all_live() || slot.batch.rows() == 0 => {}
                None => return Err(fault("dead rows that are not counted".into())),
            }
            if !batches.insert(slot.id) {
                return Err(fault("its id is not its own".into()));
            }
            if slot.live_rows != slot.live.count(slot.batch.rows()) {
                return Err(fault("live rows counted wrongly".into()));
            }
            for row in slot.live.iter(slot.batch.rows()) {
                if !ids.insert(slot.batch.id(row)) || !places.insert(slot.batch.place(row)) {
                    return Err(fault(format!("the id or place of row {row} is not its own")));
                }
            }
        }
        for (number, slot) in self.covered.iter().enumerate() {
            for row in slot.iter().flat_map(|slot| slot.live.iter(slot.batch.rows())) {
                let id = slot.as_ref().map_or("", |slot| slot.batch.id(row));
                let found: Vec<Where> = self.find_covered(self.directory.hasher().hash_one(id), id).collect();
                let own = (u32::try_from(number).ok(), u16::try_from(row).ok());
                if !matches!((found.as_slice(), own), ([Where::Covered(n, r)], (Some(number), Some(row))) if (*n, *r) == (number, row))
                {
                    return Err(format!("the id of row {row} of batch number {number} does not lead to it"));
                }
            }
        }
        let covered: Vec<Option<&Batch>> =
            self.covered.iter().map(|slot| slot.as_ref().map(|slot| &*slot.batch)).collect();
        self.directory.validate(catalog, &covered)?;
        let mut again = self.clone();
        again.settle();
        if ids.len() != self.cases || (again.cases, again.ordered) != (self.cases, self.ordered) {
            return Err(format!("{} cases, counted as {}", ids.len(), self.cases));
        }
        if again.with_dead != self.with_dead {
            return Err("batches with dead rows that are not known as such".into());
        }
        if !self.apart.is_sorted_by_key(|slot| slot.id) {
            return Err("apart batches out of order".into());
        }
        Ok(())
    }
}
