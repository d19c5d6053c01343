//! Many batches, live: searched as one while cases come, change and go.
//!
//! **Snapshot.** What is stored at one moment never changes: a `View` of sealed batches, each with a
//! selection of its live rows, and a `Head` of the small writes since. A write makes the next snapshot and
//! swaps it in; a search takes the current one, so neither waits for the other. Writers wait for each other.
//!
//! **Head.** A single upsert or delete adds one edit to a persistent list of at most 64, whatever else is
//! stored. The first search of a snapshot makes the list one more batch and applies its deaths to copies
//! of the selections. Its rows are asked one by one for the values of a field, and a column of them is made only when
//! searches keep asking. A snapshot that follows one that was searched starts from what that search made. A full head
//! is joined to the one before it, in a batch of at most 2,048 rows whose columns wait as well for a search to ask for
//! them; those that were asked for are merged with the head's by the write that joins it. No row moves or is copied. A
//! write of more cases than the head takes fills batches at once.
//!
//! **Covered and apart.** A batch with at least a sixteenth of a full one's rows is covered by the
//! directory, which leads a search past batches it need not ask. Smaller ones stand apart: each is asked by
//! itself, and the writer alone keeps a table from their ids to their rows.
//!
//! **Dead rows.** Counts of all rows that the directory knows are put right by how many dead rows of each batch have
//! the string, which is counted when first asked for and then kept up (`DeadRows`).
//!
//! **Merging.** By live rows against a full batch's B, a batch is of the class below B/64, below B/16 or below
//! B/2, or is left alone. Eight of a class, or as many as have B/8 rows, dead ones too (of the last class more than B),
//! are merged into one, the
//! oldest first: so there are at most about `cases / 32,768 + 24` batches, and a case that stays is copied some three
//! times, first from rows into columns. Half-empty
//! batches fall into the classes as they lose rows; an empty one goes at once. Columns are merged one
//! after the other, what their dictionaries and sorted rows know being merged as well, as later writes pay for
//! them: one write for a column of at most a full batch, and one, when the head is next sealed, for putting the batch in
//! its sources' place, which copies the directory but for its keys. Keys lie in sorted runs; those that a batch brings are
//! a run of their own, and each write moves a few keys of runs that are being merged, or swept of keys of batches that
//! are gone. Texts of documents are shared, not copied,
//! as long as half of them is alive. Readers notice none of it.
//!
//! **One way in.** `Change` is a write under way, for single cases and imports alike. It prepares what
//! could take time, then publishes; dropped before, nothing happened. Engines whose documents lie elsewhere
//! (`Keep::Numbers`) commit those in between, and are made again from `Parts`.
//!
//! **Proof.** Threads meet in `Current` alone. Unit tests run whole engines on a model of it, in every order of steps
//! or in many (`interleavings`); `tests/race/run` runs readers beside writers under the thread sanitizer.

mod current;
#[cfg(test)]
mod interleavings;
mod memory;
mod search;
mod snapshot;
#[cfg(feature = "store")]
mod stored;
#[cfg(test)]
mod tests;
mod write;

use std::sync::{Arc, Mutex};

pub use memory::{FieldMemory, Memory};
#[cfg(any(feature = "postgres", feature = "store"))]
pub(crate) use search::AnswerWriter;
#[cfg(feature = "service")]
pub(crate) use search::Page;
#[cfg(any(feature = "postgres", feature = "store"))]
pub use search::WrittenAnswer;
pub use search::{Answer, explain};
#[cfg(feature = "store")]
pub(crate) use snapshot::Slot;
pub(crate) use snapshot::{BatchId, Snapshot, View};
#[cfg(all(feature = "arrow", feature = "parallel"))]
pub(crate) use write::Apart;
#[cfg(all(feature = "arrow", feature = "parallel"))]
pub(crate) use write::Groups;
#[cfg(feature = "store")]
pub(crate) use write::Parts;
#[cfg(feature = "store")]
pub(crate) use write::Prepared;
pub(crate) use write::{Change, StoreDocument};
pub use write::{Import, Mode, Note, NoteKind, Refusal, Report, Upserted};

use arc_swap::Guard;

use self::current::Current;
use self::snapshot::Head;
use self::write::{Sizes, Writer};
use crate::batch::{Document, Keep, MAX_ROWS, Row};
use crate::catalog::Catalog;
use crate::error::{Error, Errors};
use crate::filter::utf8;
use crate::ingest::{Habits, read_case, read_usual_case, trim, trim_start};
use crate::limits::Limits;

/// Cases in memory, and the answers to searches over them.
///
/// `Send + Sync`; a search works on the snapshot that was current when it began, never waits for
/// an import and never holds one up.
///
/// ```
/// use casefilter::{Catalog, Engine, Filter, Mode, Request};
///
/// let engine = Engine::new(Catalog::cases());
/// let mut import = engine.import(Mode::Strict);
/// import.push(b"{\"id\":\"a\",\"caseReview\":{\"status\":\"open\"}}\n{\"id\":\"b\",\"tags\":[\"vip\"]}\n")?;
/// import.commit()?;
/// let filter = Filter::compile_text(engine.catalog(), "status = open or tags in (vip)")?;
/// let answer = engine.search(&Request::new(filter).count(true))?;
/// assert_eq!(answer.ids().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(answer.total(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    catalog: Catalog,
    limits: Limits,
    keep: Keep,
    sizes: Sizes,
    current: Current,
    /// Of single cases.
    habits: Mutex<Habits>,
}

/// How an [`Engine`] is to be made.
#[derive(Clone, Debug)]
pub struct EngineBuilder {
    catalog: Catalog,
    limits: Limits,
    keep: Keep,
    batch_rows: usize,
}

impl EngineBuilder {
    /// Bounds on case documents, and by [`Limits::page`] on the pages of searches.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Whether documents are kept; without them, answers hold ids alone.
    #[must_use]
    pub fn documents(self, keep_documents: bool) -> Self {
        Self { keep: if keep_documents { Keep::Text } else { Keep::Nothing }, ..self }
    }

    /// Documents are kept elsewhere, each under a number that comes in with the case.
    #[must_use]
    #[cfg_attr(
        not(any(test, feature = "store")),
        expect(dead_code, reason = "the durable store builds on it")
    )]
    pub(crate) fn numbered_documents(self) -> Self {
        Self { keep: Keep::Numbers, ..self }
    }

    /// How many cases a batch holds: 65,536, or fewer, which only tests have a use for.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: rows.clamp(1, MAX_ROWS), ..self }
    }

    /// An engine without cases.
    #[must_use]
    pub fn build(self) -> Engine {
        self.build_on(Current::new)
    }

    fn build_on(self, current: impl FnOnce(Snapshot, Writer) -> Current) -> Engine {
        let first = Snapshot::new(Arc::new(View::empty()), Head::new(BatchId(0)), 0);
        let writer = Writer { next_batch: 1, ..Writer::default() };
        Engine {
            catalog: self.catalog,
            limits: self.limits,
            keep: self.keep,
            sizes: Sizes { batch: self.batch_rows },
            current: current(first, writer),
            habits: Mutex::default(),
        }
    }
}

impl Engine {
    /// An engine without cases, under the default limits, that keeps documents.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// assert!(Engine::new(Catalog::cases()).is_empty());
    /// ```
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self::builder(catalog).build()
    }

    /// Settings for an engine.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Limits};
    /// let engine = Engine::builder(Catalog::cases())
    ///     .limits(Limits { case_bytes: 1 << 20, ..Limits::default() })
    ///     .documents(false)
    ///     .build();
    /// assert_eq!(engine.limits().case_bytes, 1 << 20);
    /// ```
    #[must_use]
    pub fn builder(catalog: Catalog) -> EngineBuilder {
        EngineBuilder { catalog, limits: Limits::default(), keep: Keep::Text, batch_rows: MAX_ROWS }
    }

    /// The fields that are stored and can be filtered.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The bounds on case documents and pages.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The cases as they are now, to be held for longer than a search takes.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Guard::into_inner(self.current.load())
    }

    /// How many cases there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.current.load().cases()
    }

    /// True when there is no case.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins an import. Other writes, and other imports, go on until it is [committed](Import::commit).
    #[must_use]
    pub fn import(&self, mode: Mode) -> Import<'_> {
        Import::new(self, mode, None)
    }

    /// An import whose documents `store` takes; for an engine of numbered documents.
    #[cfg_attr(not(feature = "store"), expect(dead_code, reason = "the durable store builds on it"))]
    pub(crate) fn import_numbered<'e>(&'e self, mode: Mode, store: StoreDocument<'e>) -> Import<'e> {
        Import::new(self, mode, Some(store))
    }

    /// Stores one case: a JSON document, which replaces the one of the same `id` and keeps its place.
    ///
    /// Searches that begin afterwards see it.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Upserted};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.upsert(br#"{"id":"a"}"#)?, Upserted::Stored);
    /// assert_eq!(engine.upsert(br#"{"id":"a","tags":["vip"]}"#)?, Upserted::Replaced);
    /// let errors = engine.upsert(br#"{"id":"a","tags":"vip"}"#).unwrap_err();
    /// assert_eq!((errors.as_slice()[0].path.as_str(), errors.as_slice()[0].offset), ("tags", 17));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    ///
    /// # Errors
    /// Whatever makes the document malformed, as a strict import would say; nothing is stored then.
    ///
    /// # Complexity
    /// Linear in the document. Some writes also do a step of merging, which takes milliseconds
    /// (`benches/live.rs`).
    pub fn upsert(&self, document: &[u8]) -> Result<Upserted, Errors> {
        let mut row = Row::default();
        let text = self.read(document, &mut row)?;
        let mut change = Change::new(self);
        let upserted = change.upsert(&row, Document::Text(text)).map_err(|error| Errors::from(*error))?;
        change.prepare().publish();
        Ok(upserted)
    }

    /// Stores cases, all of them or none: NDJSON, a JSON array or a search answer, as a strict
    /// [import](Self::import) takes it.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?.stored, 2);
    /// assert_eq!(engine.upsert_many(b"{\"id\":\"c\"}\n{\"id\":7}").unwrap_err().line, 2);
    /// assert_eq!(engine.len(), 2);
    /// # Ok::<(), casefilter::Refusal>(())
    /// ```
    ///
    /// # Errors
    /// The first malformed case, or a source that is none of the three; nothing is stored then.
    pub fn upsert_many(&self, documents: &[u8]) -> Result<Report, Refusal> {
        self.import(Mode::Strict).commit_all(documents)
    }

    /// Deletes a case; false when there is none of this `id`. One stored later under it gets a new place.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert(br#"{"id":"a"}"#)?;
    /// assert!(engine.delete("a") && !engine.delete("a"));
    /// # Ok::<(), casefilter::Errors>(())
    /// ```
    pub fn delete(&self, id: &str) -> bool {
        self.delete_many([id]) == 1
    }

    /// Deletes cases, all at once; gives how many there were.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a"},{"id":"b"},{"id":"c"}]"#)?;
    /// assert_eq!(engine.delete_many(["a", "c", "a", "nobody"]), 2);
    /// # Ok::<(), casefilter::Refusal>(())
    /// ```
    pub fn delete_many<I: AsRef<str>>(&self, ids: impl IntoIterator<Item = I>) -> usize {
        let mut change = Change::new(self);
        let deleted = ids.into_iter().filter(|id| change.delete(id.as_ref())).count();
        if deleted > 0 {
            change.prepare().publish();
        }
        deleted
    }

    /// Reads one document as a strict import does; gives its text.
    pub(crate) fn read<'a>(&self, document: &'a [u8], row: &mut Row<'a>) -> Result<&'a str, Errors> {
        let bytes = trim(document);
        // Offsets are those in what was handed in.
        let before = document.len().saturating_sub(trim_start(document).len());
        let moved = |error: Error| Error { offset: error.offset.saturating_add(before), ..error };
        let text = utf8(bytes).map_err(|error| Errors::from(moved(error)))?;
        self.read_text(text, row).map_err(|error| Errors::from(moved(error)))?;
        let faults = row.take_faults().into_iter().map(moved).collect();
        match Errors::in_order(faults) {
            Some(errors) => Err(errors),
            None => Ok(text),
        }
    }

    /// Reads one document, under the engine's limits.
    pub(crate) fn read_text<'a>(&self, text: &'a str, row: &mut Row<'a>) -> Result<(), Error> {
        match self.habits.try_lock() {
            Ok(mut habits) => read_usual_case(text, &self.catalog, &self.limits, &mut habits, row),
            // Another thread is learning from them.
            Err(_) => read_case(text, &self.catalog, &self.limits, row),
        }
    }

    /// What the cases take in memory.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let memory = Engine::new(Catalog::cases()).memory();
    /// assert_eq!(memory.fields[0].name, "id");
    /// ```
    #[must_use]
    pub fn memory(&self) -> Memory {
        let waiting_bytes = self.current.write().size_bytes();
        let snapshot = self.current.load();
        let view = snapshot.view(&self.catalog, self.keep);
        Memory::new(view, waiting_bytes, &self.catalog)
    }

    /// Says which invariant of the stored cases does not hold; for tests and fuzzers.
    ///
    /// # Errors
    /// A sentence about the first invariant that does not hold.
    pub fn validate(&self) -> Result<(), String> {
        let writer = self.current.write();
        let snapshot = self.current.load();
        snapshot.validate(&self.catalog, self.keep)?;
        writer.validate(&snapshot, snapshot.view(&self.catalog, self.keep))
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("cases", &self.len()).finish_non_exhaustive()
    }
}
