//! Compiles JSON bodies and filter texts to filters.

use chrono::FixedOffset;

use super::bytes::body_text;
use super::compiled::{Filter, Origin};
use super::params::SearchParams;
use super::request::SearchRequest;
use crate::catalog::Catalog;
use crate::criteria::text::Parsed;
use crate::criteria::{self, Body, Holds};
use crate::error::{Error, ErrorKind, Errors};
use crate::json;
use crate::limits::Limits;
use crate::operator::Grammar;
use crate::predicate::{self, Tree};
use crate::value::{Clock, Timestamp, ValueClass};

/// A compiler of filters for one catalogue, with [`Limits`] that the host chooses.
///
/// With the default limits, [`Filter::compile`] and [`Filter::compile_text`] are shorter.
///
/// ```
/// use casefilter::{Catalog, FilterBuilder, Limits};
/// let builder = FilterBuilder::new(&Catalog::cases()).with_limits(Limits::default().with_ids(1));
/// assert!(builder.json(br#"{"ids":["a"]}"#).is_ok());
/// assert!(builder.json(br#"{"ids":["a","b"]}"#).is_err());
/// assert!(builder.text("ids (a)").is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct FilterBuilder {
    catalog: Catalog,
    limits: Limits,
    clock: Clock,
}

impl FilterBuilder {
    /// Returns a builder for this catalogue with the default limits. [`for_engine`](Self::for_engine) takes the catalogue and the
    /// limits of an engine or store.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        Self { catalog: catalog.clone(), limits: Limits::default(), clock: Clock::default() }
    }

    /// Sets the limits of bodies, texts and pages.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the current time, which `now` and `today` in a [`text`](Self::text) use. Without a current time, these words are
    /// errors.
    ///
    /// Compilation replaces these words by fixed instants, so the filter uses the same times in every evaluation.
    ///
    /// ```
    /// use casefilter::{Catalog, FilterBuilder, Timestamp};
    /// let now = Timestamp::parse("2025-12-08 09:30:00")?;
    /// let builder = FilterBuilder::new(&Catalog::cases()).now(now);
    /// let text = builder.text("createdAt >= now - 7d and updatedAt on today").unwrap().to_text();
    /// assert_eq!(
    ///     text,
    ///     r#"createdAt >= "2025-12-01 09:30:00" and updatedAt >= "2025-12-08 00:00:00" and updatedAt < "2025-12-09 00:00:00""#
    /// );
    /// # Ok::<(), casefilter::ParseTimestampError>(())
    /// ```
    #[must_use]
    pub fn now(mut self, now: Timestamp) -> Self {
        self.clock.now = Some(now);
        self
    }

    /// Sets the time zone of the days in a [`text`](Self::text), such as `2025-12-01` and `today`, as an offset from UTC. The
    /// default is UTC.
    ///
    /// ```
    /// use casefilter::{Catalog, FilterBuilder};
    /// let offset = chrono::FixedOffset::east_opt(2 * 3600).ok_or("out of range")?;
    /// let builder = FilterBuilder::new(&Catalog::cases()).utc_offset(offset);
    /// assert_eq!(builder.text("createdAt < 2025-12-01")?.to_text(), r#"createdAt < "2025-11-30 22:00:00""#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn utc_offset(mut self, offset: FixedOffset) -> Self {
        self.clock.offset_s = offset.local_minus_utc();
        self
    }

    /// Returns the catalogue that filters are compiled for.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the limits of bodies, texts and pages.
    ///
    /// ```
    /// use casefilter::{Catalog, FilterBuilder, Limits};
    /// let builder = FilterBuilder::new(&Catalog::cases()).with_limits(Limits::default().with_ids(1));
    /// assert_eq!(builder.limits().ids, 1);
    /// ```
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Compiles a JSON body.
    ///
    /// Takes linear time and memory in the length of the body, apart from sorting.
    ///
    /// # Errors
    /// Returns the first ten errors in the body, in document order.
    pub fn json(&self, body: &[u8]) -> Result<Filter, Errors> {
        of_json(&self.catalog, self.catalog.grammar(), &self.limits, body)
    }

    /// Compiles a filter in the text syntax. To insert values into the text, see [`Filter::quote`]. For times in the text, see
    /// [`now`](Self::now) and [`utc_offset`](Self::utc_offset).
    ///
    /// # Errors
    /// Returns the first ten errors in the text, in order. Offsets are bytes of `text`.
    pub fn text(&self, text: &str) -> Result<Filter, Errors> {
        of_text(&self.catalog, self.clock, &self.limits, text)
    }

    /// Compiles a JSON body and parses the parameters of the same request.
    ///
    /// ```
    /// use casefilter::{Catalog, FilterBuilder, SearchParams};
    /// let params = SearchParams::new().limit("ten").order("tags");
    /// let errors = FilterBuilder::new(&Catalog::cases()).request(b"{}", &params).unwrap_err();
    /// let kinds: Vec<_> = errors.as_slice().iter().map(|error| error.kind.code()).collect();
    /// assert_eq!(kinds, ["empty_body", "bad_integer", "order_by_many"]);
    /// ```
    ///
    /// # Errors
    /// Returns the first ten errors in the body and the parameters. Errors of the body come first.
    pub fn request(&self, body: &[u8], params: &SearchParams<'_>) -> Result<SearchRequest, Errors> {
        let (filter, paging) = Errors::both(self.json(body), params.parse(&self.catalog, &self.limits))?;
        Ok(SearchRequest::new(filter).with_paging(paging))
    }
}

impl Filter {
    /// Compiles a JSON body with the default [`Limits`]. Use [`FilterBuilder`] for other limits.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let errors = Filter::compile(&Catalog::cases(), br#"{"criteria":[{"field":"status","op":"!=","values":["open"]}]}"#)
    ///     .unwrap_err();
    /// assert_eq!(errors.as_slice()[0].path, "criteria[0].op");
    /// assert_eq!(errors.as_slice()[0].suggestion.as_ref().unwrap().replacement(), Some("<>"));
    /// ```
    ///
    /// # Errors
    /// Returns the first ten errors in the body, in document order.
    pub fn compile(catalog: &Catalog, body: &[u8]) -> Result<Self, Errors> {
        of_json(catalog, catalog.grammar(), &Limits::default(), body)
    }

    /// Compiles a filter in the text syntax with the default [`Limits`]. Use [`FilterBuilder`] for other limits.
    ///
    /// The whole text is parsed, including values that the host inserts. If `format!` inserts the tenant `a or clientId <> a` into
    /// `clientId = {tenant}`, the filter selects the documents of all tenants. To use such a value, create a filter by
    /// [`test`](Self::test), or quote the value by [`quote`](Self::quote).
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let filter = Filter::compile_text(&Catalog::cases(), "status = open and tags all (vip, cash)")?;
    /// assert_eq!(
    ///     filter.to_json(),
    ///     r#"{"criteria":[{"field":"caseReview.status","op":"=","values":["open"]},"#.to_owned()
    ///         + r#"{"field":"tags","op":"$all","values":["cash","vip"]}]}"#
    /// );
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Returns the first ten errors in the text, in order. Offsets are bytes of `text`.
    pub fn compile_text(catalog: &Catalog, text: &str) -> Result<Self, Errors> {
        of_text(catalog, Clock::default(), &Limits::default(), text)
    }
}

/// Compiles a JSON body. `grammar` decides which operators the body may use.
pub(super) fn of_json(
    catalog: &Catalog,
    grammar: Grammar,
    limits: &Limits,
    body: &[u8],
) -> Result<Filter, Errors> {
    let text = body_text(body, limits)?;
    let read = criteria::read(text, grammar, limits);
    match read.as_ref().and_then(|body| predicate::compile(body, catalog)) {
        Some(predicate) => Ok(Filter::new(catalog, predicate, Origin::Json(text.into()))),
        None => Err(errors_of_json(catalog, grammar, limits, text, read)),
    }
}

/// Compiles a filter in the text syntax.
pub(super) fn of_text(
    catalog: &Catalog,
    clock: Clock,
    limits: &Limits,
    text: &str,
) -> Result<Filter, Errors> {
    let text = body_text(text.as_bytes(), limits)?;
    let fields = |name: &str| holds(catalog, Grammar::Extended, name);
    let (parsed, errors) = criteria::text::parse(text, clock, limits, &fields);
    let body = match parsed {
        Parsed::Body(body) => body,
        Parsed::Constant(value) => {
            return Ok(Filter::new(catalog, Tree::constant(value), Origin::Text(text.into(), clock)));
        }
    };
    let predicate = if errors.is_empty() { predicate::compile(&body, catalog) } else { None };
    match predicate {
        Some(predicate) => Ok(Filter::new(catalog, predicate, Origin::Text(text.into(), clock))),
        None => Err(errors_of(catalog, &body, errors)),
    }
}

/// Returns the properties of a field that the text syntax and suggestions depend on. `grammar` says which operators are allowed.
/// Returns `None` if the catalogue has no such field.
pub(super) fn holds(catalog: &Catalog, grammar: Grammar, name: &str) -> Option<Holds> {
    let field = catalog.field(catalog.find(name)?);
    Some(Holds {
        is_list: field.is_many(),
        class: ValueClass::of_field(field.field_type()),
        is_ranked: field.is_ranked(grammar),
    })
}

/// Returns the errors of a body that did not compile. `read` is its syntax tree, if the fast path of the parser accepted it.
#[cold]
fn errors_of_json(
    catalog: &Catalog,
    grammar: Grammar,
    limits: &Limits,
    text: &str,
    read: Option<Body<'_>>,
) -> Errors {
    let (body, errors) = match read {
        Some(body) => (body, Vec::new()),
        None => criteria::parse_strictly(text, grammar, limits, &|name| holds(catalog, grammar, name)),
    };
    let errors = errors_of(catalog, &body, errors);
    let offsets: Vec<usize> = errors.as_slice().iter().map(|error| error.offset).collect();
    errors.zip_paths(json::paths_at(text, &offsets))
}

/// Adds the errors of lowering to the errors of the parser.
#[cold]
fn errors_of(catalog: &Catalog, body: &Body<'_>, mut errors: Vec<Error>) -> Errors {
    errors.extend(predicate::lower(body, catalog).1);
    Errors::from_unsorted(errors).unwrap_or_else(|| {
        // Unreachable as long as the two parsers and the two lowerings agree, which tests and fuzzers check. If they disagree,
        // the body is rejected.
        debug_assert!(false, "a body without errors is refused: {body:?}");
        let (found, expected) = ("a body that the two parsers read differently", "a report of this defect");
        Error::new(ErrorKind::Syntax, 0, found, expected).into()
    })
}
