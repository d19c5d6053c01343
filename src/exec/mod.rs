//! Answering a predicate on a batch.

mod evaluate;
mod explain;
mod few;
mod kernels;
mod machine;
mod plan;
mod program;
mod query;
mod ranges;
mod ready;
pub mod reference;
mod rows;
mod scan;
mod source;
mod spread;
mod trace;

pub(crate) use evaluate::Selected;
pub use explain::Means;
pub(crate) use explain::{Explained, Measured, explain, measure};
pub(crate) use query::{Known, Query, counted_strings, find_keys};
pub(crate) use ready::Ready;
pub(crate) use rows::Rows;
pub(crate) use scan::{Collector, Need, Scan, Visit};
pub(crate) use spread::Spread;
#[cfg(feature = "parallel")]
pub(crate) use trace::Notes;
pub use trace::Work;
pub(crate) use trace::{Clock, Trace};
