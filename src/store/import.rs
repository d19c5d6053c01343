//! Imports into a store: one transaction of any size, which starts when the import is committed.
//!
//! # Design
//!
//! An import may be open for as long as its source takes, or be leaked, so it must not keep other writes waiting. It therefore
//! takes neither the [log](super::log), which only one writer has at a time, nor redb's one write transaction before its commit.
//!
//! | | before the commit | at the commit, with the right to write |
//! |---|---|---|
//! | rows | parsed into batches by the [`Import`] of the engine | looked up again after another write: replaced rows, insertion order |
//! | documents | appended to a [`Spool`], numbered from 0 | numbered from `state.next_document`, inserted with their insertion order |
//! | file | not touched | one redb transaction, with the documents, what they replace, a checkpoint if one is due, and the counters |
//!
//! So an import replaces the documents that are stored at its commit, as an import of an engine does. Documents are numbered at the commit
//! because a document must not have a smaller number than a checkpoint that was made in between. The documents of a batch are numbered in
//! order, so that only the first number of a batch changes, as a rule.
//!
//! Nothing of an import is in the database before its transaction is committed. If the spool cannot be written or read, as on a full disk,
//! the import fails, and the database is unchanged and accepts other writes. The columns of the import are in memory, as in an engine, and up to 1 MiB of documents.
//!
//! Documents are written twice: once to the spool, which is not synced and often stays in the system's cache, and once to the database.
//! `benches/store.rs` measures imports.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::database::Store;
use super::error::{Fault, Guarded, StoreError, StoreErrorKind, guarded};
use super::spool::Spool;
use super::tables::State;
use crate::engine::{Import, ImportMode, ImportReport, StoreDocument};

/// A running import into a [`Store`]. Nothing of it is visible, or in the database, until [`commit`](Self::commit).
///
/// Add documents through this type or through [`import_mut`](Self::import_mut). They are written to an unnamed temporary file in the
/// folder of the database, of about their total size. The file is freed when the import is dropped or the process ends.
///
/// It is `Send`, and blocks no other write or import before its commit. The commit writes all documents to the database; other writes wait
/// for it, and searches continue. The documents replace the documents that are stored at that moment.
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
    /// The spool. The import has a clone, and writes documents to it.
    spool: Arc<Mutex<Option<Spool>>>,
}

impl Store {
    /// Starts an import. It blocks no other write until it is [committed](StoreImport::commit).
    ///
    /// # Errors
    /// Returns [`ReadOnly`](StoreErrorKind::ReadOnly) if the store was opened for reading only. Returns [`Failed`](StoreErrorKind::Failed)
    /// if an earlier write failed, and the file cannot be written yet. While another write is in progress, the commit reports that failure
    /// instead.
    pub fn import(&self, mode: ImportMode) -> Result<StoreImport<'_>, StoreError> {
        if self.file.is_read_only() {
            return Err(self.error(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone")));
        }
        if let Some(mut log) = self.log.try_lock() {
            self.ready(&mut log)?;
        }
        Ok(self.import_over(mode, Spool::beside(self.file.target())))
    }

    /// Starts an import with this spool.
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
        let result = self.import.begin_source(name);
        result.map_err(|refusal| StoreError::refused(&self.store.name, refusal))
    }

    /// Adds the next bytes of the source, which may be split anywhere; see [`Import::push`].
    ///
    /// # Errors
    /// Returns an error if a document is malformed, or if documents cannot be written to the temporary file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let result = self.import.push(bytes);
        self.check()?;
        result.map_err(|refusal| StoreError::refused(&self.store.name, refusal))
    }

    /// Returns early the error of a failed write to the temporary file. [`commit`](Self::commit) returns it as well.
    ///
    /// # Errors
    /// Returns [`TemporaryFile`](StoreErrorKind::TemporaryFile) if documents could not be written, as on a full disk. The database is unchanged and accepts other
    /// writes.
    pub fn check(&mut self) -> Result<(), StoreError> {
        let spool = lock(&self.spool);
        match spool.as_ref().and_then(Spool::fault) {
            None => Ok(()),
            Some(fault) => Err(StoreError::new(fault.kind, &self.store.name, fault.detail.clone())),
        }
    }

    /// Waits for running writes, then makes all documents durable and visible at once.
    ///
    /// # Errors
    /// Returns an error if the last source ends with a malformed document, if the temporary file could not be written, or if the database
    /// cannot be written. No document of the import is visible then.
    pub fn commit(self) -> Result<ImportReport, StoreError> {
        let Self { store, import, spool } = self;
        let refused = |refusal| StoreError::refused(&store.name, refusal);
        let mut import = import.finish().map_err(refused)?;
        let spool = lock(&spool).take().unwrap_or_else(|| Spool::beside(None));
        let documents = spool.finish().map_err(|fault| store.error(fault))?;

        let mut log = store.lock_log();
        store.ready(&mut log)?;
        let first = log.state.next_document;
        import.number_from(first);
        let (txn, report) = import.attach().map_err(refused)?;
        let next_document = first.saturating_add(documents.next_number());
        let (state, added) = (State { next_document, ..log.state }, documents.documents());
        let begun = guarded(|| {
            // redb reuses the pages that a write freed only after the next write has ended. Without an empty write here, the pages that the
            // previous import freed would stay unused.
            store.file.write(true)?.commit()?;
            log.synced();
            let transaction = Guarded::new(store.file.write(true)?);
            let stored = documents.store(transaction.get()?, first, txn.documents())?;
            Ok(stored.map(|()| transaction))
        });
        // A fault of the spool is none of the database, which is unchanged.
        let transaction = store.settle(&mut log, begun)?.map_err(|fault| store.error(fault))?;
        let (transaction, staged) = transaction.beside(|| txn.stage());
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
