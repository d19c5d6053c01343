//! Looks up ranges of ordinals in the zone map and in the sorted rows of a column.
#![expect(
    clippy::indexing_slicing,
    reason = "indexes of ascending ranges: a range that begins after a zone does not end before it"
)]

use std::ops::Range;

use smallvec::SmallVec;

use super::cost::COST_OF_SEEKING;
use crate::column::{Column, ColumnData, Sorted};
use crate::predicate::Intervals;
use crate::stop::Pace;
use crate::value::OrdinalRange;

/// Returns the ranges that overlap a zone. `ranges` ascend.
pub(super) fn overlapping(ranges: &[OrdinalRange], zone: Option<OrdinalRange>) -> &[OrdinalRange] {
    let Some((least, greatest)) = zone else { return &[] };
    let from = ranges.partition_point(|(_, high)| *high < least);
    let to = ranges.partition_point(|(low, _)| *low <= greatest);
    &ranges[from..to]
}

/// Returns true if a range contains the zone.
pub(super) fn covers((low, high): OrdinalRange, zone: Option<OrdinalRange>) -> bool {
    zone.is_some_and(|(least, greatest)| low <= least && greatest <= high)
}

/// Returns the sorted rows of a column of an ordered type, and their parts whose values are in the ranges. Returns `None` if the
/// column has no sorted rows.
pub(super) fn sorted_parts<'p>(
    column: &'p Column,
    ranges: &Intervals,
    pace: &Pace<'_>,
) -> Option<(Sorted<'p>, SmallVec<[Range<usize>; 2]>)> {
    let ColumnData::Ordered { zone, sorted, .. } = &column.data else { return None };
    let sorted = Sorted::new(sorted, column)?;
    let parts = match overlapping(ranges.as_slice(), *zone) {
        [] => SmallVec::new(),
        [range] if covers(*range, *zone) => SmallVec::from_elem(0..sorted.len(), 1),
        some => parts(column, sorted, some, pace),
    };
    Some((sorted, parts))
}

/// Returns the parts of the sorted rows whose values are in the ranges.
pub(super) fn parts(
    column: &Column,
    sorted: Sorted<'_>,
    ranges: &[OrdinalRange],
    pace: &Pace<'_>,
) -> SmallVec<[Range<usize>; 2]> {
    match &column.data {
        ColumnData::Ordered { values, zone: Some(zone), .. } => {
            let ranges = ranges.iter().copied().take_while(|_| !pace.spend(COST_OF_SEEKING.get()));
            sorted.parts(ranges, *zone, |row| values.get(row))
        }
        _ => SmallVec::new(),
    }
}
