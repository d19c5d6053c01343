//! Ranges of ordinals, and the zone maps and sorted rows that columns have for them.
#![expect(
    clippy::indexing_slicing,
    reason = "places among ascending ranges: none that begins after a zone ends before it"
)]

use std::ops::Range;

use smallvec::SmallVec;

use crate::column::{Column, ColumnData, Sorted};
use crate::predicate::Intervals;
use crate::value::OrdinalRange;

/// Returns the ranges, of some that ascend, that have a value in common with a zone.
pub(super) fn overlapping(ranges: &[OrdinalRange], zone: Option<OrdinalRange>) -> &[OrdinalRange] {
    let Some((least, greatest)) = zone else { return &[] };
    let from = ranges.partition_point(|(_, high)| *high < least);
    let to = ranges.partition_point(|(low, _)| *low <= greatest);
    &ranges[from..to]
}

/// True when a range has every value of a zone.
pub(super) fn covers((low, high): OrdinalRange, zone: Option<OrdinalRange>) -> bool {
    zone.is_some_and(|(least, greatest)| low <= least && greatest <= high)
}

/// Returns the sorted rows of a column of an ordered type, and the parts of them whose values lie in ranges; `None` where rows are not
/// sorted.
pub(super) fn sorted_parts<'p>(
    column: &'p Column,
    ranges: &Intervals,
) -> Option<(Sorted<'p>, SmallVec<[Range<usize>; 2]>)> {
    let ColumnData::Ordered { zone, sorted, .. } = &column.data else { return None };
    let sorted = Sorted::new(sorted, column)?;
    let parts = match overlapping(ranges.as_slice(), *zone) {
        [] => SmallVec::new(),
        [range] if covers(*range, *zone) => SmallVec::from_elem(0..sorted.len(), 1),
        some => parts(column, sorted, some),
    };
    Some((sorted, parts))
}

/// Returns the parts of the sorted rows whose values lie in the ranges.
pub(super) fn parts(
    column: &Column,
    sorted: Sorted<'_>,
    ranges: &[OrdinalRange],
) -> SmallVec<[Range<usize>; 2]> {
    match &column.data {
        ColumnData::Ordered { values, zone: Some(zone), .. } => {
            sorted.parts(ranges.iter().copied(), *zone, |row| values.get(row))
        }
        _ => SmallVec::new(),
    }
}
