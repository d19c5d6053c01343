//! The indexes of a column of a [searchable](crate::Field::searchable) field with many different strings.
//!
//! A column with few different strings needs no such index. All its strings are searched in a few microseconds, and its postings
//! have the rows of each string.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "codes below the number of strings, and ends of their rows, fewer than 2^32"
)]

use super::dictionary::{Dictionary, span};
use super::substring_index::{MOST_BYTES, SubstringIndex};
use crate::rows::{LANES, RowSet, set_rows};
use crate::slice::{Move, Slice};

/// The indexes of a column of a searchable field. They take at most 24 bytes for each value, apart from a few kilobytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchIndex {
    pub(crate) substrings: SubstringIndex,
    /// The rows of each code. `None` if the column has postings.
    rows: Option<RowsByCode>,
}

/// The rows of a column, ordered by code and then by row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RowsByCode {
    rows: Slice<u16>,
    /// For each code, the end index of its rows. `None` if each code has exactly one row.
    ends: Option<Slice<u32>>,
}

/// The minimum number of different strings of a column with a search index. A scan of fewer strings takes about as long as a search
/// in the index. In debug builds, small columns get an index too, so that tests cover it.
pub(super) const FEWEST_STRINGS: usize = if cfg!(debug_assertions) { 3 } else { 1 << 10 };

/// Up to this number of rows, a set of rows is a sorted list. Above it, the set is a bitmap, because sorting a longer list would
/// take more time.
const LISTED: usize = 1 << 7;

/// The index collects the rows of given codes only if these rows are at most 1/`SCANNED_FRACTION` of the rows of the column. If
/// there are more such rows, a scan of the codes of all rows is faster.
const SCANNED_FRACTION: usize = 8;

impl SearchIndex {
    /// Creates the index of a column. `row_codes` contains the pairs of a row and one of its codes, without repetitions, in
    /// ascending order of rows. It is `None` if the column has postings.
    pub(super) fn new(dictionary: &Dictionary, row_codes: Option<Vec<(u16, u32)>>) -> Self {
        let rows = row_codes.map(|row_codes| RowsByCode::new(dictionary.len(), row_codes));
        let of_ends = rows.as_ref().and_then(|rows| rows.ends.as_ref()).map_or(0, |_| size_of::<u32>());
        let substrings = SubstringIndex::new(dictionary, MOST_BYTES - of_ends);
        Self { substrings, rows }
    }

    /// Returns the rows that have at least one of these codes, and the number of these rows. The codes must be ascending and
    /// distinct. `rows` is the number of rows of the column. Returns `None` if the column has postings, or if a scan of the codes
    /// is faster.
    pub(crate) fn rows_of(&self, codes: &[u32], rows: usize) -> Option<(RowSet<'static>, usize)> {
        let by_code = self.rows.as_ref()?;
        let most = rows / SCANNED_FRACTION;
        let mut list = Vec::with_capacity(codes.len().min(most));
        for code in codes {
            let own = by_code.get(*code as usize);
            if list.len() + own.len() > most {
                return None;
            }
            list.extend_from_slice(own);
        }
        if list.len() <= LISTED {
            list.sort_unstable();
            // A row of a multi-valued column may have several codes.
            list.dedup();
            let count = list.len();
            return Some((RowSet::from_list(list), count));
        }
        let mut words = vec![0; rows.div_ceil(LANES)];
        set_rows(&mut words, &list);
        let set = RowSet::Bitmap(words.into());
        let count = set.count(rows);
        Some((set, count))
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        self.substrings.slices(all);
        if let Some(RowsByCode { rows, ends }) = &mut self.rows {
            all.push(rows);
            if let Some(ends) = ends {
                all.push(ends);
            }
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        let of_rows = self.rows.as_ref().map_or(0, |by_code| {
            size_of_val::<[u16]>(&by_code.rows)
                + by_code.ends.as_ref().map_or(0, |ends| size_of_val::<[u32]>(ends))
        });
        size_of::<Self>() + self.substrings.size_bytes() + of_rows
    }
}

impl RowsByCode {
    fn new(distinct: usize, row_codes: Vec<(u16, u32)>) -> Self {
        let mut ends = vec![0_u32; distinct];
        row_codes.iter().for_each(|(_, code)| ends[*code as usize] += 1);
        let is_unique = ends.iter().all(|count| *count == 1);
        let mut next = ends.clone();
        let mut end = 0;
        for (own, next) in ends.iter_mut().zip(&mut next) {
            *next = end;
            end += *own;
            *own = end;
        }
        let mut sorted = vec![0_u16; row_codes.len()];
        for (row, code) in row_codes {
            let next = &mut next[code as usize];
            sorted[*next as usize] = row;
            *next += 1;
        }
        Self { rows: sorted.into(), ends: (!is_unique).then(|| ends.into()) }
    }

    /// Returns the rows of a code, in ascending order.
    fn get(&self, code: usize) -> &[u16] {
        match &self.ends {
            None => &self.rows[code..=code],
            Some(ends) => &self.rows[span(ends, code)],
        }
    }
}
