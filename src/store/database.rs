//! The store: its parts, and how it is created and opened.

use std::path::Path;

use super::error::{Fault, StoreError, StoreErrorKind, catches_panics};
use super::file::{File, is_store};
use super::load::{Loaded, load};
use super::log::Log;
use super::options::StoreOptions;
use crate::catalog::Catalog;
use crate::engine::{Engine, InvariantError, MemoryUsage};
use crate::limits::Limits;
use crate::lock::{Held, Lock};

/// A durable collection of documents: their texts in a file, columns and indexes in memory.
///
/// It is `Send + Sync`, and searches never wait for writes. The [module](super) describes durability.
pub struct Store {
    /// The name of the file in errors.
    pub(super) name: String,
    /// The state that one write passes to the next. Only the writer holds this lock.
    pub(super) log: Lock<Log>,
    pub(super) engine: Engine,
    pub(super) file: File,
    pub(super) options: StoreOptions,
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

    /// Creates a store whose file gets its name when the store is [closed](Self::close). If the store is dropped or the process ends
    /// before, nothing is left of it.
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
    /// [`StoreErrorKind::Exists`](super::StoreErrorKind::Exists) if another file took the name.
    pub fn prepare(
        path: impl AsRef<Path>,
        catalog: Catalog,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let make = |path: &Path, cache_bytes| File::prepare(path, &catalog, cache_bytes);
        Self::load_from(path.as_ref(), &catalog, options, make)
    }

    /// Opens the store in `file`, which is open for reading and may be unnamed. Error messages use `name` for it. Nothing is written to the
    /// file: repairs after a crash are made in memory.
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

    /// Opens the store in a file. The catalogue must have the fields of the file; its known values and aliases may differ. See
    /// [the guide](crate::guide::durability#change-the-catalogue-of-a-store).
    ///
    /// To create the file if there is none, call [`open_or_create`](Self::open_or_create).
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is in use, is damaged, is not a database of this library, or has another version or
    /// catalogue. See [`StoreErrorKind`](super::StoreErrorKind).
    pub fn open(path: impl AsRef<Path>, catalog: Catalog, options: StoreOptions) -> Result<Self, StoreError> {
        Self::load_from(path.as_ref(), &catalog, options, File::open)
    }

    /// Opens the store in a file, or creates it if there is no such file.
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
    /// Returns the errors of [`open`](Self::open), but for a missing file, and those of [`create`](Self::create).
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
            // Another process created the file since.
            Err(exists) if exists.kind() == StoreErrorKind::Exists => Self::open(path, catalog, options),
            created => created,
        }
    }

    /// Opens the store in a file for reading only. Nothing is written to the file: the user needs no permission to write it, and other
    /// processes may read it at the same time. Writes fail with [`StoreErrorKind::ReadOnly`](super::StoreErrorKind::ReadOnly).
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open). Returns [`StoreErrorKind::InUse`](super::StoreErrorKind::InUse) if the file is open for
    /// writing. Returns [`StoreErrorKind::Failed`](super::StoreErrorKind::Failed) if its last writer did not close it, as after a crash: a
    /// process that may write the file has to open it once.
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
        let Loaded { engine, state, stored, replayed } = loaded;
        let since_checkpoint = replayed.saturating_add(state.released);
        let log = Lock::new(Log::new(state, stored, since_checkpoint, file.is_read_only()));
        Ok(Self { name, log, engine, file, options })
    }

    /// Returns the device number and the inode number of the file.
    #[cfg(all(unix, feature = "service"))]
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        self.file.identity()
    }

    /// Returns true if the file at a path begins with the magic number of a database.
    ///
    /// False does not mean that there is no file: it may be damaged, or of another program.
    ///
    /// ```
    /// assert!(!casefilter::Store::exists("no such file"));
    /// ```
    #[must_use]
    pub fn exists(path: impl AsRef<Path>) -> bool {
        is_store(path.as_ref())
    }

    /// Returns true while this thread runs code whose panics a store turns into errors.
    ///
    /// redb panics on some damage of a file. A host's panic hook runs before such a panic is caught and can ignore it: the
    /// caller gets a [`StoreError`] of the kind [`Corrupt`](super::StoreErrorKind::Corrupt).
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

    /// Returns the fields that are stored and can be filtered.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.engine.catalog()
    }

    /// Returns the bounds on documents and pages.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.engine.limits()
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.engine.len()
    }

    /// Returns true if there is no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.engine.is_empty()
    }

    /// Returns the memory usage: that of columns and indexes. The documents are in the file.
    #[must_use]
    pub fn memory(&self) -> MemoryUsage {
        self.engine.memory()
    }

    pub(super) fn lock_log(&self) -> Held<'_, Log> {
        // A write changes the log in one step at its end. An earlier panic leaves it consistent.
        self.log.lock()
    }

    /// Returns the error for a rejected record.
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
        self.engine.validate()
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
