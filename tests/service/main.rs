//! The service over real sockets: in this process, and as the binary that users run.
//!
//! With the variable `CASEFILTER_TEST_POSTGRES` every service searches PostgreSQL: `tests/postgres/run`.

#![cfg(feature = "full")]

#[cfg(unix)]
mod admin;
mod answers;
mod bounds;
mod client;
mod doors;
mod hostile;
mod large;
mod process;
#[cfg(unix)]
mod quick_start;
#[cfg(unix)]
mod running;
mod scope;
mod server;
mod source;
mod surface;
#[path = "../postgres/tables.rs"]
mod tables;
mod tls;
#[cfg(unix)]
mod writes;
