//! The index over all batches of a snapshot: has an index for each field, adds and removes batches, and assigns batch numbers.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "numbers of batches that were given, a count of batches in 64 bits, and sizes in memory"
)]

use std::hash::BuildHasher;
use std::sync::Arc;

use super::field_index::{AddedBatch, FieldIndex, Kind, LazyIndex};
use super::global_row::{GlobalRow, join, split};
use super::keys::{BatchKeys, KeyIndex};
use super::runs::RunMerge;
use super::strings::StringIndex;
use super::top_rows::{FieldTopRows, TopRows};
use crate::batch::{Batch, MAX_BATCHES};
use crate::catalog::{Catalog, FieldId};
use crate::rows::LANES;

/// The indexes of all fields over all covered batches.
///
/// A covered batch keeps its batch number until it is retired, that is, removed from the snapshot. Entries of key indexes refer to
/// rows by that number. So the batch number of a retired batch is not reused until a sweep has dropped these entries. A sweep is
/// [work](KeyWork) that is done in steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchIndex {
    /// The index of each field. A clone of the `BatchIndex` shares the indexes that are built, and copies an index only before a
    /// change.
    pub(super) fields: Vec<LazyIndex>,
    /// The *top rows* of each field: its first and last rows in sort order. Empty for fields that are not of an ordered type.
    pub(super) top_rows: Vec<FieldTopRows>,
    hasher: foldhash::quality::RandomState,
    /// The state of each batch number.
    pub(super) numbers: Vec<Use>,
    /// The covered batches, each at the position of its batch number. Indexes are built from the columns of these batches.
    covered: Vec<Option<Arc<Batch>>>,
    /// The count of batches that have been retired so far.
    retired: u64,
}

/// A merge or a sweep of key runs of one field, which is done in steps. The index may change between the steps.
#[derive(Debug)]
pub(crate) struct KeyWork {
    field: usize,
    merge: RunMerge,
}

/// The state of a batch number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// A batch number that no batch has and that no key entry refers to.
    Free,
    /// The batch number of a covered batch.
    Covered,
    /// The batch number of a retired batch. Key entries may still refer to it. The value is the count of batches that had been
    /// retired before this batch.
    Retired(u64),
}

impl KeyWork {
    /// Moves at most `budget` entries, and subtracts their count from `budget`. Returns true when all entries have been moved.
    ///
    /// Moves the entries that the index had when the work was created. Drops the entries of all batches that have been retired,
    /// including batches that were retired since then.
    pub(crate) fn step(&mut self, index: &BatchIndex, budget: &mut usize) -> bool {
        let is_kept = |row: GlobalRow| index.covers(split(row).0);
        self.merge.step(is_kept, budget)
    }

    /// Moves all remaining entries.
    pub(crate) fn finish(&mut self, index: &BatchIndex) {
        let mut budget = usize::MAX;
        self.step(index, &mut budget);
    }
}

impl BatchIndex {
    /// Creates an empty index, which covers no batch.
    pub(crate) fn new(hasher: foldhash::quality::RandomState) -> Self {
        Self { hasher, ..Self::default() }
    }

    /// Returns the end of the range of batch numbers.
    pub(crate) fn numbers(&self) -> usize {
        self.numbers.len()
    }

    /// Returns true if this is the batch number of a covered batch.
    pub(crate) fn covers(&self, number: usize) -> bool {
        self.numbers.get(number) == Some(&Use::Covered)
    }

    /// Creates the key entries of one field for a batch that [`add`](Self::add) will add. Returns `None` if the field has no key
    /// index.
    pub(crate) fn keys_of(&self, catalog: &Catalog, batch: &Batch, field: FieldId) -> Option<BatchKeys> {
        if Kind::of(catalog, field) != Kind::Keys {
            return None;
        }
        Some(BatchKeys::new(batch.column(field)?, &self.hasher))
    }

    /// Adds a batch and returns its batch number. Returns `None` if all batch numbers are taken.
    ///
    /// `keys` has results of [`keys_of`](Self::keys_of). Missing key entries are computed here.
    pub(crate) fn add(
        &mut self,
        catalog: &Catalog,
        batch: &Arc<Batch>,
        mut keys: Vec<(FieldId, BatchKeys)>,
    ) -> Option<usize> {
        if !self.numbers.contains(&Use::Covered) {
            self.clear(catalog);
        }
        let number = match self.numbers.iter().position(|number| *number == Use::Free) {
            Some(number) => number,
            None if self.numbers.len() < MAX_BATCHES => {
                self.numbers.push(Use::Free);
                self.numbers.len() - 1
            }
            None => {
                while let Some(mut work) = self.sweep() {
                    work.finish(self);
                    self.put(work);
                }
                self.free_numbers();
                self.numbers.iter().position(|number| *number == Use::Free)?
            }
        };
        self.numbers[number] = Use::Covered;
        self.covered.resize(self.numbers.len(), None);
        self.covered[number] = Some(Arc::clone(batch));
        let rows = self.top_rows.iter_mut();
        for ((field, index), rows) in catalog.field_ids().zip(&mut self.fields).zip(rows) {
            let own = keys.iter().position(|(other, _)| *other == field);
            let own = own.map(|at| keys.swap_remove(at).1);
            index.add(field, AddedBatch { batch, number, keys: own, retired: self.retired }, &self.hasher);
            if let Kind::Ordered { .. } = index.kind {
                rows.add(number, batch.read_column(field));
            }
        }
        Some(number)
    }

    /// Resets the index, so that it covers no batch and has an empty index for each field of the catalogue.
    fn clear(&mut self, catalog: &Catalog) {
        let index = |id| LazyIndex::new(Kind::of(catalog, id), &self.hasher);
        self.fields = catalog.field_ids().map(index).collect();
        let fields = self.fields.len();
        let rows = self.fields.iter().map(|index| match index.kind {
            Kind::Ordered { .. } => FieldTopRows::new(fields),
            Kind::None | Kind::Strings { .. } | Kind::Keys => FieldTopRows::new(0),
        });
        self.top_rows = rows.collect();
        self.numbers.clear();
        self.covered.clear();
    }

    /// Removes a batch from all indexes except key indexes, whose entries are swept later.
    pub(crate) fn retire(&mut self, catalog: &Catalog, number: usize, batch: &Batch) {
        if !self.covers(number) {
            return;
        }
        self.numbers[number] = Use::Retired(self.retired);
        self.retired += 1;
        self.covered[number] = None;
        let rows = self.top_rows.iter_mut();
        for ((field, index), rows) in catalog.field_ids().zip(&mut self.fields).zip(rows) {
            index.retire(field, number, batch);
            rows.retire(number);
        }
    }

    /// Returns the key indexes that are built, with the numbers of their fields.
    fn keys(&self) -> impl Iterator<Item = (usize, &KeyIndex)> {
        self.fields.iter().enumerate().filter_map(|(field, index)| match index.built() {
            Some(FieldIndex::Keys(keys)) => Some((field, keys)),
            _ => None,
        })
    }

    /// Returns the next work on a key index: a merge of two runs, or a sweep of the entries of retired batches. `writes` is the
    /// number of cases that the current write stores or deletes, plus one. Returns `None` if no work is due.
    pub(crate) fn key_work(&self, writes: usize) -> Option<KeyWork> {
        let merge = self
            .keys()
            .find_map(|(field, keys)| Some(KeyWork { field, merge: keys.merge(self.retired, writes)? }));
        let count = |is_it: fn(&Use) -> bool| self.numbers.iter().filter(|number| is_it(number)).count();
        let retired = || count(|number| matches!(number, Use::Retired(_)));
        // A sweep reads all keys of a run. It is due only if there are more than half as many retired batches as covered batches.
        // Then its cost is small compared to the cost of adding the batches.
        merge.or_else(|| {
            let is_due = retired() > (count(|number| *number == Use::Covered) / 2).max(8);
            is_due.then(|| self.sweep()).flatten()
        })
    }

    fn sweep(&self) -> Option<KeyWork> {
        self.keys().find_map(|(field, keys)| Some(KeyWork { field, merge: keys.sweep(self.retired)? }))
    }

    /// Installs the result of finished work. Discards the result if the runs that the work read have been replaced.
    pub(crate) fn put(&mut self, work: KeyWork) {
        if let Some(FieldIndex::Keys(keys)) = self.fields.get_mut(work.field).and_then(LazyIndex::built_mut) {
            keys.put(work.merge);
        }
        self.free_numbers();
    }

    /// Frees the batch numbers of retired batches that no key entry refers to.
    fn free_numbers(&mut self) {
        let clean = self.keys().filter_map(|(_, keys)| keys.clean()).min().unwrap_or(u64::MAX);
        for number in &mut self.numbers {
            if matches!(number, Use::Retired(before) if *before < clean) {
                *number = Use::Free;
            }
        }
    }

    /// Returns the index of a field. Builds it first if it is unbuilt.
    #[inline]
    pub(crate) fn field(&self, field: FieldId) -> &FieldIndex {
        let index = self.fields.get(field.index());
        index
            .map_or(&FieldIndex::Unknown, |index| index.get(field, &self.covered, &self.hasher, self.retired))
    }

    /// Returns the string index of a field. Builds it first if it is unbuilt. Does not build a key index.
    pub(crate) fn strings(&self, field: FieldId) -> Option<&StringIndex> {
        match self.fields.get(field.index())?.kind {
            Kind::Strings { .. } => match self.field(field) {
                FieldIndex::Strings(strings) => Some(strings),
                _ => None,
            },
            Kind::Keys | Kind::Ordered { .. } | Kind::None => None,
        }
    }

    /// Returns the rows of covered batches that have one of a few strings in a key field. Does not use the index of the field.
    /// Returns `None` if the index is built or should be built, or if there are more than eight strings.
    ///
    /// An unbuilt index would be built from the columns of all batches. A batch of a store has a Bloom filter for the strings of
    /// each key field, so this method reads the columns of few batches. Deleted rows are included. `texts` are ascending and
    /// distinct.
    pub(crate) fn find_unindexed(&self, field: FieldId, texts: &[impl AsRef<str>]) -> Option<Vec<GlobalRow>> {
        /// The maximum number of strings. With more strings, the Bloom filters exclude fewer batches, so more columns are read.
        const MOST: usize = 8;
        if texts.len() > MOST || !self.fields.get(field.index())?.can_do_without() {
            return None;
        }
        let mut found = Vec::new();
        for (number, batch) in self.covered.iter().enumerate() {
            let Some(batch) = batch else { continue };
            batch.find_keys(field, texts, |row| found.extend(join(number, row)));
        }
        Some(found)
    }

    /// Returns true if the field has a key index that is built.
    pub(crate) fn has_keys(&self, field: FieldId) -> bool {
        matches!(self.fields.get(field.index()).and_then(LazyIndex::built), Some(FieldIndex::Keys(_)))
    }

    /// Builds the index and the top rows of a field if they are unbuilt.
    #[cfg(feature = "store")]
    pub(crate) fn build(&self, field: FieldId) {
        self.field(field);
        self.first(field, false);
        self.first(field, true);
    }

    /// Returns all batch numbers in ascending order of the smallest value that each batch has in the field. If `descending`,
    /// returns them in descending order of the greatest value. Returns `None` if the order is not known.
    pub(crate) fn in_order(&self, field: FieldId, descending: bool) -> Option<&[u32]> {
        let FieldIndex::Ordered(zones) = self.field(field) else { return None };
        let order = zones.in_order(descending);
        (order.len() == self.numbers()).then_some(order)
    }

    /// Returns the first rows in ascending order of the values of a field. If `descending`, returns the first rows in descending
    /// order. Rows without a value are never among them.
    pub(crate) fn first(&self, field: FieldId, descending: bool) -> Option<&TopRows> {
        let rows = self.top_rows.get(field.index())?;
        Some(rows.first(descending, || {
            let is_many = matches!(self.fields[field.index()].kind, Kind::Ordered { is_many: true });
            if is_many {
                return TopRows::unsorted(self.fields.len());
            }
            let covered = self.covered.iter().enumerate();
            let zones = covered.filter_map(|(number, batch)| Some((number, batch.as_ref()?.zone(field)?)));
            let column = |number: usize| self.covered.get(number)?.as_ref()?.column(field);
            TopRows::of(descending, self.fields.len(), zones, column)
        }))
    }

    /// Returns the [numbers](super::StringPostings::number) of the strings that the 64 top rows of chunk `chunk` have in `field`.
    /// The number is 0 for a row without a string.
    ///
    /// Returns `None` if the field has no string index, or if a row can have several strings. `batch` returns the covered batch
    /// with a batch number.
    pub(crate) fn strings_of<'l, 'b>(
        &self,
        top_rows: &'l TopRows,
        chunk: usize,
        field: FieldId,
        batch: impl Fn(usize) -> Option<&'b Batch>,
    ) -> Option<&'l [u32; LANES]> {
        let strings = self.strings(field)?;
        let number = |row| number_of(strings, field, row, &batch);
        strings.is_single().then(|| top_rows.strings(field, chunk, number)).flatten()
    }

    /// Returns the rows whose string in a key field may be `text`. Only hashes are compared.
    pub(crate) fn probe<'k>(
        &self,
        keys: &'k KeyIndex,
        text: &str,
    ) -> impl Iterator<Item = GlobalRow> + use<'k> {
        keys.probe(self.hasher.hash_one(text))
    }

    /// Like [`probe`](Self::probe), but for many strings. Returns each row with the index of its string in `texts`. `prefetch` is
    /// described at [`KeyIndex::probe_all`].
    pub(crate) fn probe_all(
        &self,
        keys: &KeyIndex,
        texts: &[impl AsRef<str>],
        prefetch: impl Fn(&[u64], usize),
    ) -> Vec<(GlobalRow, u32)> {
        let hashes: Vec<u64> = texts.iter().map(|text| self.hasher.hash_one(text.as_ref())).collect();
        let mut found = Vec::with_capacity(texts.len());
        keys.probe_all(&hashes, prefetch, &mut found);
        found
    }

    /// Returns the rows whose `id` may have this hash.
    pub(crate) fn probe_id(&self, hash: u64) -> impl Iterator<Item = GlobalRow> {
        let keys = match self.field(FieldId::ID) {
            FieldIndex::Keys(keys) => Some(keys),
            _ => None,
        };
        keys.into_iter().flat_map(move |keys| keys.probe(hash))
    }

    /// Returns the hasher of keys. Other tables of the same keys use the same hasher.
    pub(crate) fn hasher(&self) -> &foldhash::quality::RandomState {
        &self.hasher
    }

    /// Returns the heap memory of the index of a field in bytes.
    pub(crate) fn size_bytes(&self, field: FieldId) -> usize {
        let rows = self.top_rows.get(field.index()).map_or(0, FieldTopRows::size_bytes);
        self.fields.get(field.index()).map_or(0, LazyIndex::size_bytes) + rows
    }
}

/// Returns the [number](super::StringPostings::number) of the string that a row has in the field, or 0 if the row has no string.
pub(super) fn number_of<'b>(
    strings: &StringIndex,
    field: FieldId,
    row: GlobalRow,
    batch: impl Fn(usize) -> Option<&'b Batch>,
) -> u32 {
    let (number, row) = split(row);
    let text = batch(number).and_then(|batch| batch.column(field)?.string(usize::from(row)));
    text.and_then(|text| strings.get(text)).map_or(0, |occurrences| occurrences.number)
}
