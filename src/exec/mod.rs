//! Answering a predicate on a batch.

mod evaluate;
mod kernels;
mod plan;
mod query;
pub mod reference;
mod rows;

pub(crate) use evaluate::select;
pub(crate) use query::Query;
pub(crate) use rows::Rows;
