//! Lazy columns: buffered rows, and those of their columns that were read.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::buffered_row::{BufferedRow, BufferedRows};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, ColumnBuilder};

/// Rows, and those of their columns that were asked for.
#[derive(Debug)]
pub(super) struct LazyColumns {
    pub(super) catalog: Catalog,
    pub(super) rows: BufferedRows,
    /// By field number.
    pub(super) columns: Box<[LazyColumn]>,
    /// How many filters the rows were asked for.
    asked: AtomicU32,
}

/// A column, once it is made.
#[derive(Debug, Default)]
pub(super) struct LazyColumn {
    pub(super) column: OnceLock<Option<Column>>,
    is_used: AtomicBool,
}

/// Rows of a batch that may be asked one by one instead of making columns, a bit each.
const FEW_ROWS: usize = 64;
/// So many filters, and columns are made from then on: whatever is asked that often is asked again.
const OFTEN_ASKED: u32 = 32;

impl LazyColumns {
    pub(super) fn new(catalog: &Catalog, rows: BufferedRows) -> Self {
        let columns = catalog.field_ids().map(|_| LazyColumn::default()).collect();
        Self { catalog: catalog.clone(), rows, columns, asked: AtomicU32::new(0) }
    }

    pub(super) fn column(&self, field: FieldId) -> Option<&Column> {
        let lazy = self.columns.get(field.index())?;
        // Many threads may ask at once, and a write would take the line from all others.
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
        (self.asked.load(Ordering::Relaxed) < OFTEN_ASKED).then_some(FewRows { batch: self, rows })
    }

    /// How many fields there are.
    pub(super) fn fields(&self) -> usize {
        self.columns.len()
    }

    /// Those that were asked for.
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
            // Whoever asks meanwhile may be faster; the column is the same.
            lazy.column.get_or_init(|| builder.map(|mut builder| builder.seal(self.rows.len())));
        }
    }

    /// Says which column does not hold what the rows do.
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

    /// What the rows take, their documents apart.
    pub(super) fn size_bytes(&self) -> usize {
        self.rows.values_bytes()
    }
}

/// How many of a row's values of a field count, the first ones.
fn most_values(catalog: &Catalog, field: FieldId) -> usize {
    if catalog.field(field).is_many() { usize::MAX } else { 1 }
}

/// Rows to be asked for their values, at most 64.
#[derive(Clone, Copy)]
pub(crate) struct FewRows<'b> {
    batch: &'b LazyColumns,
    rows: &'b [Arc<BufferedRow>],
}

impl<'b> FewRows<'b> {
    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.rows.len()
    }

    /// The row of a number.
    #[inline]
    pub(crate) fn row(self, row: usize) -> Option<&'b BufferedRow> {
        self.rows.get(row).map(|row| &**row)
    }

    /// How many of a row's values of a field count, the first ones.
    pub(crate) fn most_values(self, field: FieldId) -> usize {
        most_values(&self.batch.catalog, field)
    }

    /// Notes that the rows are asked for a filter.
    pub(crate) fn note_filter(self) {
        self.batch.asked.fetch_add(1, Ordering::Relaxed);
    }
}
