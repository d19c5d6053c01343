//! Values as SQL has them.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::table::ColumnType;

/// A value, or a list of values: what a parameter is bound to, and what a row has in a column.
///
/// As JSON it is what it says: a string, a number, an array of strings.
#[derive(Clone, Debug, PartialEq)]
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
    /// The type of the value, or of the values in the list; none of a null.
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

    /// True for a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        matches!(self, Self::Texts(_) | Self::Numbers(_) | Self::Integers(_) | Self::Booleans(_))
    }

    /// How many values a list has; one otherwise.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Numbers(numbers) => numbers.len(),
            Self::Integers(integers) => integers.len(),
            Self::Booleans(booleans) => booleans.len(),
            Self::Null | Self::Text(_) | Self::Number(_) | Self::Integer(_) | Self::Boolean(_) => 1,
        }
    }

    /// The values of a list one by one; the value itself otherwise.
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
