//! Typed values of criteria and of documents, with their parsers, printers and conversions.
//!
//! | task | file |
//! |---|---|
//! | the types of fields and of ids | `field_type`, `id_type` |
//! | ordered types and their ordinals | `ordered` |
//! | one value; the operands of a criterion | `literal`; `operand` |
//! | one type each: its values, parser and printer | `number`, `integer`, `decimal`, `datetime`, `id` |
//! | other forms of times in filter texts | `moment`, `rfc3339` |
//! | strings without case and accents | `fold` |
//! | words that need no quotes in the text syntax | `words` |
//! | corrections for malformed values; numbers that lose digits | `respell`; `precision` |
//! | sums of doubles that do not depend on their order | `exact_sum` |
//! | conversions from and to other Rust types; serde | `convert`; `serialized` |

mod convert;
mod datetime;
mod decimal;
mod exact_sum;
mod field_type;
mod fold;
mod id;
mod id_type;
mod integer;
mod literal;
mod moment;
mod number;
mod operand;
mod ordered;
mod precision;
mod respell;
mod rfc3339;
#[cfg(feature = "serde")]
mod serialized;
mod words;

pub use convert::{ParseNumberError, TimestampRangeError};
pub use datetime::{ParseTimestampError, Timestamp};
pub(crate) use decimal::MAX_SCALE;
pub use decimal::{Decimal, ParseDecimalError};
pub(crate) use exact_sum::{ExactSum, mean_of_ordinals};
pub use field_type::FieldType;
pub(crate) use fold::{fold, folded_starters, words};
pub(crate) use id::{canonical_id, part_of_id};
pub use id_type::IdType;
pub(crate) use integer::parse_integer;
pub use literal::Value;
pub(crate) use moment::{Clock, ParseMomentError, is_moment, is_shift, is_shiftable, parse_printed};
pub use number::Number;
pub(crate) use operand::Operand;
pub(crate) use ordered::{OrderedType, OrdinalRange, ValueClass};
pub(crate) use respell::Span;
pub(crate) use words::{is_bare_char, is_bare_word, is_reserved_value, is_reserved_word};
