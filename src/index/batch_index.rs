//! The index over all batches of a snapshot: one index for each field, and the numbers of batches.
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

/// Zone maps, values and keys of all covered batches, by field.
///
/// A covered batch keeps one number until it is no longer covered. Keys name rows by that number, so
/// that of a retired batch stays unused until what names it is swept out, which is [work](KeyWork) done in steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchIndex {
    /// Each is copied when it changes, not with the others.
    pub(super) fields: Vec<Arc<FieldIndex>>,
    /// By field number; of any use where a field has zone maps.
    pub(super) top_rows: Vec<Arc<FieldTopRows>>,
    hasher: foldhash::quality::RandomState,
    /// By number of a batch.
    pub(super) numbers: Vec<Use>,
    /// The number of batches that were retired so far.
    retired: u64,
}

/// Work on the keys of a field that is done in steps, beside an index that may change meanwhile.
#[derive(Debug)]
pub(crate) struct KeyWork {
    field: usize,
    merge: RunMerge,
}

/// The state of a batch number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Free,
    Covered,
    /// Keys may still name it; this many batches were retired before.
    Retired(u64),
}

/// The index of one field over all batches.
#[derive(Clone, Debug, Default)]
pub(crate) enum FieldIndex {
    /// None: each batch's column must be read.
    #[default]
    Unknown,
    /// The zone map of each batch.
    Ordered(ZoneIndex),
    /// The string index; every batch has postings of the field.
    Strings(StringIndex),
    /// The key index; the strings themselves are in the batches.
    Keys(KeyIndex),
}

impl KeyWork {
    /// Moves at most `budget` keys of what was in the index when the work was found, which is lowered by as many;
    /// true when all is done. Keys of batches that are retired by now are dropped.
    pub(crate) fn step(&mut self, index: &BatchIndex, budget: &mut usize) -> bool {
        let is_kept = |row: GlobalRow| index.covers(split(row).0);
        self.merge.step(is_kept, budget)
    }

    /// Does all that is left.
    pub(crate) fn finish(&mut self, index: &BatchIndex) {
        let mut budget = usize::MAX;
        self.step(index, &mut budget);
    }
}

impl BatchIndex {
    /// Returns an index of no batch.
    pub(crate) fn new(hasher: foldhash::quality::RandomState) -> Self {
        Self { hasher, ..Self::default() }
    }

    /// Numbers are below this.
    pub(crate) fn numbers(&self) -> usize {
        self.numbers.len()
    }

    /// True when a batch is covered under the number.
    pub(crate) fn covers(&self, number: usize) -> bool {
        self.numbers.get(number) == Some(&Use::Covered)
    }

    /// Returns the keys of a field of a batch that is to be [added](Self::add), if the field has a key index.
    pub(crate) fn keys_of(&self, catalog: &Catalog, batch: &Batch, field: FieldId) -> Option<BatchKeys> {
        if !has_keys(catalog, field) {
            return None;
        }
        Some(BatchKeys::new(batch.column(field)?, &self.hasher))
    }

    /// Adds a batch and returns its number; `None` if all numbers are taken. `keys` has the keys that are made already.
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

    /// Removes everything.
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

    /// Removes a batch, except for its keys.
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

    /// Returns the work that is due on keys after `writes` writes: a merge of runs, or a sweep of entries of retired batches.
    pub(crate) fn key_work(&self, writes: usize) -> Option<KeyWork> {
        let merge = self
            .keys()
            .find_map(|(field, keys)| Some(KeyWork { field, merge: keys.merge(self.retired, writes)? }));
        let count = |is_it: fn(&Use) -> bool| self.numbers.iter().filter(|number| is_it(number)).count();
        let retired = || count(|number| matches!(number, Use::Retired(_)));
        // Sweeping goes through all keys, so as many batches must have gone as keep it a small part of
        // the work of having added them.
        merge.or_else(|| {
            let is_due = retired() > (count(|number| *number == Use::Covered) / 2).max(8);
            is_due.then(|| self.sweep()).flatten()
        })
    }

    fn sweep(&self) -> Option<KeyWork> {
        self.keys().find_map(|(field, keys)| Some(KeyWork { field, merge: keys.sweep(self.retired)? }))
    }

    /// Installs the result of finished work, unless the runs that it was done on are gone.
    pub(crate) fn put(&mut self, work: KeyWork) {
        if let Some(index) = self.fields.get_mut(work.field)
            && let FieldIndex::Keys(keys) = Arc::make_mut(index)
        {
            keys.put(work.merge);
        }
        self.free_numbers();
    }

    /// Frees the numbers of retired batches that no key names any more.
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

    /// All numbers of batches, in the order of the first value that each has of a field; `None` where that is not known.
    pub(crate) fn in_order(&self, field: FieldId, descending: bool) -> Option<&[u32]> {
        let FieldIndex::Ordered(zones) = self.field(field) else { return None };
        let order = zones.in_order(descending);
        (order.len() == self.numbers()).then_some(order)
    }

    /// Returns the top rows in the order of a field; later rows and rows without a value are not among them.
    pub(crate) fn first(&self, field: FieldId, descending: bool) -> Option<&TopRows> {
        self.top_rows.get(field.index()).map(|rows| rows.first(descending))
    }

    /// Returns the [number](super::StringPostings::number) of the string of each of the 64 top rows from 64 · `chunk` on, 0 for a
    /// row without one; `None` where strings have no numbers, or a row may have several. `batch` gives a covered batch by its number.
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

    /// Returns the rows whose string in a key field may be this one; only hashes are compared.
    pub(crate) fn probe<'k>(
        &self,
        keys: &'k KeyIndex,
        text: &str,
    ) -> impl Iterator<Item = GlobalRow> + use<'k> {
        keys.probe(self.hasher.hash_one(text))
    }

    /// [Probes](Self::probe) for many strings; returns each row with the number of its string. `prefetch` as in
    /// [`KeyIndex::probe_all`].
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

    /// Returns the hasher of keys, for other tables of the same keys.
    pub(crate) fn hasher(&self) -> &foldhash::quality::RandomState {
        &self.hasher
    }

    /// Heap memory of what is known of a field, in bytes.
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

/// Returns the number of a row's string, 0 if it has none.
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

/// True when a field has a key index.
fn has_keys(catalog: &Catalog, id: FieldId) -> bool {
    let field = catalog.field(id);
    let has_strings = ValueClass::of_field(field.field_type()) == ValueClass::Strings;
    (id == FieldId::ID || catalog.is_visible(id)) && has_strings && field.is_key()
}
