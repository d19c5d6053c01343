//! Which columns a field of the catalogue takes, and what their values are as values of the field.
//!
//! Another type of fields, or of columns, is told here and, for the way out, in [`leaf`](super::leaf).

use std::borrow::Cow;

use arrow_array::Array;
use arrow_array::types::{Decimal128Type, DecimalType};
use arrow_schema::DataType;

use super::values::{self, Values};
use crate::batch::Remark;
use crate::catalog::{Field, FieldId, FieldType};
use crate::error::{Error, ErrorKind};
use crate::ingest::{OrderedForm, expected_value};
use crate::json::JsonType;
use crate::value::{Number, Timestamp, Value};

/// What the values of a scalar column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Text,
    Number,
    Boolean,
    Instant,
}

/// What a scalar column holds; none for types that a case has no place for.
pub(super) fn sort_of(kind: &DataType) -> Option<Sort> {
    match kind {
        DataType::Utf8View => Some(Sort::Text),
        DataType::Boolean => Some(Sort::Boolean),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => Some(Sort::Number),
        kind if kind.is_integer() || kind.is_floating() => Some(Sort::Number),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Some(Sort::Instant),
        _ => None,
    }
}

/// True when the values of such a column can be values of the field.
pub(super) fn fits(field: &Field, kind: &DataType) -> bool {
    match (field.kind(), sort_of(kind)) {
        (FieldType::String, Some(Sort::Text))
        | (FieldType::Number, Some(Sort::Number))
        | (FieldType::Boolean, Some(Sort::Boolean))
        | (FieldType::Timestamp, Some(Sort::Text | Sort::Instant)) => true,
        (FieldType::Timestamp, Some(Sort::Number)) => field.is_unix_millis() && kind.is_integer(),
        _ => false,
    }
}

/// The types that a column of the field may have, for messages.
pub(super) fn allowed(field: &Field) -> &'static str {
    match field.kind() {
        FieldType::String => "strings",
        FieldType::Number => "integers, floats or decimals",
        FieldType::Boolean => "booleans",
        FieldType::Timestamp if field.is_unix_millis() => {
            "integers or strings of Unix milliseconds, timestamps or dates"
        }
        FieldType::Timestamp => "timestamps, dates or strings `yyyy-MM-dd HH:mm:ss`",
    }
}

/// The value at a place that is not null, of a column whose type fits the field.
///
/// # Errors
/// A value that the field cannot have.
pub(super) fn value_of<'b>(field: &Field, values: &'b Values<'b>, at: usize) -> Result<Value<'b>, Error> {
    let is_timestamp = field.kind() == FieldType::Timestamp;
    let millis = |millis| Value::Timestamp(Timestamp::from_millis(millis));
    let number = |number: f64| {
        let bad = || Error::new(ErrorKind::BadNumber, 0, number.to_string(), "a finite number");
        Number::new(number).map(Value::Number).ok_or_else(bad)
    };
    match values {
        Values::Text(texts) => {
            let text = if at < texts.len() { texts.value(at) } else { "" };
            match OrderedForm::of(field) {
                Some(form) => form.parse(JsonType::String, text, 0).map_err(|error| *error),
                None => Ok(Value::String(Cow::Borrowed(text))),
            }
        }
        Values::Booleans(booleans) => Ok(Value::Boolean(at < booleans.len() && booleans.value(at))),
        Values::Integers(integers) => {
            let integer = values::at(integers, at);
            if is_timestamp { Ok(millis(integer)) } else { number(integer as f64) }
        }
        Values::Unsigned(integers) => {
            let integer = values::at(integers, at);
            if !is_timestamp {
                return number(integer as f64);
            }
            i64::try_from(integer).map(millis).map_err(|_| {
                Error::new(ErrorKind::BadTimestamp, 0, integer.to_string(), expected_value(field))
            })
        }
        Values::Floats(floats) => number(values::at(floats, at)),
        Values::Decimals(decimals, precision, scale) => {
            let decimal = values::at(decimals, at);
            let text = Decimal128Type::format_decimal(decimal, *precision, *scale);
            // Digits, at most one point and a sign: always a double.
            number(text.parse().unwrap_or_default())
        }
        Values::Instants(instants) => match instants.millis(at).map(Timestamp::from_millis) {
            Some(instant) if field.is_unix_millis() => Ok(Value::Timestamp(instant)),
            // As the document has it, so that whoever reads that finds the same.
            Some(instant) if instant.is_in_years() => Ok(Value::Timestamp(instant.whole_seconds())),
            instant => {
                let found = match instant {
                    Some(instant) => format!("{} ms", instant.as_millis()),
                    None => "an instant beyond all years".to_owned(),
                };
                Err(Error::new(ErrorKind::BadTimestamp, 0, found, "a timestamp of the years 0000 to 9999"))
            }
        },
    }
}

/// Returns a remark if the value that was read from that place may not be the one that was meant.
pub(super) fn remark_on<'b>(
    id: FieldId,
    field: &Field,
    values: &'b Values<'b>,
    at: usize,
    value: &Value<'b>,
) -> Option<Remark<'b>> {
    match (value, values) {
        (Value::Timestamp(instant), Values::Text(texts)) if !field.is_unix_millis() => {
            let text = if at < texts.len() { texts.value(at) } else { "" };
            debug_assert!(Timestamp::parse(text) == Ok(*instant), "what was read from there");
            Timestamp::is_without_zone(text).then_some(Remark::NoZone(id, Cow::Borrowed(text)))
        }
        (Value::Timestamp(instant), Values::Instants(instants)) if !field.is_unix_millis() => {
            instants.is_local.then(|| Remark::NoZone(id, Cow::Owned(instant.to_string())))
        }
        (Value::Timestamp(instant), Values::Text(_) | Values::Integers(_) | Values::Unsigned(_)) => {
            let text = || Cow::Owned(instant.as_millis().to_string());
            instant.is_mistaken_millis().then(|| Remark::Mistaken(id, text()))
        }
        (Value::Number(number), Values::Integers(integers)) => rounded(id, *number, values::at(integers, at)),
        (Value::Number(number), Values::Unsigned(integers)) => rounded(id, *number, values::at(integers, at)),
        (Value::Number(number), Values::Decimals(decimals, precision, scale)) => {
            let decimal = values::at(decimals, at);
            // Every double keeps this many digits.
            if decimal.unsigned_abs() < 1_000_000_000_000_000 {
                return None;
            }
            let text = Decimal128Type::format_decimal(decimal, *precision, *scale);
            number.is_rounded_from(&text).then_some(Remark::Rounded(id, Cow::Owned(text)))
        }
        _ => None,
    }
}

/// The remark on an integer that is no double.
fn rounded<'b>(id: FieldId, number: Number, integer: impl Into<i128> + Copy) -> Option<Remark<'b>> {
    let integer: i128 = integer.into();
    // All up to 2^53 are doubles.
    if integer.unsigned_abs() <= 1 << 53 {
        return None;
    }
    let text = integer.to_string();
    number.is_rounded_from(&text).then_some(Remark::Rounded(id, Cow::Owned(text)))
}
