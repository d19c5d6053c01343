//! The HTTP layer: listeners, connections, request bodies, error responses, logs, memory budgets and TLS.

pub(super) mod body;
pub(super) mod body_spool;
pub(super) mod budget;
pub(super) mod client_watch;
pub(super) mod correlation;
pub(super) mod errors;
pub(super) mod health;
pub(super) mod log_limit;
mod metrics_server;
pub(super) mod outgoing;
pub(super) mod peers;
pub(super) mod request_log;
mod router;
mod server;
mod tls;
pub(super) mod write_timeout;

pub use server::Service;
pub use tls::{Tls, TlsError};
