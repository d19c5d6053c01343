//! An open database, which its readers keep open, and the read transactions on it.

use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock};

use redb::{Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase};

use super::super::error::{Fault, StoreErrorKind, guarded};

pub(super) enum Handle {
    Open(Arc<Opened>),
    /// A file that is only read. Other processes may also read it, but must not write it.
    ReadOnly(ReadOnlyDatabase),
    /// Like `ReadOnly`, for operations for which redb needs a writable backend. Pages that redb writes stay in memory.
    Overlay {
        database: Database,
        /// True if the file had to be repaired after a crash when it was opened.
        repaired: bool,
    },
    Closed {
        /// The generation of the last database that was open.
        generation: u64,
    },
}

/// An open database. After another database has replaced it, it stays open for its readers until they end or it is closed.
pub(in crate::store) struct Opened {
    pub(super) database: RwLock<Option<Database>>,
    /// The number of databases that the [`File`](super::File) had open before this database.
    pub(super) generation: u64,
}

/// A read transaction, and the database that it reads from. The transaction is dropped before the database.
pub(in crate::store) struct Reading {
    pub(super) transaction: ReadTransaction,
    pub(super) opened: Option<Arc<Opened>>,
}

/// A reader of the database that a [`File`](super::File) has open. The reader may outlive the `File`. Its reads then return errors.
#[derive(Clone)]
pub(in crate::store) struct Reader(Arc<RwLock<Handle>>);

impl Reader {
    pub(super) fn new(handle: &Arc<RwLock<Handle>>) -> Self {
        Self(Arc::clone(handle))
    }

    /// Starts a read transaction on the last commit.
    pub(in crate::store) fn read(&self) -> Result<Reading, Fault> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).read()
    }
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reading {
    /// Returns the number of times that the file had been reopened or exchanged before this transaction.
    pub(in crate::store) fn generation(&self) -> u64 {
        self.opened.as_ref().map_or(0, |opened| opened.generation)
    }

    /// Returns a reference that keeps the database open while tables of the transaction are in use.
    pub(in crate::store) fn keep(&self) -> Option<Arc<Opened>> {
        self.opened.clone()
    }
}

impl Deref for Reading {
    type Target = ReadTransaction;

    fn deref(&self) -> &ReadTransaction {
        &self.transaction
    }
}

impl Opened {
    pub(super) fn handle(database: Database, generation: u64) -> Handle {
        Handle::Open(Arc::new(Self { database: RwLock::new(Some(database)), generation }))
    }

    /// Calls redb with shared access. Returns an error if the database is closed.
    pub(super) fn with<T>(&self, call: impl FnOnce(&Database) -> Result<T, Fault>) -> Result<T, Fault> {
        match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => call(database),
            None => Err(closed()),
        }
    }

    /// Calls redb with exclusive access. Returns an error if the database is closed.
    pub(super) fn with_mut<T>(
        &self,
        call: impl FnOnce(&mut Database) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match &mut *self.database.write().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => call(database),
            None => Err(closed()),
        }
    }

    /// Closes the database. Afterwards its readers get errors.
    pub(super) fn close(&self) -> Result<(), Fault> {
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        // Closing writes to the file, and may panic on damage.
        guarded(|| {
            drop(database);
            Ok(())
        })
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl Handle {
    /// Starts a read transaction on the last commit.
    pub(super) fn read(&self) -> Result<Reading, Fault> {
        match self {
            Self::Open(opened) => {
                let begun = opened.with(|database| Ok(database.begin_read()?));
                let transaction = begun.map_err(|fault| fault.of_generation(opened.generation))?;
                Ok(Reading { transaction, opened: Some(Arc::clone(opened)) })
            }
            Self::ReadOnly(database) => Ok(Reading { transaction: database.begin_read()?, opened: None }),
            Self::Overlay { database, .. } => {
                Ok(Reading { transaction: database.begin_read()?, opened: None })
            }
            Self::Closed { generation } => Err(closed().of_generation(*generation)),
        }
    }

    pub(super) fn generation(&self) -> u64 {
        match self {
            Self::Open(opened) => opened.generation,
            Self::ReadOnly(_) | Self::Overlay { .. } => 0,
            Self::Closed { generation } => *generation,
        }
    }
}

/// Closes the database, even if it has readers.
pub(super) fn close_handle(handle: &mut Handle) -> Result<(), Fault> {
    let generation = handle.generation();
    let closed = match &*handle {
        Handle::Open(opened) => opened.close(),
        Handle::ReadOnly(_) | Handle::Overlay { .. } | Handle::Closed { .. } => Ok(()),
    };
    // Closing may panic on damage.
    let dropped = guarded(|| {
        *handle = Handle::Closed { generation };
        Ok(())
    });
    closed.and(dropped)
}

pub(super) fn read_only() -> Fault {
    Fault::new(StoreErrorKind::ReadOnly, "it is open only for reading")
}

pub(super) fn closed() -> Fault {
    Fault::new(StoreErrorKind::Failed, "the file is closed")
}
