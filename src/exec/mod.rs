//! Evaluates a predicate on the batches of a snapshot.
//!
//! A [`Query`] is a predicate whose leaves were looked up once in the index over all batches. For each batch, the query is
//! planned as steps, and the steps are laid out as a program. Execution of the program gives a set of rows:
//!
//! | stage | file |
//! |---|---|
//! | look leaves up in the index; exclude batches by zone maps | `index_lookup`, `query`, `pruning` |
//! | visit the remaining batches, and collect the rows that the query selects there | `scan` |
//! | choose an access path for each leaf, and the order of evaluation | `plan_leaf`, `plan` |
//! | the types of a plan: steps, access paths, costs | `step`, `access_path`, `cost` |
//! | find the strings of a dictionary that match a pattern | `pattern_codes` |
//! | find the values in ranges by zone map and sorted rows | `ranges` |
//! | test the elements of arrays of objects | `elements`, `element_tests` |
//! | test the values of a column | `value_test` |
//! | lay the steps out as a tree of connectives and operands | `program` |
//! | combine the operands, which are sets of [`rows`](crate::rows) | `executor`, with `groups`, `few_rows`, `scratch` |
//! | compute operands from columns | `write_rows`; to count them without a bitmap, `count_beside` |
//! | select, count, or test single rows | `evaluate` |
//!
//! There are three special paths: `row_at_a_time` (small batches with lazy columns), `range_count` (counts that need no plan) and
//! `scattered_rows` (top rows, which are in many batches). `explain` describes plans. `evaluate` passes the work of a search to
//! `trace`. `reference` is the oracle of tests.

mod access_path;
mod cost;
mod count_beside;
mod element_tests;
mod elements;
mod evaluate;
mod executor;
mod explain;
mod few_rows;
mod groups;
mod index_lookup;
mod pattern_codes;
mod plan;
mod plan_leaf;
mod program;
mod pruning;
mod query;
mod range_count;
mod ranges;
pub mod reference;
mod row_at_a_time;
mod scan;
mod scattered_rows;
mod scratch;
mod step;
mod trace;
mod value_test;
mod write_rows;

pub(crate) use count_beside::count_sorted;
pub(crate) use evaluate::Selected;
pub use explain::Means;
pub(crate) use explain::{Explained, Measured, explain, measure};
pub(crate) use index_lookup::find_keys;
pub(crate) use query::{Known, Query, counted_strings};
pub(crate) use range_count::RangeCount;
pub(crate) use scan::{Collector, Need, Scan, Visit};
pub(crate) use scattered_rows::ScatteredRows;
#[cfg(feature = "parallel")]
pub(crate) use trace::Notes;
pub use trace::Work;
pub(crate) use trace::{Clock, Trace};
