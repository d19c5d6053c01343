//! A compiled filter: criteria in normal form, with nothing left that can fail.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::bytes::utf8;
use crate::batch::Row;
use crate::catalog::Catalog;
#[cfg(feature = "store")]
use crate::catalog::FieldId;
use crate::error::Error;
use crate::ingest;
use crate::limits::Limits;
use crate::operator::Connective;
use crate::predicate::{self, Asked, Comparison, Leaf, Node, Rounded, Tree, Warning};

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
    pub(super) inner: Arc<Inner>,
    /// The criteria as written of each part that is not joined, once they were asked for.
    ///
    /// Each handle has its own cell and a clone takes over the content, so that filters in a cache never grow.
    pub(super) written: OnceLock<Arc<[Arc<Written>]>>,
}

pub(super) struct Inner {
    pub(super) catalog: Catalog,
    /// The normal form: engines run it and printing shows it.
    pub(super) predicate: Tree<Leaf>,
    /// The input that the filter was made from, for warnings and the reference evaluator.
    pub(super) origin: Origin,
}

/// The input that a filter was made from.
#[derive(Clone)]
pub(super) enum Origin {
    /// A body that has no errors.
    Json(Box<str>),
    /// The text syntax, without errors.
    Text(Box<str>),
    Constant(bool),
    /// The cases that all of these filters select, or any of them; at least one filter.
    Joined(Connective, Vec<Filter>),
}

/// The criteria of a body or text as written.
pub(super) struct Written {
    pub(super) tree: Tree<Comparison<'static>>,
    /// The numbers that a double rounds.
    pub(super) rounded: Vec<Rounded>,
}

impl Filter {
    pub(super) fn new(catalog: &Catalog, predicate: Tree<Leaf>, origin: Origin) -> Self {
        let inner = Inner { catalog: catalog.clone(), predicate, origin };
        Self { inner: Arc::new(inner), written: OnceLock::new() }
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

    pub(super) fn constant(catalog: &Catalog, value: bool) -> Self {
        Self::new(catalog, Tree::constant(value), Origin::Constant(value))
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
        Self {
            written: self.written.clone(),
            ..Self::new(self.catalog(), predicate, self.inner.origin.clone())
        }
    }

    /// Returns whether the filter selects the case in this JSON document. No engine is needed.
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

    /// Returns what the author of the filter may not have meant, in document order, at most 100.
    ///
    /// The first call parses the body or text once more; the filter, and its clones made after that, keep the criteria for later
    /// calls and for [`reference::why`](crate::reference::why).
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
            warnings.extend(predicate::lint(tree, part.predicate(), rounded, part.catalog()));
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
        if self.is_joined() { Vec::new() } else { predicate::asked(&self.written()) }
    }

    /// Returns the field that each criterion names, with the place of the criterion, in the order of the body.
    ///
    /// None of a [joined](Self::and) filter, as [`asked`](Self::asked).
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
