//! Ranges of ordinals, and the zone maps and sorted rows that columns have for them.

use std::ops::Range;

use smallvec::SmallVec;

use crate::column::{Column, Data, Sorted, SortedRows};
use crate::predicate::Intervals;
use crate::value::OrdinalRange;

/// What ranges mean to a zone map.
pub(super) enum Met<R> {
    Nothing,
    Everything,
    /// Those of the ranges that lie in the zone.
    Some(R),
}

/// What ranges mean to the zone map of some values.
pub(super) fn meeting(ranges: &[OrdinalRange], zone: Option<OrdinalRange>) -> Met<&[OrdinalRange]> {
    let Some((least, greatest)) = zone else { return Met::Nothing };
    let from = ranges.partition_point(|(_, high)| *high < least);
    let to = ranges.partition_point(|(low, _)| *low <= greatest);
    match ranges.get(from..to).unwrap_or_default() {
        [] => Met::Nothing,
        [(low, high)] if *low <= least && greatest <= *high => Met::Everything,
        some => Met::Some(some),
    }
}

/// The sorted rows of a column of an ordered type, and the parts of them whose values lie in ranges; `None` where rows are not
/// sorted.
pub(super) fn sorted_parts<'p>(
    column: &'p Column,
    ranges: &Intervals,
) -> Option<(Sorted<'p>, SmallVec<[Range<usize>; 2]>)> {
    let Data::Ordered { zone, sorted, .. } = &column.data else { return None };
    let sorted = Sorted::new(sorted, column)?;
    let parts = match meeting(ranges.as_slice(), *zone) {
        Met::Nothing => SmallVec::new(),
        Met::Everything => SmallVec::from_elem(0..sorted.len(), 1),
        Met::Some(ranges) => parts(column, sorted, ranges),
    };
    Some((sorted, parts))
}

/// The parts of the sorted rows whose values lie in the ranges.
pub(super) fn parts(
    column: &Column,
    sorted: Sorted<'_>,
    ranges: &[OrdinalRange],
) -> SmallVec<[Range<usize>; 2]> {
    match &column.data {
        Data::Ordered { values, zone: Some(zone), .. } => {
            sorted.parts(ranges.iter().copied(), *zone, |row| values.get(row).unwrap_or(0))
        }
        _ => SmallVec::new(),
    }
}

/// Nearly that, of one range, where it is neither short nor nearly all: then it surely is some of the rows.
pub(super) fn near_part(
    column: &Column,
    sorted: Sorted<'_>,
    ranges: &[OrdinalRange],
) -> Option<Range<usize>> {
    // What is listed is told exactly.
    const { assert!(SortedRows::LISTED >= SortedRows::NEAR) };
    let (Sorted::Listed(listed), Data::Ordered { zone, .. }, [range]) = (sorted, &column.data, ranges) else {
        return None;
    };
    let part = listed.near(*range, (*zone)?);
    let others = listed.rows().len().saturating_sub(part.len());
    (part.len().min(others) > SortedRows::LISTED).then_some(part)
}
