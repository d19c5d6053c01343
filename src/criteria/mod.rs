//! A request body as written: what it says, before anyone asks what it means.
//!
//! [`parse`] reads the JSON body, [`text`] the syntax that people type; both give a [`Body`].

mod ast;
mod names;
mod parse;
pub(crate) mod text;

pub(crate) use ast::{Body, Criterion, NodeId, Text};
pub(crate) use parse::parse;
