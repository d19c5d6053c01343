//! Limits the bytes of a token that are in flight: the bodies of its requests, and the responses that are being sent to it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The bytes of a token that are in flight, as far as they are reserved in a budget.
#[derive(Default)]
pub(in crate::service) struct InFlight {
    bytes: AtomicUsize,
    /// The number of reservations that the limit has refused.
    refusals: AtomicU64,
}

impl InFlight {
    /// Adds bytes of a request that has `own` bytes already. Returns false, and adds nothing, if the token would then have more
    /// than `most` bytes in flight. But if no other request of the token has bytes in flight, the bytes are always added. Otherwise
    /// a large request would be refused at each attempt. If `most` is 0, there is no limit.
    pub(in crate::service) fn add(&self, bytes: usize, own: usize, most: usize) -> bool {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let of_others = before.saturating_sub(own);
        if most == 0 || of_others == 0 || before.saturating_add(bytes) <= most {
            return true;
        }
        self.remove(bytes);
        self.refusals.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Removes bytes that were added before.
    pub(in crate::service) fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns the number of reservations that the limit has refused.
    pub(in crate::service) fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_at_most_its_limit_in_flight_unless_it_has_one_request() {
        let in_flight = InFlight::default();
        assert!(in_flight.add(60, 0, 100));
        assert!(in_flight.add(40, 0, 100) && !in_flight.add(1, 0, 100));
        assert!(!in_flight.add(1, 40, 100) && in_flight.refusals() == 2);
        in_flight.remove(40);
        // The only request may exceed the limit, at once or step by step.
        assert!(in_flight.add(1000, 60, 100));
        assert!(!in_flight.add(1, 0, 100));
        in_flight.remove(1060);
        assert!(in_flight.add(1000, 0, 100));
        in_flight.remove(1000);
        assert!((0..100).all(|_| in_flight.add(1000, 0, 0)));
        assert_eq!(in_flight.refusals(), 3);
    }
}
