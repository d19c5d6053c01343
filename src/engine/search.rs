//! Answering requests on a view.

use std::cell::Cell;
use std::sync::Arc;

use super::view::View;
use super::{Answer, Engine};
use crate::exec::{self, Query, Selected};
use crate::filter::Filter;
use crate::page::{SortBy, Visit, first_page, sorted_page};
use crate::request::Request;

impl Engine {
    /// Answers a request.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, Order, Request};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","totalAmountInDefaultCurrency":5},{"id":"b"},{"id":"c","totalAmountInDefaultCurrency":7}]"#)?;
    /// let largest_first = Request::new(Filter::all(engine.catalog()))
    ///     .order(Order::parse(engine.catalog(), "-totalAmountInDefaultCurrency")?);
    /// assert_eq!(engine.search(&largest_first).ids().collect::<Vec<_>>(), ["c", "a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// When the filter was compiled for a catalogue that is not [within](crate::Catalog::is_within) the engine's.
    #[must_use]
    pub fn search(&self, request: &Request) -> Answer {
        self.check(&request.filter);
        let snapshot = self.current.load_full();
        let view = Arc::clone(snapshot.view(&self.catalog, self.keep));
        let query = Query::new(request.filter.predicate(), view.directory(), |number| {
            view.slot(number).map(|slot| &*slot.batch)
        });
        let mut numbers = query.batches();
        numbers.retain(|number| view.directory().covers(*number));
        numbers.extend(view.apart_numbers());
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let mut total: u64 = 0;
        let examined = Cell::new(0);
        // A count that reads few rows or none leaves the page free to stop early.
        let counts_apart = request.count && (limit == 0 || query.is_listed());
        if counts_apart {
            total = self.count_rows(&query, &view, &numbers, &examined);
        }
        let rows = if limit == 0 {
            Vec::new()
        } else {
            let count = request.count && !counts_apart;
            let total = count.then_some(&mut total);
            let visits = numbers.iter().filter_map(|number| {
                view.slot(*number).map(|slot| Visit { number: *number, batch: &slot.batch, live: &slot.live })
            });
            let page = (usize::try_from(request.offset).unwrap_or(usize::MAX), limit);
            if request.order.is_none() && view.is_ordered() {
                first_page(visits, page, total, |visit| ask(&query, visit, &examined))
            } else {
                let by = SortBy::new(request.order, self.catalog.fields());
                sorted_page(visits.collect(), by, page, total, |visit| ask(&query, visit, &examined))
            }
        };
        drop(query);
        let answer = Answer::new(view, rows, request.count.then_some(total), request.offset, request.limit)
            .with_examined(examined.get());
        #[cfg(feature = "store")]
        let answer = answer.with_attachment(&snapshot);
        answer
    }

    /// How many cases the filter selects.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.count(&Filter::all(engine.catalog())), 0);
    /// ```
    ///
    /// # Panics
    /// As [`search`](Self::search).
    #[must_use]
    pub fn count(&self, filter: &Filter) -> u64 {
        self.search(&Request::new(filter.clone()).limit(0).count(true)).total().unwrap_or(0)
    }

    /// How many live rows are selected in these batches, which are all that may have one.
    fn count_rows(&self, query: &Query<'_>, view: &View, numbers: &[usize], examined: &Cell<u64>) -> u64 {
        let is_single = |field| !self.catalog.field(field).is_many();
        if view.is_counted()
            && let Some(known) = query.known_count(is_single)
        {
            return known;
        }
        let rows = numbers.iter().filter_map(|number| {
            let slot = view.slot(*number)?;
            let visit = Visit { number: *number, batch: &slot.batch, live: &slot.live };
            Some(ask(query, &visit, examined).count() as u64)
        });
        rows.fold(0, u64::saturating_add)
    }

    fn check(&self, filter: &Filter) {
        assert!(
            filter.catalog().is_within(&self.catalog),
            "the filter was compiled for a catalogue that is not within the engine's"
        );
    }
}

/// The selected rows of a batch; all of its rows count as examined.
fn ask<'b>(query: &'b Query<'b>, visit: &Visit<'b>, examined: &Cell<u64>) -> Selected<'b> {
    examined.set(examined.get().saturating_add(visit.batch.rows() as u64));
    exec::select(query, visit.number, visit.batch, visit.live)
}
