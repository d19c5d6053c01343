//! Access paths: the ways to find the rows of a leaf in one batch, and to test a single row.

use std::ops::Range;

use smallvec::SmallVec;

use super::element_tests::ElementTests;
use super::value_test::{ValueTest, value_passes};
use crate::column::{Codes, Column, ColumnData, ColumnLayout, Ordinals, Postings, Sorted};
use crate::kernels;
use crate::predicate::in_ranges;
use crate::rows::{LANES, RowSet, Selection, has_bit};
use crate::value::OrdinalRange;

/// A way to find the rows of a leaf in one batch.
pub(super) enum AccessPath<'p> {
    /// A set of rows that an index stores, or that is the result of testing a few rows one by one.
    Rows(RowSet<'p>),
    /// The rows that are in all of these bitmaps, one for each string. The index over all batches has the bitmaps.
    StringBitmaps(SmallVec<[&'p [u64]; 2]>),
    /// The rows that have at least one of these codes.
    AnyPosting(&'p Column, &'p Postings, SmallVec<[u32; 4]>),
    /// The rows that have all of these codes.
    EachPosting(&'p Column, &'p Postings, SmallVec<[u32; 4]>),
    /// The rows whose value is in one of `ranges`. `parts` are the index ranges of these rows in the list of sorted rows.
    Sorted {
        column: &'p Column,
        sorted: Sorted<'p>,
        parts: SmallVec<[Range<usize>; 2]>,
        ranges: &'p [OrdinalRange],
    },
    /// The rows of a multi-valued column that have a value.
    Present(&'p Column),
    /// The rows with an element of an array of objects that passes these tests.
    Elements(Box<ElementTests<'p>>),
    /// The rows that pass each of these tests, found by reading the column.
    Scan(&'p Column, SmallVec<[ValueTest<'p>; 1]>),
}

impl<'p> AccessPath<'p> {
    /// Returns true if the row is one of the rows of the path.
    pub(super) fn matches_row(&self, row: usize) -> bool {
        match self {
            Self::Rows(rows) => rows.contains(row),
            Self::StringBitmaps(each) => each.iter().all(|words| has_bit(words, row)),
            Self::Present(column) => !column.places(row).is_empty(),
            Self::Elements(tests) => tests.matches_row(row),
            Self::AnyPosting(column, _, wanted) => {
                codes_of(column, row).any(|code| wanted.binary_search(&code).is_ok())
            }
            Self::EachPosting(column, _, wanted) => {
                /// Up to this number of codes, the values of the row are searched once per code. Above it, the values are sorted
                /// first, and each code is found by binary search.
                const FEW: usize = 8;
                if wanted.len() <= FEW {
                    return wanted.iter().all(|wanted| codes_of(column, row).any(|code| code == *wanted));
                }
                let mut own: Vec<u32> = codes_of(column, row).collect();
                own.sort_unstable();
                wanted.iter().all(|wanted| own.binary_search(wanted).is_ok())
            }
            Self::Sorted { column, ranges, .. } => match &column.data {
                ColumnData::Ordered { values, .. } => {
                    column.places(row).any(|at| in_ranges(ranges, values.get(at)))
                }
                _ => false,
            },
            Self::Scan(column, tests) => {
                tests.iter().all(|test| column.places(row).any(|at| value_passes(&column.data, at, test)))
            }
        }
    }

    /// Returns the rows of the path in any order, if the column stores them as a list and they are few.
    pub(super) fn listed(&self) -> Option<&'p [u16]> {
        match self {
            Self::Sorted { sorted: Sorted::Listed(sorted), parts, .. } => sorted.listed(parts),
            _ => None,
        }
    }

    /// Retains the rows of the list that are rows of the path. If `negated`, retains the other rows.
    pub(super) fn filter_rows(&self, negated: bool, rows: &mut Vec<u16>) {
        // Prefetch for all rows first, so that their cache misses overlap.
        rows.iter().for_each(|row| self.prefetch(usize::from(*row)));
        // The most frequent kinds of test have their own loops.
        match self {
            Self::Rows(own) => own.retain_unless(negated, rows),
            Self::Sorted {
                column:
                    Column {
                        layout: ColumnLayout::Single(present), data: ColumnData::Ordered { values, .. }, ..
                    },
                ranges: [(low, high)],
                ..
            } => {
                let range = *low..=*high;
                let passes = |row: usize| range.contains(&values.get(row));
                kernels::retain(rows, |row| (passes(row) && present.contains(row)) != negated);
            }
            Self::AnyPosting(
                Column {
                    layout: ColumnLayout::Single(present), data: ColumnData::Strings { codes, .. }, ..
                },
                _,
                wanted,
            ) => {
                let passes = |row: usize| {
                    u32::try_from(codes.get(row)).is_ok_and(|code| wanted.binary_search(&code).is_ok())
                };
                kernels::retain(rows, |row| (passes(row) && present.contains(row)) != negated);
            }
            _ => kernels::retain(rows, |row| self.matches_row(row) != negated),
        }
    }

    /// Prefetches the data from which the bitmap of the path is computed.
    pub(super) fn prefetch_start(&self) {
        match self {
            Self::Sorted { sorted: Sorted::Listed(sorted), parts, .. } => {
                for (before, list) in parts.iter().flat_map(|part| sorted.pieces(part.clone())) {
                    before.prefetch_start();
                    kernels::prefetch_start(list);
                }
            }
            Self::Scan(Column { data: ColumnData::Strings { codes: Codes::U8(codes), .. }, .. }, _) => {
                kernels::prefetch_start(codes);
            }
            _ => {}
        }
    }

    /// Prefetches the value that [`matches_row`](Self::matches_row) reads for a row.
    #[inline]
    pub(super) fn prefetch(&self, row: usize) {
        let column = match self {
            Self::AnyPosting(column, ..)
            | Self::EachPosting(column, ..)
            | Self::Sorted { column, .. }
            | Self::Scan(column, _) => column,
            Self::Rows(rows) => return rows.prefetch(row),
            Self::StringBitmaps(each) => {
                return each.iter().for_each(|words| kernels::prefetch(words, row / LANES));
            }
            Self::Present(_) | Self::Elements(_) => return,
        };
        prefetch_values(column, row);
    }
}

/// Returns the codes of the strings of a row.
pub(super) fn codes_of(column: &Column, row: usize) -> impl Iterator<Item = u32> {
    let values = match &column.data {
        ColumnData::Strings { .. } => column.places(row),
        _ => 0..0,
    };
    values.filter_map(|at| match &column.data {
        ColumnData::Strings { codes, .. } => u32::try_from(codes.get(at)).ok(),
        _ => None,
    })
}

/// Prefetches the values of a row. For a multi-valued column, prefetches the offset at which the values of the row end.
#[inline]
fn prefetch_values(column: &Column, row: usize) {
    if let ColumnLayout::Single(Selection::Bitmap(present)) = &column.layout {
        kernels::prefetch(present.words(), row / LANES);
    }
    match (&column.layout, &column.data) {
        (ColumnLayout::Many(ends), _) => kernels::prefetch(ends, row),
        (_, ColumnData::Strings { codes, .. }) => prefetch_code(codes, row),
        (_, ColumnData::Ordered { values: Ordinals::Wide(values), .. }) => kernels::prefetch(values, row),
        (_, ColumnData::Ordered { values: Ordinals::Steps { steps, .. }, .. }) => {
            kernels::prefetch(steps, row);
        }
        (_, ColumnData::Booleans { .. }) => {}
    }
}

/// Prefetches one code.
#[inline]
pub(super) fn prefetch_code(codes: &Codes, at: usize) {
    match codes {
        Codes::U8(codes) => kernels::prefetch(codes, at),
        Codes::U16(codes) => kernels::prefetch(codes, at),
        Codes::U32(codes) => kernels::prefetch(codes, at),
    }
}
