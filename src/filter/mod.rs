//! Compiled filters, and requests that have one.
//!
//! [`builder`] compiles a [`Filter`] from a body or a text, [`build`] makes one of values or of other filters, and [`written`] gives its
//! criteria as written, for warnings, `why` and the reference evaluator. A [`FilterCache`] finds filters by the bytes of their
//! bodies. A [`SearchRequest`] is a filter, an [`Order`] and a page, before an engine answers it.

mod build;
mod builder;
mod bytes;
mod cache;
mod compiled;
mod identity;
mod limits;
pub(crate) mod order;
mod params;
mod request;
#[cfg(test)]
mod tests;
mod written;

pub use self::builder::FilterBuilder;
pub(crate) use self::bytes::utf8;
pub use self::cache::{CacheStats, FilterCache};
pub use self::compiled::Filter;
pub use self::order::{Direction, Order};
pub use self::params::{DEFAULT_PAGE, Paging, SearchParams};
pub use self::request::SearchRequest;
pub(crate) use crate::predicate::{Asked, Warning, WarningKind};
