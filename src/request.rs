//! A search request: a filter, an order, and the page that is wanted.

use crate::cache::FilterCache;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::filter::Filter;
use crate::limits::Limits;
use crate::order::Order;

/// How many cases a page has when the request does not say.
pub const DEFAULT_PAGE: u64 = 100;

/// A search request that cannot fail.
///
/// ```
/// use casefilter::{Catalog, Filter, Order, Request};
/// let catalog = Catalog::cases();
/// let newest = Request::new(Filter::compile_text(&catalog, "status = open")?)
///     .order(Order::parse(&catalog, "-createdAt")?)
///     .limit(20)
///     .count(true);
/// assert_eq!(newest.limit, 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which cases.
    pub filter: Filter,
    /// In which order; none is the order in which cases were first stored.
    pub order: Option<Order>,
    /// How many cases to pass over.
    pub offset: u64,
    /// How many cases to give at most.
    pub limit: u64,
    /// Whether to count all selected cases.
    pub count: bool,
}

/// The parameters of a request as text, as a query string has them. Absent ones are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params<'a> {
    /// `offset`, a non-negative decimal integer; 0 when absent.
    pub offset: Option<&'a str>,
    /// `limit`, a non-negative decimal integer; [`DEFAULT_PAGE`] when absent.
    pub limit: Option<&'a str>,
    /// `order`, as [`Order::parse`] reads it.
    pub order: Option<&'a str>,
    /// `countTotalItems`, `true` or `false`; `false` when absent.
    pub count: Option<&'a str>,
}

impl Request {
    /// The first page of the cases that the filter selects, in stored order, not counted.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self { filter, order: None, offset: 0, limit: DEFAULT_PAGE, count: false }
    }

    /// The same request in this order.
    #[must_use]
    pub fn order(self, order: Option<Order>) -> Self {
        Self { order, ..self }
    }

    /// The same request passing over this many cases.
    #[must_use]
    pub fn offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// The same request giving at most this many cases.
    #[must_use]
    pub fn limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// The same request, the selected cases counted or not.
    #[must_use]
    pub fn count(self, count: bool) -> Self {
        Self { count, ..self }
    }

    /// Compiles a body and reads the parameters beside it.
    ///
    /// ```
    /// use casefilter::{Catalog, Limits, Params, Request};
    /// let params = Params { limit: Some("ten"), order: Some("tags"), ..Params::default() };
    /// let errors = Request::parse(&Catalog::cases(), &Limits::default(), b"{}", &params).unwrap_err();
    /// let kinds: Vec<_> = errors.as_slice().iter().map(|error| error.kind.code()).collect();
    /// assert_eq!(kinds, ["empty_body", "bad_integer", "order_by_many"]);
    /// ```
    ///
    /// # Errors
    /// Everything wrong with body and parameters, the body's first, ten at most.
    pub fn parse(
        catalog: &Catalog,
        limits: &Limits,
        body: &[u8],
        params: &Params<'_>,
    ) -> Result<Self, Errors> {
        let filter = Filter::compile_with(catalog, limits, body);
        Self::with_params(catalog, limits, filter, params)
    }

    /// As [`parse`](Self::parse), the filter taken from a cache where it holds the body.
    ///
    /// ```
    /// use casefilter::{Catalog, FilterCache, Limits, Params, Request};
    /// let cache = FilterCache::new(Catalog::cases(), Limits::default(), 16 << 20);
    /// let body = br#"{"ids":["a"]}"#;
    /// let first = Request::parse_cached(&cache, body, &Params::default())?;
    /// let second = Request::parse_cached(&cache, body, &Params { limit: Some("5"), ..Params::default() })?;
    /// assert_eq!((first.limit, second.limit, cache.stats().hits), (100, 5, 1));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Everything wrong with body and parameters, the body's first, ten at most.
    pub fn parse_cached(cache: &FilterCache, body: &[u8], params: &Params<'_>) -> Result<Self, Errors> {
        Self::with_params(cache.catalog(), cache.limits(), cache.compile(body), params)
    }

    /// A request for a filter that was, or was not, compiled, with the parameters beside it.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Limits, Params, Request};
    /// let (catalog, limits) = (Catalog::cases(), Limits::default());
    /// let filter = Filter::compile_text(&catalog, "tags in (cash)");
    /// let request = Request::with_params(&catalog, &limits, filter, &Params { offset: Some("20"), ..Params::default() })?;
    /// assert_eq!((request.offset, request.limit), (20, 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the filter, and everything wrong with the parameters, ten at most.
    pub fn with_params(
        catalog: &Catalog,
        limits: &Limits,
        filter: Result<Filter, Errors>,
        params: &Params<'_>,
    ) -> Result<Self, Errors> {
        let mut errors = Vec::new();
        let mut take = |result: Result<u64, Error>| {
            result.unwrap_or_else(|error| {
                errors.push(error);
                0
            })
        };
        let offset = take(integer("offset", params.offset, 0));
        let limit = take(
            integer("limit", params.limit, DEFAULT_PAGE.min(limits.page))
                .and_then(|limit| page(limit, params.limit, limits)),
        );
        let order = Order::parse(catalog, params.order.unwrap_or_default()).unwrap_or_else(|error| {
            errors.push(error);
            None
        });
        let count = match params.count {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                errors.push(
                    Error::new(ErrorKind::BadFlag, 0, quote(other), "`true` or `false`")
                        .at("countTotalItems"),
                );
                false
            }
        };
        match (filter, Errors::in_order(errors)) {
            (Ok(filter), None) => Ok(Self { filter, order, offset, limit, count }),
            (Ok(_), Some(errors)) | (Err(errors), None) => Err(errors),
            (Err(first), Some(second)) => Err(first.followed_by(second)),
        }
    }
}

fn page(limit: u64, text: Option<&str>, limits: &Limits) -> Result<u64, Error> {
    if limit <= limits.page {
        return Ok(limit);
    }
    let found = match text {
        Some(text) if text.parse::<u64>().is_err() => quote(text),
        _ => limit.to_string(),
    };
    let error = Error::new(ErrorKind::PageTooLarge, 0, found, format!("at most {}", limits.page));
    Err(error.at("limit"))
}

/// The integer that a text with separators, or with a `k` for thousands, stands for.
fn meant_integer(text: &str) -> Option<String> {
    let text = text.trim();
    let (digits, thousands) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, "000"),
        None => (text, ""),
    };
    let digits: String = digits.chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    let is_integer = (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer.then(|| format!("{digits}{thousands}"))
}

/// A non-negative decimal integer; one too large for 64 bits counts as the largest.
fn integer(name: &str, text: Option<&str>, absent: u64) -> Result<u64, Error> {
    let Some(text) = text else { return Ok(absent) };
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        let error = Error::new(ErrorKind::BadInteger, 0, quote(text), "a non-negative decimal integer");
        return Err(error.suggest(meant_integer(text).as_deref().map(quote)).at(name));
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}
