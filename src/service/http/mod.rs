//! From connections to requests, and from answers back to the wire.

pub(super) mod body;
pub(super) mod budget;
pub(super) mod correlation;
pub(super) mod errors;
pub(super) mod exchange;
pub(super) mod health;
pub(super) mod log_rate;
mod metrics_server;
pub(super) mod outgoing;
pub(super) mod peers;
mod router;
mod server;
mod tls;
pub(super) mod transport;

pub use server::Service;
pub use tls::Tls;
