//! The state that threads share: the current snapshot, which is swapped atomically, and the writer lock.
//!
//! Unit tests replace both by a model that `shuttle` schedules, as for engines (`engine/shared_state.rs`).

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::snapshot::Snapshot;
use crate::lock::{Held, Lock};

/// The current snapshot, and the lock that the write in progress holds.
pub(super) enum Shared {
    Swapped(ArcSwap<Snapshot>, Lock<()>),
    /// A model of the pointer and the lock. `shuttle` chooses the order of its steps.
    #[cfg(test)]
    Modelled(Box<(shuttle::sync::Mutex<Arc<Snapshot>>, shuttle::sync::Mutex<()>)>),
}

impl Shared {
    pub(super) fn new(first: Snapshot) -> Self {
        Self::Swapped(ArcSwap::from_pointee(first), Lock::new(()))
    }

    #[cfg(test)]
    pub(super) fn modelled(first: Snapshot) -> Self {
        let pointer = shuttle::sync::Mutex::new(Arc::new(first));
        Self::Modelled(Box::new((pointer, shuttle::sync::Mutex::new(()))))
    }

    /// Returns the current snapshot, without waiting for any other thread.
    pub(super) fn load(&self) -> Arc<Snapshot> {
        match self {
            Self::Swapped(current, _) => current.load_full(),
            #[cfg(test)]
            Self::Modelled(both) => Arc::clone(&both.0.lock().unwrap()),
        }
    }

    /// Waits for the write in progress, then takes the writer lock.
    pub(super) fn write(&self) -> Writing<'_> {
        match self {
            Self::Swapped(current, writer) => Writing::Swapped(current, writer.lock()),
            #[cfg(test)]
            Self::Modelled(both) => Writing::Modelled(&both.0, both.1.lock().unwrap()),
        }
    }
}

/// The writer lock, which one write at a time holds.
pub(super) enum Writing<'s> {
    Swapped(&'s ArcSwap<Snapshot>, Held<'s, ()>),
    #[cfg(test)]
    Modelled(&'s shuttle::sync::Mutex<Arc<Snapshot>>, shuttle::sync::MutexGuard<'s, ()>),
}

impl Writing<'_> {
    /// Returns the current snapshot, which only this write can replace.
    pub(super) fn current(&self) -> Arc<Snapshot> {
        match self {
            Self::Swapped(current, _) => current.load_full(),
            #[cfg(test)]
            Self::Modelled(current, _) => Arc::clone(&current.lock().unwrap()),
        }
    }

    /// Makes `next` the current snapshot, and releases the writer lock.
    pub(super) fn publish(self, next: Snapshot) {
        match self {
            Self::Swapped(current, _writer) => current.store(Arc::new(next)),
            #[cfg(test)]
            Self::Modelled(current, _writer) => *current.lock().unwrap() = Arc::new(next),
        }
    }
}
