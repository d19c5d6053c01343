//! The endpoints of clients: a table of all endpoints, and one file for each endpoint.
//!
//! To add an endpoint: its file, a line here and in `table`, `../openapi.json`, and the table in `service/mod.rs`.

mod aml_case;
pub(super) mod case_source;
pub(super) mod endpoint;
mod filters;
pub(super) mod latency;
mod page_stream;
mod pages;
pub(super) mod parameters;
mod preview;
mod search;
mod step_status;
pub(super) mod table;
mod update_info;
