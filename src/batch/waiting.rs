//! A batch of a few rows whose columns wait until somebody asks for them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Batch, Columns, Documents, DocumentsBuilder, Keep, OwnedRow, Places};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, ColumnBuilder};

/// Rows, and those of their columns that were asked for.
#[derive(Debug)]
pub(super) struct Waiting {
    catalog: Catalog,
    rows: Arc<[Arc<OwnedRow>]>,
    /// By field number.
    columns: Box<[OnceLock<Option<Column>>]>,
    /// How many filters the rows were asked for.
    asked: AtomicU32,
}

/// Rows of a batch that may be asked one by one instead of making columns, a bit each.
const FEW_ROWS: usize = 64;
/// So many filters, and columns are made from then on: whatever is asked that often is asked again.
const OFTEN_ASKED: u32 = 32;

impl Waiting {
    pub(super) fn column(&self, field: FieldId) -> Option<&Column> {
        let column = self.columns.get(field.index())?;
        column.get_or_init(|| self.seal(field)).as_ref()
    }

    /// See [`Batch::few_rows`].
    fn few_rows(&self) -> Option<FewRows<'_>> {
        let are_few = self.rows.len() <= FEW_ROWS && self.asked.load(Ordering::Relaxed) < OFTEN_ASKED;
        are_few.then_some(FewRows(self))
    }

    /// How many fields there are.
    pub(super) fn fields(&self) -> usize {
        self.columns.len()
    }

    /// Those that were asked for.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter_map(|column| column.get()?.as_ref())
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

    pub(super) fn row(&self, row: usize) -> Option<&OwnedRow> {
        self.rows.get(row).map(|row| &**row)
    }

    /// Makes all columns, in one pass over the rows.
    fn seal_all(&self) {
        let fields = self.catalog.field_ids().zip(&self.columns);
        let mut builders: Vec<Option<ColumnBuilder>> =
            fields.map(|(field, column)| column.get().is_none().then(|| self.builder(field))?).collect();
        for (number, row) in self.rows.iter().enumerate() {
            row.fill(&mut builders, number);
        }
        for (column, builder) in self.columns.iter().zip(builders) {
            // Whoever asks meanwhile may be faster; the column is the same.
            column.get_or_init(|| builder.map(|mut builder| builder.seal(self.rows.len())));
        }
    }

    /// What the rows take, their documents apart.
    pub(super) fn size_bytes(&self) -> usize {
        self.rows.iter().map(|row| row.values_bytes()).fold(0, usize::saturating_add)
    }
}

/// Rows to be asked for their values, at most 64.
#[derive(Clone, Copy)]
pub(crate) struct FewRows<'b>(&'b Waiting);

impl<'b> FewRows<'b> {
    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.0.rows.len()
    }

    /// The row of a number.
    #[inline]
    pub(crate) fn row(self, row: usize) -> Option<&'b OwnedRow> {
        self.0.row(row)
    }

    /// How many of a row's values of a field count, the first ones.
    pub(crate) fn most_values(self, field: FieldId) -> usize {
        if self.0.catalog.field(field).is_many() { usize::MAX } else { 1 }
    }

    /// Notes that the rows are asked for a filter.
    pub(crate) fn note_filter(self) {
        self.0.asked.fetch_add(1, Ordering::Relaxed);
    }
}

impl Batch {
    /// The rows, at most 64, if asking each for what a filter asks takes less than making columns.
    pub(crate) fn few_rows(&self) -> Option<FewRows<'_>> {
        match &self.columns {
            Columns::Sealed(_) => None,
            Columns::Waiting(waiting) => waiting.few_rows(),
        }
    }

    /// The rows of a batch whose columns wait.
    pub(crate) fn waiting_rows(&self) -> Option<&[Arc<OwnedRow>]> {
        match &self.columns {
            Columns::Sealed(_) => None,
            Columns::Waiting(waiting) => Some(&waiting.rows),
        }
    }

    /// Makes all columns that are still waiting.
    pub(crate) fn seal_columns(&self) {
        if let Columns::Waiting(waiting) = &self.columns {
            waiting.seal_all();
        }
    }

    /// Of rows that are no more than a batch holds.
    pub(crate) fn waiting(catalog: &Catalog, keep: Keep, rows: Arc<[Arc<OwnedRow>]>) -> Self {
        let documents = match keep {
            Keep::Text => Documents::Rows(Arc::clone(&rows)),
            Keep::Nothing | Keep::Numbers => {
                let mut documents = DocumentsBuilder::new(keep);
                rows.iter().for_each(|row| documents.push(row.document()));
                documents.seal()
            }
        };
        let places = Places::new(rows.iter().map(|row| row.place).collect());
        let columns = catalog.field_ids().map(|_| OnceLock::new()).collect();
        Self {
            rows: rows.len(),
            columns: Columns::Waiting(Waiting {
                catalog: catalog.clone(),
                rows,
                columns,
                asked: AtomicU32::new(0),
            }),
            places,
            documents,
        }
    }
}
