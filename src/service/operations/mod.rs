//! What clients can ask for.

pub(super) mod applicants;
pub(super) mod endpoint;
pub(super) mod pace;
pub(super) mod pages;
pub(super) mod parameters;
pub(super) mod search;
pub(super) mod source;
