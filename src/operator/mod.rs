//! The operators of criteria, in one table.
//!
//! # Model
//!
//! A field criterion compares two sets. *V* is the set of the values that a case has in the field; it may be empty. The
//! *operands* are the values of the criterion; there is at least one, and all are of the field's type.
//!
//! Each operator is one row of the table in [`table`]. The rest of the crate reads only the columns of that row:
//!
//! | column | read by |
//! |---|---|
//! | [`name`](Operator::name), the spelling in JSON | both parsers of JSON bodies, the printers, `why`, messages |
//! | [`words`](Operator::words), the spellings in the text syntax | the parser of texts; the printers take the first one |
//! | [`synonyms`](Operator::meant_by), the spellings in other languages | suggestions for a misspelt operator |
//! | [`arity`](Operator::arity) | the parsers |
//! | [`types`](Operator::applies_to) | lowering |
//! | [`operands`](Operator::operands), their type | lowering |
//! | [`is_extended`](Operator::is_extended) | both parsers of JSON bodies |
//! | [`shape`](Operator::shape): a [`Quantifier`] and a [`Pattern`] | lowering, lint, hints, the printers, suggestions for spans of time |
//! | [`holds`](Operator::holds), the evaluation for operands and V | the reference evaluator and `why` |
//! | [`sql`](Operator::sql), the comparison sign of SQL | SQL conditions |
//!
//! # Shape
//!
//! The shape defines the meaning of an operator. Its pattern turns the operands into a set S of values; its quantifier is the
//! relation between V and S that must hold:
//!
//! ```text
//! criterion              pattern   S           quantifier   the criterion is true when
//! status = open          points    {open}      Any          V and S share a value
//! status <> open         points    {open}      None         V and S share no value; so also when V is empty
//! amount > 5             ray       (5, max]    Any          V and S share a value
//! tags $all (a, b)       points    {a, b}      All          every value of S is in V
//! name is present        present   all strings Any          V is not empty
//! name starts with Gar   prefixes  Gar…        Any          V and S share a value
//! ```
//!
//! Lowering turns the shape into a [`Test`](crate::predicate::Test) on a [`Set`](crate::predicate::Set). The later stages (the
//! optimiser, the engine and SQL) handle only quantifiers and sets, not operators.
//!
//! # How to add an operator
//!
//! If its shape consists of an existing quantifier and an existing pattern, change these files:
//!
//! - `table`: the variant, its name and its row;
//! - the table of operators in `README.md`, the list in `service/openapi.json`, and `fuzz/criteria.dict`; `tests` compares
//!   them with the rows;
//! - the third evaluator, in `tests/world`.
//!
//! If it needs a new kind of set, such as all strings with a prefix, also change these files:
//!
//! - `shape`: its pattern;
//! - `predicate/set.rs`, and a file for the members such as `predicate/intervals.rs`;
//! - `predicate/print/body.rs`, which prints sets as criteria;
//! - `exec/plan_leaf.rs` and `exec/query.rs`, which evaluate sets on columns and indexes, and `column/dictionary.rs` for strings;
//! - `sql/condition.rs` or `sql/pattern.rs`, and a method of `sql/dialect`.
//!
//! # Invariants
//!
//! - `holds` and `shape` agree for every operand and every V. Both exist on purpose: `holds` is the oracle that tests compare
//!   the compiled shape with.
//! - No two rows share a name or a word.
//! - Rows are in the order in which messages list them.
//! - A criterion without errors has exactly one operand if its operator has [`Arity::One`].

mod connective;
mod lookup;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod value_set;

pub(crate) use self::connective::{Complex, Connective, Grammar, Syntax};
pub(crate) use self::shape::{Arity, Operands, Pattern, Quantifier, Ray, Shape, Side};
pub use self::table::Operator;
pub(crate) use self::value_set::ValueSet;
