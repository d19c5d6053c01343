//! Answering a predicate on a batch.

mod evaluate;
mod kernels;
mod plan;
pub mod reference;

pub(crate) use evaluate::select;
