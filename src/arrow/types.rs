//! Canonical column types: maps column types that store the same values in different encodings (such as `Utf8` and dictionaries) to
//! one type.

use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// The metadata key that marks the schema of a Parquet file as a table for SQL engines, with one flat column per field.
///
/// An import rejects such a file, because its rows are not documents, and most of its column names are not paths of fields.
pub const SQL_TABLE_KEY: &str = "casefilter.table";

/// Returns the type to which a column is cast before it is read. All string types are cast to `Utf8View`, and all list types to
/// `List`.
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

/// Returns the schema in which each column has its [`canonical_type`].
pub(super) fn canonical_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|field| canonical_field(field)).collect();
    Schema::new(fields).into()
}
