//! Types of columns: as which they are read.

use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// The key in a schema's metadata of a file whose rows are laid out for SQL engines, a flat column a field, and are no cases:
/// most of its columns would lead to no field. An import refuses such a file.
pub const TABLE_KEY: &str = "casefilter.table";

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

/// A schema of the types of [`read_as`].
pub(super) fn view_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|field| read_field_as(field)).collect();
    Schema::new(fields).into()
}
