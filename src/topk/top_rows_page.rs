//! Takes a page from rows that an index over all batches lists or keeps in sort order.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "as many top rows are known as are wanted, at most 4,096, times the rows of a view; a bit for each of some top rows"
)]

use super::batch_order::Ranged;
use super::key::{Key, Keys, SortBy};
use super::sorted_page::AddToTopK;
use super::stored::StoredPage;
use super::top_k::TopK;
use crate::batch::{Batch, RowAddr};
use crate::column::LANES;
use crate::exec::{Scan, Visit};
use crate::index::{TopRow, split};

/// A search for a page among the top rows: the first rows of all indexed batches in one sort order, which the index keeps.
pub(crate) struct TopRowsPage<'c, 'b> {
    /// The top rows in sort order. Empty if the index does not keep them for this order.
    pub(crate) rows: &'c [TopRow],
    pub(crate) is_descending: bool,
    /// The indexed batch that comes first in sort order, among the batches that may have a selected row.
    pub(crate) first: Option<Visit<'b>>,
    /// The number of indexed batches that may have a selected row.
    pub(crate) kept: usize,
    /// The number of indexed batches.
    pub(crate) all: usize,
    /// A function that returns the batch with the given batch number.
    pub(crate) batch: &'c dyn Fn(usize) -> Option<&'b Batch>,
    /// A function that takes the index of a chunk and the top rows of this chunk (at most 64). Returns a bitmap of the rows that
    /// are live and selected.
    pub(crate) select_top_rows: &'c dyn Fn(usize, &[TopRow]) -> u64,
}

/// The number of rows that can be tested one by one in the time that it takes to find the first rows of one batch.
const ROWS_OF_A_BATCH: usize = 128;
/// The maximum number of rows that are read to estimate how many batches contain the rows of a list.
const SAMPLE: usize = 64;
/// The tolerance for random variation, in selected rows. The search gives up on the top rows if the rows found, plus this
/// tolerance, are less than a quarter of the expected number.
const CHANCE: usize = 16;

impl<'b> TopRowsPage<'_, 'b> {
    /// Returns true if enough top rows are known for a page that ends after `wanted` selected rows. They must also belong to at
    /// least two batches.
    pub(crate) fn may_have(rows: &[TopRow], wanted: usize) -> bool {
        rows.get(..wanted.max(SAMPLE)).is_some_and(|rows| batches(rows) >= 2)
    }

    /// Returns the page from the top rows. `others` are batches outside the index.
    ///
    /// Returns `None` if reading batch by batch is faster, or if there are too few top rows.
    pub(crate) fn page(
        &self,
        scan: &Scan<'b>,
        others: impl Iterator<Item = Visit<'b>>,
        by: SortBy<'_>,
        (offset, limit): (usize, usize),
    ) -> Option<Vec<RowAddr>> {
        let wanted = offset + limit;
        // Assumes that each of the `kept` batches has as many selected rows as the first batch. All other batches have no selected
        // row.
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
        // The ranks contain the keys, so the search does not read the columns of the batches.
        let ordinal = |rank: i64| if self.is_descending { !rank } else { rank };
        let keyed = self
            .first_selected(wanted, expected)?
            .into_iter()
            .map(|(rank, batch, at)| (Key::Ordinal(ordinal(rank)), batch, at));
        Some(best_of(scan, keyed, others, by, wanted).page(offset, limit))
    }

    /// Returns the first `wanted` selected rows with their ranks, and all further selected rows with the rank of the last of these.
    ///
    /// Returns `None` if the top rows contain fewer than `wanted` selected rows. Also returns `None` as soon as it has found far
    /// fewer selected rows than expected. The expectation is `wanted` selected rows among `expected` top rows.
    fn first_selected(&self, wanted: usize, expected: usize) -> Option<Vec<(i64, &'b Batch, RowAddr)>> {
        let mut found: Vec<(i64, &'b Batch, RowAddr)> = Vec::with_capacity(wanted + LANES);
        // The rank of the last wanted row. All rows with this rank are kept, because ids decide their order.
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

/// Sorts `listed` together with the selected rows of `others`, the batches outside the index. Returns at most `limit` rows,
/// starting at `offset`.
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

/// Returns at most `limit` rows in stored order, starting at `offset`. The rows of `listed` come first, then the selected rows of
/// `others`, which are later batches.
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

/// Returns the first `wanted` rows in sort order among `rows` and the selected rows of `others`.
fn best_of<'b, 's>(
    scan: &Scan<'b>,
    rows: impl Iterator<Item = (Key<'b>, &'b Batch, RowAddr)>,
    others: impl Iterator<Item = Visit<'b>>,
    by: SortBy<'s>,
    wanted: usize,
) -> TopK<'b, 's> {
    let mut best = TopK::new(by, scan.pace());
    best.wanted = wanted;
    best.take_in_rows(rows);
    scan.run(others.map(|visit| Ranged::new(visit, by)), &mut AddToTopK(&mut best));
    best
}

/// Estimates the number of batches that contain `rows`, from a sample of at most 64 rows. So the result is at most 64.
fn batches(rows: &[TopRow]) -> usize {
    /// The size in words of a bitmap that marks batches by their number modulo 1,024 (16 words of 64 bits). Batches whose numbers
    /// have the same remainder share a bit.
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
