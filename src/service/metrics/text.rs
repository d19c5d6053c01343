//! Writes all metrics in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::counters::{BUCKETS, STATUSES, read};
use super::process;
use crate::filter::CacheStats;
#[cfg(feature = "postgres")]
use crate::service::operations::case_source::CaseSource;
use crate::service::state::ServiceState;

/// Returns all metrics in the text format of Prometheus.
pub(in crate::service) fn text(shared: &ServiceState) -> String {
    let mut out = Text::default();
    let metrics = &shared.metrics;
    let operations = &metrics.operations;

    out.head("build_info", "gauge", "Version of the service; the value is always 1.");
    out.line("build_info", concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1);
    out.head(
        "http_requests_total",
        "counter",
        "HTTP responses by operation and status. 499: the client disconnected before the response.",
    );
    for (name, of) in operations {
        let statuses = STATUSES.iter().map(u16::to_string).chain(["other".to_owned()]);
        for (status, count) in statuses.zip(&of.responses) {
            if read(count) > 0 {
                let labels = format!("operation=\"{name}\",status=\"{status}\"");
                out.line("http_requests_total", &labels, read(count));
            }
        }
    }
    out.head(
        "http_request_duration_seconds",
        "histogram",
        "Time from the request head to the response, without the time to send it.",
    );
    for (name, of) in operations {
        let mut cumulative = 0_u64;
        for (bound, count) in BUCKETS.iter().map(|(_, text)| *text).chain(["+Inf"]).zip(&of.latencies) {
            cumulative = cumulative.saturating_add(read(count));
            let labels = format!("operation=\"{name}\",le=\"{bound}\"");
            out.line("http_request_duration_seconds_bucket", &labels, cumulative);
        }
        let labels = format!("operation=\"{name}\"");
        out.line("http_request_duration_seconds_sum", &labels, Seconds(read(&of.latency_sum_us)));
        out.line("http_request_duration_seconds_count", &labels, cumulative);
    }
    out.one(
        "response_bytes_total",
        "counter",
        "Bytes of response bodies before compression.",
        read(&metrics.response_bytes),
    );
    let help = "Open connections, plus each further simultaneous request on an HTTP/2 connection.";
    out.one("connections", "gauge", help, metrics.connections.load(Ordering::Relaxed));
    let help = "Requests that are running on blocking threads.";
    out.one("requests_at_work", "gauge", help, shared.at_work());

    let help = "Memory reserved for responses that are being sent, without the first 32 KiB of each.";
    out.one("outgoing_bytes", "gauge", help, shared.outgoing.reserved_bytes());

    let help = "Bytes of temporary files for large request bodies whose signature is not verified yet.";
    out.one("spooled_bytes", "gauge", help, shared.spool.reserved_bytes());

    let help =
        "1 while the file cannot be written, for example because the disk is full; searches still work.";
    out.one("writes_failing", "gauge", help, u8::from(shared.writes_fail()));

    let help = "Rows in the batches that searches had to scan.";
    out.one("rows_examined_total", "counter", help, read(&metrics.rows_examined));
    out.head("searches_stopped_total", "counter", "Stopped searches by cause.");
    for (cause, count) in ["timeout", "disconnected"].into_iter().zip(&metrics.stopped) {
        out.line("searches_stopped_total", &format!("cause=\"{cause}\""), read(count));
    }
    out.head("compile_failures_total", "counter", "Errors in search requests by kind of error.");
    for (kind, count) in metrics.errors.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        out.line("compile_failures_total", &format!("kind=\"{kind}\""), count);
    }
    let tokens = shared.tokens.load();
    let caches = tokens.caches().into_iter().map(crate::filter::FilterCache::stats);
    let cache = caches.fold(CacheStats::default(), |sum, own| CacheStats {
        hits: sum.hits.saturating_add(own.hits),
        misses: sum.misses.saturating_add(own.misses),
        entries: sum.entries.saturating_add(own.entries),
        size_bytes: sum.size_bytes.saturating_add(own.size_bytes),
    });
    out.one(
        "filter_cache_hits_total",
        "counter",
        "Search bodies found in the cache of compiled filters.",
        cache.hits,
    );
    out.one("filter_cache_misses_total", "counter", "Search bodies that had to be compiled.", cache.misses);
    out.one("filter_cache_entries", "gauge", "Compiled filters in the cache.", cache.entries);
    out.one("filter_cache_bytes", "gauge", "Memory used by cached filters.", cache.size_bytes);

    out.head(
        "token_last_use_timestamp_seconds",
        "gauge",
        "Unix time of the last request with a valid signature, by the name of the token.",
    );
    // Several tokens may have the same name.
    let mut used: BTreeMap<&str, i64> = BTreeMap::new();
    for token in tokens.iter() {
        if let Some(seconds) = token.last_use_s() {
            let last = used.entry(&token.name).or_default();
            *last = seconds.max(*last);
        }
    }
    for (name, seconds) in used {
        let labels = format!("token=\"{}\"", label_value(name));
        out.line("token_last_use_timestamp_seconds", &labels, seconds);
    }
    let help = "1 if the token file has changed, but cannot be used: the service keeps its tokens.";
    out.one("token_file_failing", "gauge", help, u8::from(shared.tokens.fails()));

    if let Some(tls) = &shared.tls {
        if let Some(seconds) = tls.not_after_s() {
            let help = "Unix time at which the certificate of the public port ends.";
            out.one("tls_certificate_expiry_timestamp_seconds", "gauge", help, seconds);
        }
        let help = "1 if the certificate or its key has changed, but cannot be used: the service keeps the old ones.";
        out.one("tls_file_failing", "gauge", help, u8::from(tls.is_failing()));
    }

    if let Some(audit) = &shared.audit {
        let (records, unrecorded) = audit.counts();
        out.one("audit_records_total", "counter", "Requests that are recorded in the audit log.", records);
        let help = "Requests that were answered without a record in the audit log.";
        out.one("audit_unrecorded_total", "counter", help, unrecorded);
        let help = "1 while the audit log cannot be written.";
        out.one("audit_failing", "gauge", help, u8::from(audit.is_failing()));
    }

    #[cfg(feature = "postgres")]
    if let CaseSource::Postgres(source) = &shared.source {
        postgres(&mut out, &source.stats());
    }

    let (filters, last) = shared.store.standing_counts();
    out.one("standing_filters", "gauge", "Standing filters in the database.", filters);
    out.one("last_event", "gauge", "Number of the last event of standing filters.", last);
    let help = "Number of the last event that the service has seen and can send to clients.";
    out.one("last_event_seen", "gauge", help, shared.events.last_seen());
    let help = "Requests that read events at the moment: those that wait, and streams.";
    out.one("event_listeners", "gauge", help, shared.events.listeners());
    out.one("events_told_total", "counter", "Events that were sent to clients.", shared.events.told());

    let memory = shared.store.memory();
    out.one("cases", "gauge", "Cases in the database.", memory.documents);
    out.one("batches", "gauge", "Batches of cases in memory.", memory.batches);
    out.head(
        "memory_bytes",
        "gauge",
        "Memory used by the cases, without their documents, and by standing filters, by part.",
    );
    out.line("memory_bytes", "part=\"columns\"", memory.columns_bytes);
    out.line("memory_bytes", "part=\"indexes\"", memory.index_bytes);
    out.line("memory_bytes", "part=\"standing\"", memory.standing_bytes);
    process::write(&mut out.0);
    out.0
}

/// Writes the metrics of the PostgreSQL source.
#[cfg(feature = "postgres")]
fn postgres(out: &mut Text, stats: &crate::postgres::PostgresStats) {
    out.head("source_searches_total", "counter", "Searches in PostgreSQL by outcome.");
    out.line("source_searches_total", "outcome=\"answered\"", stats.answered);
    for (kind, count) in &stats.failed {
        out.line("source_searches_total", &format!("outcome=\"{}\"", kind.code()), count);
    }
    out.head("source_statements_total", "counter", "SQL statements of searches, newly prepared or reused.");
    out.line("source_statements_total", "state=\"prepared\"", stats.prepared);
    out.line("source_statements_total", "state=\"reused\"", stats.reused);
    out.one("source_connections", "gauge", "Connections to PostgreSQL.", stats.connections);
    out.one("source_connections_idle", "gauge", "Idle connections to PostgreSQL.", stats.idle);
    out.one("source_waiting", "gauge", "Searches waiting for a connection.", stats.waiting);
}

/// Escapes the value of a label.
fn label_value(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A time in microseconds that is displayed in seconds.
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
