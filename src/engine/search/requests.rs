//! The search API of the engine: search and count.

use super::answer::SearchAnswer;
use super::bound_request::Watch;
use super::found_rows::FoundRows;
use super::run::{CheckedRequest, run};
use crate::batch::Keep;
use crate::catalog::Catalog;
use crate::engine::{Engine, Snapshot};
use crate::error::Error;
use crate::filter::Filter;
use crate::filter::SearchRequest;
use crate::filter::order::SortKeys;

/// The name of an engine in errors about catalogues.
pub(super) const ENGINE: &str = "engine";

impl Engine {
    /// Answers a request.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, Order, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","totalAmountInDefaultCurrency":5},{"id":"b"},{"id":"c","totalAmountInDefaultCurrency":7}]"#)?;
    /// let largest_first = SearchRequest::new(Filter::all(engine.catalog()))
    ///     .with_order(Order::parse(engine.catalog(), "-totalAmountInDefaultCurrency")?);
    /// assert_eq!(engine.search(&largest_first)?.ids().collect::<Vec<_>>(), ["c", "a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ErrorKind::PageTooLarge`](crate::ErrorKind::PageTooLarge) if the limit exceeds [`Limits::page`](crate::Limits::page) of
    ///   the engine.
    /// - [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch) if the catalogue of the filter is not
    ///   [within](crate::Catalog::is_within) the catalogue of the engine, or hides a sort field. This is a mistake of the calling
    ///   program.
    /// - [`ErrorKind::BadCursor`](crate::ErrorKind::BadCursor) if the [cursor](SearchRequest::with_after) belongs to another order
    ///   or another catalogue.
    /// - [`ErrorKind::BadValue`](crate::ErrorKind::BadValue) if the request has both a cursor and an offset.
    /// - [`ErrorKind::StringTooLong`](crate::ErrorKind::StringTooLong) if the cursor that the request asks for would be longer than
    ///   [`Cursor::MAX_BYTES`](crate::Cursor::MAX_BYTES).
    /// - [`ErrorKind::SearchCancelled`](crate::ErrorKind::SearchCancelled) or
    ///   [`ErrorKind::DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded) if the search was
    ///   [cancelled](SearchRequest::with_cancel) or stopped at its [deadline](SearchRequest::with_deadline).
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Error> {
        Ok(SearchAnswer::of_rows(self.find(request)?, request))
    }

    /// Finds the rows of a page.
    pub(crate) fn find(&self, request: &SearchRequest) -> Result<FoundRows, Error> {
        request.check_page(&self.limits)?;
        self.find_any_page(request)
    }

    /// Finds the rows of a page of any size.
    pub(crate) fn find_any_page(&self, request: &SearchRequest) -> Result<FoundRows, Error> {
        self.find_in(&self.current.load(), request)
    }

    /// Finds the rows of a page of any size in a snapshot.
    pub(crate) fn find_in(&self, snapshot: &Snapshot, request: &SearchRequest) -> Result<FoundRows, Error> {
        find_in(&self.catalog, self.keep, snapshot, request)
    }

    /// Returns the document with this id. Returns `None` if no document has the id. The text is empty if the engine does not keep
    /// documents.
    ///
    /// The call takes about a microsecond, because the id is looked up in an index. If the document must also be selected by a
    /// filter, such as the filter of a tenant, call [`search`](Self::search) with this filter and the id. See [the
    /// guide](crate::guide::embedding#get-one-document-by-its-id).
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert(br#"{"id":"a","tags":["vip"]}"#)?;
    /// assert_eq!(engine.get("a").as_deref(), Some(r#"{"id":"a","tags":["vip"]}"#));
    /// assert_eq!(engine.get("b"), None);
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    #[must_use]
    pub fn get(&self, id: &str) -> Option<String> {
        let found = self.find_any_page(&request_for(self.catalog(), id)?).ok()?;
        (found.len() > 0).then(|| found.document(0).to_owned())
    }

    /// Returns true if there is a document with this id.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert(br#"{"id":"a"}"#)?;
    /// assert!(engine.contains("a") && !engine.contains("b"));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        let found = request_for(self.catalog(), id).and_then(|request| self.find_any_page(&request).ok());
        found.is_some_and(|found| found.len() > 0)
    }

    /// Counts the documents that the filter selects. A [`SearchRequest`] with a limit of 0 and a count has the same result, and can
    /// also have a deadline.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.count(&Filter::all(engine.catalog()))?, 0);
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch) under the same conditions as
    /// [`search`](Self::search).
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let answer = self.search(&SearchRequest::new(filter.clone()).with_limit(0).with_count(true))?;
        Ok(answer.total().unwrap_or(0))
    }

    /// Checks a request, and returns its sort keys.
    pub(crate) fn check(&self, request: &SearchRequest) -> Result<SortKeys, Error> {
        request.check_page(&self.limits)?;
        request.check(&self.catalog, ENGINE)
    }
}

/// Finds the rows of a page of any size in a snapshot of an engine with this catalogue.
pub(super) fn find_in(
    catalog: &Catalog,
    keep: Keep,
    snapshot: &Snapshot,
    request: &SearchRequest,
) -> Result<FoundRows, Error> {
    let keys = request.check(catalog, ENGINE)?;
    let view = snapshot.view(catalog, keep);
    let stop = request.stop.check();
    let watch = Watch { trace: None, stop: stop.as_ref() };
    let outcome = run(CheckedRequest { catalog, request, keys: &keys }, view, watch)?;
    FoundRows::new(catalog, (snapshot, view), &keys, outcome)
}

/// Returns the request for the document with this id. Returns `None` if no document can have the id.
pub(crate) fn request_for(catalog: &Catalog, id: &str) -> Option<SearchRequest> {
    Filter::of_id(catalog, id).map(|filter| SearchRequest::new(filter).with_limit(1))
}
