//! The meaning of criteria: typed trees over the fields of a catalogue.
//!
//! ```text
//! Body ── compile ──▶ Tree<Leaf>            the normal form, which engines run; None at the first error
//!      └─ lower ────▶ Tree<Comparison>      one node for each criterion, for warnings and `why`; or the errors
//! ```
//!
//! A [`Comparison`] has an operator of the [table](crate::operator) and values; a [`Leaf`] has a [`Test`], which is a quantifier
//! and a [`Set`]. Nothing evaluates operators after lowering but the reference evaluator. Nothing in either tree can fail.

mod asked;
mod intervals;
mod lint;
mod lower;
mod optimize;
mod places;
mod points;
mod print;
mod set;
mod tree;

#[cfg(feature = "store")]
pub(crate) use self::asked::named;
pub(crate) use self::asked::{Asked, asked};
pub(crate) use self::intervals::{Intervals, in_ranges};
pub(crate) use self::lint::{MOST_WARNINGS, lint};
pub use self::lint::{Warning, WarningKind};
pub(crate) use self::lower::{compile, lower, rounded_numbers};
pub(crate) use self::optimize::{joined, normalize};
pub(crate) use self::places::Places;
#[cfg(feature = "sql")]
pub(crate) use self::print::bound;
pub(crate) use self::print::{Line, body_json, json_string, lines, plan, text};
pub(crate) use self::set::Set;
pub(crate) use self::tree::{Children, Comparison, Leaf, Node, Rounded, Test, Tree};
