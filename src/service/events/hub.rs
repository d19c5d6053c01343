//! Knows for which tokens there are new events. One thread reads each new event once, and wakes the requests that wait.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::service::auth::tokens::AppToken;
use crate::service::http::errors::Failure;
use crate::service::options::ServiceOptions;
use crate::standing::Event;
use crate::store::{Store, StoreError};

/// The interval at which the thread checks if it must end.
const PAUSE: Duration = Duration::from_millis(100);

/// The time that the thread waits after a failed read. If the thread must end, it ends after at most [`PAUSE`].
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The maximum number of events that the thread reads at once.
const PIECE: usize = 1_000;

/// The number of the last event of each token, and the permits of requests that read events.
pub(in crate::service) struct EventHub {
    seen: Mutex<Seen>,
    /// Changes when there are new events, when the tokens have changed, and when the service begins to drain.
    signal: watch::Sender<u64>,
    /// Permits for requests that read events, one for each request.
    listeners: Arc<Semaphore>,
    most_listeners: usize,
    told: AtomicU64,
    /// True while a thread runs [`follow`](Self::follow). Otherwise, requests that wait check the store themselves.
    is_followed: AtomicBool,
}

/// The events that the thread has seen.
struct Seen {
    /// The number of the last event that was seen.
    last: u64,
    /// The thread may have missed some of the events up to this number. Events that it has not seen happened before the start, were
    /// removed before they were read, or could not be read.
    unknown: u64,
    /// The number of the last event of each token. The key is the part of a filter's owner that identifies the token, with its `:`.
    by_token: HashMap<String, u64>,
}

/// The next step of a request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// There may be events of the token.
    Read,
    /// The token has no new events up to the event number `last`.
    Nothing { last: u64 },
}

/// The permits of a request that reads events.
pub(in crate::service) struct Listener {
    _of_token: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl EventHub {
    /// Creates a hub whose thread begins after the event number `last`. The hub does not know which tokens have earlier events.
    pub(in crate::service) fn new(last: u64, options: &ServiceOptions) -> Self {
        let most_listeners = options.event_listeners.min(Semaphore::MAX_PERMITS);
        Self {
            seen: Mutex::new(Seen { last, unknown: last, by_token: HashMap::new() }),
            signal: watch::Sender::new(0),
            listeners: Arc::new(Semaphore::new(most_listeners)),
            most_listeners,
            told: AtomicU64::new(0),
            is_followed: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all requests that wait.
    pub(in crate::service) fn wake(&self) {
        self.signal.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Returns a receiver that is notified when a request that waits must check again.
    pub(in crate::service) fn subscribe(&self) -> watch::Receiver<u64> {
        self.signal.subscribe()
    }

    /// Returns permits for a request that reads events.
    ///
    /// # Errors
    /// Returns an error with status 429 if the token already has its maximum number of such requests. Returns an error with status
    /// 503 if all tokens together already have the maximum number of the service.
    pub(in crate::service) fn listen(
        &self,
        token: &AppToken,
        options: &ServiceOptions,
    ) -> Result<Listener, Failure> {
        let most = options.event_listeners_per_token.min(Semaphore::MAX_PERMITS);
        let own = token.state.listeners.get_or_init(|| Arc::new(Semaphore::new(most)));
        let of_token = Arc::clone(own).try_acquire_owned().map_err(|_| Failure::too_many_listeners(most))?;
        let of_all = Arc::clone(&self.listeners).try_acquire_owned().map_err(|_| Failure::overloaded())?;
        Ok(Listener { _of_token: of_token, _of_all: of_all })
    }

    /// Returns the number of requests that read events at the moment.
    pub(in crate::service) fn listeners(&self) -> usize {
        self.most_listeners.saturating_sub(self.listeners.available_permits())
    }

    /// Counts events that were sent to clients.
    pub(in crate::service) fn count_told(&self, events: usize) {
        self.told.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Returns the number of events that were sent to clients.
    pub(in crate::service) fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// Returns the next step of a request that waits for events of a token. The request has read all events up to `after`.
    pub(super) fn look(&self, of_token: &str, after: u64) -> Look {
        let seen = self.lock();
        let is_new = seen.by_token.get(of_token).is_some_and(|last| *last > after);
        if is_new || after < seen.unknown {
            return Look::Read;
        }
        Look::Nothing { last: seen.last.max(after) }
    }

    /// Notes events that come after the last event that was seen.
    fn note(&self, events: &[Event]) {
        let Some(newest) = events.last() else { return };
        let mut seen = self.lock();
        for event in events {
            let Some(start) = event.owner.as_deref().and_then(of_token) else { continue };
            match seen.by_token.get_mut(start) {
                Some(last) => *last = event.number,
                None => {
                    seen.by_token.insert(start.to_owned(), event.number);
                }
            }
        }
        seen.last = newest.number;
        drop(seen);
        self.wake();
    }

    /// Notes that the events up to a number cannot be read any more.
    fn skip(&self, up_to: u64) {
        let mut seen = self.lock();
        (seen.last, seen.unknown) = (up_to, up_to);
        drop(seen);
        self.wake();
    }

    /// Notes that the thread cannot read the events up to a number at the moment. Each waiting request then tries to read the
    /// events that it needs. So a request fails only if it needs an event that cannot be read.
    fn leave_to_readers(&self, up_to: u64) {
        let mut seen = self.lock();
        if up_to > seen.unknown {
            seen.unknown = up_to;
            drop(seen);
            self.wake();
        }
    }

    /// Returns true while a thread runs [`follow`](Self::follow).
    pub(super) fn is_followed(&self) -> bool {
        self.is_followed.load(Ordering::Relaxed)
    }

    /// Returns the number of the last event that the thread has seen.
    pub(in crate::service) fn last_seen(&self) -> u64 {
        self.lock().last
    }

    /// Reads each new event of a store, until `goes_on` returns false. Blocks the thread.
    pub(in crate::service) fn follow(&self, store: &Store, goes_on: &dyn Fn() -> bool) {
        let _following = Following::begin(&self.is_followed);
        let mut fails = false;
        while goes_on() {
            let last = self.lock().last;
            if !store.wait_for_events(last, PAUSE) {
                continue;
            }
            let read = store.events_after(last, PIECE);
            match &read {
                Ok(events) => self.note(events),
                Err(error) => match error.events_gone() {
                    Some(gone) => self.skip(gone.oldest.saturating_sub(1)),
                    None => {
                        self.leave_to_readers(store.last_event());
                        pause(AFTER_FAILURE, goes_on);
                    }
                },
            }
            let failure = read.err().filter(|error| error.events_gone().is_none());
            log_failure(failure.as_ref(), &mut fails);
        }
    }
}

/// A guard that sets `is_followed` while a thread runs [`EventHub::follow`]. Dropping it clears the flag, even if the thread
/// panics.
struct Following<'f>(&'f AtomicBool);

impl<'f> Following<'f> {
    fn begin(is_followed: &'f AtomicBool) -> Self {
        is_followed.store(true, Ordering::Relaxed);
        Self(is_followed)
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Sleeps for a time, or until `goes_on` returns false.
fn pause(time: Duration, goes_on: &dyn Fn() -> bool) {
    let start = Instant::now();
    while start.elapsed() < time && goes_on() {
        std::thread::sleep(PAUSE);
    }
}

/// Logs a failure, unless the previous read failed, too. `fails` says if the previous read failed, and is updated.
fn log_failure(failure: Option<&StoreError>, fails: &mut bool) {
    if let (Some(failure), false) = (failure, *fails) {
        let cause = failure.to_string();
        tracing::error!(cause, "new events cannot be read: clients that need them get errors");
    }
    *fails = failure.is_some();
}

/// Returns the part of a filter's owner that identifies the token, with the `:` after it. Returns `None` without a `:`.
fn of_token(owner: &str) -> Option<&str> {
    owner.get(..=owner.find(':')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standing::EventKind;
    use crate::value::Timestamp;

    fn event(number: u64, key: &str) -> Event {
        Event::new(number, Timestamp::from_millis(0), key, "id", EventKind::Entered)
    }

    #[test]
    fn a_request_reads_only_if_there_may_be_events_of_its_token() {
        let hub = EventHub::new(7, &ServiceOptions::default());
        assert_eq!(hub.look("a:", 3), Look::Read, "events before the start are not known");
        assert_eq!(hub.look("a:", 7), Look::Nothing { last: 7 });
        assert_eq!(hub.look("a:", 9), Look::Nothing { last: 9 }, "a reader may be ahead of the thread");
        let mut signal = hub.subscribe();
        hub.note(&[event(8, "\0a:1\0n"), event(9, "host"), event(10, "\0b:1\0n")]);
        assert!(signal.has_changed().unwrap());
        signal.mark_unchanged();
        assert_eq!((hub.look("a:", 7), hub.look("b:", 9)), (Look::Read, Look::Read));
        assert_eq!(
            (hub.look("a:", 8), hub.look("c:", 7)),
            (Look::Nothing { last: 10 }, Look::Nothing { last: 10 })
        );
        // Events that were created under other restrictions of the token are events of the token, too.
        hub.note(&[event(11, "\0a:2\0n")]);
        assert_eq!(hub.look("a:", 10), Look::Read);
        hub.skip(20);
        assert_eq!((hub.look("c:", 19), hub.look("c:", 20)), (Look::Read, Look::Nothing { last: 20 }));
        assert!(signal.has_changed().unwrap());
    }

    #[test]
    fn events_that_cannot_be_read_concern_only_their_readers() {
        let hub = EventHub::new(7, &ServiceOptions::default());
        let mut signal = hub.subscribe();
        signal.mark_unchanged();
        hub.leave_to_readers(12);
        assert!(signal.has_changed().unwrap(), "requests that wait read for themselves");
        assert_eq!((hub.look("a:", 11), hub.look("a:", 12)), (Look::Read, Look::Nothing { last: 12 }));
        signal.mark_unchanged();
        hub.leave_to_readers(12);
        assert!(!signal.has_changed().unwrap());
        // The thread continues after the last event that it has seen.
        assert_eq!(hub.last_seen(), 7);
        hub.note(&[event(8, "\0a:1\0n"), event(13, "\0b:1\0n")]);
        assert_eq!((hub.look("a:", 12), hub.look("b:", 12)), (Look::Nothing { last: 13 }, Look::Read));
    }

    #[test]
    fn a_thread_that_ends_in_any_way_follows_no_more() {
        let hub = EventHub::new(7, &ServiceOptions::default());
        assert!(!hub.is_followed());
        let following = Following::begin(&hub.is_followed);
        assert!(hub.is_followed());
        drop(following);
        assert!(!hub.is_followed());
        let start = Instant::now();
        pause(AFTER_FAILURE, &|| false);
        assert!(start.elapsed() < AFTER_FAILURE);
    }
}
