//! Tells threads that there are new events.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The number of the last event that readers may see, and the threads that wait for the next one.
///
/// Readers see an event only when it is on disk. Without this rule, a crash could remove an event that a reader has seen, and a
/// later event would get its number.
#[derive(Debug, Default)]
pub(super) struct Bell {
    last: Mutex<u64>,
    rung: Condvar,
}

impl Bell {
    /// Shows the events up to this number, and wakes the threads that wait for one of them.
    pub(super) fn ring(&self, last: u64) {
        let mut shown = self.last.lock();
        if *shown < last {
            *shown = last;
            self.rung.notify_all();
        }
    }

    /// Returns the number of the last event that readers may see, or 0.
    pub(super) fn last(&self) -> u64 {
        *self.last.lock()
    }

    /// Waits until readers may see an event after this number, but not longer than `most`. Returns false if there is no such event.
    pub(super) fn wait(&self, after: u64, most: Duration) -> bool {
        let mut shown = self.last.lock();
        match Instant::now().checked_add(most) {
            Some(end) => {
                self.rung.wait_while_until(&mut shown, |last| *last <= after, end);
            }
            None => self.rung.wait_while(&mut shown, |last| *last <= after),
        }
        *shown > after
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn all_waiting_threads_are_woken() {
        let bell = Bell::default();
        assert!(!bell.wait(0, Duration::ZERO));
        thread::scope(|scope| {
            let waiting: Vec<_> = (0..8)
                .map(|after| {
                    scope.spawn({
                        let bell = &bell;
                        move || bell.wait(after, Duration::MAX)
                    })
                })
                .collect();
            bell.ring(3);
            bell.ring(8);
            bell.ring(5);
            assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
        });
        assert_eq!(bell.last(), 8);
        assert!(!bell.wait(8, Duration::from_millis(1)));
    }
}
