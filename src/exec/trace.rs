//! Traces: notes of the work of a search, taken while it runs.
#![expect(clippy::arithmetic_side_effects, reason = "counts of what one search does, in 64 bits")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

/// The work of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Work {
    /// Batches that were planned, each counted once.
    pub batches: u64,
    /// Counts of a batch's rows that its indexes answered, without combining any.
    pub counts_known: u64,
    /// Evaluations of a batch's rows all at once, by combining bitmaps and lists or by reading columns.
    pub evaluations: u64,
    /// The rows of those batches; where a short list was tested row by row, the rows of the list.
    pub rows_evaluated: u64,
    /// Rows that were tested one by one in the order of the page, within a batch.
    pub rows_asked: u64,
    /// Top rows over all batches that were tested one by one.
    pub rows_ranked: u64,
    /// Batches that the offset passed over by counting alone.
    pub passed_over: u64,
    /// Batches whose rows were read in the order of their sorted values, until the page had enough.
    pub walked_sorted: u64,
    /// Batches whose rows were read in the order of their strings, until the page had enough.
    pub walked_strings: u64,
    /// Batches whose selected rows were all gathered, to be sorted.
    pub gathered: u64,
}

/// Gives the time since any fixed moment, on any thread.
pub(crate) type Clock<'c> = dyn Fn() -> Duration + Sync + 'c;

/// The notes of a trace, to be added to those of another thread.
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
        // Batches are counted apart, since one may be planned on two threads.
        let Self {
            batches: _,
            counts_known,
            evaluations,
            rows_evaluated,
            rows_asked,
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

/// Takes notes for one search.
pub(crate) struct Trace<'c> {
    /// The time since any fixed moment.
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

    pub(crate) fn now(&self) -> Duration {
        (self.clock)()
    }

    /// Notes something.
    pub(super) fn note(&self, note: impl FnOnce(&mut Work)) {
        note(&mut self.work.borrow_mut());
    }

    /// Runs the planning of a batch, and notes its time.
    pub(super) fn plan<T>(&self, batch: usize, plan: impl FnOnce() -> T) -> T {
        self.batches.borrow_mut().insert(batch);
        timed(self.clock, &self.planning, plan)
    }

    /// Runs the evaluation of `rows` rows, and notes its time.
    pub(super) fn evaluate<T>(&self, rows: usize, evaluate: impl FnOnce() -> T) -> T {
        self.note(|work| {
            work.evaluations += 1;
            work.rows_evaluated += rows as u64;
        });
        timed(self.clock, &self.evaluating, evaluate)
    }

    /// The clock, for a trace on another thread.
    #[cfg(feature = "parallel")]
    pub(crate) fn clock(&self) -> &'c Clock<'c> {
        self.clock
    }

    /// The notes, for the trace of another thread.
    #[cfg(feature = "parallel")]
    pub(crate) fn into_notes(self) -> Notes {
        let (work, batches) = (self.work.into_inner(), self.batches.into_inner());
        Notes { work, batches, planning: self.planning.get(), evaluating: self.evaluating.get() }
    }

    /// Adds the notes of another thread.
    #[cfg(feature = "parallel")]
    pub(crate) fn add(&self, notes: Notes) {
        self.batches.borrow_mut().extend(notes.batches);
        self.planning.set(self.planning.get().saturating_add(notes.planning));
        self.evaluating.set(self.evaluating.get().saturating_add(notes.evaluating));
        self.note(|work| work.add(&notes.work));
    }

    /// The notes, and the time that planning and evaluating took.
    pub(crate) fn finish(self) -> (Work, Duration, Duration) {
        let batches = self.batches.borrow().len() as u64;
        (Work { batches, ..self.work.into_inner() }, self.planning.get(), self.evaluating.get())
    }
}

/// Adds the time that something takes.
fn timed<T>(clock: &Clock<'_>, total: &Cell<Duration>, run: impl FnOnce() -> T) -> T {
    let start = clock();
    let done = run();
    // A host's clock may say anything.
    total.set(total.get().saturating_add(clock().saturating_sub(start)));
    done
}
