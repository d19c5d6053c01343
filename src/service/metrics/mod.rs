//! Metrics of the service.

pub(super) mod counters;
mod process;
pub(super) mod text;
