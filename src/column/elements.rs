//! Stores which elements of arrays of objects contain each value of a column.
//!
//! # Form
//!
//! A field below `k` arrays of objects has elements at the levels 1 to `k`, from the outermost array to the innermost. All elements
//! of one level are numbered in the whole batch, in the order of rows and documents. All columns below one array assign the same
//! numbers to its elements. So a criterion can compare two columns element by element.
//!
//! ```text
//! legs[].fees[].amount of two rows       {"legs":[{"fees":[{"amount":1},{}]},{}]} and {"legs":[{"fees":[{"amount":2}]}]}
//! rows         0        1                ends of their elements of level 1      2, 3
//! level 1      0    1   2                ends of their elements of level 2      2, 2, 3
//! level 2      0 1      2                ends of their values                   1, 1, 2
//! values       0        1
//! ```
//!
//! # Memory
//!
//! If a field is below exactly one array, and each element has exactly one value, its column stores no elements. This holds for
//! each field that all elements have, such as the fields of `amlCases` in most documents. Otherwise each row and each element of
//! each level takes 4 bytes in the column.
#![expect(
    clippy::indexing_slicing,
    reason = "levels of one column; rows, elements and values of one batch, fewer than 2^32, as `validate` and the codec check"
)]

use std::ops::Range;

use crate::catalog::ArrayId;
use crate::slice::{Move, Slice};

/// The elements that the values of a column belong to.
///
/// Invariant: `ends[0]` has an entry for each row, and `ends[j]` has an entry for each element of level `j`. The entry is the end
/// index of the elements of level `j + 1` in this row or element. In the last list, it is the end index of the values. Each list is
/// in ascending order. Its last entry is the length of the next list, or the number of values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elements {
    ends: Box<[Slice<u32>]>,
}

impl Elements {
    /// Creates the elements of a column from the ends of each level. Returns `None` if the elements need not be stored. This is
    /// true if there are no elements. It is also true if the field is below exactly one array and each element has exactly one
    /// value.
    pub(super) fn new(ends: Vec<Vec<u32>>) -> Option<Box<Self>> {
        let is_plain = match ends.as_slice() {
            [_, of_values] => of_values.iter().zip(1..).all(|(end, number)| *end == number),
            [of_rows, ..] => of_rows.last().is_none_or(|end| *end == 0),
            [] => true,
        };
        (!is_plain).then(|| Box::new(Self { ends: ends.into_iter().map(Slice::from).collect() }))
    }

    /// Returns the list of ends of a level. For each element, it has the end index of its elements of the next level, or of its
    /// values. At level 0, the elements are the rows.
    #[inline]
    pub(super) fn ends_of(&self, level: usize) -> &[u32] {
        self.ends.get(level).map_or(&[], |ends| ends)
    }

    /// Returns the number of levels.
    pub(super) fn levels(&self) -> usize {
        self.ends.len().saturating_sub(1)
    }

    /// Returns the number of elements of a level. The level must not be 0.
    pub(super) fn len(&self, level: usize) -> usize {
        self.ends.get(level).map_or(0, |ends| ends.len())
    }

    /// Iterates over the lists of ends, from the list of rows to the list of the innermost level.
    #[cfg(feature = "store")]
    pub(super) fn ends(&self) -> impl Iterator<Item = &[u32]> {
        self.ends.iter().map(|ends| &**ends)
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.ends.iter().map(|ends| size_of_val::<[u32]>(ends)).sum()
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.extend(self.ends.iter_mut().map(|ends| ends as &mut dyn Move));
    }

    /// Checks the invariant for a column of `rows` rows. `values` returns the index range of the values of a row.
    pub(super) fn validate(&self, rows: usize, values: impl Fn(usize) -> Range<usize>) -> Result<(), String> {
        let mut expected = rows;
        for ends in &self.ends {
            if ends.len() != expected || !ends.is_sorted() {
                return Err("ends that do not ascend, or do not match the elements of the outer level".into());
            }
            expected = ends.last().map_or(0, |end| *end as usize);
        }
        let of_row = |row: usize| {
            let levels = 0..self.ends.len();
            levels.fold(row..row.saturating_add(1), |range, level| within(self.ends_of(level), range))
        };
        if (0..rows).any(|row| !is_same(&of_row(row), &values(row))) {
            return Err("elements of a row that contain values of another row".into());
        }
        Ok(())
    }
}

/// Returns true if both ranges have the same members.
fn is_same(one: &Range<usize>, other: &Range<usize>) -> bool {
    one == other || one.is_empty() && other.is_empty()
}

/// Converts a range of rows or elements to the index range of the elements or values that they contain. `ends` has, for each row or
/// element, the end index of its contents. A row or element beyond the end of `ends` contains nothing. Such rows or elements occur
/// if two columns of a damaged file have different numbers of elements.
#[inline]
pub(super) fn within(ends: &[u32], range: Range<usize>) -> Range<usize> {
    let before = |at: usize| match at.min(ends.len()).checked_sub(1) {
        Some(last) => ends[last] as usize,
        None => 0,
    };
    before(range.start)..before(range.end)
}

/// A builder of the elements of a column. Elements and values are added in the order of rows and documents.
#[derive(Default)]
pub(super) struct ElementsBuilder {
    /// The arrays of objects around the field, from the outermost to the innermost.
    arrays: Box<[ArrayId]>,
    levels: Box<[Level]>,
    /// For each value: the index of the innermost element that contains it.
    of_values: Vec<u32>,
}

/// The elements of one level.
#[derive(Default)]
struct Level {
    /// The parent of each element. In the outermost level, this is the row. In the other levels, it is the index of the element
    /// that contains it.
    parents: Vec<u32>,
    /// The row of the last element.
    row: Option<usize>,
}

impl ElementsBuilder {
    pub(super) fn new(arrays: &[ArrayId]) -> Self {
        let levels = arrays.iter().map(|_| Level::default()).collect();
        Self { arrays: arrays.into(), levels, of_values: Vec::new() }
    }

    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        !self.arrays.is_empty()
    }

    /// Begins an element of an array in a row. Ignores an array that is not around the field.
    pub(super) fn begin(&mut self, row: usize, array: ArrayId) {
        if let Some(level) = self.arrays.iter().position(|around| *around == array) {
            self.begin_level(row, level);
        }
    }

    fn begin_level(&mut self, row: usize, level: usize) {
        // If an outer level has no element in this row yet, begins an element there. This is only a safeguard: the code that
        // reads documents begins the elements of outer levels first.
        for around in 0..level {
            if self.levels[around].row != Some(row) {
                self.push(row, around);
            }
        }
        self.push(row, level);
    }

    fn push(&mut self, row: usize, level: usize) {
        let parent = match level.checked_sub(1) {
            Some(around) => self.levels[around].parents.len().saturating_sub(1),
            None => row,
        };
        let own = &mut self.levels[level];
        own.parents.push(number(parent));
        own.row = Some(row);
    }

    /// Adds a value of a row. It belongs to the element that was begun last.
    #[inline]
    pub(super) fn push_value(&mut self, row: usize) {
        let Some(innermost) = self.levels.len().checked_sub(1) else { return };
        if self.levels[innermost].row != Some(row) {
            self.begin_level(row, innermost);
        }
        self.of_values.push(number(self.levels[innermost].parents.len().saturating_sub(1)));
    }

    /// Returns the elements of `rows` rows, and empties the builder.
    pub(super) fn seal(&mut self, rows: usize) -> Option<Box<Elements>> {
        if !self.is_wanted() {
            return None;
        }
        let mut ends = Vec::with_capacity(self.levels.len().saturating_add(1));
        let mut around = rows;
        for level in &mut self.levels {
            ends.push(ends_of(around, &level.parents));
            around = level.parents.len();
            level.parents.clear();
            level.row = None;
        }
        ends.push(ends_of(around, &self.of_values));
        self.of_values.clear();
        Elements::new(ends)
    }
}

/// Converts a count of rows, elements or values of one batch, which is less than 2^32.
fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the end index of the members of each of `groups` groups. `parents` has the group of each member, in ascending order.
fn ends_of(groups: usize, parents: &[u32]) -> Vec<u32> {
    let mut ends = vec![0; groups];
    for (end, group) in (1..).zip(parents) {
        ends[*group as usize] = end;
    }
    let mut last = 0;
    for end in &mut ends {
        last = last.max(*end);
        *end = last;
    }
    ends
}
