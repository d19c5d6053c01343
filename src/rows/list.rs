//! Functions on a set of rows that is stored as a list, in ascending order and without duplicates.

use std::ops::Range;

/// Returns the number of listed rows that are less than `row`.
pub(super) fn count_below(list: &[u16], row: usize) -> usize {
    list.partition_point(|listed| usize::from(*listed) < row)
}

/// Returns true if `row` is listed.
#[inline]
pub(super) fn contains(list: &[u16], row: usize) -> bool {
    u16::try_from(row).is_ok_and(|row| list.binary_search(&row).is_ok())
}

/// Returns the listed rows that are in `range`.
pub(super) fn within(list: &[u16], range: Range<usize>) -> &[u16] {
    list.get(count_below(list, range.start)..count_below(list, range.end)).unwrap_or_default()
}
