//! Taking in cases: all of an import, or nothing of it.

use std::fmt;

use serde::Serialize;

use super::Engine;
use super::change::{Change, Prepared, Upserted};
use crate::batch::{Document, Row};
use crate::error::Error;
use crate::filter::not_utf8;
use crate::ingest::{FileFault, Piece, Splitter, read_case};

/// What becomes of malformed cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// The first malformed case stops the import; nothing of it is visible afterwards.
    #[default]
    Strict,
    /// Field values at fault count as absent; any other malformed case is skipped.
    Lenient,
}

/// A case, or a field value of one, that was not taken in as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The name given to [`Import::source`]; empty when there was none.
    pub source: String,
    /// The line in the source where the fault lies, or the row, counted from 1; 0 for a source as a whole.
    pub line: u64,
    /// The case was kept, the field at fault counting as absent.
    pub kept: bool,
    /// What is wrong; path and offset are those in the document.
    pub error: Box<Error>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}: ", self.source)?;
        }
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        write!(f, "{}", self.error)?;
        if self.kept {
            f.write_str(" (kept, the field counts as absent)")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Cases that are new.
    pub stored: u64,
    /// Documents that replaced an earlier one of the same `id`, of this import or before.
    pub replaced: u64,
    /// Documents taken in with a field at fault counting as absent.
    pub incomplete: u64,
    /// Malformed cases left out.
    pub skipped: u64,
    /// The faults in the order of the sources: the first ten of a case, and the first 100,000 of all.
    pub refusals: Vec<Refusal>,
    /// How many further faults are not in the list.
    pub unlisted: u64,
}

/// How many faults a report lists. A file of nothing but faults would otherwise take far more memory
/// than its own size.
const LISTED_REFUSALS: usize = 100_000;

impl Report {
    fn list(&mut self, refusal: Refusal) {
        if self.refusals.len() < LISTED_REFUSALS {
            self.refusals.push(refusal);
        } else {
            self.unlisted = self.unlisted.saturating_add(1);
        }
    }
}

/// An import under way: nothing of it is visible until [`commit`](Import::commit), or ever without it.
///
/// A source is NDJSON, a JSON array of cases or a search answer; which, its first bytes tell.
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
}

/// The cases of an import, which nobody sees yet.
struct Pending<'e> {
    mode: Mode,
    change: Change<'e>,
    /// Where documents go that the engine does not keep itself.
    store: Option<StoreDocument<'e>>,
    /// The memory of the last row.
    spare: Row<'static>,
    source: String,
    report: Report,
}

impl<'e> Import<'e> {
    pub(super) fn new(engine: &'e Engine, mode: Mode, store: Option<StoreDocument<'e>>) -> Self {
        let pending = Pending {
            mode,
            change: Change::new(engine),
            store,
            spare: Row::default(),
            source: String::new(),
            report: Report::default(),
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
    /// import.push(b"[{\"id\":\"b\"}, {\"id\":2}]")?;
    /// assert!(import.commit().unwrap_err().to_string().starts_with("tuesday.json: line 1: id"));
    /// assert!(engine.is_empty());
    /// # Ok::<(), casefilter::Refusal>(())
    /// ```
    ///
    /// # Errors
    /// As [`push`](Self::push), for what the source before ended with.
    pub fn source(&mut self, name: &str) -> Result<(), Refusal> {
        self.finish_source()?;
        name.clone_into(&mut self.pending.source);
        Ok(())
    }

    /// Takes the next bytes of the source, parted anywhere.
    ///
    /// # Errors
    /// In [`Mode::Strict`], the first malformed case; in either mode, a source that is neither
    /// NDJSON nor a whole JSON text. The import has failed then: whatever else is asked of it
    /// gives the same error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.check()?;
        let pending = &mut self.pending;
        let result =
            self.splitter.push(bytes, &mut |piece: Piece<'_>| pending.piece(piece).map_err(Stop::Refused));
        self.note(result)
    }

    /// Makes the cases visible, all at once.
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
        let Pending { change, report, .. } = self.pending;
        Ok((change.prepare(), report))
    }

    fn finish_source(&mut self) -> Result<(), Refusal> {
        self.check()?;
        let splitter =
            std::mem::replace(&mut self.splitter, Splitter::new(&self.pending.change.engine().limits));
        let pending = &mut self.pending;
        let result = splitter.finish(&mut |piece: Piece<'_>| pending.piece(piece).map_err(Stop::Refused));
        self.note(result)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, result: Result<(), Stop>) -> Result<(), Refusal> {
        result.map_err(|stop| {
            let refusal = match stop {
                Stop::Refused(refusal) => *refusal,
                Stop::File(fault) => self.pending.refusal(fault.line, fault.error),
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

    /// Takes in the case of a row, `line`, whose values are in and whose fields are complete.
    pub(crate) fn row(&mut self, line: u64, row: &mut Row<'_>, document: &str) -> Result<(), Refusal> {
        let result = self.pending.take(|_| line, row, document).map_err(Stop::Refused);
        self.note(result)
    }

    /// Refuses a row that is no case.
    pub(crate) fn refuse(&mut self, line: u64, error: Error) -> Result<(), Refusal> {
        let result = self.pending.refuse(line, error).map_err(Stop::Refused);
        self.note(result)
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

impl Pending<'_> {
    fn refusal(&self, line: u64, error: Error) -> Refusal {
        Refusal { source: self.source.clone(), line, kept: false, error: Box::new(error) }
    }

    /// Takes in a document, or refuses it.
    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Box<Refusal>> {
        let line = piece.line;
        let text = match piece.bytes {
            Err(error) => return self.refuse(line, error),
            Ok(bytes) => {
                let bytes = bytes.trim_ascii();
                match std::str::from_utf8(bytes) {
                    Ok(text) => text,
                    Err(fault) => return self.refuse(line, not_utf8(bytes, fault.valid_up_to())),
                }
            }
        };
        // The line of a fault inside a document that spans several.
        let line_of = |error: &Error| {
            let before = text.as_bytes().get(..error.offset.min(text.len())).unwrap_or_default();
            line.saturating_add(memchr::memchr_iter(b'\n', before).count() as u64)
        };
        let mut row = std::mem::take(&mut self.spare).recycle();
        let engine = self.change.engine();
        if let Err(error) = read_case(text, &engine.catalog, &engine.limits, &mut row) {
            return self.refuse(line_of(&error), error);
        }
        self.take(line_of, &mut row, text)?;
        self.spare = row.recycle();
        Ok(())
    }

    /// Takes in a case that was read, or refuses it for its faults.
    fn take(
        &mut self,
        line_of: impl Fn(&Error) -> u64,
        row: &mut Row<'_>,
        document: &str,
    ) -> Result<(), Box<Refusal>> {
        let faults = row.take_faults();
        if !faults.is_empty() {
            for fault in faults {
                let refusal = Refusal { kept: true, ..self.refusal(line_of(&fault), fault) };
                if self.mode == Mode::Strict {
                    return Err(Box::new(Refusal { kept: false, ..refusal }));
                }
                self.report.list(refusal);
            }
            self.report.incomplete = self.report.incomplete.saturating_add(1);
        }
        self.add(row, document).map_err(|error| Box::new(self.refusal(line_of(&error), *error)))
    }

    fn refuse(&mut self, line: u64, error: Error) -> Result<(), Box<Refusal>> {
        let refusal = self.refusal(line, error);
        if self.mode == Mode::Strict {
            return Err(Box::new(refusal));
        }
        self.report.skipped = self.report.skipped.saturating_add(1);
        self.report.list(refusal);
        Ok(())
    }

    /// Stores a case; in either mode an error when the engine can hold no further batch.
    fn add(&mut self, row: &Row<'_>, document: &str) -> Result<(), Box<Error>> {
        let stored = match &self.store {
            None => Document::Text(document),
            Some(store) => Document::Number { number: store.next, size_bytes: document.len() },
        };
        let upserted = self.change.upsert(row, stored)?;
        if let Some(store) = &mut self.store {
            (store.put)(store.next, self.change.last_place(), document);
            store.next = store.next.saturating_add(1);
        }
        let count = match upserted {
            Upserted::Stored => &mut self.report.stored,
            Upserted::Replaced => &mut self.report.replaced,
        };
        *count = count.saturating_add(1);
        Ok(())
    }
}
