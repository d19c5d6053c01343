//! What clients can ask for: a table of endpoints, and a file for each.

mod aml_case;
pub(super) mod endpoint;
mod filters;
pub(super) mod pace;
mod pages;
pub(super) mod parameters;
mod pieces;
mod preview;
mod search;
pub(super) mod source;
mod step_status;
pub(super) mod table;
mod update_info;
