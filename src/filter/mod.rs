//! Compiles, joins, caches and compares filters, and builds the search requests that contain them.
//!
//! - [`builder`] compiles a [`Filter`] from a JSON body or a filter text.
//! - [`build`] creates a filter from values or from other filters.
//! - [`Criteria`] are built in Rust from names of fields and values.
//! - A [`Document`] is parsed once, and then tested by many filters.
//! - A [`FilterTree`] is the normal form as a tree of criteria, which hosts can walk.
//! - [`written`] returns the criteria of a filter as written, for warnings, `why` and the reference evaluator.
//! - [`Completions`] are the words that can come next at an offset in a filter text.
//! - A [`FilterCache`] caches filters by the bytes of their bodies.
//! - A [`SearchRequest`] is a filter, an [`Order`] and a page. A [`Cursor`] is the position at the end of a page.

mod apart;
mod build;
mod builder;
mod bytes;
mod cache;
mod compiled;
mod completions;
mod criteria;
mod cursor;
mod document;
mod elements;
mod identity;
mod kept;
mod limits;
mod narrowed;
pub(crate) mod order;
mod params;
mod patterns;
mod prepared;
mod program;
mod request;
#[cfg(feature = "serde")]
mod serialized;
#[cfg(test)]
mod tests;
mod tree;
mod written;

pub(crate) use self::apart::FilterApart;
pub use self::builder::FilterBuilder;
pub(crate) use self::bytes::utf8;
pub use self::cache::{CacheStats, FilterCache};
pub use self::compiled::Filter;
pub use self::completions::{Completion, CompletionKind, Completions};
pub use self::criteria::{Criteria, FieldName, field};
pub use self::cursor::Cursor;
pub use self::document::Document;
pub use self::order::{Direction, Order};
pub use self::params::{DEFAULT_PAGE, Paging, SearchParams};
pub(crate) use self::prepared::PreparedFilter;
pub use self::request::SearchRequest;
pub use self::tree::{FieldTest, FilterNode, FilterNodes, FilterTree, TestValue};
pub use self::written::FilterSource;
pub(crate) use crate::predicate::{Asked, Warning, WarningKind};
