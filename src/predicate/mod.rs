//! Typed trees of criteria over the fields of a catalogue: how they are built, optimised, printed and checked for mistakes.
//!
//! ```text
//! Body ── compile ──▶ Tree<Leaf>            the normal form, which engines run; None at the first error
//!      └─ lower ────▶ Written               the criteria as written, for warnings and `why`; and the errors
//! ```
//!
//! The normal form and the criteria as written are two trees with different leaves. Only the criteria as written contain `not`. A
//! [`Comparison`] is a field criterion as the client wrote it: a field, an operator of the [table](crate::operator), and values. A
//! [`Leaf`] is the meaning of such a criterion: a field and a [`Test`], which is a quantifier and a [`Set`].
//!
//! ```text
//! as written                                  normal form
//! status = open                               status: Any {open}
//! status = open or status = blocked           status: Any {blocked, open}
//! amount >= 1 and amount < 5                  amount: Any [1, 5)
//! status = open and status = blocked          false
//! not (status = open or amount > 5)           and: status: None {open}, amount: None (5, max]
//! legs has (bank = x and amount > 5)          legs: Elem (and: bank: Any {x}, amount: Any (5, max])
//! ```
//!
//! All fields are resolved and all values are parsed, so evaluation of either tree cannot fail. Only the reference evaluator and
//! `why` evaluate operators. All other code evaluates tests.
//!
//! | task | file |
//! |---|---|
//! | the trees and their leaves | `tree` |
//! | sets of values, one file for each kind | `set`, with `intervals`, `points`, `text_pattern` |
//! | lowering: from the syntax tree to a typed tree | `lower`, with `reading` for the operands of ordered types |
//! | the normal form | `optimize` |
//! | necessary conditions of tests of elements | `necessary` |
//! | print a normal form as JSON, as text, or as a plan | `print` |
//! | warnings | `lint` |
//! | the path of each node in the body | `places` |
//! | the fields in which a filter searches, and the strings for which it searches, for hints | `asked` |
//! | leave out the criteria on one field, for counts by value | `apart` |

mod apart;
mod asked;
mod intervals;
mod lint;
mod lower;
mod necessary;
mod optimize;
mod places;
mod points;
mod print;
mod reading;
mod set;
mod text_pattern;
mod tree;

pub(crate) use self::apart::{Apart, apart, names_of};
#[cfg(feature = "store")]
pub(crate) use self::asked::named;
pub(crate) use self::asked::{Asked, asked};
pub(crate) use self::intervals::{Intervals, in_ranges};
pub(crate) use self::lint::{MOST_WARNINGS, lint};
pub use self::lint::{Warning, WarningKind};
pub(crate) use self::lower::{compile, lower, rounded_numbers};
pub(crate) use self::necessary::with_necessary_conditions;
pub(crate) use self::optimize::{joined, normalize};
pub(crate) use self::places::Places;
pub(crate) use self::points::Points;
#[cfg(feature = "sql")]
pub(crate) use self::print::bound;
pub(crate) use self::print::{Line, PrintedNode, body_json, criteria, json_string, lines, plan, text};
pub(crate) use self::set::Set;
pub(crate) use self::text_pattern::{Matcher, TextPattern};
pub(crate) use self::tree::{Children, Comparison, Elements, Leaf, Node, Rounded, Test, Tree, Written};
