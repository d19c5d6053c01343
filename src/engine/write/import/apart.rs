//! Rows of a source that are read on several threads, a group of them on each.
//!
//! Groups come one after the other, each is read and filled into batches wherever there is a thread, and their cases
//! are stored in the order of the groups: what an import makes of them, and what stops it, is what it would be on one thread.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;

use crate::batch::{BatchBuilder, Document, Keep, Row};
use crate::engine::handle::Engine;
use crate::engine::write::gathered::Built;
use crate::engine::write::import::{Import, Pending};
use crate::engine::write::lookup::Lookup;
use crate::engine::write::reading::Reading;
use crate::engine::write::report::{Refusal, Report};
use crate::engine::write::threads::{scope, spawn_or_do};
use crate::error::Error;

/// More groups than this do not wait in memory, however many threads there are.
const MOST_GROUPS: usize = 8;

/// Rows of a source, and what reads them.
pub(crate) trait Groups: Sync {
    /// Rows that are read on one thread.
    type Group: Send;

    /// How many rows a group has.
    fn rows(group: &Self::Group) -> usize;

    /// Reads the rows of a group; an error stops the import.
    fn read(&self, group: Self::Group, cases: &mut Apart<'_>) -> Result<(), Refusal>;
}

/// The cases of a group, on their way into batches of their own.
pub(crate) struct Apart<'e> {
    engine: &'e Engine,
    reading: Reading<'e>,
    source: String,
    builder: BatchBuilder,
    /// How many rows of the batch being filled were there before.
    known: usize,
    /// The number of the next row's document, when documents are kept elsewhere.
    number: u64,
    report: Report,
    kept: Vec<(u64, std::ops::Range<usize>)>,
    text: Vec<u8>,
    built: Vec<Built<'static>>,
    /// The first row of the group.
    first_line: u64,
    /// What each row counts for the bound on the whole source, up to the last one that was read.
    counts: Vec<u64>,
    counted: u64,
    bound: u64,
}

/// A group that was read.
struct Filled {
    built: Vec<Built<'static>>,
    failed: Option<Refusal>,
    first_line: u64,
    counts: Vec<u64>,
}

impl Apart<'_> {
    pub(crate) fn engine(&self) -> &Engine {
        self.engine
    }

    /// The line of the group's first row.
    pub(crate) fn first_line(&self) -> u64 {
        self.first_line
    }

    /// Counts what a row takes; an error once the group alone is over the bound, whoever else is.
    pub(crate) fn count(
        &mut self,
        line: u64,
        bytes: u64,
        too_much: impl FnOnce() -> Error,
    ) -> Result<(), Refusal> {
        self.counts.push(bytes);
        self.counted = self.counted.saturating_add(bytes);
        if self.counted > self.bound { Err(Refusal::new(&self.source, line, too_much())) } else { Ok(()) }
    }

    /// Takes in the case of a row, whose values are in and whose fields are complete.
    pub(crate) fn row(&mut self, line: u64, row: &mut Row<'_>, document: &str) -> Result<(), Refusal> {
        let number = self.number;
        self.number = number.saturating_add(1);
        self.reading.note_faults(row, &self.source, |_| line, &mut self.report).map_err(|failed| *failed)?;
        self.report.note(row, &self.source, line, &self.engine.catalog);
        if self.builder.is_full() || self.builder.rows() >= self.engine.sizes.batch {
            self.seal();
        }
        let size_bytes = document.len();
        let stored = match self.engine.keep {
            Keep::Nothing | Keep::Text => Document::Text(document),
            Keep::Numbers => {
                let start = self.text.len();
                self.text.extend_from_slice(document.as_bytes());
                self.kept.push((number, start..self.text.len()));
                Document::Number { number, size_bytes }
            }
        };
        // The place is found when it is known which ids there were before.
        self.builder.push(row, stored, 0);
        Ok(())
    }

    /// Refuses a row that is no case.
    pub(crate) fn refuse(&mut self, line: u64, error: Error) -> Result<(), Refusal> {
        self.number = self.number.saturating_add(1);
        let refusal = Refusal::new(&self.source, line, error);
        self.reading.refuse(refusal, &mut self.report).map_err(|failed| *failed)
    }

    /// What ends the import at a row, because the source cannot be read on.
    pub(crate) fn fail(&self, line: u64, error: Error) -> Refusal {
        Refusal::new(&self.source, line, error)
    }

    fn seal(&mut self) {
        let (report, kept, text) = (
            std::mem::take(&mut self.report),
            std::mem::take(&mut self.kept),
            std::mem::take(&mut self.text),
        );
        let batch = self.builder.seal();
        let Engine { catalog, sizes, current, .. } = self.engine;
        let base = Arc::clone(&current.load().base);
        let lookup = Lookup::new(catalog, *sizes, base.directory().hasher(), Some(&base), &batch);
        self.built.push(Built::of_rows((batch, lookup), self.known, report, kept, text));
        self.known = 0;
    }

    fn finish(mut self, read: Result<(), Refusal>) -> Filled {
        self.seal();
        Filled { built: self.built, failed: read.err(), first_line: self.first_line, counts: self.counts }
    }
}

impl Import<'_> {
    /// Reads groups on several threads.
    ///
    /// They are all of the source, in order. `room` is what all [counts](Apart::count) may come to, `too_much` what it is
    /// when they are more.
    ///
    /// # Errors
    /// As of the first row, in the order of the source, that stops the import.
    pub(crate) fn groups<G: Groups>(
        &mut self,
        groups: &G,
        mut all: impl Iterator<Item = G::Group>,
        mut room: u64,
        too_much: impl Fn() -> Error,
    ) -> Result<(), Refusal> {
        self.settle()?;
        let pending = &mut self.pending;
        let wanted = rayon::current_num_threads().min(MOST_GROUPS).saturating_add(1) as u64;
        let result = scope(|scope| {
            let (send, receive) = channel();
            let mut has_ended = false;
            let mut waiting: BTreeMap<u64, Filled> = BTreeMap::new();
            let (mut sent, mut stored, mut line) = (0_u64, 0_u64, 1_u64);
            loop {
                while !has_ended && sent.saturating_sub(stored) < wanted {
                    let Some(group) = all.next() else {
                        has_ended = true;
                        break;
                    };
                    let rows = G::rows(&group);
                    let mut cases = pending.apart(rows, line, room);
                    line = line.saturating_add(rows as u64);
                    let (number, send) = (sent, send.clone());
                    sent = sent.saturating_add(1);
                    spawn_or_do(scope, move || {
                        let filled = catch_unwind(AssertUnwindSafe(|| {
                            let read = groups.read(group, &mut cases);
                            cases.finish(read)
                        }));
                        // Nobody waits for it when the import has failed.
                        let _ = send.send((number, filled));
                    });
                }
                while let Some(filled) = waiting.remove(&stored) {
                    stored = stored.saturating_add(1);
                    pending.store(filled, &mut room, &too_much)?;
                }
                if has_ended && sent == stored {
                    return Ok(());
                }
                if sent > stored {
                    let Ok((number, filled)) = receive.recv() else { return Ok(()) };
                    waiting.insert(number, filled.unwrap_or_else(|panic| resume_unwind(panic)));
                }
            }
        });
        result.map_err(|failed| self.failed.insert(failed).clone())
    }
}

impl<'e> Pending<'e> {
    /// What takes the cases of the next group.
    fn apart(&mut self, rows: usize, first_line: u64, bound: u64) -> Apart<'e> {
        let engine = self.change.engine();
        let builder = self.change.filling().map(|builder| *builder).filter(|builder| builder.rows() > 0);
        let room = rows.min(engine.sizes.batch);
        let builder = builder.unwrap_or_else(|| BatchBuilder::new(&engine.catalog, engine.keep, room));
        let number = self.store.as_mut().map_or(0, |store| store.take_numbers(rows as u64));
        Apart {
            engine,
            reading: self.reading(),
            source: self.source.clone(),
            known: builder.rows(),
            builder,
            number,
            report: Report::default(),
            kept: Vec::new(),
            text: Vec::new(),
            built: Vec::new(),
            first_line,
            counts: Vec::with_capacity(rows),
            counted: 0,
            bound,
        }
    }

    /// Stores the cases of the group behind those stored so far.
    fn store(&mut self, filled: Filled, room: &mut u64, too_much: impl Fn() -> Error) -> Result<(), Refusal> {
        for (line, bytes) in (filled.first_line..).zip(filled.counts) {
            *room = room.checked_sub(bytes).ok_or_else(|| Refusal::new(&self.source, line, too_much()))?;
        }
        if let Some(failed) = filled.failed {
            return Err(failed);
        }
        filled
            .built
            .into_iter()
            .try_for_each(|built| self.push_built(built).map(drop))
            .map_err(|failed| *failed)
    }
}
