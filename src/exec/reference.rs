//! The reference evaluator, which is the oracle of tests: searches as the specification defines it, one document at a time.
//!
//! It evaluates the criteria as written, without optimisation, and shares only the parsers of bodies and documents with the engine.
//! Tests and fuzzers compare the engine with it.

mod elements;
mod facets;
mod stored;
mod why;

use std::cmp::Ordering;

use self::elements::Places;
use self::stored::{read, stored};
use crate::batch::Row;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::filter::order::SortKey;
use crate::filter::{Filter, SearchRequest};
use crate::predicate::Written;
use crate::value::Value;

pub use facets::facets;
pub use why::{Criterion, Stored, Test, Why, why};

/// Returns true if the criteria, as written, select the document.
///
/// ```
/// use casefilter::{Catalog, Filter, reference};
/// let filter = Filter::compile_text(&Catalog::cases(), "priority = medium")?;
/// assert!(reference::matches(&filter, r#"{"id":"without a priority"}"#)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the document is not valid, according to the rules of a strict import.
pub fn matches(filter: &Filter, document: &str) -> Result<bool, Error> {
    let row = read(filter.catalog(), document)?;
    Ok(selects(&filter.written(), &row, filter.catalog()))
}

/// Searches a list of documents, which are inserted in the order of the list. A later document replaces an earlier document with
/// the same `id`.
///
/// Returns the indexes, in `documents`, of the documents on the page, and the total number of selected documents.
///
/// ```
/// use casefilter::{Catalog, Filter, SearchRequest, reference};
/// let filter = Filter::compile_text(&Catalog::cases(), "tags in (vip)")?;
/// let documents = [r#"{"id":"a","tags":["vip"]}"#, r#"{"id":"b"}"#, r#"{"id":"a","tags":["vip","cash"]}"#];
/// assert_eq!(reference::search(&documents, &SearchRequest::new(filter))?, (vec![2], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if a document is not valid, or if the order does not [fit](crate::ErrorKind::CatalogMismatch) the filter.
pub fn search(documents: &[&str], request: &SearchRequest) -> Result<(Vec<usize>, u64), Error> {
    let catalog = request.filter.catalog();
    let order = request.check(catalog, "reference")?;
    let stored = stored(documents, |document| read(catalog, document))?;
    let written = request.filter.written();
    let mut selected: Vec<&(usize, Row<'_>)> =
        stored.iter().filter(|(_, row)| selects(&written, row, catalog)).collect();
    if let Some(order) = order {
        selected.sort_by(|(_, a), (_, b)| compare(catalog, order, a, b));
    }
    let total = selected.len() as u64;
    let offset = usize::try_from(request.offset).unwrap_or(usize::MAX);
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    Ok((selected.into_iter().skip(offset).take(limit).map(|(at, _)| *at).collect(), total))
}

/// Returns true if the criteria select the document.
fn selects(written: &Written<'_>, row: &Row<'_>, catalog: &Catalog) -> bool {
    let places = Places::new(row, catalog);
    places.holds(written, written.root(), &places.all())
}

/// Compares two documents by the sort order. Absent values come last in both directions. Known values come in the order of the
/// catalogue, before other strings. Ties are decided by `id`, ascending.
fn compare(catalog: &Catalog, order: SortKey, a: &Row<'_>, b: &Row<'_>) -> Ordering {
    let field = catalog.field(order.field);
    let rank = |value: &Value<'_>| match value {
        Value::String(text) => field.known_rank(text).unwrap_or(usize::MAX),
        _ => 0,
    };
    let by_value = match (a.values(order.field).next(), b.values(order.field).next()) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => {
            let ascending = rank(a).cmp(&rank(b)).then_with(|| a.cmp(b));
            if order.descending { ascending.reverse() } else { ascending }
        }
    };
    by_value.then_with(|| a.id().cmp(b.id()))
}
