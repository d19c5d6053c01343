//! The table of operators of criteria, such as `=`, `$contains` and `$startsWith`. To add an operator, follow the section
//! [How to add an operator](#how-to-add-an-operator) below.
//!
//! # Model
//!
//! A field criterion compares two sets. *V* is the set of the values that a document has in the field. V may be empty. The
//! *operands* are the values that the criterion gives, at least one. Most operators take operands of the field's type.
//!
//! Each operator is one row of the table in [`table`]. The rest of the crate reads the columns of that row:
//!
//! | column | read by |
//! |---|---|
//! | [`name`](Operator::name), the spelling in JSON | both parsers of JSON bodies, the printers, `why`, messages |
//! | [`words`](Operator::words), the spellings in the text syntax | the text parser; the printers write the first spelling |
//! | [`synonyms`](Operator::meant_by), the names in other languages | suggestions for an unknown operator |
//! | [`arity`](Operator::arity) | the parsers |
//! | [`types`](Operator::applies_to) | lowering |
//! | [`operands`](Operator::operands), the kind of operands | lowering |
//! | [`is_extended`](Operator::is_extended) | both parsers of JSON bodies |
//! | [`shape`](Operator::shape): a [`Quantifier`] and a [`Pattern`] | lowering, warnings, hints, printers, suggestions |
//! | [`holds`](Operator::holds), the evaluation on operands and V | the reference evaluator and the function `reference::why` |
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
//! status <> open         points    {open}      None         V and S share no value, or V is empty
//! amount > 5             ray       (5, max]    Any          V and S share a value
//! tags $all (a, b)       points    {a, b}      All          every value of S is in V
//! name is present        present   all strings Any          V is not empty
//! name starts with Gar   prefixes  Gar…        Any          V and S share a value
//! ```
//!
//! Lowering turns the shape and the operands into a [`Test`](crate::predicate::Test) on a [`Set`](crate::predicate::Set). The
//! later stages (the optimiser, the engine and SQL) handle only quantifiers and sets, not operators.
//!
//! # How to add an operator
//!
//! The compiler does not report every place that must change. These lists name the main files, and files that a search for an
//! existing operator does not find. To find the rest, use `grep -rlE 'startsWith|StartsWith|Prefixes' src docs tests fuzz
//! README.md`. Paths are below `src` unless they begin with another folder of the repository.
//!
//! **Every operator.** Change these files:
//!
//! - `operator/table.rs`: the variant, its name and its row;
//! - `criteria/text/operator.rs` (`two_words`) and `criteria/text/place.rs` (`after_words`), if its spelling in the text syntax has
//!   two words, such as `starts with`. In this case, also change the grammar in the head of `criteria/text/mod.rs`;
//! - `criteria/advice.rs`, if `FOREIGN_OPERATORS` already contains a name that other languages use for the operator. Change that
//!   entry: it has priority over the synonyms in the row of the operator;
//! - `criteria/foreign_search.rs` and `criteria/unsupported.rs`, if the operator searches inside strings. Remove the variants of
//!   `Search` and `Unsupported` that say that it does not exist, such as `Ending`;
//! - `filter/criteria.rs`: a method of the builder of criteria;
//! - `README.md` (table of operators), `service/openapi.json` and `fuzz/criteria.dict`, which `operator/tests.rs` compares with the
//!   rows; `docs/guide/criteria.md`; the table in `sql/mod.rs`;
//! - `tests/world/plain.rs`, an evaluator that shares no code with the library, and `tests/world/generate.rs`, which generates
//!   random filters;
//! - the tests that list operators: `criteria/text/tests.rs`, `filter/completions.rs`, `tests/suggestions.rs`,
//!   `tests/data/errors.txt`.
//!
//! **An extended operator.** Also change the lists of extended operators: `catalog/catalogue.rs`, `catalog/field.rs` for searches
//! in strings, `bin/casefilter/input/selection.rs`, `bin/casefilter/commands/{serve,bench}.rs`, `docs/service.md` and
//! `docs/command-line.md`.
//!
//! **A new pattern of strings**, such as all strings with a given prefix. Also change these files:
//!
//! - `operator/shape.rs`: the variant of [`Pattern`]; its arm in `operator/tests.rs`;
//! - `predicate/set.rs` (`matching`), which applies a pattern to operands;
//! - `predicate/text_pattern.rs`: the variant, its operations and its [`Matcher`](crate::predicate::Matcher);
//! - `predicate/print/body.rs`, which prints sets as criteria;
//! - `exec/pattern_codes.rs`, which finds the matching strings of a column's dictionary, and `column/dictionary.rs` if the order of
//!   the strings helps. The head of `column/substring_index.rs` proves that its index finds every match: extend the proof;
//! - `standing/segment/atoms.rs` and `standing/segment/patterns.rs`, which index the patterns of standing filters;
//! - `sql/pattern.rs`, `sql/statement.rs` (`OperandTest`), and a method with a default implementation in `sql/dialect/syntax.rs`.
//!   Override the method in the file of each dialect that needs other SQL.
//!
//! **A new kind of set**, that is, a variant of [`Set`](crate::predicate::Set). Also change these files:
//!
//! - `operator/shape.rs`: the variant of [`Pattern`]; its arm in `operator/tests.rs`;
//! - `predicate/set.rs`, and a file for the members of such sets, like `predicate/intervals.rs`;
//! - `predicate/print/body.rs`, which prints sets as criteria;
//! - `exec/index_lookup.rs` and `exec/plan_leaf.rs`, which evaluate sets on the index and on columns;
//! - `sql/value_condition.rs`, and a method in `sql/dialect/syntax.rs`.
//!
//! # Invariants
//!
//! - `holds` and `shape` give the same result for all operands and every V. Both exist on purpose: `holds` is the oracle that
//!   tests compare the compiled shape with.
//! - No two operators share a name or a word.
//! - Operators are declared in the order in which messages list them.
//! - A criterion without errors has exactly one operand if its operator has [`Arity::One`].

mod connective;
mod lookup;
#[cfg(feature = "serde")]
mod serialized;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod value_set;

pub(crate) use self::connective::{Complex, Connective, Language, Syntax};
pub(crate) use self::shape::{Arity, Operands, Pattern, Quantifier, Ray, Shape, Side};
pub use self::table::Operator;
pub(crate) use self::value_set::ValueSet;
pub(crate) use crate::catalog::Grammar;
