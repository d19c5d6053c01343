//! What all requests share.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use tokio::sync::Semaphore;

use super::auth::tokens::Tokens;
use super::http::budget::Budget;
use super::http::correlation::Names;
use super::http::log_rate::{LogRate, tell_left_out};
use super::http::outgoing::Outgoing;
use super::metrics::counters::Metrics;
use super::operations::pace::Pace;
use super::operations::source::Source;
use super::options::ServiceOptions;
use crate::store::Store;

/// The state of a service.
pub(super) struct ServiceState {
    pub(super) store: Store,
    pub(super) source: Source,
    pub(super) tokens: Tokens,
    pub(super) options: ServiceOptions,
    pub(super) names: Names,
    pub(super) metrics: Metrics,
    pub(super) pace: Pace,
    pub(super) log_rate: LogRate,
    /// Requests that wait for the file, or are searches that may take long.
    pub(super) working: Arc<Semaphore>,
    /// How many of these requests one token may have.
    pub(super) share: usize,
    /// Reads of parts of large pages, which wait in one queue so that small requests find the processors free.
    pub(super) reading: Arc<Semaphore>,
    /// How many of them go on at a time.
    pub(super) readers: usize,
    /// Writes come one after the other, so that those that wait for their turn keep no thread.
    pub(super) writing: Arc<Semaphore>,
    /// The right to import cases, which one import at a time has, since each holds its cases in memory.
    #[cfg(unix)]
    pub(super) importing: Arc<Semaphore>,
    /// Updates that wait for their turn.
    pub(super) queue: Semaphore,
    /// Bytes of bodies on their way in, beyond what every body may have.
    pub(super) bodies: Arc<Budget>,
    /// The bytes that every body may have.
    pub(super) body_allowance: usize,
    /// Bytes of answers on their way out, beyond what every answer may have.
    pub(super) outgoing: Outgoing,
    pub(super) is_draining: AtomicBool,
    /// The grace period of a shutdown is over.
    pub(super) is_cut_off: AtomicBool,
    /// When the source was last asked whether it is there, and whether it was.
    source_was_there: tokio::sync::Mutex<Option<(Instant, bool)>>,
    /// A write failed for a reason of the file, and none succeeded since.
    pub(super) writes_fail: AtomicBool,
}

/// Anybody may ask whether the service is ready: the source is asked once in so long.
const SOURCE_CHECK_AGE: Duration = Duration::from_secs(1);

impl ServiceState {
    /// The state of a service, which counts these operations.
    pub(super) fn new(
        store: Store,
        tokens: Tokens,
        options: ServiceOptions,
        operations: impl Iterator<Item = &'static str>,
    ) -> Self {
        let permits = |count: usize| count.min(Semaphore::MAX_PERMITS);
        let half = options.buffered_bytes / 2;
        let readers = std::thread::available_parallelism().map_or(1, NonZero::get).max(2);
        // A token alone needs to leave nothing to others.
        let spared = if tokens.len() > 1 { options.concurrency / 2 } else { 0 };
        Self {
            share: permits(options.concurrency.saturating_sub(spared)),
            reading: Arc::new(Semaphore::new(readers)),
            readers,
            outgoing: Outgoing::new(options.outgoing_bytes),
            store,
            source: Source::Store,
            tokens,
            names: Names::new(),
            metrics: Metrics::new(operations),
            pace: Pace::new(),
            log_rate: LogRate::default(),
            working: Arc::new(Semaphore::new(permits(options.concurrency))),
            writing: Arc::new(Semaphore::new(1)),
            #[cfg(unix)]
            importing: Arc::new(Semaphore::new(1)),
            queue: Semaphore::new(permits(options.concurrency)),
            bodies: Budget::new(half),
            body_allowance: half.checked_div(options.connections).unwrap_or(half),
            is_draining: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            source_was_there: tokio::sync::Mutex::new(None),
            writes_fail: AtomicBool::new(false),
            options,
        }
    }

    /// Writes lines about the lines that were left out of the log.
    pub(super) fn tell_left_out(&self) {
        for (status, lines) in self.log_rate.take_left_out(Instant::now()) {
            tell_left_out(status, lines);
        }
    }

    /// As [`tell_left_out`](Self::tell_left_out), when no more requests come.
    pub(super) fn tell_all_left_out(&self) {
        for (status, lines) in self.log_rate.take_all_left_out() {
            tell_left_out(status, lines);
        }
    }

    /// Whether searches can be answered, as it was found in the last second.
    pub(super) async fn source_answers(&self) -> bool {
        let mut last = self.source_was_there.lock().await;
        if let Some((when, answered)) = *last
            && when.elapsed() < SOURCE_CHECK_AGE
        {
            return answered;
        }
        let fault = self.source.fault().await;
        if let Some(cause) = &fault {
            tracing::warn!(cause, "the source of cases does not answer");
        }
        *last = Some((Instant::now(), fault.is_none()));
        fault.is_none()
    }

    /// Whether the last write failed for a reason of the file.
    pub(super) fn writes_fail(&self) -> bool {
        self.writes_fail.load(Ordering::Relaxed)
    }
}

/// The time by the clock of the system.
pub(super) fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}
