//! Columns of a stored batch: each is read from the store when it is first needed.

use std::any::Any;
use std::fmt::Debug;
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};

use super::key_filter::KeyFilter;
use super::summary::{BatchSummary, ColumnSummary};
use crate::catalog::{Catalog, FieldId};
use crate::column::Column;

/// An error that says why a column cannot be read. Only the store knows the type of the error.
pub(crate) type Unreadable = Box<dyn Any + Send>;

/// A reader of the columns of one batch. The store implements it.
pub(crate) trait ColumnSource: Debug + Send + Sync {
    /// Reads the column of a field, and checks that the column agrees with `summary`.
    ///
    /// # Errors
    /// Returns an error if the column cannot be read or is damaged.
    fn read(&self, field: FieldId, summary: ColumnSummary) -> Result<Column, Unreadable>;

    /// Reads the filter of a key field. Returns `None` if the batch has no such filter.
    ///
    /// # Errors
    /// Returns an error if the filter cannot be read or is damaged.
    fn filter(&self, field: FieldId) -> Result<Option<KeyFilter>, Unreadable>;

    /// Notes that the batch has read a column. The batch keeps the column in memory, and does not read it again. So it calls this
    /// method at most once for each field.
    fn note_read(&self);

    /// Returns true if a column of the batch could not be read.
    fn is_unreadable(&self) -> bool;
}

/// The columns of a stored batch that have been read so far, and the source of the other columns.
#[derive(Debug)]
pub(super) struct StoredColumns {
    /// The columns by field number. A cell is empty until its column is first read. A hidden field has the cell `None`.
    cells: Box<[OnceLock<Option<Column>>]>,
    summary: BatchSummary,
    source: Arc<dyn ColumnSource>,
}

impl StoredColumns {
    /// Creates the columns of a batch. None of them has been read.
    pub(super) fn new(catalog: &Catalog, summary: BatchSummary, source: Arc<dyn ColumnSource>) -> Self {
        let cell = |field| match field == FieldId::ID || catalog.is_visible(field) {
            true => OnceLock::new(),
            false => OnceLock::from(None),
        };
        Self { cells: catalog.field_ids().map(cell).collect(), summary, source }
    }

    /// Returns the column of a field. Reads it first if it has not been read.
    ///
    /// # Panics
    /// Does not return if the column cannot be read or is damaged. It unwinds to the operation of the store that needs the column,
    /// with the error as the payload, and without calling the panic hook. So no caller sees wrong values.
    #[inline]
    pub(super) fn column(&self, field: FieldId) -> Option<&Column> {
        let cell = self.cells.get(field.index())?;
        match cell.get() {
            Some(column) => column.as_ref(),
            None => self.read(field, cell),
        }
    }

    #[cold]
    fn read<'c>(&self, field: FieldId, cell: &'c OnceLock<Option<Column>>) -> Option<&'c Column> {
        // If reading unwinds, the cell stays empty, and the next access reads again.
        let read = || {
            let column = self.source.read(field, self.summary.column(field));
            let column = column.unwrap_or_else(|error| resume_unwind(error));
            self.source.note_read();
            Some(column)
        };
        cell.get_or_init(read).as_ref()
    }

    /// Returns the filter of a key field, if there is one and the column of the field has not been read.
    ///
    /// # Panics
    /// If the filter cannot be read, this method unwinds, as [`column`](Self::column) does.
    pub(super) fn filter(&self, field: FieldId) -> Option<KeyFilter> {
        let is_unread = self.cells.get(field.index())?.get().is_none();
        is_unread.then(|| self.source.filter(field).unwrap_or_else(|error| resume_unwind(error))).flatten()
    }

    /// Reads the column of a field if it has not been read. Does not unwind.
    pub(super) fn try_read(&self, field: FieldId) -> Result<(), Unreadable> {
        if let Some(cell) = self.cells.get(field.index())
            && cell.get().is_none()
        {
            let column = self.source.read(field, self.summary.column(field))?;
            // Another thread may have read the column in the meantime.
            if cell.set(Some(column)).is_ok() {
                self.source.note_read();
            }
        }
        Ok(())
    }

    /// Returns true if a column could not be read.
    pub(super) fn is_unreadable(&self) -> bool {
        self.source.is_unreadable()
    }

    /// Returns true if the column of the field has been read, or if the field has no column.
    pub(super) fn has_column(&self, field: FieldId) -> bool {
        self.cells.get(field.index()).is_none_or(|cell| cell.get().is_some())
    }

    /// Returns the column of the field with this number, if it has been read.
    pub(super) fn column_in_memory(&self, field: usize) -> Option<&Column> {
        self.cells.get(field)?.get()?.as_ref()
    }

    /// Returns the number of fields.
    pub(super) fn fields(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn summary(&self) -> &BatchSummary {
        &self.summary
    }
}
