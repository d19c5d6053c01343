//! Detects replayed requests: remembers the signatures that were used.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::service::http::errors::Failure;

/// The bytes of a signature.
pub(in crate::service) type Signature = [u8; 32];

/// A set of the recently used signatures of one token.
///
/// A signature is valid for at most two clock windows: one window before its timestamp and one window after it. The cache has two
/// generations, each of which covers this time. So every signature that may still be valid is in one of the generations.
pub(in crate::service) struct ReplayCache {
    /// The time that each generation covers.
    lifetime: Duration,
    capacity: usize,
    sets: Mutex<Generations>,
}

struct Generations {
    /// The time at which the generation `newer` was started.
    since: Instant,
    newer: HashSet<Signature>,
    older: HashSet<Signature>,
}

impl ReplayCache {
    pub(in crate::service) fn new(window: Duration, capacity: usize) -> Self {
        let sets = Generations { since: Instant::now(), newer: HashSet::new(), older: HashSet::new() };
        // One second is added, because timestamps are whole seconds.
        let lifetime = window.saturating_mul(2).saturating_add(Duration::from_secs(1));
        Self { lifetime, capacity, sets: Mutex::new(sets) }
    }

    /// Inserts a signature that has been verified.
    ///
    /// # Errors
    /// Returns an error with status 401 if the signature was used before, and with status 503 if the cache is full.
    pub(in crate::service) fn insert(&self, signature: Signature, now: Instant) -> Result<(), Failure> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let age = now.saturating_duration_since(sets.since);
        if age >= self.lifetime {
            let newer = std::mem::take(&mut sets.newer);
            sets.older = if age >= self.lifetime.saturating_mul(2) { HashSet::new() } else { newer };
            sets.since = now;
        }
        if sets.older.contains(&signature) || sets.newer.contains(&signature) {
            return Err(Failure::unauthorized().because("the signature was used before"));
        }
        if sets.newer.len().saturating_add(sets.older.len()) >= self.capacity {
            return Err(Failure::overloaded());
        }
        sets.newer.insert(signature);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_remembered_as_long_as_it_may_be_valid() {
        let window = Duration::from_secs(60);
        let seen = ReplayCache::new(window, 3);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let status = |result: Result<(), Failure>| result.map_err(|failure| failure.status().as_u16());
        assert_eq!(status(seen.insert([1; 32], at(100))), Ok(()));
        assert_eq!(status(seen.insert([1; 32], at(219))), Err(401));
        assert_eq!(status(seen.insert([2; 32], at(220))), Ok(()));
        assert_eq!(status(seen.insert([3; 32], at(220))), Ok(()));
        assert_eq!(status(seen.insert([4; 32], at(220))), Err(503));
        assert_eq!(status(seen.insert([4; 32], at(900))), Ok(()));
        assert_eq!(status(seen.insert([2; 32], at(900))), Ok(()));
    }
}
