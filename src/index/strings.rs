//! The string index: maps each string of a field to the covered batches and rows that have the string.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "fewer than 2^32 strings, rows of batches that were added before they are removed, and sizes in memory"
)]

use std::collections::HashMap;
use std::sync::Arc;

use crate::column::{Column, ColumnData, Postings};
use crate::rows::RowSet;
use crate::slice::Slice;

type Hasher = foldhash::quality::RandomState;

/// The strings of one field, each with its postings and its string number.
///
/// Invariant: a string has postings exactly while a covered batch has the string.
#[derive(Clone, Debug)]
pub(crate) struct StringIndex {
    by_text: HashMap<Arc<str>, StringPostings, Hasher>,
    /// The greatest string number that has been assigned. A string that is removed and added again gets a new number.
    numbered: u32,
    /// True if the field is single-valued.
    is_single: bool,
}

/// The batches and rows that have a given string.
#[derive(Clone, Debug)]
pub(crate) struct StringPostings {
    /// The string number, an identifier. It is not 0, and does not change while a covered batch has the string.
    pub(crate) number: u32,
    /// For each covered batch that has the string: the batch number, and the code of the string in that batch. Ascending by batch
    /// number. For example, `[(0, 3), (2, 0)]` if the string has code 3 in batch 0 and code 0 in batch 2.
    pub(crate) codes: Vec<(u32, u32)>,
    /// One entry for each batch in which the postings of the string are a bitmap, because many rows have the string. Also one entry
    /// for each batch in which every row has the string. Ascending by batch number.
    bitmaps: Vec<BatchBitmap>,
    /// The count of rows that have the string, over all covered batches, deleted rows included.
    pub(crate) rows: u64,
}

/// The rows of a batch that have a given string, if these rows are many.
///
/// The bitmap is not a copy: it shares the memory of the batch's postings. The index has the addresses of the bitmaps of all
/// batches. So a search over all batches finds a bitmap without cache misses for the column, its postings and their table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BatchBitmap {
    /// The batch number.
    batch: u32,
    /// The count of rows that have the string.
    pub(crate) rows: u32,
    /// A bit for each row of the batch. `None` if every row has the string.
    words: Option<Slice<u64>>,
}

impl BatchBitmap {
    /// Creates the bitmap of the rows with a code. Returns `None` if the rows are so few that the postings store them as a list.
    fn new(batch: u32, postings: &Postings, code: u32) -> Option<Self> {
        let words = postings.words(code);
        if words.is_none() && !matches!(postings.get(code), RowSet::All) {
            return None;
        }
        let rows = u32::try_from(postings.count(code)).ok()?;
        Some(Self { batch, rows, words })
    }

    /// Returns a bit for each row of the batch, or `None` if every row has the string.
    #[inline]
    pub(crate) fn words(&self) -> Option<&[u64]> {
        self.words.as_deref()
    }
}

/// Returns the entry of batch `number` among entries that ascend by batch number.
#[inline]
fn of_batch<T>(entries: &[T], number: usize, batch: impl Fn(&T) -> u32) -> Option<&T> {
    let is_own = |entry: &&T| batch(entry) as usize == number;
    // Most strings occur in every batch. The index of the entry is then the batch number.
    entries.get(number).filter(is_own).or_else(|| {
        let at = entries.partition_point(|entry| (batch(entry) as usize) < number);
        entries.get(at).filter(is_own)
    })
}

/// Up to this number of distinct strings, a field has a string index. If a field has more strings, it has no string index, and a
/// search looks the strings up in each batch.
const MOST_STRINGS: usize = 1 << 14;

impl StringPostings {
    /// Returns the code of the string in a covered batch. Returns `None` if the batch does not have the string.
    #[inline]
    pub(crate) fn code(&self, number: usize) -> Option<u32> {
        of_batch(&self.codes, number, |(batch, _)| *batch).map(|(_, code)| *code)
    }

    /// Returns the [bitmap](BatchBitmap) of the string in a covered batch. Returns `None` if the string has too few rows in the
    /// batch to be stored as a bitmap.
    #[inline]
    pub(crate) fn bitmap(&self, number: usize) -> Option<&BatchBitmap> {
        of_batch(&self.bitmaps, number, |bitmap| bitmap.batch)
    }
}

impl StringIndex {
    /// Creates an empty index of a field.
    pub(super) fn new(hasher: Hasher, is_single: bool) -> Self {
        Self { by_text: HashMap::with_hasher(hasher), numbered: 0, is_single }
    }

    /// Returns all strings of the covered batches with their postings, in arbitrary order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &StringPostings)> {
        self.by_text.iter().map(|(text, postings)| (&**text, postings))
    }

    pub(crate) fn get(&self, text: &str) -> Option<&StringPostings> {
        self.by_text.get(text)
    }

    /// Returns true if the field is single-valued, so that no row has two strings.
    pub(crate) fn is_single(&self) -> bool {
        self.is_single
    }

    /// Adds the strings of a batch. Returns false if there are too many strings, or if the column has no postings.
    pub(super) fn add(&mut self, batch: usize, column: &Column) -> bool {
        let ColumnData::Strings { dictionary, postings, .. } = &column.data else { return false };
        let Some(postings) = postings else { return dictionary.len() == 0 };
        let Ok(batch) = u32::try_from(batch) else { return false };
        for code in 0..u32::try_from(dictionary.len()).unwrap_or(u32::MAX) {
            let text = dictionary.get(code as usize);
            if !self.by_text.contains_key(text) {
                if self.by_text.len() >= MOST_STRINGS || self.numbered == u32::MAX {
                    return false;
                }
                self.numbered += 1;
                let none =
                    StringPostings { number: self.numbered, codes: Vec::new(), bitmaps: Vec::new(), rows: 0 };
                self.by_text.insert(text.into(), none);
            }
            if let Some(string) = self.by_text.get_mut(text) {
                let at = string.codes.partition_point(|(other, _)| *other < batch);
                string.codes.insert(at, (batch, code));
                if let Some(bitmap) = BatchBitmap::new(batch, postings, code) {
                    let at = string.bitmaps.partition_point(|other| other.batch < batch);
                    string.bitmaps.insert(at, bitmap);
                }
                string.rows += postings.count(code) as u64;
            }
        }
        true
    }

    /// Removes the rows of a batch, and all strings that no other covered batch has.
    pub(super) fn remove(&mut self, batch: usize, column: &Column) {
        let ColumnData::Strings { dictionary, postings: Some(postings), .. } = &column.data else { return };
        for code in 0..u32::try_from(dictionary.len()).unwrap_or(u32::MAX) {
            let text = dictionary.get(code as usize);
            let Some(string) = self.by_text.get_mut(text) else { continue };
            if let Ok(at) = string.codes.binary_search_by_key(&batch, |(number, _)| *number as usize) {
                string.codes.remove(at);
                string.rows -= postings.count(code) as u64;
            }
            if let Ok(at) = string.bitmaps.binary_search_by_key(&batch, |bitmap| bitmap.batch as usize) {
                string.bitmaps.remove(at);
            }
            if string.codes.is_empty() {
                self.by_text.remove(text);
            }
        }
    }

    /// Returns true if the index is correct for `columns`: the columns of all covered batches with their batch numbers, ascending.
    pub(super) fn validate<'c>(&self, columns: impl Iterator<Item = (usize, &'c Column)>) -> bool {
        let mut exact = Self::new(self.by_text.hasher().clone(), self.is_single);
        let mut numbers: Vec<u32> = self.by_text.values().map(|own| own.number).collect();
        numbers.sort_unstable();
        let is_numbered = numbers.first() != Some(&0)
            && numbers.last().is_none_or(|last| *last <= self.numbered)
            && numbers.is_sorted_by(|one, other| one < other);
        let is_same = |text: &Arc<str>, found: &StringPostings| {
            self.by_text.get(text).is_some_and(|own| {
                own.codes == found.codes && own.bitmaps == found.bitmaps && own.rows == found.rows
            })
        };
        let mut columns = columns;
        is_numbered
            && columns.all(|(number, column)| exact.add(number, column))
            && exact.by_text.len() == self.by_text.len()
            && exact.by_text.iter().all(|(text, found)| is_same(text, found))
    }

    /// Returns the heap memory in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let of_string = |(text, string): (&Arc<str>, &StringPostings)| {
            let codes = string.codes.capacity() * size_of::<(u32, u32)>();
            let bitmaps = string.bitmaps.capacity() * size_of::<BatchBitmap>();
            text.len() + size_of::<(Arc<str>, StringPostings)>() + codes + bitmaps
        };
        self.by_text.iter().map(of_string).sum()
    }
}
