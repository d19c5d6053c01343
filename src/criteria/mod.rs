//! A request body as written: what it says, before anyone asks what it means.
//!
//! [`parse`] reads the JSON body, [`text`] the syntax that people type; both give a [`Body`]. [`read`] tells a [`Sink`]
//! what a body without errors says, and makes nothing of it.

mod ast;
mod names;
mod parse;
mod sound;
pub(crate) mod text;

pub(crate) use ast::{Body, Criterion, NodeId, Text};
pub(crate) use names::Holds;
#[cfg(test)]
pub(crate) use parse::careful;
pub(crate) use parse::{careful_of, parse};
pub(crate) use sound::{Sink, read};

use crate::error::{Error, ErrorKind};

/// The error for the first `count` beyond a limit; the ones behind it are the same fault.
fn over_limit(kind: ErrorKind, count: usize, limit: usize, offset: usize, what: &str) -> Option<Error> {
    (count == limit.saturating_add(1)).then(|| {
        Error::new(kind, offset, format!("number {count} of the {what}"), format!("at most {limit} {what}"))
    })
}
