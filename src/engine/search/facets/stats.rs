//! Passes the values of a field in the selected rows of a batch to [`StatsCounts`](crate::facet::StatsCounts), which computes the
//! statistics.
#![expect(clippy::arithmetic_side_effects, reason = "numbers of values of one row")]

use smallvec::SmallVec;

use super::rows::Selected;
use super::strategy::FacetStrategy;
use crate::column::{Column, ColumnData, ColumnLayout, Ordinals};
use crate::facet::StatsCounts;
use crate::stop::Pace;

/// The estimated work to add one value, in units of [`Pace::spend`].
const WORK_OF_A_VALUE: usize = 12;
/// The number of rows between two points at which the stop check may run.
const ROWS_AT_ONCE: usize = 4096;

/// Adds the values of a batch. Returns the strategy, and the number of selected rows with a value.
pub(super) fn add(
    counts: &mut StatsCounts,
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
                counts.add_ordinals(
                    rows.by_ref().take(ROWS_AT_ONCE).inspect(|_| more = true).map(|row| values.get(row)),
                );
                if !more {
                    break;
                }
            }
        }
        ColumnLayout::Many(_) => add_lists(counts, column, values, selected, pace),
    }
    (FacetStrategy::Values, with_value)
}

/// Adds the distinct values of each row.
fn add_lists(
    counts: &mut StatsCounts,
    column: &Column,
    values: &Ordinals,
    selected: &Selected<'_>,
    pace: &Pace<'_>,
) {
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
        counts.add_ordinals(own.iter().copied());
    }
}
