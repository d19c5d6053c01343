//! What the service counts.

pub(super) mod counters;
mod process;
pub(super) mod text;
