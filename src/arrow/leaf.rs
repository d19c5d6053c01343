//! Builds the Arrow array of one field from JSON documents.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMillisecondBuilder,
};
use arrow_schema::{DataType, TimeUnit};

use crate::catalog::{Field, FieldType, IdType, TimestampForm};
use crate::ingest::parse_instant;
use crate::json::{self, JsonType, Reader};
use crate::value::{Decimal, Number, Timestamp, parse_integer};

const UTC: &str = "+00:00";

/// Returns the type of the column of a decimal field. An integer of 64 bits has up to 19 digits.
fn decimal_type(scale: u8) -> DataType {
    DataType::Decimal128(19, scale.cast_signed())
}

/// An array builder for the values of one field.
pub(super) enum Leaf {
    String(StringBuilder),
    /// Unix seconds or milliseconds, as the text in the documents.
    UnixTime(StringBuilder),
    Number(Float64Builder),
    Integer(Int64Builder),
    /// Decimals of this scale.
    Decimal(Decimal128Builder, u8),
    Timestamp(TimestampMillisecondBuilder, TimestampForm),
    Boolean(BooleanBuilder),
}

impl Leaf {
    pub(super) fn new(field: &Field) -> Self {
        match field.field_type() {
            FieldType::String if field.id_type() == IdType::Integer => Self::Integer(Int64Builder::new()),
            FieldType::String => Self::String(StringBuilder::new()),
            FieldType::Timestamp if !field.form().is_text() => Self::UnixTime(StringBuilder::new()),
            FieldType::Timestamp => {
                Self::Timestamp(TimestampMillisecondBuilder::new().with_timezone(UTC), field.form())
            }
            FieldType::Integer => Self::Integer(Int64Builder::new()),
            FieldType::Decimal { scale } => {
                Self::Decimal(Decimal128Builder::new().with_data_type(decimal_type(scale)), scale)
            }
            FieldType::Number => Self::Number(Float64Builder::new()),
            FieldType::Boolean => Self::Boolean(BooleanBuilder::new()),
        }
    }

    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::String(_) | Self::UnixTime(_) => DataType::Utf8,
            Self::Number(_) => DataType::Float64,
            Self::Integer(_) => DataType::Int64,
            Self::Decimal(_, scale) => decimal_type(*scale),
            Self::Timestamp(..) => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
            Self::Boolean(_) => DataType::Boolean,
        }
    }

    /// Returns true if a JSON value of this type can be a value of the field.
    pub(super) fn accepts(&self, found: JsonType) -> bool {
        match self {
            Self::String(_) | Self::Timestamp(..) => found == JsonType::String,
            Self::UnixTime(_) | Self::Decimal(..) => matches!(found, JsonType::String | JsonType::Number),
            Self::Number(_) | Self::Integer(_) => found == JsonType::Number,
            Self::Boolean(_) => found == JsonType::Boolean,
        }
    }

    /// Reads the next value, whose type is [accepted](Self::accepts). Appends a null if the value is malformed.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, found: JsonType) -> json::Result<()> {
        match self {
            Self::String(texts) => texts.append_value(reader.string()?),
            Self::UnixTime(texts) if found == JsonType::String => texts.append_value(reader.string()?),
            Self::UnixTime(texts) => texts.append_value(reader.number()?),
            Self::Integer(integers) => integers.append_option(parse_integer(reader.number()?)),
            Self::Number(numbers) => {
                numbers.append_option(reader.number()?.parse().ok().and_then(Number::new).map(Number::get));
            }
            Self::Decimal(decimals, scale) => {
                let text = match found {
                    JsonType::String => reader.string()?,
                    _ => Cow::Borrowed(reader.number()?),
                };
                let unscaled = |decimal: Decimal| i128::from(decimal.unscaled());
                decimals.append_option(Decimal::parse_at(&text, *scale).map(unscaled));
            }
            Self::Timestamp(instants, form) => {
                instants.append_option(parse_instant(*form, &reader.string()?).map(Timestamp::as_millis));
            }
            Self::Boolean(booleans) => booleans.append_value(reader.boolean()?),
        }
        Ok(())
    }

    pub(super) fn push_null(&mut self) {
        match self {
            Self::String(texts) | Self::UnixTime(texts) => texts.append_null(),
            Self::Number(numbers) => numbers.append_null(),
            Self::Integer(integers) => integers.append_null(),
            Self::Decimal(decimals, _) => decimals.append_null(),
            Self::Timestamp(instants, _) => instants.append_null(),
            Self::Boolean(booleans) => booleans.append_null(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::String(texts) | Self::UnixTime(texts) => texts.len(),
            Self::Number(numbers) => numbers.len(),
            Self::Integer(integers) => integers.len(),
            Self::Decimal(decimals, _) => decimals.len(),
            Self::Timestamp(instants, _) => instants.len(),
            Self::Boolean(booleans) => booleans.len(),
        }
    }

    /// Returns the array of all values, and resets the builder.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::String(texts) | Self::UnixTime(texts) => Arc::new(texts.finish()),
            Self::Number(numbers) => Arc::new(numbers.finish()),
            Self::Integer(integers) => Arc::new(integers.finish()),
            Self::Decimal(decimals, _) => Arc::new(decimals.finish()),
            Self::Timestamp(instants, _) => Arc::new(instants.finish()),
            Self::Boolean(booleans) => Arc::new(booleans.finish()),
        }
    }
}
