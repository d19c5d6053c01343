//! A search request: a filter, an order, and the page that is wanted.

use super::cache::FilterCache;
use super::compiled::Filter;
use super::order::{Order, SortKey};
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::limits::Limits;

/// The number of cases on a page when the request does not say.
pub const DEFAULT_PAGE: u64 = 100;

/// A search request: a filter, an order, and the page that is wanted.
///
/// A search checks it once: that the filter is of the engine's catalogue, that the catalogue of the filter shows the field
/// of the order, and that the page is within [`Limits::page`].
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
#[non_exhaustive]
pub struct Request {
    /// Which cases.
    pub filter: Filter,
    /// In which order; none is the order in which cases were first stored.
    pub order: Option<Order>,
    /// The number of cases to pass over.
    pub offset: u64,
    /// The largest number of cases to return.
    pub limit: u64,
    /// True to count all selected cases.
    pub count: bool,
}

/// The parameters of a request as text, as a query string has them. Absent ones are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params<'a> {
    /// `offset`, a non-negative decimal integer of at most 64 bits; 0 when absent.
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

    /// Like [`parse`](Self::parse), with the filter from a cache.
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
        let offset = take(offset(params.offset));
        let limit = take(page(params.limit, limits));
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

impl Request {
    /// Checks that the request can be answered from cases of `catalog`, and gives what they are to be sorted by. `whose` says
    /// what has the catalogue.
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`] when the filter is of another catalogue, or hides the field of the order.
    #[inline]
    pub(crate) fn check(&self, catalog: &Catalog, whose: &str) -> Result<Option<SortKey>, Error> {
        self.filter.catalog().check_within(catalog, whose)?;
        self.order.as_ref().map(|order| order.key_in(self.filter.catalog())).transpose()
    }

    /// Checks the page against the limits of what answers the request.
    ///
    /// # Errors
    /// [`ErrorKind::PageTooLarge`].
    #[inline]
    pub(crate) fn check_page(&self, limits: &Limits) -> Result<(), Error> {
        if self.limit <= limits.page { Ok(()) } else { Err(page_too_large(self.limit.to_string(), limits)) }
    }
}

/// Reads `limit`, at most the largest page.
fn page(text: Option<&str>, limits: &Limits) -> Result<u64, Error> {
    let Some(text) = text else { return Ok(DEFAULT_PAGE.min(limits.page)) };
    match digits("limit", text)?.parse::<u64>() {
        Ok(limit) if limit <= limits.page => Ok(limit),
        Ok(limit) => Err(page_too_large(limit.to_string(), limits)),
        Err(_) => Err(page_too_large(quote(text), limits)),
    }
}

fn page_too_large(found: String, limits: &Limits) -> Error {
    Error::new(ErrorKind::PageTooLarge, 0, found, format!("at most {}", limits.page)).at("limit")
}

/// Reads `offset`, which has to fit 64 bits.
fn offset(text: Option<&str>) -> Result<u64, Error> {
    let Some(text) = text else { return Ok(0) };
    digits("offset", text)?.parse().map_err(|_| {
        let expected = format!("a non-negative decimal integer, at most {}", u64::MAX);
        Error::new(ErrorKind::BadInteger, 0, quote(text), expected).at("offset")
    })
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

/// Returns `text` if it is one or more decimal digits.
fn digits<'t>(name: &str, text: &'t str) -> Result<&'t str, Error> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text);
    }
    let error = Error::new(ErrorKind::BadInteger, 0, quote(text), "a non-negative decimal integer");
    Err(error.suggest(meant_integer(text).as_deref().map(quote)).at(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(params: Params<'_>, limits: &Limits) -> Result<(u64, u64), String> {
        let request = Request::parse(&Catalog::cases(), limits, b"{\"ids\":[]}", &params);
        request.map(|request| (request.offset, request.limit)).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_number_that_does_not_fit_is_refused() {
        let unbounded = Limits { page: u64::MAX, ..Limits::default() };
        let of = |text: &str| parsed(Params { offset: Some(text), ..Params::default() }, &unbounded);
        let largest = "18446744073709551615";
        assert_eq!(of(largest), Ok((u64::MAX, DEFAULT_PAGE)));
        assert_eq!(of(&format!("000{largest}")), Ok((u64::MAX, DEFAULT_PAGE)));
        for text in ["18446744073709551616", "99999999999999999999", &"9".repeat(5_000)] {
            let error = of(text).unwrap_err();
            assert!(error.starts_with("offset (byte 0): found `"), "{error}");
            assert!(
                error.ends_with(&format!("a non-negative decimal integer, at most {largest}")),
                "{error}"
            );
        }
        let of = |text: &str| parsed(Params { limit: Some(text), ..Params::default() }, &unbounded);
        assert_eq!(of(largest), Ok((0, u64::MAX)));
        let error = of("18446744073709551616").unwrap_err();
        assert_eq!(
            error,
            format!("limit (byte 0): found `18446744073709551616`, expected at most {largest}")
        );
    }
}
