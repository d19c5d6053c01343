//! Counters since the service was made.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::Errors;

/// The status of a request that nobody waits for any more, as nginx has it; it is in logs and metrics alone.
pub(in crate::service) const GIVEN_UP: u16 = 499;

/// What logs and metrics call requests for no operation.
pub(in crate::service) const OTHER: &str = "other";

/// The statuses that the service answers with, and that of requests given up before; any other is counted as `other`.
pub(super) const STATUSES: [u16; 11] = [200, 400, 401, 403, 404, 405, 408, 413, GIVEN_UP, 500, 503];

/// Upper bounds of the buckets of latencies, in microseconds, and how they are written in seconds.
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

/// Counters since the service was made.
pub(in crate::service) struct Metrics {
    /// By name; the last one is for all other paths.
    pub(super) operations: Vec<(&'static str, OfOperation)>,
    pub(super) rows_examined: AtomicU64,
    pub(super) response_bytes: AtomicU64,
    pub(super) errors: Mutex<BTreeMap<&'static str, u64>>,
    pub(in crate::service) connections: AtomicUsize,
}

#[derive(Default)]
pub(super) struct OfOperation {
    /// By status, the last one for all others.
    pub(super) answers: [AtomicU64; STATUSES.len() + 1],
    /// By bucket, the last one for what took longer.
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
    /// No counts yet, for these operations.
    pub(in crate::service) fn new(operations: impl Iterator<Item = &'static str>) -> Self {
        Self {
            operations: operations.chain([OTHER]).map(|name| (name, OfOperation::default())).collect(),
            rows_examined: AtomicU64::new(0),
            response_bytes: AtomicU64::new(0),
            errors: Mutex::default(),
            connections: AtomicUsize::new(0),
        }
    }

    /// Notes an answer: of which operation, with which status, after how long, of how many bytes.
    pub(in crate::service) fn count_answer(
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
        if let (Some(answers), Some(latencies)) = (of.answers.get(by_status), of.latencies.get(bucket)) {
            add(answers, 1);
            add(latencies, 1);
        }
        add(&of.latency_sum_us, took_us);
        add(&self.response_bytes, bytes);
    }

    /// Notes how many rows a search had to ask.
    pub(in crate::service) fn count_rows(&self, rows: u64) {
        add(&self.rows_examined, rows);
    }

    /// Notes what was wrong with a search.
    pub(in crate::service) fn count_errors(&self, errors: &Errors) {
        let mut counts = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        for error in errors.as_slice() {
            let count = counts.entry(error.kind.code()).or_default();
            *count = count.saturating_add(1);
        }
    }
}
