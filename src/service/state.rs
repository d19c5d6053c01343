//! The state that all requests share, on the public port and on the admin socket. It has the store, the source of cases, tokens,
//! options and metrics. Its semaphores and budgets bound work and memory.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use tokio::sync::Semaphore;

use super::audit::AuditLog;
use super::auth::permission::Permission;
use super::auth::tokens::{SharedTokens, Tokens};
use super::events::hub::EventHub;
use super::http::body_spool::BodySpool;
use super::http::budget::Budget;
use super::http::compress::Compressor;
use super::http::correlation::CorrelationIds;
use super::http::log_limit::{LogLimiter, log_suppressed};
use super::http::outgoing::Outgoing;
use super::http::tls::Tls;
use super::metrics::counters::Metrics;
use super::operations::case_source::CaseSource;
use super::operations::latency::LatencyTracker;
use super::options::ServiceOptions;
use crate::store::Store;

/// The state of a service: its store, tokens, options and counters, and the limits on concurrent work and memory.
pub(super) struct ServiceState {
    pub(super) store: Store,
    pub(super) source: CaseSource,
    pub(super) tokens: Arc<SharedTokens>,
    /// The OpenAPI document. It is created when it is requested for the first time.
    pub(super) openapi: OnceLock<String>,
    pub(super) options: ServiceOptions,
    /// The audit log, if the host has set one.
    pub(super) audit: Option<AuditLog>,
    /// The certificate of the public port, if it uses TLS.
    pub(super) tls: Option<Tls>,
    pub(super) correlation_ids: CorrelationIds,
    pub(super) metrics: Metrics,
    pub(super) latency: LatencyTracker,
    pub(super) log_limiter: LogLimiter,
    /// Permits for requests on blocking threads, one for each request.
    pub(super) workers: Arc<Semaphore>,
    /// Permits for reading parts of large pages. Their number is small, so that processors stay free for small requests.
    pub(super) page_reads: Arc<Semaphore>,
    /// The total number of `page_reads` permits.
    pub(super) max_page_reads: usize,
    /// The limits on the compression of responses.
    pub(super) compressor: Compressor,
    /// Permits for requests that change data, one for each request, from its start until it is recorded.
    pub(super) changes: Semaphore,
    /// The only permit to write. Waiting for it does not block a thread.
    pub(super) write_lock: Arc<Semaphore>,
    /// The only permit to import cases. It bounds the memory, because an import keeps its columns in memory.
    #[cfg(unix)]
    pub(super) import_lock: Arc<Semaphore>,
    /// The lock between erasures on one side, and imports, backups and copies on the other side. Any number of the latter may run
    /// at the same time, but none during an erasure, so that no erased data remains.
    #[cfg(unix)]
    pub(super) copies: Arc<tokio::sync::RwLock<()>>,
    /// The only permit to read old documents, for a search as of an earlier moment.
    pub(super) old_documents: Arc<Semaphore>,
    /// Permits for updates that wait for `write_lock`.
    pub(super) waiting_updates: Semaphore,
    /// The temporary files for large bodies of requests whose signature is not verified yet.
    pub(super) spool: Arc<BodySpool>,
    /// The memory budget for bodies of requests whose signature is verified. It is for the bytes beyond `body_allowance`.
    pub(super) bodies: Arc<Budget>,
    /// The number of bytes that every body may use without a reservation.
    pub(super) body_allowance: usize,
    pub(super) outgoing: Outgoing,
    /// The events of standing filters, and the requests that read them.
    pub(super) events: EventHub,
    pub(super) is_draining: AtomicBool,
    /// True after the grace period of a shutdown has ended, or after the shutdown was aborted.
    pub(super) is_cut_off: AtomicBool,
    /// The time and the result of the last check of the case source.
    source_check: tokio::sync::Mutex<Option<(Instant, bool)>>,
    /// True if the last write failed because of the file.
    pub(super) writes_fail: AtomicBool,
}

/// The minimum time between two checks of the case source. `/readyz` is public, so it may be requested often.
const SOURCE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The number of `changes` permits. It is greater than the number of requests that run at the same time.
pub(super) const MOST_CHANGES: u32 = 1 << 20;

impl ServiceState {
    /// Creates the state of a service. `operations` are the names for which requests are counted.
    pub(super) fn new(
        store: Store,
        tokens: Tokens,
        options: ServiceOptions,
        operations: impl Iterator<Item = &'static str>,
    ) -> Self {
        let permits = |count: usize| count.min(Semaphore::MAX_PERMITS);
        let half = options.buffered_bytes / 2;
        let max_page_reads = std::thread::available_parallelism().map_or(1, NonZero::get).max(2);
        Self {
            page_reads: Arc::new(Semaphore::new(max_page_reads)),
            compressor: Compressor::new(max_page_reads),
            max_page_reads,
            spool: BodySpool::new(options.spool_folder.clone(), store.folder(), options.spooled_bytes),
            outgoing: Outgoing::new(options.outgoing_bytes),
            events: EventHub::new(store.last_event(), &options),
            store,
            source: CaseSource::Store,
            tokens: Arc::new(SharedTokens::new(tokens)),
            openapi: OnceLock::new(),
            audit: None,
            tls: None,
            correlation_ids: CorrelationIds::new(),
            metrics: Metrics::new(operations),
            latency: LatencyTracker::new(),
            log_limiter: LogLimiter::default(),
            workers: Arc::new(Semaphore::new(permits(options.concurrency))),
            write_lock: Arc::new(Semaphore::new(1)),
            changes: Semaphore::new(permits(MOST_CHANGES as usize)),
            #[cfg(unix)]
            import_lock: Arc::new(Semaphore::new(1)),
            #[cfg(unix)]
            copies: Arc::default(),
            old_documents: Arc::new(Semaphore::new(1)),
            waiting_updates: Semaphore::new(permits(options.concurrency)),
            bodies: Budget::new(half),
            body_allowance: half.checked_div(options.connections).unwrap_or(half),
            is_draining: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            source_check: tokio::sync::Mutex::new(None),
            writes_fail: AtomicBool::new(false),
            options,
        }
    }

    /// Returns the maximum number of `workers` permits for one token.
    pub(super) fn token_share(&self) -> usize {
        // If there is only one token, it may use all permits.
        let others = if self.tokens.load().len() > 1 { self.options.concurrency / 2 } else { 0 };
        self.options.concurrency.saturating_sub(others).min(Semaphore::MAX_PERMITS)
    }

    /// Logs the number of log lines that the log limit has suppressed in the seconds that have ended.
    pub(super) fn log_suppressed(&self) {
        for (status, lines) in self.log_limiter.take_suppressed(Instant::now()) {
            log_suppressed(status, lines);
        }
    }

    /// Like [`log_suppressed`](Self::log_suppressed), but also includes the current second. Called when the service ends.
    pub(super) fn log_all_suppressed(&self) {
        for (status, lines) in self.log_limiter.take_all_suppressed() {
            log_suppressed(status, lines);
        }
    }

    /// Returns true if the case source responds. The result may be up to one second old.
    pub(super) async fn source_answers(&self) -> bool {
        let mut last = self.source_check.lock().await;
        if let Some((when, answered)) = *last
            && when.elapsed() < SOURCE_CHECK_INTERVAL
        {
            return answered;
        }
        let error = self.source.check().await;
        if let Some(cause) = &error {
            tracing::warn!(cause, "the source of cases does not answer");
        }
        *last = Some((Instant::now(), error.is_none()));
        error.is_none()
    }

    /// Ends the audit log with a last record. Writes the number and the hash of this record to the log of the service, so that an
    /// operator can keep them in another place.
    pub(super) fn close_audit_log(&self) {
        let Some(audit) = &self.audit else { return };
        match audit.end() {
            Ok(head) => {
                let audit_head = head.to_string();
                tracing::info!(audit_head, "the audit log is closed");
            }
            Err(error) => {
                let (cause, unrecorded) = (error.to_string(), audit.unmentioned());
                tracing::error!(cause, unrecorded, "the audit log could not be closed");
            }
        }
    }

    /// Returns true if requests must not be answered, because the audit log cannot be written.
    pub(super) fn is_unrecorded(&self) -> bool {
        self.audit.as_ref().is_some_and(AuditLog::refuses)
    }

    /// Returns true if an app token is in force and may create share tokens for the applicants of a client. `mark` is the text that
    /// `StandingOwner::of_token` returns for the app token. A share token is valid only as long as the app token that created it
    /// could create it again.
    pub(super) fn may_share(&self, mark: &str, client: &str) -> bool {
        let tokens = self.tokens.load();
        let maker = tokens.of_owner(mark).filter(|token| token.is_live(now().timestamp()));
        maker.is_some_and(|token| token.may(Permission::ShareApplicants) && token.clients().has(client))
    }

    /// Returns true if the last write failed because of the file.
    pub(super) fn writes_fail(&self) -> bool {
        self.writes_fail.load(Ordering::Relaxed)
    }
}

/// Returns the time of the system clock.
pub(super) fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}
