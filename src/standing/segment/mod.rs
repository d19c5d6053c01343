//! Segments: immutable sets of filters, with the index that finds the filters that select a case.
//!
//! ```text
//! filter ─ rules ─▶ conjunctions ─ compile ─▶ programs of steps ─ keys, filing ─▶ tree: atoms and ranges ─▶ rules
//! case ─ truths ─▶ atoms that hold, ordinals ─ lookup ─▶ rules that may hold ─ program ─▶ expressions ─▶ names
//! ```
//!
//! | term | meaning |
//! |---|---|
//! | atom | a condition on one string or boolean: equal to, starts with, contains, has the word |
//! | rule | a conjunction of tests; the program that evaluates it |
//! | expression | the rules of a normal form, which is true if one of them holds; equal filters share it |
//! | key | an atom or a range without which a rule cannot hold, and by which it is found |
//! | other test | a test that the evaluator of documents evaluates, at most once for a case: tests of elements, `$match` on lists |

mod atoms;
mod builder;
mod compile;
mod count;
mod filing;
mod keys;
mod lookup;
mod names;
mod patterns;
mod program;
mod rules;
#[expect(clippy::module_inception, reason = "the folder is about segments, and this file has the type")]
mod segment;
#[cfg(test)]
mod tests;
mod truths;

pub(super) use self::builder::Builder;
pub(super) use self::names::Watched;
pub(super) use self::segment::{Scratch, Segment};
