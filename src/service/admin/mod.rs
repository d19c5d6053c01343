//! What an operator asks of a running service: a few requests over a socket in the file system, next to the database.

mod context;
mod download;
mod import;
mod routes;
mod search;
pub(super) mod server;
mod socket;
mod upload;

pub use socket::AdminSocket;
