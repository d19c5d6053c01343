//! SQL values, and the types of columns.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::catalog::{Field, FieldType};
use crate::value::{Value, fold};

/// The type of a column, or of the elements of a list column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text, ordered by code point.
    Text,
    /// IEEE doubles, all finite, none a negative zero.
    Number,
    /// Integers of 64 bits: insertion order, and instants in milliseconds since 1970-01-01 00:00:00 UTC.
    Integer,
    /// `true` and `false`.
    Boolean,
}

impl ColumnType {
    /// Returns the type of the values of a field.
    pub(super) fn of(field: &Field) -> Self {
        match field.field_type() {
            FieldType::String => Self::Text,
            FieldType::Number => Self::Number,
            FieldType::Timestamp => Self::Integer,
            FieldType::Boolean => Self::Boolean,
        }
    }
}

/// A value or a list of values, as a parameter of a statement or in a column of a row.
///
/// It serialises as a plain JSON value, such as a string, a number or an array of strings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Datum<'a> {
    /// No value.
    Null,
    /// A string.
    Text(Cow<'a, str>),
    /// A finite double.
    Number(f64),
    /// An integer; an instant in milliseconds since 1970-01-01 00:00:00 UTC.
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
    /// Strings.
    Texts(Vec<Cow<'a, str>>),
    /// Finite doubles.
    Numbers(Vec<f64>),
    /// Integers.
    Integers(Vec<i64>),
    /// Booleans.
    Booleans(Vec<bool>),
}

impl Datum<'_> {
    /// Returns the type of the value, or of the values in the list; `None` for a null.
    #[must_use]
    pub fn kind(&self) -> Option<ColumnType> {
        match self {
            Self::Null => None,
            Self::Text(_) | Self::Texts(_) => Some(ColumnType::Text),
            Self::Number(_) | Self::Numbers(_) => Some(ColumnType::Number),
            Self::Integer(_) | Self::Integers(_) => Some(ColumnType::Integer),
            Self::Boolean(_) | Self::Booleans(_) => Some(ColumnType::Boolean),
        }
    }

    /// Returns true for a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        matches!(self, Self::Texts(_) | Self::Numbers(_) | Self::Integers(_) | Self::Booleans(_))
    }

    /// Returns the number of values in a list; 1 for any other value.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Numbers(numbers) => numbers.len(),
            Self::Integers(integers) => integers.len(),
            Self::Booleans(booleans) => booleans.len(),
            Self::Null | Self::Text(_) | Self::Number(_) | Self::Integer(_) | Self::Boolean(_) => 1,
        }
    }

    /// Returns the values of a list one by one, or the value itself.
    pub(super) fn scalars(&self) -> Vec<Datum<'_>> {
        match self {
            Self::Texts(texts) => texts.iter().map(|text| Datum::Text(Cow::Borrowed(text))).collect(),
            Self::Numbers(numbers) => numbers.iter().copied().map(Datum::Number).collect(),
            Self::Integers(integers) => integers.iter().copied().map(Datum::Integer).collect(),
            Self::Booleans(booleans) => booleans.iter().copied().map(Datum::Boolean).collect(),
            Self::Null => vec![Datum::Null],
            Self::Text(text) => vec![Datum::Text(Cow::Borrowed(text))],
            Self::Number(number) => vec![Datum::Number(*number)],
            Self::Integer(integer) => vec![Datum::Integer(*integer)],
            Self::Boolean(boolean) => vec![Datum::Boolean(*boolean)],
        }
    }
}

impl Serialize for Datum<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Integer(integer) => serializer.serialize_i64(*integer),
            Self::Boolean(boolean) => serializer.serialize_bool(*boolean),
            Self::Texts(texts) => serializer.collect_seq(texts),
            Self::Numbers(numbers) => serializer.collect_seq(numbers),
            Self::Integers(integers) => serializer.collect_seq(integers),
            Self::Booleans(booleans) => serializer.collect_seq(booleans),
        }
    }
}

impl<'a> Datum<'a> {
    /// Converts a value.
    pub(super) fn of(value: &Value<'a>) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) => Self::Number(number.get()),
            Value::Timestamp(timestamp) => Self::Integer(timestamp.as_millis()),
            Value::Boolean(boolean) => Self::Boolean(*boolean),
        }
    }

    /// Converts a value of a folded column.
    pub(super) fn folded(value: &Value<'a>) -> Self {
        match value {
            Value::String(Cow::Borrowed(text)) => Self::Text(fold(text)),
            Value::String(Cow::Owned(text)) => Self::Text(Cow::Owned(fold(text).into_owned())),
            other => Self::of(other),
        }
    }

    /// Creates a list of values of one type.
    pub(super) fn list(kind: ColumnType, values: impl Iterator<Item = Self>) -> Self {
        let mut list = match kind {
            ColumnType::Text => Self::Texts(Vec::new()),
            ColumnType::Number => Self::Numbers(Vec::new()),
            ColumnType::Integer => Self::Integers(Vec::new()),
            ColumnType::Boolean => Self::Booleans(Vec::new()),
        };
        values.for_each(|value| list.push(value));
        list
    }

    /// Converts a value to a list of one value.
    pub(super) fn into_list(self) -> Self {
        match self {
            Self::Text(text) => Self::Texts(vec![text]),
            Self::Number(number) => Self::Numbers(vec![number]),
            Self::Integer(integer) => Self::Integers(vec![integer]),
            Self::Boolean(boolean) => Self::Booleans(vec![boolean]),
            list => list,
        }
    }

    /// Adds a value to a list of the same type.
    pub(super) fn push(&mut self, scalar: Self) {
        match (self, scalar) {
            (Self::Texts(texts), Self::Text(text)) => texts.push(text),
            (Self::Numbers(numbers), Self::Number(number)) => numbers.push(number),
            (Self::Integers(integers), Self::Integer(integer)) => integers.push(integer),
            (Self::Booleans(booleans), Self::Boolean(boolean)) => booleans.push(boolean),
            _ => debug_assert!(false, "the values of a field are of one type"),
        }
    }
}
