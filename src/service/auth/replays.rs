//! Signatures that were used already.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::service::http::errors::Failure;

/// The bytes of a signature.
pub(in crate::service) type Signature = [u8; 32];

/// The signatures of late, so that none is taken twice.
///
/// A signature is good for at most two windows, from the earliest moment at which its timestamp is accepted to the
/// last. Two sets, each of the signatures of two windows, hold all that may still be good.
pub(in crate::service) struct Seen {
    lifetime: Duration,
    capacity: usize,
    sets: Mutex<Sets>,
}

struct Sets {
    since: Instant,
    newer: HashSet<Signature>,
    older: HashSet<Signature>,
}

impl Seen {
    pub(in crate::service) fn new(window: Duration, capacity: usize) -> Self {
        let sets = Sets { since: Instant::now(), newer: HashSet::new(), older: HashSet::new() };
        // A second more, because timestamps have no fractions.
        let lifetime = window.saturating_mul(2).saturating_add(Duration::from_secs(1));
        Self { lifetime, capacity, sets: Mutex::new(sets) }
    }

    /// Notes a signature that is right.
    ///
    /// # Errors
    /// 401 when it was noted before; 503 when there is no room for more.
    pub(in crate::service) fn note(&self, signature: Signature, now: Instant) -> Result<(), Failure> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let age = now.saturating_duration_since(sets.since);
        if age >= self.lifetime {
            let newer = std::mem::take(&mut sets.newer);
            sets.older = if age >= self.lifetime.saturating_mul(2) { HashSet::new() } else { newer };
            sets.since = now;
        }
        if sets.older.contains(&signature) || sets.newer.contains(&signature) {
            return Err(Failure::unauthorized());
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
    fn a_signature_is_remembered_as_long_as_it_may_be_good() {
        let window = Duration::from_secs(60);
        let seen = Seen::new(window, 3);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let status = |result: Result<(), Failure>| result.map_err(|failure| failure.status().as_u16());
        assert_eq!(status(seen.note([1; 32], at(100))), Ok(()));
        assert_eq!(status(seen.note([1; 32], at(219))), Err(401));
        assert_eq!(status(seen.note([2; 32], at(220))), Ok(()));
        assert_eq!(status(seen.note([3; 32], at(220))), Ok(()));
        assert_eq!(status(seen.note([4; 32], at(220))), Err(503));
        assert_eq!(status(seen.note([4; 32], at(900))), Ok(()));
        assert_eq!(status(seen.note([2; 32], at(900))), Ok(()));
    }
}
