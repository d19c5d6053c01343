//! The errors that occur when a catalogue is created, grown or narrowed.

use std::fmt;

use crate::error::quote;
use crate::value::{FieldType, MAX_SCALE};

/// An error that occurs when a catalogue is created, grown or narrowed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CatalogError {
    /// Two fields, or a field and an alias, have this name.
    DuplicateName(String),
    /// The path is empty, has an empty segment, or has `[]` elsewhere than at the end of a segment.
    BadPath(String),
    /// The path conflicts with the path of another field. At the same position in a document, one field needs a value, and the
    /// other field needs an object or an array.
    PathConflict(String),
    /// A name in an allow-list (the first value) is not a field. The second value is the most similar field name, if there is one.
    UnknownField(String, Option<String>),
    /// A name (the first value) is not the path of an array of objects. The second value is the most similar path, if there is one.
    UnknownArray(String, Option<String>),
    /// A setting that does not exist for fields of this type, for multi-valued fields, or for fields below an array of objects.
    NotForType {
        /// The name of the field.
        field: String,
        /// The method of [`Field`](super::Field) that was called, such as `unix_millis`.
        setting: &'static str,
        /// The fields that have the setting, such as `timestamp fields`.
        expected: &'static str,
        /// The type of this field.
        kind: FieldType,
        /// True if the field is multi-valued.
        is_many: bool,
    },
    /// A wrong known value: it is repeated, or is not a value of the field's type. Or a wrong default: it is not a value of the
    /// field's type, or is not among the known values.
    BadSetting {
        /// The name of the field.
        field: String,
        /// The method of [`Field`](super::Field) that was called: `with_known` or `with_default`.
        setting: &'static str,
        /// The value.
        value: String,
        /// The expected values, such as `one of the known values`.
        expected: String,
    },
    /// The scale of a decimal field is greater than 18.
    BadScale {
        /// The name of the field.
        field: String,
        /// The scale.
        scale: u8,
    },
    /// The field `id` is not a plain string field: it has another type, is multi-valued, or has a setting other
    /// than `key` and `searchable`.
    BadIdField,
    /// The name of the id is empty, or contains `.` or `[]`. The id must be a member of the document itself.
    BadIdName(String),
    /// There are more than 65,535 fields.
    TooManyFields,
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName(name) => write!(f, "two fields are named {}", quote(name)),
            Self::BadPath(path) => write!(
                f,
                "found path {}, expected keys joined by dots, `[]` after each key that holds an array",
                quote(path)
            ),
            Self::PathConflict(path) => {
                write!(
                    f,
                    "path {} needs a value of another shape than the path of another field",
                    quote(path)
                )
            }
            Self::UnknownField(name, None) => write!(f, "{} is not a field", quote(name)),
            Self::UnknownField(name, Some(near)) => {
                write!(f, "{} is not a field; did you mean {}?", quote(name), quote(near))
            }
            Self::UnknownArray(name, near) => {
                write!(f, "{} is not an array of objects", quote(name))?;
                near.as_ref().map_or(Ok(()), |near| write!(f, "; did you mean {}?", quote(near)))
            }
            Self::NotForType { field, setting, expected, kind, is_many } => {
                write!(f, "`{setting}` is only for {expected}, but {} is ", quote(field))?;
                if *is_many {
                    write!(f, "a multi-valued {kind} field")
                } else {
                    write!(f, "{} field", kind.with_article())
                }
            }
            Self::BadSetting { field, setting, value, expected } => {
                write!(f, "found {} in `{setting}` of {}, expected {expected}", quote(value), quote(field))
            }
            Self::BadScale { field, scale } => {
                write!(f, "found the scale {scale} of {}, expected at most {MAX_SCALE}", quote(field))
            }
            Self::BadIdField => f.write_str("field `id` must be a plain string at path `id`"),
            Self::BadIdName(name) => write!(
                f,
                "found id {}, expected one key without `.` and `[]`: the id is a member of the document itself",
                quote(name)
            ),
            Self::TooManyFields => f.write_str("more than 65,535 fields"),
        }
    }
}

impl std::error::Error for CatalogError {}
