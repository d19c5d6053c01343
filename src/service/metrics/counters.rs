//! Counters of responses, latencies, response bytes, errors, stopped searches and connections.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::Errors;

/// The status that logs and metrics show for a request that ended without a response. nginx uses it for "client closed request".
pub(in crate::service) const ABORTED: u16 = 499;

/// The operation name that logs and metrics show for requests to paths that belong to no operation.
pub(in crate::service) const OTHER: &str = "other";

/// The statuses that are counted separately. Any other status is counted as `other`, so a new status must
/// be added here.
pub(super) const STATUSES: [u16; 15] =
    [200, 201, 400, 401, 403, 404, 405, 408, 409, 410, 413, 429, ABORTED, 500, 503];

/// The upper bounds of the latency buckets in microseconds. Each bound comes with its text in seconds.
pub(super) const BUCKETS: [(u64, &str); 16] = [
    (25, "0.000025"),
    (50, "0.00005"),
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (10_000_000, "10"),
];

/// The counters of all requests since the start of the service.
pub(in crate::service) struct Metrics {
    /// The counters of each operation, with its name. The last entry is for all other paths.
    pub(super) operations: Vec<(&'static str, OperationCounters)>,
    pub(super) rows_examined: AtomicU64,
    /// The numbers of stopped searches: those that reached their timeout, and those whose clients had disconnected.
    pub(super) stopped: [AtomicU64; 2],
    pub(super) response_bytes: AtomicU64,
    pub(super) errors: Mutex<BTreeMap<&'static str, u64>>,
    pub(in crate::service) connections: AtomicUsize,
}

#[derive(Default)]
pub(super) struct OperationCounters {
    /// The numbers of responses by status, in the order of [`STATUSES`]. The last entry is for other statuses.
    pub(super) responses: [AtomicU64; STATUSES.len() + 1],
    /// The numbers of responses by latency, in the order of [`BUCKETS`]. The last entry is for longer latencies.
    pub(super) latencies: [AtomicU64; BUCKETS.len() + 1],
    pub(super) latency_sum_us: AtomicU64,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

pub(super) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Metrics {
    /// Creates counters for `operations`, and one set of counters for all other paths. All counters are zero.
    pub(in crate::service) fn new(operations: impl Iterator<Item = &'static str>) -> Self {
        Self {
            operations: operations.chain([OTHER]).map(|name| (name, OperationCounters::default())).collect(),
            rows_examined: AtomicU64::new(0),
            stopped: Default::default(),
            response_bytes: AtomicU64::new(0),
            errors: Mutex::default(),
            connections: AtomicUsize::new(0),
        }
    }

    /// Counts a response, its latency, and the bytes of its body.
    pub(in crate::service) fn count_response(
        &self,
        operation: Option<&'static str>,
        status: u16,
        took: Duration,
        bytes: u64,
    ) {
        let name = operation.unwrap_or(OTHER);
        let Some((_, of)) = self.operations.iter().find(|(own, _)| *own == name) else { return };
        let by_status = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len());
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.iter().position(|(most, _)| took_us <= *most).unwrap_or(BUCKETS.len());
        if let (Some(responses), Some(latencies)) = (of.responses.get(by_status), of.latencies.get(bucket)) {
            add(responses, 1);
            add(latencies, 1);
        }
        add(&of.latency_sum_us, took_us);
        add(&self.response_bytes, bytes);
    }

    /// Adds to the number of rows that searches have examined.
    pub(in crate::service) fn count_rows(&self, rows: u64) {
        add(&self.rows_examined, rows);
    }

    /// Counts a search that was stopped.
    pub(in crate::service) fn count_stopped(&self, is_disconnected: bool) {
        let [at_timeout, by_client] = &self.stopped;
        add(if is_disconnected { by_client } else { at_timeout }, 1);
    }

    /// Counts the errors of a search by kind.
    pub(in crate::service) fn count_errors(&self, errors: &Errors) {
        let mut counts = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        for error in errors.as_slice() {
            let count = counts.entry(error.kind.code()).or_default();
            *count = count.saturating_add(1);
        }
    }
}
