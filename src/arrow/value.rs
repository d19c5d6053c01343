//! Converts the values of Arrow columns to field values, and defines which column types each field type accepts.
//!
//! To add a field type, change this file. To add a column type, also change `values` and, for a new variant of [`Values`], `rows`,
//! which writes the values of documents. For another encoding of a known type, change `types` and `cast` instead. To write columns
//! of the new type, change [`leaf`](super::leaf).

use std::borrow::Cow;

use arrow_array::Array;
use arrow_array::types::{Decimal128Type, DecimalType};
use arrow_schema::DataType;

use super::values::{self, Values};
use crate::batch::Remark;
use crate::catalog::{Field, FieldId, FieldType, IdType, TimestampForm};
use crate::error::{Error, ErrorKind, quote};
use crate::ingest::{OrderedForm, expected_value};
use crate::json::JsonType;
use crate::value::{Decimal, Number, Timestamp, Value, canonical_id};

/// The kind of values in a scalar column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarKind {
    Text,
    Number,
    Boolean,
    Instant,
}

/// Returns the kind of values in a column of this type. Returns `None` if JSON cannot represent these values.
pub(super) fn scalar_kind(kind: &DataType) -> Option<ScalarKind> {
    match kind {
        DataType::Utf8View => Some(ScalarKind::Text),
        DataType::Boolean => Some(ScalarKind::Boolean),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => {
            Some(ScalarKind::Number)
        }
        kind if kind.is_integer() || kind.is_floating() => Some(ScalarKind::Number),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Some(ScalarKind::Instant),
        _ => None,
    }
}

/// Returns true if a column of this type can contain values of the field.
pub(super) fn fits(field: &Field, kind: &DataType) -> bool {
    match (field.field_type(), scalar_kind(kind)) {
        (FieldType::String, Some(ScalarKind::Number)) => {
            field.id_type() == IdType::Integer && kind.is_integer()
        }
        (FieldType::String, Some(ScalarKind::Text)) if field.id_type() == IdType::Integer => false,
        (FieldType::String, Some(ScalarKind::Text))
        | (FieldType::Number, Some(ScalarKind::Number))
        | (FieldType::Boolean, Some(ScalarKind::Boolean))
        | (FieldType::Decimal { .. }, Some(ScalarKind::Text))
        | (FieldType::Timestamp, Some(ScalarKind::Text | ScalarKind::Instant)) => true,
        (FieldType::Integer, Some(ScalarKind::Number)) => kind.is_integer(),
        // A float is not an exact decimal number.
        (FieldType::Decimal { .. }, Some(ScalarKind::Number)) => !kind.is_floating(),
        (FieldType::Timestamp, Some(ScalarKind::Number)) => !field.form().is_text() && kind.is_integer(),
        _ => false,
    }
}

/// Returns a description of the column types that a field accepts, for error messages.
pub(super) fn allowed(field: &Field) -> &'static str {
    match field.field_type() {
        FieldType::String => match field.id_type() {
            IdType::String => "strings",
            IdType::Integer => "integers",
            IdType::Uuid => "strings that contain UUIDs",
        },
        FieldType::Number => "integers, floats or decimals",
        FieldType::Integer => "integers",
        FieldType::Decimal { .. } => "decimals, integers or strings",
        FieldType::Boolean => "booleans",
        FieldType::Timestamp => match field.form() {
            TimestampForm::Interface => "timestamps, dates or strings `yyyy-MM-dd HH:mm:ss`",
            TimestampForm::Rfc3339 => "timestamps, dates or strings as in RFC 3339",
            TimestampForm::InterfaceOrRfc3339 => {
                "timestamps, dates or strings, `yyyy-MM-dd HH:mm:ss` or as in RFC 3339"
            }
            TimestampForm::Date => "dates, timestamps or strings `yyyy-MM-dd`",
            TimestampForm::UnixSeconds => "integers or strings of Unix seconds, timestamps or dates",
            TimestampForm::UnixMillis => "integers or strings of Unix milliseconds, timestamps or dates",
        },
    }
}

/// Returns the value at an index. The value must not be null, and the type of the column must [fit](fits) the field.
///
/// # Errors
/// Returns an error if the value is invalid for the field.
pub(super) fn value_of<'b>(field: &Field, values: &'b Values<'b>, at: usize) -> Result<Value<'b>, Error> {
    let number = |number: f64| {
        let bad = || Error::new(ErrorKind::BadNumber, 0, number.to_string(), "a finite number");
        Number::new(number).map(Value::Number).ok_or_else(bad)
    };
    match values {
        Values::Text(texts) => {
            let text = if at < texts.len() { texts.value(at) } else { "" };
            match OrderedForm::of(field) {
                Some(form) => form.parse(JsonType::String, text, 0).map_err(|error| *error),
                None => canonical_id(field.id_type(), text)
                    .map(Value::String)
                    .ok_or_else(|| Error::new(ErrorKind::BadId, 0, quote(text), field.id_type().expected())),
            }
        }
        Values::Booleans(booleans) => Ok(Value::Boolean(at < booleans.len() && booleans.value(at))),
        Values::Integers(integers) => {
            let integer = values::at(integers, at);
            match field.field_type() {
                FieldType::Timestamp => unix_time(field, integer).ok_or_else(|| {
                    Error::new(ErrorKind::BadTimestamp, 0, integer.to_string(), expected_value(field))
                }),
                FieldType::Integer => Ok(Value::Integer(integer)),
                // The column contains ids, which are strings in the library.
                FieldType::String => Ok(Value::String(Cow::Owned(integer.to_string()))),
                FieldType::Decimal { scale } => decimal_of(integer.into(), 0, scale),
                _ => number(integer as f64),
            }
        }
        Values::Unsigned(integers) => {
            let integer = values::at(integers, at);
            let signed = i64::try_from(integer).ok();
            let bad = |kind| Error::new(kind, 0, integer.to_string(), expected_value(field));
            match field.field_type() {
                FieldType::Timestamp => signed
                    .and_then(|signed| unix_time(field, signed))
                    .ok_or_else(|| bad(ErrorKind::BadTimestamp)),
                FieldType::Decimal { scale } => decimal_of(integer.into(), 0, scale),
                FieldType::Integer => signed.map(Value::Integer).ok_or_else(|| bad(ErrorKind::BadNumber)),
                FieldType::String => signed
                    .map(|id| Value::String(Cow::Owned(id.to_string())))
                    .ok_or_else(|| bad(ErrorKind::BadId)),
                _ => number(integer as f64),
            }
        }
        Values::Floats(floats) => number(values::at(floats, at)),
        Values::Decimals(decimals, precision, scale) => {
            let decimal = values::at(decimals, at);
            if let FieldType::Decimal { scale: own } = field.field_type() {
                return decimal_of(decimal, *scale, own);
            }
            let text = Decimal128Type::format_decimal(decimal, *precision, *scale);
            // A text of digits with at most one point and one sign can always be parsed as a double.
            number(text.parse().unwrap_or_default())
        }
        Values::Instants(instants) => match instants.millis(at).map(Timestamp::from_millis) {
            // The instant is truncated as in the JSON document, so that the value of the field equals the value in the document.
            Some(instant) if !field.form().is_text() || instant.is_in_years() => {
                Ok(Value::Timestamp(in_form(instant, field.form())))
            }
            instant => {
                let found = match instant {
                    Some(instant) => format!("{} ms", instant.as_millis()),
                    None => "an instant out of range".to_owned(),
                };
                Err(Error::new(ErrorKind::BadTimestamp, 0, found, "a timestamp in the years 0000 to 9999"))
            }
        },
    }
}

/// Converts `unscaled / 10^from` to a decimal of a field.
fn decimal_of(unscaled: i128, from: i8, scale: u8) -> Result<Value<'static>, Error> {
    Decimal::rescaled(unscaled, from, scale).map(Value::Decimal).ok_or_else(|| {
        let found = format!("the decimal {unscaled}e{}", i16::from(from).saturating_neg());
        Error::new(ErrorKind::BadNumber, 0, found, FieldType::Decimal { scale }.expected())
    })
}

/// Returns true if the value may differ from the value that the author of the file meant.
pub(super) fn has_remark(field: &Field, values: &Values<'_>, at: usize, value: &Value<'_>) -> bool {
    match (value, values) {
        (Value::Timestamp(_), Values::Text(texts)) if field.form().is_text() => {
            Timestamp::is_without_zone(if at < texts.len() { texts.value(at) } else { "" })
        }
        (Value::Timestamp(_), Values::Instants(instants)) => field.form().is_text() && instants.is_local,
        (Value::Timestamp(instant), Values::Text(_) | Values::Integers(_) | Values::Unsigned(_)) => {
            field.is_unix_millis() && instant.is_mistaken_millis()
        }
        (Value::Number(number), Values::Integers(integers)) => is_rounded(*number, values::at(integers, at)),
        (Value::Number(number), Values::Unsigned(integers)) => is_rounded(*number, values::at(integers, at)),
        (Value::Number(number), Values::Decimals(decimals, precision, scale)) => {
            let decimal = values::at(decimals, at);
            // Every decimal of up to 15 digits is unchanged after the conversion to a double and back.
            decimal.unsigned_abs() >= 1_000_000_000_000_000
                && number.is_rounded_from(&Decimal128Type::format_decimal(decimal, *precision, *scale))
        }
        _ => false,
    }
}

/// Returns true if a double cannot represent the integer exactly.
fn is_rounded(number: Number, integer: impl Into<i128>) -> bool {
    let integer: i128 = integer.into();
    // Doubles represent all integers up to 2^53 exactly.
    integer.unsigned_abs() > 1 << 53 && number.is_rounded_from(&integer.to_string())
}

/// Returns a remark if the value [has](has_remark) one.
pub(super) fn remark_on<'b>(
    id: FieldId,
    field: &Field,
    values: &'b Values<'b>,
    at: usize,
    value: &Value<'b>,
) -> Option<Remark<'b>> {
    if !has_remark(field, values, at, value) {
        return None;
    }
    Some(match (value, values) {
        (Value::Timestamp(_), Values::Text(texts)) if field.form().is_text() => {
            Remark::NoZone(id, Cow::Borrowed(if at < texts.len() { texts.value(at) } else { "" }))
        }
        (Value::Timestamp(instant), Values::Instants(_)) => {
            Remark::NoZone(id, Cow::Owned(instant.to_string()))
        }
        (Value::Timestamp(instant), _) => Remark::Mistaken(id, Cow::Owned(instant.as_millis().to_string())),
        (_, Values::Decimals(decimals, precision, scale)) => {
            let text = Decimal128Type::format_decimal(values::at(decimals, at), *precision, *scale);
            Remark::Rounded(id, Cow::Owned(text))
        }
        (_, Values::Integers(integers)) => {
            Remark::Rounded(id, Cow::Owned(values::at(integers, at).to_string()))
        }
        (_, Values::Unsigned(integers)) => {
            Remark::Rounded(id, Cow::Owned(values::at(integers, at).to_string()))
        }
        _ => return None,
    })
}

/// Converts an integer in Unix seconds or milliseconds to a timestamp, by the form of the field. Returns `None` if the result is
/// out of range.
fn unix_time(field: &Field, integer: i64) -> Option<Value<'static>> {
    let millis = match field.form() {
        TimestampForm::UnixSeconds => integer.checked_mul(1000)?,
        _ => integer,
    };
    Some(Value::Timestamp(Timestamp::from_millis(millis)))
}

/// Truncates an instant to the precision of a timestamp form, such as whole seconds.
pub(super) fn in_form(instant: Timestamp, form: TimestampForm) -> Timestamp {
    match form {
        TimestampForm::Interface | TimestampForm::UnixSeconds => instant.whole_seconds(),
        TimestampForm::Date => instant.whole_days(),
        TimestampForm::Rfc3339 | TimestampForm::InterfaceOrRfc3339 | TimestampForm::UnixMillis => instant,
    }
}
