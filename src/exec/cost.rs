//! The cost model: estimates of work, by which planning and execution choose between alternatives.
#![expect(clippy::arithmetic_side_effects, reason = "the operators of `Cost` saturate")]

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use crate::rows::LANES;

/// An estimate of work. The unit is the time to process one 64-row word of a bitmap.
///
/// Sums and products saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost(usize);

/// The fixed cost of a step, which is added to its other costs.
pub(super) const COST_OF_A_STEP: Cost = Cost(64);
/// The cost of setting the bit of a listed row.
pub(super) const COST_OF_A_BIT: Cost = Cost(4);
/// The cost of reading one value in a sequential scan of a column.
pub(super) const COST_OF_A_VALUE: Cost = Cost(10);
/// The cost of testing 64 8-bit codes for membership in a set.
pub(super) const COST_OF_64_BYTES: Cost = Cost(10);
/// The cost of testing the value of one row.
pub(super) const COST_OF_A_ROW: Cost = Cost(60);
/// The cost of testing the bit of one row.
pub(super) const COST_OF_A_TESTED_BIT: Cost = Cost(6);
/// The approximate cost of listing the rows of a bitmap.
pub(super) const COST_OF_LISTING: Cost = Cost(256);
/// The cost of finding the start and the end of a range in sorted values.
pub(super) const COST_OF_SEEKING: Cost = Cost(512);

impl Cost {
    pub(super) const NONE: Self = Self(0);

    /// Returns the cost of reading or writing a bitmap of `rows` rows.
    pub(super) fn of_bitmap(rows: usize) -> Self {
        Self(rows / LANES)
    }

    /// Returns the cost of processing `words` words of 64 rows.
    pub(super) fn of_words(words: usize) -> Self {
        Self(words)
    }

    /// Returns this cost divided by the cost `each`, rounded down. Returns `usize::MAX` if `each` is 0.
    pub(super) fn pays(self, each: Self) -> usize {
        self.0.checked_div(each.0).unwrap_or(usize::MAX)
    }

    /// Returns the cost per decided row, multiplied by the number of rows of the batch. A row is decided if the step alone
    /// determines the result of its branch for this row. Returns `usize::MAX` if no row is decided.
    pub(super) fn per_decided(self, decided: usize, rows: usize) -> usize {
        (self * rows).pays(Self(decided))
    }

    /// Returns the number of units.
    pub(super) fn get(self) -> usize {
        self.0
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<usize> for Cost {
    type Output = Self;

    fn mul(self, times: usize) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::NONE, Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_saturate_at_the_maximum() {
        let most = Cost::of_words(usize::MAX);
        assert_eq!((most + Cost::of_words(1), most * 2, [most, most].into_iter().sum()), (most, most, most));
        assert_eq!(Cost::of_words(10).pays(Cost::of_words(3)), 3);
        assert_eq!(Cost::of_words(10).pays(Cost::NONE), usize::MAX);
    }
}
