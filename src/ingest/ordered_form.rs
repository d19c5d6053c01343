//! Parses the values of ordered types (numbers, integers, decimals and timestamps) in documents.
//!
//! The template reader, the strict parser and the Arrow reader all parse ordered values here. Each form that an ordered value can
//! have in JSON is a variant of [`OrderedForm`].

use std::borrow::Cow;

use super::scan::{any_number, before, number_or_string, number_text, plain_string};
use crate::batch::{Remark, Row};
use crate::catalog::{Field, FieldId, FieldType, TimestampForm};
use crate::error::{Error, ErrorKind, quote};
use crate::json::JsonType;
use crate::value::{Decimal, Number, ParseTimestampError, Timestamp, Value, parse_integer};

/// The form of an ordered field's values in JSON documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderedForm {
    /// A JSON number.
    Number,
    /// A JSON number that is an integer of 64 bits. It has neither a fraction nor an exponent.
    Integer,
    /// A decimal of the given scale: a JSON number, or a JSON string that contains such a number.
    Decimal(u8),
    /// A timestamp in the given form.
    Timestamp(TimestampForm),
}

impl OrderedForm {
    /// Returns the form of a field's values. Returns `None` for a string or boolean field.
    pub(crate) fn of(field: &Field) -> Option<Self> {
        match field.field_type() {
            FieldType::Number => Some(Self::Number),
            FieldType::Integer => Some(Self::Integer),
            FieldType::Decimal { scale } => Some(Self::Decimal(scale)),
            FieldType::Timestamp => Some(Self::Timestamp(field.form())),
            FieldType::String | FieldType::Boolean => None,
        }
    }

    /// Returns the name of the form in error messages.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Integer => "an integer",
            Self::Decimal(_) => "a decimal number, as a number or a string",
            Self::Timestamp(form) => form.expected(),
        }
    }

    /// Returns true if every value is a JSON string.
    pub(super) const fn is_quoted(self) -> bool {
        matches!(self, Self::Timestamp(form) if form.is_text())
    }

    /// Returns true if the caller must pass values of this JSON type to [`parse`](Self::parse), which may still reject them. For
    /// any other type, the caller reports the error `wrong_type`.
    pub(super) fn takes(self, found: JsonType) -> bool {
        match self {
            Self::Number | Self::Integer => found == JsonType::Number,
            Self::Decimal(_) | Self::Timestamp(_) => matches!(found, JsonType::String | JsonType::Number),
        }
    }

    /// Parses the text of a JSON string or number as a value of the form `self`.
    ///
    /// # Errors
    /// Returns an error at `offset` if the text is not a value of the form `self`.
    pub(crate) fn parse(
        self,
        found: JsonType,
        text: &str,
        offset: usize,
    ) -> Result<Value<'static>, Box<Error>> {
        let bad = |kind, expected| Box::new(Error::new(kind, offset, quote(text), expected));
        match self {
            Self::Number => text
                .parse()
                .ok()
                .and_then(Number::new)
                .map(Value::Number)
                .ok_or_else(|| bad(ErrorKind::BadNumber, "a number that fits a double")),
            Self::Integer => parse_integer(text).map(Value::Integer).ok_or_else(|| {
                bad(ErrorKind::BadNumber, "an integer of 64 bits, without fraction and exponent")
            }),
            Self::Decimal(scale) => Decimal::parse_at(text, scale).map(Value::Decimal).ok_or_else(|| {
                let expected = FieldType::Decimal { scale }.expected();
                Box::new(Error::new(ErrorKind::BadNumber, offset, quote(text), expected))
            }),
            Self::Timestamp(form) if form.is_text() && found != JsonType::String => {
                Err(bad(ErrorKind::BadTimestamp, self.expected()))
            }
            Self::Timestamp(TimestampForm::Interface) => Timestamp::parse(text)
                .map(Value::Timestamp)
                .map_err(|fault| bad(ErrorKind::BadTimestamp, ParseTimestampError::expected(fault))),
            Self::Timestamp(form) => parse_instant(form, text)
                .map(Value::Timestamp)
                .ok_or_else(|| bad(ErrorKind::BadTimestamp, self.expected())),
        }
    }

    /// Returns a remark if the text may have been meant as another value, for example if a number was rounded.
    #[inline]
    pub(super) fn remark<'a>(
        self,
        field: FieldId,
        value: &Value<'_>,
        text: impl Into<Cow<'a, str>> + AsRef<str>,
    ) -> Option<Remark<'a>> {
        match (self, value) {
            (Self::Number, Value::Number(number)) => {
                number.is_rounded_from(text.as_ref()).then(|| Remark::Rounded(field, text.into()))
            }
            (Self::Timestamp(TimestampForm::Interface | TimestampForm::InterfaceOrRfc3339), _) => {
                Timestamp::is_without_zone(text.as_ref()).then(|| Remark::NoZone(field, text.into()))
            }
            (Self::Timestamp(TimestampForm::UnixMillis), Value::Timestamp(instant)) => {
                instant.is_mistaken_millis().then(|| Remark::Mistaken(field, text.into()))
            }
            (Self::Number | Self::Integer | Self::Decimal(_) | Self::Timestamp(_), _) => None,
        }
    }

    /// Reads the value at the start of `text`, adds it to the row, and returns the text after the value. If the form is
    /// [quoted](Self::is_quoted), the caller has already read the opening quote.
    #[inline(always)]
    pub(super) fn read<'a>(self, field: FieldId, text: &'a str, row: &mut Row<'a>) -> Option<&'a str> {
        let (value, own, rest) = match self {
            Self::Number => match Number::plain_at_front(text.as_bytes()) {
                Some((number, len)) => {
                    // A double represents each number of at most fifteen digits without loss. So the number needs no remark that it
                    // was rounded.
                    row.push(field, Value::Number(number));
                    return text.get(len..);
                }
                None => {
                    let (number, rest) = any_number(text)?;
                    (Value::Number(number), before(text, rest)?.trim(), rest)
                }
            },
            Self::Integer => {
                let (digits, rest) = number_text(text)?;
                (Value::Integer(parse_integer(digits)?), digits, rest)
            }
            Self::Decimal(scale) => {
                let (digits, rest) = number_or_string(text)?;
                (Value::Decimal(Decimal::parse_at(digits, scale)?), digits, rest)
            }
            Self::Timestamp(TimestampForm::Interface) => {
                let (string, rest) = plain_string(text)?;
                (Value::Timestamp(Timestamp::parse(string).ok()?), string, rest)
            }
            Self::Timestamp(form) if form.is_text() => {
                let (string, rest) = plain_string(text)?;
                (Value::Timestamp(parse_instant(form, string)?), string, rest)
            }
            Self::Timestamp(form) => {
                let (digits, rest) = number_or_string(text)?;
                (Value::Timestamp(parse_instant(form, digits)?), digits, rest)
            }
        };
        let remark = self.remark(field, &value, own);
        row.push(field, value);
        if let Some(remark) = remark {
            row.remark(remark);
        }
        Some(rest)
    }
}

/// Parses a timestamp in the given form.
pub(crate) fn parse_instant(form: TimestampForm, text: &str) -> Option<Timestamp> {
    match form {
        TimestampForm::Interface => Timestamp::parse(text).ok(),
        TimestampForm::Rfc3339 => Timestamp::parse_rfc3339(text).ok(),
        TimestampForm::InterfaceOrRfc3339 => {
            Timestamp::parse(text).or_else(|_| Timestamp::parse_rfc3339(text)).ok()
        }
        TimestampForm::Date => Timestamp::parse_date(text).ok(),
        TimestampForm::UnixSeconds => parse_integer(text)?.checked_mul(1000).map(Timestamp::from_millis),
        TimestampForm::UnixMillis => Timestamp::parse_millis(text),
    }
}
