//! A batch being filled.

use super::{Batch, Documents, MAX_DOCUMENT_BYTES, MAX_ROWS, Places, Row};
use crate::catalog::{Catalog, FieldId};
use crate::column::ColumnBuilder;

/// A batch to which cases are added.
pub(crate) struct BatchBuilder {
    /// By field number; none for hidden fields.
    columns: Vec<Option<ColumnBuilder>>,
    places: Vec<u64>,
    keep_documents: bool,
    /// The size of all documents, kept or not, which bounds that of every column.
    document_bytes: usize,
    text: String,
    ends: Vec<u32>,
}

impl BatchBuilder {
    pub(crate) fn new(catalog: &Catalog, keep_documents: bool) -> Self {
        let columns = catalog
            .field_ids()
            .map(|field| {
                let wanted = field == FieldId::ID || catalog.is_visible(field);
                wanted.then(|| ColumnBuilder::new(catalog.field(field)))
            })
            .collect();
        Self {
            columns,
            places: Vec::new(),
            keep_documents,
            document_bytes: 0,
            text: String::new(),
            ends: Vec::new(),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows() >= MAX_ROWS || self.document_bytes >= MAX_DOCUMENT_BYTES
    }

    /// Adds a case; the builder must not be full.
    pub(crate) fn push(&mut self, row: &Row<'_>, document: &str, place: u64) {
        for (field, value) in row.iter() {
            if let Some(Some(column)) = self.columns.get_mut(field.index()) {
                column.push(value);
            }
        }
        for column in self.columns.iter_mut().flatten() {
            column.end_row();
        }
        self.places.push(place);
        self.document_bytes = self.document_bytes.saturating_add(document.len());
        if self.keep_documents {
            self.text.push_str(document);
            self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        }
    }

    /// The id of a row that was added.
    pub(crate) fn id(&self, row: usize) -> &str {
        match self.columns.first() {
            Some(Some(ids)) => ids.string(row).unwrap_or_default(),
            _ => "",
        }
    }

    pub(crate) fn place(&self, row: usize) -> u64 {
        self.places.get(row).copied().unwrap_or(u64::MAX)
    }

    /// The batch; the builder is empty afterwards.
    pub(crate) fn seal(&mut self) -> Batch {
        let columns =
            self.columns.iter_mut().map(|column| column.as_mut().map(ColumnBuilder::seal)).collect();
        self.document_bytes = 0;
        let places = std::mem::take(&mut self.places);
        let rows = places.len();
        let documents = self.keep_documents.then(|| Documents {
            text: std::mem::take(&mut self.text).into(),
            ends: std::mem::take(&mut self.ends).into(),
        });
        let first = places.first().copied().unwrap_or(0);
        let consecutive = (first..).zip(&places).all(|(expected, place)| expected == *place);
        let places = if consecutive { Places::From(first) } else { Places::Each(places.into()) };
        Batch { rows, columns, places, documents }
    }
}
