//! Top-k: the best rows of many batches.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "steps among the rows of one batch, of which as many are skipped as are counted; rows wanted, at most 2^33, times \
              the rows of a batch"
)]

use std::cell::LazyCell;
use std::cmp::Ordering;

use super::key::{Key, Keys, SortBy, ordinal_key};
use super::key_estimate::KeyEstimate;
use super::selected_rows::SelectedRows;
use super::sorted::{BatchWalk, pass_over, row_at};
use crate::batch::{Batch, RowAddr};
use crate::catalog::FieldId;
use crate::column::{Codes, ColumnData, ColumnLayout, Postings, Sorted};
use crate::exec::{Selected, Visit};
use crate::rows::RowSet;

/// A selected row and its key.
#[derive(Clone, Copy)]
struct Candidate<'b> {
    /// The rank of the key.
    rank: u64,
    key: Key<'b>,
    batch: &'b Batch,
    at: RowAddr,
}

/// The number of rows in sorted order that are passed over in the time in which one row is made a candidate.
const STEPS_OF_A_CANDIDATE: usize = 16;
/// The least and the most sorted rows that are tested together.
const LEAST_TOGETHER: usize = 64;
const MOST_TOGETHER: usize = 1 << 12;
/// The number of candidates beyond the wanted ones that are kept before the worst are dropped by a selection of the k-th.
const SLACK: usize = 64;

/// The best rows so far, the top k of them being wanted.
///
/// Candidates are kept unsorted, and cut back to k by selection whenever they exceed it by a slack. So n rows take O(n + k log k).
pub(super) struct TopK<'b, 's> {
    by: SortBy<'s>,
    descending: bool,
    /// The number of best rows that the page is cut from: k.
    pub(super) wanted: usize,
    candidates: Vec<Candidate<'b>>,
    /// The worst of k candidates; no row after it is wanted.
    bound: Option<Candidate<'b>>,
    /// Rows after this key are left out.
    estimate: Option<Key<'b>>,
    /// The number of rows of each batch that are about before the estimate.
    near: usize,
    /// Rows before this key are passed over; batches then have sorted rows.
    pub(super) start: Option<Key<'b>>,
}

/// The batch whose rows are being taken in.
struct SourceBatch<'b, 's, 'q> {
    number: u32,
    batch: &'b Batch,
    keys: Keys<'b>,
    selected: &'s Selected<'q>,
}

impl<'b, 's> TopK<'b, 's> {
    pub(super) fn new(by: SortBy<'s>) -> Self {
        let (descending, candidates) = (by.is_descending(), Vec::new());
        Self { by, descending, wanted: 0, candidates, bound: None, estimate: None, near: 0, start: None }
    }

    /// Leaves out rows after a key, which comes after about `near` rows of each batch.
    pub(super) fn estimating(self, KeyEstimate { key, near }: KeyEstimate<'b>) -> Self {
        Self { estimate: Some(key), near, ..self }
    }

    fn compare(&self, a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
        self.compare_keys(a, b).then_with(|| match self.by {
            SortBy::Place => Ordering::Equal,
            SortBy::Field { .. } => a.id().cmp(b.id()),
        })
    }

    #[inline]
    fn compare_keys(&self, a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
        a.rank.cmp(&b.rank).then_with(|| a.key.compare(&b.key, self.descending))
    }

    /// True when no row of this key or a later one can be wanted, or when the estimate leaves them out.
    pub(super) fn is_behind(&self, key: &Key<'_>) -> bool {
        let is_behind = |other: &Key<'_>| key.compare(other, self.descending).is_gt();
        self.bound.is_some_and(|bound| is_behind(&bound.key)) || self.estimate.as_ref().is_some_and(is_behind)
    }

    /// True when rows of this key are passed over.
    pub(super) fn is_before(&self, key: &Key<'_>) -> bool {
        self.start.is_some_and(|start| key.compare(&start, self.descending).is_lt())
    }

    /// True when there are as many rows as are wanted.
    pub(super) fn is_full(&self) -> bool {
        self.candidates.len() >= self.wanted
    }

    /// True as long as no row was taken in.
    pub(super) fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// Takes in the selected rows of a batch.
    ///
    /// In a first batch that overlaps no other, up to `skip` rows may be passed over; `skip` is then lowered by as many.
    pub(super) fn take_in(&mut self, visit: &Visit<'b>, selected: &Selected<'_>, skip: &mut usize) {
        let Ok(number) = u32::try_from(visit.number) else { return };
        let batch = visit.batch;
        if selected.is_known_none() {
            return;
        }
        let source = SourceBatch { number, batch, keys: Keys::new(batch, self.by), selected };
        let found = match BatchWalk::new(batch, self.by) {
            BatchWalk::Sorted(sorted) => self.walk_sorted(&source, sorted, skip),
            BatchWalk::Strings(postings) => Some(self.walk_codes(&source, postings, skip)),
            BatchWalk::Gather => None,
        };
        let found = found.unwrap_or_else(|| self.gather(&source));
        self.offer(&source, found);
    }

    /// Returns all selected rows that are no worse than the bound.
    fn gather(&self, source: &SourceBatch<'b, '_, '_>) -> Vec<Candidate<'b>> {
        source.selected.note(|work| work.gathered += 1);
        let rows = source.selected.rows();
        let candidates = source.iter(&rows).map(|row| self.candidate(source, row));
        let candidates = candidates.filter(|candidate| !self.is_before(&candidate.key));
        if let (SortBy::Place, Some(_)) = (self.by, source.batch.ordered_places()) {
            // Rows in order need no sorting, and none after the wanted ones are read.
            let ahead = candidates.take_while(|candidate| !self.is_behind(&candidate.key));
            return ahead.take(self.wanted).collect();
        }
        candidates.filter(|candidate| !self.is_behind(&candidate.key)).collect()
    }

    fn candidate(&self, source: &SourceBatch<'b, '_, '_>, row: u16) -> Candidate<'b> {
        source.candidate(source.keys.key(usize::from(row), self.by), row, self.descending)
    }

    /// Returns the selected rows in the order of their values, as many as may be wanted; `None` where gathering all is faster.
    fn walk_sorted(
        &mut self,
        source: &SourceBatch<'b, '_, '_>,
        sorted: Sorted<'b>,
        skip: &mut usize,
    ) -> Option<Vec<Candidate<'b>>> {
        let len = sorted.len();
        let row_at = |step: usize| row_at(sorted, step, self.descending);
        let key_at = |step: usize| row_at(step).map(|row| source.keys.key_of_present(row, self.by));
        let first = |test: &dyn Fn(&Key<'_>) -> bool| {
            exponential_search(len, |step| key_at(step).is_none_or(|key| test(&key)))
        };
        let end = match (self.estimate, self.bound) {
            // About: rows after it are found out on the way.
            (Some(_), _) => len.min(self.near),
            (None, Some(_)) => first(&|key| self.is_behind(key)),
            (None, None) => len,
        };
        let start = if self.start.is_some() { first(&|key| !self.is_before(key)) } else { 0 };
        // If selected rows are spread evenly, the number of rows before the last wanted one.
        let likely = source.selected.likely().max(1);
        let met_before = |wanted: usize| wanted * len / likely;
        let expected = met_before(self.wanted).min(end.saturating_sub(start));
        if expected > likely * STEPS_OF_A_CANDIDATE {
            return None;
        }
        source.selected.note(|work| work.walked_sorted += 1);
        let mut members = SelectedRows::new(source.selected, expected);
        let mut step = start;
        if *skip > 0 {
            let before = *skip;
            let rows = members.gathered();
            step = pass_over(sorted, rows, source.batch.rows(), self.descending, skip);
            // The order of rows of one key depends on their ids, so either all or none of them are passed over.
            while step > 0 && key_at(step - 1) == key_at(step) {
                step -= 1;
                *skip += usize::from(row_at(step).is_some_and(|row| rows.contains(row)));
            }
            self.wanted -= before - *skip;
        }
        let end = if self.estimate.is_some() { len } else { end };
        let together = met_before(self.wanted).min(expected).clamp(LEAST_TOGETHER, MOST_TOGETHER);
        let mut rows = Vec::with_capacity(together.min(end.saturating_sub(step)));
        let mut found: Vec<Candidate<'b>> = Vec::with_capacity(self.wanted.min(expected).min(MOST_TOGETHER));
        let mut is_full = false;
        while step < end && !is_full {
            let next = (step + together).min(end);
            members.list(sorted, std::mem::replace(&mut step, next)..next, self.descending, &mut rows);
            // Most pages are in the order of a timestamp; such keys have a loop of their own.
            is_full = match source.keys.ordinals(self.by) {
                Some(values) => self.meet(source, &rows, |row| ordinal_key(values, row), &mut found),
                None => self.meet(source, &rows, |row| source.keys.key_of_present(row, self.by), &mut found),
            };
            // The last row may be after the estimate whether it is selected or not.
            is_full |= self.estimate.is_some() && key_at(next - 1).is_some_and(|key| self.is_behind(&key));
        }
        if !is_full && !self.is_behind(&Key::Absent) {
            self.absent(source, members.gathered(), &mut found);
        }
        Some(found)
    }

    /// Adds rows in order to those found before; true once there are enough, or none to come can be wanted.
    #[inline]
    fn meet(
        &self,
        source: &SourceBatch<'b, '_, '_>,
        rows: &[u16],
        key: impl Fn(usize) -> Key<'b>,
        found: &mut Vec<Candidate<'b>>,
    ) -> bool {
        for row in rows {
            let key = key(usize::from(*row));
            let is_enough = found.len() >= self.wanted && found.last().is_some_and(|last| last.key != key);
            if is_enough || self.is_behind(&key) {
                return true;
            }
            found.push(source.candidate(key, *row, self.descending));
        }
        false
    }

    /// Returns the selected rows in the order of their strings, as many as may be wanted.
    fn walk_codes(
        &mut self,
        source: &SourceBatch<'b, '_, '_>,
        postings: &'b Postings,
        skip: &mut usize,
    ) -> Vec<Candidate<'b>> {
        source.selected.note(|work| work.walked_strings += 1);
        let rows = source.selected.rows();
        let mut codes: Vec<(Key<'b>, u32)> = source.keys.codes().collect();
        codes.sort_by(|(a, _), (b, _)| a.compare(b, self.descending));
        let mut found: Vec<Candidate<'b>> = Vec::new();
        for (key, code) in codes {
            if found.len() >= self.wanted || self.is_behind(&key) {
                return found;
            }
            let with_code = postings.get(code);
            if *skip > 0 && found.is_empty() {
                let count = rows.count_both(&with_code, source.batch.rows());
                if count <= *skip {
                    *skip -= count;
                    self.wanted -= count;
                    continue;
                }
            }
            let group = rows.iter_both(&with_code, source.batch.rows());
            self.closest(source, key, group, &mut found);
        }
        if !self.is_behind(&Key::Absent) {
            self.absent(source, &rows, &mut found);
        }
        found
    }

    /// Adds the selected rows without a value that may be wanted.
    fn absent(&self, source: &SourceBatch<'b, '_, '_>, rows: &RowSet<'_>, found: &mut Vec<Candidate<'b>>) {
        let is_present = |row: usize| match source.keys.column.map(|column| &column.layout) {
            Some(ColumnLayout::Single(present)) => present.contains(row),
            _ => false,
        };
        if found.len() < self.wanted {
            let absent = rows.iter(source.batch.rows()).filter(|row| !is_present(*row));
            self.closest(source, Key::Absent, absent, found);
        }
    }

    /// Adds rows of one key, those with the least ids, until there are as many as are wanted.
    fn closest(
        &self,
        source: &SourceBatch<'b, '_, '_>,
        key: Key<'b>,
        rows: impl Iterator<Item = usize>,
        found: &mut Vec<Candidate<'b>>,
    ) {
        let need = self.wanted.saturating_sub(found.len());
        let mut below = usize::MAX;
        if let Some(bound) = self.bound.filter(|bound| bound.key == key) {
            below = source.batch.ids_below(bound.id());
        }
        let ids = source.ids(self.by);
        let mut chosen: Vec<(usize, u16)> = Vec::new();
        for row in rows {
            let rank = ids.map_or(0, |ids| ids.get(row));
            if rank >= below {
                continue;
            }
            let Ok(row) = u16::try_from(row) else { break };
            chosen.push((rank, row));
            if chosen.len() >= need * 2 + SLACK {
                keep_first(&mut chosen, need, Ord::cmp);
                // The others are no worse than the last of them.
                below = chosen.last().map_or(0, |(rank, _)| *rank);
            }
        }
        keep_first(&mut chosen, need, Ord::cmp);
        found.extend(chosen.into_iter().map(|(_, row)| source.candidate(key, row, self.descending)));
    }

    /// Adds rows of one batch to the candidates, as far as they may be wanted.
    fn offer(&mut self, source: &SourceBatch<'b, '_, '_>, mut found: Vec<Candidate<'b>>) {
        // Seldom are two keys the same, and ids whose column waits should wait on.
        let ids = LazyCell::new(|| source.ids(self.by));
        let id_rank = |candidate: &Candidate<'_>| ids.map_or(0, |ids| ids.get(usize::from(candidate.at.row)));
        keep_first(&mut found, self.wanted, |a, b| {
            self.compare_keys(a, b).then_with(|| id_rank(a).cmp(&id_rank(b)))
        });
        if let Some(bound) = self.bound {
            found.retain(|candidate| self.compare(candidate, &bound).is_lt());
        }
        self.keep(found);
    }

    /// Takes in selected rows of any batches, each with its key.
    pub(super) fn take_in_rows(&mut self, rows: impl Iterator<Item = (Key<'b>, &'b Batch, RowAddr)>) {
        let candidates =
            rows.map(|(key, batch, at)| Candidate { rank: key.rank(self.descending), key, batch, at });
        let candidates = candidates.collect();
        self.keep(candidates);
    }

    /// Adds candidates, and drops those that are not wanted once they are too many.
    fn keep(&mut self, found: Vec<Candidate<'b>>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        if candidates.is_empty() {
            candidates = found;
        } else {
            candidates.extend(found);
        }
        let slack = match (self.estimate, self.bound) {
            // About as many rows as are wanted are before it.
            (Some(_), _) => SLACK.max(self.wanted),
            (None, Some(_)) => SLACK.max(self.wanted / 4),
            (None, None) => 0,
        };
        if self.wanted > 0 && candidates.len() >= self.wanted + slack {
            let are_more = candidates.len() > self.wanted;
            keep_first(&mut candidates, self.wanted, |a, b| self.compare(a, b));
            self.bound = if are_more {
                candidates.last().copied()
            } else {
                // Nothing was parted, so that the last need not be the worst.
                let worst = candidates.iter().map(|candidate| candidate.rank).max();
                let worst = candidates.iter().filter(|candidate| Some(candidate.rank) == worst);
                worst.max_by(|a, b| self.compare(a, b)).copied()
            };
        }
        self.candidates = candidates;
    }

    /// Returns the rows from `offset`, at most `limit`, in order.
    pub(super) fn page(self, offset: usize, limit: usize) -> Vec<RowAddr> {
        // Rows of one batch are most often in order already.
        if self.candidates.is_sorted_by(|a, b| a.rank < b.rank) {
            return self.candidates.iter().skip(offset).take(limit).map(|candidate| candidate.at).collect();
        }
        // Numbers are sorted sooner than candidates, and seldom are two the same.
        let mut order: Vec<(u64, &Candidate<'b>)> =
            self.candidates.iter().map(|candidate| (candidate.rank, candidate)).collect();
        order.sort_unstable_by_key(|(rank, _)| *rank);
        for run in order.chunk_by_mut(|(a, _), (b, _)| a == b).filter(|run| run.len() > 1) {
            run.sort_unstable_by(|(_, a), (_, b)| self.compare(a, b));
        }
        order.into_iter().skip(offset).take(limit).map(|(_, candidate)| candidate.at).collect()
    }
}

impl<'b> Candidate<'b> {
    fn id(&self) -> &'b str {
        self.batch.id(usize::from(self.at.row))
    }
}

impl<'b> SourceBatch<'b, '_, '_> {
    /// Returns the codes of the ids, which compare as the ids do, and faster; `None` where ids do not matter.
    fn ids(&self, by: SortBy<'_>) -> Option<&'b Codes> {
        let SortBy::Field { .. } = by else { return None };
        match &self.batch.column(FieldId::ID)?.data {
            ColumnData::Strings { codes, .. } => Some(codes),
            _ => None,
        }
    }

    fn candidate(&self, key: Key<'b>, row: u16, descending: bool) -> Candidate<'b> {
        Candidate {
            rank: key.rank(descending),
            key,
            batch: self.batch,
            at: RowAddr { batch: self.number, row },
        }
    }

    fn iter(&self, rows: &RowSet<'_>) -> impl Iterator<Item = u16> {
        rows.iter(self.batch.rows()).filter_map(|row| u16::try_from(row).ok())
    }
}

/// Keeps the first `wanted` in an order, in any order but for the last of them, when there are more.
fn keep_first<T>(items: &mut Vec<T>, wanted: usize, compare: impl Fn(&T, &T) -> Ordering) {
    if items.len() > wanted {
        if wanted > 0 {
            items.select_nth_unstable_by(wanted - 1, compare);
        }
        items.truncate(wanted);
    }
}

/// Returns the first of `len` steps that passes a test, as all later ones do; near ones are found soonest.
fn exponential_search(len: usize, test: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, 0_usize);
    while high < len && !test(high) {
        low = high + 1;
        high = high * 2 + 1;
    }
    let mut high = high.min(len);
    while low < high {
        let middle = low.midpoint(high);
        if test(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use crate::{Catalog, Engine, Filter, ImportMode, Order, SearchRequest};

    /// Cases whose keys come in runs of equal ones, and whose ids within a run are not in stored order.
    #[test]
    fn an_offset_may_fall_anywhere_into_a_run_of_equal_keys() {
        for (rows, shuffled) in [(200_u32, false), (200, true), (20_000, false), (20_000, true)] {
            let run = rows / 20;
            let mut stored: Vec<(u32, String)> =
                (0..rows).map(|row| (row / run, format!("{:05}", row * 7919 % rows))).collect();
            if shuffled {
                stored.sort_by_key(|(_, id)| id.chars().rev().collect::<String>());
            }
            let engine = Engine::new(Catalog::cases());
            let mut import = engine.import(ImportMode::Strict);
            for (amount, id) in &stored {
                let case = format!("{{\"id\":\"{id}\",\"totalAmountInDefaultCurrency\":{amount}}}\n");
                import.push(case.as_bytes()).unwrap();
            }
            import.commit().unwrap();
            for (order, descending) in
                [("totalAmountInDefaultCurrency", false), ("-totalAmountInDefaultCurrency", true)]
            {
                let mut sorted: Vec<&(u32, String)> = stored.iter().collect();
                sorted.sort_by_key(|(amount, id)| (if descending { 99 - amount } else { *amount }, id));
                let text = "totalAmountInDefaultCurrency <> 3";
                let filter = Filter::compile_text(engine.catalog(), text).unwrap();
                let expected: Vec<&str> =
                    sorted.iter().filter(|(amount, _)| *amount != 3).map(|(_, id)| id.as_str()).collect();
                for offset in (0..expected.len()).step_by(rows as usize / 61) {
                    let order = Order::parse(engine.catalog(), order).unwrap();
                    let request = SearchRequest::new(filter.clone()).with_order(order.clone());
                    let request = request.with_offset(offset as u64).with_limit(5);
                    let answer = engine.search(&request).unwrap();
                    let wanted = &expected[offset..expected.len().min(offset + 5)];
                    assert_eq!(answer.ids().collect::<Vec<_>>(), wanted, "{order:?} from {offset} of {rows}");
                }
            }
        }
    }
}
