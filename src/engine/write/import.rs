//! Taking in cases: all of an import, or nothing of it.

#[cfg(all(feature = "arrow", feature = "parallel"))]
mod apart;
#[cfg(all(feature = "arrow", feature = "parallel"))]
pub(crate) use apart::Apart;
#[cfg(all(feature = "arrow", feature = "parallel"))]
pub(crate) use apart::Groups;

use std::fmt;

use super::change::Change;
#[cfg(feature = "parallel")]
use super::gathered::Built;
#[cfg(feature = "parallel")]
use super::gathered::Gathered;
use super::prepared::Prepared;
use super::reading::{Mode, Reading};
use super::report::{Refusal, Report};
#[cfg(feature = "parallel")]
use super::threads::scope;
use crate::batch::{Document, Row};
use crate::engine::handle::Engine;
use crate::error::Error;
use crate::ingest::{Checked, FileFault, Habits, Piece, Splitter};

/// An import in progress. Searches do not see its cases until [`commit`](Import::commit); dropping it discards them.
///
/// It is `Send`, and holds up no other write before its commit: until then cases are read and put into batches. The import of a
/// store is another matter, since it writes documents to the file as they come.
///
/// A source is NDJSON; or cases over several lines, one after another; or JSON arrays of cases and search answers, one after another.
/// Which, its first lines tell. A byte-order mark of UTF-8 before them is passed over; another encoding is an error that names it.
///
/// ```
/// use casefilter::{Catalog, Engine, Mode};
/// let engine = Engine::new(Catalog::cases());
/// let mut import = engine.import(Mode::Lenient);
/// import.push(br#"[{"id":"a","createdAt":"yesterday"},{"name":"no id"}]"#)?;
/// let report = import.commit()?;
/// assert_eq!((report.stored, report.incomplete, report.skipped), (1, 1, 1));
/// assert_eq!(report.refusals[0].error.path, "createdAt");
/// # Ok::<(), casefilter::Refusal>(())
/// ```
pub struct Import<'e> {
    splitter: Splitter,
    pending: Pending<'e>,
    /// What stopped the import; it cannot be committed then.
    failed: Option<Refusal>,
}

/// Takes documents that the engine does not keep itself, each under the next number.
pub(crate) struct StoreDocument<'e> {
    next: u64,
    put: PutDocument<'e>,
}

/// Takes the number, the place and the text of a document.
type PutDocument<'e> = Box<dyn FnMut(u64, u64, &str) + Send + 'e>;

impl<'e> StoreDocument<'e> {
    /// The first document gets the number `next`.
    #[cfg_attr(not(feature = "store"), expect(dead_code, reason = "the durable store builds on it"))]
    pub(crate) fn new(next: u64, put: impl FnMut(u64, u64, &str) + Send + 'e) -> Self {
        Self { next, put: Box::new(put) }
    }

    fn take_number(&mut self) -> u64 {
        self.take_numbers(1)
    }

    /// The first of so many numbers.
    fn take_numbers(&mut self, count: u64) -> u64 {
        let number = self.next;
        self.next = number.saturating_add(count);
        number
    }
}

/// The cases of an import, which nobody sees yet.
struct Pending<'e> {
    mode: Mode,
    change: Change<'e>,
    /// Where documents go that the engine does not keep itself.
    store: Option<StoreDocument<'e>>,
    /// The memory of the last row.
    spare: Row<'static>,
    habits: Habits,
    source: String,
    report: Report,
    /// Documents that wait to be read on several threads.
    #[cfg(feature = "parallel")]
    gathered: Option<Gathered<'static, 'static>>,
}

impl<'e> Import<'e> {
    pub(crate) fn new(engine: &'e Engine, mode: Mode, store: Option<StoreDocument<'e>>) -> Self {
        let pending = Pending {
            mode,
            // A store has to know the place of a document that it takes.
            change: if store.is_some() { Change::new(engine) } else { Change::apart(engine) },
            store,
            spare: Row::default(),
            habits: Habits::default(),
            source: String::new(),
            report: Report::default(),
            #[cfg(feature = "parallel")]
            gathered: Gathered::new(engine, mode),
        };
        Self { splitter: Splitter::new(&engine.limits), pending, failed: None }
    }

    /// Begins another source: its lines are counted, and its layout is told, from its own start.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Mode};
    /// let engine = Engine::new(Catalog::cases());
    /// let mut import = engine.import(Mode::Strict);
    /// import.source("monday.ndjson")?;
    /// import.push(b"{\"id\":\"a\"}\n")?;
    /// import.source("tuesday.json")?;
    /// let pushed = import.push(b"[{\"id\":\"b\"}, {\"id\":2}]");
    /// let refused = pushed.and_then(|()| import.commit()).unwrap_err();
    /// assert!(refused.to_string().starts_with("tuesday.json: line 1: id"));
    /// assert!(engine.is_empty());
    /// # Ok::<(), casefilter::Refusal>(())
    /// ```
    ///
    /// # Errors
    /// As [`push`](Self::push), for what the source before ended with.
    pub fn source(&mut self, name: &str) -> Result<(), Refusal> {
        self.finish_source()?;
        name.clone_into(&mut self.pending.source);
        #[cfg(feature = "parallel")]
        if let Some(gathered) = &mut self.pending.gathered {
            gathered.source(name);
        }
        Ok(())
    }

    /// Takes the next bytes of the source, parted anywhere.
    ///
    /// What has not ended yet is held: a line of NDJSON, a case, an element of an array, or what stands before or behind the array of a
    /// search answer; of each no more than the [longest case](Limits::case_bytes), with some space around it. A longer line or
    /// element is a malformed case, of which the rest is passed over.
    ///
    /// # Errors
    /// In [`Mode::Strict`], the first malformed case; in either mode, a source that is neither
    /// NDJSON nor whole JSON texts, or of which more stands around the array than is held. The import has failed then: whatever else is asked of it
    /// gives the same error. With the feature `parallel` other threads read many documents together, and
    /// the error of one may be that of a later call.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.check()?;
        let (splitter, pending) = (&mut self.splitter, &mut self.pending);
        let result = pending.pieces(bytes, false, |mut sink| splitter.push(bytes, &mut sink));
        self.note(result)
    }

    /// Takes all of the import, and makes the cases visible.
    pub(crate) fn commit_all(mut self, bytes: &[u8]) -> Result<Report, Refusal> {
        let mut splitter = self.new_splitter();
        let result = self.pending.pieces(bytes, true, |mut sink| {
            splitter.push(bytes, &mut sink)?;
            splitter.finish(&mut sink)
        });
        self.note(result)?;
        self.commit()
    }

    /// Makes the cases visible, all at once. They replace what is stored at this moment.
    ///
    /// # Errors
    /// As [`push`](Self::push), for what the last source ended with. Nothing is visible then.
    pub fn commit(self) -> Result<Report, Refusal> {
        let (prepared, report) = self.prepare()?;
        prepared.publish();
        Ok(report)
    }

    /// Makes everything ready for the cases to become visible.
    pub(crate) fn prepare(mut self) -> Result<(Prepared<'e>, Report), Refusal> {
        self.finish_source()?;
        #[cfg(feature = "parallel")]
        self.settle()?;
        let attached = self.pending.change.attach();
        let replaced = attached.map_err(|error| Refusal::new(&self.pending.source, 0, *error))?;
        let Pending { change, mut report, .. } = self.pending;
        report.stored = report.stored.saturating_sub(replaced);
        report.replaced = report.replaced.saturating_add(replaced);
        Ok((change.prepare(), report))
    }

    fn finish_source(&mut self) -> Result<(), Refusal> {
        self.check()?;
        let next = self.new_splitter();
        let splitter = std::mem::replace(&mut self.splitter, next);
        let result = self.pending.pieces(&[], false, |mut sink| splitter.finish(&mut sink));
        self.note(result)
    }

    fn new_splitter(&self) -> Splitter {
        Splitter::new(&self.pending.change.engine().limits)
    }

    /// Stores what waits.
    #[cfg(feature = "parallel")]
    fn settle(&mut self) -> Result<(), Refusal> {
        let Some(mut gathered) = self.pending.gathered.take() else { return Ok(()) };
        gathered.read_ahead();
        let result = self.pending.settle(&mut gathered);
        self.pending.gathered = Some(gathered);
        self.note(result)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, result: Result<(), Stop>) -> Result<(), Refusal> {
        result.map_err(|stop| {
            let refusal = match stop {
                Stop::Refused(refusal) => *refusal,
                Stop::File(fault) => Refusal::new(&self.pending.source, fault.line, fault.error),
            };
            self.failed.insert(refusal).clone()
        })
    }
}

/// For readers of sources that are rows already; [`source`](Import::source) begins one.
#[cfg(feature = "arrow")]
impl<'e> Import<'e> {
    pub(crate) fn engine(&self) -> &'e Engine {
        self.pending.change.engine()
    }

    /// How many rows should be read from the source together: a batch where other threads fill it, else as few as can be.
    pub(crate) fn rows_at_once(&self) -> usize {
        #[cfg(feature = "parallel")]
        if self.pending.gathered.is_some() {
            return self.engine().sizes.batch;
        }
        1
    }

    /// Takes in the case of a row, `line`, whose values are in and whose fields are complete.
    pub(crate) fn row(&mut self, line: u64, row: &mut Row<'_>, document: &str) -> Result<(), Refusal> {
        #[cfg(feature = "parallel")]
        self.settle()?;
        let pending = &mut self.pending;
        let noted = pending.reading().note_faults(row, &pending.source, |_| line, &mut pending.report);
        pending.report.note(row, &pending.source, line, &pending.change.engine().catalog);
        let result = noted.and_then(|()| {
            pending.add(row, document).map_err(|error| Box::new(Refusal::new(&pending.source, line, *error)))
        });
        self.note(result.map_err(Stop::Refused))
    }

    /// Refuses a row that is no case.
    pub(crate) fn refuse(&mut self, line: u64, error: Error) -> Result<(), Refusal> {
        #[cfg(feature = "parallel")]
        self.settle()?;
        let pending = &mut self.pending;
        let refusal = Refusal::new(&pending.source, line, error);
        let result = pending.reading().refuse(refusal, &mut pending.report).map_err(Stop::Refused);
        self.note(result)
    }

    /// Notes a column of the source that no case has a place for, or ends a strict import.
    pub(crate) fn leave_out(&mut self, column: &Error) -> Result<(), Refusal> {
        if self.pending.mode == Mode::Strict {
            return self.fail(0, column.clone());
        }
        let refusal = Refusal::new(&self.pending.source, 0, column.clone());
        self.pending.report.list(Refusal { kept: true, ..refusal });
        Ok(())
    }

    /// Ends the import because its source cannot be read on.
    pub(crate) fn fail(&mut self, line: u64, error: Error) -> Result<(), Refusal> {
        self.note(Err(Stop::File(FileFault { line, error })))
    }
}

impl fmt::Debug for Import<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import").field("mode", &self.pending.mode).finish_non_exhaustive()
    }
}

/// Why a source was not read to its end.
enum Stop {
    Refused(Box<Refusal>),
    File(FileFault),
}

impl From<FileFault> for Stop {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

/// Takes the pieces of a source.
type TakePiece<'s> = dyn FnMut(Piece<'_>) -> Result<(), Stop> + 's;

impl<'e> Pending<'e> {
    /// Takes in the documents that `split` finds in these bytes, which are all that there are if so.
    #[cfg(not(feature = "parallel"))]
    fn pieces(
        &mut self,
        bytes: &[u8],
        _are_all: bool,
        split: impl FnOnce(&mut TakePiece<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut checked = Checked::new(bytes);
        split(&mut |piece| self.piece(piece, &mut checked).map_err(Stop::Refused))
    }

    /// Takes in the documents that `split` finds in these bytes, which are all that there are if so.
    #[cfg(feature = "parallel")]
    fn pieces(
        &mut self,
        bytes: &[u8],
        are_all: bool,
        split: impl FnOnce(&mut TakePiece<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Some(mut gathered) = self.gathered.take() else {
            let mut checked = Checked::new(bytes);
            return split(&mut |piece| self.piece(piece, &mut checked).map_err(Stop::Refused));
        };
        if are_all {
            return scope(|scope| {
                let mut gathered = gathered.giving(bytes);
                let mut rest = bytes.len();
                let outcome = split(&mut |piece| {
                    let size = piece.bytes.as_ref().map_or(0, |bytes| bytes.len());
                    let is_group_full = self.gather(&mut gathered, piece, rest)?;
                    rest = rest.saturating_sub(size);
                    if is_group_full
                        && gathered.read_ahead_in(scope)
                        && let Some(built) = gathered.next_ahead()
                    {
                        self.push_built(built).map_err(Stop::Refused)?;
                    }
                    Ok(())
                });
                // What is wrong with a file is told when nothing is wrong with what stands before it.
                if let Ok(()) | Err(Stop::File(_)) = outcome {
                    gathered.read_ahead_in(scope);
                    self.settle(&mut gathered)?;
                }
                outcome
            });
        }
        let outcome = split(&mut |piece| {
            if self.gather(&mut gathered, piece, 0)?
                && gathered.read_ahead()
                && let Some(built) = gathered.next_ahead()
            {
                gathered.recycle(self.push_built(built).map_err(Stop::Refused)?);
            }
            Ok(())
        });
        if let Err(Stop::File(_)) = outcome {
            gathered.read_ahead();
            self.settle(&mut gathered)?;
        }
        self.gathered = Some(gathered);
        outcome
    }

    /// Takes in a document now, or has it wait for others; true when there are enough of them for a batch.
    ///
    /// `rest` bytes are to come with it, as far as that is known, or 0.
    #[cfg(feature = "parallel")]
    fn gather(
        &mut self,
        gathered: &mut Gathered<'_, '_>,
        piece: Piece<'_>,
        rest: usize,
    ) -> Result<bool, Stop> {
        if gathered.is_empty() {
            let Some(builder) = self.change.take_builder() else {
                return self.piece(piece, &mut Checked::default()).map_err(Stop::Refused).map(|()| false);
            };
            // The first documents tell how many there are.
            let known = builder.rows();
            let more = rest.saturating_mul(known).checked_div(builder.document_bytes()).unwrap_or(0);
            if more > 0 {
                gathered.share(known.saturating_add(more), self.change.engine().sizes.batch);
            }
            gathered.begin(builder);
        }
        let number = self.store.as_mut().map_or(0, StoreDocument::take_number);
        Ok(gathered.push(piece, number))
    }

    /// Takes in a document, or refuses it.
    fn piece(&mut self, piece: Piece<'_>, checked: &mut Checked<'_>) -> Result<(), Box<Refusal>> {
        let line = piece.line;
        let mut row = std::mem::take(&mut self.spare).recycle();
        let reading = self.reading();
        let text =
            reading.read(piece, checked, &self.source, &mut self.habits, &mut row, &mut self.report)?;
        if let Some(text) = text {
            self.add(&row, text).map_err(|error| Box::new(Refusal::new(&self.source, line, *error)))?;
        }
        self.spare = row.recycle();
        Ok(())
    }

    fn reading(&self) -> Reading<'e> {
        let engine = self.change.engine();
        Reading { catalog: &engine.catalog, limits: &engine.limits, mode: self.mode }
    }

    /// Stores a case; in either mode an error when the engine can hold no further batch.
    fn add(&mut self, row: &Row<'_>, document: &str) -> Result<(), Box<Error>> {
        let (number, size_bytes) = (self.store.as_mut().map(StoreDocument::take_number), document.len());
        let stored = match number {
            None => Document::Text(document),
            Some(number) => Document::Number { number, size_bytes },
        };
        let upserted = self.change.upsert(row, stored)?;
        if let (Some(store), Some(number)) = (&mut self.store, number) {
            (store.put)(number, self.change.last_place(), document);
        }
        self.report.count(upserted);
        Ok(())
    }

    /// Stores what is being read.
    #[cfg(feature = "parallel")]
    fn settle(&mut self, gathered: &mut Gathered<'_, '_>) -> Result<(), Stop> {
        while let Some(built) = gathered.next_ahead() {
            self.push_built(built).map_err(Stop::Refused)?;
        }
        Ok(())
    }

    /// Stores the cases of a batch that was read on another thread; gives back the memory of its text.
    #[cfg(feature = "parallel")]
    fn push_built(&mut self, mut built: Built<'_>) -> Result<Vec<u8>, Box<Refusal>> {
        self.report.append(std::mem::take(&mut built.report));
        if let Some(failed) = built.failed.take() {
            return Err(failed);
        }
        let (report, store) = (&mut self.report, &mut self.store);
        self.change
            .push_batch(built, |built, row, upserted, place| {
                report.count(upserted);
                if let Some(store) = store
                    && let Some((number, text)) = built.document(row)
                {
                    (store.put)(number, place, text);
                }
            })
            .map_err(|error| Box::new(Refusal::new(&self.source, 0, *error)))
    }
}
