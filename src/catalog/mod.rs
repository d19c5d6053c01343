//! Catalogues: the fields of documents with their types and paths, and the fields that requests may name.

mod array_names;
mod arrays;
mod cases;
mod catalogue;
mod error;
mod field;
mod file;
mod grammar;
mod id;
mod names;
mod parse_name;
mod paths;
mod resolve;
#[cfg(feature = "serde")]
mod serialized;
mod stray;
#[cfg(test)]
mod tests;
mod timestamp_form;
mod within;

pub(crate) use arrays::{ArrayId, ElementArray};
pub use catalogue::Catalog;
pub use error::CatalogError;
pub use field::Field;
pub(crate) use grammar::Grammar;
pub use id::FieldId;
pub use parse_name::ParseNameError;
pub(crate) use paths::{PathId, Paths, Shape};
pub use resolve::resolve_field;
pub(crate) use stray::Stray;
pub use timestamp_form::TimestampForm;

pub use crate::value::{FieldType, IdType};
