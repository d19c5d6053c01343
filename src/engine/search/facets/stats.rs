//! Computes statistics of the values of a field.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of values in 64 bits, and sums of 64-bit ordinals of at most 2^48 values in 128 bits"
)]

use smallvec::SmallVec;

use super::rows::Selected;
use super::strategy::FacetStrategy;
use crate::column::{Column, ColumnData, ColumnLayout, Ordinals};
use crate::facet::FacetStats;
use crate::stop::Pace;
use crate::value::{ExactSum, OrderedType, OrdinalRange};

/// The statistics of one field so far.
pub(super) struct StatsTally {
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

/// The estimated work to add one value, in units of [`Pace::spend`].
const WORK_OF_A_VALUE: usize = 12;
/// The number of rows between two points at which the stop check may run.
const ROWS_AT_ONCE: usize = 4096;

impl StatsTally {
    pub(super) fn new(kind: OrderedType) -> Self {
        let sum = match kind {
            OrderedType::Number => SumTally::Numbers(ExactSum::default()),
            _ => SumTally::Ordinals(0),
        };
        Self { kind, count: 0, range: (i64::MAX, i64::MIN), sum }
    }

    /// Adds the values of a batch. Returns the strategy, and the number of selected rows with a value.
    pub(super) fn add(
        &mut self,
        column: &Column,
        selected: &Selected<'_>,
        pace: &Pace<'_>,
    ) -> (FacetStrategy, usize) {
        let with_value = selected.with_value(column);
        let ColumnData::Ordered { values, .. } = &column.data else {
            return (FacetStrategy::Zone, with_value);
        };
        if with_value == 0 {
            return (FacetStrategy::Zone, 0);
        }
        match &column.layout {
            ColumnLayout::Single(present) => {
                let present = present.set();
                let mut rows = selected.rows.iter_both(&present, selected.all);
                while !pace.spend(ROWS_AT_ONCE * WORK_OF_A_VALUE) {
                    let mut more = false;
                    self.add_ordinals(
                        rows.by_ref().take(ROWS_AT_ONCE).inspect(|_| more = true).map(|row| values.get(row)),
                    );
                    if !more {
                        break;
                    }
                }
            }
            ColumnLayout::Many(_) => self.add_lists(column, values, selected, pace),
        }
        (FacetStrategy::Values, with_value)
    }

    /// Adds the distinct values of each row.
    fn add_lists(&mut self, column: &Column, values: &Ordinals, selected: &Selected<'_>, pace: &Pace<'_>) {
        let mut own: SmallVec<[i64; 8]> = SmallVec::new();
        for row in selected.rows.iter(selected.all) {
            let places = column.places(row);
            if pace.spend(WORK_OF_A_VALUE.saturating_mul(4 * (places.len() + 1))) {
                return;
            }
            own.clear();
            own.extend(places.map(|at| values.get(at)));
            own.sort_unstable();
            own.dedup();
            self.add_ordinals(own.iter().copied());
        }
    }

    fn add_ordinals(&mut self, ordinals: impl Iterator<Item = i64>) {
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
    pub(super) fn finish(self) -> FacetStats {
        match self.sum {
            SumTally::Numbers(sum) => {
                FacetStats::of_numbers(self.count, self.range, sum.sum_and_mean(self.count))
            }
            SumTally::Ordinals(sum) => FacetStats::of_ordinals(self.kind, self.count, self.range, sum),
        }
    }
}
