//! What criteria mean: typed trees over the fields of a catalogue.
//!
//! [`lower`] makes a [`Tree`] of [`Comparison`]s from a body, one for each criterion as written.
//! [`compile`] makes the normal form from the same nodes, a tree of [`Leaf`]s; nothing in either can fail.
//! [`compile_sound`] makes it as a body is read, of one without errors.

mod asked;
mod lint;
mod lower;
mod optimize;
mod print;
mod set;
mod tree;

pub(crate) use asked::{Asked, asked};
pub(crate) use lint::{MOST_WARNINGS, Places, lint};
pub use lint::{Warning, WarningKind};
pub(crate) use lower::{compile, compile_sound, lower, rounded_numbers};
pub(crate) use optimize::{joined, normalize};
#[cfg(feature = "sql")]
pub(crate) use print::bound;
pub(crate) use print::{Line, body_json, json_string, lines, plan, text};
pub(crate) use set::{Intervals, Set, in_ranges};
pub(crate) use tree::{Children, Comparison, Leaf, Node, Test, Tree};
