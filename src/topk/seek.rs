//! Finds the start of a page at an offset of 1,024 rows or more ([`LEAST_SOUGHT`]), in batches whose key ranges overlap. Chooses a
//! sort key shortly before the row at the offset, and counts the rows with an earlier key.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "rows of one view, at most 2^32, of which a chain has fewer; steps among the sorted rows of a batch, and indexes of \
              existing batches"
)]

use std::cmp::Ordering;

use super::batch_order::{Ordered, Ranged};
use super::batch_walk::{pass_over, row_at, sorted_rows};
use super::key::{Key, Keys, SortBy};
use crate::column::Sorted;
use crate::exec::{Scan, Selected, Visit};
use crate::rows::RowSet;

/// A sort key, and the number of selected rows with an earlier key. In the result of [`seek`], this number is at most the offset.
#[derive(Clone, Copy)]
pub(super) struct SeekPoint<'b> {
    pub(super) key: Key<'b>,
    pub(super) passed: usize,
}

/// The minimum offset for which [`seek`] looks for a key. If the offset is less, the rows before it are skipped one by one.
pub(crate) const LEAST_SOUGHT: usize = 1 << 10;
/// The accepted distance in selected rows: the search ends when at most this number of rows are between its key and the offset.
/// These rows are then skipped one by one.
const NEAR: usize = 1 << 8;
/// The maximum number of keys that are tried. Then the best key so far is used.
const TRIALS: usize = 4;
/// Up to this number of sorted rows of a batch, each row is tested separately. Above it, all selected rows of the batch are
/// collected first.
const FEW: usize = 32;

/// A search for a key shortly before an offset.
struct OffsetSearch<'o, 'b, 's> {
    by: SortBy<'s>,
    /// Batches with disjoint key ranges in sort order, each with its sorted rows.
    chain: Vec<(&'o Visit<'b>, Sorted<'b>)>,
    /// All other batches, each with its key range and its sorted rows.
    others: Vec<(&'o Ranged<'b>, Sorted<'b>)>,
    scan: &'o Scan<'b>,
}

/// Finds a key shortly before the row at `offset`.
///
/// First picks a chain of batches with disjoint key ranges, and takes the key at the proportional position in the chain. Then
/// counts the selected rows with an earlier key in all other batches. Tries at most four keys. The count for each key corrects the
/// choice of the next key.
///
/// Returns `None` in these cases:
///
/// - The offset is less than 1,024, or the row at the offset is probably in the first four batches.
/// - A batch does not keep its rows sorted, or no two batches have overlapping key ranges.
/// - The row at the offset has no value in the sort field.
/// - Each tried key is after the row at the offset.
/// - The search must stop.
pub(super) fn seek<'b>(
    ordered: &mut Ordered<'b, '_, impl Iterator<Item = Visit<'b>>>,
    by: SortBy<'_>,
    offset: usize,
    scan: &Scan<'b>,
) -> Option<SeekPoint<'b>> {
    if offset < LEAST_SOUGHT || ends_in_first(ordered, by, offset, scan) {
        return None;
    }
    let ordered = ordered.all();
    let search = OffsetSearch::new(ordered, by, scan)?;
    let rows = |visits: &mut dyn Iterator<Item = &Visit<'b>>| -> usize {
        visits.map(|visit| visit.batch.rows()).sum()
    };
    let of_chain = rows(&mut search.chain.iter().map(|(visit, _)| *visit));
    let all = rows(&mut ordered.iter().map(|ranged| &ranged.visit));
    let share = |count: usize| count * of_chain / all.max(1);
    let mut best: Option<SeekPoint<'b>> = None;
    // The search first aims at the middle of the accepted interval. The chain only estimates the rows in the other batches, so the
    // key that it finds may be before or after the middle.
    let mut wanted = share(offset - NEAR / 2);
    for _ in 0..TRIALS {
        let Some(mut point) = search.in_chain(wanted) else { break };
        point.passed += search.in_others(&point.key);
        if point.passed > offset {
            let excess = point.passed - offset;
            wanted = wanted.saturating_sub(share(excess + NEAR / 2).max(1));
            continue;
        }
        let left = offset - point.passed;
        if best.is_none_or(|best| best.passed < point.passed) {
            best = Some(point);
        }
        if left <= NEAR {
            break;
        }
        wanted += share(left - NEAR / 2);
    }
    best
}

/// Returns true if the row at the offset is probably in the first four batches, and their key ranges do not overlap. The caller
/// then counts the rows before the offset in one batch after another, and does not read the other batches.
fn ends_in_first<'b>(
    ordered: &mut Ordered<'b, '_, impl Iterator<Item = Visit<'b>>>,
    by: SortBy<'_>,
    offset: usize,
    scan: &Scan<'b>,
) -> bool {
    const FIRST: usize = 4;
    let mut passed: usize = 0;
    for at in 0..FIRST {
        let Some(own) = ordered.get(at) else { return true };
        let next = ordered.get(at + 1);
        if next.is_some_and(|next| own.last.compare(&next.first, by.is_descending()).is_ge()) {
            return false;
        }
        passed += scan.likely(&own.visit);
        if passed > offset + offset / 4 {
            return true;
        }
    }
    false
}

impl<'o, 'b, 's> OffsetSearch<'o, 'b, 's> {
    fn new(ordered: &'o [Ranged<'b>], by: SortBy<'s>, scan: &'o Scan<'b>) -> Option<Self> {
        let descending = by.is_descending();
        let mut largest: Vec<(usize, Sorted<'b>)> = Vec::with_capacity(ordered.len());
        for (at, ranged) in ordered.iter().enumerate() {
            largest.push((at, sorted_rows(ranged.visit.batch, by)?));
        }
        largest.sort_by_key(|(at, _)| std::cmp::Reverse(ordered[*at].visit.batch.rows()));
        let (mut chain, mut others): (Vec<(usize, Sorted<'b>)>, Vec<_>) = (Vec::new(), Vec::new());
        for (at, sorted) in largest {
            let place = chain.partition_point(|(other, _)| *other < at);
            let own = &ordered[at];
            let (before, after) = chain.split_at(place);
            let is_apart =
                before.last().is_none_or(|(at, _)| ordered[*at].last.compare(&own.first, descending).is_lt())
                    && after
                        .first()
                        .is_none_or(|(at, _)| own.last.compare(&ordered[*at].first, descending).is_lt());
            if is_apart {
                chain.insert(place, (at, sorted));
            } else {
                others.push((own, sorted));
            }
        }
        if others.is_empty() {
            return None;
        }
        let visit = |(at, sorted): (usize, Sorted<'b>)| (&ordered[at].visit, sorted);
        Some(Self { by, chain: chain.into_iter().map(visit).collect(), others, scan })
    }

    /// Returns the key of the selected row at index `wanted` of the chain. Also returns how many selected rows of the chain have an
    /// earlier key. Returns `None` if the chain has no such row, or if the search must stop.
    fn in_chain(&self, wanted: usize) -> Option<SeekPoint<'b>> {
        let descending = self.by.is_descending();
        let mut skip = wanted;
        for (visit, sorted) in &self.chain {
            if self.scan.is_stopped() {
                return None;
            }
            let selected = self.scan.select(visit);
            let count = selected.count();
            if count <= skip {
                skip -= count;
                continue;
            }
            let keys = Keys::new(visit.batch, self.by);
            let row_at = |step: usize| row_at(*sorted, step, descending);
            let key_at = |step: usize| row_at(step).map(|row| keys.key(row, self.by));
            let rows = selected.rows();
            let mut step = pass_over(*sorted, &rows, visit.batch.rows(), descending, &mut skip);
            let key = key_at(step)?;
            // Rows with equal keys are ordered by id over all batches, so the result must come before all rows with this key.
            while step > 0 && key_at(step - 1) == Some(key) {
                step -= 1;
                skip += usize::from(row_at(step).is_some_and(|row| rows.contains(row)));
            }
            return Some(SeekPoint { key, passed: wanted - skip });
        }
        None
    }

    /// Counts the selected rows of the other batches that come before `key` in the sort order.
    fn in_others(&self, key: &Key<'b>) -> usize {
        let descending = self.by.is_descending();
        let is_before = |other: &Key<'_>| other.compare(key, descending) == Ordering::Less;
        let mut sum: usize = 0;
        for (Ranged { visit, first, last, .. }, sorted) in &self.others {
            if !is_before(first) {
                continue;
            }
            if self.scan.is_stopped() {
                break;
            }
            let selected = self.scan.select(visit);
            let count = if is_before(last) {
                selected.count()
            } else {
                let steps = steps_before(visit, *sorted, self.by, key);
                count_first(&selected, *sorted, steps, visit.batch.rows(), descending)
            };
            sum += count;
        }
        sum
    }
}

/// Counts the sorted rows of a batch that come before `key` in the sort order.
fn steps_before(visit: &Visit<'_>, sorted: Sorted<'_>, by: SortBy<'_>, key: &Key<'_>) -> usize {
    let descending = by.is_descending();
    let keys = Keys::new(visit.batch, by);
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = low.midpoint(high);
        let row = row_at(sorted, middle, descending);
        if row.is_some_and(|row| keys.key(row, by).compare(key, descending).is_lt()) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Counts the selected rows among the first `steps` rows in sort order.
fn count_first(
    selected: &Selected<'_>,
    sorted: Sorted<'_>,
    steps: usize,
    rows: usize,
    descending: bool,
) -> usize {
    if steps <= FEW {
        let is_selected =
            |step: &usize| row_at(sorted, *step, descending).is_some_and(|row| selected.contains(row));
        return (0..steps).filter(is_selected).count();
    }
    let selected = selected.rows();
    let len = sorted.len();
    if descending {
        let all = count_places(&selected, sorted, len, rows);
        all - count_places(&selected, sorted, len - steps, rows)
    } else {
        count_places(&selected, sorted, steps, rows)
    }
}

/// Counts the selected rows among the first `places` rows of `sorted`. The batch has `rows` rows.
fn count_places(selected: &RowSet<'_>, sorted: Sorted<'_>, places: usize, rows: usize) -> usize {
    match sorted {
        Sorted::AsStored(_) => selected.count_below(places, rows),
        Sorted::Listed(list) => {
            let passed = list.fences().take_while(|(fence, _)| *fence <= places).last();
            let (from, count) = passed.map_or((0, 0), |(fence, words)| (fence, selected.count_words(words)));
            let rest = &list.rows()[from..places];
            count + rest.iter().filter(|row| selected.contains(usize::from(**row))).count()
        }
    }
}
