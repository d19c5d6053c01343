//! Estimates of work, by which plans and executors choose.
#![expect(clippy::arithmetic_side_effects, reason = "the operators of `Cost` saturate")]

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use crate::rows::LANES;

/// An estimate of work, in the time that a word of 64 rows takes.
///
/// Sums and products saturate: an estimate that large is too much work in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost(usize);

/// The least cost of a step.
pub(super) const COST_OF_A_STEP: Cost = Cost(64);
/// Setting the bit of a row in a list.
pub(super) const COST_OF_A_BIT: Cost = Cost(4);
/// Reading one value of a column from front to back.
pub(super) const COST_OF_A_VALUE: Cost = Cost(10);
/// Telling of 64 codes of a byte whether they are in a set.
pub(super) const COST_OF_64_BYTES: Cost = Cost(10);
/// Testing the value of one row.
pub(super) const COST_OF_A_ROW: Cost = Cost(60);
/// Testing the bit of one row.
pub(super) const COST_OF_A_TESTED_BIT: Cost = Cost(6);
/// Listing the rows of a bitmap takes about this much.
pub(super) const COST_OF_LISTING: Cost = Cost(256);
/// Seeking a range of values takes a few steps.
pub(super) const COST_OF_SEEKING: Cost = Cost(512);

impl Cost {
    pub(super) const NONE: Self = Self(0);

    /// Returns the cost of reading or writing a bitmap of `rows` rows.
    pub(super) fn of_bitmap(rows: usize) -> Self {
        Self(rows / LANES)
    }

    /// Returns the cost of this many words of 64 rows.
    pub(super) fn of_words(words: usize) -> Self {
        Self(words)
    }

    /// Returns how often `each` can be paid from this; any number of times where it costs nothing.
    pub(super) fn pays(self, each: Self) -> usize {
        self.0.checked_div(each.0).unwrap_or(usize::MAX)
    }

    /// Returns the cost for each of `rows` rows that are decided, times the rows of a batch.
    pub(super) fn per_decided(self, decided: usize, rows: usize) -> usize {
        (self * rows).pays(Self(decided))
    }

    /// Returns the number.
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
    fn what_is_beyond_all_numbers_stays_at_the_greatest() {
        let most = Cost::of_words(usize::MAX);
        assert_eq!((most + Cost::of_words(1), most * 2, [most, most].into_iter().sum()), (most, most, most));
        assert_eq!(Cost::of_words(10).pays(Cost::of_words(3)), 3);
        assert_eq!(Cost::of_words(10).pays(Cost::NONE), usize::MAX);
    }
}
