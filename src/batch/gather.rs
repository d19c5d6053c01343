//! Rows of several batches copied into one, a bounded step at a time.

use std::sync::Arc;

use super::{Batch, Document, DocumentsBuilder, Keep, Places};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, ColumnBuilder};

/// A batch being made of rows of others, one column after the other.
pub(crate) struct Gather {
    sources: Vec<Arc<Batch>>,
    /// The source, as an index, and the row in it of each row of the new batch, ascending by place.
    rows: Vec<(u16, u16)>,
    columns: Vec<Option<Column>>,
    filling: Option<ColumnBuilder>,
    /// Rows of the column being filled that are done, or of the documents.
    done: usize,
    documents: DocumentsBuilder,
}

impl Gather {
    /// Of these rows of these batches; they come to stand in the order of their places.
    pub(crate) fn new(sources: Vec<Arc<Batch>>, mut rows: Vec<(u16, u16)>, keep: Keep) -> Self {
        let place = |(source, row): &(u16, u16)| {
            sources.get(usize::from(*source)).map_or(u64::MAX, |batch| batch.place(usize::from(*row)))
        };
        if !rows.is_sorted_by_key(place) {
            rows.sort_by_cached_key(place);
        }
        Self {
            sources,
            rows,
            columns: Vec::new(),
            filling: None,
            done: 0,
            documents: DocumentsBuilder::new(keep),
        }
    }

    /// From which source and row each row comes.
    pub(crate) fn rows(&self) -> &[(u16, u16)] {
        &self.rows
    }

    /// Copies at most `budget` values, which is lowered by what was copied, and seals a column when it
    /// is complete; true when all are.
    pub(crate) fn step(&mut self, catalog: &Catalog, budget: &mut usize) -> bool {
        let fields = catalog.fields().len();
        while *budget > 0 && self.columns.len() < fields {
            self.step_column(catalog, budget);
        }
        if self.columns.len() < fields {
            return false;
        }
        let end = self.done.saturating_add(*budget).min(self.rows.len());
        for (source, row) in self.rows.get(self.done..end).unwrap_or_default() {
            let Some(batch) = self.sources.get(usize::from(*source)) else { continue };
            let row = usize::from(*row);
            self.documents.push(match batch.document_number(row) {
                Some(number) => Document::Number { number, size_bytes: 0 },
                None => Document::Text(batch.document(row)),
            });
        }
        *budget = budget.saturating_sub(end.saturating_sub(self.done));
        self.done = end;
        end == self.rows.len()
    }

    fn step_column(&mut self, catalog: &Catalog, budget: &mut usize) {
        let Some(field) = catalog.field_ids().nth(self.columns.len()) else { return };
        if !(field == FieldId::ID || catalog.is_visible(field)) {
            self.columns.push(None);
            return;
        }
        let columns: Vec<Option<&Column>> = self.sources.iter().map(|batch| batch.column(field)).collect();
        let filling = self.filling.get_or_insert_with(|| ColumnBuilder::new(catalog.field(field)));
        let end = self.done.saturating_add(*budget).min(self.rows.len());
        for (source, row) in self.rows.get(self.done..end).unwrap_or_default() {
            if let Some(Some(column)) = columns.get(usize::from(*source)) {
                for value in column.values(usize::from(*row)) {
                    filling.push(&value);
                }
            }
            filling.end_row();
        }
        // An empty column costs something, too.
        *budget = budget.saturating_sub(end.saturating_sub(self.done).max(1));
        self.done = end;
        if end == self.rows.len() {
            self.columns.push(Some(filling.seal()));
            self.filling = None;
            self.done = 0;
        }
    }

    /// The batch, once [`step`](Self::step) said that all is done.
    pub(crate) fn finish(mut self) -> Batch {
        let places = self.rows.iter().map(|(source, row)| {
            self.sources.get(usize::from(*source)).map_or(u64::MAX, |batch| batch.place(usize::from(*row)))
        });
        Batch {
            rows: self.rows.len(),
            places: Places::new(places.collect()),
            columns: self.columns.into(),
            documents: self.documents.seal(),
        }
    }
}
