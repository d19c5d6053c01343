//! Administration of a running service over a Unix socket next to the database.

mod context;
mod delete;
mod download;
mod facets;
mod import;
mod routes;
mod search;
pub(super) mod server;
mod socket;
mod upload;

pub use socket::AdminSocket;
