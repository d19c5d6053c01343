//! The value type: a string, a number, an integer, a decimal, a timestamp or a boolean.

use std::borrow::Cow;
use std::fmt;

use super::datetime::Timestamp;
use super::decimal::Decimal;
use super::field_type::FieldType;
use super::number::Number;

/// A value of a field.
///
/// Values of one type are ordered: strings by code point, numbers, integers and decimals by value, timestamps by time, `false`
/// before `true`. All values of one field are of the same variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A string. Two strings are equal if they have the same code points.
    String(Cow<'a, str>),
    /// A finite double.
    Number(Number),
    /// An integer of 64 bits.
    Integer(i64),
    /// An exact number with a fixed count of digits after the point.
    Decimal(Decimal),
    /// An instant with millisecond precision.
    Timestamp(Timestamp),
    /// `true` or `false`.
    Boolean(bool),
}

impl Value<'_> {
    /// Returns the type of this value.
    #[must_use]
    pub fn field_type(&self) -> FieldType {
        match self {
            Self::String(_) => FieldType::String,
            Self::Number(_) => FieldType::Number,
            Self::Integer(_) => FieldType::Integer,
            Self::Decimal(decimal) => FieldType::Decimal { scale: decimal.scale() },
            Self::Timestamp(_) => FieldType::Timestamp,
            Self::Boolean(_) => FieldType::Boolean,
        }
    }

    /// Returns the value with its string borrowed from this value.
    #[must_use]
    pub fn as_borrowed(&self) -> Value<'_> {
        match self {
            Self::String(text) => Value::String(Cow::Borrowed(text)),
            Self::Number(number) => Value::Number(*number),
            Self::Integer(integer) => Value::Integer(*integer),
            Self::Decimal(decimal) => Value::Decimal(*decimal),
            Self::Timestamp(timestamp) => Value::Timestamp(*timestamp),
            Self::Boolean(boolean) => Value::Boolean(*boolean),
        }
    }

    /// Copies a borrowed string, so that the value owns it.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::String(text) => Value::String(Cow::Owned(text.into_owned())),
            Self::Number(number) => Value::Number(number),
            Self::Integer(integer) => Value::Integer(integer),
            Self::Decimal(decimal) => Value::Decimal(decimal),
            Self::Timestamp(timestamp) => Value::Timestamp(timestamp),
            Self::Boolean(boolean) => Value::Boolean(boolean),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::String(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::String(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::String(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Value<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value<'_> {
    fn from(boolean: bool) -> Self {
        Self::Boolean(boolean)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(timestamp: Timestamp) -> Self {
        Self::Timestamp(timestamp)
    }
}

/// Converts a number. To convert a double, call [`Number::new`] first, because infinities and NaN are not numbers.
impl From<Number> for Value<'_> {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

/// Converts an integer to [`Value::Integer`]. A criterion on a number field also accepts this variant.
impl From<i64> for Value<'_> {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

/// Converts a decimal. A criterion on a number or integer field also accepts this variant.
impl From<Decimal> for Value<'_> {
    fn from(decimal: Decimal) -> Self {
        Self::Decimal(decimal)
    }
}

impl From<i32> for Value<'_> {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl fmt::Display for Value<'_> {
    /// Prints the value in the form that criteria use.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::Integer(integer) => integer.fmt(f),
            Self::Decimal(decimal) => decimal.fmt(f),
            Self::Timestamp(timestamp) => timestamp.fmt(f),
            Self::Boolean(boolean) => boolean.fmt(f),
        }
    }
}
