//! A request body as written, before its fields are looked up.
//!
//! Two syntaxes have one syntax tree, a [`Body`]: JSON, read by [`fast`] and explained by [`strict`], and the text that people
//! type, read by [`text`].
//!
//! ```text
//! body bytes ── fast::read ──▶ Body ──▶ predicate::compile
//!                  │ None
//!                  └── strict::parse ──▶ errors
//! ```
//!
//! Invariant: `fast::read` returns a body exactly where `strict::parse` finds no error, and then both trees are equal.

mod advice;
mod agreement;
mod ast;
mod bounds;
mod fast;
mod keys;
mod strict;
pub(crate) mod text;
mod unsupported;

pub(crate) use self::advice::{Holds, NO_FIELDS};
pub use self::agreement::check_parsers;
pub(crate) use self::ast::{Body, Criterion, Text};
pub(crate) use self::fast::read;
pub(crate) use self::strict::parse as parse_strictly;
pub(crate) use self::unsupported::{Unsupported, meant_by_bad_value};
