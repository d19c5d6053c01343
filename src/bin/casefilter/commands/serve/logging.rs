//! The log of a running service.

use std::io::{self, IsTerminal};

use casefilter::Store;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The level of the log.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// Begins to write the log to standard error: as JSON, or as text if it is a terminal. Panics are logged, too.
///
/// The log contains only the events of this package. Events of other crates can contain paths and queries of requests, and the
/// crate `h2` has an event for each frame.
pub(super) fn begin_logging(level: Level) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::registry().with(Targets::new().with_target("casefilter", level));
    // If the log can no longer be written, the service continues.
    let lines =
        layer().with_target(false).with_ansi(false).log_internal_errors(false).with_writer(io::stderr);
    // Initialising fails only if there is already a subscriber. This process sets no other subscriber.
    let _ = if io::stderr().is_terminal() {
        log.with(lines).try_init()
    } else {
        log.with(lines.json().flatten_event(true).with_current_span(false).with_span_list(false)).try_init()
    };
    // A panic during a request is caught, answered and logged like any other error. The store itself reports the panics that it
    // catches.
    std::panic::set_hook(Box::new(|panic| {
        if Store::catches_panics() {
            return;
        }
        let place = panic.location().map(ToString::to_string);
        let payload = panic.payload();
        let cause = payload.downcast_ref::<&str>().copied();
        let cause = cause.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        tracing::error!(place, cause, "a panic");
    }));
}
