//! Finds a page of rows in sort order. Reads the batches in the order of their first keys.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "rows of one view, of which no more are skipped than have to be"
)]

use super::batch_order::{Ordered, Ranged};
use super::key::SortBy;
use super::key_estimate::estimate;
use super::seek::{SeekPoint, seek};
use super::top_k::TopK;
use crate::batch::RowAddr;
use crate::exec::{Collector, Need, Scan, Selected, Visit};

/// A search for a sorted page. The caller tries three methods in this order: [`sought`](Self::sought),
/// [`estimated`](Self::estimated), [`walked`](Self::walked).
pub(crate) struct SortedSearch<'s, 'q, I> {
    scan: &'s Scan<'q>,
    by: SortBy<'s>,
    offset: usize,
    limit: usize,
    with_total: bool,
    ordered: Ordered<'q, 's, I>,
}

/// The rows of a page, and the total if it was counted in the same search.
pub(crate) type PageRows = (Vec<RowAddr>, Option<u64>);

impl<'s, 'q, I: Iterator<Item = Visit<'q>>> SortedSearch<'s, 'q, I> {
    /// Creates a search for at most `limit` rows, starting at `offset`.
    ///
    /// The batches of `in_order` are in the order of their first keys, the batches of `others` are in any order. If `with_total`,
    /// the rows of every batch are counted.
    pub(crate) fn new(
        scan: &'s Scan<'q>,
        (in_order, others): (I, impl Iterator<Item = Visit<'q>>),
        by: SortBy<'s>,
        (offset, limit): (usize, usize),
        with_total: bool,
    ) -> Self {
        Self { scan, by, offset, limit, with_total, ordered: Ordered::new(in_order, others, by) }
    }

    /// Finds the page at a large offset. Counts most of the rows before the offset, instead of visiting them one by one. Returns
    /// `None` if [`seek`] finds no key.
    pub(crate) fn sought(&mut self) -> Option<PageRows> {
        let point = seek(&mut self.ordered, self.by, self.offset, self.scan)?;
        Some(self.collected(self.offset - point.passed, Some(point)))
    }

    /// Estimates the last key of the page, and reads only the rows of each batch that come before this key. Returns `None` if the
    /// key cannot be estimated, or if these rows do not fill the page. Never counts the total.
    pub(crate) fn estimated(&mut self) -> Option<PageRows> {
        let wanted = self.offset + self.limit;
        let estimate = estimate(&mut self.ordered, self.by, wanted, self.scan)?;
        let mut page = SortedPage {
            top_k: TopK::new(self.by, self.scan.pace()).estimating(estimate),
            offset: self.offset,
            limit: self.limit,
            total: None,
            may_pass_over: false,
        };
        self.scan.run(self.ordered.batches(false), &mut page);
        page.top_k.is_full().then(|| page.finish())
    }

    /// Finds the page by reading the batches in order, until no later batch can have a row of the page.
    pub(crate) fn walked(&mut self) -> PageRows {
        self.collected(self.offset, None)
    }

    fn collected(&mut self, offset: usize, point: Option<SeekPoint<'q>>) -> PageRows {
        let mut top_k = TopK::new(self.by, self.scan.pace());
        top_k.start = point.map(|point| point.key);
        let may_pass_over = point.is_none();
        let total = self.with_total.then_some(0);
        let mut page = SortedPage { top_k, offset, limit: self.limit, total, may_pass_over };
        self.scan.run(self.ordered.batches(may_pass_over && offset > 0), &mut page);
        page.finish()
    }
}

/// A collector of a sorted page in a [`TopK`].
struct SortedPage<'q, 's> {
    top_k: TopK<'q, 's>,
    offset: usize,
    limit: usize,
    total: Option<u64>,
    /// True if a batch may be skipped after counting its selected rows, as long as the page has no row. This is allowed only for a
    /// batch whose keys all come before the keys of every later batch.
    may_pass_over: bool,
}

impl<'q> SortedPage<'q, '_> {
    fn finish(self) -> PageRows {
        (self.top_k.page(self.offset, self.limit), self.total)
    }

    /// Returns true if neither this batch nor a later one can have rows on the page.
    fn is_behind(&self, item: &Ranged<'q>) -> bool {
        self.limit == 0 || self.top_k.is_behind(&item.first)
    }
}

impl<'q> Collector<'q> for SortedPage<'q, '_> {
    type Item = Ranged<'q>;

    fn visit<'i>(item: &'i Ranged<'q>) -> &'i Visit<'q> {
        &item.visit
    }

    fn need(&mut self, item: &Ranged<'q>) -> Need {
        self.top_k.wanted = self.offset + self.limit;
        match self.total {
            None if self.is_behind(item) => Need::End,
            None if self.top_k.is_before(&item.last) => Need::Nothing,
            _ => Need::Rows,
        }
    }

    fn collect(&mut self, item: &Ranged<'q>, selected: Selected<'q>) {
        let mut count = None;
        if let Some(total) = &mut self.total {
            let rows = *count.insert(selected.count());
            *total += rows as u64;
            if self.is_behind(item) || self.top_k.is_before(&item.last) {
                return;
            }
        }
        let may_pass_over =
            self.may_pass_over && self.offset > 0 && self.top_k.is_empty() && item.is_apart_from_next;
        if may_pass_over {
            let count = count.unwrap_or_else(|| selected.count());
            if count <= self.offset {
                selected.note(|work| work.passed_over += 1);
                self.offset -= count;
                return;
            }
        }
        let skip = if may_pass_over { &mut self.offset } else { &mut 0 };
        self.top_k.take_in(&item.visit, &selected, skip);
    }
}

/// A collector that adds the rows of batches, in any order, to a [`TopK`].
pub(super) struct AddToTopK<'t, 'q, 's>(pub(super) &'t mut TopK<'q, 's>);

impl<'q> Collector<'q> for AddToTopK<'_, 'q, '_> {
    type Item = Ranged<'q>;

    fn visit<'i>(item: &'i Ranged<'q>) -> &'i Visit<'q> {
        &item.visit
    }

    fn need(&mut self, item: &Ranged<'q>) -> Need {
        let is_needless = self.0.is_behind(&item.first) || self.0.is_before(&item.last);
        if is_needless { Need::Nothing } else { Need::Rows }
    }

    fn collect(&mut self, item: &Ranged<'q>, selected: Selected<'q>) {
        self.0.take_in(&item.visit, &selected, &mut 0);
    }
}
