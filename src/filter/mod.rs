//! Compiled filters, and requests that have one.
//!
//! [`compile`] makes a [`Filter`] of a body or a text, [`build`] makes one of values or of other filters, and [`written`] gives its
//! criteria as written, for warnings, `why` and the reference evaluator. A [`FilterCache`] finds filters by the bytes of their
//! bodies. A [`Request`] is a filter, an [`Order`] and a page, before an engine answers it.

mod build;
mod bytes;
mod cache;
mod compile;
mod compiled;
mod limits;
pub(crate) mod order;
mod request;
#[cfg(test)]
mod tests;
mod written;

pub(crate) use self::bytes::utf8;
pub use self::cache::{CacheStats, FilterCache};
pub use self::compiled::Filter;
pub use self::order::{Direction, Order};
pub use self::request::{DEFAULT_PAGE, Params, Request};
pub(crate) use crate::predicate::{Asked, Warning, WarningKind};
