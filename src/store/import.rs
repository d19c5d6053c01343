//! Imports into a store: one transaction of any size, which begins when the import is committed.
//!
//! # Design
//!
//! An import may be open for as long as its source takes, or be leaked, so it must not keep other writes waiting. It therefore
//! takes neither the [log](super::log), which only one writer has at a time, nor redb's one write transaction before its commit.
//!
//! | | before the commit | at the commit, with the right to write |
//! |---|---|---|
//! | cases | read, and put into batches, by the [`Import`] of the engine | looked up again if another write came in between: replaced cases, places |
//! | documents | appended to a [`Spool`], numbered from 0 | numbered from `state.next_document`, and inserted with their places |
//! | file | not touched | one redb transaction, with the documents, what they replace, a checkpoint if one is due, and the counters |
//!
//! So an import replaces what is stored at its commit, as one of an engine does. Numbers are given at the commit because a
//! document must not have a smaller number than a checkpoint that was made in between. The documents of a batch are
//! numbered in order, so that only the first number of a batch changes, as a rule.
//!
//! Nothing of an import is in the database before its transaction is committed. A spool that cannot be written, as on a full disk, ends
//! the import, and nothing else: the database was not touched. Memory holds the columns of the import, as in an engine, and a MiB of
//! documents.
//!
//! Documents are written twice: once to the spool, which is not synced and often never leaves the system's cache, and once to the
//! database. `benches/store.rs` imports cases.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::database::Store;
use super::error::{Fault, Guarded, StoreError, StoreErrorKind, guarded};
use super::spool::Spool;
use super::tables::State;
use crate::engine::{Import, ImportMode, ImportReport, StoreDocument};

/// An import into a [`Store`] under way: nothing of it is visible, or in the database, until [`commit`](Self::commit).
///
/// Documents go in through this type or through [`import_mut`](Self::import_mut). They are put aside in a temporary file without a
/// name beside the database as they come, which takes about as much room as they do. Dropping the import, or the end of the process,
/// leaves nothing of them.
///
/// It is `Send`, and keeps no other write and no other import waiting before its commit. The commit writes all documents to the
/// database; other writes wait for that, searches go on. The cases replace what is stored at that moment.
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
    /// Shared with the import, which puts documents there.
    spool: Arc<Mutex<Option<Spool>>>,
}

impl Store {
    /// Begins an import. It keeps no other write waiting until it is [committed](StoreImport::commit).
    ///
    /// # Errors
    /// [`ReadOnly`](StoreErrorKind::ReadOnly); [`Failed`](StoreErrorKind::Failed) when an earlier write failed, and the file cannot
    /// be written yet. While another write is under way, that is found at the commit.
    pub fn import(&self, mode: ImportMode) -> Result<StoreImport<'_>, StoreError> {
        if self.file.is_read_only() {
            return Err(self.error(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone")));
        }
        if let Some(mut log) = self.log.try_lock() {
            self.ready(&mut log)?;
        }
        Ok(self.import_over(mode, Spool::beside(self.file.target())))
    }

    /// Begins an import with this spool.
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
    /// Returns the import of the engine, which takes in the documents.
    pub fn import_mut(&mut self) -> &mut Import<'s> {
        &mut self.import
    }

    /// Begins another source; see [`Import::begin_source`].
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn begin_source(&mut self, name: &str) -> Result<(), StoreError> {
        let result = self.import.begin_source(name);
        result.map_err(|refusal| StoreError::refused(&self.store.name, refusal))
    }

    /// Takes the next bytes of the source, parted anywhere; see [`Import::push`].
    ///
    /// # Errors
    /// A malformed case, and documents that cannot be put aside.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let result = self.import.push(bytes);
        self.check()?;
        result.map_err(|refusal| StoreError::refused(&self.store.name, refusal))
    }

    /// Returns early the error of documents that could not be put aside, which [`commit`](Self::commit) returns as well.
    ///
    /// # Errors
    /// [`Io`](StoreErrorKind::Io), such as for want of room. The database was not touched, and takes other writes.
    pub fn check(&mut self) -> Result<(), StoreError> {
        let spool = lock(&self.spool);
        match spool.as_ref().and_then(Spool::fault) {
            None => Ok(()),
            Some(fault) => Err(StoreError::new(fault.kind, &self.store.name, fault.detail.clone())),
        }
    }

    /// Waits for writes that are under way, then makes the cases durable and visible, all at once.
    ///
    /// # Errors
    /// What the last source ended with; documents that could not be put aside; faults of the file. Nothing is visible then.
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
            // redb uses the pages that a write gave up again once the write after it has ended. Without one, what the import before
            // replaced would stay free beside what this one writes.
            store.file.write(true)?.commit()?;
            let transaction = Guarded::new(store.file.write(true)?);
            documents.store(transaction.get()?, first, txn.documents())?;
            Ok(transaction)
        });
        let transaction = store.settle(&mut log, begun)?;
        let staged = txn.stage();
        let committed = guarded(|| store.finish(&mut log, transaction.take()?, staged, state, added));
        store.settle(&mut log, committed)?;
        log.synced();
        Ok(report)
    }
}

impl fmt::Debug for StoreImport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreImport").field("import", &self.import).finish_non_exhaustive()
    }
}
