//! Reads documents for the reference evaluator. A document replaces an earlier document with the same id, and takes over the
//! earlier document's place in insertion order.

use std::collections::HashMap;

use crate::batch::Row;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::ingest::read_case;
use crate::limits::Limits;

/// Returns the documents that are stored, in the order of insertion, each with its index in `documents`.
pub(super) fn stored<'a>(
    documents: &[&'a str],
    read: impl Fn(&'a str) -> Result<Row<'a>, Error>,
) -> Result<Vec<(usize, Row<'a>)>, Error> {
    let mut stored: Vec<(usize, Row<'a>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, document) in documents.iter().enumerate() {
        let row = read(document)?;
        let place = *places.entry(row.id().to_owned()).or_insert(stored.len());
        match stored.get_mut(place) {
            Some(slot) => *slot = (at, row),
            None => stored.push((at, row)),
        }
    }
    Ok(stored)
}

/// Reads a document strictly: a rejected field value is an error.
pub(super) fn read<'a>(catalog: &Catalog, document: &'a str) -> Result<Row<'a>, Error> {
    let mut row = Row::default();
    read_case(document, catalog, &Limits::default(), &mut row)?;
    match row.take_faults().into_iter().next() {
        Some(fault) => Err(fault),
        None => Ok(row),
    }
}
