//! Cancel tokens and deadlines, and the check with which a search finds out that it must stop.

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::error::{Error, ErrorKind};

/// A flag that stops a search from another thread.
///
/// Clones share the flag. A token may be given to several requests. It then stops all of them, and it cannot be reset.
///
/// ```
/// use casefilter::{CancelToken, Catalog, Engine, ErrorKind, Filter, SearchRequest};
/// let engine = Engine::new(Catalog::cases());
/// let token = CancelToken::new();
/// let request = SearchRequest::new(Filter::all(engine.catalog())).with_cancel(token.clone());
/// assert!(engine.search(&request).is_ok());
/// std::thread::spawn(move || token.cancel()).join().unwrap();
/// assert_eq!(engine.search(&request).unwrap_err().kind, ErrorKind::SearchCancelled);
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the searches of all requests that carry the token, now and later.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Returns true if the token was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Two tokens are equal if they share a flag.
impl PartialEq for CancelToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.flag, &other.flag)
    }
}

impl Eq for CancelToken {}

impl Hash for CancelToken {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.flag).hash(state);
    }
}

/// The time at which a search stops. The host program supplies a function that returns true if this time has passed.
///
/// The library has no clock of its own. The function should take less than a microsecond. Each thread of a search calls it before
/// each batch (up to 65,536 documents), and about once per 50 µs of work.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use casefilter::{Catalog, Deadline, Engine, Filter, SearchRequest};
/// let engine = Engine::new(Catalog::cases());
/// let end = Instant::now() + Duration::from_secs(2);
/// let request = SearchRequest::new(Filter::all(engine.catalog())).with_deadline(Deadline::new(move || Instant::now() >= end));
/// assert!(engine.search(&request).is_ok());
/// # Ok::<(), casefilter::Error>(())
/// ```
#[derive(Clone)]
pub struct Deadline {
    has_passed: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Deadline {
    /// Creates a deadline from a function that returns true if the time of the deadline has passed.
    #[must_use]
    pub fn new(has_passed: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { has_passed: Arc::new(has_passed) }
    }

    /// Returns true if the time of the deadline has passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        (self.has_passed)()
    }
}

// The engine reads only the result of the function, so a panic in the function leaves nothing half done here.
impl UnwindSafe for Deadline {}
impl RefUnwindSafe for Deadline {}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").finish_non_exhaustive()
    }
}

/// Two deadlines are equal if they share a function.
impl PartialEq for Deadline {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.has_passed, &other.has_passed)
    }
}

impl Eq for Deadline {}

impl Hash for Deadline {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.has_passed).cast::<()>().hash(state);
    }
}

/// The conditions under which the search of a request must stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StopConditions {
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) deadline: Option<Deadline>,
}

impl StopConditions {
    /// Creates the check for one search. Returns `None` if nothing can stop the search.
    pub(crate) fn check(&self) -> Option<StopCheck<'_>> {
        let Self { cancel, deadline } = self;
        let has_any = cancel.is_some() || deadline.is_some();
        has_any.then(|| StopCheck {
            cancel: cancel.as_ref(),
            deadline: deadline.as_ref(),
            reason: AtomicU8::new(RUNNING),
        })
    }

    /// Returns true if the token was cancelled.
    #[cfg(feature = "service")]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancelToken::is_cancelled)
    }

    /// Checks the token and the deadline immediately. Returns an error if the token is cancelled or the deadline has passed.
    pub(crate) fn verdict_now(&self) -> Result<(), Error> {
        let Some(check) = self.check() else { return Ok(()) };
        check.is_stopped();
        check.verdict()
    }
}

/// The value of [`StopCheck::reason`] while no reason to stop is known. [`CANCELLED`] and [`PAST_DEADLINE`] are the other values.
const RUNNING: u8 = 0;
const CANCELLED: u8 = 1;
const PAST_DEADLINE: u8 = 2;

/// The stop check of one search, which its threads share.
///
/// Invariant: the first call of [`is_stopped`](Self::is_stopped) that finds a reason to stop records the reason. The reason then
/// never changes, and all later calls of `is_stopped` return true.
pub(crate) struct StopCheck<'r> {
    cancel: Option<&'r CancelToken>,
    deadline: Option<&'r Deadline>,
    reason: AtomicU8,
}

impl StopCheck<'_> {
    /// Returns true if the search must stop. Reads the token, calls the deadline function, and records the reason.
    pub(crate) fn is_stopped(&self) -> bool {
        if self.reason.load(Ordering::Relaxed) != RUNNING {
            return true;
        }
        let reason = if self.cancel.is_some_and(CancelToken::is_cancelled) {
            CANCELLED
        } else if self.deadline.is_some_and(Deadline::has_passed) {
            PAST_DEADLINE
        } else {
            return false;
        };
        // If another thread was faster, its reason stays. Relaxed ordering is enough: threads are joined before the verdict is
        // read.
        let _ = self.reason.compare_exchange(RUNNING, reason, Ordering::Relaxed, Ordering::Relaxed);
        true
    }

    /// Returns an error if an earlier call of [`is_stopped`](Self::is_stopped) has found a reason to stop. Does not look for a new
    /// reason. So a search that has finished returns its result, even if the deadline has passed in the meantime.
    pub(crate) fn verdict(&self) -> Result<(), Error> {
        let (kind, found) = match self.reason.load(Ordering::Relaxed) {
            RUNNING => return Ok(()),
            CANCELLED => (ErrorKind::SearchCancelled, "the search was cancelled"),
            _ => (ErrorKind::DeadlineExceeded, "the search was stopped at its deadline"),
        };
        Err(Error::new(kind, 0, found, ""))
    }
}

/// The estimated work between two calls of the stop check. One unit is the time to process one 64-row word, about 0.25 ns, as in
/// the cost model of `exec`. So this is about 50 µs. In unit tests it is much smaller, so that small searches can be stopped in
/// every loop.
pub(crate) const CHECK_EVERY: usize = if cfg!(test) { 1_000 } else { 200_000 };

/// The work counter of one thread of a search. It calls the shared stop check each time the thread has done [`CHECK_EVERY`] units
/// of work.
pub(crate) struct Pace<'s> {
    check: Option<&'s StopCheck<'s>>,
    /// The work since the last call of the stop check.
    spent: Cell<usize>,
}

impl<'s> Pace<'s> {
    pub(crate) fn new(check: Option<&'s StopCheck<'s>>) -> Self {
        Self { check, spent: Cell::new(0) }
    }

    /// Returns the stop check that the threads of the search share.
    pub(crate) fn check(&self) -> Option<&'s StopCheck<'s>> {
        self.check
    }

    /// Returns true if the search has a token or a deadline that may stop it.
    #[inline]
    pub(crate) fn can_stop(&self) -> bool {
        self.check.is_some()
    }

    /// Returns true if the search must stop. Calls the stop check now.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.check.is_some_and(|check| {
            self.spent.set(0);
            check.is_stopped()
        })
    }

    /// Adds `work` to the work of the thread, in the unit of [`CHECK_EVERY`]. Calls the stop check if enough work has been done.
    /// Returns true if the search must stop.
    #[inline]
    pub(crate) fn spend(&self, work: usize) -> bool {
        self.check.is_some_and(|check| {
            let spent = self.spent.get().saturating_add(work);
            if spent < CHECK_EVERY {
                self.spent.set(spent);
                // Another thread may already have found that this search must stop.
                return check.reason.load(Ordering::Relaxed) != RUNNING;
            }
            self.is_stopped()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn the_first_reason_is_recorded_and_stays() {
        let passed = Arc::new(AtomicBool::new(false));
        let clock = Arc::clone(&passed);
        let conditions = StopConditions {
            cancel: Some(CancelToken::new()),
            deadline: Some(Deadline::new(move || clock.load(Ordering::Relaxed))),
        };
        let check = conditions.check().unwrap();
        assert!(!check.is_stopped() && check.verdict().is_ok());
        passed.store(true, Ordering::Relaxed);
        assert!(check.verdict().is_ok(), "the verdict is about past checks");
        assert!(check.is_stopped());
        conditions.cancel.as_ref().unwrap().cancel();
        passed.store(false, Ordering::Relaxed);
        assert!(check.is_stopped());
        assert_eq!(check.verdict().unwrap_err().kind, ErrorKind::DeadlineExceeded);
        assert_eq!(conditions.verdict_now().unwrap_err().kind, ErrorKind::SearchCancelled);
        assert!(
            StopConditions::default().check().is_none() && StopConditions::default().verdict_now().is_ok()
        );
    }

    #[test]
    fn a_pace_asks_the_deadline_once_for_the_work_of_a_check() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let deadline = Deadline::new(move || counter.fetch_add(1, Ordering::Relaxed) >= 2);
        let conditions = StopConditions { cancel: None, deadline: Some(deadline) };
        let check = conditions.check().unwrap();
        let pace = Pace::new(Some(&check));
        let spent = (1..).find(|_| pace.spend(CHECK_EVERY / 10)).unwrap();
        assert_eq!((spent, asked.load(Ordering::Relaxed)), (30, 3));
        assert!(pace.spend(0) && pace.spend(usize::MAX), "later checks are positive");
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        let free = Pace::new(None);
        assert!(!free.spend(usize::MAX) && !free.is_stopped() && !free.can_stop());
    }

    #[test]
    fn errors_of_stopped_searches_have_no_position() {
        let token = CancelToken::new();
        token.cancel();
        let conditions = StopConditions { cancel: Some(token), deadline: None };
        let error = conditions.verdict_now().unwrap_err();
        assert_eq!(error.to_string(), "the search was cancelled");
        let conditions = StopConditions { cancel: None, deadline: Some(Deadline::new(|| true)) };
        assert_eq!(
            conditions.verdict_now().unwrap_err().to_string(),
            "the search was stopped at its deadline"
        );
    }
}
