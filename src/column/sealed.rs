//! An immutable column: the values, their layout, and the indexes from values to rows.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "rows of one batch, and sizes in memory; by the invariants of `Column`, every row has an end, and every code a \
              string"
)]

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::dictionary::{Codes, Dictionary};
use super::elements::{Elements, within};
use super::ordinals::Ordinals;
use super::postings::Postings;
use super::search_index::SearchIndex;
use super::sorted_rows::SortedRows;
use crate::rows::{Bitmap, Selection};
use crate::slice::{self, Move, Slice};
use crate::value::{OrderedType, OrdinalRange, Value};

/// The values of one field in the rows of a batch.
///
/// Invariants:
/// - A single-valued column stores one value for each row. For a row without a value, it stores a filler. If no row has a value,
///   the column stores no values at all.
/// - In a multi-valued column, the values of row `r` have the indexes `ends[r - 1]..ends[r]`. Row 0 starts at index 0. If no row
///   has a value, the layout is that of a single-valued column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(super) rows: usize,
    pub(crate) layout: ColumnLayout,
    pub(crate) data: ColumnData,
    /// The elements of arrays of objects that contain the values. `None` if the field is below no array of objects, or if no row
    /// has an element. Also `None` if the field is below exactly one array and each element has exactly one value.
    pub(super) elements: Option<Box<Elements>>,
}

/// The layout of a column: determines which values belong to a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnLayout {
    /// One value for each row. A row in the selection has a value. Any other row has a filler.
    Single(Selection),
    /// Any number of values for each row, and at least one value in total. Contains the end index of the values of each row.
    Many(Slice<u32>),
}

impl ColumnLayout {
    /// Returns the layout of a multi-valued column. `ends` contains the end index of the values of each row.
    pub(super) fn many(ends: Vec<u32>) -> Self {
        match ends.last() {
            None | Some(0) => Self::Single(Selection::None),
            Some(_) => Self::Many(ends.into()),
        }
    }
}

/// The values of a column, and the indexes from values to rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnData {
    /// `postings` contains the rows of each code. It is `None` if most strings occur in only a few rows. `search` is `None` unless
    /// the field is searchable and there are many strings.
    Strings {
        dictionary: Dictionary,
        codes: Codes,
        postings: Option<Postings>,
        search: Option<Box<SearchIndex>>,
    },
    /// `zone` is the smallest and the greatest value. `sorted` is `None` if the column is multi-valued, or if its rows are already
    /// in order of value; see [`Sorted::new`](super::sorted::Sorted::new).
    Ordered { kind: OrderedType, values: Ordinals, zone: Option<OrdinalRange>, sorted: Option<SortedRows> },
    /// `holders` contains two sets of rows: the rows that have `false` among their values, and the rows that have `true`.
    Booleans { values: Bitmap, holders: Box<[Selection; 2]> },
}

impl ColumnData {
    /// Returns the number of values, including fillers.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Strings { codes, .. } => codes.len(),
            Self::Ordered { values, .. } => values.len(),
            Self::Booleans { values, .. } => values.rows(),
        }
    }
}

/// Copies the values and indexes of the columns of a batch next to each other into large memory pages. Does nothing if they do not
/// fill one large page; see [`crate::slice::pack`].
pub(crate) fn pack<'c>(columns: impl Iterator<Item = &'c mut Column>) {
    let mut slices = Vec::new();
    columns.for_each(|column| column.slices(&mut slices));
    slice::pack(&mut slices);
}

impl Column {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of values of all rows, including fillers.
    pub(crate) fn values_len(&self) -> usize {
        self.data.len()
    }

    /// Returns the string of a row, or `None` if the row has no value. The column must be a single-valued string column.
    pub(crate) fn string(&self, row: usize) -> Option<&str> {
        self.code(row).map(|(dictionary, code)| dictionary.get(code))
    }

    /// Returns the dictionary, and the code of each row. Returns `None` if the column is not a single-valued string column. The
    /// code of a row without a value is a filler. If no row has a value, there are no codes.
    pub(crate) fn dictionary(&self) -> Option<(&Dictionary, &Codes)> {
        match (&self.layout, &self.data) {
            (ColumnLayout::Single(_), ColumnData::Strings { dictionary, codes, .. }) => {
                Some((dictionary, codes))
            }
            _ => None,
        }
    }

    /// Returns the dictionary and the code of a row's string. Returns `None` if the row has no value, or if the column is not a
    /// single-valued string column.
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

    /// Returns the number of distinct strings. Returns `None` if the column is not a string column.
    pub(crate) fn strings(&self) -> Option<usize> {
        match &self.data {
            ColumnData::Strings { dictionary, .. } => Some(dictionary.len()),
            _ => None,
        }
    }

    /// Increments the count of each distinct code of `row`. `counts` contains a count for each code. Does nothing if the values are
    /// not strings.
    pub(crate) fn count_codes(&self, row: usize, counts: &mut [u32]) {
        let ColumnData::Strings { codes, .. } = &self.data else { return };
        let mut own: SmallVec<[usize; 16]> = self.places(row).map(|at| codes.get(at)).collect();
        own.sort_unstable();
        own.dedup();
        own.into_iter().for_each(|code| counts[code] += 1);
    }

    /// Returns the index range of the values of `row`.
    pub(crate) fn places(&self, row: usize) -> Range<usize> {
        match &self.layout {
            ColumnLayout::Single(present) => row..row + usize::from(present.contains(row)),
            ColumnLayout::Many(ends) => {
                let start = if row == 0 { 0 } else { ends[row - 1] };
                start as usize..ends[row] as usize
            }
        }
    }

    /// Returns the elements of level `level + 1` that are inside the elements `range` of level `level`. If `level` is the innermost
    /// level, returns the values in these elements. The argument and the result are index ranges. At level 0, the elements are the
    /// rows. The field must be below at least `level` arrays of objects.
    #[inline]
    pub(crate) fn below(&self, level: usize, range: Range<usize>) -> Range<usize> {
        match (&self.elements, &self.layout) {
            (Some(elements), _) => within(elements.ends_of(level), range),
            (None, ColumnLayout::Single(_)) => 0..0,
            // Each value is an element.
            (None, ColumnLayout::Many(ends)) if level == 0 => within(ends, range),
            (None, ColumnLayout::Many(_)) => {
                range.start.min(self.values_len())..range.end.min(self.values_len())
            }
        }
    }

    /// Returns the number of arrays of objects around the field, which must be below at least one array. Returns 1 if no row has an
    /// element.
    pub(crate) fn levels(&self) -> usize {
        // If the column stores no elements, there are none, or the field is below one array and each element has exactly one value.
        self.elements.as_ref().map_or(1, |elements| elements.levels())
    }

    /// Replaces the elements that the values belong to. Returns an error if the elements of a row do not contain exactly the values
    /// of the row.
    #[cfg(feature = "store")]
    pub(crate) fn set_elements(&mut self, elements: Option<Box<Elements>>) -> Result<(), String> {
        self.elements = elements;
        match &self.elements {
            Some(elements) => elements.validate(self.rows, |row| self.places(row)),
            None => Ok(()),
        }
    }

    /// Returns the number of elements of a level. At level 0, the elements are the rows.
    pub(crate) fn elements_len(&self, level: usize) -> usize {
        match &self.elements {
            _ if level == 0 => self.rows,
            Some(elements) => elements.len(level),
            None => match &self.layout {
                ColumnLayout::Single(_) => 0,
                ColumnLayout::Many(_) => self.values_len(),
            },
        }
    }

    /// Returns the list of ends of a level, with one entry for each element. The entry is the end index of the elements of the next
    /// level in this element. At the innermost level, it is the end index of the values in this element. At level 0, the elements
    /// are the rows.
    ///
    /// Returns `None` if no row has an element. Also returns `None` for the innermost level if `self.elements` is `None`. In this
    /// case, each element has exactly one value, so the index of an element is also the index of its value.
    pub(crate) fn ends_of(&self, level: usize) -> Option<&[u32]> {
        match (&self.elements, &self.layout) {
            (Some(elements), _) => Some(elements.ends_of(level)),
            (None, ColumnLayout::Many(ends)) if level == 0 => Some(ends),
            (None, _) => None,
        }
    }

    /// Returns the values of `row`, in the order in which they were added.
    pub(crate) fn values(&self, row: usize) -> impl Iterator<Item = Value<'_>> + Clone {
        self.places(row).map(|at| self.value(at))
    }

    /// Returns the value with this index, which must be one of the [places](Self::places) of a row.
    #[inline]
    pub(crate) fn value(&self, at: usize) -> Value<'_> {
        match &self.data {
            ColumnData::Strings { dictionary, codes, .. } => {
                Value::String(Cow::Borrowed(dictionary.get(codes.get(at))))
            }
            ColumnData::Ordered { kind, values, .. } => kind.value(values.get(at)),
            ColumnData::Booleans { values, .. } => Value::Boolean(values.get(at)),
        }
    }

    /// Returns the ordinal of the value of `row`. Returns `None` if the type is not ordered. The column must be single-valued, and
    /// the row must have a value.
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
        layout + data + self.elements.as_ref().map_or(0, |elements| elements.size_bytes())
    }

    /// Returns the heap memory of the elements of arrays that the values belong to, in bytes.
    #[cfg(all(test, feature = "sample"))]
    pub(crate) fn elements_bytes(&self) -> usize {
        self.elements.as_ref().map_or(0, |elements| elements.size_bytes())
    }

    /// Returns the heap memory of the indexes from values to rows, in bytes.
    pub(crate) fn index_bytes(&self) -> usize {
        match &self.data {
            ColumnData::Strings { postings, search, .. } => {
                let of_search = search.as_ref().map_or(0, |search| search.size_bytes());
                postings.as_ref().map_or(0, Postings::size_bytes) + of_search
            }
            ColumnData::Ordered { sorted, .. } => sorted.as_ref().map_or(0, SortedRows::size_bytes),
            ColumnData::Booleans { holders, .. } => holders.iter().map(Selection::size_bytes).sum(),
        }
    }

    /// Appends all slices of the column to `all`. The slices that searches read most often come first.
    fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        match &mut self.data {
            ColumnData::Strings { codes, postings, search, .. } => {
                if let Some(postings) = postings {
                    postings.slices(all);
                }
                codes.slices(all);
                if let Some(search) = search {
                    search.slices(all);
                }
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
        if let Some(elements) = &mut self.elements {
            elements.slices(all);
        }
    }
}
