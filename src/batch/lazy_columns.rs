//! Lazy columns: each column is decoded from buffered rows when it is first read.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::buffered_row::{BufferedRow, BufferedRows};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, ColumnBuilder};

/// Buffered rows, and the columns that have been decoded from them so far.
#[derive(Debug)]
pub(super) struct LazyColumns {
    pub(super) catalog: Catalog,
    pub(super) rows: BufferedRows,
    /// The columns by field number.
    pub(super) columns: Box<[LazyColumn]>,
    /// The number of filters that tested the rows one by one.
    filters: AtomicU32,
}

/// A column that is decoded on first access.
#[derive(Debug, Default)]
pub(super) struct LazyColumn {
    /// The decoded column, or `None` if the field is hidden. The cell is empty until the column is first read.
    pub(super) column: OnceLock<Option<Column>>,
    /// True if the column has been read.
    is_used: AtomicBool,
}

/// If a batch has at most this number of rows, a filter tests its rows one by one, and decodes no column. The number is 64, so that
/// a `u64` has one bit for each row.
const FEW_ROWS: usize = 64;
/// After this number of filters, columns are decoded, because later searches will likely need them too.
const MANY_FILTERS: u32 = 32;

impl LazyColumns {
    pub(super) fn new(catalog: &Catalog, rows: BufferedRows) -> Self {
        let columns = catalog.field_ids().map(|_| LazyColumn::default()).collect();
        Self { catalog: catalog.clone(), rows, columns, filters: AtomicU32::new(0) }
    }

    pub(super) fn column(&self, field: FieldId) -> Option<&Column> {
        let lazy = self.columns.get(field.index())?;
        // Writing takes the cache line away from all other cores. So a thread writes the flag only if it is not set yet.
        if !lazy.is_used.load(Ordering::Relaxed) {
            lazy.is_used.store(true, Ordering::Relaxed);
        }
        lazy.column.get_or_init(|| self.seal(field)).as_ref()
    }

    /// Returns true if the column of the field has been read.
    pub(super) fn is_used(&self, field: FieldId) -> bool {
        self.columns.get(field.index()).is_some_and(|lazy| lazy.is_used.load(Ordering::Relaxed))
    }

    /// Returns the rows if all of them belong to one head, there are at most 64, and testing each row is cheaper than decoding
    /// columns.
    pub(super) fn few_rows(&self) -> Option<FewRows<'_>> {
        let rows = self.rows.single().filter(|rows| rows.len() <= FEW_ROWS)?;
        (self.filters.load(Ordering::Relaxed) < MANY_FILTERS).then_some(FewRows { batch: self, rows })
    }

    /// Returns the number of fields.
    pub(super) fn fields(&self) -> usize {
        self.columns.len()
    }

    /// Returns the column of the field with this number, if it has been decoded.
    pub(super) fn column_in_memory(&self, field: usize) -> Option<&Column> {
        self.columns.get(field)?.column.get()?.as_ref()
    }

    fn builder(&self, field: FieldId) -> Option<ColumnBuilder> {
        let is_wanted = field == FieldId::ID || self.catalog.is_visible(field);
        is_wanted.then(|| {
            ColumnBuilder::new(self.catalog.field(field), self.rows.len())
                .within(self.catalog.arrays_around(field))
        })
    }

    fn seal(&self, field: FieldId) -> Option<Column> {
        let mut builder = self.builder(field)?;
        for (number, row) in self.rows.iter().enumerate() {
            row.fill_column(field.index(), &mut builder, number);
        }
        Some(builder.seal(self.rows.len()))
    }

    pub(super) fn row(&self, row: usize) -> Option<&BufferedRow> {
        self.rows.get(row)
    }

    /// Decodes all columns that have not been decoded yet, in one pass over the rows.
    pub(super) fn seal_all(&self) {
        let fields = self.catalog.field_ids().zip(&self.columns);
        let mut builders: Vec<Option<ColumnBuilder>> =
            fields.map(|(field, lazy)| lazy.column.get().is_none().then(|| self.builder(field))?).collect();
        for (number, row) in self.rows.iter().enumerate() {
            row.fill(&mut builders, number);
        }
        for (lazy, builder) in self.columns.iter().zip(builders) {
            // If another thread has stored the column first, that column is equal to this one.
            lazy.column.get_or_init(|| builder.map(|mut builder| builder.seal(self.rows.len())));
        }
    }

    /// Checks that the decoded columns have the same values as the rows. Returns a description of the first wrong column.
    pub(super) fn validate(&self) -> Result<(), String> {
        for (field, lazy) in self.catalog.field_ids().zip(&self.columns) {
            let Some(Some(column)) = lazy.column.get() else { continue };
            let most = most_values(&self.catalog, field);
            let is_sound =
                |(number, row): (usize, &BufferedRow)| column.values(number).eq(row.values(field).take(most));
            if !self.rows.iter().enumerate().all(is_sound) {
                return Err(format!(
                    "{}: a column with other values than the rows",
                    self.catalog.field(field).name()
                ));
            }
        }
        Ok(())
    }

    /// Returns the size of the rows in bytes, without their documents.
    pub(super) fn size_bytes(&self) -> usize {
        self.rows.values_bytes()
    }
}

/// Returns the maximum number of values that a row can have in a field. In a single-valued field, this is 1: only the first value
/// is used.
fn most_values(catalog: &Catalog, field: FieldId) -> usize {
    if catalog.field(field).is_many() { usize::MAX } else { 1 }
}

/// At most 64 buffered rows that are tested one by one.
#[derive(Clone, Copy)]
pub(crate) struct FewRows<'b> {
    batch: &'b LazyColumns,
    rows: &'b [Arc<BufferedRow>],
}

impl<'b> FewRows<'b> {
    /// Returns the number of rows.
    pub(crate) fn len(self) -> usize {
        self.rows.len()
    }

    /// Returns the row with number `row`.
    #[inline]
    pub(crate) fn row(self, row: usize) -> Option<&'b BufferedRow> {
        self.rows.get(row).map(|row| &**row)
    }

    /// Returns the maximum number of values that a row can have in a field. In a single-valued field, this is 1: only the first
    /// value is used.
    pub(crate) fn most_values(self, field: FieldId) -> usize {
        most_values(&self.batch.catalog, field)
    }

    /// Increments the count of filters that tested the rows one by one. After 32 filters,
    /// [`Batch::few_rows`](super::Batch::few_rows) returns `None`.
    pub(crate) fn note_filter(self) {
        self.batch.filters.fetch_add(1, Ordering::Relaxed);
    }
}
