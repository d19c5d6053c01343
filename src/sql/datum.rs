//! The values of statements and rows ([`Datum`]), and the types of columns ([`ColumnType`]).

use std::borrow::Cow;

use crate::catalog::{Field, FieldType};
use crate::value::{Decimal, Value, fold};

/// The type of a column, or of the elements of a list column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Text, ordered by code point.
    Text,
    /// IEEE 754 doubles. All are finite, and zero is never negative.
    Number,
    /// Integers of 64 bits. Also used for the insertion order, and for instants in milliseconds since 1970-01-01 00:00:00 UTC.
    Integer,
    /// Exact decimal numbers of up to 19 digits.
    Decimal {
        /// The count of digits after the point.
        scale: u8,
    },
    /// `true` and `false`.
    Boolean,
}

impl ColumnType {
    /// Returns the column type for the values of a field.
    pub(super) fn of(field: &Field) -> Self {
        match field.field_type() {
            FieldType::String => Self::Text,
            FieldType::Number => Self::Number,
            FieldType::Integer | FieldType::Timestamp => Self::Integer,
            FieldType::Decimal { scale } => Self::Decimal { scale },
            FieldType::Boolean => Self::Boolean,
        }
    }
}

/// A value or a list of values, as a parameter of a statement or in a column of a row.
///
/// With the feature `serde`, it serialises as a plain JSON value, such as a string, a number or an array of strings. Decimals are
/// strings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Datum<'a> {
    /// An SQL null.
    Null,
    /// A string.
    Text(Cow<'a, str>),
    /// A finite double.
    Number(f64),
    /// An integer, or an instant in milliseconds since 1970-01-01 00:00:00 UTC.
    Integer(i64),
    /// An exact decimal number.
    Decimal(Decimal),
    /// `true` or `false`.
    Boolean(bool),
    /// A list of strings.
    Texts(Vec<Cow<'a, str>>),
    /// A list of finite doubles.
    Numbers(Vec<f64>),
    /// A list of integers.
    Integers(Vec<i64>),
    /// A list of decimals of one scale.
    Decimals(Vec<Decimal>),
    /// A list of booleans.
    Booleans(Vec<bool>),
}

impl Datum<'_> {
    /// Returns the type of the value, or of the elements of the list. Returns `None` for a null.
    #[must_use]
    pub fn kind(&self) -> Option<ColumnType> {
        match self {
            Self::Null => None,
            Self::Text(_) | Self::Texts(_) => Some(ColumnType::Text),
            Self::Number(_) | Self::Numbers(_) => Some(ColumnType::Number),
            Self::Integer(_) | Self::Integers(_) => Some(ColumnType::Integer),
            Self::Decimal(decimal) => Some(ColumnType::Decimal { scale: decimal.scale() }),
            Self::Decimals(decimals) => {
                Some(ColumnType::Decimal { scale: decimals.first().map_or(0, |decimal| decimal.scale()) })
            }
            Self::Boolean(_) | Self::Booleans(_) => Some(ColumnType::Boolean),
        }
    }

    /// Returns true for a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        matches!(
            self,
            Self::Texts(_) | Self::Numbers(_) | Self::Integers(_) | Self::Decimals(_) | Self::Booleans(_)
        )
    }

    /// Returns the number of elements of a list, or 1 for any other value.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Numbers(numbers) => numbers.len(),
            Self::Integers(integers) => integers.len(),
            Self::Decimals(decimals) => decimals.len(),
            Self::Booleans(booleans) => booleans.len(),
            Self::Null
            | Self::Text(_)
            | Self::Number(_)
            | Self::Integer(_)
            | Self::Decimal(_)
            | Self::Boolean(_) => 1,
        }
    }

    /// Returns the elements of a list. For any other value, returns a list that contains only this value.
    pub(super) fn scalars(&self) -> Vec<Datum<'_>> {
        match self {
            Self::Texts(texts) => texts.iter().map(|text| Datum::Text(Cow::Borrowed(text))).collect(),
            Self::Numbers(numbers) => numbers.iter().copied().map(Datum::Number).collect(),
            Self::Integers(integers) => integers.iter().copied().map(Datum::Integer).collect(),
            Self::Booleans(booleans) => booleans.iter().copied().map(Datum::Boolean).collect(),
            Self::Decimals(decimals) => decimals.iter().copied().map(Datum::Decimal).collect(),
            Self::Null => vec![Datum::Null],
            Self::Text(text) => vec![Datum::Text(Cow::Borrowed(text))],
            Self::Number(number) => vec![Datum::Number(*number)],
            Self::Integer(integer) => vec![Datum::Integer(*integer)],
            Self::Decimal(decimal) => vec![Datum::Decimal(*decimal)],
            Self::Boolean(boolean) => vec![Datum::Boolean(*boolean)],
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Datum<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Integer(integer) => serializer.serialize_i64(*integer),
            // A JSON number could be rounded.
            Self::Decimal(decimal) => serializer.collect_str(decimal),
            Self::Decimals(decimals) => serializer.collect_seq(decimals.iter().map(ToString::to_string)),
            Self::Boolean(boolean) => serializer.serialize_bool(*boolean),
            Self::Texts(texts) => serializer.collect_seq(texts),
            Self::Numbers(numbers) => serializer.collect_seq(numbers),
            Self::Integers(integers) => serializer.collect_seq(integers),
            Self::Booleans(booleans) => serializer.collect_seq(booleans),
        }
    }
}

impl<'a> Datum<'a> {
    /// Converts a value of a filter or of a case.
    pub(super) fn of(value: &Value<'a>) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) => Self::Number(number.get()),
            Value::Integer(integer) => Self::Integer(*integer),
            Value::Timestamp(timestamp) => Self::Integer(timestamp.as_millis()),
            Value::Decimal(decimal) => Self::Decimal(*decimal),
            Value::Boolean(boolean) => Self::Boolean(*boolean),
        }
    }

    /// Converts a value for a folded column. Strings are folded.
    pub(super) fn folded(value: &Value<'a>) -> Self {
        match value {
            Value::String(Cow::Borrowed(text)) => Self::Text(fold(text)),
            Value::String(Cow::Owned(text)) => Self::Text(Cow::Owned(fold(text).into_owned())),
            other => Self::of(other),
        }
    }

    /// Creates a list from values of the type `kind`.
    pub(super) fn list(kind: ColumnType, values: impl Iterator<Item = Self>) -> Self {
        let mut list = match kind {
            ColumnType::Text => Self::Texts(Vec::new()),
            ColumnType::Number => Self::Numbers(Vec::new()),
            ColumnType::Integer => Self::Integers(Vec::new()),
            ColumnType::Decimal { .. } => Self::Decimals(Vec::new()),
            ColumnType::Boolean => Self::Booleans(Vec::new()),
        };
        values.for_each(|value| list.push(value));
        list
    }

    /// Converts a single value to a list of one element. Returns a list unchanged.
    pub(super) fn into_list(self) -> Self {
        match self {
            Self::Text(text) => Self::Texts(vec![text]),
            Self::Number(number) => Self::Numbers(vec![number]),
            Self::Integer(integer) => Self::Integers(vec![integer]),
            Self::Decimal(decimal) => Self::Decimals(vec![decimal]),
            Self::Boolean(boolean) => Self::Booleans(vec![boolean]),
            list => list,
        }
    }

    /// Appends a value to a list of the same type.
    pub(super) fn push(&mut self, scalar: Self) {
        match (self, scalar) {
            (Self::Texts(texts), Self::Text(text)) => texts.push(text),
            (Self::Numbers(numbers), Self::Number(number)) => numbers.push(number),
            (Self::Integers(integers), Self::Integer(integer)) => integers.push(integer),
            (Self::Decimals(decimals), Self::Decimal(decimal)) => decimals.push(decimal),
            (Self::Booleans(booleans), Self::Boolean(boolean)) => booleans.push(boolean),
            _ => debug_assert!(false, "the values of a field are of one type"),
        }
    }
}
