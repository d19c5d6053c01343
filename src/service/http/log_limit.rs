//! Limits the rate of log lines that clients can cause, for example by requests that are rejected.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of lines per second for each pair of token and status. Further lines are dropped. All requests without a
/// token share one limit.
const MAX_LINES: u32 = 20;
/// The period over which lines are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// A counter of log lines per second, for each pair of token and status.
#[derive(Default)]
pub(in crate::service) struct LogLimiter {
    kinds: Mutex<HashMap<Kind, Second>>,
}

/// The memory address of the token (0 if the request has no verified token), and the status.
type Kind = (usize, u16);

struct Second {
    since: Instant,
    written: u32,
    suppressed: u64,
}

/// The decision about one log line: write it or suppress it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) enum Decision {
    /// Write the line. If `suppressed` is not 0, first write a line that reports this number of suppressed lines with the same
    /// token and status.
    Write {
        suppressed: u64,
    },
    Suppress,
}

impl LogLimiter {
    pub(in crate::service) fn decide(&self, token: usize, status: u16, now: Instant) -> Decision {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Second { since: now, written: 0, suppressed: 0 };
        let second = kinds.entry((token, status)).or_insert_with(fresh);
        let mut suppressed = 0;
        if now.saturating_duration_since(second.since) >= WINDOW {
            suppressed = second.suppressed;
            *second = fresh();
        }
        if second.written < MAX_LINES {
            second.written = second.written.saturating_add(1);
            Decision::Write { suppressed }
        } else {
            second.suppressed = second.suppressed.saturating_add(1);
            Decision::Suppress
        }
    }

    /// Returns the numbers of lines that were suppressed in the seconds that have ended, with their status. Resets these numbers.
    pub(in crate::service) fn take_suppressed(&self, now: Instant) -> Vec<(u16, u64)> {
        self.take(|since| now.saturating_duration_since(since) >= WINDOW)
    }

    /// Like [`take_suppressed`](Self::take_suppressed), but also includes the current second.
    pub(in crate::service) fn take_all_suppressed(&self) -> Vec<(u16, u64)> {
        self.take(|_| true)
    }

    fn take(&self, is_over: impl Fn(Instant) -> bool) -> Vec<(u16, u64)> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        kinds.retain(|(_, status), second| {
            let is_over = is_over(second.since);
            if is_over && second.suppressed > 0 {
                found.push((*status, second.suppressed));
            }
            !is_over
        });
        found
    }
}

/// Logs the number of lines that were suppressed.
pub(in crate::service) fn log_suppressed(status: u16, lines: u64) {
    tracing::warn!(status, lines, "suppressed log lines about requests with this status");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_over_the_limit_are_suppressed_and_counted() {
        let (rate, start) = (LogLimiter::default(), Instant::now());
        let written = (0..100).filter(|_| rate.decide(0, 401, start) != Decision::Suppress).count();
        assert_eq!(written, 20);
        assert_eq!(rate.decide(7, 401, start), Decision::Write { suppressed: 0 }, "another token");
        assert_eq!(rate.decide(0, 404, start), Decision::Write { suppressed: 0 }, "another status");
        assert_eq!(rate.take_suppressed(start), []);
        assert_eq!(rate.decide(0, 401, start + WINDOW), Decision::Write { suppressed: 80 });
        for _ in 0..30 {
            rate.decide(0, 401, start + WINDOW);
        }
        assert_eq!(rate.take_suppressed(start + WINDOW * 2), [(401, 11)]);
        assert_eq!(rate.take_suppressed(start + WINDOW * 3), []);
        for _ in 0..30 {
            rate.decide(0, 401, start + WINDOW * 3);
        }
        assert_eq!(rate.take_suppressed(start + WINDOW * 3), [], "the second has not ended");
        assert_eq!(rate.take_all_suppressed(), [(401, 10)]);
        assert_eq!(rate.take_all_suppressed(), []);
    }
}
