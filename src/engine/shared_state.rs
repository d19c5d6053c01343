//! The state that threads share: the current snapshot, which is swapped atomically, and the writer lock.
//!
//! All other state that affects answers never changes, or is initialised once (`OnceLock`). Some caches and counters do not affect
//! answers, and have their own locks or atomics. In [`Engine`](super::Engine), these are the document template and the last
//! measurement of the memory of the writer. In columns, these are the usage counts of lazy columns. A store attaches its reader of
//! documents to a snapshot. It may replace this reader in place, also by an atomic swap, because the new reader returns the same
//! documents.
//!
//! Unit tests replace the swap and the lock by a model that `shuttle` schedules, and run whole engines on it (`interleavings.rs`).
//! The real swap is in the crate `arc-swap`, and the mutex of the real lock is in `parking_lot`. Both crates have their own tests.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::snapshot::Snapshot;
use crate::engine::write::Writer;
use crate::lock::{Held, Lock};

/// The current snapshot, and the writer's state, which only the write in progress may access.
#[cfg_attr(test, expect(clippy::large_enum_variant, reason = "an engine has one of them"))]
pub(crate) enum SharedState {
    /// An atomically swapped pointer, and a lock.
    Swapped(ArcSwap<Snapshot>, Lock<Writer>),
    /// A model of the pointer and the lock. `shuttle` chooses the order of its steps.
    #[cfg(test)]
    Modelled(shuttle::sync::Mutex<Arc<Snapshot>>, Box<shuttle::sync::Mutex<Writer>>),
}

impl SharedState {
    pub(crate) fn new(first: Snapshot, writer: Writer) -> Self {
        Self::Swapped(ArcSwap::from_pointee(first), Lock::new(writer))
    }

    #[cfg(test)]
    pub(crate) fn modelled(first: Snapshot, writer: Writer) -> Self {
        Self::Modelled(
            shuttle::sync::Mutex::new(Arc::new(first)),
            Box::new(shuttle::sync::Mutex::new(writer)),
        )
    }

    /// Returns the current snapshot, without waiting for any other thread.
    pub(crate) fn load(&self) -> Guard<Arc<Snapshot>> {
        match self {
            Self::Swapped(current, _) => current.load(),
            #[cfg(test)]
            Self::Modelled(current, _) => Guard::from_inner(Arc::clone(&current.lock().unwrap())),
        }
    }

    /// Returns the current snapshot and the writer's state.
    #[cfg(feature = "store")]
    pub(crate) fn into_parts(self) -> (Arc<Snapshot>, Writer) {
        match self {
            Self::Swapped(current, writer) => (current.into_inner(), writer.into_inner()),
            #[cfg(test)]
            Self::Modelled(current, writer) => (current.into_inner().unwrap(), writer.into_inner().unwrap()),
        }
    }

    /// Waits for the write in progress, then takes the writer lock.
    pub(crate) fn write(&self) -> Writing<'_> {
        match self {
            // A write changes most of the writer's state in one step at its end. Earlier changes, such as steps of a merge, keep
            // the state consistent. So the state is consistent even if a write panics before its last step.
            Self::Swapped(current, writer) => Writing::Swapped(current, writer.lock()),
            #[cfg(test)]
            Self::Modelled(current, writer) => Writing::Modelled(current, writer.lock().unwrap()),
        }
    }
}

impl SharedState {
    /// Takes the writer lock. Returns `None` while a write is in progress.
    pub(crate) fn try_write(&self) -> Option<Writing<'_>> {
        match self {
            Self::Swapped(current, writer) => Some(Writing::Swapped(current, writer.try_lock()?)),
            #[cfg(test)]
            Self::Modelled(current, writer) => Some(Writing::Modelled(current, writer.try_lock().ok()?)),
        }
    }
}

/// A guard that holds the writer lock. Only one write at a time holds this lock. The guard can move to another thread.
#[cfg_attr(test, expect(clippy::large_enum_variant, reason = "the smaller variant is for tests alone"))]
pub(crate) enum Writing<'e> {
    Swapped(&'e ArcSwap<Snapshot>, Held<'e, Writer>),
    #[cfg(test)]
    Modelled(&'e shuttle::sync::Mutex<Arc<Snapshot>>, shuttle::sync::MutexGuard<'e, Writer>),
}

impl Writing<'_> {
    /// Makes `next` the current snapshot, and releases the writer lock.
    pub(crate) fn publish(self, next: Arc<Snapshot>) {
        match self {
            Self::Swapped(current, _writer) => current.store(next),
            #[cfg(test)]
            Self::Modelled(current, _writer) => *current.lock().unwrap() = next,
        }
    }
}

impl Deref for Writing<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        match self {
            Self::Swapped(_, writer) => writer,
            #[cfg(test)]
            Self::Modelled(_, writer) => writer,
        }
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        match self {
            Self::Swapped(_, writer) => writer,
            #[cfg(test)]
            Self::Modelled(_, writer) => writer,
        }
    }
}
