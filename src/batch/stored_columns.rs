//! Columns of a stored batch: each is read from the store when it is first needed.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use super::summary::{BatchSummary, ColumnSummary};
use crate::catalog::{Catalog, FieldId};
use crate::column::Column;

/// A reader of the columns of one batch. The store implements it.
pub(crate) trait ColumnSource: Debug + Send + Sync {
    /// Reads the column of a field, and checks that it agrees with its summary. The batch calls this once for each field, unless a
    /// call does not return.
    ///
    /// # Panics
    /// Does not return if the column cannot be read or is damaged. It unwinds to the operation of the store that needs the column,
    /// with the error as the payload, and without calling the panic hook. So no caller sees wrong values.
    fn read(&self, field: FieldId, summary: ColumnSummary) -> Column;
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
        cell.get_or_init(|| Some(self.source.read(field, self.summary.column(field)))).as_ref()
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
