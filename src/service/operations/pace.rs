//! How long searches took the last time, so that quick ones need not change threads.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What may hold up a thread that serves connections.
const QUICK: Duration = Duration::from_micros(200);

/// Compiling a longer body may take longer than that, and the cache may not hold it.
const QUICK_BODY_BYTES: usize = 4 << 10;

/// The last times of searches, by a hash of all that they are made of.
///
/// Searches that share a slot are taken for one another, which costs time and nothing else.
pub(in crate::service) struct Pace {
    hasher: foldhash::quality::RandomState,
    /// In microseconds.
    last: Box<[AtomicU32]>,
}

/// The place of a search.
#[derive(Clone, Copy)]
pub(super) struct Slot(Option<usize>);

const SLOTS: usize = 1 << 14;

impl Pace {
    pub(in crate::service) fn new() -> Self {
        let last = (0..SLOTS).map(|_| AtomicU32::new(u32::MAX)).collect();
        Self { hasher: foldhash::quality::RandomState::default(), last }
    }

    /// The place of a search by the token of this number.
    pub(super) fn slot(&self, token: usize, query: Option<&str>, body: &[u8]) -> Slot {
        if body.len() > QUICK_BODY_BYTES {
            return Slot(None);
        }
        let hash = self.hasher.hash_one((token, query, body));
        Slot(usize::try_from(hash >> 32).ok().map(|bits| bits % SLOTS))
    }

    /// Whether it was quick when it was last answered.
    pub(super) fn is_quick(&self, slot: Slot) -> bool {
        let last = slot.0.and_then(|at| self.last.get(at));
        last.is_some_and(|last| u128::from(last.load(Ordering::Relaxed)) <= QUICK.as_micros())
    }

    /// Notes how long it took.
    pub(super) fn note(&self, slot: Slot, took: Duration) {
        let Some(last) = slot.0.and_then(|at| self.last.get(at)) else { return };
        let took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        // Written rarely, since threads that read it would have to fetch it anew.
        let (was, is) = (u128::from(last.load(Ordering::Relaxed)), u128::from(took));
        if (was <= QUICK.as_micros()) != (is <= QUICK.as_micros()) {
            last.store(took, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_quick_when_it_was_quick_the_last_time() {
        let pace = Pace::new();
        let slot = pace.slot(7, Some("limit=1"), b"{}");
        assert!(!pace.is_quick(slot));
        pace.note(slot, Duration::from_micros(5));
        assert!(pace.is_quick(slot));
        assert!(!pace.is_quick(pace.slot(7, Some("limit=2"), b"{}")));
        pace.note(slot, Duration::from_millis(5));
        assert!(!pace.is_quick(slot));
        let long = pace.slot(7, None, &[b' '; QUICK_BODY_BYTES + 1]);
        pace.note(long, Duration::ZERO);
        assert!(!pace.is_quick(long));
    }
}
