//! What a value of a scalar column is as a value of a field.

use std::borrow::Cow;

use arrow_array::Array;
use arrow_array::types::{Decimal128Type, DecimalType};

use super::values::Values;
use crate::batch::Remark;
use crate::catalog::{Field, FieldId, FieldType};
use crate::error::{Error, ErrorKind, quote};
use crate::ingest::expected_value;
use crate::value::{Number, Timestamp, TimestampFault, Value};

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
            if !is_timestamp {
                return Ok(Value::String(Cow::Borrowed(text)));
            }
            let timestamp = if field.is_unix_millis() {
                Timestamp::parse_millis(text).ok_or("Unix milliseconds, an integer or a string of one")
            } else {
                Timestamp::parse(text).map_err(TimestampFault::expected)
            };
            let bad = |expected| Error::new(ErrorKind::BadTimestamp, 0, quote(text), expected);
            timestamp.map(Value::Timestamp).map_err(bad)
        }
        Values::Booleans(booleans) => Ok(Value::Boolean(at < booleans.len() && booleans.value(at))),
        Values::Integers(integers) => {
            let integer = integers.get(at).copied().unwrap_or_default();
            if is_timestamp { Ok(millis(integer)) } else { number(integer as f64) }
        }
        Values::Unsigned(integers) => {
            let integer = integers.get(at).copied().unwrap_or_default();
            if !is_timestamp {
                return number(integer as f64);
            }
            i64::try_from(integer).map(millis).map_err(|_| {
                Error::new(ErrorKind::BadTimestamp, 0, integer.to_string(), expected_value(field))
            })
        }
        Values::Floats(floats) => number(floats.get(at).copied().unwrap_or_default()),
        Values::Decimals(decimals, precision, scale) => {
            let decimal = decimals.get(at).copied().unwrap_or_default();
            let text = Decimal128Type::format_decimal(decimal, *precision, *scale);
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
        (Value::Number(number), Values::Integers(integers)) => {
            rounded(id, *number, integers.get(at).copied().unwrap_or_default())
        }
        (Value::Number(number), Values::Unsigned(integers)) => {
            rounded(id, *number, integers.get(at).copied().unwrap_or_default())
        }
        (Value::Number(number), Values::Decimals(decimals, precision, scale)) => {
            let decimal = decimals.get(at).copied().unwrap_or_default();
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
