//! Builds a batch from cases, row by row, and seals it.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a row that was added, and sizes of documents, of which each is shorter than 4 GiB"
)]

use super::buffered_row::BufferedRow;
use super::document::{Document, Keep};
use super::documents::DocumentsBuilder;
use super::elements::Event;
use super::insertion_order::InsertionOrder;
use super::row::Row;
use super::sealed::{Batch, MAX_DOCUMENT_BYTES};
use crate::catalog::{Catalog, FieldId};
use crate::column::ColumnBuilder;
use crate::rows::MAX_ROWS;

/// A builder that collects cases and then seals them into a batch.
pub(crate) struct BatchBuilder {
    /// The columns by field number. `None` for hidden fields.
    columns: Vec<Option<ColumnBuilder>>,
    catalog: Catalog,
    /// The insertion-order number of each row.
    places: Vec<u64>,
    /// The total size in bytes of all documents, kept or not. It bounds the size of each column.
    document_bytes: usize,
    documents: DocumentsBuilder,
}

impl BatchBuilder {
    /// Creates an empty builder with capacity for `rows` rows.
    pub(crate) fn new(catalog: &Catalog, keep: Keep, rows: usize) -> Self {
        let columns = catalog
            .field_ids()
            .map(|field| {
                let wanted = field == FieldId::ID || catalog.is_visible(field);
                wanted.then(|| {
                    ColumnBuilder::new(catalog.field(field), rows).within(catalog.arrays_around(field))
                })
            })
            .collect();
        Self {
            columns,
            catalog: catalog.clone(),
            places: Vec::with_capacity(rows),
            document_bytes: 0,
            documents: DocumentsBuilder::new(keep),
        }
    }

    /// Reserves capacity for `rows` rows in each column that already has values, and for `document_bytes` bytes of documents. Both
    /// numbers include the rows and documents that were added before.
    pub(crate) fn reserve(&mut self, rows: usize, document_bytes: usize) {
        self.columns.iter_mut().flatten().filter(|column| column.has_values()).for_each(|c| c.reserve(rows));
        self.places.reserve(rows.saturating_sub(self.places.len()));
        self.documents.reserve(document_bytes);
    }

    /// Seals the batch like [`seal`](Self::seal), and reserves capacity for another batch of the same size.
    pub(crate) fn seal_and_go_on(&mut self) -> Batch {
        let (rows, document_bytes) = (self.rows(), self.document_bytes);
        let had_values: Vec<bool> = self
            .columns
            .iter()
            .map(|column| column.as_ref().is_some_and(ColumnBuilder::has_values))
            .collect();
        let batch = self.seal();
        for (column, had_values) in self.columns.iter_mut().zip(had_values) {
            if let Some(column) = column.as_mut().filter(|_| had_values) {
                column.reserve(rows);
            }
        }
        self.places.reserve(rows);
        self.documents.reserve(document_bytes);
        batch
    }

    /// Returns the total size in bytes of all documents, kept or not.
    pub(crate) fn document_bytes(&self) -> usize {
        self.document_bytes
    }

    pub(crate) fn rows(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows() >= MAX_ROWS || self.document_bytes >= MAX_DOCUMENT_BYTES
    }

    /// Adds a case. The builder must not be full.
    pub(crate) fn push(&mut self, row: &Row<'_>, document: Document<'_>, place: u64) {
        let number = self.rows();
        if row.elements().is_empty() {
            for (field, value) in row.iter() {
                if let Some(Some(column)) = self.columns.get_mut(field.index()) {
                    column.push(number, value);
                }
            }
        } else {
            row.for_each(|event| match event {
                Event::Value(field, value) => {
                    if let Some(Some(column)) = self.columns.get_mut(field.index()) {
                        column.push(number, value);
                    }
                }
                Event::Element(array) => {
                    for field in self.catalog.fields_of_array_id(array) {
                        if let Some(Some(column)) = self.columns.get_mut(field.index()) {
                            column.begin_element(number, array);
                        }
                    }
                }
            });
        }
        self.end_row(document, place);
    }

    /// Adds a buffered row. The builder must not be full.
    pub(crate) fn push_owned(&mut self, row: &BufferedRow) {
        let number = self.rows();
        row.fill(&mut self.columns, number);
        self.end_row(row.document(), row.place);
    }

    fn end_row(&mut self, document: Document<'_>, place: u64) {
        self.places.push(place);
        self.document_bytes += document.size_bytes();
        self.documents.push(document);
    }

    /// Returns the document number of a row, if documents are stored outside the engine.
    pub(crate) fn document_number(&self, row: usize) -> Option<u64> {
        self.documents.number(row)
    }

    /// Returns the id of a row that was added before.
    pub(crate) fn id(&self, row: usize) -> &str {
        match self.columns.first() {
            Some(Some(ids)) => ids.string(row).unwrap_or_default(),
            _ => "",
        }
    }

    pub(crate) fn place(&self, row: usize) -> u64 {
        self.places[row]
    }

    /// Seals the collected cases into a batch, and returns it. The builder is empty afterwards.
    pub(crate) fn seal(&mut self) -> Batch {
        self.document_bytes = 0;
        let places = std::mem::take(&mut self.places);
        let rows = places.len();
        let columns =
            self.columns.iter_mut().map(|column| column.as_mut().map(|column| column.seal(rows))).collect();
        Batch::sealed(rows, columns, InsertionOrder::new(places), self.documents.seal())
    }
}
