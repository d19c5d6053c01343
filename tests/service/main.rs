//! Tests the service over real sockets. Some services run in the process of the tests, others as the binary that users run.
//!
//! If the environment variable `CASEFILTER_TEST_POSTGRES` is set, every service searches PostgreSQL: see
//! `tests/postgres/run`.

#![cfg(feature = "full")]

#[cfg(unix)]
mod admin;
mod answers;
mod audit;
#[cfg(unix)]
mod audit_operators;
mod authentication;
mod bounds;
mod client;
mod compressed;
mod config;
#[cfg(target_os = "linux")]
mod erasures;
#[cfg(unix)]
mod history;
mod hostile;
mod http2;
#[cfg(target_os = "linux")]
mod http2_bounds;
mod http2_client;
mod http2_ends;
mod http2_hostile;
mod large;
#[cfg(target_os = "linux")]
mod load;
mod process;
#[cfg(unix)]
mod quick_start;
mod reviews;
#[cfg(unix)]
mod running;
mod scope;
mod search_stop;
mod server;
mod shares;
#[cfg(target_os = "linux")]
mod slow_readers;
mod source;
#[cfg(target_os = "linux")]
mod spool;
#[cfg(unix)]
mod standing;
mod surface;
#[path = "../postgres/tables.rs"]
mod tables;
mod tenants;
mod tls;
mod tokens;
#[cfg(unix)]
mod writes;
