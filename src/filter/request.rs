//! A search request: a filter, an order and a page.

use super::compiled::Filter;
use super::order::{Order, SortKey};
use super::params::{DEFAULT_PAGE, Paging, page_too_large};
use crate::catalog::Catalog;
use crate::error::Error;
use crate::limits::Limits;
use crate::stop::{CancelToken, Deadline, StopConditions};

/// A search request: a filter, an order and a page.
///
/// [`FilterBuilder::request`](crate::FilterBuilder::request) and [`FilterCache::request`](crate::FilterCache::request) parse the
/// request of a client.
///
/// A search checks its request at the start. The catalogue of the filter must fit the catalogue of the engine, and must not hide
/// the sort field. The page must be within [`Limits::page`].
///
/// ```
/// use casefilter::{Catalog, Filter, Order, SearchRequest};
/// let catalog = Catalog::cases();
/// let newest = SearchRequest::new(Filter::compile_text(&catalog, "status = open")?)
///     .with_order(Order::parse(&catalog, "-createdAt")?)
///     .with_limit(20)
///     .with_count(true);
/// assert_eq!(newest.limit, 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SearchRequest {
    /// The filter that selects the documents.
    pub filter: Filter,
    /// The order of the documents. `None` is the order in which they were first stored.
    pub order: Option<Order>,
    /// The number of documents before the page.
    pub offset: u64,
    /// The maximum number of documents on the page.
    pub limit: u64,
    /// True to count all selected documents.
    pub count: bool,
    /// The token and the deadline that may stop the search.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) stop: StopConditions,
}

impl SearchRequest {
    /// Creates the request for the first [`DEFAULT_PAGE`] documents that the filter selects, in stored order, without a count.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            order: None,
            offset: 0,
            limit: DEFAULT_PAGE,
            count: false,
            stop: StopConditions::default(),
        }
    }

    /// Sets the order. `None` is the order in which documents were first stored.
    #[must_use]
    pub fn with_order(self, order: impl Into<Option<Order>>) -> Self {
        Self { order: order.into(), ..self }
    }

    /// Sets the number of documents before the page.
    #[must_use]
    pub fn with_offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Sets the maximum number of documents on the page.
    #[must_use]
    pub fn with_limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// Requests a count of all selected documents if `count` is true.
    #[must_use]
    pub fn with_count(self, count: bool) -> Self {
        Self { count, ..self }
    }

    /// Sets order, page and count at once.
    #[must_use]
    pub fn with_paging(self, paging: Paging) -> Self {
        let Paging { order, offset, limit, count } = paging;
        Self { order, offset, limit, count, ..self }
    }

    /// Sets the token that can cancel the search. A cancelled search returns [`ErrorKind::SearchCancelled`](crate::ErrorKind)
    /// within about a millisecond. It never returns a partial answer.
    ///
    /// ```
    /// use casefilter::{CancelToken, Catalog, Filter, SearchRequest};
    /// let token = CancelToken::new();
    /// let request = SearchRequest::new(Filter::all(&Catalog::cases())).with_cancel(token.clone());
    /// token.cancel(); // From any thread.
    /// # let _ = request;
    /// ```
    #[must_use]
    pub fn with_cancel(self, token: impl Into<Option<CancelToken>>) -> Self {
        Self { stop: StopConditions { cancel: token.into(), ..self.stop }, ..self }
    }

    /// Sets the deadline of the search. A search that exceeds it returns [`ErrorKind::DeadlineExceeded`](crate::ErrorKind) within
    /// about a millisecond. It never returns a partial answer. If the search is already complete when the deadline passes, it
    /// returns its answer.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// use casefilter::{Catalog, Deadline, Filter, SearchRequest};
    /// let end = Instant::now() + Duration::from_secs(2);
    /// let request = SearchRequest::new(Filter::all(&Catalog::cases())).with_deadline(Deadline::new(move || Instant::now() >=
    /// end));
    /// # let _ = request;
    /// ```
    #[must_use]
    pub fn with_deadline(self, deadline: impl Into<Option<Deadline>>) -> Self {
        Self { stop: StopConditions { deadline: deadline.into(), ..self.stop }, ..self }
    }
}

impl SearchRequest {
    /// Checks that the filter and the order fit `catalog`, and returns the sort key of the order. `whose` names the owner of the
    /// catalogue in the message.
    ///
    /// # Errors
    /// Returns [`ErrorKind::CatalogMismatch`] if the filter was compiled for a different catalogue, or if its catalogue hides the
    /// sort field.
    #[inline]
    pub(crate) fn check(&self, catalog: &Catalog, whose: &str) -> Result<Option<SortKey>, Error> {
        self.filter.catalog().check_within(catalog, whose)?;
        self.order.as_ref().map(|order| order.key_in(self.filter.catalog())).transpose()
    }

    /// Checks the size of the page against the limits.
    ///
    /// # Errors
    /// Returns [`ErrorKind::PageTooLarge`] if the page exceeds [`Limits::page`].
    #[inline]
    pub(crate) fn check_page(&self, limits: &Limits) -> Result<(), Error> {
        if self.limit <= limits.page {
            Ok(())
        } else {
            Err(page_too_large(self.limit.to_string().into(), limits))
        }
    }
}
