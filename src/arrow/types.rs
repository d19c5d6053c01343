//! Types of columns: as which they are read, and which fields they can be.

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::catalog::{self, FieldType};

/// The key in a schema's metadata of a file whose rows are laid out for SQL engines, a flat column a field, and are no cases:
/// most of its columns would lead to no field. An import refuses such a file.
pub const TABLE_KEY: &str = "casefilter.table";

/// What the values of a scalar column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Text,
    Number,
    Boolean,
    Instant,
}

/// The type as which a column is read, one for all that hold the same values.
pub(super) fn read_as(kind: &DataType) -> DataType {
    let list = |field: &Field| DataType::List(read_field_as(field).into());
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Dictionary(_, values) => read_as(values),
        DataType::RunEndEncoded(_, values) => read_as(values.data_type()),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => list(field),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| read_field_as(field)).collect())
        }
        other => other.clone(),
    }
}

pub(super) fn read_field_as(field: &Field) -> Field {
    field.clone().with_data_type(read_as(field.data_type()))
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
pub(super) fn fits(field: &catalog::Field, kind: &DataType) -> bool {
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
pub(super) fn allowed(field: &catalog::Field) -> &'static str {
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

/// A schema of the types of [`read_as`].
pub(super) fn view_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|field| read_field_as(field)).collect();
    Schema::new(fields).into()
}
