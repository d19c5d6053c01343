//! The reference evaluator, which is the oracle of tests. It evaluates a search as the [guide](crate::guide::criteria) defines it,
//! one document at a time.
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
use crate::filter::order::{Position, SortKey, SortValue};
use crate::filter::{Filter, SearchRequest};
use crate::predicate::Written;
use crate::value::{Value, ValueClass};

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
    let keys = request.check(catalog, "reference")?;
    let stored = stored(documents, |document| read(catalog, document))?;
    let written = request.filter.written();
    let mut selected: Vec<(usize, &(usize, Row<'_>))> =
        stored.iter().enumerate().filter(|(_, (_, row))| selects(&written, row, catalog)).collect();
    if !keys.is_empty() {
        selected.sort_by(|(_, (_, a)), (_, (_, b))| compare(catalog, &keys, a, b));
    }
    let total = selected.len() as u64;
    if let Some(after) = &request.after {
        selected.retain(|(place, (_, row))| is_behind(catalog, &keys, after.position(), *place, row));
    }
    let offset = usize::try_from(request.offset).unwrap_or(usize::MAX);
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    Ok((selected.into_iter().skip(offset).take(limit).map(|(_, (at, _))| *at).collect(), total))
}

/// Returns true if the criteria select the document.
fn selects(written: &Written<'_>, row: &Row<'_>, catalog: &Catalog) -> bool {
    let places = Places::new(row, catalog);
    places.holds(written, written.root(), &places.all())
}

/// Compares two documents by the sort keys. Ties are decided by `id`, ascending.
fn compare(catalog: &Catalog, keys: &[SortKey], a: &Row<'_>, b: &Row<'_>) -> Ordering {
    let mut by_value = keys.iter().map(|key| {
        let value = |row: &Row<'_>| row.values(key.field).next().map(|value| ranked(catalog, *key, value));
        compare_values(*key, value(a), value(b))
    });
    by_value.find(|ordering| ordering.is_ne()).unwrap_or_else(|| a.id().cmp(b.id()))
}

/// Returns a value with its rank. Known values come before other strings, in the order in which the catalogue lists them.
fn ranked(catalog: &Catalog, key: SortKey, value: &Value<'_>) -> (usize, Value<'static>) {
    let rank = match value {
        Value::String(text) => catalog.field(key.field).known_rank(text).unwrap_or(usize::MAX),
        _ => 0,
    };
    (rank, value.clone().into_owned())
}

/// Compares two values of one sort field. Absent values come last in both directions.
fn compare_values<T: Ord>(key: SortKey, a: Option<T>, b: Option<T>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) if key.descending => b.cmp(&a),
        (Some(a), Some(b)) => a.cmp(&b),
    }
}

/// Returns true if a document comes after a position. `place` is the document's index in insertion order.
fn is_behind(catalog: &Catalog, keys: &[SortKey], position: &Position, place: usize, row: &Row<'_>) -> bool {
    let (values, id) = match position {
        Position::Inserted(last) => return place as u64 > *last,
        Position::Sorted { values, id } => (values, id),
    };
    for (key, last) in keys.iter().zip(values) {
        let kind = catalog.field(key.field).field_type();
        let last = match last {
            SortValue::Absent => None,
            SortValue::Boolean(boolean) => Some(Value::Boolean(*boolean)),
            SortValue::Text(text) => Some(Value::String(text.to_string().into())),
            SortValue::Ordinal(ordinal) => match ValueClass::of_field(kind) {
                ValueClass::Ordered(kind) => Some(kind.value(*ordinal)),
                _ => None,
            },
        };
        let own = row.values(key.field).next();
        let rank = |value: &Value<'_>| ranked(catalog, *key, value);
        match compare_values(*key, own.map(rank), last.as_ref().map(rank)) {
            Ordering::Equal => {}
            ordering => return ordering.is_gt(),
        }
    }
    row.id() > &**id
}
