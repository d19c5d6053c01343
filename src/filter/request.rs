//! A search request: a filter, an order and a page.

use super::compiled::Filter;
use super::cursor::Cursor;
use super::order::{Order, SortKeys};
use super::params::{DEFAULT_PAGE, Paging, offset_with_cursor, page_too_large};
use crate::catalog::Catalog;
use crate::error::Error;
use crate::limits::Limits;
use crate::stop::{CancelToken, Deadline, StopConditions};

/// A search request: a filter, an order and a page.
///
/// [`FilterBuilder::request`](crate::FilterBuilder::request) and [`FilterCache::request`](crate::FilterCache::request) parse the
/// request of a client.
///
/// A search checks its request at the start. The catalogue of the filter must fit the catalogue of the engine, and must not hide a
/// sort field. The page must be within [`Limits::page`].
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
    /// True to get a [cursor](crate::SearchAnswer::next) with the answer, unless the page is the last page.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub cursor: bool,
    /// The cursor after which the page begins. The offset must then be 0.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub after: Option<Cursor>,
    /// The token and the deadline that may stop the search.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) stop: StopConditions,
}

impl SearchRequest {
    /// Creates the request for the first [`DEFAULT_PAGE`] documents that the filter selects, in insertion order, without a count.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            order: None,
            offset: 0,
            limit: DEFAULT_PAGE,
            count: false,
            cursor: false,
            after: None,
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

    /// Requests a cursor for the next page if `cursor` is true. [`SearchAnswer::next`](crate::SearchAnswer::next) returns it, and
    /// the JSON form has it as `pageInfo.next`. The last page has no cursor. See [`Cursor`].
    #[must_use]
    pub fn with_cursor(self, cursor: bool) -> Self {
        Self { cursor, ..self }
    }

    /// Requests the page after a cursor. It costs about as much as the first page, however many documents come before it.
    ///
    /// The total counts all selected documents, also those before the cursor. The search returns an error if the request has an
    /// offset, or if the cursor belongs to another order or another catalogue.
    #[must_use]
    pub fn with_after(self, after: impl Into<Option<Cursor>>) -> Self {
        Self { after: after.into(), ..self }
    }

    /// Requests a count of all selected documents if `count` is true.
    #[must_use]
    pub fn with_count(self, count: bool) -> Self {
        Self { count, ..self }
    }

    /// Sets order, page, count and cursor at once.
    #[must_use]
    pub fn with_paging(self, paging: Paging) -> Self {
        let Paging { order, offset, limit, count, cursor, after } = paging;
        Self { order, offset, limit, count, cursor, after, ..self }
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
    /// Checks that the filter, the order and the cursor fit `catalog`, and returns the sort keys of the order. `whose` names the
    /// owner of the catalogue in the message.
    ///
    /// # Errors
    /// - [`ErrorKind::CatalogMismatch`](crate::ErrorKind) if the filter was compiled for a different catalogue, or if its catalogue
    ///   hides a sort field.
    /// - [`ErrorKind::BadCursor`](crate::ErrorKind) if the cursor belongs to another order or another catalogue.
    /// - [`ErrorKind::BadValue`](crate::ErrorKind) if the request has a cursor and an offset.
    #[inline]
    pub(crate) fn check(&self, catalog: &Catalog, whose: &str) -> Result<SortKeys, Error> {
        self.filter.catalog().check_within(catalog, whose)?;
        let keys = match &self.order {
            Some(order) => order.keys_in(self.filter.catalog())?,
            None => SortKeys::new(),
        };
        if let Some(after) = &self.after {
            if self.offset > 0 {
                return Err(offset_with_cursor());
            }
            after.check(catalog, &keys)?;
        }
        Ok(keys)
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
