//! The metrics of the service: counters, and their text for Prometheus.

pub(super) mod counters;
mod process;
pub(super) mod text;
