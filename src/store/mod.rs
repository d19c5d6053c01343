//! Cases in a file, durably.
//!
//! One file holds everything: a [redb](https://docs.rs/redb) database with the documents and, as bytes, the sealed
//! batches of columns. One store at a time has it open to write, or any number, in any processes, for reading alone
//! ([`Store::open_read_only`]); any other opener gets [`StoreErrorKind::InUse`]. Columns and indexes are in memory, documents are read from the file by the page.
//!
//! **What is durable when.** A write is one transaction: its documents go in, those that no case has any more
//! go out, and the counters change. [`Durability::Synced`] returns when that is on disk; [`Durability::Grouped`] when
//! it is visible, and it is on disk with the next write that is synced, with [`Store::sync`], or with
//! the next checkpoint. After a crash the file holds every write up to some moment, that of the last one
//! acknowledged as synced or a later one, and no write in half. A write that fails is not
//! visible, though it may be on disk all the same.
//!
//! **What follows a fault.** redb does nothing more with a file once reading or writing it failed, such as for want of room. Reading goes
//! on: the first reader that finds this closes the file and opens it again, a few times at most. Writing goes on too: the next write, or
//! [`Store::recover`], opens the file again and tries. If the write that failed is on disk after all, the cases are loaded anew and
//! show it. Writes stay refused ([`StoreErrorKind::Failed`]) until the store is opened anew in two cases: grouped writes were
//! lost with the file that was closed, in which case reading ends as well; or a sync failed, after which the system may show what is
//! not on disk.
//!
//! **Imports.** An import is one write, however large: its documents are written as they come, and nothing of it
//! is there before [`StoreImport::commit`]. All this holds as far as the disk keeps what it says it has: one that lies
//! about syncs may lose acknowledged writes, which then shows as an earlier state or as damage, not as a mixture.
//!
//! **Records beside the cases.** What a host keeps beside its cases, such as applicants, are records: text
//! under a kind and a key ([`Store::records`], [`Store::write_records`]). Writes of records are always
//! synced, each is whole or not there, and they take their turn with the writes of cases. They have
//! checksums, are checked, copied and compacted as the cases are.
//!
//! **What a snapshot is.** A search sees the cases of one moment, and holds a transaction that reads the file as it
//! was then, so that it finds documents replaced meanwhile. The file cannot use their pages again as long
//! as such a search, or a walk over [`Store::documents`], goes on.
//!
//! **What checkpoints and merging cost.** A document is written once; it is the log at the same time. Those stored
//! since the last checkpoint are parsed again on opening. Every 16,384 cases
//! stored or deleted ([`StoreOptions::checkpoint_every`]), on [`Store::checkpoint`] and on closing, a
//! checkpoint stores the batches that the file does not have (those merged since, about 300 bytes a case), the live rows
//! that changed, and drops batches that are gone. Writes wait for it, searches do not. A case's columns are
//! stored again whenever its batch was merged or joined by newer cases, about four times on its way into a full
//! batch; the newest two thousand cases, whose batch still grows, at each checkpoint.
//! Batches are merged a little with every write, so that no write pays for a whole batch: for a column of one at most, or for
//! the keys of one that is put in its place (the slowest of 200,000 writes to a million cases took some 30 ms, for a column of
//! strings). So are the keys of all batches. Searches wait for none of it.
//!
//! **File growth and compaction.** What is replaced leaves free pages, which the writes after the next one use. An import is there beside
//! what it replaces until it ends, so that the same cases imported again and again take about twice the room of one import; redb
//! doubles the length of a file that is too short, of which the system stores only what was written. The pages that a reader may still
//! need (a search, a backup, a walk over [`Store::documents`]) stay until it ends. The file does not become shorter
//! by itself. [`Store::compact`] moves everything to the front and gives the rest back; it needs the store alone.
//! [`Store::compact_online`] puts a copy in the place of the file while searches go on and writes wait; it needs room for the copy.
//!
//! **Copies.** [`Store::backup`] copies one moment into a new file while searches and writes go on. Copying the
//! file itself is safe only while nobody has it open.
//!
//! **New files.** A new store or copy appears under its name whole and synced, or not at all ([`AtomicFile`]), and only its owner
//! can read it (mode 0600).
//!
//! **Bytes behind the end.** A file of redb is a whole number of pages of 4,096 bytes. Up to 4,095 bytes that something else
//! added at the end are passed over; whole pages that were added are taken for room, as after a crash.
//!
//! **What is detected.** Every document, part of a batch, bitmap and counter has a checksum bound to its place, and
//! counts must agree: of cases, documents, batches. What is read is checked even if its checksum is right. Damage
//! becomes [`StoreErrorKind::Corrupt`] with the file's name, when opening or when a page needs a damaged document;
//! redb panics over some damage, which is caught. A panic hook still runs ([`store_catches_panics`] tells it), and a process that aborts
//! on panics ends there. [`Store::verify`] checks everything, and each document against its columns. After a crash,
//! opening may have to read the whole file once, to repair it. A file forged on purpose may hold wrong answers, but does no harm.
//!
//! ```
//! use casefilter::{Catalog, Durability, Filter, Request, Store, StoreOptions};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("cases.db");
//! let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
//! store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Synced)?;
//! store.close()?;
//!
//! let store = Store::open(&path, Catalog::cases(), StoreOptions::default())?;
//! let vip = Filter::compile_text(store.catalog(), "tags in (vip)")?;
//! let answer = store.search(&Request::new(vip))?;
//! assert_eq!(answer.documents().collect::<Vec<_>>(), [r#"{"id":"a","tags":["vip"]}"#]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic;
mod backend;
mod batches;
mod compact;
mod error;
mod file;
mod import;
mod load;
mod records;
mod recover;
mod tables;
#[cfg(test)]
mod tests;
mod verify;
mod write;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redb::ReadOnlyTable;

pub use atomic::AtomicFile;
pub use compact::Compacted;
pub use error::{StoreError, StoreErrorKind, store_catches_panics};
pub use file::is_store;
pub use import::StoreImport;
pub use records::{RecordWrite, Records};
pub use verify::Verified;

use self::error::{Fault, Guarded, guarded};
use self::file::{File, Opened};
use self::load::{Loaded, load};
use self::tables::{DOCUMENTS, Stored};
use self::write::Log;
use crate::batch::MAX_ROWS;
use crate::catalog::Catalog;
use crate::engine::explain::Explanation;
use crate::engine::{Answer, AnswerWriter, Engine, Memory, WrittenAnswer};
use crate::error::Error;
use crate::filter::{Filter, Warning};
use crate::limits::Limits;
use crate::lock::{Held, Lock};
use crate::request::Request;

/// When a write is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// Before the call returns.
    #[default]
    Synced,
    /// With the next write that is synced, the next [`Store::sync`], or when the store is closed; until then a
    /// crash loses it, whole.
    Grouped,
}

/// How a store is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    limits: Limits,
    cache_bytes: usize,
    checkpoint_every: u64,
    batch_rows: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            cache_bytes: 64 << 20,
            checkpoint_every: 1 << 14,
            batch_rows: MAX_ROWS,
        }
    }
}

impl StoreOptions {
    /// Bounds on case documents, and by [`Limits::page`] on the pages of searches.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// How much of the file is kept in memory at most, beside the columns: 64 MiB, unless set.
    #[must_use]
    pub fn cache_bytes(self, cache_bytes: usize) -> Self {
        Self { cache_bytes, ..self }
    }

    /// After how many cases stored or deleted a checkpoint is made: 16,384, unless set.
    #[must_use]
    pub fn checkpoint_every(self, cases: u64) -> Self {
        Self { checkpoint_every: cases.max(1), ..self }
    }

    /// How many cases a batch holds: 65,536, or fewer, which only tests have a use for.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: rows.clamp(1, MAX_ROWS), ..self }
    }
}

/// Cases in a file, and in memory what searches need of them.
///
/// `Send + Sync`: searches never wait for writes. The [module](self) says what is on disk when.
pub struct Store {
    /// What errors call the file.
    name: String,
    /// Whoever writes holds it; it stands for the order of writes.
    log: Lock<Log>,
    engine: Engine,
    file: File,
    options: StoreOptions,
}

impl Store {
    /// Makes a store in a new file, which only its owner can read.
    ///
    /// # Errors
    /// When there is a file already, or it cannot be made.
    pub fn create(
        path: impl AsRef<Path>,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let make = |path: &Path, cache_bytes| File::create(path, &catalog, cache_bytes);
        Self::load_from(path.as_ref(), &catalog, options, make)
    }

    /// Makes a store whose file gets its name when the store is [closed](Self::close): until then, and if it is dropped or the
    /// process ends before, nothing is there.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// let store = Store::prepare(&path, Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Grouped)?;
    /// assert!(!path.exists());
    /// store.close()?;
    /// assert!(path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`create`](Self::create); [`close`](Self::close) fails with [`StoreErrorKind::Exists`] when another file took the name.
    pub fn prepare(
        path: impl AsRef<Path>,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let make = |path: &Path, cache_bytes| File::prepare(path, &catalog, cache_bytes);
        Self::load_from(path.as_ref(), &catalog, options, make)
    }

    /// Opens the store in a file that is open to be read, which may have no name; errors call it `name`. Nothing is written to it: what
    /// a crash left to repair is repaired in memory.
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// # Store::create(&path, Catalog::cases(), StoreOptions::default())?.close()?;
    /// let file = std::fs::File::open(&path)?;
    /// let store = Store::open_file(file, "a copy", Catalog::cases(), StoreOptions::default())?;
    /// assert!(store.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_file(
        file: std::fs::File,
        name: &str,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let file = File::of_file(file, options.cache_bytes).map_err(|fault| fault.of_file(name))?;
        Self::load(name.to_owned(), file, &catalog, options)
    }

    /// Opens the store in a file.
    ///
    /// # Errors
    /// See [`StoreErrorKind`]: no such file, in use, no database of cases, of another version or for another
    /// catalogue, damaged.
    pub fn open(path: impl AsRef<Path>, catalog: Catalog, options: StoreOptions) -> Result<Self, StoreError> {
        Self::load_from(path.as_ref(), &catalog, options, File::open)
    }

    /// Opens the store in a file to be read alone: nothing is written to it, so that it may be one that this user may not
    /// write, and others may read it at the same time. Writes are refused with [`StoreErrorKind::ReadOnly`].
    ///
    /// # Errors
    /// As [`open`](Self::open), [`StoreErrorKind::InUse`] when a store that writes has the file open, and
    /// [`StoreErrorKind::Failed`] when one had and did not close it, as after a crash: whoever may write it has to open it once.
    pub fn open_read_only(
        path: impl AsRef<Path>,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        Self::load_from(path.as_ref(), &catalog, options, File::open_read_only)
    }

    fn load_from(
        path: &Path,
        catalog: &Catalog,
        options: StoreOptions,
        open: impl FnOnce(&Path, usize) -> Result<File, Fault>,
    ) -> Result<Self, StoreError> {
        let name = path.display().to_string();
        let file = open(path, options.cache_bytes).map_err(|fault| fault.of_file(&name))?;
        Self::load(name, file, catalog, options)
    }

    fn load(name: String, file: File, catalog: &Catalog, options: StoreOptions) -> Result<Self, StoreError> {
        let loaded = load(&file, catalog, &options).map_err(|fault| fault.of_file(&name))?;
        let Loaded { engine, state, stored, replayed } = loaded;
        let since_checkpoint = replayed.saturating_add(state.released);
        let log = Lock::new(Log::new(state, stored, since_checkpoint, file.is_read_only()));
        Ok(Self { name, log, engine, file, options })
    }

    /// Which file it is in, by the numbers of its device and its inode.
    #[cfg(all(unix, feature = "service"))]
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        self.file.identity()
    }

    /// The fields that are stored and can be filtered.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.engine.catalog()
    }

    /// The bounds on case documents and pages.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.engine.limits()
    }

    /// How many cases there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.engine.len()
    }

    /// True when there is no case.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.engine.is_empty()
    }

    /// What the cases take in memory; their documents are in the file.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.engine.memory()
    }

    /// How many cases the filter selects.
    ///
    /// # Errors
    /// As [`Engine::count`].
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        self.engine.count(filter)
    }

    /// Returns hints about why a filter may select no case, as [`Engine::hints`] does; the file is not read.
    #[must_use]
    pub fn hints(&self, filter: &Filter) -> Vec<Warning> {
        self.engine.hints(filter)
    }

    /// How a request is answered, as [`Engine::explain`] tells it; the file is not read.
    ///
    /// # Errors
    /// As [`Engine::explain`].
    pub fn explain(&self, request: &Request) -> Result<Explanation, Error> {
        self.engine.explain(request)
    }

    /// How a request is answered and what that cost, as [`Engine::analyze`] tells it; documents are not read, nor
    /// is their reading measured.
    ///
    /// # Errors
    /// As [`Engine::analyze`].
    pub fn analyze(
        &self,
        request: &Request,
        clock: &(dyn Fn() -> Duration + Sync),
    ) -> Result<Explanation, Error> {
        self.engine.analyze(request, clock)
    }

    /// Answers a request, from the cases of one moment; the documents of the page are read from the file.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged where the documents lie; [`StoreErrorKind::Request`] for a request that
    /// [`Engine::search`] would not answer.
    pub fn search(&self, request: &Request) -> Result<WrittenAnswer, StoreError> {
        let page = |answer: &Answer, documents: &Documents| {
            let mut page = AnswerWriter::new(request, answer.total(), answer.examined(), answer.len());
            for (number, id) in answer.document_numbers().zip(answer.ids()) {
                documents.read(number, |document| page.push(id, document))?;
            }
            Ok(page.finish())
        };
        let answer = self.engine.search(request).map_err(|error| StoreError::request(&self.name, error))?;
        let Some(own) = answer.attachment::<Documents>().filter(|_| !answer.is_empty()) else {
            return self.without_documents(request, &answer);
        };
        let again = || {
            // Waits for those who open the file; writes that came in between have other documents.
            let now = Documents::of(&self.file)?;
            let Ok(answer) = self.engine.search(request) else {
                return Err(Fault::new(
                    StoreErrorKind::Failed,
                    "opened again while a page was read; search again",
                ));
            };
            match answer.attachment::<Documents>() {
                Some(own) if own.generation >= now.generation => page(&answer, own),
                _ => page(&answer, &now),
            }
        };
        self.reading(own.generation, || page(&answer, own), again)
    }

    /// A page that has no case.
    fn without_documents(&self, request: &Request, answer: &Answer) -> Result<WrittenAnswer, StoreError> {
        if !answer.is_empty() {
            return Err(self.error(Fault::corrupt("cases without documents")));
        }
        Ok(AnswerWriter::new(request, answer.total(), answer.examined(), 0).finish())
    }

    /// Reads documents of the cases that a search found.
    fn read_documents<T>(
        &self,
        answer: &Answer,
        read: impl Fn(&Documents) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let Some(own) = answer.attachment::<Documents>() else {
            return Err(self.error(Fault::corrupt("cases without documents")));
        };
        let again = || {
            let now = Documents::of(&self.file)?;
            // What was replaced or deleted since the search is not there any more.
            read(&now).map_err(|fault| match fault.kind {
                StoreErrorKind::Corrupt if now.generation != own.generation => Fault::new(
                    StoreErrorKind::Failed,
                    "opened again while documents were read; read them again",
                ),
                _ => fault,
            })
        };
        self.reading(own.generation, || read(own), again)
    }

    /// Reads from the file as it was of this generation, and `again` from the file opened anew if a fault before keeps redb from
    /// reading.
    fn reading<T>(
        &self,
        generation: u64,
        read: impl FnOnce() -> Result<T, Fault>,
        again: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let result = guarded(read).or_else(|fault| {
            let is_stuck = fault.kind == StoreErrorKind::Failed && self.reopen(generation);
            if is_stuck { guarded(again) } else { Err(fault) }
        });
        result.map_err(|fault| self.error(fault))
    }

    /// The ids of the cases on the page that a request asks for, in order; the file is not read.
    ///
    /// # Errors
    /// As [`Engine::search`].
    pub fn ids(&self, request: &Request) -> Result<Vec<String>, Error> {
        Ok(self.engine.search(request)?.ids().map(str::to_owned).collect())
    }

    /// The documents of the cases that a request selects, one read after the other, all of one moment.
    ///
    /// Since one document is in memory at a time, the limit of the request may be above [`Limits::page`].
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), as [`Engine::search`].
    pub fn documents(&self, request: &Request) -> Result<StoredDocuments<'_>, Error> {
        let answer = self.engine.search_any_page(request)?;
        let numbers = answer.document_numbers().collect::<Vec<_>>().into_iter();
        Ok(StoredDocuments { store: self, answer, numbers })
    }

    /// Makes a checkpoint and closes the file, which dropping the store does as well, but without telling what
    /// went wrong.
    ///
    /// # Errors
    /// Faults of the file, as [`upsert`](Self::upsert), and those that are found in closing it, also when it was only read.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.checkpoint()?;
        self.sync()?;
        // What reads the file is closed before it.
        let detached = guarded(|| {
            self.engine.detach();
            Ok(())
        });
        let closed = self.file.close();
        detached.and(closed).map_err(|fault| fault.of_file(&self.name))
    }

    fn lock_log(&self) -> Held<'_, Log> {
        // The log changes in one step at the end of a write, so a panic before leaves it whole.
        self.log.lock()
    }

    /// The error for something that was refused.
    #[cfg(feature = "service")]
    pub(crate) fn refuse(&self, refusal: crate::engine::Refusal) -> StoreError {
        StoreError::refused(&self.name, refusal)
    }

    /// The error for a record that does not mean what it did when it was stored.
    #[cfg(feature = "service")]
    pub(crate) fn corrupt_record(&self, detail: &str) -> StoreError {
        self.error(Fault::corrupt(format!("a record that cannot be read: {detail}")))
    }

    fn error(&self, fault: Fault) -> StoreError {
        fault.of_file(&self.name)
    }

    /// Says which invariant of the cases in memory does not hold; for tests and fuzzers.
    ///
    /// # Errors
    /// A sentence about the first invariant that does not hold.
    pub fn validate(&self) -> Result<(), String> {
        self.engine.validate()
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("file", &self.name).field("cases", &self.len()).finish_non_exhaustive()
    }
}

/// A store that is not closed is checkpointed all the same, if that can be done.
impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.checkpoint();
    }
}

/// Documents of a [`Store`], read one after the other; see [`Store::documents`].
#[derive(Debug)]
pub struct StoredDocuments<'s> {
    store: &'s Store,
    answer: Answer,
    numbers: std::vec::IntoIter<Option<u64>>,
}

#[cfg(feature = "service")]
impl StoredDocuments<'_> {
    /// How many cases are selected, when the request asks for it.
    pub(crate) fn total(&self) -> Option<u64> {
        self.answer.total()
    }

    /// How many documents are still to come.
    pub(crate) fn left(&self) -> usize {
        self.numbers.len()
    }

    /// The id of the case whose document comes next.
    pub(crate) fn next_id(&self) -> Option<&str> {
        self.answer.id_at(self.answer.len().checked_sub(self.left())?)
    }

    /// Passes over the next document.
    pub(crate) fn pass_over(&mut self) {
        self.numbers.next();
    }
}

impl Iterator for StoredDocuments<'_> {
    type Item = Result<String, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.numbers.next()?;
        Some(self.store.read_documents(&self.answer, |documents| documents.read(number, str::to_owned)))
    }
}

/// The documents of a snapshot: a transaction that reads the file as it was then.
///
/// The file is not compacted, nor are pages used again, as long as there is one.
#[derive(Debug)]
pub(crate) struct Documents {
    table: Guarded<ReadOnlyTable<u64, &'static [u8]>>,
    /// That of the file which they are read from.
    generation: u64,
    /// It is dropped last.
    _opened: Option<Arc<Opened>>,
}

impl Documents {
    /// The documents as they are now in the file.
    fn of(file: &File) -> Result<Self, Fault> {
        let reading = file.read()?;
        let table = Guarded::new(reading.open_table(DOCUMENTS)?);
        Ok(Self { table, generation: reading.generation(), _opened: reading.keep() })
    }

    /// Hands over the document of a number.
    fn read<T>(&self, number: Option<u64>, take: impl FnOnce(&str) -> T) -> Result<T, Fault> {
        let number = number.ok_or_else(|| Fault::corrupt("a case without a document"))?;
        let bytes =
            self.table.get()?.get(number)?.ok_or_else(|| Fault::corrupt(format!("no document {number}")))?;
        Ok(take(Stored::from_bytes(number, bytes.value())?.text))
    }
}
