//! Lazy columns: buffered rows, and those of their columns that were read.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::buffered_row::{BufferedRow, BufferedRows};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, ColumnBuilder};

/// Buffered rows, and those of their columns that were read.
#[derive(Debug)]
pub(super) struct LazyColumns {
    pub(super) catalog: Catalog,
    pub(super) rows: BufferedRows,
    /// By field number.
    pub(super) columns: Box<[LazyColumn]>,
    /// The number of filters that tested the rows one by one.
    filters: AtomicU32,
}

/// A column, once it is made.
#[derive(Debug, Default)]
pub(super) struct LazyColumn {
    pub(super) column: OnceLock<Option<Column>>,
    is_used: AtomicBool,
}

/// The most rows of a batch that are tested one by one instead of making columns, a bit each.
const FEW_ROWS: usize = 64;
/// After this many filters, columns are made: a batch that was searched that often will be searched again.
const MANY_FILTERS: u32 = 32;

impl LazyColumns {
    pub(super) fn new(catalog: &Catalog, rows: BufferedRows) -> Self {
        let columns = catalog.field_ids().map(|_| LazyColumn::default()).collect();
        Self { catalog: catalog.clone(), rows, columns, filters: AtomicU32::new(0) }
    }

    pub(super) fn column(&self, field: FieldId) -> Option<&Column> {
        let lazy = self.columns.get(field.index())?;
        // Many threads may read at once, and a write would take the cache line from all others.
        if !lazy.is_used.load(Ordering::Relaxed) {
            lazy.is_used.store(true, Ordering::Relaxed);
        }
        lazy.column.get_or_init(|| self.seal(field)).as_ref()
    }

    pub(super) fn is_used(&self, field: FieldId) -> bool {
        self.columns.get(field.index()).is_some_and(|lazy| lazy.is_used.load(Ordering::Relaxed))
    }

    /// Returns the rows, at most 64, if testing each takes less than making columns.
    pub(super) fn few_rows(&self) -> Option<FewRows<'_>> {
        let rows = self.rows.single().filter(|rows| rows.len() <= FEW_ROWS)?;
        (self.filters.load(Ordering::Relaxed) < MANY_FILTERS).then_some(FewRows { batch: self, rows })
    }

    /// Returns the number of fields.
    pub(super) fn fields(&self) -> usize {
        self.columns.len()
    }

    /// Returns the columns that were made.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter_map(|lazy| lazy.column.get()?.as_ref())
    }

    fn builder(&self, field: FieldId) -> Option<ColumnBuilder> {
        let is_wanted = field == FieldId::ID || self.catalog.is_visible(field);
        is_wanted.then(|| ColumnBuilder::new(self.catalog.field(field), self.rows.len()))
    }

    fn seal(&self, field: FieldId) -> Option<Column> {
        let mut builder = self.builder(field)?;
        for (number, row) in self.rows.iter().enumerate() {
            row.values(field).for_each(|value| builder.push(number, &value));
        }
        Some(builder.seal(self.rows.len()))
    }

    pub(super) fn row(&self, row: usize) -> Option<&BufferedRow> {
        self.rows.get(row)
    }

    /// Makes all columns, in one pass over the rows.
    pub(super) fn seal_all(&self) {
        let fields = self.catalog.field_ids().zip(&self.columns);
        let mut builders: Vec<Option<ColumnBuilder>> =
            fields.map(|(field, lazy)| lazy.column.get().is_none().then(|| self.builder(field))?).collect();
        for (number, row) in self.rows.iter().enumerate() {
            row.fill(&mut builders, number);
        }
        for (lazy, builder) in self.columns.iter().zip(builders) {
            // Another thread may be faster; the column is the same.
            lazy.column.get_or_init(|| builder.map(|mut builder| builder.seal(self.rows.len())));
        }
    }

    /// Checks that columns hold the values of the rows.
    pub(super) fn validate(&self) -> Result<(), String> {
        for (field, lazy) in self.catalog.field_ids().zip(&self.columns) {
            let Some(Some(column)) = lazy.column.get() else { continue };
            let most = most_values(&self.catalog, field);
            let is_sound =
                |(number, row): (usize, &BufferedRow)| column.values(number).eq(row.values(field).take(most));
            if !self.rows.iter().enumerate().all(is_sound) {
                return Err(format!("{}: a column of other values", self.catalog.field(field).name()));
            }
        }
        Ok(())
    }

    /// Returns the size of the rows without their documents, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.rows.values_bytes()
    }
}

/// Returns how many of a row's values of a field count; the first ones do.
fn most_values(catalog: &Catalog, field: FieldId) -> usize {
    if catalog.field(field).is_many() { usize::MAX } else { 1 }
}

/// At most 64 buffered rows to be tested one by one.
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

    /// Returns the row of a number.
    #[inline]
    pub(crate) fn row(self, row: usize) -> Option<&'b BufferedRow> {
        self.rows.get(row).map(|row| &**row)
    }

    /// Returns how many of a row's values of a field count; the first ones do.
    pub(crate) fn most_values(self, field: FieldId) -> usize {
        most_values(&self.batch.catalog, field)
    }

    /// Counts a filter that tests the rows.
    pub(crate) fn note_filter(self) {
        self.batch.filters.fetch_add(1, Ordering::Relaxed);
    }
}
