//! The endpoints of the public port: one file for each endpoint, and the table of all endpoints.
//!
//! To add an endpoint, add a new file here, a `mod` line in this file, and a line in `table`. Also add the operation to
//! `../openapi.json`, and a row to the tables in `service/mod.rs` and `docs/guide/service.md`. Raise the length of `ENDPOINTS`, and
//! the number of operations in `tests/service/answers.rs`. Tests check that each operation in `../openapi.json` has all status
//! codes, an example, and the sentence `Permission: …`.
//!
//! Test the endpoint in `tests/service/answers.rs`. Add its path as a constant or a function to `tests/service/server.rs`, from
//! which the tests take all paths. A path can have one id, `{applicantId}` or `{name}`. For an id with another name, also change
//! `endpoint.rs`.

mod aml_case;
pub(in crate::service) mod as_of;
pub(super) mod case_source;
mod company_info;
mod compare_info;
mod copy_profile;
pub(super) mod endpoint;
mod events;
mod facets;
mod filters;
mod hit_review;
pub(super) mod latency;
mod page_stream;
mod pages;
pub(super) mod parameters;
mod preview;
mod search;
mod share_tokens;
mod standing;
mod step_status;
pub(super) mod table;
mod update_info;
