//! Answering requests on a view.

use std::cell::{Cell, LazyCell, OnceCell};

use serde::Serialize;

use super::counting::{
    Counted, {self},
};
use crate::batch::Batch;
use crate::batch::RowAddr;
use crate::catalog::Catalog;
use crate::engine::snapshot::View;
use crate::engine::{Answer, Engine};
use crate::error::Error;
use crate::exec::{
    Known, Query, Selected, Spread, {self},
};
use crate::filter::order::SortKey;
use crate::filter::{Filter, Request};
use crate::index::{Leader, Leading, split};
use crate::topk::{Covered, SortBy, Visit, first_page, listed_page, listed_page_as_stored, sorted_page};

/// What errors about catalogues call an engine.
const ENGINE: &str = "engine";

impl Engine {
    /// Answers a request.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, Order, Request};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","totalAmountInDefaultCurrency":5},{"id":"b"},{"id":"c","totalAmountInDefaultCurrency":7}]"#)?;
    /// let largest_first = Request::new(Filter::all(engine.catalog()))
    ///     .order(Order::parse(engine.catalog(), "-totalAmountInDefaultCurrency")?);
    /// assert_eq!(engine.search(&largest_first)?.ids().collect::<Vec<_>>(), ["c", "a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ErrorKind::PageTooLarge`](crate::ErrorKind::PageTooLarge) when the limit is above
    ///   [`Limits::page`](crate::Limits::page) of the engine, as for a request by [`Request::parse`].
    /// - [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), a mistake of the host: the filter was compiled for
    ///   a catalogue that is not [within](crate::Catalog::is_within) the engine's, or for one that hides the field of the order.
    pub fn search(&self, request: &Request) -> Result<Answer, Error> {
        request.check_page(&self.limits)?;
        self.search_any_page(request)
    }

    /// As [`search`](Self::search), with a page of any size.
    pub(crate) fn search_any_page(&self, request: &Request) -> Result<Answer, Error> {
        let order = request.check(&self.catalog, ENGINE)?;
        let snapshot = self.current.load();
        let view = snapshot.view(&self.catalog, self.keep);
        if let Some(total) = ready_total(request, view) {
            return Ok(Answer::new(&snapshot, view, Vec::new(), Some(total), request));
        }
        let query = query(request, view);
        let search = Search::new(&self.catalog, (request, order), view, &query);
        let (rows, total) = search.run(&search.strategy());
        let total = request.count.then_some(total);
        Ok(Answer::new(&snapshot, view, rows, total, request).with_examined(search.examined.get()))
    }

    /// How many cases the filter selects.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.count(&Filter::all(engine.catalog()))?, 0);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), as [`search`](Self::search).
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let answer = self.search(&Request::new(filter.clone()).limit(0).count(true))?;
        Ok(answer.total().unwrap_or(0))
    }

    /// Checks a request that is only explained; gives what its cases are sorted by.
    pub(crate) fn check(&self, request: &Request) -> Result<Option<SortKey>, Error> {
        request.check_page(&self.limits)?;
        request.check(&self.catalog, ENGINE)
    }
}

/// How a search finds its page and its total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strategy {
    pub(crate) total: TotalStrategy,
    pub(crate) page: PageStrategy,
}

/// How the number of all selected cases is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TotalStrategy {
    /// Nobody asked for it.
    NotAsked,
    /// An index over all batches knows it; only small ones written of late are asked.
    Directory {
        /// How many there are.
        cases: u64,
    },
    /// Each batch is asked how many it has, and the page is found apart from that.
    Counting,
    /// An index over all batches lists the cases that some alternatives select; batches are asked for those of the others.
    Beside,
    /// Each batch is asked once, for its part of the page and for how many it has.
    WithPage,
}

/// How the cases of the page are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PageStrategy {
    /// No case is asked for.
    Empty,
    /// An index over all batches lists the few cases that match, which are sorted; only small batches written of late are asked.
    Listed,
    /// Batch after batch as they are stored: what is met first comes first.
    Stored,
    /// Batches in the order of the first value that each can have, their rows by what they are sorted by; where many
    /// overlap, the first rows of all of them, which are kept in one order.
    Sorted,
}

/// One search on one view.
pub(crate) struct Search<'s> {
    catalog: &'s Catalog,
    request: &'s Request,
    order: Option<SortKey>,
    view: &'s View,
    query: &'s Query<'s>,
    /// See [`numbers`](Self::numbers).
    numbers: OnceCell<Vec<usize>>,
    /// How many rows the batches have that were asked so far.
    pub(crate) examined: Cell<u64>,
}

/// The total of a request for nothing else, where the directory counts what the filter selects, and knows all batches:
/// [`TotalStrategy::Directory`] without a query.
pub(crate) fn ready_total(request: &Request, view: &View) -> Option<u64> {
    if request.limit > 0 || !request.count || !view.apart_numbers().is_empty() {
        return None;
    }
    let (field, found) = exec::counted_strings(request.filter.predicate(), view.directory())?;
    view.known_count(&Known::Strings(field, &found))
}

/// The filter of a request, looked up in a view.
pub(crate) fn query<'s>(request: &'s Request, view: &'s View) -> Query<'s> {
    Query::new(request.filter.predicate(), view.directory(), |number| {
        view.slot(number).map(|slot| &*slot.batch)
    })
}

impl<'s> Search<'s> {
    pub(crate) fn new(
        catalog: &'s Catalog,
        (request, order): (&'s Request, Option<SortKey>),
        view: &'s View,
        query: &'s Query<'s>,
    ) -> Self {
        Self { catalog, request, order, view, query, numbers: OnceCell::new(), examined: Cell::new(0) }
    }

    /// The batches that may have a selected row.
    pub(crate) fn numbers(&self) -> &[usize] {
        self.numbers.get_or_init(|| self.numbers_of(self.query))
    }

    fn numbers_of(&self, query: &Query<'_>) -> Vec<usize> {
        let mut numbers = query.batches();
        numbers.retain(|number| self.view.directory().covers(*number));
        numbers.extend(self.view.apart_numbers());
        numbers
    }

    pub(crate) fn strategy(&self) -> Strategy {
        let Request { limit, count, .. } = self.request;
        // A count that reads few rows or none leaves the page free to stop early.
        let total = match count {
            false => TotalStrategy::NotAsked,
            true if *limit > 0 && !self.query.is_listed() => TotalStrategy::WithPage,
            true => match self.known_total() {
                Some(cases) => TotalStrategy::Directory { cases },
                None if self.query.is_partly_listed() => TotalStrategy::Beside,
                None => TotalStrategy::Counting,
            },
        };
        let page = match self.order {
            _ if *limit == 0 => PageStrategy::Empty,
            _ if self.query.listed().is_some() => PageStrategy::Listed,
            None if self.view.is_ordered() => PageStrategy::Stored,
            _ => PageStrategy::Sorted,
        };
        Strategy { total, page }
    }

    /// What the directory knows of the batches that it covers, and what the others have.
    fn known_total(&self) -> Option<u64> {
        let covered = self.view.known_count(&self.query.known()?)?;
        let apart: Vec<usize> = self.view.apart_numbers().collect();
        let of_apart = if apart.is_empty() { 0 } else { self.count(self.query, &apart) };
        Some(covered.saturating_add(of_apart))
    }

    /// The rows of the page, and the total if it is asked for.
    pub(crate) fn run(&self, strategy: &Strategy) -> (Vec<RowAddr>, u64) {
        let mut total = match strategy.total {
            TotalStrategy::Directory { cases } => cases,
            TotalStrategy::Counting => self.count(self.query, self.numbers()),
            TotalStrategy::Beside => self.count_beside(),
            TotalStrategy::NotAsked | TotalStrategy::WithPage => 0,
        };
        let along = (strategy.total == TotalStrategy::WithPage).then_some(&mut total);
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let page = (number(self.request.offset), number(self.request.limit));
        let rows = match strategy.page {
            PageStrategy::Empty => Vec::new(),
            PageStrategy::Listed => self.listed(page),
            PageStrategy::Stored => first_page(self.visits(), page, along, |visit| self.select(visit)),
            PageStrategy::Sorted => {
                let (in_order, (kept, all), others) = self.in_order();
                let batch = |number| self.view.slot(number).map(|slot| &*slot.batch);
                let order = self.order.filter(|_| self.query.asks_rows_fast());
                let leading =
                    order.and_then(|order| self.view.directory().first(order.field, order.descending));
                let spread = LazyCell::new(|| Some(Spread::new(self.query, leading?, batch)));
                let covered = Covered {
                    in_order: self.view.visits(in_order.map(|number| number as usize)),
                    kept,
                    all,
                    leaders: leading.map_or(&[], Leading::leaders),
                    batch: &batch,
                    select_leaders: &|chunk, leaders| match &*spread {
                        Some(spread) => self.select_leaders(spread, chunk, leaders),
                        None => 0,
                    },
                };
                let others = self.view.visits(others.iter().copied());
                sorted_page(covered, others, self.sort_by(), page, along, |visit| self.select(visit))
            }
        };
        (rows, total)
    }

    /// The rows of the page, of those that the directory lists and those of apart batches.
    fn listed(&self, page: (usize, usize)) -> Vec<RowAddr> {
        let listed = self.query.listed().unwrap_or_default();
        self.examined.set(self.examined.get().saturating_add(listed.len() as u64));
        let mut rows = Vec::with_capacity(listed.len());
        rows.extend(listed.iter().filter(|row| self.view.is_live(**row)).filter_map(|row| {
            let (number, row) = split(*row);
            Some(RowAddr { batch: u32::try_from(number).ok()?, row })
        }));
        let apart = self.view.visits(self.view.apart_numbers());
        if self.order.is_none() && self.view.is_ordered() {
            return listed_page_as_stored(rows, apart, page, |visit| self.select(visit));
        }
        let rows = rows.into_iter().filter_map(|at| Some((self.view.batch(at)?, at)));
        listed_page(rows, apart, self.sort_by(), page, |visit| self.select(visit))
    }

    pub(crate) fn sort_by(&self) -> SortBy<'s> {
        SortBy::new(self.order, self.catalog.fields())
    }

    pub(crate) fn visits(&self) -> impl Iterator<Item = Visit<'s>> {
        self.view.visits(self.numbers().iter().copied())
    }

    /// The batches, in the order of their first values those of which it is known, how many these are, of how many
    /// the order is known, and all others.
    fn in_order(&self) -> (impl Iterator<Item = u32> + Clone, (usize, usize), &[usize]) {
        let apart = self.view.apart_numbers().start;
        let numbers = self.numbers();
        let (covered, others) = numbers.split_at(numbers.partition_point(|number| *number < apart));
        let order =
            self.order.and_then(|order| self.view.directory().in_order(order.field, order.descending));
        let (in_order, others) = match order {
            Some(in_order) => (in_order, others),
            None => (&[][..], numbers),
        };
        let is_all = covered.len() == in_order.len();
        let is_kept = move |number: &u32| is_all || covered.binary_search(&(*number as usize)).is_ok();
        let counts = if in_order.is_empty() { (0, 0) } else { (covered.len(), in_order.len()) };
        (in_order.iter().copied().filter(is_kept), counts, others)
    }

    /// Of the leaders from 64 · `chunk` on, at most 64, those that are live and selected, a bit each.
    fn select_leaders(
        &self,
        spread: &Spread<'_, 's, impl Fn(usize) -> Option<&'s Batch>>,
        chunk: usize,
        leaders: &[Leader],
    ) -> u64 {
        self.examined.set(self.examined.get().saturating_add(leaders.len() as u64));
        let mut selected = spread.select(chunk, leaders);
        for (at, leader) in leaders.iter().enumerate() {
            if selected >> at & 1 == 1 && !self.view.is_live(leader.row) {
                selected &= !(1 << at);
            }
        }
        selected
    }

    fn count(&self, query: &Query<'_>, numbers: &[usize]) -> u64 {
        let Counted { selected, examined } = counting::count(query, self.view, numbers);
        self.examined.set(self.examined.get().saturating_add(examined));
        selected
    }

    /// How many are selected: those that the directory lists, and those beside them.
    fn count_beside(&self) -> u64 {
        let others = self.query.others();
        let listed = others.left_out_rows();
        self.examined.set(self.examined.get().saturating_add(listed.len() as u64));
        self.view.count_live(listed).saturating_add(self.count(&others, &self.numbers_of(&others)))
    }

    fn select(&self, visit: &Visit<'s>) -> Selected<'s> {
        self.examined.set(self.examined.get().saturating_add(visit.batch.rows() as u64));
        exec::select(self.query, visit.number, visit.batch, visit.live)
    }
}
