//! The JSON forms of ordered types (numbers and timestamps).
//!
//! The template reader, the strict parser and the Arrow reader parse ordered values only here. Each JSON form of an ordered type is a
//! variant of [`OrderedForm`].

use std::borrow::Cow;

use super::scan::{any_number, before, plain_string, unix_millis};
use crate::batch::{Remark, Row};
use crate::catalog::{Field, FieldId, FieldType};
use crate::error::{Error, ErrorKind, quote};
use crate::json::JsonType;
use crate::value::{Number, ParseTimestampError, Timestamp, Value};

/// The form of an ordered field's values in documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderedForm {
    /// A JSON number.
    Number,
    /// A string in the text form of timestamps.
    Timestamp,
    /// Milliseconds since the Unix epoch, a string or a number.
    UnixMillis,
}

impl OrderedForm {
    /// Returns the form of a field's values; `None` for a string or boolean field.
    pub(crate) fn of(field: &Field) -> Option<Self> {
        match field.field_type() {
            FieldType::Number => Some(Self::Number),
            FieldType::Timestamp if field.is_unix_millis() => Some(Self::UnixMillis),
            FieldType::Timestamp => Some(Self::Timestamp),
            FieldType::String | FieldType::Boolean => None,
        }
    }

    /// Returns the name of the form in errors.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Timestamp => "a string `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset",
            Self::UnixMillis => "Unix milliseconds, an integer or a string of one",
        }
    }

    /// Returns true if every value is a JSON string.
    pub(super) const fn is_quoted(self) -> bool {
        matches!(self, Self::Timestamp)
    }

    /// Returns true if [`parse`](Self::parse) accepts values of this JSON type. Any other type is an error of kind `wrong_type`.
    pub(super) fn takes(self, found: JsonType) -> bool {
        match self {
            Self::Number => found == JsonType::Number,
            Self::Timestamp | Self::UnixMillis => matches!(found, JsonType::String | JsonType::Number),
        }
    }

    /// Parses the text of a JSON string or number.
    ///
    /// # Errors
    /// Returns an error at `offset` if the text does not have this form.
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
            Self::UnixMillis => Timestamp::parse_millis(text)
                .map(Value::Timestamp)
                .ok_or_else(|| bad(ErrorKind::BadTimestamp, self.expected())),
            Self::Timestamp if found != JsonType::String => {
                Err(bad(ErrorKind::BadTimestamp, self.expected()))
            }
            Self::Timestamp => Timestamp::parse(text)
                .map(Value::Timestamp)
                .map_err(|fault| bad(ErrorKind::BadTimestamp, ParseTimestampError::expected(fault))),
        }
    }

    /// Returns a remark if the text may have meant another value, for example if a number was rounded.
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
            (Self::Timestamp, _) => {
                Timestamp::is_without_zone(text.as_ref()).then(|| Remark::NoZone(field, text.into()))
            }
            (Self::UnixMillis, Value::Timestamp(instant)) => {
                instant.is_mistaken_millis().then(|| Remark::Mistaken(field, text.into()))
            }
            (Self::Number | Self::UnixMillis, _) => None,
        }
    }

    /// Reads the value at the start of a text into the row, and returns the text after it. The caller has already read the
    /// opening quote of a [quoted](Self::is_quoted) value.
    #[inline(always)]
    pub(super) fn read<'a>(self, field: FieldId, text: &'a str, row: &mut Row<'a>) -> Option<&'a str> {
        let (value, own, rest) = match self {
            Self::Number => match Number::plain_at_front(text.as_bytes()) {
                Some((number, len)) => {
                    // A number with this few digits is exact, and needs no remark.
                    row.push(field, Value::Number(number));
                    return text.get(len..);
                }
                None => {
                    let (number, rest) = any_number(text)?;
                    (Value::Number(number), before(text, rest)?.trim(), rest)
                }
            },
            Self::Timestamp => {
                let (string, rest) = plain_string(text)?;
                (Value::Timestamp(Timestamp::parse(string).ok()?), string, rest)
            }
            Self::UnixMillis => {
                let (instant, rest) = unix_millis(text)?;
                let own = before(text, rest)?.trim_matches(['"', ' ', '\t', '\n', '\r']);
                (Value::Timestamp(instant), own, rest)
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
