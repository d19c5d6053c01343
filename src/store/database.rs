//! The type `Store`: its parts, and the functions that create and open it.

use std::path::Path;
#[cfg(feature = "service")]
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "service")]
use super::atomic::real_folder_of;
use super::bell::Bell;
use super::columns::warm;
use super::error::{Fault, StoreError, StoreErrorKind, catches_panics, caught, guarded};
use super::file::{File, is_store};
use super::load::{Loaded, load};
use super::log::Log;
use super::options::{KeptEvents, StoreOptions};
use super::standing_tables::system_clock;
use super::tables::{META, read_definition, read_version};
use crate::catalog::Catalog;
use crate::engine::{Clock, Engine, InvariantError, MemoryUsage};
use crate::limits::Limits;
use crate::lock::{Held, Lock};
use crate::standing::FilterSet;

/// The size of the cache for reading the catalogue of a file, in bytes.
const DEFINITION_CACHE_BYTES: usize = 1 << 20;

/// A durable collection of documents. The texts of the documents are in a file; their columns and indexes are in memory.
///
/// The type is `Send + Sync`, and searches never wait for writes. The [module](super) describes durability.
pub struct Store {
    /// The name of the file in error messages.
    pub(super) name: String,
    /// The state of the file that each write leaves for the next write. Each write holds this lock until it ends.
    pub(super) log: Lock<Log>,
    pub(super) engine: Engine,
    /// The standing filters, which the engine has too. They change only while the lock of `log` is held.
    pub(super) filters: Arc<FilterSet>,
    pub(super) bell: Arc<Bell>,
    pub(super) file: File,
    pub(super) options: StoreOptions,
    /// The catalogue that the file was made with. Copies of the file get it, too. Known values and aliases may differ from those of
    /// the engine.
    pub(super) definition: Catalog,
    /// True if the file has version 3: it has summaries of the batches, and its documents and parts may be compressed.
    pub(super) is_packed: bool,
    /// The clock for the times of writes.
    pub(super) clock: Clock,
}

impl Store {
    /// Creates a store in a new file that only its owner can read.
    ///
    /// # Errors
    /// Returns an error if the file exists or cannot be created.
    pub fn create(
        path: impl AsRef<Path>,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let make = |path: &Path, cache_bytes| File::create(path, &catalog, cache_bytes);
        Self::load_from(path.as_ref(), &catalog, options, make)
    }

    /// Creates a store whose file gets its name when the store is [closed](Self::close). If the store is dropped or the process
    /// ends before that, the file is removed. Until then, no other store can be prepared under this name. For this purpose, an
    /// empty file `.NAME.new` is in the folder. It remains only if the process is killed. The next store of this name removes it.
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
    /// Returns the errors of [`create`](Self::create). [`close`](Self::close) fails with
    /// [`StoreErrorKind::Exists`](super::StoreErrorKind::Exists) if another file has the name by then. Returns
    /// [`StoreErrorKind::BeingCreated`](super::StoreErrorKind::BeingCreated) if another store is being prepared under this name.
    pub fn prepare(
        path: impl AsRef<Path>,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let make = |path: &Path, cache_bytes| File::prepare_claimed(path, &catalog, cache_bytes);
        Self::load_from(path.as_ref(), &catalog, options, make)
    }

    /// Opens the store in `file`, which is open for reading and may be unnamed. In error messages, the file has the name `name`.
    /// Nothing is written to the file: repairs after a crash are made in memory.
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
    /// Returns the errors of [`open`](Self::open).
    pub fn open_file(
        file: std::fs::File,
        name: &str,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let file = File::of_file(file, options.cache_bytes).map_err(|fault| fault.of_file(name))?;
        Self::load(name.to_owned(), file, &catalog, options)
    }

    /// Opens the store in the file at `path`. The catalogue must have the same fields as the file. Known values and aliases may
    /// differ. See [the guide](crate::guide::durability#change-the-catalogue-of-a-store).
    ///
    /// To create the file if it does not exist, call [`open_or_create`](Self::open_or_create).
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is in use, is damaged, or is not a database of this library. Also returns an
    /// error if the file has an unknown format version or another catalogue. See [`StoreErrorKind`](super::StoreErrorKind).
    pub fn open(path: impl AsRef<Path>, catalog: Catalog, options: StoreOptions) -> Result<Self, StoreError> {
        Self::load_from(path.as_ref(), &catalog, options, File::open)
    }

    /// Opens the store in the file at `path`, or creates the file if it does not exist.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// for run in 0..2 {
    ///     let store = Store::open_or_create(&path, Catalog::cases(), StoreOptions::default())?;
    ///     assert_eq!(store.len(), run);
    ///     store.upsert(br#"{"id":"a"}"#, Durability::Synced)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), except the error of a missing file, and the errors of [`create`](Self::create).
    pub fn open_or_create(
        path: impl AsRef<Path>,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref();
        match Self::open(path, catalog.clone(), options.clone()) {
            Err(missing) if missing.kind() == StoreErrorKind::NotFound => {}
            opened => return opened,
        }
        match Self::create(path, catalog.clone(), options.clone()) {
            // Another process has created the file in the meantime.
            Err(exists) if exists.kind() == StoreErrorKind::Exists => Self::open(path, catalog, options),
            created => created,
        }
    }

    /// Opens the store in the file at `path` for reading only. Nothing is written to the file. So the user needs no permission to
    /// write it, and other processes may read it at the same time. Writes fail with
    /// [`StoreErrorKind::ReadOnly`](super::StoreErrorKind::ReadOnly).
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open). Returns [`StoreErrorKind::InUse`](super::StoreErrorKind::InUse) if a store has
    /// the file open for writing. Returns [`StoreErrorKind::Failed`](super::StoreErrorKind::Failed) if the last writer did not
    /// close the file, for example after a crash. Then a process that may write the file must open it once.
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

    pub(super) fn load(
        name: String,
        file: File,
        catalog: &Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let loaded = load(&file, catalog, &options, None).map_err(|fault| fault.of_file(&name))?;
        let Loaded { engine, state, standing, writes, filters, stored, is_packed, definition, .. } = loaded;
        let (kept_before, replayed) = (loaded.kept_events, loaded.replayed);
        let kept_events = options.kept_events(kept_before);
        let is_set = options.kept_count.is_some() || options.kept_age.is_some();
        let is_changed = is_set && Some(kept_events) != kept_before;
        let options =
            StoreOptions { kept_count: Some(kept_events.count), kept_age: Some(kept_events.age), ..options };
        let bell = Arc::new(Bell::default());
        bell.ring(standing.last_event());
        let since_checkpoint = replayed.saturating_add(state.released);
        let (shared, counters) = (Arc::clone(&bell), (state, standing, writes));
        let history = options.history.filter(|_| !file.is_read_only());
        let is_changed = is_changed && is_packed && !file.is_read_only();
        let log = Log::new(counters, shared, stored, since_checkpoint, file.is_read_only());
        let log = Lock::new(log);
        let definition = definition.unwrap_or_else(|| catalog.clone());
        let clock = system_clock();
        let own = Self { name, log, engine, filters, bell, file, options, definition, is_packed, clock };
        if let Some(history) = history {
            own.set_history(history)?;
        }
        if is_changed {
            own.try_to_store(kept_events)?;
        }
        Ok(own)
    }

    /// Stores the setting `kept_events`, if the file can be written. If the file cannot be written, for example because the disk is
    /// full, the setting applies only until the store is closed. So a host can open a store on a full disk, and delete documents. A
    /// failed sync is an error: after it, the store would refuse all writes.
    fn try_to_store(&self, kept_events: KeptEvents) -> Result<(), StoreError> {
        self.store_kept_events(kept_events).or_else(|error| match error.kind() {
            StoreErrorKind::Io if !self.file.sync_failed().is_set() => Ok(()),
            _ => Err(error),
        })
    }

    /// Returns the device number and the inode number of the file.
    #[cfg(all(unix, feature = "service"))]
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        self.file.identity()
    }

    /// Returns the folder of the file, or `None` if the store is not in a file.
    #[cfg(feature = "service")]
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.file.target().map(real_folder_of)
    }

    /// Returns true if the file at `path` begins with the magic number of a database.
    ///
    /// If the result is false, the file may still exist: it may be damaged, or not be a database.
    ///
    /// ```
    /// assert!(!casefilter::Store::exists("no such file"));
    /// ```
    #[must_use]
    pub fn exists(path: impl AsRef<Path>) -> bool {
        is_store(path.as_ref())
    }

    /// Returns the catalogue that the file at a path was made with. It has all known values and aliases, and is
    /// [extended](Catalog::extended) if the original was. A file of an earlier version has no such catalogue; the result is then
    /// [`Catalog::cases`].
    ///
    /// ```
    /// use casefilter::{Catalog, Field, FieldType, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("tickets.db");
    /// let tickets = Catalog::new([Field::new("state", FieldType::String).with_known(["new", "open"])])?;
    /// Store::create(&path, tickets.clone(), StoreOptions::default())?.close()?;
    /// let stored = Store::catalog_of(&path)?;
    /// assert_eq!(stored, tickets);
    /// Store::open(&path, stored, StoreOptions::default())?.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open_read_only`](Self::open_read_only). A file that a crash left open is repaired in memory.
    pub fn catalog_of(path: impl AsRef<Path>) -> Result<Catalog, StoreError> {
        let path = path.as_ref();
        let read = || {
            let file = match File::open_read_only(path, DEFINITION_CACHE_BYTES) {
                Err(fault) if fault.kind == StoreErrorKind::Failed => {
                    File::open_overlay(path, DEFINITION_CACHE_BYTES)?
                }
                opened => opened?,
            };
            guarded(|| {
                let meta = file.read()?.open_table(META)?;
                read_version(&meta)?;
                read_definition(&meta)
            })
        };
        let stored = read().map_err(|fault| fault.of_file(&path.display().to_string()))?;
        Ok(stored.unwrap_or_else(Catalog::cases))
    }

    /// Returns true while this thread runs code whose panics the store catches and converts to errors.
    ///
    /// redb panics on some damage of a file. A panic hook of the host program runs before such a panic is caught, and can use this
    /// function to ignore the panic. The caller of the store gets a [`StoreError`] of the kind
    /// [`Corrupt`](super::StoreErrorKind::Corrupt).
    ///
    /// ```
    /// let default = std::panic::take_hook();
    /// std::panic::set_hook(Box::new(move |panic| {
    ///     if !casefilter::Store::catches_panics() {
    ///         default(panic);
    ///     }
    /// }));
    /// ```
    #[must_use]
    pub fn catches_panics() -> bool {
        catches_panics()
    }

    /// Returns the catalogue: the fields that are stored and that filters can use.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.engine.catalog()
    }

    /// Returns the catalogue that the file was made with.
    #[cfg(all(unix, feature = "service"))]
    pub(crate) fn definition(&self) -> &Catalog {
        &self.definition
    }

    /// Returns the limits on documents and pages.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.engine.limits()
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.engine.len()
    }

    /// Returns true if the store contains no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.engine.is_empty()
    }

    /// Returns the memory usage of the columns and indexes that have been read so far. The documents are in the file, so they are
    /// not included. Instead, `documents_bytes` includes the dictionaries, the memory for decompression, and the cache of
    /// decompressed documents.
    #[must_use]
    pub fn memory(&self) -> MemoryUsage {
        let mut memory = self.engine.memory();
        let packing = self.file.known_dictionaries().size_bytes() as u64;
        memory.documents_bytes = memory.documents_bytes.saturating_add(packing);
        memory
    }

    /// Reads all columns that have not been read yet, and builds all indexes. Without this call, the first search that needs a
    /// column or an index reads or builds it. Searches and writes continue meanwhile.
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
    /// # store.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?;
    /// # store.close()?;
    /// let store = Store::open(&path, Catalog::cases(), StoreOptions::default())?;
    /// store.warm()?;
    /// assert!(store.contains("a")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if a column is damaged. The other columns are read nevertheless, and the
    /// first error is returned.
    ///
    /// # Complexity
    /// Reads the whole file, except the documents.
    pub fn warm(&self) -> Result<(), StoreError> {
        self.warm_while(&|| true).map(drop)
    }

    /// Does the same as [`warm`](Self::warm), but stops when `goes_on` returns false. Returns true if everything was read.
    pub(crate) fn warm_while(&self, goes_on: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        self.trying_columns(|| warm(&self.engine, goes_on))
    }

    pub(super) fn lock_log(&self) -> Held<'_, Log> {
        // A write changes the counters in the log only after its commit. So an earlier panic during a write leaves the log
        // consistent.
        self.log.lock()
    }

    /// Returns the error for a record that was rejected.
    #[cfg(feature = "service")]
    pub(crate) fn refuse(&self, refusal: crate::engine::ImportError) -> StoreError {
        StoreError::refused(&self.name, refusal)
    }

    /// Returns the error for a stored record that cannot be decoded.
    #[cfg(feature = "service")]
    pub(crate) fn corrupt_record(&self, detail: &str) -> StoreError {
        self.error(Fault::corrupt(format!("a record that cannot be read: {detail}")))
    }

    pub(super) fn error(&self, fault: Fault) -> StoreError {
        fault.of_file(&self.name)
    }

    /// Checks the invariants of the documents in memory, for tests and fuzzers.
    ///
    /// # Errors
    /// Returns a description of the first violated invariant.
    pub fn validate(&self) -> Result<(), InvariantError> {
        caught(|| self.engine.validate()).unwrap_or_else(|fault| Err(InvariantError::new(fault.detail)))
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("file", &self.name)
            .field("documents", &self.len())
            .finish_non_exhaustive()
    }
}
