//! The index over all batches of a snapshot: has an index for each field, adds and removes batches, and assigns batch numbers.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "numbers of batches that were given, a count of batches in 64 bits, and sizes in memory"
)]

use std::hash::BuildHasher;
use std::sync::Arc;

use super::global_row::{GlobalRow, split};
use super::keys::{BatchKeys, KeyIndex};
use super::runs::RunMerge;
use super::strings::StringIndex;
use super::top_rows::{FieldTopRows, TopRows};
use super::zones::ZoneIndex;
use crate::batch::{Batch, MAX_BATCHES};
use crate::catalog::{Catalog, FieldId};
use crate::column::ColumnData;
use crate::rows::LANES;
use crate::value::ValueClass;

/// The indexes of all fields over all covered batches.
///
/// A covered batch keeps its batch number until it is retired, that is, removed from the snapshot. Entries of key indexes refer to
/// rows by that number. So the batch number of a retired batch is not reused until a sweep has dropped these entries. A sweep is
/// [work](KeyWork) that is done in steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchIndex {
    /// The index of each field. A clone of the `BatchIndex` shares these indexes, and copies an index only before a change.
    pub(super) fields: Vec<Arc<FieldIndex>>,
    /// The *top rows* of each field: its first and last rows in sort order. Empty for fields that are not of an ordered type.
    pub(super) top_rows: Vec<Arc<FieldTopRows>>,
    hasher: foldhash::quality::RandomState,
    /// The state of each batch number.
    pub(super) numbers: Vec<Use>,
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

/// The index of one field over all batches.
#[derive(Clone, Debug, Default)]
pub(crate) enum FieldIndex {
    /// No index: the column of each batch must be read.
    #[default]
    Unknown,
    /// The zone map of each batch: its minimum and maximum.
    Ordered(ZoneIndex),
    /// The string index. Every covered batch has postings of the field.
    Strings(StringIndex),
    /// The key index. It has only the hashes of strings; the batches have the strings.
    Keys(KeyIndex),
}

impl KeyWork {
    /// Moves at most `budget` entries, and subtracts their count from `budget`. Returns true when all entries have been moved.
    ///
    /// Moves the entries that the index had when the work was created. Drops entries of batches that have been retired since then.
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
        if !has_keys(catalog, field) {
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
        batch: &Batch,
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
        let rows = self.top_rows.iter_mut();
        for ((field, index), rows) in catalog.field_ids().zip(&mut self.fields).zip(rows) {
            let Some(column) = batch.column(field) else { continue };
            if let FieldIndex::Unknown = **index {
                continue;
            }
            let index = Arc::make_mut(index);
            let known = match (&mut *index, &column.data) {
                (FieldIndex::Ordered(zones), ColumnData::Ordered { zone, .. }) => {
                    zones.put(number, *zone);
                    Arc::make_mut(rows).add(number, column);
                    true
                }
                (FieldIndex::Strings(strings), _) => strings.add(number, column),
                (FieldIndex::Keys(index), _) => {
                    let own = keys.iter().position(|(other, _)| *other == field);
                    let own = match own.map(|at| keys.swap_remove(at)) {
                        Some((_, own)) => own,
                        None => BatchKeys::new(column, &self.hasher),
                    };
                    index.add(own, number, self.retired);
                    true
                }
                _ => false,
            };
            if !known {
                *index = FieldIndex::Unknown;
            }
        }
        Some(number)
    }

    /// Resets the index, so that it covers no batch and has an empty index for each field of the catalogue.
    fn clear(&mut self, catalog: &Catalog) {
        let fields =
            catalog.field_ids().map(|id| match ValueClass::of_field(catalog.field(id).field_type()) {
                _ if !(id == FieldId::ID || catalog.is_visible(id)) => FieldIndex::Unknown,
                _ if has_keys(catalog, id) => FieldIndex::Keys(KeyIndex::default()),
                ValueClass::Strings => {
                    FieldIndex::Strings(StringIndex::new(self.hasher.clone(), !catalog.field(id).is_many()))
                }
                ValueClass::Ordered(_) => FieldIndex::Ordered(ZoneIndex::default()),
                ValueClass::Booleans => FieldIndex::Unknown,
            });
        self.fields = fields.map(Arc::new).collect();
        let fields = self.fields.len();
        let rows = self.fields.iter().map(|field| match **field {
            FieldIndex::Ordered(_) => FieldTopRows::new(fields),
            _ => FieldTopRows::new(0),
        });
        self.top_rows = rows.map(Arc::new).collect();
        self.numbers.clear();
    }

    /// Removes a batch from all indexes except key indexes, whose entries are swept later.
    pub(crate) fn retire(&mut self, catalog: &Catalog, number: usize, batch: &Batch) {
        if !self.covers(number) {
            return;
        }
        self.numbers[number] = Use::Retired(self.retired);
        self.retired += 1;
        let rows = self.top_rows.iter_mut();
        for ((field, index), rows) in catalog.field_ids().zip(&mut self.fields).zip(rows) {
            if let FieldIndex::Keys(_) | FieldIndex::Unknown = **index {
                continue;
            }
            match Arc::make_mut(index) {
                FieldIndex::Ordered(zones) => {
                    zones.put(number, None);
                    Arc::make_mut(rows).retire(number);
                }
                FieldIndex::Strings(strings) => {
                    if let Some(column) = batch.column(field) {
                        strings.remove(number, column);
                    }
                }
                FieldIndex::Keys(_) | FieldIndex::Unknown => {}
            }
        }
    }

    fn keys(&self) -> impl Iterator<Item = (usize, &KeyIndex)> {
        self.fields.iter().enumerate().filter_map(|(field, index)| match &**index {
            FieldIndex::Keys(keys) => Some((field, keys)),
            _ => None,
        })
    }

    /// Returns the next work on a key index after `writes` writes. This is a merge of two runs, or a sweep of the entries of
    /// retired batches. Returns `None` if no work is due.
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
        if let Some(index) = self.fields.get_mut(work.field)
            && let FieldIndex::Keys(keys) = Arc::make_mut(index)
        {
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

    pub(crate) fn field(&self, field: FieldId) -> &FieldIndex {
        self.fields.get(field.index()).map_or(&FieldIndex::Unknown, |field| &**field)
    }

    /// Returns all batch numbers in the order of the first value that each batch has in the field. Returns `None` if the order is
    /// not known.
    pub(crate) fn in_order(&self, field: FieldId, descending: bool) -> Option<&[u32]> {
        let FieldIndex::Ordered(zones) = self.field(field) else { return None };
        let order = zones.in_order(descending);
        (order.len() == self.numbers()).then_some(order)
    }

    /// Returns the first rows in the order of a field, or with `descending` the first rows in the reverse order. Rows without a
    /// value are never among them.
    pub(crate) fn first(&self, field: FieldId, descending: bool) -> Option<&TopRows> {
        self.top_rows.get(field.index()).map(|rows| rows.first(descending))
    }

    /// Returns the [numbers](super::StringPostings::number) of the strings in `field` of the 64 top rows of chunk `chunk`. The
    /// number is 0 for a row without a string.
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
        let FieldIndex::Strings(strings) = self.field(field) else { return None };
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
        let rows = self.top_rows.get(field.index()).map_or(0, |rows| rows.size_bytes());
        let known = match self.field(field) {
            FieldIndex::Unknown => 0,
            FieldIndex::Ordered(zones) => zones.size_bytes(),
            FieldIndex::Strings(strings) => strings.size_bytes(),
            FieldIndex::Keys(keys) => keys.size_bytes(),
        };
        known + rows
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

/// Returns true if a field has a key index.
fn has_keys(catalog: &Catalog, id: FieldId) -> bool {
    let field = catalog.field(id);
    let has_strings = ValueClass::of_field(field.field_type()) == ValueClass::Strings;
    (id == FieldId::ID || catalog.is_visible(id)) && has_strings && field.is_key()
}
