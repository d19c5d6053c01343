//! An open database, which is kept open for its readers, and its read transactions.

use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock};

use redb::{Database, ReadOnlyDatabase, ReadTransaction};

use super::super::error::{Fault, StoreErrorKind, guarded};

pub(super) enum Handle {
    Open(Arc<Opened>),
    /// A file that is only read. Other processes may read it too, but not write it.
    ReadOnly(ReadOnlyDatabase),
    /// Like `ReadOnly`, for operations that need a writable backend in redb. Its writes stay in memory.
    Overlay {
        database: Database,
        /// True if opening repaired the file after a crash.
        repaired: bool,
    },
    Closed {
        /// The generation of the database that was open last.
        generation: u64,
    },
}

/// An open database. It stays open for its readers after another database replaced it, until it is closed.
pub(in crate::store) struct Opened {
    pub(super) database: RwLock<Option<Database>>,
    /// The number of databases that the [`File`](super::File) had open before.
    pub(super) generation: u64,
}

/// A read transaction, and the database that it reads from. The transaction is dropped first.
pub(in crate::store) struct Reading {
    pub(super) transaction: ReadTransaction,
    pub(super) opened: Option<Arc<Opened>>,
}

impl Reading {
    /// Returns the number of times that the file had been reopened or exchanged before.
    pub(in crate::store) fn generation(&self) -> u64 {
        self.opened.as_ref().map_or(0, |opened| opened.generation)
    }

    /// Returns a reference that keeps the database open for tables of the transaction.
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

    /// Calls redb, unless the database is closed.
    pub(super) fn with<T>(&self, call: impl FnOnce(&Database) -> Result<T, Fault>) -> Result<T, Fault> {
        match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => call(database),
            None => Err(closed()),
        }
    }

    /// Calls redb with exclusive access.
    pub(super) fn with_mut<T>(
        &self,
        call: impl FnOnce(&mut Database) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match &mut *self.database.write().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => call(database),
            None => Err(closed()),
        }
    }

    /// Closes the database. Its readers then get errors.
    pub(super) fn close(&self) -> Result<(), Fault> {
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        // Closing writes, and may panic on damage.
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
    pub(super) fn generation(&self) -> u64 {
        match self {
            Self::Open(opened) => opened.generation,
            Self::ReadOnly(_) | Self::Overlay { .. } => 0,
            Self::Closed { generation } => *generation,
        }
    }
}

/// Closes the database, also for its current readers.
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
    Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone")
}

pub(super) fn closed() -> Fault {
    Fault::new(StoreErrorKind::Failed, "closed")
}
