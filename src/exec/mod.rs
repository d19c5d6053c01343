//! Answering a predicate on a batch.

mod access_path;
mod count_beside;
mod evaluate;
mod executor;
mod explain;
mod few_rows;
mod groups;
mod index_lookup;
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
mod write_rows;

pub(crate) use evaluate::Selected;
pub use explain::Means;
pub(crate) use explain::{Explained, Measured, explain, measure};
pub(crate) use index_lookup::find_keys;
pub(crate) use query::{Known, Query, counted_strings};
pub(crate) use range_count::Ready;
pub(crate) use scan::{Collector, Need, Scan, Visit};
pub(crate) use scattered_rows::Spread;
#[cfg(feature = "parallel")]
pub(crate) use trace::Notes;
pub use trace::Work;
pub(crate) use trace::{Clock, Trace};
