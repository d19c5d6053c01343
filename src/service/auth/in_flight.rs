//! Limits the bytes that each token has in flight: the bodies of its requests, and the responses that are being sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of bytes that all requests of a token have in flight. These bytes are reserved in budgets.
#[derive(Default)]
pub(in crate::service) struct InFlight(AtomicUsize);

/// The bytes of one request of a token that are in flight: those of its body, and those of its response.
pub(in crate::service) struct RequestBytes {
    of_token: Arc<InFlight>,
    own: AtomicUsize,
    /// The maximum number of bytes of the token. 0 means no limit.
    most: usize,
    /// True after the limit has refused bytes of this request.
    is_refused: AtomicBool,
}

impl RequestBytes {
    /// Begins a request of a token that may have `most` bytes in flight.
    pub(in crate::service) fn new(of_token: &Arc<InFlight>, most: usize) -> Arc<Self> {
        Arc::new(Self {
            of_token: Arc::clone(of_token),
            own: AtomicUsize::new(0),
            most,
            is_refused: AtomicBool::new(false),
        })
    }

    /// Adds bytes of the request. Returns false, and adds nothing, if the token would then have more bytes in flight than it may
    /// have. But if no other request of the token has bytes in flight, the bytes are always added. Without this exception, a large
    /// request would be refused at each attempt.
    pub(in crate::service) fn add(&self, bytes: usize) -> bool {
        let own = self.own.load(Ordering::Relaxed);
        let added = self.of_token.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| {
            let after = before.saturating_add(bytes);
            // The calls for one request never overlap, so `own` is a part of `before`.
            let is_alone = before <= own;
            (self.most == 0 || is_alone || after <= self.most).then_some(after)
        });
        match added {
            Ok(_) => drop(self.own.fetch_add(bytes, Ordering::Relaxed)),
            Err(_) => self.is_refused.store(true, Ordering::Relaxed),
        }
        added.is_ok()
    }

    /// Removes bytes that were added before.
    pub(in crate::service) fn remove(&self, bytes: usize) {
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        self.of_token.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns true if the limit has refused bytes of this request.
    pub(in crate::service) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_at_most_its_limit_in_flight_unless_it_has_one_request() {
        let token = Arc::new(InFlight::default());
        let [one, other] = [(); 2].map(|()| RequestBytes::new(&token, 100));
        assert!(one.add(60));
        assert!(other.add(40) && !other.is_refused());
        assert!(!one.add(1) && one.is_refused());
        assert!(!other.add(1) && other.is_refused());
        other.remove(40);
        // The only request may exceed the limit, at once or step by step.
        assert!(one.add(1000));
        assert!(!other.add(1));
        one.remove(1060);
        assert!(other.add(1000));
        other.remove(1000);
        let free = RequestBytes::new(&token, 0);
        assert!((0..100).all(|_| free.add(1000)) && !free.is_refused());
        free.remove(100_000);
        assert_eq!(token.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_refused_request_does_not_make_another_one_be_refused() {
        let token = Arc::new(InFlight::default());
        let held = RequestBytes::new(&token, 100);
        assert!(held.add(50));
        let is_over = AtomicBool::new(false);
        let refused = std::thread::scope(|scope| {
            scope.spawn(|| {
                let large = RequestBytes::new(&token, 100);
                while !is_over.load(Ordering::Relaxed) {
                    assert!(!large.add(60));
                }
            });
            let small = RequestBytes::new(&token, 100);
            let is_refused = || {
                let added = small.add(40);
                if added {
                    small.remove(40);
                }
                !added
            };
            let refused = (0..100_000).filter(|_| is_refused()).count();
            is_over.store(true, Ordering::Relaxed);
            refused
        });
        assert_eq!(refused, 0, "40 bytes beside 50 fit");
    }
}
