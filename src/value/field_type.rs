//! The types of fields: string, number, integer, decimal, timestamp and boolean.
//!
//! # How to add an ordered type
//!
//! To add an ordered type, change the files below. To find the lists of types in docs, help and tests, use `grep -rli decimal src
//! docs tests README.md`. If the type stands for times, also use `grep -rlE '(FieldType|Value|OrderedType)::Timestamp' src`. Many
//! places match with an arm `_`, so the compiler does not report them.
//!
//! Days in documents need no type of their own: they are a form of timestamps (`catalog/timestamp_form.rs`).
//!
//! - `value/field_type.rs`: the enum below;
//! - `value/{ordered,literal,convert}.rs`, and a new file for the text form of the values, such as `value/datetime.rs`;
//! - `ingest/ordered_form.rs`: the forms of the values in JSON;
//! - `predicate/lower/operand.rs`: the operands of filters; `filter/build.rs` (`of_other_types`), if the type is numeric;
//! - `criteria/advice.rs` (`Holds`, and the advice for foreign spellings) and `filter/completions.rs` (suggested values);
//! - `catalog/file/words.rs`: the advice for type names of other systems; `catalog/serialized.rs`: the names of types in messages;
//! - `error.rs` and `envelope/error_codes.rs`: the kind of error for a malformed value;
//! - `arrow/{value,leaf}.rs` and `sql/datum.rs`: the types of columns;
//! - `sql/{copy,dialect/*}.rs`, `postgres/{parameter,check}.rs`, `bin/casefilter/output/rows/flat_parquet.rs` and
//!   `tests/sql/tokens.rs`, if no SQL type of another field type fits;
//! - `catalog/{field,parse_name}.rs` and `catalog/file/{fields,values,write}.rs`, if the type has a property such as a scale;
//! - `bin/casefilter/output/case_table.rs`, if the values are aligned to the right in tables;
//! - `service/openapi.rs`: the type in the schema of values;
//! - `facet/{definition,parse,json}.rs`, `engine/search/facets/stats.rs`, `exec/reference/facets.rs`, `sql/facets.rs`,
//!   `scan/count.rs`, `postgres/facets.rs` and `bin/casefilter/commands/complete.rs`: counts by value, histograms and statistics;
//! - `store/FORMAT.md`: the names of types;
//! - `batch/codec.rs` (`check_stored_batch`), `column/merge.rs` and `tests/world`: the tests.

use std::borrow::Cow;
use std::fmt;

use super::decimal::Decimal;

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
    /// Exact decimal numbers with a fixed count of digits after the point, such as amounts of money.
    Decimal {
        /// The count of digits after the point, at most 18. The values are the integers of 64 bits, divided by 10^scale.
        scale: u8,
    },
    /// Instants in milliseconds since 1970-01-01 00:00:00 UTC. Documents have them as text, such as `2026-01-31 09:30:00`, unless
    /// the field has another [`TimestampForm`](crate::TimestampForm).
    Timestamp,
    /// `true` and `false`.
    Boolean,
}

impl FieldType {
    /// One type for each [name](Self::name). The decimal types of all scales have one name, so only the type of scale 0 is listed.
    pub(crate) const ALL: [Self; 6] = [
        Self::String,
        Self::Number,
        Self::Integer,
        Self::Decimal { scale: 0 },
        Self::Timestamp,
        Self::Boolean,
    ];

    /// Returns the name of the type in messages and listings, without the scale of a decimal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Decimal { .. } => "decimal",
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
            Self::Decimal { .. } => "a decimal",
            Self::Timestamp => "a timestamp",
            Self::Boolean => "a boolean",
        }
    }

    /// Returns the description of the text form that values of the type have in criteria, for messages.
    pub(crate) fn expected(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::String => "a string",
            Self::Number => "a finite number such as `12`, `-0.5` or `1e3`",
            Self::Integer => "an integer of 64 bits such as `12` or `-5`",
            Self::Decimal { scale } => return Cow::Owned(of_scale(scale)),
            Self::Timestamp => "`yyyy-MM-dd HH:mm:ss`, perhaps with an offset such as `+0200`",
            Self::Boolean => "`true` or `false`",
        })
    }

    /// Returns true if the operators `>`, `>=`, `<` and `<=` apply to the type.
    #[cfg(feature = "sql")]
    pub(crate) fn is_ordered(self) -> bool {
        matches!(self, Self::Number | Self::Integer | Self::Decimal { .. } | Self::Timestamp)
    }
}

impl fmt::Display for FieldType {
    /// Prints the name, and the scale of a decimal: `decimal(2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal { scale } => write!(f, "{}({scale})", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

/// Returns the description of the decimals of a scale, for messages.
pub(crate) fn of_scale(scale: u8) -> String {
    let [least, greatest] = [i64::MIN, i64::MAX].map(|ordinal| Decimal::of_ordinal(ordinal, scale));
    match scale {
        0 => format!("a number without digits after the point, from {least} to {greatest}"),
        1 => format!("a number with at most 1 digit after the point, from {least} to {greatest}"),
        _ => format!("a number with at most {scale} digits after the point, from {least} to {greatest}"),
    }
}
