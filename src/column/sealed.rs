//! The column of one field, sealed: its values, which rows have them, and the indexes from values to rows.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "rows of one batch, sizes in memory, and by the invariants of `Column` an end for each row and the codes of its \
              dictionary"
)]

use std::borrow::Cow;
use std::ops::Range;

use super::dictionary::{Codes, Dictionary};
use super::ordinals::Ordinals;
use super::postings::Postings;
use super::sorted_rows::SortedRows;
use crate::rows::{Bitmap, Selection};
use crate::slice::{self, Move, Slice};
use crate::value::{OrderedType, OrdinalRange, Value};

/// The values of one field in the rows of a batch.
///
/// Invariants:
/// - single-valued: one value a row (a filler where the row is absent), or no values if every row is absent;
/// - many-valued: row `r` has the values from `ends[r - 1]` (or 0) to `ends[r]`; if no row has any, it is laid out as
///   single-valued.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(super) rows: usize,
    pub(crate) layout: ColumnLayout,
    pub(crate) data: ColumnData,
}

/// The layout of the values of rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnLayout {
    /// One value a row, or a filler; the rows in the selection have a value.
    Single(Selection),
    /// Any number of values a row, at least one in all; the end of the values of each row.
    Many(Slice<u32>),
}

impl ColumnLayout {
    /// Returns the layout of a many-valued column, from the end of the values of each row.
    pub(super) fn many(ends: Vec<u32>) -> Self {
        match ends.last() {
            None | Some(0) => Self::Single(Selection::None),
            Some(_) => Self::Many(ends.into()),
        }
    }
}

/// The values, and the indexes from values to rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnData {
    /// `postings` has the rows of each code; a column of nearly as many strings as rows has none.
    Strings { dictionary: Dictionary, codes: Codes, postings: Option<Postings> },
    /// `zone`: the least and the greatest of the values. `sorted` is there where [`Sorted::new`] needs it.
    Ordered { kind: OrderedType, values: Ordinals, zone: Option<OrdinalRange>, sorted: Option<SortedRows> },
    /// `holders`: the rows that have `false` among their values, and those that have `true`.
    Booleans { values: Bitmap, holders: Box<[Selection; 2]> },
}

impl ColumnData {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Strings { codes, .. } => codes.len(),
            Self::Ordered { values, .. } => values.len(),
            Self::Booleans { values, .. } => values.rows(),
        }
    }
}

/// Moves the values and indexes of a batch's columns next to each other, into large pages of memory if they fill one.
pub(crate) fn pack<'c>(columns: impl Iterator<Item = &'c mut Column>) {
    let mut slices = Vec::new();
    columns.for_each(|column| column.slices(&mut slices));
    slice::pack(&mut slices);
}

impl Column {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of values in all rows together, fillers included.
    pub(crate) fn values_len(&self) -> usize {
        self.data.len()
    }

    /// Returns the string of a row of a single-valued string column.
    pub(crate) fn string(&self, row: usize) -> Option<&str> {
        self.code(row).map(|(dictionary, code)| dictionary.get(code))
    }

    /// Returns the strings of a single-valued column and their codes by row; the code of a row without a value is a filler.
    pub(crate) fn dictionary(&self) -> Option<(&Dictionary, &Codes)> {
        match (&self.layout, &self.data) {
            (ColumnLayout::Single(_), ColumnData::Strings { dictionary, codes, .. }) => {
                Some((dictionary, codes))
            }
            _ => None,
        }
    }

    /// Returns the code of that string, and its dictionary.
    #[inline]
    pub(crate) fn code(&self, row: usize) -> Option<(&Dictionary, usize)> {
        match (&self.layout, &self.data) {
            (ColumnLayout::Single(present), ColumnData::Strings { dictionary, codes, .. })
                if present.contains(row) =>
            {
                Some((dictionary, codes.get(row)))
            }
            _ => None,
        }
    }

    /// Returns the number of distinct strings; `None` for a column of another type.
    pub(crate) fn strings(&self) -> Option<usize> {
        match &self.data {
            ColumnData::Strings { dictionary, .. } => Some(dictionary.len()),
            _ => None,
        }
    }

    /// Adds one to the count of each distinct code that a row has.
    pub(crate) fn count_codes(&self, row: usize, counts: &mut [u32]) {
        let ColumnData::Strings { codes, .. } = &self.data else { return };
        let places = self.places(row);
        for at in places.clone() {
            let code = codes.get(at);
            if (places.start..at).any(|before| codes.get(before) == code) {
                continue;
            }
            counts[code] += 1;
        }
    }

    /// Returns the places of a row's values.
    pub(crate) fn places(&self, row: usize) -> Range<usize> {
        match &self.layout {
            ColumnLayout::Single(present) => row..row + usize::from(present.contains(row)),
            ColumnLayout::Many(ends) => {
                let start = if row == 0 { 0 } else { ends[row - 1] };
                start as usize..ends[row] as usize
            }
        }
    }

    /// Returns the values of a row, in the order in which they were added.
    pub(crate) fn values(&self, row: usize) -> impl Iterator<Item = Value<'_>> + Clone {
        self.places(row).map(|at| match &self.data {
            ColumnData::Strings { dictionary, codes, .. } => {
                Value::String(Cow::Borrowed(dictionary.get(codes.get(at))))
            }
            ColumnData::Ordered { kind, values, .. } => kind.value(values.get(at)),
            ColumnData::Booleans { values, .. } => Value::Boolean(values.get(at)),
        })
    }

    /// Returns the ordinal of a row of a single-valued column of an ordered type.
    pub(super) fn ordinal(&self, row: usize) -> Option<i64> {
        match &self.data {
            ColumnData::Ordered { values, .. } => Some(values.get(row)),
            _ => None,
        }
    }

    /// Returns the heap memory of the values, in bytes.
    pub(crate) fn data_bytes(&self) -> usize {
        let layout = match &self.layout {
            ColumnLayout::Single(present) => present.size_bytes(),
            ColumnLayout::Many(ends) => size_of_val::<[u32]>(ends),
        };
        let data = match &self.data {
            ColumnData::Strings { dictionary, codes, .. } => dictionary.size_bytes() + codes.size_bytes(),
            ColumnData::Ordered { values, .. } => values.size_bytes(),
            ColumnData::Booleans { values, .. } => values.size_bytes(),
        };
        layout + data
    }

    /// Returns the heap memory of the indexes from values to rows, in bytes.
    pub(crate) fn index_bytes(&self) -> usize {
        match &self.data {
            ColumnData::Strings { postings, .. } => postings.as_ref().map_or(0, Postings::size_bytes),
            ColumnData::Ordered { sorted, .. } => sorted.as_ref().map_or(0, SortedRows::size_bytes),
            ColumnData::Booleans { holders, .. } => holders.iter().map(Selection::size_bytes).sum(),
        }
    }

    /// Lists all slices of the column, those that searches read most first.
    fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        match &mut self.data {
            ColumnData::Strings { codes, postings, .. } => {
                if let Some(postings) = postings {
                    postings.slices(all);
                }
                codes.slices(all);
            }
            ColumnData::Ordered { values, sorted, .. } => {
                if let Some(sorted) = sorted {
                    sorted.slices(all);
                }
                values.slices(all);
            }
            ColumnData::Booleans { values, holders } => {
                holders.iter_mut().for_each(|holder| holder.slices(all));
                values.slices(all);
            }
        }
        match &mut self.layout {
            ColumnLayout::Single(present) => present.slices(all),
            ColumnLayout::Many(ends) => all.push(ends),
        }
    }
}
