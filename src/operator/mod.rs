//! The operators of criteria, in one table.
//!
//! # Model
//!
//! A field criterion compares *V*, the set of the values that a case has in a field, with the *operands*: the values of the
//! criterion, at least one, all of the field's type. V may be empty. Each operator is one name and one row
//! of the table ([`table`]), and that is all that the rest of the crate knows about the operator:
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
//! # Files of a new operator
//!
//! An operator with a known shape: the variant, its name and its row in `table`; the table of operators in `README.md`, the
//! list in `service/openapi.json`, and `fuzz/criteria.dict`, which `tests` holds to the rows; and the third evaluator, in
//! `tests/world`.
//!
//! A new kind of set besides: its pattern in `shape`; `predicate/set.rs`, with a file of its own for the members, such as
//! `predicate/intervals.rs`; `predicate/print/body.rs`, where sets become criteria again; `exec/plan/leaf.rs` and
//! `exec/query.rs`, where sets meet columns and indexes; `column/dictionary.rs` for strings; `sql/test.rs` and a method of
//! `sql/dialect`.
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
