//! Ranges of numbers and timestamps, and what columns hold ready for them: zone maps and sorted rows.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::plan::ValueTest;
use crate::column::{Column, Data, Sorted, SortedRows};
use crate::predicate::Set;
use crate::value::{Number, Timestamp};

/// What ranges mean to a zone map.
pub(super) enum Met<R> {
    Nothing,
    Everything,
    /// Those of the ranges that lie in the zone.
    Some(R),
}

impl<R> Met<R> {
    fn map<T>(self, map: impl FnOnce(R) -> T) -> Met<T> {
        match self {
            Self::Nothing => Met::Nothing,
            Self::Everything => Met::Everything,
            Self::Some(ranges) => Met::Some(map(ranges)),
        }
    }
}

pub(super) fn meeting<T: Copy + Ord>(ranges: &[(T, T)], zone: Option<(T, T)>) -> Met<&[(T, T)]> {
    let Some((least, greatest)) = zone else { return Met::Nothing };
    let from = ranges.partition_point(|(_, high)| *high < least);
    let to = ranges.partition_point(|(low, _)| *low <= greatest);
    match ranges.get(from..to).unwrap_or_default() {
        [] => Met::Nothing,
        [(low, high)] if *low <= least && greatest <= *high => Met::Everything,
        some => Met::Some(some),
    }
}

/// What ranges of numbers or timestamps ask of the values of a column.
pub(super) fn value_test<'p>(column: &Column, set: &'p Set) -> Met<ValueTest<'p>> {
    match (&column.data, set) {
        (Data::Numbers { zone, .. }, Set::Numbers(ranges)) => {
            meeting(ranges.as_slice(), *zone).map(|ranges| ValueTest::Numbers(Cow::Borrowed(ranges)))
        }
        (Data::Timestamps { zone, .. }, Set::Timestamps(ranges)) => {
            meeting(ranges.as_slice(), *zone).map(|ranges| ValueTest::Timestamps(Cow::Borrowed(ranges)))
        }
        _ => Met::Nothing,
    }
}

/// The sorted rows of a column of numbers or timestamps, and the parts of them whose values lie in ranges; `None` where rows are not
/// sorted.
pub(super) fn sorted_parts<'p>(
    column: &'p Column,
    ranges: &Set,
) -> Option<(Sorted<'p>, SmallVec<[Range<usize>; 2]>)> {
    let (Data::Numbers { sorted, .. } | Data::Timestamps { sorted, .. }) = &column.data else { return None };
    let sorted = Sorted::new(sorted, column)?;
    let parts = match value_test(column, ranges) {
        Met::Nothing => SmallVec::new(),
        Met::Everything => SmallVec::from_elem(0..sorted.len(), 1),
        Met::Some(test) => parts(column, sorted, &test),
    };
    Some((sorted, parts))
}

/// The parts of the sorted rows whose values pass the test.
pub(super) fn parts(
    column: &Column,
    sorted: Sorted<'_>,
    test: &ValueTest<'_>,
) -> SmallVec<[Range<usize>; 2]> {
    let Some(zone) = zone(column) else { return SmallVec::new() };
    match (&column.data, test) {
        (Data::Numbers { values, .. }, ValueTest::Numbers(ranges)) => {
            sorted.parts(ranges.iter().map(of_numbers), zone, |row| {
                values.get(row).and_then(|value| Number::new(*value)).map_or(0, Number::ordinal)
            })
        }
        (Data::Timestamps { values, .. }, ValueTest::Timestamps(ranges)) => {
            sorted.parts(ranges.iter().map(of_timestamps), zone, |row| values.get(row).unwrap_or(0))
        }
        _ => SmallVec::new(),
    }
}

/// The least and the greatest ordinal of the values, by which rows are sorted.
fn zone(column: &Column) -> Option<(i64, i64)> {
    match &column.data {
        Data::Numbers { zone, .. } => zone.as_ref().map(of_numbers),
        Data::Timestamps { zone, .. } => zone.as_ref().map(of_timestamps),
        _ => None,
    }
}

/// Nearly that, of one range, where it is neither short nor nearly all: then it surely is some of the rows.
pub(super) fn near_part(column: &Column, sorted: Sorted<'_>, test: &ValueTest<'_>) -> Option<Range<usize>> {
    // What is listed is told exactly.
    const { assert!(SortedRows::LISTED >= SortedRows::NEAR) };
    let Sorted::Listed(listed) = sorted else { return None };
    let range = match test {
        ValueTest::Numbers(ranges) if let [range] = &**ranges => of_numbers(range),
        ValueTest::Timestamps(ranges) if let [range] = &**ranges => of_timestamps(range),
        _ => return None,
    };
    let part = listed.near(range, zone(column)?);
    let others = listed.rows().len().saturating_sub(part.len());
    (part.len().min(others) > SortedRows::LISTED).then_some(part)
}

/// A range of numbers as one of the ordinals by which rows are sorted.
fn of_numbers((low, high): &(Number, Number)) -> (i64, i64) {
    (low.ordinal(), high.ordinal())
}

/// A range of timestamps as one of the ordinals by which rows are sorted.
fn of_timestamps((low, high): &(Timestamp, Timestamp)) -> (i64, i64) {
    (low.as_millis(), high.as_millis())
}
