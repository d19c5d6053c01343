//! Array builders of single fields, filled from documents.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, StringBuilder, TimestampMillisecondBuilder,
};
use arrow_schema::{DataType, TimeUnit};

use crate::catalog::{Field, FieldType};
use crate::json::{self, JsonType, Reader};
use crate::value::{Number, Timestamp};

const UTC: &str = "+00:00";

/// An array builder for the values of one field.
pub(super) enum Leaf {
    String(StringBuilder),
    /// Unix milliseconds as text, as in documents.
    UnixMillis(StringBuilder),
    Number(Float64Builder),
    Timestamp(TimestampMillisecondBuilder),
    Boolean(BooleanBuilder),
}

impl Leaf {
    pub(super) fn new(field: &Field) -> Self {
        match field.field_type() {
            FieldType::String => Self::String(StringBuilder::new()),
            FieldType::Timestamp if field.is_unix_millis() => Self::UnixMillis(StringBuilder::new()),
            FieldType::Timestamp => Self::Timestamp(TimestampMillisecondBuilder::new().with_timezone(UTC)),
            FieldType::Number => Self::Number(Float64Builder::new()),
            FieldType::Boolean => Self::Boolean(BooleanBuilder::new()),
        }
    }

    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::String(_) | Self::UnixMillis(_) => DataType::Utf8,
            Self::Number(_) => DataType::Float64,
            Self::Timestamp(_) => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
            Self::Boolean(_) => DataType::Boolean,
        }
    }

    /// Returns true if a JSON value of this type may be a value of the field.
    pub(super) fn accepts(&self, found: JsonType) -> bool {
        match self {
            Self::String(_) | Self::Timestamp(_) => found == JsonType::String,
            Self::UnixMillis(_) => matches!(found, JsonType::String | JsonType::Number),
            Self::Number(_) => found == JsonType::Number,
            Self::Boolean(_) => found == JsonType::Boolean,
        }
    }

    /// Reads the next value, whose type it [accepts](Self::accepts). A value in a wrong format becomes null.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, found: JsonType) -> json::Result<()> {
        match self {
            Self::String(texts) => texts.append_value(reader.string()?),
            Self::UnixMillis(texts) if found == JsonType::String => texts.append_value(reader.string()?),
            Self::UnixMillis(texts) => texts.append_value(reader.number()?),
            Self::Number(numbers) => {
                numbers.append_option(reader.number()?.parse().ok().and_then(Number::new).map(Number::get));
            }
            Self::Timestamp(instants) => {
                instants.append_option(Timestamp::parse(&reader.string()?).ok().map(Timestamp::as_millis));
            }
            Self::Boolean(booleans) => booleans.append_value(reader.boolean()?),
        }
        Ok(())
    }

    pub(super) fn push_null(&mut self) {
        match self {
            Self::String(texts) | Self::UnixMillis(texts) => texts.append_null(),
            Self::Number(numbers) => numbers.append_null(),
            Self::Timestamp(instants) => instants.append_null(),
            Self::Boolean(booleans) => booleans.append_null(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::String(texts) | Self::UnixMillis(texts) => texts.len(),
            Self::Number(numbers) => numbers.len(),
            Self::Timestamp(instants) => instants.len(),
            Self::Boolean(booleans) => booleans.len(),
        }
    }

    /// Returns the array of all values, and resets the builder.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::String(texts) | Self::UnixMillis(texts) => Arc::new(texts.finish()),
            Self::Number(numbers) => Arc::new(numbers.finish()),
            Self::Timestamp(instants) => Arc::new(instants.finish()),
            Self::Boolean(booleans) => Arc::new(booleans.finish()),
        }
    }
}
