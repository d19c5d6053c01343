//! How many lines a second the log has of requests that were refused.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines a second, for each token and status; those without a token are taken together.
const MOST: u32 = 20;
const WINDOW: Duration = Duration::from_secs(1);

/// Counts the lines of each kind in the current second.
#[derive(Default)]
pub(in crate::service) struct LogRate {
    kinds: Mutex<HashMap<Kind, Second>>,
}

/// The address of the token in memory, 0 without one, and the status.
type Kind = (usize, u16);

struct Second {
    since: Instant,
    written: u32,
    left_out: u64,
}

/// What to do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) enum Line {
    /// Write it. So many of its kind were left out in an earlier second, which no line has said yet.
    Write {
        left_out: u64,
    },
    LeaveOut,
}

impl LogRate {
    pub(in crate::service) fn line(&self, token: usize, status: u16, now: Instant) -> Line {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Second { since: now, written: 0, left_out: 0 };
        let second = kinds.entry((token, status)).or_insert_with(fresh);
        let mut left_out = 0;
        if now.saturating_duration_since(second.since) >= WINDOW {
            left_out = second.left_out;
            *second = fresh();
        }
        if second.written < MOST {
            second.written = second.written.saturating_add(1);
            Line::Write { left_out }
        } else {
            second.left_out = second.left_out.saturating_add(1);
            Line::LeaveOut
        }
    }

    /// Returns the statuses of which lines were left out in seconds that are over, and how many.
    pub(in crate::service) fn take_left_out(&self, now: Instant) -> Vec<(u16, u64)> {
        self.take(|since| now.saturating_duration_since(since) >= WINDOW)
    }

    /// Returns all statuses of which lines were left out and not told yet, and how many.
    pub(in crate::service) fn take_all_left_out(&self) -> Vec<(u16, u64)> {
        self.take(|_| true)
    }

    fn take(&self, is_over: impl Fn(Instant) -> bool) -> Vec<(u16, u64)> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        kinds.retain(|(_, status), second| {
            let is_over = is_over(second.since);
            if is_over && second.left_out > 0 {
                found.push((*status, second.left_out));
            }
            !is_over
        });
        found
    }
}

/// Writes a line about lines that were left out.
pub(in crate::service) fn tell_left_out(status: u16, lines: u64) {
    tracing::warn!(status, lines, "lines about requests with this status were left out");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_so_many_lines_a_second_and_the_rest_is_counted() {
        let (rate, start) = (LogRate::default(), Instant::now());
        let written = (0..100).filter(|_| rate.line(0, 401, start) != Line::LeaveOut).count();
        assert_eq!(written, 20);
        assert_eq!(rate.line(7, 401, start), Line::Write { left_out: 0 }, "of another token");
        assert_eq!(rate.line(0, 404, start), Line::Write { left_out: 0 }, "of another status");
        assert_eq!(rate.take_left_out(start), []);
        assert_eq!(rate.line(0, 401, start + WINDOW), Line::Write { left_out: 80 });
        for _ in 0..30 {
            rate.line(0, 401, start + WINDOW);
        }
        assert_eq!(rate.take_left_out(start + WINDOW * 2), [(401, 11)]);
        assert_eq!(rate.take_left_out(start + WINDOW * 3), []);
        for _ in 0..30 {
            rate.line(0, 401, start + WINDOW * 3);
        }
        assert_eq!(rate.take_left_out(start + WINDOW * 3), [], "the second is not over");
        assert_eq!(rate.take_all_left_out(), [(401, 10)]);
        assert_eq!(rate.take_all_left_out(), []);
    }
}
