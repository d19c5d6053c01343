//! A compiled filter: criteria that were understood, and cannot fail any more.

mod build;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use self::source::Source;
use crate::batch::Row;
use crate::catalog::{Catalog, FieldType};
use crate::criteria::{self, Body, Holds};
use crate::error::{Error, ErrorKind, Errors};
use crate::ingest;
use crate::json;
use crate::limits::Limits;
use crate::predicate::{self, Leaf, Node, Tree};
pub(crate) use crate::predicate::{Asked, Warning, WarningKind};

/// A compiled filter.
///
/// `Send + Sync`, independent of the request it came from, and without any way to fail: it can be
/// kept, shared between threads, and asked about any number of cases.
///
/// ```
/// use casefilter::{Catalog, Filter};
///
/// let filter = Filter::compile(&Catalog::cases(), br#"{"criteria":[
///     {"field": "status", "op": "$contains", "values": ["open", "blocked"]},
///     {"field": "createdAt", "op": ">=", "values": ["2024-01-01 00:00:00"]}]}"#)?;
/// assert!(filter.matches(br#"{"id":"1","createdAt":"2024-06-01 12:00:00+0200",
///     "caseReview":{"status":"open"}}"#)?);
/// assert_eq!(filter.to_text(), r#"createdAt >= "2024-01-01 00:00:00" and caseReview.status in (blocked, open)"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Filter {
    inner: Arc<Inner>,
}

struct Inner {
    catalog: Catalog,
    /// The normal form: what engines run and printing shows.
    predicate: Tree<Leaf>,
    /// What warnings and the reference evaluator speak of, read again whenever they do.
    source: Source,
}

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
        let predicate = match predicate::compile_sound(text, catalog, limits) {
            Some(predicate) => predicate,
            None => compile_carefully(catalog, limits, text)?,
        };
        Ok(Self::new(catalog, predicate, Source::Json(text.into())))
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
        match criteria::text::parse_of(text, limits, &|name| holds(catalog, name)) {
            (criteria::text::Parsed::Body(body), errors) => {
                let predicate = predicate_of(catalog, &body, errors);
                let predicate = predicate.map_err(|errors| errors.map(criteria::text::in_words))?;
                Ok(Self::new(catalog, predicate, Source::Text(text.into())))
            }
            (criteria::text::Parsed::Constant(value), _) => Ok(Self::constant(catalog, value)),
        }
    }

    fn new(catalog: &Catalog, predicate: Tree<Leaf>, source: Source) -> Self {
        let inner = Inner { catalog: catalog.clone(), predicate, source };
        Self { inner: Arc::new(inner) }
    }

    /// The filter that selects every case, which no body can say in one word.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// assert!(Filter::all(&Catalog::cases()).matches(br#"{"id":"any"}"#)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn all(catalog: &Catalog) -> Self {
        Self::constant(catalog, true)
    }

    /// The filter that selects no case.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let none = Filter::compile(&Catalog::cases(), br#"{"ids":[]}"#)?;
    /// assert_eq!(none, Filter::none(&Catalog::cases()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn none(catalog: &Catalog) -> Self {
        Self::constant(catalog, false)
    }

    fn constant(catalog: &Catalog, value: bool) -> Self {
        Self::new(catalog, Tree::constant(value), Source::Constant(value))
    }

    /// This filter with its criteria run as written, no rule of the optimiser applied.
    ///
    /// It selects the same cases, more slowly: made for tests that hold the two equal.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let filter = Filter::compile_text(&Catalog::cases(), "name = a and name = a")?;
    /// assert_eq!(filter.size(), 1);
    /// assert_eq!(filter.unoptimized().size(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unoptimized(&self) -> Self {
        let predicate = predicate::normalize(&self.written(), self.catalog());
        Self::new(self.catalog(), predicate, self.inner.source.clone())
    }

    /// Whether the filter selects the case in this JSON document. No engine is needed.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let filter = Filter::compile_text(&Catalog::cases(), "tags <> vip")?;
    /// assert!(filter.matches(br#"{"id":"without tags"}"#)?);
    /// assert_eq!(filter.matches(br#"{"id":"1","tags":"vip"}"#).unwrap_err().path, "tags");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The document is not a case, as a strict import would say.
    pub fn matches(&self, document: &[u8]) -> Result<bool, Error> {
        let text = utf8(document)?;
        let mut row = Row::default();
        ingest::read_case(text, self.catalog(), &Limits::default(), &mut row)?;
        match row.take_faults().into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(self.matches_row(&row)),
        }
    }

    pub(crate) fn matches_row(&self, row: &Row<'_>) -> bool {
        self.inner.predicate.evaluate(|leaf| leaf.matches(row.values(leaf.field)))
    }

    /// The catalogue that the filter was compiled for.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.inner.catalog
    }

    /// What the author of the filter may not have meant, in document order, at most 100.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, WarningKind};
    /// let filter = Filter::compile_text(&Catalog::cases(), "status = opened")?;
    /// assert_eq!(filter.warnings()[0].kind, WarningKind::UnknownValue);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let lint = |part: &Self| {
            let (written, rounded) = part.inner.source.read_with(part.catalog(), predicate::rounded_numbers);
            predicate::lint(&written, part.predicate(), &rounded, part.catalog())
        };
        let mut warnings: Vec<Warning> = Vec::new();
        for part in self.parts().into_iter().filter(|part| !part.inner.source.is_joined()) {
            warnings.extend(lint(part));
            if warnings.len() >= predicate::MOST_WARNINGS {
                warnings.truncate(predicate::MOST_WARNINGS);
                break;
            }
        }
        warnings
    }

    /// The normal form as a request body on one line. Compiling it gives the same normal form.
    ///
    /// It may be up to three levels deeper than the body that was compiled, and have up to twice as many
    /// criteria and two more, two values more; only a body that close to its [`Limits`] grows past them.
    #[must_use]
    pub fn to_json(&self) -> String {
        predicate::body_json(&self.inner.predicate, &self.inner.catalog)
    }

    /// The normal form in the text syntax on one line. Compiling it gives the same normal form.
    ///
    /// For its size see [`to_json`](Self::to_json).
    #[must_use]
    pub fn to_text(&self) -> String {
        predicate::text(&self.inner.predicate, &self.inner.catalog)
    }

    /// The normal form as an indented tree to read, a line for each test.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter};
    /// let filter = Filter::compile_text(&Catalog::cases(), "priority = high or tags in (vip) and name <> x")?;
    /// assert_eq!(filter.plan(), "any of\n  priority = high\n  all of\n    name <> x\n    tags = vip\n");
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    #[must_use]
    pub fn plan(&self) -> String {
        predicate::plan(&self.inner.predicate, &self.inner.catalog)
    }

    /// The lines of [`plan`](Self::plan), the children of a node in the order that `arrange` gives them.
    pub(crate) fn lines(&self, arrange: impl Fn(usize, &mut [usize])) -> Vec<predicate::Line> {
        predicate::lines(&self.inner.predicate, &self.inner.catalog, arrange)
    }

    /// True when the filter selects every case.
    #[must_use]
    pub fn is_all(&self) -> bool {
        matches!(self.predicate().get(self.predicate().root()), Some(Node::Constant(true)))
    }

    pub(crate) fn predicate(&self) -> &Tree<Leaf> {
        &self.inner.predicate
    }

    /// The values that cases are asked to have, in the order of the body; of a range or a field of other values, without the value.
    ///
    /// None of a [joined](Self::and) filter, a part of which may be the host's own.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        if self.inner.source.is_joined() { Vec::new() } else { predicate::asked(&self.written()) }
    }

    /// How many tests and branches the normal form has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inner.predicate.nodes().len()
    }
}

/// Filters of one catalogue are equal when their normal forms are.
impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.predicate() == other.predicate()
    }
}

impl Eq for Filter {}

impl fmt::Display for Filter {
    /// The text syntax.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({})", self.to_text())
    }
}

/// What a field holds, for advice on what is wrong with its criteria.
fn holds(catalog: &Catalog, name: &str) -> Option<Holds> {
    let field = catalog.field(catalog.find(name)?);
    Some(Holds { is_list: field.is_many(), is_number: field.kind() == FieldType::Number })
}

/// The normal form of a body that need not be sound.
#[cold]
fn compile_carefully(catalog: &Catalog, limits: &Limits, text: &str) -> Result<Tree<Leaf>, Errors> {
    let (body, errors) = criteria::careful_of(text, limits, &|name| holds(catalog, name));
    predicate_of(catalog, &body, errors).map_err(|errors| with_paths(errors, text))
}

/// The normal form of a body in which these errors were found, if they are all.
fn predicate_of(catalog: &Catalog, body: &Body<'_>, mut errors: Vec<Error>) -> Result<Tree<Leaf>, Errors> {
    let (predicate, more) = predicate::compile(body, catalog);
    errors.extend(more);
    match Errors::from_unsorted(errors) {
        Some(errors) => Err(errors),
        None => Ok(predicate),
    }
}

/// The body as text, unless it is too large or not UTF-8.
fn body_text<'a>(body: &'a [u8], limits: &Limits) -> Result<&'a str, Errors> {
    let limit = limits.body_bytes;
    if body.len() > limit {
        let found = format!("a body of {} bytes", body.len());
        return Err(
            Error::new(ErrorKind::BodyTooLarge, limit, found, format!("at most {limit} bytes")).into()
        );
    }
    Ok(utf8(body)?)
}

/// The text that bytes are.
///
/// # Errors
/// One that names the place where they stop being UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    json::text(bytes).map_err(|offset| not_utf8(bytes, offset))
}

fn not_utf8(bytes: &[u8], offset: usize) -> Error {
    let sound = bytes.get(..offset).and_then(|sound| std::str::from_utf8(sound).ok()).unwrap_or_default();
    let byte = bytes.get(offset).copied().unwrap_or_default();
    let path = json::paths_at(sound, &[offset]).pop().unwrap_or_default();
    Error::new(ErrorKind::NotUtf8, offset, format!("the byte 0x{byte:02X}"), "UTF-8").at(path)
}

/// Fills in the paths by a second walk over the text.
fn with_paths(errors: Errors, text: &str) -> Errors {
    let offsets: Vec<usize> = errors.as_slice().iter().map(|error| error.offset).collect();
    let paths = json::paths_at(text, &offsets);
    errors.zip_paths(paths)
}
