//! An open database, kept for its readers, and its transactions that read.

use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock};

use redb::{Database, ReadOnlyDatabase, ReadTransaction};

use super::super::error::{Fault, StoreErrorKind, guarded};

pub(super) enum Handle {
    Open(Arc<Opened>),
    /// Others may read the file too, and nobody writes it.
    ReadOnly(ReadOnlyDatabase),
    /// As `ReadOnly`, for what redb does only where it may write: its writes stay in memory.
    Overlay {
        database: Database,
        /// Opening had to repair what a crash left.
        repaired: bool,
    },
    Closed {
        /// That of the database which was open.
        generation: u64,
    },
}

/// A database that stays open for its readers when another one takes its place, and until it is closed.
pub(in crate::store) struct Opened {
    pub(super) database: RwLock<Option<Database>>,
    /// How many were open before it.
    pub(super) generation: u64,
}

/// A transaction that reads, and the database that it reads from.
///
/// The transaction is dropped first.
pub(in crate::store) struct Reading {
    pub(super) transaction: ReadTransaction,
    pub(super) opened: Option<Arc<Opened>>,
}

impl Reading {
    /// How often the file had been opened again, or exchanged, before.
    pub(in crate::store) fn generation(&self) -> u64 {
        self.opened.as_ref().map_or(0, |opened| opened.generation)
    }

    /// Keeps the database open for tables of the transaction.
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

    /// Calls redb, unless it is closed.
    pub(super) fn with<T>(&self, call: impl FnOnce(&Database) -> Result<T, Fault>) -> Result<T, Fault> {
        match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => call(database),
            None => Err(closed()),
        }
    }

    /// Calls redb while nobody else does.
    pub(super) fn with_mut<T>(
        &self,
        call: impl FnOnce(&mut Database) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match &mut *self.database.write().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => call(database),
            None => Err(closed()),
        }
    }

    /// Closes it. Its readers find that it is closed.
    pub(super) fn close(&self) -> Result<(), Fault> {
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        // Closing writes, and may meet damage.
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

/// Closes what is open, also for those who still read from it.
pub(super) fn close_handle(handle: &mut Handle) -> Result<(), Fault> {
    let generation = handle.generation();
    let closed = match &*handle {
        Handle::Open(opened) => opened.close(),
        Handle::ReadOnly(_) | Handle::Overlay { .. } | Handle::Closed { .. } => Ok(()),
    };
    // Closing may meet damage.
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
