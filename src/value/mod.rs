//! Typed values of criteria and of documents.

mod convert;
mod datetime;
mod fold;
mod integer;
mod literal;
mod number;
mod ordered;
mod precision;
mod respell;
mod rfc3339;
#[cfg(feature = "serde")]
mod serialized;
mod words;

pub use convert::{ParseNumberError, TimestampRangeError};
pub use datetime::{ParseTimestampError, Timestamp};
pub(crate) use fold::{fold, words};
pub(crate) use integer::parse_integer;
pub use literal::Value;
pub use number::Number;
pub(crate) use ordered::{OrderedType, OrdinalRange, ValueClass};
pub(crate) use respell::Span;
pub(crate) use words::{is_bare_char, is_bare_word, is_reserved_word};
