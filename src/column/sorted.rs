//! Finds rows by value in the sorted rows of a column. The column has a list of its sorted rows, unless the rows of the batch are
//! already stored in order of value.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "indexes of sorted rows of one batch, at most 65,536, and of fence keys"
)]

use std::ops::Range;

use smallvec::SmallVec;

use super::sealed::{Column, ColumnData, ColumnLayout};
use super::sorted_rows::{KEY_STEP, SortedRows};

/// The rows of a single-valued column of an ordered type that have a value, sorted by value and then by row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sorted<'c> {
    /// The rows of the batch are already stored in order of value. Contains the number of sorted rows. This is the number of rows
    /// of the batch, or 0 if no row has a value.
    AsStored(usize),
    Listed(&'c SortedRows),
}

impl<'c> Sorted<'c> {
    /// Returns the sorted rows of a column. Returns `None` if the column is multi-valued. `list` is the field `sorted` of the
    /// column's [`ColumnData::Ordered`].
    pub(crate) fn new(list: &'c Option<SortedRows>, column: &Column) -> Option<Self> {
        match (list, &column.layout) {
            (_, ColumnLayout::Many(_)) => None,
            (Some(list), _) => Some(Self::Listed(list)),
            (None, ColumnLayout::Single(_)) => Some(Self::AsStored(column.values_len())),
        }
    }

    pub(crate) fn len(self) -> usize {
        match self {
            Self::AsStored(rows) => rows,
            Self::Listed(list) => list.rows.len(),
        }
    }

    /// Returns the row at index `at` of the sorted rows.
    pub(crate) fn get(self, at: usize) -> Option<usize> {
        match self {
            Self::AsStored(rows) => (at < rows).then_some(at),
            Self::Listed(list) => list.rows.get(at).map(|row| usize::from(*row)),
        }
    }

    /// Converts `steps`, a range of positions in ascending or descending order, to an index range of the sorted rows. In ascending
    /// order, positions and indexes are equal. In descending order, position 0 is the last sorted row.
    pub(crate) fn places(self, steps: Range<usize>, descending: bool) -> Range<usize> {
        let len = self.len();
        let steps = steps.start.min(len)..steps.end.min(len);
        if descending { len - steps.end..len - steps.start } else { steps }
    }

    /// Returns the index ranges of the sorted rows whose ordinals are in `ranges`. Empty index ranges are left out. `ranges` are
    /// closed, ascending and disjoint. `zone` is the smallest and the greatest ordinal.
    pub(crate) fn parts(
        self,
        ranges: impl Iterator<Item = (i64, i64)>,
        zone: (i64, i64),
        ordinal: impl Fn(usize) -> i64,
    ) -> SmallVec<[Range<usize>; 2]> {
        let mut parts: SmallVec<[Range<usize>; 2]> = SmallVec::new();
        for (low, high) in ranges {
            let from = parts.last().map_or(0, |part: &Range<usize>| part.end);
            let start = if low <= zone.0 { from } else { self.first_from(from, &ordinal, low) };
            let end = match behind(high) {
                Some(bound) if high < zone.1 => self.first_from(start, &ordinal, bound),
                _ => self.len(),
            };
            if start < end {
                parts.push(start..end);
            }
        }
        parts
    }

    /// Returns the first index in `from..` whose row has an ordinal of at least `edge`. `zone` is the smallest and the greatest
    /// ordinal.
    pub(crate) fn place_of(
        self,
        from: usize,
        edge: i64,
        zone: (i64, i64),
        ordinal: impl Fn(usize) -> i64,
    ) -> usize {
        if edge <= zone.0 {
            from
        } else if edge > zone.1 {
            self.len()
        } else {
            self.first_from(from, ordinal, edge)
        }
    }

    /// Returns the first index in `from..` whose row has an ordinal of at least `bound`. If there is no such index, returns the
    /// number of sorted rows.
    fn first_from(self, from: usize, ordinal: impl Fn(usize) -> i64, bound: i64) -> usize {
        let passes = |at| self.get(at).is_some_and(|row| ordinal(row) < bound);
        let (mut low, mut high) = (from, self.len());
        if let Self::Listed(list) = self {
            let first = from.div_ceil(KEY_STEP);
            let near = list.keys.get(first).is_none_or(|fence_key| fence_key >= bound);
            let behind = if near { first } else { list.keys.below(bound) };
            high = (behind * KEY_STEP).min(high);
            if near {
                // Exponential search: if there is no fence key between the start and the end of a range, the end is usually close
                // to the start.
                let mut step = 1;
                while let next = low + step
                    && next <= high
                    && passes(next - 1)
                {
                    low = next;
                    step *= 2;
                }
                high = (low + step - 1).min(high);
            } else {
                low = low.max((behind - 1) * KEY_STEP);
            }
        }
        while low < high {
            let middle = low.midpoint(high);
            if passes(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Returns the next integer, or `None` for `i64::MAX`.
fn behind(number: i64) -> Option<i64> {
    (number < i64::MAX).then(|| number + 1)
}

/// Checks that `sorted` contains exactly the `present` rows, sorted by value and then by row, and that its bitmaps and fence keys
/// are correct. Returns `Ok` if `sorted` is `None`.
pub(super) fn is_exact(
    sorted: Option<Sorted<'_>>,
    present: impl Iterator<Item = usize>,
    ordinal: impl Fn(usize) -> i64,
) -> Result<(), String> {
    let Some(sorted) = sorted else { return Ok(()) };
    let order: Vec<usize> = (0..sorted.len()).filter_map(|at| sorted.get(at)).collect();
    let keyed = |row: &usize| (ordinal(*row), *row);
    let mut rows = order.clone();
    rows.sort_unstable();
    if !(order.is_sorted_by(|a, b| keyed(a) < keyed(b)) && rows.into_iter().eq(present)) {
        return Err("sorted rows that are not the rows with values in ascending order".into());
    }
    match sorted {
        Sorted::Listed(list) if *list != SortedRows::new(list.rows.to_vec(), list.batch_rows, ordinal) => {
            Err("bitmaps or fence keys that do not match the sorted rows".into())
        }
        _ => Ok(()),
    }
}

impl Column {
    /// Returns the ordinal and the row of each row with a value, in ascending or descending order of value. Returns `None` if the
    /// column has no sorted rows.
    pub(crate) fn in_order(&self, descending: bool) -> Option<impl Iterator<Item = (i64, usize)>> {
        let ColumnData::Ordered { sorted, .. } = &self.data else { return None };
        let sorted = Sorted::new(sorted, self)?;
        let len = sorted.len();
        Some((0..len).filter_map(move |step| {
            let row = sorted.get(if descending { len - 1 - step } else { step })?;
            Some((self.ordinal(row)?, row))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::SortedRows;

    #[test]
    fn the_parts_of_ranges_are_those_of_their_values_however_these_are_spread() {
        let spreads: [fn(i64) -> i64; 6] = [
            |n| n,
            |n| n / 700,
            |n| 1_i64 << (n % 63),
            |n| if n % 1000 == 0 { i64::MAX - n } else { i64::MIN + n },
            |n| (n - 2500).pow(5),
            |_| 7,
        ];
        for spread in spreads {
            for rows in [1_usize, 255, 256, 257, 5000] {
                let value = |row: usize| spread((row * 7919 % 5003) as i64);
                let mut order: Vec<u16> = (0..rows as u16).collect();
                order.sort_by_key(|row| (value(usize::from(*row)), *row));
                let values: Vec<i64> = order.iter().map(|row| value(usize::from(*row))).collect();
                let zone = (values[0], values[rows - 1]);
                let list = SortedRows::new(order, rows, value);
                let mut ends: Vec<i64> = values.iter().step_by(rows.div_ceil(40)).copied().collect();
                ends.extend(
                    ends.clone().iter().flat_map(|end| [end.saturating_sub(1), end.saturating_add(1)]),
                );
                ends.extend([i64::MIN, 0, 1, i64::MAX]);
                for low in &ends {
                    for high in ends.iter().filter(|high| *high >= low) {
                        let part = values.partition_point(|value| value < low)
                            ..values.partition_point(|value| value <= high);
                        let found = Sorted::Listed(&list).parts([(*low, *high)].into_iter(), zone, value);
                        let expected: &[Range<usize>] =
                            if part.is_empty() { &[] } else { std::slice::from_ref(&part) };
                        assert_eq!(&*found, expected, "{low}..={high}");
                        // The search for a second range starts at the end of the first range.
                        for from in ends.iter().step_by(5).filter(|from| *from > high) {
                            for to in [*from, i64::MAX] {
                                let behind = values.partition_point(|value| value < from)
                                    ..values.partition_point(|value| *value <= to);
                                let mut both = vec![part.clone(), behind];
                                both.retain(|part| !part.is_empty());
                                let ranges = [(*low, *high), (*from, to)];
                                assert_eq!(
                                    *Sorted::Listed(&list).parts(ranges.into_iter(), zone, value),
                                    *both,
                                    "{ranges:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
