//! Searches sorted rows for a value by fence keys: the value of every 64th sorted row, with a table of starting points.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "fewer than 65,536 values, whose range takes at most 64 bits; the table has a start for each part and one more"
)]

use crate::slice::{Move, Slice};

/// Fewer than 65,536 values in ascending order, with a table that speeds up the search for a value.
///
/// The range between the smallest and the greatest value is divided into equal parts. The table contains the index of the first
/// value of each part. If the values are evenly distributed, as most timestamps are, a search reads the table and one or two
/// values. A binary search would read about ten values, and the choice of each depends on the previous value. If the values are not
/// evenly distributed, the search is a binary search within one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FenceKeys {
    values: Slice<i64>,
    /// For each part, the number of values before the part. The last entry is the number of values in total. Empty if there are few
    /// values.
    starts: Slice<u16>,
    /// The binary logarithm of the width of a part.
    shift: u32,
}

/// The maximum number of parts. It must be a power of two.
const PARTS: usize = 1 << 9;
/// The minimum number of values for which a table is built. Below it, a binary search over all values is fast enough.
const FEW: usize = 1 << 6;

impl FenceKeys {
    /// Creates fence keys from `values`, which must be in ascending order.
    pub(super) fn new(values: Vec<i64>) -> Self {
        let (Some(least), Some(greatest)) = (values.first().copied(), values.last().copied()) else {
            return Self { values: values.into(), starts: Vec::new().into(), shift: 0 };
        };
        let bits = u64::BITS - greatest.abs_diff(least).leading_zeros();
        let shift = bits.saturating_sub(PARTS.trailing_zeros());
        let mut starts = Vec::new();
        if values.len() >= FEW {
            starts.reserve_exact(PARTS + 1);
            for (value, number) in values.iter().zip(0_u16..) {
                let part = part(*value, least, shift);
                while starts.len() <= part {
                    starts.push(number);
                }
            }
            starts.resize(PARTS + 1, u16::try_from(values.len()).unwrap_or(u16::MAX));
        }
        Self { values: values.into(), starts: starts.into(), shift }
    }

    pub(super) fn get(&self, number: usize) -> Option<i64> {
        self.values.get(number).copied()
    }

    /// Returns the number of values that are less than `bound`.
    #[inline]
    pub(super) fn below(&self, bound: i64) -> usize {
        let values: &[i64] = &self.values;
        let starts: &[u16] = &self.starts;
        let Some(least) = values.first().filter(|least| **least < bound) else { return 0 };
        let (mut from, mut to) = (0, values.len());
        if !starts.is_empty() {
            // A bound beyond the last part is greater than all values.
            let part = part(bound, *least, self.shift).min(PARTS);
            let next = (part + 1).min(PARTS);
            (from, to) = (usize::from(starts[part]), usize::from(starts[next]));
        }
        from + values[from..to].partition_point(|value| *value < bound)
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(&mut self.values);
        all.push(&mut self.starts);
    }

    pub(super) fn size_bytes(&self) -> usize {
        size_of_val::<[i64]>(&self.values) + size_of_val::<[u16]>(&self.starts)
    }
}

/// Returns the index of the part that contains `value`. `value` must not be less than `least`, the smallest value.
#[inline]
fn part(value: i64, least: i64, shift: u32) -> usize {
    usize::try_from(value.abs_diff(least) >> shift).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_however_they_are_spread() {
        let spreads: [fn(i64) -> i64; 7] = [
            |n| n,
            |n| n * 1_000_003,
            |n| n / 100,
            |n| if n < 500 { i64::MIN + n } else { i64::MAX - 1023 + n },
            |n| 1_i64 << (n / 17),
            |n| (n - 512).pow(5),
            |_| -7,
        ];
        for spread in spreads {
            for len in [0, 1, FEW - 1, FEW, FEW + 1, 1024] {
                let values: Vec<i64> = (0..len as i64).map(spread).collect();
                let samples = FenceKeys::new(values.clone());
                let mut bounds = vec![i64::MIN, -8, 0, 1, i64::MAX];
                bounds.extend(values.iter().flat_map(|value| {
                    [
                        value.saturating_sub(1),
                        *value,
                        value.saturating_add(1),
                        value / 2,
                        value.saturating_mul(2),
                    ]
                }));
                for bound in bounds {
                    assert_eq!(
                        samples.below(bound),
                        values.partition_point(|value| *value < bound),
                        "{bound} among {len}"
                    );
                }
            }
        }
    }

    #[test]
    fn values_of_a_full_batch_are_found() {
        let values: Vec<i64> = (0..65_535).collect();
        let samples = FenceKeys::new(values);
        assert_eq!(
            [0, 1, 40_000, 65_534, 65_535].map(|bound| samples.below(bound)),
            [0, 1, 40_000, 65_534, 65_535]
        );
    }
}
