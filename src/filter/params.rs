//! Parses the parameters of a request: `offset`, `limit`, `order`, `countTotalItems`, `pageCursor` and `after`.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::order::{Order, SortKeys};
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Errors, Found, nearest, quote, quote_all};
use crate::limits::Limits;

/// The number of documents on a page if the request does not specify `limit`.
pub const DEFAULT_PAGE: u64 = 100;

/// The parameters of a request as text, as in a query string.
///
/// With the feature `serde`, the members are `offset`, `limit`, `order`, `countTotalItems`, `pageCursor` and `after`. Each member
/// is an optional string. Other members are ignored. To reject other members, or to use other names, deserialise a type of your own
/// and call the setters; see [the guide](crate::guide::embedding#a-handler-of-your-own). The path of an error of
/// [`parse`](Self::parse) is always one of the names above.
///
/// ```
/// use casefilter::{Catalog, Limits, SearchParams};
/// let paging = SearchParams::new().order("-createdAt").limit("20").parse(&Catalog::cases(), &Limits::default())?;
/// assert_eq!((paging.offset, paging.limit, paging.count), (0, 20, false));
/// # Ok::<(), casefilter::Errors>(())
/// ```
///
/// `pageCursor`, `after`, and an `order` by several fields are parameters only if the catalogue is
/// [extended](Catalog::extended). For any other catalogue, they are errors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct SearchParams<'a> {
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    offset: Option<Cow<'a, str>>,
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    limit: Option<Cow<'a, str>>,
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    order: Option<Cow<'a, str>>,
    #[cfg_attr(
        feature = "serde",
        serde(rename = "countTotalItems", skip_serializing_if = "Option::is_none")
    )]
    count: Option<Cow<'a, str>>,
    #[cfg_attr(feature = "serde", serde(rename = "pageCursor", skip_serializing_if = "Option::is_none"))]
    cursor: Option<Cow<'a, str>>,
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    after: Option<Cow<'a, str>>,
}

/// The order and the page of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Paging {
    /// The order of the documents. `None` is the order in which they were first stored.
    pub order: Option<Order>,
    /// The number of documents before the page.
    pub offset: u64,
    /// The maximum number of documents on the page.
    pub limit: u64,
    /// True to count all selected documents.
    pub count: bool,
    /// True to return a cursor.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub cursor: bool,
    /// The cursor after which the page begins.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub after: Option<Cursor>,
}

impl<'a> SearchParams<'a> {
    /// Creates parameters, none of which is set. They request the first [`DEFAULT_PAGE`] documents in insertion order, without a
    /// count.
    ///
    /// If [`Limits::page`] is smaller than [`DEFAULT_PAGE`], they request [`Limits::page`] documents.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads parameters from the decoded names and values of a query string. Unlike deserialising, it rejects unknown and repeated
    /// names.
    ///
    /// ```
    /// use casefilter::SearchParams;
    /// let params = SearchParams::from_pairs([("limit", "20"), ("countTotalItems", "true")])?;
    /// assert_eq!(params, SearchParams::new().limit("20").count("true"));
    /// let errors = SearchParams::from_pairs([("limt", "20")]).unwrap_err();
    /// assert_eq!(errors.as_slice()[0].suggestion.as_ref().unwrap().replacement(), Some("limit"));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error for each name that is not a parameter ([`ErrorKind::UnknownKey`]) or occurs twice
    /// ([`ErrorKind::DuplicateKey`]); ten at most. [`parse`](Self::parse) checks the values.
    pub fn from_pairs<N: AsRef<str>, V: Into<Cow<'a, str>>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, Errors> {
        let mut params = Self::new();
        let mut errors = Vec::new();
        for (name, value) in pairs {
            let name = name.as_ref();
            let own = match name {
                "offset" => &mut params.offset,
                "limit" => &mut params.limit,
                "order" => &mut params.order,
                "countTotalItems" => &mut params.count,
                "pageCursor" => &mut params.cursor,
                "after" => &mut params.after,
                _ => {
                    errors.push(unknown_name(name, &EXTENDED_NAMES));
                    continue;
                }
            };
            if own.replace(value.into()).is_some() {
                let found = format!("the query parameter {} again", quote(name));
                errors.push(
                    Error::new(ErrorKind::DuplicateKey, 0, found, "each parameter at most once").at(name),
                );
            }
        }
        Errors::in_order(errors).map_or(Ok(params), Err)
    }

    /// Sets `offset`, a non-negative decimal integer of at most 64 bits.
    #[must_use]
    pub fn offset(self, text: impl Into<Option<&'a str>>) -> Self {
        Self { offset: text.into().map(Cow::Borrowed), ..self }
    }

    /// Sets `limit`, a non-negative decimal integer of at most [`Limits::page`].
    #[must_use]
    pub fn limit(self, text: impl Into<Option<&'a str>>) -> Self {
        Self { limit: text.into().map(Cow::Borrowed), ..self }
    }

    /// Sets `order`, in the syntax of [`Order::parse`].
    #[must_use]
    pub fn order(self, text: impl Into<Option<&'a str>>) -> Self {
        Self { order: text.into().map(Cow::Borrowed), ..self }
    }

    /// Sets `countTotalItems`, `true` or `false`. The answer has the count as [`total`](crate::SearchAnswer::total), in JSON as
    /// `totalItems`.
    #[must_use]
    pub fn count(self, text: impl Into<Option<&'a str>>) -> Self {
        Self { count: text.into().map(Cow::Borrowed), ..self }
    }

    /// Sets `pageCursor`: `true` asks for a cursor to the next page. The answer has it as [`next`](crate::SearchAnswer::next), in
    /// JSON as `pageInfo.next`.
    #[must_use]
    pub fn cursor(self, text: impl Into<Option<&'a str>>) -> Self {
        Self { cursor: text.into().map(Cow::Borrowed), ..self }
    }

    /// Sets `after`, the text of a [`Cursor`]. A request with `after` must not have an `offset`.
    #[must_use]
    pub fn after(self, text: impl Into<Option<&'a str>>) -> Self {
        Self { after: text.into().map(Cow::Borrowed), ..self }
    }

    /// Parses the parameters. Pass the result to [`SearchRequest::with_paging`](crate::SearchRequest::with_paging).
    ///
    /// ```
    /// use casefilter::{Catalog, Errors, Filter, Limits, SearchRequest, SearchParams};
    /// let catalog = Catalog::cases();
    /// let filter = Filter::compile_text(&catalog, "tags in (cash)");
    /// let paging = SearchParams::new().offset("20").parse(&catalog, &Limits::default());
    /// let (filter, paging) = Errors::both(filter, paging)?;
    /// let request = SearchRequest::new(filter).with_paging(paging);
    /// assert_eq!((request.offset, request.limit), (20, 100));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Returns all errors in the parameters.
    pub fn parse(&self, catalog: &Catalog, limits: &Limits) -> Result<Paging, Errors> {
        let mut errors = Vec::new();
        let mut take = |result: Result<u64, Error>| {
            result.unwrap_or_else(|error| {
                errors.push(error);
                0
            })
        };
        let offset = take(offset(self.offset.as_deref()));
        let limit = take(page(self.limit.as_deref(), limits));
        let order = Order::parse(catalog, self.order.as_deref().unwrap_or_default());
        let order = order.map_err(|error| errors.push(error));
        let mut flag = |name: &str, text: Option<&str>| match text {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                errors.push(Error::new(ErrorKind::BadFlag, 0, quote(other), "`true` or `false`").at(name));
                false
            }
        };
        let count = flag("countTotalItems", self.count.as_deref());
        let (mut cursor, mut after) = (false, None);
        if catalog.is_extended() {
            cursor = flag("pageCursor", self.cursor.as_deref());
            match self.parsed_after(catalog, order.as_ref().ok()) {
                Ok(own) => after = own,
                Err(error) => errors.push(error),
            }
        } else {
            let given = [("pageCursor", &self.cursor), ("after", &self.after)];
            let given = given.iter().filter(|(_, text)| text.is_some());
            errors.extend(given.map(|(name, _)| unknown_name(name, &NAMES).at(*name)));
        }
        match (Errors::in_order(errors), order) {
            (None, Ok(order)) => Ok(Paging { order, offset, limit, count, cursor, after }),
            (Some(errors), _) => Err(errors),
            // Unreachable, because an invalid order has added an error to `errors`.
            (None, Err(())) => Err(Errors::from(unknown_name("order", &NAMES))),
        }
    }

    /// Parses `after`, and checks that the cursor belongs to the order. If the parameter `order` has an error, the argument `order`
    /// is `None`, and this check is left out.
    fn parsed_after(
        &self,
        catalog: &Catalog,
        order: Option<&Option<Order>>,
    ) -> Result<Option<Cursor>, Error> {
        let Some(text) = self.after.as_deref() else { return Ok(None) };
        let cursor = Cursor::parse(text)?;
        if self.offset.is_some() {
            return Err(offset_with_cursor());
        }
        if let Some(order) = order {
            let keys = order.as_ref().map(|order| order.keys_in(catalog)).transpose()?;
            cursor.check(catalog, &keys.unwrap_or_else(SortKeys::new))?;
        }
        Ok(Some(cursor))
    }
}

/// The names of the parameters that every catalogue has.
const NAMES: [&str; 4] = ["offset", "limit", "order", "countTotalItems"];

/// The names of all parameters.
const EXTENDED_NAMES: [&str; 6] = ["offset", "limit", "order", "countTotalItems", "pageCursor", "after"];

/// Returns the error for a name that is not one of `names`.
fn unknown_name(name: &str, names: &[&'static str]) -> Error {
    let found = format!("the query parameter {}", quote(name));
    let mut expected = format!("one of {}", quote_all(NAMES));
    if names.len() > NAMES.len() {
        expected.push_str(", or with an extended catalogue `pageCursor` or `after`");
    }
    let near = other_name(name).or_else(|| nearest(name, names.iter().copied())).map(quote);
    Error::new(ErrorKind::UnknownKey, 0, found, expected).suggest(near)
}

/// Returns the parameter that has this name in other interfaces. For example, `skip` is a name of `offset`.
fn other_name(name: &str) -> Option<&'static str> {
    match name.to_lowercase().replace(['_', '-', '$'], "").as_str() {
        "count" | "total" | "totalcount" | "withtotal" | "totalitems" => Some("countTotalItems"),
        "skip" | "start" | "startat" | "from" => Some("offset"),
        "size" | "pagesize" | "perpage" | "top" | "take" | "max" | "maxresults" => Some("limit"),
        "sort" | "sortby" | "orderby" => Some("order"),
        _ => None,
    }
}

/// Parses `limit`. It must not exceed the largest page.
fn page(text: Option<&str>, limits: &Limits) -> Result<u64, Error> {
    let Some(text) = text else { return Ok(DEFAULT_PAGE.min(limits.page)) };
    match digits("limit", text)?.parse::<u64>() {
        Ok(limit) if limit <= limits.page => Ok(limit),
        Ok(limit) => Err(page_too_large(limit.to_string().into(), limits)),
        Err(_) => Err(page_too_large(Found::text(text), limits)),
    }
}

/// Parses `offset`, an integer of at most 64 bits. Returns 0 if it is absent.
fn offset(text: Option<&str>) -> Result<u64, Error> {
    let Some(text) = text else { return Ok(0) };
    digits("offset", text)?.parse().map_err(|_| {
        let expected = format!("a non-negative decimal integer, at most {}", u64::MAX);
        Error::new(ErrorKind::BadInteger, 0, quote(text), expected).at("offset")
    })
}

/// Returns the integer that the client probably meant by a text with separators between digits, or with a `k` for thousands.
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

/// Returns `text` if it consists of one or more decimal digits.
fn digits<'t>(name: &str, text: &'t str) -> Result<&'t str, Error> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text);
    }
    let error = Error::new(ErrorKind::BadInteger, 0, quote(text), "a non-negative decimal integer");
    Err(error.suggest(meant_integer(text).as_deref().map(quote)).at(name))
}

/// Returns the error for a page that exceeds [`Limits::page`].
pub(super) fn page_too_large(found: Found, limits: &Limits) -> Error {
    Error::new(ErrorKind::PageTooLarge, 0, found, format!("at most {}", limits.page)).at("limit")
}

/// Returns the error for a page with both an offset and a cursor.
pub(super) fn offset_with_cursor() -> Error {
    let expected = "no `offset`, since `after` says where the page begins";
    Error::new(ErrorKind::BadValue, 0, "an `offset` beside `after`", expected).at("offset")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Suggestion;

    fn parsed(params: &SearchParams<'_>, limits: &Limits) -> Result<(u64, u64), String> {
        let paging = params.parse(&Catalog::cases(), limits);
        paging.map(|paging| (paging.offset, paging.limit)).map_err(|errors| errors.to_string())
    }

    #[test]
    fn unknown_and_repeated_names_are_all_rejected() {
        let pairs =
            [("limit", "1"), ("limit", "2"), ("count", "true"), ("Order", "id"), ("offset", "3"), ("", "")];
        let errors = SearchParams::from_pairs(pairs).unwrap_err();
        let found: Vec<(&str, Option<&str>)> = errors
            .iter()
            .map(|error| (error.kind.code(), error.suggestion.as_ref().and_then(Suggestion::replacement)))
            .collect();
        let unknown = "unknown_key";
        assert_eq!(
            found,
            [
                ("duplicate_key", None),
                (unknown, Some("countTotalItems")),
                (unknown, Some("order")),
                (unknown, None)
            ],
            "{errors}"
        );
        let owned = SearchParams::from_pairs(vec![("order".to_owned(), "-id".to_owned())]).unwrap();
        assert_eq!(owned, SearchParams::new().order("-id"));
        assert_eq!(SearchParams::from_pairs([("", ""); 0]).unwrap(), SearchParams::new());
        let many = SearchParams::from_pairs([("x", "y"); 20]).unwrap_err();
        assert_eq!(many.as_slice().len(), 10);
    }

    #[test]
    fn a_number_that_does_not_fit_is_rejected() {
        let unbounded = Limits { page: u64::MAX, ..Limits::default() };
        let of = |text: &str| parsed(&SearchParams::new().offset(text), &unbounded);
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
        let of = |text: &str| parsed(&SearchParams::new().limit(text), &unbounded);
        assert_eq!(of(largest), Ok((0, u64::MAX)));
        let error = of("18446744073709551616").unwrap_err();
        assert_eq!(
            error,
            format!("limit (byte 0): found `18446744073709551616`, expected at most {largest}")
        );
    }
}
