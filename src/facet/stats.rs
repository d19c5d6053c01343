//! Computes statistics of ordinals: their number, minimum, maximum, sum and mean.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of values in 64 bits, and sums of 64-bit ordinals of at most 2^48 values in 128 bits"
)]

use super::answer::{FacetStats, FacetSum};
use crate::value::{ExactSum, Number, OrderedType, OrdinalRange, Timestamp, Value, mean_of_ordinals};

/// The statistics of one field so far.
pub(crate) struct StatsCounts {
    kind: OrderedType,
    count: u64,
    /// The smallest and the greatest ordinal. `i64::MAX` and `i64::MIN` if there is no value.
    range: OrdinalRange,
    sum: SumTally,
}

enum SumTally {
    Numbers(ExactSum),
    /// Integers, decimals and timestamps.
    Ordinals(i128),
}

impl StatsCounts {
    /// Creates the statistics of no values.
    pub(crate) fn new(kind: OrderedType) -> Self {
        let sum = match kind {
            OrderedType::Number => SumTally::Numbers(ExactSum::default()),
            _ => SumTally::Ordinals(0),
        };
        Self { kind, count: 0, range: (i64::MAX, i64::MIN), sum }
    }

    /// Adds values.
    pub(crate) fn add_ordinals(&mut self, ordinals: impl Iterator<Item = i64>) {
        let (mut count, (mut least, mut greatest)) = (0, self.range);
        let ordinals = ordinals.inspect(|ordinal| {
            count += 1;
            least = least.min(*ordinal);
            greatest = greatest.max(*ordinal);
        });
        match &mut self.sum {
            SumTally::Numbers(sum) => ordinals.for_each(|ordinal| sum.add(ordinal)),
            SumTally::Ordinals(sum) => *sum += ordinals.map(i128::from).sum::<i128>(),
        }
        self.count += count;
        self.range = (least, greatest);
    }

    /// Returns the statistics.
    pub(crate) fn finish(self) -> FacetStats {
        match self.sum {
            SumTally::Numbers(sum) => {
                FacetStats::of_numbers(self.count, self.range, sum.sum_and_mean(self.count))
            }
            SumTally::Ordinals(sum) => FacetStats::of_ordinals(self.kind, self.count, self.range, sum),
        }
    }
}

impl FacetStats {
    /// Returns the statistics of doubles. `range` has the smallest and the greatest ordinal.
    pub(crate) fn of_numbers(count: u64, range: OrdinalRange, (sum, mean): (Option<Number>, Number)) -> Self {
        Self::new(OrderedType::Number, count, range, (sum.map(FacetSum::Number), Value::Number(mean)))
    }

    /// Returns the statistics of integers, decimals or timestamps, from the sum of their ordinals.
    pub(crate) fn of_ordinals(kind: OrderedType, count: u64, range: OrdinalRange, sum: i128) -> Self {
        let mean = |scale| Value::Number(mean_of_ordinals(sum, count, scale));
        let sum_and_mean = match kind {
            OrderedType::Timestamp => {
                let mean = i64::try_from(sum.div_euclid(i128::from(count.max(1)))).unwrap_or(0);
                (None, Value::Timestamp(Timestamp::from_millis(mean)))
            }
            OrderedType::Decimal(scale) => (Some(FacetSum::Decimal { unscaled: sum, scale }), mean(scale)),
            OrderedType::Integer | OrderedType::Number => (Some(FacetSum::Integer(sum)), mean(0)),
        };
        Self::new(kind, count, range, sum_and_mean)
    }

    fn new(
        kind: OrderedType,
        count: u64,
        (least, greatest): OrdinalRange,
        (sum, mean): (Option<FacetSum>, Value<'static>),
    ) -> Self {
        if count == 0 {
            return Self::default();
        }
        Self { count, min: Some(kind.value(least)), max: Some(kind.value(greatest)), sum, mean: Some(mean) }
    }
}
