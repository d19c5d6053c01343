//! Rows of several batches copied into one, a bounded step at a time.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a budget that is not less than the cost, and picked rows, each of which names a source"
)]

use std::sync::Arc;

use super::document::Keep;
use super::documents::{BatchDocuments, DocumentsMerge};
use super::insertion_order::InsertionOrder;
use super::sealed::Batch;
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, ColumnBuilder, Picks};

/// A batch being made of rows of others, one column after the other.
pub(crate) struct BatchMerge {
    sources: Vec<Arc<Batch>>,
    /// The rows of the new batch, ascending by place.
    picks: Picks,
    /// Of rows of heads, which have no columns to be merged: the columns being filled.
    filling: Option<ColumnsBuilder>,
    columns: Vec<Option<Column>>,
    /// Values that may be copied, but are too few for a column.
    saved: usize,
    /// Rows whose documents are done.
    done: usize,
    documents: DocumentsMerge,
}

/// Columns being filled, by field number, and how many rows they have.
struct ColumnsBuilder {
    builders: Vec<Option<ColumnBuilder>>,
    rows: usize,
}

impl BatchMerge {
    /// Of these rows of these batches; they come to stand in the order of their places.
    pub(crate) fn new(sources: Vec<Arc<Batch>>, mut rows: Vec<(u16, u16)>, keep: Keep) -> Self {
        let place = |(source, row): &(u16, u16)| sources[usize::from(*source)].place(usize::from(*row));
        if !rows.is_sorted_by_key(place) {
            rows.sort_by_cached_key(place);
        }
        let picks = Picks::new(rows, sources.iter().map(|batch| batch.rows()));
        let documents: Vec<&BatchDocuments> = sources.iter().map(|batch| &batch.documents).collect();
        let documents = DocumentsMerge::new(keep, &documents, picks.rows());
        Self { sources, picks, filling: None, columns: Vec::new(), saved: 0, done: 0, documents }
    }

    /// From which source and row each row comes.
    pub(crate) fn rows(&self) -> &[(u16, u16)] {
        self.picks.rows()
    }

    /// Copies about `budget` values, which is lowered by what was copied or saved for the next column, of
    /// which none is done in part; true when all are.
    pub(crate) fn step(&mut self, catalog: &Catalog, budget: &mut usize) -> bool {
        let rows = self.rows().len();
        let mut left = self.saved.saturating_add(std::mem::take(budget));
        if self.columns.is_empty() && !self.fill(catalog, &mut left) {
            self.saved = left;
            return false;
        }
        for id in catalog.field_ids().skip(self.columns.len()) {
            // An empty column costs something, too.
            let cost = rows.max(1);
            if left < cost {
                self.saved = left;
                return false;
            }
            left -= cost;
            let is_wanted = id == FieldId::ID || catalog.is_visible(id);
            if let Some(filling) = &mut self.filling {
                let builder = filling.builders[id.index()].as_mut();
                self.columns.push(builder.map(|builder| builder.seal(rows)));
                continue;
            }
            self.columns.push(is_wanted.then(|| {
                let columns: Vec<Option<&Column>> =
                    self.sources.iter().map(|batch| batch.column(id)).collect();
                Column::merged(catalog.field(id), &columns, &self.picks)
            }));
        }
        self.saved = 0;
        let end = self.done.saturating_add(left).min(rows);
        for (source, row) in &self.picks.rows()[self.done..end] {
            self.documents.push(*source, &self.sources[usize::from(*source)].documents, *row);
        }
        *budget = left - (end - self.done);
        self.done = end;
        end == rows
    }

    /// Fills columns with the values of heads, if all sources are heads; true when nothing is left to fill.
    fn fill(&mut self, catalog: &Catalog, left: &mut usize) -> bool {
        if self.filling.is_none() {
            if !self.sources.iter().all(|batch| batch.is_lazy()) {
                self.sources.iter().for_each(|batch| batch.seal_columns());
                return true;
            }
            let rows = self.rows().len();
            let builders = catalog.field_ids().map(|id| {
                let is_wanted = id == FieldId::ID || catalog.is_visible(id);
                is_wanted.then(|| ColumnBuilder::new(catalog.field(id), rows))
            });
            self.filling = Some(ColumnsBuilder { builders: builders.collect(), rows: 0 });
        }
        let Some(filling) = &mut self.filling else { return true };
        let cost = filling.builders.len().max(1);
        for (source, row) in self.picks.rows().iter().skip(filling.rows) {
            if *left < cost {
                return false;
            }
            *left -= cost;
            if let Some(row) = self.sources[usize::from(*source)].buffered_row(usize::from(*row)) {
                row.fill(&mut filling.builders, filling.rows);
            }
            filling.rows += 1;
        }
        true
    }

    /// The batch, once [`step`](Self::step) has said that all is copied.
    pub(crate) fn finish(self) -> Batch {
        let place = |(source, row): &(u16, u16)| self.sources[usize::from(*source)].place(usize::from(*row));
        let places = self.rows().iter().map(place);
        let places = InsertionOrder::new(places.collect());
        Batch::sealed(self.picks.rows().len(), self.columns.into(), places, self.documents.seal())
    }
}
