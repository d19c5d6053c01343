//! Pages from selected rows that indexes over all batches list or keep in order.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "as many top rows are known as are wanted, at most 4,096, times the rows of a view; a bit for each of some top rows"
)]

use super::batch_order::Ranged;
use super::heap::TopK;
use super::key::{Key, Keys, SortBy};
use super::sorted_page::HeapOnly;
use super::stored::StoredPage;
use crate::batch::{Batch, RowAddr};
use crate::column::LANES;
use crate::exec::{Scan, Visit};
use crate::index::{TopRow, split};

/// The top rows over all batches of the index, and what a page from them needs.
pub(crate) struct TopRowsPage<'c, 'b> {
    /// In order; empty where they are not known.
    pub(crate) rows: &'c [TopRow],
    pub(crate) is_descending: bool,
    /// The batch of them that has the first key and may have a selected row.
    pub(crate) first: Option<Visit<'b>>,
    /// The number of batches that may have a selected row.
    pub(crate) kept: usize,
    /// The number of batches.
    pub(crate) all: usize,
    /// The batch of a number.
    pub(crate) batch: &'c dyn Fn(usize) -> Option<&'b Batch>,
    /// Selects, among at most 64 top rows from 64 times a number on, those that are live and selected, a bit each.
    pub(crate) select_top_rows: &'c dyn Fn(usize, &[TopRow]) -> u64,
}

/// The number of rows that are tested one by one in the time that finding the first rows of a batch takes.
const ROWS_OF_A_BATCH: usize = 128;
/// The number of rows by which the number of their batches is estimated.
const SAMPLE: usize = 64;
/// The number of selected rows that may be missing by chance.
const CHANCE: usize = 16;

impl<'b> TopRowsPage<'_, 'b> {
    /// True when enough rows are known for the best `wanted` selected ones, and they lie in several batches.
    pub(crate) fn may_have(rows: &[TopRow], wanted: usize) -> bool {
        rows.get(..wanted.max(SAMPLE)).is_some_and(|rows| batches(rows) >= 2)
    }

    /// The page from the best rows of all batches; `None` when they are sooner found batch by batch, or are not all known.
    ///
    /// `others` are batches whose order is not known.
    pub(crate) fn page(
        &self,
        scan: &Scan<'b>,
        others: impl Iterator<Item = Visit<'b>>,
        by: SortBy<'_>,
        (offset, limit): (usize, usize),
    ) -> Option<Vec<RowAddr>> {
        let wanted = offset + limit;
        // As if the batches were like the first, and those that were ruled out had no row.
        let first = self.first?;
        let likely = scan.likely(&first) * self.kept;
        let rows = first.batch.rows() * self.all;
        if likely == 0 {
            return None;
        }
        let expected = wanted * rows / likely;
        if batches(self.rows.get(..expected)?) * ROWS_OF_A_BATCH < expected {
            return None;
        }
        // What their ranks tell need not be read in the batches.
        let ordinal = |rank: i64| if self.is_descending { !rank } else { rank };
        let keyed = self
            .first_selected(wanted, expected)?
            .into_iter()
            .map(|(rank, batch, at)| (Key::Ordinal(ordinal(rank)), batch, at));
        Some(best_of(scan, keyed, others, by, wanted).page(offset, limit))
    }

    /// Returns the first `wanted` selected rows, each with its rank, and all others of the last one's rank; `None` when there are
    /// fewer, or by far fewer than expected among `expected` rows.
    fn first_selected(&self, wanted: usize, expected: usize) -> Option<Vec<(i64, &'b Batch, RowAddr)>> {
        let mut found: Vec<(i64, &'b Batch, RowAddr)> = Vec::with_capacity(wanted + LANES);
        // The rank of the last one wanted: of rows of one rank, ids decide.
        let mut last = None;
        let mut asked: usize = 0;
        for (chunk, rows) in self.rows.chunks(LANES).enumerate() {
            let is_behind = |rank| last.is_some_and(|last| rank > last);
            if rows.first().is_some_and(|top_row| is_behind(top_row.rank)) {
                break;
            }
            let mut selected = (self.select_top_rows)(chunk, rows);
            while selected != 0 {
                let at = selected.trailing_zeros() as usize;
                selected &= selected - 1;
                let top_row = rows[at];
                let (number, row) = split(top_row.row);
                let at = RowAddr { batch: u32::try_from(number).ok()?, row };
                found.push((top_row.rank, (self.batch)(number)?, at));
                if found.len() == wanted {
                    last = Some(top_row.rank);
                }
            }
            asked += rows.len();
            let due = asked * wanted / expected.max(1);
            if found.len() + CHANCE < due / 4 {
                return None;
            }
        }
        let last = last?;
        found.truncate(found.partition_point(|(rank, ..)| *rank <= last));
        Some(found)
    }
}

/// Sorts selected rows together with those of other batches, and gives those from `offset`, at most `limit`.
pub(crate) fn listed_page<'b>(
    scan: &Scan<'b>,
    listed: impl Iterator<Item = (&'b Batch, RowAddr)>,
    others: impl Iterator<Item = Visit<'b>>,
    by: SortBy<'_>,
    (offset, limit): (usize, usize),
) -> Vec<RowAddr> {
    let keyed = listed.map(|(batch, at)| (Keys::new(batch, by).key(usize::from(at.row), by), batch, at));
    best_of(scan, keyed, others, by, offset + limit).page(offset, limit)
}

/// Puts selected rows before those of later batches, and gives those from `offset`, at most `limit`, as they are stored.
pub(crate) fn listed_page_as_stored<'b>(
    scan: &Scan<'b>,
    mut listed: Vec<RowAddr>,
    others: impl Iterator<Item = Visit<'b>>,
    (offset, limit): (usize, usize),
) -> Vec<RowAddr> {
    listed.sort_unstable_by_key(|at| (at.batch, at.row));
    let passed = offset.min(listed.len());
    listed.drain(..passed);
    listed.truncate(limit);
    let mut page = StoredPage::beginning_with(listed, (offset - passed, limit));
    scan.run(others, &mut page);
    page.finish().0
}

/// The best of some selected rows and those of other batches.
fn best_of<'b, 's>(
    scan: &Scan<'b>,
    rows: impl Iterator<Item = (Key<'b>, &'b Batch, RowAddr)>,
    others: impl Iterator<Item = Visit<'b>>,
    by: SortBy<'s>,
    wanted: usize,
) -> TopK<'b, 's> {
    let mut best = TopK::new(by);
    best.wanted = wanted;
    best.take_in_rows(rows);
    scan.run(others.map(|visit| Ranged::new(visit, by)), &mut HeapOnly(&mut best));
    best
}

/// Returns about how many batches some rows are in, if these are not many.
fn batches(rows: &[TopRow]) -> usize {
    /// Numbers that leave the same rest count as one.
    const WORDS: usize = 16;
    let mut seen = [0_u64; WORDS];
    for top_row in rows.iter().step_by(rows.len().div_ceil(SAMPLE).max(1)) {
        let (number, _) = split(top_row.row);
        if let Some(word) = seen.get_mut(number / LANES % WORDS) {
            *word |= 1 << (number % LANES);
        }
    }
    seen.iter().map(|word| word.count_ones() as usize).sum()
}
