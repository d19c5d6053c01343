//! Parses filters, as JSON bodies or in the text syntax, into a syntax tree ([`Body`]). The names of fields in this tree have not
//! been looked up in the catalogue yet.
//!
//! Two syntaxes share the tree:
//!
//! - JSON: [`fast`] parses bodies without errors, and [`strict`] reports the errors of all other bodies.
//! - The text syntax, which people type: [`text`].
//!
//! [`advice`] recognises operators of other query languages, so that an error can suggest what to write instead.
//!
//! ```text
//! body bytes ── fast::read ──▶ Body ──▶ predicate::compile
//!                  │ None
//!                  └── strict::parse ──▶ errors
//! ```
//!
//! Invariant: `fast::read` returns a body exactly if `strict::parse` finds no error, and then both trees are equal.

mod advice;
mod agreement;
mod ast;
mod fast;
mod foreign_search;
mod keys;
mod over_limit;
mod strict;
pub(crate) mod text;
mod unsupported;

pub(crate) use self::advice::Holds;
#[cfg(test)]
pub(crate) use self::advice::NO_FIELDS;
pub use self::agreement::check_parsers;
pub(crate) use self::ast::{Body, Criterion, Text};
pub(crate) use self::fast::read;
pub(crate) use self::strict::parse as parse_strictly;
pub(crate) use self::unsupported::{Unsupported, meant_by_bad_value};
