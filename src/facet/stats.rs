//! Computes statistics of ordinals: their number, minimum, maximum, sum and mean.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of values in 64 bits, and sums of 64-bit ordinals of at most 2^48 values in 128 bits"
)]

use super::answer::{FacetStats, Sum};
use crate::catalog::Field;
use crate::value::{ExactSum, OrderedType, Timestamp, Value, mean_of_ordinals};

/// The statistics of one field so far.
pub(crate) struct StatsCounts {
    kind: OrderedType,
    count: u64,
    /// The smallest and the greatest ordinal. `i64::MAX` and `i64::MIN` if there is no value.
    range: (i64, i64),
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
    pub(crate) fn finish(self, field: &Field) -> FacetStats {
        if self.count == 0 {
            return FacetStats::default();
        }
        let (sum, mean) = match (self.sum, self.kind) {
            (SumTally::Numbers(sum), _) => {
                let (sum, mean) = sum.sum_and_mean(self.count);
                (sum.map(Sum::Number), Value::Number(mean))
            }
            (SumTally::Ordinals(sum), OrderedType::Timestamp) => {
                let mean = i64::try_from(sum.div_euclid(self.count.into())).unwrap_or(0);
                (None, Value::Timestamp(Timestamp::from_millis(mean)))
            }
            (SumTally::Ordinals(sum), kind) => {
                let scale = if let OrderedType::Decimal(scale) = kind { scale } else { 0 };
                let mean = mean_of_ordinals(sum, self.count, scale);
                (Sum::of_ordinals(field.field_type(), sum), Value::Number(mean))
            }
        };
        let [min, max] = [self.range.0, self.range.1].map(|ordinal| Some(self.kind.value(ordinal)));
        FacetStats { count: self.count, min, max, sum, mean: Some(mean) }
    }
}
