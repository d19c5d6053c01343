//! The batch type: an immutable group of rows with its columns, insertion order and documents.

#[cfg(feature = "store")]
use std::collections::BTreeSet;
#[cfg(feature = "store")]
use std::sync::Arc;

use super::buffered_row::BufferedRow;
use super::documents::BatchDocuments;
#[cfg(feature = "store")]
use super::elements::Event;
use super::insertion_order::InsertionOrder;
use super::lazy_columns::LazyColumns;
#[cfg(feature = "store")]
use super::row::Row;
use super::rows_by_id::{RowsById, RowsByIdCell};
#[cfg(feature = "store")]
use super::stored_columns::{ColumnSource, StoredColumns, Unreadable};
#[cfg(feature = "store")]
use super::summary::{BatchSummary, ColumnSummary};
#[cfg(feature = "store")]
use crate::catalog::ArrayId;
use crate::catalog::{Catalog, FieldId};
#[cfg(feature = "store")]
use crate::column::ColumnBuilder;
use crate::column::{self, Codes, Column, ColumnData};
use crate::rows::MAX_ROWS;
use crate::value::OrdinalRange;

/// The maximum number of batches of an engine. So a batch number and a row number together fit 32 bits.
pub(crate) const MAX_BATCHES: usize = 1 << 16;
/// The total size of documents, in bytes, at which a batch is sealed even if it is not full. So offsets into the documents fit a
/// `u32`.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 1 << 30;

/// An immutable group of up to 65,536 cases.
///
/// Invariants: there is a column for `id` and for each visible field of the catalogue. Each column has the same number of rows as
/// the batch. The `id` column has a value in each row.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(super) rows: usize,
    pub(super) columns: Columns,
    /// The insertion-order numbers of the rows.
    pub(super) places: InsertionOrder,
    pub(super) documents: BatchDocuments,
    pub(super) rows_by_id: RowsByIdCell,
}

/// The columns of a batch, by field number.
#[derive(Debug)]
pub(super) enum Columns {
    Sealed(Box<[Option<Column>]>),
    /// Columns that are decoded when they are first read. Most searches read only a few columns.
    Lazy(LazyColumns),
    /// Columns that are read from a store when they are first needed.
    #[cfg(feature = "store")]
    Stored(StoredColumns),
}

impl Batch {
    /// Creates a batch of sealed columns.
    pub(super) fn sealed(
        rows: usize,
        mut columns: Box<[Option<Column>]>,
        places: InsertionOrder,
        documents: BatchDocuments,
    ) -> Self {
        column::pack(columns.iter_mut().flatten());
        Self {
            rows,
            columns: Columns::Sealed(columns),
            places,
            documents,
            rows_by_id: RowsByIdCell::default(),
        }
    }

    /// Creates a batch whose columns are read from `source` when they are first needed.
    #[cfg(feature = "store")]
    pub(crate) fn stored(
        catalog: &Catalog,
        (rows, places, documents): (usize, InsertionOrder, BatchDocuments),
        summary: BatchSummary,
        source: Arc<dyn ColumnSource>,
    ) -> Self {
        let columns = Columns::Stored(StoredColumns::new(catalog, summary, source));
        Self { rows, columns, places, documents, rows_by_id: RowsByIdCell::default() }
    }

    /// Returns the summary of the batch. Reads its columns.
    #[cfg(feature = "store")]
    pub(crate) fn summary(&self, catalog: &Catalog) -> BatchSummary {
        BatchSummary::new(self.rows, catalog.field_ids().map(|field| self.column(field)))
    }

    /// Sets the elements of arrays of objects in the columns of `fields`, for a batch that was stored without elements. `read`
    /// takes a row number and a function. It calls the function with the document of the row, and returns true. If the row is
    /// deleted, it returns false instead.
    #[cfg(feature = "store")]
    pub(crate) fn set_elements<E: From<String>>(
        &mut self,
        catalog: &Catalog,
        fields: &[FieldId],
        read: impl Fn(usize, &mut dyn FnMut(&Row<'_>)) -> Result<bool, E>,
    ) -> Result<(), E> {
        let new = |field: &FieldId| {
            ColumnBuilder::new(catalog.field(*field), 0).within(catalog.arrays_around(*field))
        };
        let mut builders: Vec<ColumnBuilder> = fields.iter().map(new).collect();
        let arrays: BTreeSet<ArrayId> =
            fields.iter().flat_map(|field| catalog.arrays_around(*field)).copied().collect();
        for row in 0..self.rows {
            let is_read = read(row, &mut |document| {
                document.for_each(|event| {
                    for (field, builder) in fields.iter().zip(&mut builders) {
                        match event {
                            Event::Value(own, _) if own == *field => builder.note_value(row),
                            Event::Value(..) => {}
                            Event::Element(array) => builder.begin_element(row, array),
                        }
                    }
                });
            })?;
            if !is_read {
                // The elements of a deleted row do not matter, but all columns must have the same elements.
                for array in &arrays {
                    builders.iter_mut().for_each(|builder| builder.begin_element(row, *array));
                }
                for (field, builder) in fields.iter().zip(&mut builders) {
                    let values = self.column(*field).map_or(0..0, |column| column.places(row));
                    values.for_each(|_| builder.note_value(row));
                }
            }
        }
        let Columns::Sealed(columns) = &mut self.columns else { return Ok(()) };
        for (field, mut builder) in fields.iter().zip(builders) {
            let elements = builder.seal_elements(self.rows);
            if let Some(Some(column)) = columns.get_mut(field.index()) {
                let name = catalog.field(*field).name();
                column.set_elements(elements).map_err(|fault| E::from(format!("{name}: {fault}")))?;
            }
        }
        Ok(())
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the column of a field. Returns `None` if the engine's catalogue hides the field.
    #[inline]
    pub(crate) fn column(&self, field: FieldId) -> Option<&Column> {
        match &self.columns {
            Columns::Sealed(columns) => columns.get(field.index())?.as_ref(),
            Columns::Lazy(lazy) => lazy.column(field),
            #[cfg(feature = "store")]
            Columns::Stored(stored) => stored.column(field),
        }
    }

    /// Reads the column of a field if it is not in memory.
    ///
    /// # Errors
    /// Returns an error if the column cannot be read or is damaged. Other methods unwind in this case.
    #[cfg(feature = "store")]
    pub(crate) fn try_read(&self, field: FieldId) -> Result<(), Unreadable> {
        if let Columns::Stored(stored) = &self.columns {
            return stored.try_read(field);
        }
        // Decodes buffered rows.
        self.column(field);
        Ok(())
    }

    /// Returns true if a column of the batch could not be read from the store. Merges ignore such a batch.
    pub(crate) fn is_unreadable(&self) -> bool {
        match &self.columns {
            Columns::Sealed(_) | Columns::Lazy(_) => false,
            #[cfg(feature = "store")]
            Columns::Stored(stored) => stored.is_unreadable(),
        }
    }

    /// Returns true if [`column`](Self::column) reads nothing from a store for this field.
    pub(crate) fn has_read(&self, field: FieldId) -> bool {
        match &self.columns {
            Columns::Sealed(_) | Columns::Lazy(_) => field.index() < self.fields(),
            #[cfg(feature = "store")]
            Columns::Stored(stored) => stored.has_column(field),
        }
    }

    /// Calls `take` with each row that has one of `texts` in a key field. Does not read the column of a stored batch if the filter
    /// of the field shows that the batch has none of the texts. `texts` are ascending and distinct.
    pub(crate) fn find_keys(&self, field: FieldId, texts: &[impl AsRef<str>], mut take: impl FnMut(usize)) {
        #[cfg(feature = "store")]
        if let Columns::Stored(stored) = &self.columns
            && let Some(filter) = stored.filter(field)
            && !texts.iter().any(|text| filter.may_have(text.as_ref()))
        {
            return;
        }
        let Some(column) = self.column(field) else { return };
        let Some((dictionary, codes)) = column.dictionary() else { return };
        let wanted = dictionary.find_all(texts);
        if wanted.is_empty() {
            return;
        }
        for row in 0..self.rows {
            if column
                .places(row)
                .any(|at| u32::try_from(codes.get(at)).is_ok_and(|code| wanted.contains(&code)))
            {
                take(row);
            }
        }
    }

    /// Returns the column of a field, unless it would have to be read from a store.
    pub(crate) fn read_column(&self, field: FieldId) -> Option<&Column> {
        if self.has_read(field) { self.column(field) } else { None }
    }

    /// Returns the smallest and the greatest value of a field. Returns `None` if the batch has no values of the field, or if the
    /// field is not of an ordered type. Does not read a stored column.
    pub(crate) fn zone(&self, field: FieldId) -> Option<OrdinalRange> {
        #[cfg(feature = "store")]
        if let Columns::Stored(stored) = &self.columns {
            return match stored.summary().column(field) {
                ColumnSummary::Ordered(zone) => zone,
                ColumnSummary::Strings(_) | ColumnSummary::Empty => None,
            };
        }
        match &self.column(field)?.data {
            ColumnData::Ordered { zone, .. } => *zone,
            ColumnData::Strings { .. } | ColumnData::Booleans { .. } => None,
        }
    }

    /// Returns the number of fields of the catalogue, including hidden fields.
    pub(crate) fn fields(&self) -> usize {
        match &self.columns {
            Columns::Sealed(columns) => columns.len(),
            Columns::Lazy(lazy) => lazy.fields(),
            #[cfg(feature = "store")]
            Columns::Stored(stored) => stored.fields(),
        }
    }

    /// Returns the columns that are in memory.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &Column> {
        (0..self.fields()).filter_map(|field| match &self.columns {
            Columns::Sealed(columns) => columns.get(field)?.as_ref(),
            Columns::Lazy(lazy) => lazy.column_in_memory(field),
            #[cfg(feature = "store")]
            Columns::Stored(stored) => stored.column_in_memory(field),
        })
    }

    pub(crate) fn id(&self, row: usize) -> &str {
        match &self.columns {
            Columns::Lazy(lazy) => lazy.row(row).map_or("", BufferedRow::id),
            _ => self.column(FieldId::ID).and_then(|ids| ids.string(row)).unwrap_or_default(),
        }
    }

    /// Returns the number of distinct ids of the batch that sort before `id`. This number is also the first code whose id does not
    /// sort before `id`.
    pub(crate) fn ids_below(&self, id: &str) -> usize {
        match self.column(FieldId::ID).map(|ids| &ids.data) {
            Some(ColumnData::Strings { dictionary, .. }) => dictionary.count_below(id),
            _ => 0,
        }
    }

    /// Returns the number of distinct ids of the batch that are equal to `id` or sort before it.
    pub(crate) fn ids_up_to(&self, id: &str) -> usize {
        let below = self.ids_below(id);
        let is_id = match self.column(FieldId::ID).map(|ids| &ids.data) {
            Some(ColumnData::Strings { dictionary, .. }) => {
                below < dictionary.len() && dictionary.get(below) == id
            }
            _ => false,
        };
        below.saturating_add(usize::from(is_id))
    }

    /// Returns the codes of the ids, which ascend with the ids.
    pub(crate) fn id_codes(&self) -> Option<&Codes> {
        match &self.column(FieldId::ID)?.data {
            ColumnData::Strings { codes, .. } => Some(codes),
            _ => None,
        }
    }

    /// Returns the rows in ascending order of their ids. The first call sorts them. Returns `None` for a batch of buffered rows.
    pub(crate) fn rows_by_id(&self) -> Option<RowsById<'_>> {
        match &self.column(FieldId::ID)?.data {
            ColumnData::Strings { codes, dictionary, .. } if !matches!(self.columns, Columns::Lazy(_)) => {
                Some(self.rows_by_id.get(codes, dictionary.len(), self.rows))
            }
            _ => None,
        }
    }

    /// Returns the size in bytes of the list of rows in the order of their ids. Returns 0 if no search has needed it.
    pub(crate) fn rows_by_id_bytes(&self) -> usize {
        self.rows_by_id.size_bytes()
    }

    pub(crate) fn place(&self, row: usize) -> u64 {
        self.places.get(row)
    }

    /// Replaces the insertion-order numbers of the rows.
    pub(crate) fn set_places(&mut self, places: Vec<u64>) {
        self.places = InsertionOrder::new(places);
    }

    /// Returns the insertion-order numbers of the first and the last row, if these numbers ascend with the rows.
    pub(crate) fn ordered_places(&self) -> Option<(u64, u64)> {
        if self.places.is_ordered() { self.place_range() } else { None }
    }

    /// Returns the smallest and the greatest insertion-order number. Returns `None` if the batch has no rows.
    pub(crate) fn place_range(&self) -> Option<(u64, u64)> {
        self.places.range(self.rows)
    }

    /// Returns the document of a row as it was inserted, or an empty string if the engine does not keep texts.
    pub(crate) fn document(&self, row: usize) -> &str {
        self.documents.text(row)
    }

    /// Returns the document number of a row, if documents are stored outside the engine.
    pub(crate) fn document_number(&self, row: usize) -> Option<u64> {
        self.documents.number(row)
    }

    /// Returns true if a document may have this number or a greater one.
    #[cfg(feature = "store")]
    pub(crate) fn has_documents_from(&self, first: u64) -> bool {
        self.documents.has_numbers_from(first, self.rows)
    }

    /// Adds `by` to the document number of each row.
    #[cfg(feature = "store")]
    pub(crate) fn shift_document_numbers(&mut self, by: u64) {
        self.documents.shift_numbers(by);
    }

    pub(crate) fn documents_bytes(&self) -> usize {
        self.documents.size_bytes()
    }

    pub(crate) fn places_bytes(&self) -> usize {
        self.places.size_bytes()
    }

    /// Returns the size of the buffered rows in bytes, without their documents. Returns 0 if the columns are not lazy.
    pub(crate) fn lazy_bytes(&self) -> usize {
        match &self.columns {
            Columns::Lazy(lazy) => lazy.size_bytes(),
            _ => 0,
        }
    }

    /// Returns an upper bound of the size, in bytes, of the texts of this batch. These are the documents that it holds, and the
    /// strings of its columns. So no offset into these texts is greater.
    pub(crate) fn text_bytes(&self) -> usize {
        let columns = match &self.columns {
            Columns::Sealed(columns) => columns.iter().flatten().map(Column::data_bytes).sum(),
            Columns::Lazy(lazy) => lazy.size_bytes(),
            #[cfg(feature = "store")]
            Columns::Stored(stored) => stored.summary().string_bytes(),
        };
        self.documents.size_bytes().saturating_add(columns)
    }

    /// Checks the invariants. Returns a description of the first violated invariant.
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
        if let Columns::Lazy(lazy) = &self.columns {
            lazy.validate()?;
        }
        if (0..self.rows).any(|row| self.id(row).is_empty()) {
            return Err("a row without an id".into());
        }
        self.places.validate(self.rows)?;
        self.documents.validate(self.rows)
    }
}
