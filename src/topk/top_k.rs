//! Top-k: collects the first k rows of many batches in sort order. Rows without a value come last. Rows with equal keys are in
//! ascending order of `id`, or with `Ties::Any` in any order.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "steps among the rows of one batch, of which as many are skipped as are counted; rows wanted, at most 2^33, times \
              the rows of a batch"
)]

use std::cell::LazyCell;
use std::cmp::Ordering;
use std::ops::Range;

use super::batch_walk::{BatchWalk, pass_over, row_at};
use super::equal_keys::{EqualKeys, SLACK, WORK_OF_A_STEP, keep_first};
use super::key::{Key, Keys, SortBy, first_step, ordinal_key};
use super::key_estimate::KeyEstimate;
use super::selected_rows::SelectedRows;
use crate::batch::{Batch, RowAddr};
use crate::column::{Codes, ColumnLayout, Postings, Selection, Sorted};
use crate::exec::{Selected, Visit};
use crate::rows::RowSet;
use crate::stop::{PART, Pace, sort_window};

/// A selected row and its sort key.
#[derive(Clone, Copy)]
struct Candidate<'b> {
    /// The [rank](Key::rank) of the key, which decides most comparisons.
    rank: u64,
    key: Key<'b>,
    batch: &'b Batch,
    at: RowAddr,
}

/// The number of sorted rows that can be skipped in the time that it takes to make one row a candidate.
const STEPS_OF_A_CANDIDATE: usize = 16;
/// The minimum number of sorted rows that are tested in one step. After each step, the loop checks if the page is full.
const LEAST_TOGETHER: usize = 64;
/// The maximum number of sorted rows that are tested in one step. After each step, the loop checks if the search must stop.
const MOST_TOGETHER: usize = 1 << 12;
/// The estimated work to make one row a candidate: 40 units of [`Pace::spend`], which take about 10 ns in total.
const WORK_OF_A_CANDIDATE: usize = 40;

/// A collector of the first k rows in sort order.
///
/// Candidates are kept unsorted. When there are k candidates and some extra ones, a selection reduces them to the first k. So n
/// rows take O(n + k log k).
pub(super) struct TopK<'b, 's> {
    by: SortBy<'s>,
    descending: bool,
    /// The value of k: the end of the page, counted in selected rows.
    pub(super) wanted: usize,
    candidates: Vec<Candidate<'b>>,
    /// The last of k candidates in sort order. A row after the bound cannot be on the page.
    bound: Option<Candidate<'b>>,
    /// If set, rows after this key are skipped.
    estimate: Option<Key<'b>>,
    /// The approximate number of rows of one batch that come before the key `estimate`.
    near: usize,
    /// If set, rows before this key are skipped. Requires batches with sorted rows.
    pub(super) start: Option<Key<'b>>,
    /// The work counter that decides when to check whether the search must stop.
    pace: &'b Pace<'b>,
}

/// The batch whose rows are being added.
struct SourceBatch<'b, 's, 'q> {
    number: u32,
    batch: &'b Batch,
    keys: Keys<'b>,
    selected: &'s Selected<'q>,
}

impl<'b, 's> TopK<'b, 's> {
    pub(super) fn new(by: SortBy<'s>, pace: &'b Pace<'b>) -> Self {
        let (descending, candidates) = (by.is_descending(), Vec::new());
        Self {
            by,
            descending,
            wanted: 0,
            candidates,
            bound: None,
            estimate: None,
            near: 0,
            start: None,
            pace,
        }
    }

    /// Sets the estimated key: rows after it are skipped. About `near` rows of each batch come before it.
    pub(super) fn estimating(self, KeyEstimate { key, near }: KeyEstimate<'b>) -> Self {
        Self { estimate: Some(key), near, ..self }
    }

    fn compare(&self, a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
        self.compare_keys(a, b).then_with(|| match self.by.sorts_ids() {
            true => a.id().cmp(b.id()),
            false => Ordering::Equal,
        })
    }

    #[inline]
    fn compare_keys(&self, a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
        a.rank.cmp(&b.rank).then_with(|| a.key.compare(&b.key, self.descending))
    }

    /// Returns true if no row with this key or a later key can be on the page, according to the bound or the estimate.
    pub(super) fn is_behind(&self, key: &Key<'_>) -> bool {
        let is_behind = |other: &Key<'_>| key.compare(other, self.descending).is_gt();
        let is_behind_bound = |bound: Candidate<'b>| match self.by.leaves_ties() {
            true => key.compare(&bound.key, self.descending).is_ge(),
            false => is_behind(&bound.key),
        };
        self.bound.is_some_and(is_behind_bound) || self.estimate.as_ref().is_some_and(is_behind)
    }

    /// Returns true if rows with this key are skipped, because they come before `start` or before the position where the page
    /// begins.
    pub(super) fn is_before(&self, key: &Key<'_>) -> bool {
        self.start.is_some_and(|start| key.compare(&start, self.descending).is_lt())
            || self.by.is_behind_key(key)
    }

    /// Returns true if a row has the key of the position after which the page begins, and its id is not after the id of this
    /// position. Such a row is skipped.
    #[inline]
    fn is_passed(&self, batch: &Batch, row: usize, key: &Key<'_>) -> bool {
        self.by.id_before(key).is_some_and(|id| batch.id(row) <= id)
    }

    /// Returns true if there are at least `wanted` candidates.
    pub(super) fn is_full(&self) -> bool {
        self.candidates.len() >= self.wanted
    }

    /// Returns true if no row has been added yet.
    pub(super) fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// Adds the selected rows of a batch.
    ///
    /// If no row has been added yet and all later batches have only later keys, the caller passes the offset in `skip`. Up to
    /// `skip` rows are then skipped, and their number is subtracted from `skip` and from `wanted`.
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
            // Only rows without a value come after this position.
            BatchWalk::Gather if self.by.position_key() == Some(Key::Absent) => {
                source.selected.note(|work| work.gathered += 1);
                let mut found = Vec::new();
                if !self.is_before(&Key::Absent) {
                    self.absent(&source, &selected.rows(), &mut found);
                }
                Some(found)
            }
            BatchWalk::Gather => None,
        };
        let found = found.unwrap_or_else(|| self.gather(&source));
        self.offer(&source, found);
    }

    /// Returns all selected rows that can be on the page. Leaves out rows before `start`, rows before the position where the page
    /// begins, and rows after the bound or the estimate. For rows that are stored in insertion order, returns only the first
    /// `wanted` rows.
    fn gather(&self, source: &SourceBatch<'b, '_, '_>) -> Vec<Candidate<'b>> {
        source.selected.note(|work| work.gathered += 1);
        let rows = source.selected.rows();
        let strings = self.wanted_strings(source);
        let rows = source.iter(&rows).filter(|row| match &strings {
            Some(strings) => strings.may_contain(usize::from(*row)),
            None => true,
        });
        let candidates = rows.map(|row| self.candidate(source, row));
        let candidates = candidates.take_while(|_| !self.pace.spend(WORK_OF_A_CANDIDATE));
        let candidates = candidates.filter(|candidate| {
            let Candidate { key, batch, at, .. } = candidate;
            !(self.is_before(key) || self.is_passed(batch, usize::from(at.row), key))
        });
        if let (SortBy::Place { .. }, Some(_)) = (self.by, source.batch.ordered_places()) {
            // These rows are already in insertion order, so they are not sorted, and reading stops after the last wanted row.
            let ahead = candidates.take_while(|candidate| !self.is_behind(&candidate.key));
            return ahead.take(self.wanted).collect();
        }
        candidates.filter(|candidate| !self.is_behind(&candidate.key)).collect()
    }

    /// Returns the strings of a batch that are neither before the position where the page begins nor after the bound. Returns
    /// `None` unless the codes of the sort field are in the order of its keys. Comparing codes is many times as fast as comparing
    /// strings.
    fn wanted_strings(&self, source: &SourceBatch<'b, '_, '_>) -> Option<WantedStrings<'b>> {
        let (dictionary, codes, present) = source.keys.strings_in_order()?;
        let of_key = |key: &Key<'_>| match key {
            Key::String(_, text) => {
                let first = dictionary.count_below(text);
                let is_equal = first < dictionary.len() && dictionary.get(first) == *text;
                Some((first, first + usize::from(is_equal)))
            }
            _ => None,
        };
        let position = self.by.position_key().and_then(|key| of_key(&key));
        let bound = self.bound.and_then(|bound| of_key(&bound.key));
        let (low, high) = if self.descending { (bound, position) } else { (position, bound) };
        let wanted = low.map_or(0, |(start, _)| start)..high.map_or(usize::MAX, |(_, end)| end);
        Some(WantedStrings { codes, present, wanted })
    }

    fn candidate(&self, source: &SourceBatch<'b, '_, '_>, row: u16) -> Candidate<'b> {
        source.candidate(source.keys.key(usize::from(row), self.by), row, self.descending)
    }

    /// Returns selected rows in sort order. Returns as many rows as the page can need, and further rows with the same key as the
    /// last of these rows. Returns `None` if collecting all selected rows is faster.
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
            first_step(len, |step| key_at(step).is_none_or(|key| test(&key)))
        };
        let has_start = self.start.is_some() || self.by.has_position();
        let start = if has_start { first(&|key| !self.is_before(key)) } else { 0 };
        let end = match (self.estimate, self.bound) {
            // `near` is only approximate. The loop below compares the keys with the estimated key.
            (Some(_), _) => len.min(start.saturating_add(self.near)),
            (None, Some(_)) => first(&|key| self.is_behind(key)),
            (None, None) => len,
        };
        // The expected number of sorted rows up to the last wanted row, if selected rows are spread evenly.
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
            // Rows with equal keys are ordered by id, so this skip must not end between two rows with the same key.
            while step > 0 && !self.by.leaves_ties() && key_at(step - 1) == key_at(step) {
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
        while step < end && !is_full && !self.pace.spend(together * WORK_OF_A_STEP) {
            let next = (step + together).min(end);
            members.list(sorted, std::mem::replace(&mut step, next)..next, self.descending, &mut rows);
            // Most pages are sorted by a timestamp, so keys of ordered types have a loop of their own.
            is_full = match source.keys.ordinals(self.by) {
                Some(values) => self.meet(source, &rows, |row| ordinal_key(values, row), &mut found),
                None => self.meet(source, &rows, |row| source.keys.key_of_present(row, self.by), &mut found),
            };
            // Even if no selected row of the chunk comes after the estimate, its last row may. Then all later rows come after the
            // estimate, too.
            is_full |= self.estimate.is_some() && key_at(next - 1).is_some_and(|key| self.is_behind(&key));
        }
        if !is_full && !self.is_behind(&Key::Absent) && !self.is_before(&Key::Absent) {
            self.absent(source, members.gathered(), &mut found);
        }
        Some(found)
    }

    /// Appends selected rows, which are in sort order, to `found`. Returns true if `found` has enough rows, or if no later row is
    /// wanted.
    #[inline]
    fn meet(
        &self,
        source: &SourceBatch<'b, '_, '_>,
        rows: &[u16],
        key: impl Fn(usize) -> Key<'b>,
        found: &mut Vec<Candidate<'b>>,
    ) -> bool {
        let leaves_ties = self.by.leaves_ties();
        for row in rows {
            let key = key(usize::from(*row));
            let is_enough = found.len() >= self.wanted
                && (leaves_ties || found.last().is_some_and(|last| last.key != key));
            if is_enough || self.is_behind(&key) {
                return true;
            }
            if self.is_passed(source.batch, usize::from(*row), &key) {
                continue;
            }
            found.push(source.candidate(key, *row, self.descending));
        }
        false
    }

    /// Returns the selected rows in the order of their strings, as many as the page can need. Rows without a value come last.
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
            let is_enough = found.len() >= self.wanted || self.is_behind(&key);
            if is_enough || self.pace.spend(WORK_OF_A_CANDIDATE) {
                return found;
            }
            if self.is_before(&key) {
                continue;
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
            self.closest(source, key, [&rows, &with_code], &mut found);
        }
        if !self.is_behind(&Key::Absent) && !self.is_before(&Key::Absent) {
            self.absent(source, &rows, &mut found);
        }
        found
    }

    /// Appends selected rows without a value, as many as are still wanted.
    fn absent(&self, source: &SourceBatch<'b, '_, '_>, rows: &RowSet<'_>, found: &mut Vec<Candidate<'b>>) {
        if found.len() < self.wanted {
            let absent = match source.keys.column.map(|column| &column.layout) {
                Some(ColumnLayout::Single(present)) => present.others(source.batch.rows()),
                _ => RowSet::All,
            };
            self.closest(source, Key::Absent, [rows, &absent], found);
        }
    }

    /// Appends rows that are in both of `sets`, until `found` has the wanted number of rows. All these rows have the key `key`. If
    /// ties are sorted by id, chooses the smallest ids that can be on the page. Otherwise, takes the first rows.
    fn closest(
        &self,
        source: &SourceBatch<'b, '_, '_>,
        key: Key<'b>,
        sets: [&RowSet<'_>; 2],
        found: &mut Vec<Candidate<'b>>,
    ) {
        let need = self.wanted.saturating_sub(found.len());
        let batch = source.batch;
        let candidate = |row| source.candidate(key, row, self.descending);
        if self.by.leaves_ties() {
            let [one, other] = sets;
            let rows = one.iter_both(other, batch.rows()).filter_map(|row| u16::try_from(row).ok());
            found.extend(rows.take(need).map(candidate));
            return;
        }
        let start = self.by.id_before(&key).map_or(0, |id| batch.ids_up_to(id));
        let bound = self.bound.filter(|bound| bound.key == key);
        let end = bound.map_or(usize::MAX, |bound| batch.ids_below(bound.id()));
        let rows = EqualKeys { batch, sets, id_codes: start..end }.first(need, self.pace);
        found.extend(rows.into_iter().map(candidate));
    }

    /// Adds rows of one batch to the candidates, except rows that cannot be on the page.
    fn offer(&mut self, source: &SourceBatch<'b, '_, '_>, mut found: Vec<Candidate<'b>>) {
        // Ids decide only between equal keys, which are rare. A lazy column of ids is decoded only if a comparison needs it.
        let ids = LazyCell::new(|| source.ids(self.by));
        let id_rank = |candidate: &Candidate<'_>| ids.map_or(0, |ids| ids.get(usize::from(candidate.at.row)));
        keep_first(&mut found, self.wanted, self.pace, |a, b| {
            self.compare_keys(a, b).then_with(|| id_rank(a).cmp(&id_rank(b)))
        });
        if let Some(bound) = self.bound {
            found.retain(|candidate| self.compare(candidate, &bound).is_lt());
        }
        self.keep(found);
    }

    /// Adds selected rows of any batches, each row with its key.
    pub(super) fn take_in_rows(&mut self, rows: impl Iterator<Item = (Key<'b>, &'b Batch, RowAddr)>) {
        let rows = rows.filter(|(key, batch, at)| {
            !(self.is_before(key) || self.is_passed(batch, usize::from(at.row), key))
        });
        let candidates =
            rows.map(|(key, batch, at)| Candidate { rank: key.rank(self.descending), key, batch, at });
        let candidates = candidates.collect();
        self.keep(candidates);
    }

    /// Adds candidates. If there are then too many candidates, drops those that cannot be on the page.
    fn keep(&mut self, found: Vec<Candidate<'b>>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        if candidates.is_empty() {
            candidates = found;
        } else {
            candidates.extend(found);
        }
        let slack = match (self.estimate, self.bound) {
            // About `wanted` rows come before the estimate, so the list seldom gets longer than this slack allows.
            (Some(_), _) => SLACK.max(self.wanted),
            (None, Some(_)) => SLACK.max(self.wanted / 4),
            (None, None) => 0,
        };
        if self.wanted > 0 && candidates.len() >= self.wanted + slack {
            let are_more = candidates.len() > self.wanted;
            keep_first(&mut candidates, self.wanted, self.pace, |a, b| self.compare(a, b));
            self.bound = if are_more {
                candidates.last().copied()
            } else {
                // `keep_first` did not have to select rows, so the last candidate of the list may not be the last in sort order.
                let worst = candidates.iter().map(|candidate| candidate.rank).max();
                let worst = candidates.iter().filter(|candidate| Some(candidate.rank) == worst);
                worst.max_by(|a, b| self.compare(a, b)).copied()
            };
        }
        self.candidates = candidates;
    }

    /// Returns the sorted page: at most `limit` rows, starting at `offset`.
    pub(super) fn page(self, offset: usize, limit: usize) -> Vec<RowAddr> {
        if self.pace.can_stop() && self.candidates.len() > PART {
            return self.long_page(offset, limit);
        }
        // Rows of a single batch are usually sorted already.
        if self.candidates.is_sorted_by(|a, b| a.rank < b.rank) {
            return self.candidates.iter().skip(offset).take(limit).map(|candidate| candidate.at).collect();
        }
        // Sorting by rank is faster than comparing candidates. Equal ranks are rare, and are sorted afterwards.
        let mut order: Vec<(u64, &Candidate<'b>)> =
            self.candidates.iter().map(|candidate| (candidate.rank, candidate)).collect();
        order.sort_unstable_by_key(|(rank, _)| *rank);
        for run in order.chunk_by_mut(|(a, _), (b, _)| a == b).filter(|run| run.len() > 1) {
            run.sort_unstable_by(|(_, a), (_, b)| self.compare(a, b));
        }
        order.into_iter().skip(offset).take(limit).map(|(_, candidate)| candidate.at).collect()
    }
}

impl TopK<'_, '_> {
    /// Returns the same page as [`page`](Self::page), for a large number of candidates. Works in steps that check whether the
    /// search must stop.
    fn long_page(&self, offset: usize, limit: usize) -> Vec<RowAddr> {
        let mut order: Vec<(u64, &Candidate<'_>)> = Vec::with_capacity(self.candidates.len());
        for candidates in self.candidates.chunks(PART) {
            if self.pace.spend(candidates.len() * WORK_OF_A_STEP) {
                return Vec::new();
            }
            order.extend(candidates.iter().map(|candidate| (candidate.rank, candidate)));
        }
        let end = order.len().min(offset.saturating_add(limit));
        let window = offset.min(end)..end;
        sort_window(&mut order, window.clone(), self.pace, |(a_rank, a), (b_rank, b)| {
            a_rank.cmp(b_rank).then_with(|| self.compare(a, b))
        });
        let mut rows = Vec::with_capacity(window.len());
        for candidates in order.get(window).unwrap_or_default().chunks(PART) {
            if self.pace.spend(candidates.len() * WORK_OF_A_STEP) {
                return Vec::new();
            }
            rows.extend(candidates.iter().map(|(_, candidate)| candidate.at));
        }
        rows
    }
}

/// A range of strings of a batch, for a first test of rows.
struct WantedStrings<'b> {
    codes: &'b Codes,
    present: &'b Selection,
    wanted: Range<usize>,
}

impl WantedStrings<'_> {
    /// Returns false if the row has a string outside the range.
    fn may_contain(&self, row: usize) -> bool {
        !self.present.contains(row) || self.wanted.contains(&self.codes.get(row))
    }
}

impl<'b> Candidate<'b> {
    fn id(&self) -> &'b str {
        self.batch.id(usize::from(self.at.row))
    }
}

impl<'b> SourceBatch<'b, '_, '_> {
    /// Returns the codes of the ids. Codes are in the order of the ids, and comparing them is faster. Returns `None` if ids do not
    /// affect the order.
    fn ids(&self, by: SortBy<'_>) -> Option<&'b Codes> {
        if !by.sorts_ids() {
            return None;
        }
        self.batch.id_codes()
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

#[cfg(test)]
mod tests {
    use crate::{Catalog, Engine, Filter, ImportMode, Order, SearchRequest};

    /// Sorts cases with many equal keys. In half of the iterations of the test, the order of the ids differs from the stored order.
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
