//! Converts the arguments of `serve` to the options of the service. Raises values that are too small, and lists them.

use std::time::Duration;

use casefilter::service::ServiceOptions;

use super::args::Args;

/// A setting whose given value is too small, so that the service uses a greater value.
pub(super) struct Raised {
    /// The name of the flag.
    pub(super) flag: &'static str,
    pub(super) given: String,
    /// The value that is used.
    pub(super) used: String,
}

impl Args {
    /// Returns the options of the service. Settings that are too small are raised, as [`raised`](Self::raised) says.
    pub(super) fn options(&self) -> ServiceOptions {
        let mut options = ServiceOptions::default();
        options.clock_window = self.clock_window;
        options.reject_replays = self.refuse_replays;
        options.http2 = !self.no_http2;
        options.remembered_signatures = self.remembered_signatures;
        options.connections = self.connections;
        options.connections_per_peer = self.connections_per_peer;
        options.concurrency = self.concurrency.max(1);
        options.requests_per_second = self.requests_per_second;
        options.bytes_in_flight = self.bytes_in_flight;
        options.buffered_bytes = self.buffered_bytes;
        options.spooled_bytes = self.spooled_bytes;
        options.spool_folder = self.spool_dir.clone();
        options.max_response_bytes = self.answer_bytes;
        options.outgoing_bytes = self.outgoing_bytes;
        options.read_timeout = at_least_some(self.read_timeout);
        options.write_timeout = at_least_some(self.write_timeout);
        options.write_queue_timeout = self.turn_timeout;
        options.search_timeout = self.search_timeout;
        options.standing_filters = self.standing_filters;
        options.standing_bytes = self.standing_bytes;
        options.event_listeners = self.event_listeners;
        options.event_listeners_per_token = self.event_listeners_per_token;
        options.shutdown_delay = self.drain;
        options.shutdown_timeout = self.grace;
        options.limits.page = self.max_limit;
        options.limits.body_bytes = self.max_body;
        options.buffered_bytes = options.buffered_bytes.max(self.max_body.saturating_mul(4));
        // The requests of a token from one address get half of this space.
        options.spooled_bytes = options.spooled_bytes.max(self.max_body.saturating_mul(2));
        // Each token gets half of this memory. Half must be enough for twice the largest case, and for three times the largest
        // record.
        let mut least = options.limits.document_bytes.saturating_mul(6);
        if self.source.is_some() || self.source_file.is_some() {
            least = least.max(self.answer_bytes.saturating_mul(2));
        }
        options.outgoing_bytes = options.outgoing_bytes.max(least);
        options
    }

    /// Returns the settings that [`options`](Self::options) raises.
    pub(super) fn raised(&self) -> Vec<Raised> {
        let options = self.options();
        let time = |time: Duration| format!("{}s", time.as_secs());
        [
            ("concurrency", self.concurrency.to_string(), options.concurrency.to_string()),
            ("buffered-bytes", self.buffered_bytes.to_string(), options.buffered_bytes.to_string()),
            ("spooled-bytes", self.spooled_bytes.to_string(), options.spooled_bytes.to_string()),
            ("outgoing-bytes", self.outgoing_bytes.to_string(), options.outgoing_bytes.to_string()),
            ("read-timeout", time(self.read_timeout), time(options.read_timeout)),
            ("write-timeout", time(self.write_timeout), time(options.write_timeout)),
        ]
        .into_iter()
        .filter(|(_, given, used)| given != used)
        .map(|(flag, given, used)| Raised { flag, given, used })
        .collect()
    }
}

/// Returns the timeout, or one second if the timeout is zero.
fn at_least_some(timeout: Duration) -> Duration {
    if timeout.is_zero() { Duration::from_secs(1) } else { timeout }
}
