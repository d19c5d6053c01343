//! State shared between threads: the current snapshot, which is swapped atomically, and the writer lock.
//!
//! Everything else that threads share never changes, or is made once (`OnceLock`). The unit tests put a
//! model in the place of both that `shuttle` schedules, and run whole engines on it (`interleavings.rs`); that
//! the swap and the lock themselves do as they promise is for `arc-swap` and the standard library to hold.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::snapshot::Snapshot;
use crate::engine::write::Writer;
use crate::lock::{Held, Lock};

/// The current snapshot, and the state that only the write under way may see.
pub(crate) enum SharedState {
    /// A pointer that is swapped, and a lock.
    Swapped(ArcSwap<Snapshot>, Lock<Writer>),
    /// The same, with every step of it one that `shuttle` chooses the order of.
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

    /// Returns the cases as they are now. Waits for no other thread.
    pub(crate) fn load(&self) -> Guard<Arc<Snapshot>> {
        match self {
            Self::Swapped(current, _) => current.load(),
            #[cfg(test)]
            Self::Modelled(current, _) => Guard::from_inner(Arc::clone(&current.lock().unwrap())),
        }
    }

    /// Returns the last snapshot and the writer's state.
    #[cfg(feature = "store")]
    pub(crate) fn into_parts(self) -> (Arc<Snapshot>, Writer) {
        match self {
            Self::Swapped(current, writer) => (current.into_inner(), writer.into_inner()),
            #[cfg(test)]
            Self::Modelled(current, writer) => (current.into_inner().unwrap(), writer.into_inner().unwrap()),
        }
    }

    /// Waits for the write that is under way.
    pub(crate) fn write(&self) -> Writing<'_> {
        match self {
            // A write changes the writer's state in one step at the end, so a panic before leaves it whole.
            Self::Swapped(current, writer) => Writing::Swapped(current, writer.lock()),
            #[cfg(test)]
            Self::Modelled(current, writer) => Writing::Modelled(current, writer.lock().unwrap()),
        }
    }
}

/// The right to write, which one write at a time has; it may move to another thread.
#[cfg_attr(test, expect(clippy::large_enum_variant, reason = "the smaller variant is for tests alone"))]
pub(crate) enum Writing<'e> {
    Swapped(&'e ArcSwap<Snapshot>, Held<'e, Writer>),
    #[cfg(test)]
    Modelled(&'e shuttle::sync::Mutex<Arc<Snapshot>>, shuttle::sync::MutexGuard<'e, Writer>),
}

impl Writing<'_> {
    /// Makes the snapshot the current one, and then lets the next write begin.
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
