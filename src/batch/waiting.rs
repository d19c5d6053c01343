//! A batch of a few rows whose columns wait until somebody asks for them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Batch, Columns, Document, Documents, DocumentsBuilder, Keep, OwnedRow, OwnedRows, Places};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, ColumnBuilder, Picks};

/// Rows, and those of their columns that were asked for.
#[derive(Debug)]
pub(super) struct Waiting {
    catalog: Catalog,
    rows: OwnedRows,
    /// By field number.
    columns: Box<[Lazy]>,
    /// How many filters the rows were asked for.
    asked: AtomicU32,
}

/// A column, once it is made.
#[derive(Debug, Default)]
struct Lazy {
    column: OnceLock<Option<Column>>,
    is_asked_for: AtomicBool,
}

/// Rows of a batch that may be asked one by one instead of making columns, a bit each.
const FEW_ROWS: usize = 64;
/// So many filters, and columns are made from then on: whatever is asked that often is asked again.
const OFTEN_ASKED: u32 = 32;

impl Waiting {
    fn new(catalog: &Catalog, rows: OwnedRows) -> Self {
        let columns = catalog.field_ids().map(|_| Lazy::default()).collect();
        Self { catalog: catalog.clone(), rows, columns, asked: AtomicU32::new(0) }
    }

    pub(super) fn column(&self, field: FieldId) -> Option<&Column> {
        let lazy = self.columns.get(field.index())?;
        // Many threads may ask at once, and a write would take the line from all others.
        if !lazy.is_asked_for.load(Ordering::Relaxed) {
            lazy.is_asked_for.store(true, Ordering::Relaxed);
        }
        lazy.column.get_or_init(|| self.seal(field)).as_ref()
    }

    fn is_asked_for(&self, field: FieldId) -> bool {
        self.columns.get(field.index()).is_some_and(|lazy| lazy.is_asked_for.load(Ordering::Relaxed))
    }

    /// See [`Batch::few_rows`].
    fn few_rows(&self) -> Option<FewRows<'_>> {
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

    pub(super) fn row(&self, row: usize) -> Option<&OwnedRow> {
        self.rows.get(row)
    }

    /// Makes all columns, in one pass over the rows.
    fn seal_all(&self) {
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
                |(number, row): (usize, &OwnedRow)| column.values(number).eq(row.values(field).take(most));
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
    batch: &'b Waiting,
    rows: &'b [Arc<OwnedRow>],
}

impl<'b> FewRows<'b> {
    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.rows.len()
    }

    /// The row of a number.
    #[inline]
    pub(crate) fn row(self, row: usize) -> Option<&'b OwnedRow> {
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

impl Batch {
    /// The rows, at most 64, if asking each for what a filter asks takes less than making columns.
    pub(crate) fn few_rows(&self) -> Option<FewRows<'_>> {
        match &self.columns {
            Columns::Sealed(_) => None,
            Columns::Waiting(waiting) => waiting.few_rows(),
        }
    }

    /// True when columns wait.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.columns, Columns::Waiting(_))
    }

    /// A row of a batch whose columns wait.
    pub(super) fn waiting_row(&self, row: usize) -> Option<&OwnedRow> {
        match &self.columns {
            Columns::Sealed(_) => None,
            Columns::Waiting(waiting) => waiting.row(row),
        }
    }

    /// Makes all columns that are still waiting.
    pub(crate) fn seal_columns(&self) {
        if let Columns::Waiting(waiting) = &self.columns {
            waiting.seal_all();
        }
    }

    /// Of rows that are no more than a batch holds.
    pub(crate) fn waiting(catalog: &Catalog, keep: Keep, rows: Vec<Arc<OwnedRow>>) -> Self {
        let places = Places::new(rows.iter().map(|row| row.place).collect());
        let rows = OwnedRows::new(rows);
        let documents = match keep {
            Keep::Text => Documents::Rows(rows.clone()),
            Keep::Nothing | Keep::Numbers => {
                let mut documents = DocumentsBuilder::new(keep);
                rows.iter().for_each(|row| documents.push(row.document()));
                documents.seal()
            }
        };
        Self { rows: rows.len(), columns: Columns::Waiting(Waiting::new(catalog, rows)), places, documents }
    }

    /// The rows of two batches whose columns wait, the one's behind the other's; `None` when columns do not wait.
    ///
    /// Those columns that the first was asked for are made at once, by merging, and are there when they are asked for
    /// again.
    pub(crate) fn joined(&self, behind: &Self, keep: Keep) -> Option<Self> {
        let (Columns::Waiting(first), Columns::Waiting(second)) = (&self.columns, &behind.columns) else {
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
            Keep::Text => Documents::Rows(rows.clone()),
            Keep::Nothing => Documents::Nothing,
            Keep::Numbers => {
                let mut documents = DocumentsBuilder::new(keep);
                for (_, row, batch) in each() {
                    let number = batch.document_number(usize::from(row)).unwrap_or(0);
                    documents.push(Document::Number { number, size_bytes: 0 });
                }
                documents.seal()
            }
        };
        let places = Places::new(places.collect());
        let joined = Waiting::new(&first.catalog, rows);
        let picks = each().map(|(source, row, _)| (source, row)).collect();
        let picks = Picks::new(picks, [self.rows, behind.rows]);
        for (field, lazy) in first.catalog.field_ids().zip(&joined.columns) {
            if first.is_asked_for(field) {
                let columns = [first.column(field), second.column(field)];
                let column = columns[0].map(|_| Column::merged(first.catalog.field(field), &columns, &picks));
                // Nobody else knows of this batch yet.
                lazy.column.get_or_init(|| column);
            }
        }
        Some(Self { rows: joined.rows.len(), columns: Columns::Waiting(joined), places, documents })
    }
}
