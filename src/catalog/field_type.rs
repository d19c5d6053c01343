//! The types of fields.
//!
//! # How to add an ordered type
//!
//! These files change:
//!
//! - `catalog/field_type.rs`, and `value/{ordered,literal,convert}.rs`, with a new file for its text form such as `value/datetime.rs`;
//! - `ingest/ordered_form.rs`: its JSON forms;
//! - `predicate/lower.rs`, `filter/builder.rs` (`Holds`) and `criteria/advice.rs`;
//! - `error.rs` and `envelope/error_codes.rs`: the kind of error for a malformed value;
//! - `arrow/{value,leaf}.rs` and `sql/datum.rs`;
//! - `batch/codec.rs` (`check_stored_batch`) and `tests/world`.

use std::fmt;

/// The type of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FieldType {
    /// Strings, compared by code points.
    String,
    /// Finite IEEE 754 doubles.
    Number,
    /// Integers of 64 bits, all exact.
    Integer,
    /// Instants in milliseconds.
    Timestamp,
    /// `true` and `false`.
    Boolean,
}

impl FieldType {
    /// All types.
    pub(super) const ALL: [Self; 5] =
        [Self::String, Self::Number, Self::Integer, Self::Timestamp, Self::Boolean];

    /// Returns the name that messages and listings use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Timestamp => "timestamp",
            Self::Boolean => "boolean",
        }
    }

    /// Returns true for the types that `>`, `>=`, `<` and `<=` apply to.
    #[cfg(feature = "sql")]
    pub(crate) fn is_ordered(self) -> bool {
        matches!(self, Self::Number | Self::Integer | Self::Timestamp)
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
