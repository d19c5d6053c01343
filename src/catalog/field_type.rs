//! The types of fields: string, number, integer, timestamp and boolean.
//!
//! # How to add an ordered type
//!
//! To add an ordered type, change these files:
//!
//! - `catalog/field_type.rs`: the enum below;
//! - `value/{ordered,literal,convert}.rs`, and a new file for the text form of the values, such as `value/datetime.rs`;
//! - `ingest/ordered_form.rs`: the forms of the values in JSON;
//! - `ingest/serialized.rs`: the values of Rust types that implement `Serialize`;
//! - `predicate/lower.rs` and `filter/build.rs` (`of_other_types`): the operands of filters;
//! - `criteria/advice.rs` (`Holds`, and the advice for foreign spellings) and `filter/completions.rs` (suggested values);
//! - `catalog/file/words.rs`: the advice for type names of other systems;
//! - `catalog/serialized.rs`, `store/FORMAT.md`, `docs/guide/catalogues.md`, `docs/command-line.md`: the lists of type names;
//! - `error.rs` and `envelope/error_codes.rs`: the kind of error for a malformed value;
//! - `arrow/{value,leaf}.rs` and `sql/datum.rs`: the types of columns;
//! - `bin/casefilter/output/case_table.rs`: the alignment of values in tables;
//! - `batch/codec.rs` (`check_stored_batch`) and `tests/world`: the tests.

use std::fmt;

/// The type of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FieldType {
    /// Strings, compared by code points.
    String,
    /// Finite IEEE 754 doubles.
    Number,
    /// Integers of 64 bits. Every such integer is exact.
    Integer,
    /// Instants in milliseconds since 1970-01-01 00:00:00 UTC.
    Timestamp,
    /// `true` and `false`.
    Boolean,
}

impl FieldType {
    /// All types.
    pub(super) const ALL: [Self; 5] =
        [Self::String, Self::Number, Self::Integer, Self::Timestamp, Self::Boolean];

    /// Returns the name of the type in messages and listings.
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

    /// Returns the name of the type after its indefinite article, for messages: `an integer`.
    pub(crate) fn with_article(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Number => "a number",
            Self::Integer => "an integer",
            Self::Timestamp => "a timestamp",
            Self::Boolean => "a boolean",
        }
    }

    /// Returns true if the operators `>`, `>=`, `<` and `<=` apply to the type.
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
