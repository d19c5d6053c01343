//! A latency tracker. It remembers if a search was fast the last time. Fast searches run on the connection's thread.
//!
//! Moving a search to a blocking thread costs about 10 µs. Most searches take only 2 to 5 µs.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// If a search took at most this time when it last ran, it runs on a thread that serves connections. Otherwise it runs on a
/// blocking thread.
const FAST: Duration = Duration::from_micros(200);

/// The maximum length in bytes of a body whose search can be fast. If the filter is not cached, compiling a longer body may take
/// more time than [`FAST`].
const FAST_BODY_BYTES: usize = 4 << 10;

/// A table of the last latencies of searches, indexed by a hash of token, query and body.
///
/// Searches with the same table index share one entry. Then a search may run on the less suitable thread, but its response is the
/// same.
pub(in crate::service) struct LatencyTracker {
    hasher: foldhash::quality::RandomState,
    /// A latency for each [`Slot`], in microseconds. It is replaced only if the new latency is on the other side of [`FAST`]. So it
    /// may come from a search before the last one.
    last: Box<[AtomicU32]>,
}

/// The index of a search in the list of last latencies. `None` if the body of the search is too long.
#[derive(Clone, Copy)]
pub(super) struct Slot(Option<usize>);

const SLOTS: usize = 1 << 14;

impl LatencyTracker {
    pub(in crate::service) fn new() -> Self {
        let last = (0..SLOTS).map(|_| AtomicU32::new(u32::MAX)).collect();
        Self { hasher: foldhash::quality::RandomState::default(), last }
    }

    /// Returns the index of a search in the list of last latencies. `token` is the memory address of the token.
    pub(super) fn slot(&self, token: usize, query: Option<&str>, body: &[u8]) -> Slot {
        if body.len() > FAST_BODY_BYTES {
            return Slot(None);
        }
        let hash = self.hasher.hash_one((token, query, body));
        Slot(usize::try_from(hash >> 32).ok().map(|bits| bits % SLOTS))
    }

    /// Returns true if the search was fast the last time.
    pub(super) fn was_fast(&self, slot: Slot) -> bool {
        let last = slot.0.and_then(|at| self.last.get(at));
        last.is_some_and(|last| u128::from(last.load(Ordering::Relaxed)) <= FAST.as_micros())
    }

    /// Records the latency of a search. Stores it only if it changes the result of [`was_fast`](Self::was_fast).
    pub(super) fn record(&self, slot: Slot, took: Duration) {
        let Some(last) = slot.0.and_then(|at| self.last.get(at)) else { return };
        let took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        // The latency is stored only if it changes the decision. Each store invalidates the cache line for all threads that read
        // it.
        let (was, is) = (u128::from(last.load(Ordering::Relaxed)), u128::from(took));
        if (was <= FAST.as_micros()) != (is <= FAST.as_micros()) {
            last.store(took, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_counts_as_fast_if_it_was_fast_the_last_time() {
        let latency = LatencyTracker::new();
        let slot = latency.slot(7, Some("limit=1"), b"{}");
        assert!(!latency.was_fast(slot));
        latency.record(slot, Duration::from_micros(5));
        assert!(latency.was_fast(slot));
        assert!(!latency.was_fast(latency.slot(7, Some("limit=2"), b"{}")));
        latency.record(slot, Duration::from_millis(5));
        assert!(!latency.was_fast(slot));
        let long = latency.slot(7, None, &[b' '; FAST_BODY_BYTES + 1]);
        latency.record(long, Duration::ZERO);
        assert!(!latency.was_fast(long));
    }
}
