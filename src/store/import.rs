//! Imports into a store: one transaction, whatever their size.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::WriteTransaction;

use super::commit::{Added, put_documents};
use super::database::Store;
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::log::Log;
use super::tables::State;
use crate::engine::{Import, ImportMode, ImportReport, StoreDocument};
use crate::lock::Held;

/// An import into a [`Store`] under way: nothing of it is visible, or on disk for good, until
/// [`commit`](Self::commit).
///
/// Cases go in through [`cases`](Self::cases). Documents are written as they come; dropping the import, or
/// the process ending, leaves nothing of them.
///
/// **Other writes to the store wait** from [`Store::import`] until the import is committed or dropped: it holds the one write
/// transaction of the file, so that all of its documents become durable together or not at all. Searches go on. It is `Send`, but
/// to keep one open while its input is slow (a client's upload, another service) blocks every [`upsert`](Store::upsert) and
/// [`delete`](Store::delete). Receive such input first, into memory or a file, and begin the import then; or split it into several
/// imports, if each may become visible by itself.
pub struct StoreImport<'s> {
    store: &'s Store,
    import: Import<'s>,
    sink: Arc<Mutex<Sink>>,
    log: Held<'s, Log>,
}

/// Where the documents of an import go.
struct Sink {
    transaction: Option<WriteTransaction>,
    /// Numbers, places and texts still to be written.
    waiting: Vec<(u64, u64, Box<str>)>,
    lazy_bytes: usize,
    next_document: u64,
    added: u64,
    /// Why no more is written.
    fault: Option<Fault>,
}

/// So many bytes of documents are written at once.
const WAITING_BYTES: usize = 1 << 18;

impl Sink {
    fn put(&mut self, number: u64, place: u64, text: &str) {
        if self.fault.is_some() {
            return;
        }
        self.waiting.push((number, place, text.into()));
        self.lazy_bytes = self.lazy_bytes.saturating_add(text.len());
        self.next_document = number.saturating_add(1);
        self.added = self.added.saturating_add(1);
        if self.lazy_bytes >= WAITING_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.lazy_bytes = 0;
        let added: Vec<Added<'_>> = waiting
            .iter()
            .map(|(number, place, text)| Added { number: *number, place: *place, text })
            .collect();
        let written = guarded(|| match &self.transaction {
            Some(transaction) => put_documents(transaction, &added),
            None => Ok(()),
        });
        if let Err(fault) = written {
            self.fault = Some(fault);
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let transaction = self.transaction.take();
        // Giving a transaction up may meet damage.
        let _ = guarded(|| {
            drop(transaction);
            Ok(())
        });
    }
}

impl Store {
    /// Begins an import, which waits for other writes that are under way. Later ones [wait for it](StoreImport).
    ///
    /// # Errors
    /// When an earlier write failed, or the file cannot be written.
    pub fn import(&self, mode: ImportMode) -> Result<StoreImport<'_>, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let transaction = guarded(|| {
            // redb uses the pages that a write gave up again once the write after it has ended. Without one, what the import before
            // replaced would stay free beside what this one writes.
            self.file.write(true)?.commit()?;
            self.file.write(true)
        });
        let transaction = self.settle(&mut log, transaction)?;
        let sink = Arc::new(Mutex::new(Sink {
            transaction: Some(transaction),
            waiting: Vec::new(),
            lazy_bytes: 0,
            next_document: log.state.next_document,
            added: 0,
            fault: None,
        }));
        let own = Arc::clone(&sink);
        let put = move |number: u64, place: u64, text: &str| lock(&own).put(number, place, text);
        let documents = StoreDocument::new(log.state.next_document, put);
        Ok(StoreImport { store: self, import: self.engine.import_numbered(mode, documents), sink, log })
    }
}

fn lock(sink: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'s> StoreImport<'s> {
    /// What takes in the cases.
    pub fn cases(&mut self) -> &mut Import<'s> {
        &mut self.import
    }

    /// Begins another source; see [`Import::source`].
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
    /// A case that is refused, and documents that cannot be written.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let result = self.import.push(bytes);
        self.check()?;
        result.map_err(|refusal| StoreError::refused(&self.store.name, refusal))
    }

    /// Says early whether documents could not be written, which [`commit`](Self::commit) would say as well.
    ///
    /// # Errors
    /// The fault of the file.
    pub fn check(&mut self) -> Result<(), StoreError> {
        let sink = lock(&self.sink);
        match &sink.fault {
            None => Ok(()),
            Some(fault) => {
                self.log.fail();
                Err(StoreError::new(fault.kind, &self.store.name, fault.detail.clone()))
            }
        }
    }

    /// Makes the cases durable and visible, all at once.
    ///
    /// # Errors
    /// What the last source ended with, and faults of the file; nothing is visible then.
    pub fn commit(self) -> Result<ImportReport, StoreError> {
        // The log goes last, so that no other write begins while the transaction is there.
        let Self { mut log, store, import, sink } = self;
        let (staged, report) = import.stage().map_err(|refusal| StoreError::refused(&store.name, refusal))?;
        let mut sink = lock(&sink);
        sink.flush();
        let fault = sink.fault.take();
        let transaction = sink.transaction.take();
        let (next_document, added) = (sink.next_document, sink.added);
        let result = guarded(|| match (fault, transaction) {
            (None, Some(transaction)) => {
                let state = State { next_document, ..log.state };
                store.finish(&mut log, transaction, staged, state, added)
            }
            (fault, _) => Err(fault.unwrap_or_else(|| Fault::new(StoreErrorKind::Failed, "no transaction"))),
        });
        store.settle(&mut log, result)?;
        log.synced();
        Ok(report)
    }
}

impl fmt::Debug for StoreImport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreImport").field("import", &self.import).finish_non_exhaustive()
    }
}
