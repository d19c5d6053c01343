//! The HTTP layer: listeners, connections, request bodies, error responses, logs, memory budgets and TLS.
//!
//! | task | file |
//! |---|---|
//! | start and shut down the service | `server`, with `background` |
//! | accept connections on the public port, within limits | `accept`, with `places`, `peers` and `closing` |
//! | serve a connection | `connection`, with `tls`, `certificate` and `write_timeout`; `http1`; `http2`, with `streams` |
//! | check the heads of requests, and answer them | `respond` |
//! | map paths and methods to endpoints | `router` |
//! | receive request bodies | `body`, with `body_spool` for large bodies that are not verified yet |
//! | responses that are errors | `errors` |
//! | bound the memory of requests and responses | `budget`, `outgoing` |
//! | compress responses | `encoding`, `compress` |
//! | detect that a client has disconnected | `client_watch` |
//! | unsigned endpoints; the separate listener for metrics | `health`; `metrics_server` |
//! | headers of every response; log requests | `request_log`, with `correlation`, `trace` and `log_limit` |

mod accept;
mod background;
pub(super) mod body;
pub(super) mod body_spool;
pub(super) mod budget;
mod certificate;
pub(super) mod client_watch;
pub(super) mod closing;
pub(super) mod compress;
mod connection;
pub(super) mod correlation;
pub(super) mod encoding;
pub(super) mod errors;
pub(super) mod health;
pub(super) mod http1;
mod http2;
pub(super) mod log_limit;
mod metrics_server;
pub(super) mod outgoing;
pub(super) mod peers;
mod places;
pub(super) mod request_log;
mod respond;
mod router;
mod server;
pub(in crate::service) mod streams;
pub(super) mod tls;
pub(super) mod trace;
pub(super) mod write_timeout;

pub use server::Service;
pub use tls::{Tls, TlsError};
