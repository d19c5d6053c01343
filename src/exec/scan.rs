//! The loop over the batches of a search.
//!
//! Counts, pages and estimates all evaluate batches through a [`Scan`]. Before each batch, a [`Collector`] says what it needs
//! from the batch. Then it gets the rows of the batch that the query selects. The scan also counts the rows that the search
//! examines.
//!
//! Before each batch, the scan checks if the search must stop; see [`stop`](crate::stop).
#![expect(clippy::arithmetic_side_effects, reason = "a count of rows that one search examines, in 64 bits")]

use std::cell::{Cell, RefCell};

use super::evaluate::{Selected, select};
use super::query::Query;
use crate::batch::Batch;
use crate::rows::Selection;
use crate::stop::Pace;

/// A batch that may have selected rows.
#[derive(Clone, Copy)]
pub(crate) struct Visit<'b> {
    /// The batch number in the snapshot.
    pub(crate) number: usize,
    pub(crate) batch: &'b Batch,
    /// The rows that were neither replaced nor deleted.
    pub(crate) live: &'b Selection,
}

/// The rows that a collector needs from a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The rows that the query selects.
    Rows,
    /// No rows, because the collector already has its answer from the indexes of the batch.
    Answered,
    /// No rows, because no row of the batch can affect the result.
    Nothing,
    /// No rows, because no row of this batch or of a later batch can affect the result.
    End,
}

/// A consumer that gets the batches of a search one after the other.
pub(crate) trait Collector<'q> {
    /// A batch, with any further data that the collector needs about it.
    type Item;

    /// Returns the batch of an item.
    fn visit<'i>(item: &'i Self::Item) -> &'i Visit<'q>;

    /// Returns the rows that the collector needs from a batch. Called once for each batch, in order.
    fn need(&mut self, item: &Self::Item) -> Need;

    /// Adds the selected rows of a batch. Called directly after [`need`](Self::need) has returned [`Need::Rows`] for this batch.
    fn collect(&mut self, item: &Self::Item, selected: Selected<'q>);
}

/// The evaluation of a query on the batches of one snapshot, by one thread.
pub(crate) struct Scan<'q> {
    query: &'q Query<'q>,
    /// The number of rows of the batches evaluated so far.
    examined: Cell<u64>,
    /// The selection that [`likely`](Self::likely) computed and [`select`](Self::select) will reuse, with its batch number.
    kept: RefCell<Option<(usize, Selected<'q>)>>,
}

/// The estimated work on a batch for which the indexes alone give the result, in units of [`Pace::spend`].
const WORK_OF_AN_ANSWER: usize = 4000;

impl<'q> Scan<'q> {
    pub(crate) fn new(query: &'q Query<'q>) -> Self {
        Self { query, examined: Cell::new(0), kept: RefCell::new(None) }
    }

    /// Visits batches until the collector needs no more batches, or until the search must stop.
    pub(crate) fn run<C: Collector<'q>>(&self, batches: impl Iterator<Item = C::Item>, collector: &mut C) {
        for item in batches {
            let visit = C::visit(&item);
            match collector.need(&item) {
                Need::Rows => {
                    if self.is_stopped() {
                        break;
                    }
                    let selected = self.select(visit);
                    collector.collect(&item, selected);
                }
                Need::Answered => {
                    self.examine(visit.batch.rows() as u64);
                    // The indexes of a batch answer in about a microsecond.
                    if self.pace().spend(WORK_OF_AN_ANSWER) {
                        break;
                    }
                }
                Need::Nothing => {}
                Need::End => break,
            }
        }
    }

    /// Returns the work counter of the search, which checks if the search must stop.
    pub(crate) fn pace(&self) -> &'q Pace<'q> {
        self.query.pace()
    }

    /// Runs the stop check, and returns true if the search must stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.pace().is_stopped()
    }

    /// Plans the query on a batch, or returns the plan that [`likely`](Self::likely) kept. Most plans compute their rows only
    /// when the result is used.
    pub(crate) fn select(&self, visit: &Visit<'q>) -> Selected<'q> {
        let mut kept = self.kept.borrow_mut();
        if let Some((_, selected)) = kept.take_if(|(number, _)| *number == visit.number) {
            return selected;
        }
        drop(kept);
        self.examine(visit.batch.rows() as u64);
        select(self.query, visit.number, visit.batch, visit.live)
    }

    /// Estimates the number of selected rows of a batch. The plan is kept for the next [`select`](Self::select).
    pub(crate) fn likely(&self, visit: &Visit<'q>) -> usize {
        let selected = self.select(visit);
        let likely = selected.likely();
        self.kept.replace(Some((visit.number, selected)));
        likely
    }

    /// Adds to the number of examined rows.
    pub(crate) fn examine(&self, rows: u64) {
        self.examined.set(self.examined.get() + rows);
    }

    /// Returns the number of rows examined so far.
    pub(crate) fn examined(&self) -> u64 {
        self.examined.get()
    }
}
