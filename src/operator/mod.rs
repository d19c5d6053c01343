//! The operators of criteria, in one table.
//!
//! # Model
//!
//! A field criterion compares *V*, the set of the values that a case has in a field, with the *operands*: the values of the
//! criterion, at least one, all of the field's type. V may be empty. Each operator is one row of the table
//! ([`table`]), and the row is all that the rest of the crate knows about the operator:
//!
//! | column | read by |
//! |---|---|
//! | [`name`](Operator::name), as JSON spells it | both parsers of JSON bodies, the printers, `why`, messages |
//! | [`words`](Operator::words), as the text syntax spells it | the parser of texts; the printers take the first one |
//! | [`synonyms`](Operator::meant_by), as other languages spell it | suggestions for a misspelt operator |
//! | [`arity`](Operator::arity) | the parsers |
//! | [`types`](Operator::applies_to) | lowering |
//! | [`shape`](Operator::shape): a [`Quantifier`] and a [`Pattern`] | lowering, lint, hints, the printers, suggestions for spans of time |
//! | [`holds`](Operator::holds), the truth for operands and V | the reference evaluator and `why` |
//! | [`sql`](Operator::sql), the comparison sign of SQL | SQL conditions |
//!
//! # Shape
//!
//! The operands and the pattern make a set S of values; the quantifier is the relation between V and S. Lowering turns that into a
//! [`Test`](crate::predicate::Test) on a [`Set`](crate::predicate::Set), and from there on no stage knows operators: the
//! optimiser, the engine and SQL see a quantifier and a set. So an operator whose shape consists of a known quantifier and a
//! known pattern is one row. One that makes a new kind of set, such as all strings with a prefix, is a row, a pattern, and that
//! kind of set wherever sets are evaluated.
//!
//! # Invariants
//!
//! - `holds` and `shape` agree for every operand and every V; they are written twice on purpose, because the first is the
//!   oracle for what the second compiles to. `tests` holds them equal.
//! - No two rows share a name or a word.
//! - Rows stand in the order in which messages list them.
//! - Every operator with [`Arity::One`] has one operand only in a criterion without errors.

mod connective;
mod lookup;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod value_set;

pub(crate) use self::connective::{Connective, Syntax};
pub(crate) use self::shape::{Arity, Pattern, Quantifier, Ray, Shape, Side};
pub use self::table::Operator;
pub(crate) use self::value_set::ValueSet;
