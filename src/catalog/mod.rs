//! Catalogues: the fields of documents with their types and paths, and the fields that requests may name.
//!
//! | task | file |
//! |---|---|
//! | the types | `catalogue`, `field`, `id`, `timestamp_form`, `grammar`, `error` |
//! | the fields of cases | `cases` |
//! | look up names and paths | `names`, `paths`, `resolve` |
//! | arrays of objects, and their names | `arrays`, `array_names` |
//! | catalogue files in TOML and JSON | `file` |
//! | catalogues in serde; the names of types and operators | `serialized`; `parse_name` |
//! | compare catalogues | `within` |
//! | recognise misspelt members of documents | `stray` |

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
