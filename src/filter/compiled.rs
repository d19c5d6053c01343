//! The type [`Filter`], a compiled filter in normal form: evaluation on one document, warnings and printing.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::bytes::utf8;
use super::elements::passes;
use super::patterns::Patterns;
use super::program::Program;
use crate::batch::{OwnedRow, Row};
use crate::catalog::{Catalog, FieldId};
use crate::error::Error;
use crate::ingest;
use crate::limits::Limits;
use crate::operator::{Complex, Language, Syntax};
use crate::predicate::{self, Asked, Leaf, Node, Rounded, Tree, Warning};
use crate::value::Clock;

/// A compiled filter: criteria for selecting documents.
///
/// A filter is `Send + Sync` and independent of the request that it was compiled from. It can be kept, shared between threads, and
/// evaluated on any number of documents. Cloning is cheap.
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
    pub(super) inner: Arc<Inner>,
    /// The criteria as written, one entry for each filter that was joined into this filter. Parsed on first use.
    ///
    /// Each `Filter` has its own cell. A clone starts with the content of the cell of the original. A `FilterCache` returns clones
    /// and never parses the criteria of its own filters, so their cells stay empty.
    pub(super) written: OnceLock<Arc<[Arc<Written>]>>,
}

pub(super) struct Inner {
    pub(super) catalog: Catalog,
    /// The normal form, which engines evaluate and printers print.
    pub(super) predicate: Tree<Leaf>,
    /// The input that the filter was created from, for warnings and the reference evaluator.
    pub(super) origin: Origin,
    /// The normal form with the [necessary conditions](predicate::with_necessary_conditions) of tests of elements, made by the
    /// first search. `None` if there are no necessary conditions.
    pub(super) searched: OnceLock<Option<Box<Tree<Leaf>>>>,
    /// The program of the normal form, which tests parsed documents. The first such test compiles it. `None` if it would be too
    /// large.
    pub(super) program: OnceLock<Option<Program>>,
    /// The members of an audit record that contain the printed filter. They are made for the first record of this filter.
    #[cfg(feature = "service")]
    pub(super) printed: OnceLock<Box<str>>,
}

/// The input that a filter was compiled or joined from.
#[derive(Clone)]
pub(super) enum Origin {
    /// A JSON body without errors.
    Json(Box<str>),
    /// A filter text without errors, with the clock for its relative times.
    Text(Box<str>, Clock),
    Constant(bool),
    /// One or more filters that are joined, or one filter that is negated.
    Joined(Complex, Vec<Filter>),
    /// A filter that is not joined, without its criteria on one field.
    Apart(Box<Filter>, FieldId),
}

/// The criteria of a JSON body or a filter text as written.
pub(super) struct Written {
    pub(super) tree: predicate::Written<'static>,
    /// The numbers that change when they are rounded to a double.
    pub(super) rounded: Vec<Rounded>,
}

impl Filter {
    pub(super) fn new(catalog: &Catalog, predicate: Tree<Leaf>, origin: Origin) -> Self {
        let (searched, program) = (OnceLock::new(), OnceLock::new());
        let inner = Inner {
            catalog: catalog.clone(),
            predicate,
            origin,
            searched,
            program,
            #[cfg(feature = "service")]
            printed: OnceLock::new(),
        };
        Self { inner: Arc::new(inner), written: OnceLock::new() }
    }

    /// Returns the filter that selects every document.
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

    /// Returns the filter that selects no document.
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

    pub(super) fn constant(catalog: &Catalog, value: bool) -> Self {
        Self::new(catalog, Tree::constant(value), Origin::Constant(value))
    }

    /// Returns this filter without optimisation: engines evaluate its criteria as written.
    ///
    /// It selects the same documents, but more slowly. It is meant for tests that compare the two filters.
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
        Self {
            written: self.written.clone(),
            ..Self::new(self.catalog(), predicate, self.inner.origin.clone())
        }
    }

    /// Returns true if the filter selects this JSON document. Needs no engine, and parses the document each time.
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
    /// Returns the error of a strict import if the document is not valid.
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
        let predicate = &self.inner.predicate;
        if predicate.has_elements() {
            let row = OwnedRow::of(row, self.catalog().fields().len());
            return predicate.evaluate(|leaf| passes(leaf, &row, self.catalog(), &Patterns::NONE));
        }
        predicate.evaluate(|leaf| leaf.matches(row.values(leaf.field)))
    }

    /// Returns the catalogue that the filter was compiled for.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.inner.catalog
    }

    /// Returns the warnings on parts of the filter that its author may not have meant: at most 100, in document order.
    ///
    /// The first call parses the body or text again. The filter keeps the result for later calls and for
    /// [`reference::why`](crate::reference::why). Clones that are created after the call also have the result.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, WarningKind};
    /// let filter = Filter::compile_text(&Catalog::cases(), "status = opened")?;
    /// assert_eq!(filter.warnings()[0].kind, WarningKind::UnknownValue);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = Vec::new();
        for (part, Written { tree, rounded }) in self.written_parts() {
            let language = match part.inner.origin {
                Origin::Text(..) => Language::Text,
                _ => Language::new(Syntax::Json, part.catalog().grammar()),
            };
            warnings.extend(predicate::lint(tree, part.predicate(), rounded, part.catalog(), language));
            if warnings.len() >= predicate::MOST_WARNINGS {
                warnings.truncate(predicate::MOST_WARNINGS);
                break;
            }
        }
        warnings
    }

    /// Prints the normal form as a JSON body on one line. Compiling that body with an [extended](Catalog::extended) catalogue gives
    /// the same normal form. If the filter was compiled from a body, its printed body can be compiled with the same catalogue.
    ///
    /// The printed body can be larger than the compiled body. It has at most three more levels and two more values. If the
    /// compiled body has `n` criteria, the printed body has at most `2 * n + 2`. If the compiled body was close to its
    /// [`Limits`], the printed body may exceed them.
    #[must_use]
    pub fn to_json(&self) -> String {
        predicate::body_json(&self.inner.predicate, &self.inner.catalog)
    }

    /// Prints the normal form in the text syntax on one line. Compiling that text gives the same normal form.
    ///
    /// For the size of the text, see [`to_json`](Self::to_json).
    #[must_use]
    pub fn to_text(&self) -> String {
        predicate::text(&self.inner.predicate, &self.inner.catalog)
    }

    /// Prints the normal form as an indented tree for people, one line per test.
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

    /// Returns the lines of the plan of [`searched`](Self::searched). `arrange` sorts the children of a node.
    pub(crate) fn lines(&self, arrange: impl Fn(usize, &mut [usize])) -> Vec<predicate::Line> {
        predicate::lines(self.searched(), &self.inner.catalog, arrange)
    }

    /// Returns true if the normal form is the constant *true*. Then the filter selects every document. If it returns false, the
    /// filter may still select every document.
    #[must_use]
    pub fn is_all(&self) -> bool {
        matches!(self.predicate().get(self.predicate().root()), Some(Node::Constant(true)))
    }

    /// Returns the tree that searches evaluate: the normal form, in which tests of elements are joined with their necessary
    /// conditions.
    pub(crate) fn searched(&self) -> &Tree<Leaf> {
        let made = || predicate::with_necessary_conditions(self.predicate()).map(Box::new);
        self.inner.searched.get_or_init(made).as_deref().unwrap_or_else(|| self.predicate())
    }

    pub(crate) fn predicate(&self) -> &Tree<Leaf> {
        &self.inner.predicate
    }

    /// Returns the fields and strings that the criteria require documents to have, in the order of the body. If a criterion has
    /// values of another type, returns only its field.
    ///
    /// Empty for a filter that was joined or negated, because hints must not reveal criteria of the host.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        if self.is_joined() { Vec::new() } else { predicate::asked(&self.written()) }
    }

    /// Returns the field of each criterion with the path of the criterion, in the order of the body.
    ///
    /// Empty for a filter that was joined or negated, like [`asked`](Self::asked).
    #[cfg(feature = "store")]
    pub(crate) fn named(&self) -> Vec<(FieldId, String)> {
        if self.is_joined() { Vec::new() } else { predicate::named(&self.written()) }
    }

    /// Returns the number of tests and branches of the normal form.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inner.predicate.nodes().len()
    }
}

impl fmt::Display for Filter {
    /// Prints the text syntax, like [`to_text`](Filter::to_text).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({})", self.to_text())
    }
}
