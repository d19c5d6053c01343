//! Answering a predicate on a batch.

mod evaluate;
mod kernels;
mod plan;
mod program;
mod query;
pub mod reference;
mod rows;
mod source;

pub(crate) use evaluate::{Selected, select};
pub(crate) use query::Query;
pub(crate) use rows::Rows;
