//! Records the work and the time of a search (a *trace*).
#![expect(clippy::arithmetic_side_effects, reason = "counts of the work of one search, in 64 bits")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

/// The work of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Work {
    /// The number of batches that were planned. A batch that is planned several times counts once.
    pub batches: u64,
    /// The number of times that the selected rows of a batch were counted from indexes alone, without combining sets of rows.
    pub counts_known: u64,
    /// The number of times that all rows of a batch were evaluated, by combining bitmaps and lists or by reading columns.
    pub evaluations: u64,
    /// The number of rows in these evaluations. If a short list was tested row by row, only the rows of the list are included.
    pub rows_evaluated: u64,
    /// The number of rows that were tested one by one within a batch. Most of these rows are tested in the sort order of the
    /// search.
    pub rows_asked: u64,
    /// The number of stored strings that were tested for a substring or for words. A stored string counts once for each batch that
    /// contains it. Strings that an index of substrings excluded are not counted.
    pub strings_tested: u64,
    /// The number of top rows that were tested one by one. Top rows are the first or the last rows of all batches in the sort order
    /// of one field.
    pub rows_ranked: u64,
    /// The number of batches whose selected rows were only counted, because the offset of the page skips all of them.
    pub passed_over: u64,
    /// The number of batches whose rows were read in the order of their values until the page was full.
    pub walked_sorted: u64,
    /// The number of batches whose rows were read in the order of their strings until the page was full.
    pub walked_strings: u64,
    /// The number of batches whose selected rows were all collected for sorting.
    pub gathered: u64,
}

/// A monotonic clock: returns the time since a fixed but arbitrary start. Callable from any thread.
pub(crate) type Clock<'c> = dyn Fn() -> Duration + Sync + 'c;

/// The records of a trace, which are added to the trace of another thread.
#[cfg(feature = "parallel")]
#[derive(Debug, Default)]
pub(crate) struct Notes {
    work: Work,
    batches: BTreeSet<usize>,
    planning: Duration,
    evaluating: Duration,
}

#[cfg(feature = "parallel")]
impl Work {
    fn add(&mut self, other: &Self) {
        // Batches are counted as a set, because several threads may plan the same batch.
        let Self {
            batches: _,
            counts_known,
            evaluations,
            rows_evaluated,
            rows_asked,
            strings_tested,
            rows_ranked,
            passed_over,
            walked_sorted,
            walked_strings,
            gathered,
        } = other;
        for (own, other) in [
            (&mut self.counts_known, counts_known),
            (&mut self.evaluations, evaluations),
            (&mut self.rows_evaluated, rows_evaluated),
            (&mut self.rows_asked, rows_asked),
            (&mut self.strings_tested, strings_tested),
            (&mut self.rows_ranked, rows_ranked),
            (&mut self.passed_over, passed_over),
            (&mut self.walked_sorted, walked_sorted),
            (&mut self.walked_strings, walked_strings),
            (&mut self.gathered, gathered),
        ] {
            *own += *other;
        }
    }
}

/// A recorder of the work and the time of one search, on one thread.
pub(crate) struct Trace<'c> {
    /// The clock that measures planning and evaluation.
    clock: &'c Clock<'c>,
    planning: Cell<Duration>,
    evaluating: Cell<Duration>,
    batches: RefCell<BTreeSet<usize>>,
    work: RefCell<Work>,
}

impl<'c> Trace<'c> {
    pub(crate) fn new(clock: &'c Clock<'c>) -> Self {
        Self {
            clock,
            planning: Cell::default(),
            evaluating: Cell::default(),
            batches: RefCell::default(),
            work: RefCell::default(),
        }
    }

    /// Returns the current time of the clock.
    pub(crate) fn now(&self) -> Duration {
        (self.clock)()
    }

    /// Updates the record of work.
    pub(super) fn note(&self, note: impl FnOnce(&mut Work)) {
        note(&mut self.work.borrow_mut());
    }

    /// Runs the planning of a batch, and records its time.
    pub(super) fn plan<T>(&self, batch: usize, plan: impl FnOnce() -> T) -> T {
        self.batches.borrow_mut().insert(batch);
        timed(self.clock, &self.planning, plan)
    }

    /// Runs the evaluation of `rows` rows, and records its time.
    pub(super) fn evaluate<T>(&self, rows: usize, evaluate: impl FnOnce() -> T) -> T {
        self.note(|work| {
            work.evaluations += 1;
            work.rows_evaluated += rows as u64;
        });
        timed(self.clock, &self.evaluating, evaluate)
    }

    /// Returns the clock, for a trace on another thread.
    #[cfg(feature = "parallel")]
    pub(crate) fn clock(&self) -> &'c Clock<'c> {
        self.clock
    }

    /// Returns the records of this thread. The trace of another thread can then [add](Self::add) them.
    #[cfg(feature = "parallel")]
    pub(crate) fn into_notes(self) -> Notes {
        let (work, batches) = (self.work.into_inner(), self.batches.into_inner());
        Notes { work, batches, planning: self.planning.get(), evaluating: self.evaluating.get() }
    }

    /// Adds the records of another thread.
    #[cfg(feature = "parallel")]
    pub(crate) fn add(&self, notes: Notes) {
        self.batches.borrow_mut().extend(notes.batches);
        self.planning.set(self.planning.get().saturating_add(notes.planning));
        self.evaluating.set(self.evaluating.get().saturating_add(notes.evaluating));
        self.note(|work| work.add(&notes.work));
    }

    /// Returns the work, and the time that planning and evaluation took.
    pub(crate) fn finish(self) -> (Work, Duration, Duration) {
        let batches = self.batches.borrow().len() as u64;
        (Work { batches, ..self.work.into_inner() }, self.planning.get(), self.evaluating.get())
    }
}

/// Runs a function, and adds its time to `total`.
fn timed<T>(clock: &Clock<'_>, total: &Cell<Duration>, run: impl FnOnce() -> T) -> T {
    let start = clock();
    let done = run();
    // The host supplies the clock, which may return arbitrary values, so the arithmetic saturates.
    total.set(total.get().saturating_add(clock().saturating_sub(start)));
    done
}
