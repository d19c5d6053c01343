//! What the service counts, as Prometheus text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::process;
use crate::filter::CacheStats;
use crate::error::Errors;
use crate::service::http::exchange::GIVEN_UP;
use crate::service::operations::endpoint::Operation;
use crate::service::state::Shared;

/// The statuses that the service answers with, and that of requests given up before; any other is counted as `other`.
const STATUSES: [u16; 11] = [200, 400, 401, 403, 404, 405, 408, 413, GIVEN_UP, 500, 503];

/// Upper bounds of the buckets of latencies, in microseconds, and how they are written in seconds.
const BUCKETS: [(u64, &str); 16] = [
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

/// The operations, and all other paths.
const KINDS: usize = Operation::ALL.len() + 1;

/// Counters since the service was made.
#[derive(Default)]
pub(in crate::service) struct Metrics {
    operations: [OfOperation; KINDS],
    rows_examined: AtomicU64,
    response_bytes: AtomicU64,
    errors: Mutex<BTreeMap<&'static str, u64>>,
    pub(in crate::service) connections: AtomicUsize,
}

#[derive(Default)]
struct OfOperation {
    /// By status, the last one for all others.
    answers: [AtomicU64; STATUSES.len() + 1],
    /// By bucket, the last one for what took longer.
    latencies: [AtomicU64; BUCKETS.len() + 1],
    latency_sum_us: AtomicU64,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Metrics {
    /// Notes an answer: of which operation, with which status, after how long, of how many bytes.
    pub(in crate::service) fn count_answer(
        &self,
        operation: Option<Operation>,
        status: u16,
        took: Duration,
        bytes: u64,
    ) {
        let place = operation.map_or(Operation::ALL.len(), |operation| operation as usize);
        let Some(of) = self.operations.get(place) else { return };
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

/// All that is counted, in the text format of Prometheus.
pub(in crate::service) fn text(shared: &Shared) -> String {
    let mut out = Text::default();
    let metrics = &shared.metrics;
    let names = Operation::ALL.iter().map(|operation| operation.name()).chain(["other"]);
    let operations: Vec<(&str, &OfOperation)> = names.zip(&metrics.operations).collect();

    out.head("build_info", "gauge", "The version, always 1.");
    out.line("build_info", concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1);
    out.head(
        "http_requests_total",
        "counter",
        "Answers, by operation and status; 499 is none: nobody waited for it any more.",
    );
    for (name, of) in &operations {
        let statuses = STATUSES.iter().map(u16::to_string).chain(["other".to_owned()]);
        for (status, count) in statuses.zip(&of.answers) {
            if read(count) > 0 {
                let labels = format!("operation=\"{name}\",status=\"{status}\"");
                out.line("http_requests_total", &labels, read(count));
            }
        }
    }
    out.head(
        "http_request_duration_seconds",
        "histogram",
        "From a request's head to its answer, which is not yet written then.",
    );
    for (name, of) in &operations {
        let mut below = 0_u64;
        for (bound, count) in BUCKETS.iter().map(|(_, text)| *text).chain(["+Inf"]).zip(&of.latencies) {
            below = below.saturating_add(read(count));
            let labels = format!("operation=\"{name}\",le=\"{bound}\"");
            out.line("http_request_duration_seconds_bucket", &labels, below);
        }
        let labels = format!("operation=\"{name}\"");
        out.line("http_request_duration_seconds_sum", &labels, Seconds(read(&of.latency_sum_us)));
        out.line("http_request_duration_seconds_count", &labels, below);
    }
    out.one("response_bytes_total", "counter", "Bytes of bodies of answers.", read(&metrics.response_bytes));
    out.one(
        "connections",
        "gauge",
        "Connections that are open.",
        metrics.connections.load(Ordering::Relaxed),
    );
    let help = "Requests that wait for the file, or are searches that may take long.";
    out.one("requests_at_work", "gauge", help, shared.at_work());

    let help = "Memory held for answers on their way out, beyond what each may have.";
    out.one("outgoing_bytes", "gauge", help, shared.outgoing_bytes());

    let help = "1 while the file cannot be written, such as for want of room; searches go on.";
    out.one("writes_failing", "gauge", help, u8::from(shared.writes_fail()));

    let help = "Rows of the batches that searches had to ask.";
    out.one("rows_examined_total", "counter", help, read(&metrics.rows_examined));
    out.head("compile_failures_total", "counter", "Errors of searches, by kind.");
    for (kind, count) in metrics.errors.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        out.line("compile_failures_total", &format!("kind=\"{kind}\""), count);
    }
    let caches = shared.tokens.caches().into_iter().map(crate::filter::FilterCache::stats);
    let cache = caches.fold(CacheStats::default(), |sum, own| CacheStats {
        hits: sum.hits.saturating_add(own.hits),
        misses: sum.misses.saturating_add(own.misses),
        entries: sum.entries.saturating_add(own.entries),
        size_bytes: sum.size_bytes.saturating_add(own.size_bytes),
    });
    out.one("filter_cache_hits_total", "counter", "Bodies that were compiled before.", cache.hits);
    out.one("filter_cache_misses_total", "counter", "Bodies that had to be compiled.", cache.misses);
    out.one("filter_cache_entries", "gauge", "Compiled filters that are kept.", cache.entries);
    out.one("filter_cache_bytes", "gauge", "What they take in memory.", cache.size_bytes);

    #[cfg(feature = "postgres")]
    if let crate::service::operations::source::Source::Postgres(source) = &shared.source {
        postgres(&mut out, &source.stats());
    }

    let memory = shared.store.memory();
    out.one("cases", "gauge", "Cases in the database.", memory.cases);
    out.one("batches", "gauge", "Batches that they lie in.", memory.batches);
    out.head("memory_bytes", "gauge", "What the cases take in memory, their documents apart.");
    out.line("memory_bytes", "part=\"columns\"", memory.columns_bytes);
    out.line("memory_bytes", "part=\"indexes\"", memory.index_bytes);
    process::write(&mut out.0);
    out.0
}

/// How the server fares that searches are sent to.
#[cfg(feature = "postgres")]
fn postgres(out: &mut Text, stats: &crate::postgres::PostgresStats) {
    out.head("source_searches_total", "counter", "Searches that PostgreSQL was asked for, by outcome.");
    out.line("source_searches_total", "outcome=\"answered\"", stats.answered);
    for (kind, count) in &stats.failed {
        out.line("source_searches_total", &format!("outcome=\"{}\"", kind.code()), count);
    }
    out.head("source_statements_total", "counter", "Statements of searches, by whether they were known.");
    out.line("source_statements_total", "state=\"prepared\"", stats.prepared);
    out.line("source_statements_total", "state=\"reused\"", stats.reused);
    out.one("source_connections", "gauge", "Connections to PostgreSQL.", stats.connections);
    out.one("source_connections_idle", "gauge", "Those that nobody uses.", stats.idle);
    out.one("source_waiting", "gauge", "Searches that wait for a connection.", stats.waiting);
}

/// A time in microseconds, displayed in seconds.
struct Seconds(u64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP casefilter_{name} {help}\n# TYPE casefilter_{name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "casefilter_{name}{{{labels}}} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "casefilter_{name} {value}");
    }
}
