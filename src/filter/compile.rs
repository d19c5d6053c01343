//! From a JSON body or a text to a filter, or to the errors in it.

use super::bytes::body_text;
use super::compiled::{Filter, Origin};
use crate::catalog::{Catalog, FieldType};
use crate::criteria::text::Parsed;
use crate::criteria::{self, Body, Holds};
use crate::error::{Error, ErrorKind, Errors};
use crate::json;
use crate::limits::Limits;
use crate::predicate;

impl Filter {
    /// Compiles a JSON body under the default [`Limits`].
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let errors = Filter::compile(&Catalog::cases(), br#"{"criteria":[{"field":"status","op":"!=","values":["open"]}]}"#)
    ///     .unwrap_err();
    /// assert_eq!(errors.as_slice()[0].path, "criteria[0].op");
    /// assert_eq!(errors.as_slice()[0].suggestion.as_deref(), Some("`<>`"));
    /// ```
    ///
    /// # Errors
    /// Everything wrong with the body, up to ten errors in document order.
    pub fn compile(catalog: &Catalog, body: &[u8]) -> Result<Self, Errors> {
        Self::compile_with(catalog, &Limits::default(), body)
    }

    /// Compiles a JSON body.
    ///
    /// Time and memory are linear in the length of the body, but for sorting.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Limits};
    /// let limits = Limits { ids: 1, ..Limits::default() };
    /// assert!(Filter::compile_with(&Catalog::cases(), &limits, br#"{"ids":["a"]}"#).is_ok());
    /// assert!(Filter::compile_with(&Catalog::cases(), &limits, br#"{"ids":["a","b"]}"#).is_err());
    /// ```
    ///
    /// # Errors
    /// Everything wrong with the body, up to ten errors in document order.
    pub fn compile_with(catalog: &Catalog, limits: &Limits, body: &[u8]) -> Result<Self, Errors> {
        let text = body_text(body, limits)?;
        let read = criteria::read(text, limits);
        match read.as_ref().and_then(|body| predicate::compile(body, catalog)) {
            Some(predicate) => Ok(Self::new(catalog, predicate, Origin::Json(text.into()))),
            None => Err(errors_of_json(catalog, limits, text, read)),
        }
    }

    /// Compiles the text syntax under the default [`Limits`].
    ///
    /// The text is code: put into it by `format!`, the tenant `a or clientId <> a` makes `clientId = {tenant}` select the cases of
    /// all tenants. Make a filter of values by [`test`](Self::test), or put them in by [`quote`](Self::quote).
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
    /// Everything wrong with the text, up to ten errors in order; offsets are bytes of `text`.
    pub fn compile_text(catalog: &Catalog, text: &str) -> Result<Self, Errors> {
        Self::compile_text_with(catalog, &Limits::default(), text)
    }

    /// Compiles the text syntax.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Limits};
    /// let limits = Limits { values: 1, ..Limits::default() };
    /// assert!(Filter::compile_text_with(&Catalog::cases(), &limits, "tags in (cash, vip)").is_err());
    /// ```
    ///
    /// # Errors
    /// Everything wrong with the text, up to ten errors in order; offsets are bytes of `text`.
    pub fn compile_text_with(catalog: &Catalog, limits: &Limits, text: &str) -> Result<Self, Errors> {
        let text = body_text(text.as_bytes(), limits)?;
        let (parsed, errors) = criteria::text::parse(text, limits, &|name| holds(catalog, name));
        let body = match parsed {
            Parsed::Body(body) => body,
            Parsed::Constant(value) => return Ok(Self::constant(catalog, value)),
        };
        let predicate = if errors.is_empty() { predicate::compile(&body, catalog) } else { None };
        match predicate {
            Some(predicate) => Ok(Self::new(catalog, predicate, Origin::Text(text.into()))),
            None => Err(errors_of(catalog, &body, errors)),
        }
    }
}

/// The properties of a field that suggestions depend on.
fn holds(catalog: &Catalog, name: &str) -> Option<Holds> {
    let field = catalog.field(catalog.find(name)?);
    Some(Holds {
        is_list: field.is_many(),
        is_number: field.kind() == FieldType::Number,
        is_timestamp: field.kind() == FieldType::Timestamp,
        is_boolean: field.kind() == FieldType::Boolean,
    })
}

/// The errors of a body of which the fast path made no predicate; `read` is its tree, if it made one.
#[cold]
fn errors_of_json(catalog: &Catalog, limits: &Limits, text: &str, read: Option<Body<'_>>) -> Errors {
    let (body, errors) = match read {
        Some(body) => (body, Vec::new()),
        None => criteria::parse_strictly(text, limits, &|name| holds(catalog, name)),
    };
    let errors = errors_of(catalog, &body, errors);
    let offsets: Vec<usize> = errors.as_slice().iter().map(|error| error.offset).collect();
    errors.zip_paths(json::paths_at(text, &offsets))
}

/// The errors of a body in which its parser found these.
#[cold]
fn errors_of(catalog: &Catalog, body: &Body<'_>, mut errors: Vec<Error>) -> Errors {
    errors.extend(predicate::lower(body, catalog).1);
    Errors::from_unsorted(errors).unwrap_or_else(|| {
        // Tests and fuzzers hold the parsers, and the two ways of lowering, to the same bodies. If they failed, the filter is refused.
        debug_assert!(false, "a body without errors is refused: {body:?}");
        let (found, expected) = ("a body that two readers take differently", "a report of this defect");
        Error::new(ErrorKind::Syntax, 0, found, expected).into()
    })
}
