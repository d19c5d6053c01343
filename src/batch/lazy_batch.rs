//! Batches with lazy columns: creates them from buffered rows, joins them, and gives access to single rows.

use std::sync::Arc;

use super::buffered_row::{BufferedRow, BufferedRows};
use super::document::{Document, Keep};
use super::documents::{BatchDocuments, DocumentsBuilder};
use super::insertion_order::InsertionOrder;
use super::lazy_columns::{FewRows, LazyColumns};
use super::rows_by_id::RowsByIdCell;
use super::sealed::{Batch, Columns};
use crate::catalog::Catalog;
use crate::column::{Column, Picks};

impl Batch {
    /// Returns the rows if all of them belong to one head, there are at most 64, and testing each row is cheaper than decoding
    /// columns.
    pub(crate) fn few_rows(&self) -> Option<FewRows<'_>> {
        match &self.columns {
            Columns::Lazy(lazy) => lazy.few_rows(),
            _ => None,
        }
    }

    /// Returns true if the columns are lazy.
    pub(crate) fn is_lazy(&self) -> bool {
        matches!(self.columns, Columns::Lazy(_))
    }

    /// Returns a buffered row. Returns `None` if the columns are not lazy.
    pub(super) fn buffered_row(&self, row: usize) -> Option<&BufferedRow> {
        match &self.columns {
            Columns::Lazy(lazy) => lazy.row(row),
            _ => None,
        }
    }

    /// Decodes all columns that have not been decoded yet.
    pub(crate) fn seal_columns(&self) {
        if let Columns::Lazy(lazy) = &self.columns {
            lazy.seal_all();
        }
    }

    /// Creates a batch with lazy columns from at most [`MAX_ROWS`](crate::rows::MAX_ROWS) buffered rows.
    pub(crate) fn lazy(catalog: &Catalog, keep: Keep, rows: Vec<Arc<BufferedRow>>) -> Self {
        let places = InsertionOrder::new(rows.iter().map(|row| row.place).collect());
        let rows = BufferedRows::new(rows);
        let documents = match keep {
            Keep::Text => BatchDocuments::Rows(rows.clone()),
            Keep::Nothing | Keep::Numbers => {
                let mut documents = DocumentsBuilder::new(keep);
                rows.iter().for_each(|row| documents.push(row.document()));
                documents.seal()
            }
        };
        let rows_by_id = RowsByIdCell::default();
        Self {
            rows: rows.len(),
            columns: Columns::Lazy(LazyColumns::new(catalog, rows)),
            places,
            documents,
            rows_by_id,
        }
    }

    /// Returns a batch with the rows of this batch, followed by the rows of `behind`. Returns `None` unless both batches have lazy
    /// columns.
    ///
    /// If a column of this batch has been read before, searches will likely read it again. So the joined column is created at once,
    /// by merging.
    pub(crate) fn joined(&self, behind: &Self, keep: Keep) -> Option<Self> {
        let (Columns::Lazy(first), Columns::Lazy(second)) = (&self.columns, &behind.columns) else {
            return None;
        };
        let rows = first.rows.joined(&second.rows);
        let each = || {
            (0_u16..).zip([self, behind]).flat_map(|(source, batch)| {
                (0..batch.rows).filter_map(move |row| Some((source, u16::try_from(row).ok()?, batch)))
            })
        };
        let places = each().map(|(_, row, batch)| batch.place(usize::from(row)));
        let documents = match keep {
            Keep::Text => BatchDocuments::Rows(rows.clone()),
            Keep::Nothing => BatchDocuments::Nothing,
            Keep::Numbers => {
                let mut documents = DocumentsBuilder::new(keep);
                for (_, row, batch) in each() {
                    let number = batch.document_number(usize::from(row)).unwrap_or(0);
                    documents.push(Document::Number { number, size_bytes: 0 });
                }
                documents.seal()
            }
        };
        let places = InsertionOrder::new(places.collect());
        let joined = LazyColumns::new(&first.catalog, rows);
        let picks = each().map(|(source, row, _)| (source, row)).collect();
        let picks = Picks::new(picks, [self.rows, behind.rows]);
        for (field, lazy) in first.catalog.field_ids().zip(&joined.columns) {
            if first.is_used(field) {
                let columns = [first.column(field), second.column(field)];
                let column = columns[0].map(|_| Column::merged(first.catalog.field(field), &columns, &picks));
                // No other thread can access the new batch yet, so this call always stores the column.
                lazy.column.get_or_init(|| column);
            }
        }
        let rows_by_id = RowsByIdCell::default();
        Some(Self { rows: joined.rows.len(), columns: Columns::Lazy(joined), places, documents, rows_by_id })
    }
}
