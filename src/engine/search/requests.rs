//! The search API of the engine.

use super::answer::Answer;
use super::bound::BoundRequest;
use super::strategy::{self, SearchOutcome};
use crate::engine::Engine;
use crate::error::Error;
use crate::filter::Filter;
use crate::filter::Request;
use crate::filter::order::SortKey;

/// The name of an engine in errors about catalogues.
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
    /// - [`ErrorKind::PageTooLarge`](crate::ErrorKind::PageTooLarge): the limit is above [`Limits::page`](crate::Limits::page) of
    ///   the engine, as in [`Request::parse`].
    /// - [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), a mistake of the host: the filter belongs to a
    ///   catalogue that is not [within](crate::Catalog::is_within) the engine's, or that hides the field of the order.
    pub fn search(&self, request: &Request) -> Result<Answer, Error> {
        request.check_page(&self.limits)?;
        self.search_any_page(request)
    }

    /// Like [`search`](Self::search), with a page of any size.
    pub(crate) fn search_any_page(&self, request: &Request) -> Result<Answer, Error> {
        let order = request.check(&self.catalog, ENGINE)?;
        let snapshot = self.current.load();
        let view = snapshot.view(&self.catalog, self.keep);
        let bound = BoundRequest::new(&self.catalog, (request, order), view, None);
        let SearchOutcome { rows, total, examined, .. } = strategy::run(&bound);
        Ok(Answer::new(&snapshot, view, rows, total, request).with_examined(examined))
    }

    /// Counts the cases that the filter selects.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.count(&Filter::all(engine.catalog()))?, 0);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), as in [`search`](Self::search).
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let answer = self.search(&Request::new(filter.clone()).limit(0).count(true))?;
        Ok(answer.total().unwrap_or(0))
    }

    /// Checks a request, and returns its sort key.
    pub(crate) fn check(&self, request: &Request) -> Result<Option<SortKey>, Error> {
        request.check_page(&self.limits)?;
        request.check(&self.catalog, ENGINE)
    }
}
