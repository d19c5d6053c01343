//! Sealed rows: columns, ids and documents.

mod builder;
#[cfg(feature = "store")]
#[cfg_attr(not(test), expect(dead_code, reason = "only the store uses it"))]
pub(crate) mod codec;
mod directory;
mod keys;
mod row;

pub(crate) use builder::BatchBuilder;
pub(crate) use directory::{Directory, FieldDirectory, Occurrences};
pub(crate) use keys::{GlobalRow, join, split};
pub(crate) use row::Row;

use crate::catalog::{Catalog, FieldId};
use crate::column::Column;

/// The most rows of a batch, so that a row's number in its batch is a `u16`.
pub(crate) const MAX_ROWS: usize = 1 << 16;
/// The most batches of an engine, so that a batch's number and a row's fit 32 bits together.
pub(crate) const MAX_BATCHES: usize = 1 << 16;
/// A batch whose documents reach this size is sealed early, so that offsets in it are `u32`s.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 1 << 30;

/// Up to 65,536 cases, never changed again.
///
/// Invariants: a column for each visible field of the catalogue and for `id`, each with a value
/// set for each row; the `id` column has a value in each row.
#[derive(Debug)]
pub(crate) struct Batch {
    rows: usize,
    /// By field number.
    columns: Box<[Option<Column>]>,
    places: Places,
    documents: Option<Documents>,
}

/// The place of each row in the order in which cases were first stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// The first row's; each row stands behind the one before.
    From(u64),
    /// Each row's.
    Each(Box<[u64]>),
}

/// The documents as given.
#[derive(Debug)]
struct Documents {
    text: Box<str>,
    /// Where each document ends in `text`.
    ends: Box<[u32]>,
}

impl Batch {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The column of a field; `None` when the engine's catalogue hides it.
    pub(crate) fn column(&self, field: FieldId) -> Option<&Column> {
        self.columns.get(field.index()).and_then(Option::as_ref)
    }

    pub(crate) fn columns(&self) -> &[Option<Column>] {
        &self.columns
    }

    pub(crate) fn id(&self, row: usize) -> &str {
        self.column(FieldId::ID).and_then(|ids| ids.string(row)).unwrap_or_default()
    }

    pub(crate) fn place(&self, row: usize) -> u64 {
        match &self.places {
            Places::From(first) => first.saturating_add(row as u64),
            Places::Each(places) => places.get(row).copied().unwrap_or(u64::MAX),
        }
    }

    /// The first and the last place, when the rows stand in the order of their places.
    pub(crate) fn ordered_places(&self) -> Option<(u64, u64)> {
        let last = self.rows.checked_sub(1)?;
        match &self.places {
            Places::Each(places) if !places.is_sorted() => None,
            _ => Some((self.place(0), self.place(last))),
        }
    }

    /// The document of a row as given; empty when documents are not kept.
    pub(crate) fn document(&self, row: usize) -> &str {
        let Some(documents) = &self.documents else { return "" };
        let start = row.checked_sub(1).and_then(|before| documents.ends.get(before)).copied().unwrap_or(0);
        let end = documents.ends.get(row).copied().unwrap_or(start);
        documents.text.get(start as usize..end as usize).unwrap_or_default()
    }

    pub(crate) fn documents_bytes(&self) -> usize {
        self.documents
            .as_ref()
            .map_or(0, |documents| documents.text.len().saturating_add(size_of_val::<[u32]>(&documents.ends)))
    }

    pub(crate) fn places_bytes(&self) -> usize {
        match &self.places {
            Places::From(_) => 0,
            Places::Each(places) => size_of_val::<[u64]>(places),
        }
    }

    /// Says which invariant does not hold.
    pub(crate) fn validate(&self, catalog: &Catalog) -> Result<(), String> {
        if self.rows > MAX_ROWS {
            return Err(format!("{} rows in a batch", self.rows));
        }
        for field in catalog.field_ids() {
            let name = catalog.field(field).name();
            match self.column(field) {
                None if field == FieldId::ID || catalog.is_visible(field) => {
                    return Err(format!("no column for {name}"));
                }
                None => {}
                Some(column) if column.rows() != self.rows => {
                    return Err(format!("{name}: {} rows in a batch of {}", column.rows(), self.rows));
                }
                Some(column) => column.validate().map_err(|fault| format!("{name}: {fault}"))?,
            }
        }
        if (0..self.rows).any(|row| self.id(row).is_empty()) {
            return Err("a row without an id".into());
        }
        match (&self.places, &self.documents) {
            (Places::Each(places), _) if places.len() != self.rows => Err("places for other rows".into()),
            (_, Some(documents))
                if documents.ends.len() != self.rows
                    || documents.ends.last().map_or(0, |end| *end as usize) != documents.text.len() =>
            {
                Err("documents for other rows".into())
            }
            _ => Ok(()),
        }
    }
}
