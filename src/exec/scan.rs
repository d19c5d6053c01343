//! The one loop over the batches of a search.
//!
//! Counts, pages and estimates all evaluate batches through a [`Scan`]. A [`Collector`] says before each batch what it needs
//! of it, and takes the rows that the query selects there. So this is the one place that knows how many rows a search has
//! examined, and the place for a check of its time limit.
#![expect(clippy::arithmetic_side_effects, reason = "a count of rows that one search looks at, in 64 bits")]

use std::cell::{Cell, RefCell};

use super::evaluate::{Selected, select};
use super::query::Query;
use crate::batch::Batch;
use crate::rows::Selection;

/// A batch that may have selected rows.
#[derive(Clone, Copy)]
pub(crate) struct Visit<'b> {
    /// Its number in the snapshot.
    pub(crate) number: usize,
    pub(crate) batch: &'b Batch,
    /// The rows that are cases: neither replaced nor deleted.
    pub(crate) live: &'b Selection,
}

/// The need of a collector for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The rows that the query selects.
    Rows,
    /// Nothing: the collector had its answer from the indexes of the batch.
    Answered,
    /// Nothing: no row of the batch can matter.
    Nothing,
    /// Nothing, and no row of any batch to come can matter.
    End,
}

/// Takes in the batches of a search, one after the other.
pub(crate) trait Collector<'q> {
    /// A batch, with what is known of it.
    type Item;

    /// The batch itself.
    fn visit<'i>(item: &'i Self::Item) -> &'i Visit<'q>;

    /// Returns the need for a batch; called once for each, in order.
    fn need(&mut self, item: &Self::Item) -> Need;

    /// Takes in the selected rows of a batch of which [`Need::Rows`] was said just before.
    fn collect(&mut self, item: &Self::Item, selected: Selected<'q>);
}

/// A query on the batches of one snapshot.
pub(crate) struct Scan<'q> {
    query: &'q Query<'q>,
    /// The number of rows of the batches evaluated so far.
    examined: Cell<u64>,
    /// Selected rows that were put back, and the number of their batch.
    kept: RefCell<Option<(usize, Selected<'q>)>>,
}

impl<'q> Scan<'q> {
    pub(crate) fn new(query: &'q Query<'q>) -> Self {
        Self { query, examined: Cell::new(0), kept: RefCell::new(None) }
    }

    /// Goes through batches until the collector needs no more of them.
    pub(crate) fn run<C: Collector<'q>>(&self, batches: impl Iterator<Item = C::Item>, collector: &mut C) {
        for item in batches {
            let visit = C::visit(&item);
            match collector.need(&item) {
                Need::Rows => {
                    let selected = self.select(visit);
                    collector.collect(&item, selected);
                }
                Need::Answered => self.examine(visit.batch.rows() as u64),
                Need::Nothing => {}
                Need::End => break,
            }
        }
    }

    /// Returns the selected rows of a batch, not yet gathered.
    pub(crate) fn select(&self, visit: &Visit<'q>) -> Selected<'q> {
        let mut kept = self.kept.borrow_mut();
        if let Some((_, selected)) = kept.take_if(|(number, _)| *number == visit.number) {
            return selected;
        }
        drop(kept);
        self.examine(visit.batch.rows() as u64);
        select(self.query, visit.number, visit.batch, visit.live)
    }

    /// Returns about how many rows of a batch are selected. The plan is kept for the next [`select`](Self::select).
    pub(crate) fn likely(&self, visit: &Visit<'q>) -> usize {
        let selected = self.select(visit);
        let likely = selected.likely();
        self.kept.replace(Some((visit.number, selected)));
        likely
    }

    /// Counts rows that were examined, in a batch or one by one.
    pub(crate) fn examine(&self, rows: u64) {
        self.examined.set(self.examined.get() + rows);
    }

    /// Returns the number of rows examined so far.
    pub(crate) fn examined(&self) -> u64 {
        self.examined.get()
    }
}
