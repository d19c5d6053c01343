//! Limits the number of requests of a token per second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The rate limit of a token. At a maximum rate of n requests per second, each request occupies an interval of 1/n seconds, and the
/// intervals do not overlap. The state is the end of the last interval.
///
/// This is the generic cell rate algorithm, which has the effect of a bucket of permits that is filled at an even rate.
#[derive(Default)]
pub(in crate::service) struct Rate(Mutex<Option<Instant>>);

impl Rate {
    /// Counts a request. Returns false, and does not count it, if it exceeds `most` requests per second. A token that has sent no
    /// request for a second may send `most` requests at once. If `most` is 0, there is no limit.
    pub(in crate::service) fn take(&self, now: Instant, most: u32) -> bool {
        const SECOND: Duration = Duration::from_secs(1);
        let Some(interval) = SECOND.checked_div(most) else { return true };
        let mut end = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = end.map_or(now, |end| end.max(now));
        let ahead = begin.saturating_duration_since(now);
        if ahead.saturating_add(interval) > SECOND {
            return false;
        }
        *end = begin.checked_add(interval);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_takes_the_requests_of_one_second() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let rate = Rate::default();
        let taken = |millis| (0..100).filter(|_| rate.take(at(millis), 10)).count();
        assert_eq!(taken(0), 10);
        assert_eq!(taken(99), 0);
        assert_eq!((taken(100), taken(350)), (1, 2));
        assert_eq!(taken(5_000), 10);
        // A clock that goes back does no harm.
        assert!(!rate.take(at(0), 10));
        // Zero means no limit.
        assert!((0..1_000).all(|_| rate.take(at(5_000), 0)));
        let one = Rate::default();
        assert_eq!(
            [0, 500, 999, 1_000, 1_001].map(|millis| one.take(at(millis), 1)),
            [true, false, false, true, false]
        );
    }
}
