//! Reasons why a set of fields is no catalogue.

use std::fmt;

use super::field_type::FieldType;
use crate::error::quote;

/// Why a set of fields is no catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatalogError {
    /// Two fields, or a field and an alias, have this name.
    DuplicateName(String),
    /// The path is empty, has an empty segment, or `[]` stands elsewhere than behind a segment.
    BadPath(String),
    /// The path runs through, or treats as another shape, what another field's path uses.
    PathConflict(String),
    /// The name in an allow-list is no field; the second is the nearest that is.
    UnknownField(String, Option<String>),
    /// A setting that fields of this type, or with many values, do not have.
    NotForType {
        /// The name of the field.
        field: String,
        /// The method of [`Field`](super::Field) that made the setting, such as `unix_millis`.
        setting: &'static str,
        /// The fields that have the setting, such as `timestamp fields`.
        expected: &'static str,
        /// The type of this field.
        kind: FieldType,
        /// Whether it has many values.
        is_many: bool,
    },
    /// `id` must be a plain string field without known values or default.
    BadIdentity,
    /// More than 65,535 fields.
    TooManyFields,
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName(name) => write!(f, "two fields are named {}", quote(name)),
            Self::BadPath(path) => write!(
                f,
                "found path {}, expected keys joined by dots, `[]` behind each key that holds an array",
                quote(path)
            ),
            Self::PathConflict(path) => {
                write!(f, "path {} needs another shape where another field's path lies", quote(path))
            }
            Self::UnknownField(name, None) => write!(f, "{} is not a field", quote(name)),
            Self::UnknownField(name, Some(near)) => {
                write!(f, "{} is not a field; did you mean {}?", quote(name), quote(near))
            }
            Self::NotForType { field, setting, expected, kind, is_many } => {
                let many = if *is_many { " with many values" } else { "" };
                write!(
                    f,
                    "`{setting}` is for {expected}, found it on {}, which is a {kind} field{many}",
                    quote(field)
                )
            }
            Self::BadIdentity => f.write_str("field `id` must be a plain string at path `id`"),
            Self::TooManyFields => f.write_str("more than 65,535 fields"),
        }
    }
}

impl std::error::Error for CatalogError {}
