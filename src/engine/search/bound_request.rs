//! Binds a request to one view. The methods of `BoundRequest` look the filter up in the index, choose the batches, and call the
//! code that counts the total and finds the page. [`strategy`](super::strategy) chooses the methods that a search calls.
#![expect(clippy::arithmetic_side_effects, reason = "rows of one view, at most 2^32")]

use std::cell::{LazyCell, OnceCell};

use super::counting::{self, Counted};
use crate::batch::{Batch, MAX_BATCHES, MAX_ROWS, RowAddr};
use crate::catalog::Catalog;
use crate::engine::snapshot::View;
use crate::error::Error;
use crate::exec::{self, Known, Query, Scan, ScatteredRows, Trace, Visit};
use crate::filter::order::SortKey;
use crate::filter::{Filter, SearchRequest};
use crate::index::{TopRow, TopRows, split};
use crate::stop::{Pace, StopCheck};
use crate::topk::{
    PageRows, SortBy, SortedSearch, StoredPage, Ties, TopRowsPage, listed_page, listed_page_as_stored,
};

/// A search for a page that is sorted by at most one field. It is a request, or a part of a request with an order by several
/// fields.
#[derive(Clone, Copy)]
pub(super) struct PlainSearch<'s> {
    pub(super) filter: &'s Filter,
    /// The sort key. `None` is the insertion order.
    pub(super) order: Option<SortKey>,
    /// The same order, and the position after which the page begins.
    pub(super) by: SortBy<'s>,
    pub(super) offset: u64,
    pub(super) limit: u64,
    /// True to count all selected cases.
    pub(super) count: bool,
}

/// A search bound to one view. [Strategies](super::strategy) are chosen for it and run on it.
///
/// It caches the results of look-ups, because several strategies use them.
pub(super) struct BoundRequest<'s> {
    search: PlainSearch<'s>,
    view: &'s View,
    /// The trace that records the work of the search, and the check that may stop it.
    watch: Watch<'s>,
    /// The work counter for all work outside the query.
    pace: Pace<'s>,
    /// The cached result of [`query`](Self::query).
    query: OnceCell<Query<'s>>,
    /// The cached result of [`numbers`](Self::numbers).
    numbers: OnceCell<Vec<usize>>,
    /// The cached result of [`index_total`](Self::index_total).
    index_total: OnceCell<Option<Counted>>,
}

/// The observers of a search: its trace and its stop check.
#[derive(Clone, Copy, Default)]
pub(super) struct Watch<'s> {
    /// The trace that records the work of the search.
    pub(super) trace: Option<&'s Trace<'s>>,
    /// The check that may stop the search.
    pub(super) stop: Option<&'s StopCheck<'s>>,
}

impl<'s> BoundRequest<'s> {
    /// Binds a request to a view. Ignores the cursor of the request, and all fields of its order except the first field.
    /// [`key_by_key`](super::key_by_key) searches by the other fields and after a cursor.
    pub(super) fn new(
        catalog: &'s Catalog,
        (request, keys): (&'s SearchRequest, &[SortKey]),
        view: &'s View,
        watch: Watch<'s>,
    ) -> Self {
        let order = keys.first().copied();
        let ties = if keys.len() > 1 { Ties::Any } else { Ties::ById };
        let by = SortBy::new(order, catalog.fields(), ties);
        let SearchRequest { filter, offset, limit, count, .. } = request;
        let (offset, limit, count) = (*offset, *limit, *count);
        Self::of_search(PlainSearch { filter, order, by, offset, limit, count }, view, watch)
    }

    /// Sets the maximum number of rows of the page.
    pub(super) fn with_limit(self, limit: u64) -> Self {
        Self { search: PlainSearch { limit, ..self.search }, ..self }
    }

    /// Binds a search to a view.
    pub(super) fn of_search(search: PlainSearch<'s>, view: &'s View, watch: Watch<'s>) -> Self {
        let (query, numbers, index_total) = Default::default();
        let pace = Pace::new(watch.stop);
        Self { search, view, watch, pace, query, numbers, index_total }
    }

    /// Returns an error if the search must stop. Calls the stop check now.
    pub(super) fn check_stop(&self) -> Result<(), Error> {
        self.pace.is_stopped();
        self.verdict()
    }

    /// Returns an error if an earlier check has stopped the search. If it returns `Ok`, all results so far are complete.
    pub(super) fn verdict(&self) -> Result<(), Error> {
        self.watch.stop.map_or(Ok(()), StopCheck::verdict)
    }

    pub(super) fn search(&self) -> &PlainSearch<'s> {
        &self.search
    }

    pub(super) fn view(&self) -> &'s View {
        self.view
    }

    pub(super) fn is_sorted(&self) -> bool {
        self.search.order.is_some()
    }

    pub(super) fn sort_by(&self) -> SortBy<'s> {
        self.search.by
    }

    /// Returns the offset and the limit of the page. Each is at most the maximum number of rows of a view, so that their sum does
    /// not overflow.
    pub(super) fn page(&self) -> (usize, usize) {
        const MOST_ROWS: u64 = MAX_BATCHES as u64 * MAX_ROWS as u64;
        // In a 32-bit address space, a view has far fewer than `usize::MAX / 2` rows.
        let number = |number: u64| usize::try_from(number.min(MOST_ROWS)).unwrap_or(usize::MAX / 2);
        (number(self.search.offset), number(self.search.limit))
    }

    /// Returns the query: the filter with the results of looking it up in the index.
    pub(super) fn query(&self) -> &Query<'s> {
        self.query.get_or_init(|| {
            let batch = |number| self.view.slot(number).map(|slot| &*slot.batch);
            let query = Query::new(self.search.filter.searched(), self.view.index(), batch, self.watch.stop);
            match self.watch.trace {
                Some(trace) => query.traced(trace),
                None => query,
            }
        })
    }

    /// Returns the batch numbers of the batches that may have a selected row: first the indexed batches in ascending order, then
    /// all uncovered batches.
    pub(super) fn numbers(&self) -> &[usize] {
        self.numbers.get_or_init(|| self.numbers_of(self.query()))
    }

    fn numbers_of(&self, query: &Query<'_>) -> Vec<usize> {
        let mut numbers = query.batches();
        numbers.retain(|number| self.view.index().covers(*number));
        numbers.extend(self.view.uncovered_numbers());
        numbers
    }

    /// Returns the batches that may have a selected row.
    pub(super) fn visits<'q>(&'q self) -> impl Iterator<Item = Visit<'q>> + Clone {
        let view: &'q View = self.view;
        view.visits(self.numbers().iter().copied())
    }

    /// Returns the total from the index. Counts the rows of uncovered batches by evaluating them. Returns `None` if the index does
    /// not determine the total.
    pub(super) fn index_total(&self) -> Option<Counted> {
        *self.index_total.get_or_init(|| {
            let unindexed: Vec<usize> = self.view.uncovered_numbers().collect();
            if unindexed.is_empty() {
                // It is cheaper to look up the strings than to build a query.
                let predicate = self.search.filter.predicate();
                if let Some((field, found)) = exec::counted_strings(predicate, self.view.index(), &self.pace)
                {
                    let selected = self.view.known_count(&Known::Strings(field, &found), &self.pace)?;
                    return Some(Counted { selected, examined: 0 });
                }
            }
            let known = self.view.known_count(&self.query().known()?, &self.pace)?;
            let counted = counting::count(self.query(), self.view, &unindexed);
            Some(counted.and(Counted { selected: known, examined: 0 }))
        })
    }

    /// Returns the total from the index. If the index does not determine it, counts the selected rows batch by batch.
    pub(super) fn total(&self) -> u64 {
        match self.index_total() {
            Some(counted) => counted.selected,
            None => self.counted().selected,
        }
    }

    /// Counts the selected rows, batch by batch.
    pub(super) fn counted(&self) -> Counted {
        counting::count(self.query(), self.view, self.numbers())
    }

    /// Counts the selected rows of an `or` in two parts. First, counts the rows that the key index lists for its branches.
    /// Then, counts the rows that only the other branches select.
    pub(super) fn counted_beside(&self) -> Counted {
        let others = self.query().without_indexed_branches();
        let listed = others.left_out_rows();
        let beside = counting::count(&others, self.view, &self.numbers_of(&others));
        let listed =
            Counted { selected: self.view.count_live(listed, &self.pace), examined: listed.len() as u64 };
        beside.and(listed)
    }

    /// Returns the page from the rows that the key index lists and from the rows of uncovered batches.
    pub(super) fn listed_page<'q>(&'q self, scan: &Scan<'q>) -> Vec<RowAddr> {
        let listed = self.query().listed().unwrap_or_default();
        scan.examine(listed.len() as u64);
        let mut rows = Vec::with_capacity(listed.len());
        rows.extend(listed.iter().filter(|row| self.view.is_live(**row)).filter_map(|row| {
            let (number, row) = split(*row);
            Some(RowAddr { batch: u32::try_from(number).ok()?, row })
        }));
        let view: &'q View = self.view;
        let unindexed = view.visits(view.uncovered_numbers());
        if !self.is_sorted() && self.view.is_ordered() && !self.sort_by().has_position() {
            return listed_page_as_stored(scan, rows, unindexed, self.page());
        }
        let rows = rows.into_iter().filter_map(|at| Some((view.batch(at)?, at)));
        listed_page(scan, rows, unindexed, self.sort_by(), self.page())
    }

    /// Returns the page in stored order: by batch, then by row. If `with_total`, also returns the total.
    pub(super) fn stored_page<'q>(&'q self, scan: &Scan<'q>, with_total: bool) -> PageRows {
        let after = match self.sort_by() {
            SortBy::Place { after } => after,
            SortBy::Field { .. } => None,
        };
        let mut page = StoredPage::new(self.page(), with_total).after(after);
        scan.run(self.visits(), &mut page);
        page.finish()
    }

    /// Returns the top rows of all indexed batches in the order of the page. Returns `None` if the index does not have them, or if
    /// evaluating single rows is slow.
    fn top_rows(&self) -> Option<(SortKey, &'s TopRows)> {
        let order = self.search.order.filter(|_| self.query().asks_rows_fast())?;
        Some((order, self.view.index().first(order.field, order.descending)?))
    }

    /// Returns true if the page may be found in the top rows. The index must have enough of them, from at least two batches.
    /// Returns false for a page after a position, and if evaluating single rows is slow.
    pub(super) fn may_have_top_rows(&self) -> bool {
        let (offset, limit) = self.page();
        let wanted = offset + limit;
        if self.sort_by().has_position() {
            return false;
        }
        self.top_rows().is_some_and(|(_, top_rows)| TopRowsPage::may_have(top_rows.rows(), wanted))
    }

    /// Returns the page from the top rows. Returns `None` if the index does not have enough top rows, or if another strategy is
    /// faster.
    pub(super) fn top_rows_page<'q>(&'q self, scan: &Scan<'q>) -> Option<Vec<RowAddr>> {
        let (order, top_rows) = self.top_rows()?;
        let view: &'q View = self.view;
        let InOrder { numbers, kept, all, others } = self.in_order();
        let batch = |number| view.slot(number).map(|slot| &*slot.batch);
        let scattered = LazyCell::new(|| ScatteredRows::new(self.query(), top_rows, batch));
        let top_rows = TopRowsPage {
            rows: top_rows.rows(),
            is_descending: order.descending,
            first: view.visits(numbers.map(|number| number as usize)).next(),
            kept,
            all,
            batch: &batch,
            select_top_rows: &|chunk, rows| self.select_top_rows(scan, &scattered, chunk, rows),
        };
        top_rows.page(scan, view.visits(others.iter().copied()), self.sort_by(), self.page())
    }

    /// Returns the batch-by-batch search for a sorted page.
    pub(super) fn sorted_search<'a, 'q: 'a>(
        &'q self,
        scan: &'a Scan<'q>,
        with_total: bool,
    ) -> SortedSearch<'a, 'q, impl Iterator<Item = Visit<'q>>> {
        let view: &'q View = self.view;
        let InOrder { numbers, others, .. } = self.in_order();
        let in_order = view.visits(numbers.map(|number| number as usize));
        let others = view.visits(others.iter().copied());
        SortedSearch::new(scan, (in_order, others), self.sort_by(), self.page(), with_total)
    }

    /// Divides the batches that may have a selected row into two groups. The first group has the batches that the index has sorted
    /// by the first key of each batch. The second group has the other batches.
    fn in_order(&self) -> InOrder<'_, impl Iterator<Item = u32> + Clone> {
        let unindexed = self.view.uncovered_numbers().start;
        let numbers = self.numbers();
        let (indexed, others) = numbers.split_at(numbers.partition_point(|number| *number < unindexed));
        let order =
            self.search.order.and_then(|order| self.view.index().in_order(order.field, order.descending));
        let (in_order, others) = match order {
            Some(in_order) => (in_order, others),
            None => (&[][..], numbers),
        };
        let is_all = indexed.len() == in_order.len();
        let is_kept = move |number: &u32| is_all || indexed.binary_search(&(*number as usize)).is_ok();
        let (kept, all) = if in_order.is_empty() { (0, 0) } else { (indexed.len(), in_order.len()) };
        InOrder { numbers: in_order.iter().copied().filter(is_kept), kept, all, others }
    }

    /// Evaluates the top rows of chunk number `chunk`, at most 64 rows. Returns a bitmap of the rows that are live and selected.
    fn select_top_rows<'q>(
        &'q self,
        scan: &Scan<'q>,
        scattered: &ScatteredRows<'_, 'q, impl Fn(usize) -> Option<&'q Batch>>,
        chunk: usize,
        rows: &[TopRow],
    ) -> u64 {
        if scan.pace().spend(0) {
            return 0;
        }
        scan.examine(rows.len() as u64);
        let mut selected = scattered.select(chunk, rows);
        for (at, top_row) in rows.iter().enumerate() {
            if selected >> at & 1 == 1 && !self.view.is_live(top_row.row) {
                selected &= !(1 << at);
            }
        }
        selected
    }
}

/// The batches that may have a selected row, divided into the batches that the index has sorted, and the other batches.
struct InOrder<'n, I> {
    /// The batch numbers of the sorted batches, in the order of the first key of each batch.
    numbers: I,
    /// The number of batches in `numbers`.
    kept: usize,
    /// The number of sorted batches, including the batches that the search has excluded.
    all: usize,
    /// The batch numbers of all other batches.
    others: &'n [usize],
}
