//! Canonical column types: one type for all types with the same values.

use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// The metadata key that marks a Parquet schema as a table for SQL engines, with one flat column per field.
///
/// An import rejects such a file: its rows are not cases, and most of its column names are not paths of fields.
pub const TABLE_KEY: &str = "casefilter.table";

/// Returns the type that a column is cast to before it is read: `Utf8View` for all strings, `List` for all lists.
pub(super) fn canonical_type(kind: &DataType) -> DataType {
    let list = |field: &Field| DataType::List(canonical_field(field).into());
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Dictionary(_, values) => canonical_type(values),
        DataType::RunEndEncoded(_, values) => canonical_type(values.data_type()),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => list(field),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| canonical_field(field)).collect())
        }
        other => other.clone(),
    }
}

pub(super) fn canonical_field(field: &Field) -> Field {
    field.clone().with_data_type(canonical_type(field.data_type()))
}

/// Returns a schema with the [`canonical_type`] of each column.
pub(super) fn canonical_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|field| canonical_field(field)).collect();
    Schema::new(fields).into()
}
