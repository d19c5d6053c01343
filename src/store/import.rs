//! Imports into a store. Each import is one transaction, which may be of any size and starts when the import is committed.
//!
//! # Design
//!
//! An import may stay open for as long as its source takes, or be leaked. So it must not keep other writes waiting. Until its
//! commit, it holds neither the [log](super::log), which only one writer at a time can have, nor redb's only write transaction.
//!
//! | | before the commit | at the commit, while the import holds the log |
//! |---|---|---|
//! | rows | parsed into batches by the [`Import`] of the engine | replaced rows and insertion order are looked up again if another write was made in between |
//! | documents | appended to a [`Spool`], numbered from 0 | numbered from `state.next_document`, and inserted with their insertion order |
//! | file | not changed | one redb transaction: adds the documents, removes the documents that they replace, makes a checkpoint if one is due, and updates the counters |
//!
//! So each imported document replaces the document that has the same id when the import is committed, as in an engine. Documents
//! are numbered at the commit, because other writes may make a checkpoint during the import. A checkpoint records the first
//! document number that is in no stored batch, and later documents must not have smaller numbers. If the documents of a batch have
//! consecutive numbers, the batch stores only the first number. So the commit usually changes one number per batch.
//!
//! Nothing of an import is in the database before its transaction is committed. If the spool cannot be written or read, for
//! example on a full disk, the import fails. The database is unchanged and accepts other writes. The columns of the import are in
//! memory, as in an engine. Up to 1 MiB of its documents is also in memory, or up to 8 MiB
//! before they train a dictionary.
//!
//! Documents are written twice: to the spool and to the database. They are compressed before that. The spool is not synced, and
//! often stays in the system's cache.
//! `benches/store.rs` measures imports.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::database::Store;
use super::error::{Fault, Guarded, StoreError, StoreErrorKind, caught, guarded};
use super::spool::{Packing, Spool};
use super::tables::StoreCounters;
use crate::engine::{Import, ImportMode, ImportReport, StoreDocument};

/// A running import into a [`Store`]. Before [`commit`](Self::commit), the import is not visible, and nothing of it is in the
/// database.
///
/// Add documents through this type or through [`import_mut`](Self::import_mut). They are written to an unnamed temporary file in
/// the folder of the database. If this folder cannot be written, the file is in the temporary folder of the system. A small import
/// needs no file. The file needs about as much space as the documents. The system frees it when the import is dropped or the
/// process ends.
///
/// The type is `Send`. Before its commit, an import blocks no other write and no other import. The commit writes all documents to
/// the database. Meanwhile other writes wait, and searches continue. Each imported document replaces the document that has the same
/// id at that moment.
///
/// ```
/// use casefilter::{Catalog, Durability, ImportMode, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
/// let mut import = store.import(ImportMode::Strict)?;
/// import.push(b"{\"id\":\"a\"}\n")?;
/// store.upsert(b"{\"id\":\"b\"}", Durability::Synced)?;
/// import.push(b"{\"id\":\"b\"}\n")?;
/// let report = import.commit()?;
/// assert_eq!((report.stored, report.replaced, store.len()), (1, 1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StoreImport<'s> {
    store: &'s Store,
    import: Import<'s>,
    /// The spool. The import of the engine has a clone, through which it writes documents to the spool.
    spool: Arc<Mutex<Option<Spool>>>,
}

impl Store {
    /// Starts an import. Before it is [committed](StoreImport::commit), it blocks no other write.
    ///
    /// # Errors
    /// Returns [`ReadOnly`](StoreErrorKind::ReadOnly) if the store was opened for reading only. Returns
    /// [`Failed`](StoreErrorKind::Failed) if an earlier write failed and the file still cannot be written. If another write is in
    /// progress, this is not tested here, and the commit returns the error instead.
    pub fn import(&self, mode: ImportMode) -> Result<StoreImport<'_>, StoreError> {
        if self.file.is_read_only() {
            return Err(self.error(Fault::new(StoreErrorKind::ReadOnly, "it is open only for reading")));
        }
        if let Some(mut log) = self.log.try_lock() {
            self.ready(&mut log)?;
        }
        // Threads of the import look up ids. The ids are read here, so that a read error does not occur on these threads.
        self.with_columns(|| self.engine.read_ids())?;
        Ok(self.import_over(mode, Spool::beside(self.file.target(), self.packing())))
    }

    /// Returns how an import compresses documents. If the file has no dictionary yet, the import trains one.
    fn packing(&self) -> Packing {
        let dictionaries = self.file.known_dictionaries();
        let newest = Arc::clone(dictionaries.newest());
        match (self.is_packed, dictionaries.is_empty()) {
            (false, _) => Packing::Off,
            (true, true) => Packing::Training(newest),
            (true, false) => Packing::With(newest),
        }
    }

    /// Calls a method of an import, which may look up ids of stored cases. Usually, these ids have been in memory since the start
    /// of the import. After a [recovery](Self::recover) of the store, they may have to be read again. Returns an error if they
    /// cannot be read.
    fn with_ids<T>(&self, work: impl FnOnce() -> T) -> Result<T, StoreError> {
        caught(work).map_err(|fault| self.error(fault))
    }

    /// Starts an import that uses this spool.
    pub(super) fn import_over(&self, mode: ImportMode, spool: Spool) -> StoreImport<'_> {
        let spool = Arc::new(Mutex::new(Some(spool)));
        let own = Arc::clone(&spool);
        let put = move |number: u64, text: &str| {
            if let Some(spool) = &mut *lock(&own) {
                spool.put(number, text);
            }
        };
        let import = self.engine.import_numbered(mode, StoreDocument::new(put));
        StoreImport { store: self, import, spool }
    }
}

fn lock(spool: &Mutex<Option<Spool>>) -> MutexGuard<'_, Option<Spool>> {
    spool.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'s> StoreImport<'s> {
    /// Returns the import of the engine, to which documents are added.
    pub fn import_mut(&mut self) -> &mut Import<'s> {
        &mut self.import
    }

    /// Starts another source; see [`Import::begin_source`].
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push).
    pub fn begin_source(&mut self, name: &str) -> Result<(), StoreError> {
        let result = self.store.with_ids(|| self.import.begin_source(name))?;
        result.map_err(|refusal| StoreError::refused(&self.store.name, refusal))
    }

    /// Adds the next bytes of the source. A chunk may begin and end at any byte; see [`Import::push`].
    ///
    /// # Errors
    /// Returns an error if a document is malformed, or if documents cannot be written to the temporary file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let result = self.store.with_ids(|| self.import.push(bytes))?;
        self.check()?;
        result.map_err(|refusal| StoreError::refused(&self.store.name, refusal))
    }

    /// Returns the error of an earlier failed write to the temporary file. [`commit`](Self::commit) would also return it, but
    /// later.
    ///
    /// # Errors
    /// Returns [`TemporaryFile`](StoreErrorKind::TemporaryFile) if documents could not be written to the temporary file, for
    /// example on a full disk. The database is unchanged and accepts other writes.
    pub fn check(&mut self) -> Result<(), StoreError> {
        let spool = lock(&self.spool);
        match spool.as_ref().and_then(Spool::fault) {
            None => Ok(()),
            Some(fault) => Err(StoreError::new(fault.kind, &self.store.name, fault.detail.clone())),
        }
    }

    /// Waits for running writes. Then writes all documents to disk, and makes them visible together.
    ///
    /// # Errors
    /// Returns an error if the last source ends with a malformed document. Also returns an error if the temporary file or the
    /// database cannot be written. Then no document of the import is visible.
    pub fn commit(self) -> Result<ImportReport, StoreError> {
        let Self { store, import, spool } = self;
        let refused = |refusal| StoreError::refused(&store.name, refusal);
        let mut import = store.with_ids(|| import.finish())?.map_err(refused)?;
        let spool = lock(&spool).take().unwrap_or_else(|| Spool::beside(None, Packing::Off));
        let documents = spool.finish().map_err(|fault| store.error(fault))?;

        let mut log = store.lock_log();
        store.ready(&mut log)?;
        let first = log.state.next_document;
        import.number_from(first);
        let (txn, report) = store.prepared(&mut log, || import.attach().map_err(refused))?;
        let next_document = first.saturating_add(documents.next_number());
        let (state, added) = (StoreCounters { next_document, ..log.state }, documents.documents());
        let begun = guarded(|| {
            // redb can reuse the pages that a write freed only after the next write has ended. Without this empty write, the pages
            // that the previous import freed could not be used for this import.
            store.file.write(true)?.commit()?;
            log.synced();
            let transaction = Guarded::new(store.file.write(true)?);
            let stored = documents.store(transaction.get()?, first, txn.documents())?;
            Ok(stored.map(|()| transaction))
        });
        // A fault of the spool is not a fault of the database, which is unchanged.
        let transaction = store.settle(&mut log, begun)?.map_err(|fault| store.error(fault))?;
        let (transaction, staged) = store.prepared(&mut log, || Ok(transaction.beside(|| txn.stage())))?;
        let committed = guarded(|| store.finish(&mut log, transaction.take()?, staged, state, added, true));
        store.settle(&mut log, committed)?;
        Ok(report)
    }
}

impl fmt::Debug for StoreImport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreImport").field("import", &self.import).finish_non_exhaustive()
    }
}
