//! Collects a page of rows in stored order: by batch, then by row.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of rows of one view, of which no more are skipped than have to be"
)]

use super::key::first_step;
use crate::batch::RowAddr;
use crate::exec::{Collector, Need, Selected, Visit};

/// A collector for the selected rows in stored order: skips `offset` rows, then keeps at most `limit`.
///
/// If it counts a total, it visits every batch.
pub(crate) struct StoredPage {
    rows: Vec<RowAddr>,
    /// The number of selected rows that are still to be skipped.
    skip: usize,
    limit: usize,
    total: Option<u64>,
    /// If set, the page begins after the case with this insertion-order number.
    after: Option<u64>,
}

impl StoredPage {
    pub(crate) fn new((offset, limit): (usize, usize), with_total: bool) -> Self {
        Self { rows: Vec::new(), skip: offset, limit, total: with_total.then_some(0), after: None }
    }

    /// Sets the insertion-order number after which the page begins. The rows of all batches must be in insertion order.
    pub(crate) fn after(self, after: Option<u64>) -> Self {
        Self { after, ..self }
    }

    /// Creates a page that already has `rows`, at most `limit` of them. The page skips `offset` further rows.
    pub(super) fn beginning_with(rows: Vec<RowAddr>, (offset, limit): (usize, usize)) -> Self {
        Self { rows, skip: offset, limit, total: None, after: None }
    }

    /// Returns the rows, and the total if it was counted.
    pub(crate) fn finish(self) -> (Vec<RowAddr>, Option<u64>) {
        (self.rows, self.total)
    }

    /// Returns the number of rows that the page can still hold.
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.rows.len())
    }
}

impl<'q> Collector<'q> for StoredPage {
    type Item = Visit<'q>;

    fn visit<'i>(item: &'i Visit<'q>) -> &'i Visit<'q> {
        item
    }

    fn need(&mut self, visit: &Visit<'q>) -> Need {
        let is_before = |after| visit.batch.place_range().is_none_or(|(_, last)| last <= after);
        if self.after.is_some_and(is_before) {
            return Need::Nothing;
        }
        if self.room() == 0 && self.total.is_none() { Need::End } else { Need::Rows }
    }

    fn collect(&mut self, visit: &Visit<'q>, selected: Selected<'q>) {
        let room = self.room();
        if self.skip > 0 || room == 0 {
            let count = selected.count();
            if let Some(total) = &mut self.total {
                *total += count as u64;
            }
            if room == 0 || count <= self.skip {
                selected.note(|work| work.passed_over += u64::from(room > 0));
                self.skip = self.skip.saturating_sub(count);
                return;
            }
        }
        let rows = selected.rows();
        if let Some(after) = self.after {
            let batch = visit.batch;
            let first = first_step(batch.rows(), |row| batch.place(row) > after);
            self.skip += rows.count_below(first, batch.rows());
        }
        if self.skip == 0
            && let Some(total) = &mut self.total
        {
            *total += rows.count(visit.batch.rows()) as u64;
        }
        let Ok(batch) = u32::try_from(visit.number) else { return };
        let wanted = rows.iter(visit.batch.rows()).skip(std::mem::take(&mut self.skip)).take(room);
        self.rows.extend(wanted.filter_map(|row| Some(RowAddr { batch, row: u16::try_from(row).ok()? })));
    }
}
