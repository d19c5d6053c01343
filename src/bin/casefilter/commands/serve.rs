//! The command `serve`: runs the HTTP service.

mod args;
mod check;
pub(crate) mod config;
mod files;
mod follow;
mod logging;
mod options;
mod run;
mod runtime;
mod signals;
mod tls_watch;
mod token_watch;

pub(crate) use args::Args;
pub(crate) use run::run;
