//! Counts the documents of each bucket of a histogram.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of documents, in 64 bits, and numbers of buckets, which are below 2^63 and were compared"
)]

use smallvec::SmallVec;

use super::rows::Selected;
use super::strategy::FacetStrategy;
use crate::column::{Column, ColumnData, Ordinals, Sorted};
use crate::exec::count_sorted;
use crate::facet::{Buckets, HistogramCounts};
use crate::rows::RowSet;
use crate::stop::Pace;
use crate::value::OrdinalRange;

/// The maximum number of bucket edges that are computed in advance for a batch. If the values of a batch span more buckets, the
/// bucket of each value is computed separately.
const MOST_EDGES: i64 = 1 << 12;
/// The estimated work to find the bucket of one value, in units of [`Pace::spend`].
const WORK_OF_A_VALUE: usize = 40;

/// Adds the counts of a batch. Returns the strategy, and the number of selected rows with a value.
pub(super) fn add(
    counts: &mut HistogramCounts,
    buckets: &Buckets,
    column: &Column,
    selected: &Selected<'_>,
    pace: &Pace<'_>,
) -> (FacetStrategy, usize) {
    let with_value = selected.with_value(column);
    let ColumnData::Ordered { values, zone: Some(zone), sorted, .. } = &column.data else {
        return (FacetStrategy::Zone, with_value);
    };
    if with_value == 0 {
        return (FacetStrategy::Zone, 0);
    }
    let edges = match (buckets.number(zone.0), buckets.number(zone.1)) {
        (Some(first), Some(last)) if first == last => {
            counts.add(first, with_value as u64);
            return (FacetStrategy::Zone, with_value);
        }
        (Some(first), Some(last)) if last.saturating_sub(first) <= MOST_EDGES => Some(Edges {
            first,
            starts: (first + 1..=last).filter_map(|number| buckets.edge(number)).collect(),
        }),
        _ => None,
    };
    if let Some(edges) = &edges
        && let Some(sorted) = Sorted::new(sorted, column)
        && (selected.is_all() || matches!(selected.rows, RowSet::Bitmap(_) | RowSet::Range(_)))
    {
        add_sorted(counts, edges, (sorted, values, *zone), selected, pace);
        return (FacetStrategy::SortedRows, with_value);
    }
    let number = |ordinal: i64| match &edges {
        Some(edges) => Some(edges.number(ordinal)),
        None => buckets.number(ordinal),
    };
    let mut own: SmallVec<[i64; 8]> = SmallVec::new();
    for row in selected.rows.iter(selected.all) {
        let places = column.places(row);
        if pace.spend(WORK_OF_A_VALUE.saturating_mul(places.len() + 1)) {
            break;
        }
        own.clear();
        for at in places {
            match number(values.get(at)) {
                Some(number) => own.push(number),
                None => counts.add_too_narrow(),
            }
        }
        own.sort_unstable();
        own.dedup();
        own.iter().for_each(|number| counts.add(*number, 1));
    }
    (FacetStrategy::Values, with_value)
}

/// The buckets of a batch.
struct Edges {
    /// The bucket number of the first bucket.
    first: i64,
    /// The smallest ordinal of each bucket after the first.
    starts: Vec<i64>,
}

impl Edges {
    /// Returns the bucket number of a value of the batch.
    fn number(&self, ordinal: i64) -> i64 {
        let before = self.starts.partition_point(|start| *start <= ordinal);
        self.first.saturating_add_unsigned(before as u64)
    }
}

/// Adds the counts of a batch with sorted rows.
fn add_sorted(
    counts: &mut HistogramCounts,
    edges: &Edges,
    (sorted, values, zone): (Sorted<'_>, &Ordinals, OrdinalRange),
    selected: &Selected<'_>,
    pace: &Pace<'_>,
) {
    let mut words = Vec::new();
    let selection: &[u64] = match selected.rows {
        RowSet::Bitmap(words) => words,
        rows if !selected.is_all() => {
            words.resize(selected.all.div_ceil(64), 0);
            rows.write(&mut words, selected.all);
            &words
        }
        _ => &[],
    };
    let ends = edges.starts.iter().copied().map(Some).chain([None]);
    let mut start = 0;
    for (number, end) in (edges.first..).zip(ends) {
        if pace.spend(selected.all / 64 * 3) {
            return;
        }
        let place = match end {
            Some(edge) => sorted.place_of(start, edge, zone, |row| values.get(row)),
            None => sorted.len(),
        };
        let part = start..place;
        start = place;
        if !part.is_empty() {
            let count = match selected.is_all() {
                true => part.len(),
                false => count_sorted(sorted, part, selection, selected.all),
            };
            counts.add(number, count as u64);
        }
    }
}
