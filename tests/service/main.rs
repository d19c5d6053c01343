//! The service over real sockets: in this process, and as the binary that users run.

#![cfg(feature = "cli")]

mod answers;
mod bounds;
mod client;
mod doors;
mod hostile;
mod process;
mod scope;
mod server;
mod tls;
