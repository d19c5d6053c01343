//! Merges several batches into one batch, in steps of bounded cost.
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

/// A merge of rows of several batches into one batch, column by column, then document by document.
pub(crate) struct BatchMerge {
    sources: Vec<Arc<Batch>>,
    /// The rows of the new batch, in insertion order.
    picks: Picks,
    /// The columns that are being filled from buffered rows. `None` if a source has sealed columns; the merge then merges the
    /// columns of the sources.
    filling: Option<ColumnsBuilder>,
    /// The finished columns by field number.
    columns: Vec<Option<Column>>,
    /// The budget that earlier steps did not use, because it was too small for the next column.
    saved: usize,
    /// The number of rows whose documents have been merged.
    done: usize,
    documents: DocumentsMerge,
}

/// Columns that are being filled, by field number. All of them have the same number of rows so far.
struct ColumnsBuilder {
    builders: Vec<Option<ColumnBuilder>>,
    rows: usize,
}

impl BatchMerge {
    /// Creates a merge of `rows`. The merged batch contains them in insertion order. Each row is given as the index of its batch in
    /// `sources`, and its row number in this batch.
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

    /// Returns two numbers for each row of the merged batch: the index of its source batch, and its row number in the source batch.
    pub(crate) fn rows(&self) -> &[(u16, u16)] {
        self.picks.rows()
    }

    /// Returns true if a column of a source could not be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.sources.iter().any(|batch| batch.is_unreadable())
    }

    /// Copies about `budget` values. Returns true when all values and documents have been copied.
    ///
    /// A column is always copied completely. If the budget is too small for the next column, the budget is saved for later steps,
    /// and `budget` becomes 0.
    pub(crate) fn step(&mut self, catalog: &Catalog, budget: &mut usize) -> bool {
        let rows = self.rows().len();
        let mut left = self.saved.saturating_add(std::mem::take(budget));
        if self.columns.is_empty() && !self.fill(catalog, &mut left) {
            self.saved = left;
            return false;
        }
        for id in catalog.field_ids().skip(self.columns.len()) {
            // Even an empty column has a cost.
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

    /// If all sources have lazy columns, copies the values of their buffered rows into column builders, within the budget `left`.
    /// Returns true when the values of all rows have been copied.
    ///
    /// If not all sources have lazy columns, seals the columns of the sources and returns true. [`step`](Self::step) then merges
    /// these columns.
    fn fill(&mut self, catalog: &Catalog, left: &mut usize) -> bool {
        if self.filling.is_none() {
            if !self.sources.iter().all(|batch| batch.is_lazy()) {
                self.sources.iter().for_each(|batch| batch.seal_columns());
                return true;
            }
            let rows = self.rows().len();
            let builders = catalog.field_ids().map(|id| {
                let is_wanted = id == FieldId::ID || catalog.is_visible(id);
                is_wanted
                    .then(|| ColumnBuilder::new(catalog.field(id), rows).within(catalog.arrays_around(id)))
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

    /// Returns the merged batch. The caller must have called [`step`](Self::step) until it returned true.
    pub(crate) fn finish(self) -> Batch {
        let place = |(source, row): &(u16, u16)| self.sources[usize::from(*source)].place(usize::from(*row));
        let places = self.rows().iter().map(place);
        let places = InsertionOrder::new(places.collect());
        Batch::sealed(self.picks.rows().len(), self.columns.into(), places, self.documents.seal())
    }
}
