//! Writes rows to a flat Parquet file, which has the same columns as the SQL table.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use casefilter::arrow::SQL_TABLE_KEY;
use casefilter::sql::{Column, ColumnType, Datum};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::output::failure::Failure;
use crate::output::rows::walk::{Fault, Source, each_row};

/// The number of rows per row group.
const GROUP_ROWS: usize = 2 * 65_536;
/// The number of rows that are collected before they are converted to columns.
const BATCH_ROWS: usize = 8_192;

/// Writes the rows of all cases.
pub(super) fn write(source: &Source<'_>, file: &File, failure: &mut Option<Failure>) -> io::Result<()> {
    let table = source.table;
    let fields: Vec<Field> = table.columns().iter().map(field).collect();
    let schema = Schema::new(fields).with_metadata([(SQL_TABLE_KEY, "")]);
    let schema = Arc::new(schema);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_column_dictionary_enabled("document".into(), false)
        .build();
    let mut writer = ArrowWriter::try_new(io::BufWriter::new(file), Arc::clone(&schema), Some(properties))?;
    let mut builders: Vec<Builder> = table.columns().iter().map(Builder::new).collect();
    let mut rows = 0_usize;
    each_row(source, failure, |row| {
        for (builder, datum) in builders.iter_mut().zip(row) {
            builder.push(datum);
        }
        rows = rows.saturating_add(1);
        if rows.is_multiple_of(BATCH_ROWS) { flush(&mut builders, &schema, &mut writer) } else { Ok(()) }
            .map_err(Fault::Write)
    })?;
    flush(&mut builders, &schema, &mut writer)?;
    writer.into_inner()?.flush()
}

fn flush<W: Write + Send>(
    builders: &mut [Builder],
    schema: &SchemaRef,
    writer: &mut ArrowWriter<W>,
) -> io::Result<()> {
    let columns = builders.iter_mut().map(Builder::finish).collect();
    let batch = RecordBatch::try_new(Arc::clone(schema), columns).map_err(io::Error::other)?;
    Ok(writer.write(&batch)?)
}

fn field(column: &Column) -> Field {
    let kind = match column.kind() {
        ColumnType::Text => DataType::Utf8,
        ColumnType::Number => DataType::Float64,
        ColumnType::Integer => DataType::Int64,
        ColumnType::Decimal { scale } => decimal_type(scale),
        ColumnType::Boolean => DataType::Boolean,
    };
    if column.is_list() {
        Field::new_list(column.name(), Field::new_list_field(kind, true), false)
    } else {
        Field::new(column.name(), kind, column.is_nullable())
    }
}

/// Returns the type of a column of decimals. They have up to 19 digits.
fn decimal_type(scale: u8) -> DataType {
    DataType::Decimal128(19, scale.cast_signed())
}

fn decimals(scale: u8) -> Decimal128Builder {
    Decimal128Builder::new().with_data_type(decimal_type(scale))
}

/// A builder for the array of one column.
enum Builder {
    Text(StringBuilder),
    Number(Float64Builder),
    Integer(Int64Builder),
    Decimal(Decimal128Builder),
    Boolean(BooleanBuilder),
    Texts(ListBuilder<StringBuilder>),
    Numbers(ListBuilder<Float64Builder>),
    Integers(ListBuilder<Int64Builder>),
    Decimals(ListBuilder<Decimal128Builder>),
    Booleans(ListBuilder<BooleanBuilder>),
}

impl Builder {
    fn new(column: &Column) -> Self {
        match (column.kind(), column.is_list()) {
            (ColumnType::Text, false) => Self::Text(StringBuilder::new()),
            (ColumnType::Number, false) => Self::Number(Float64Builder::new()),
            (ColumnType::Integer, false) => Self::Integer(Int64Builder::new()),
            (ColumnType::Decimal { scale }, false) => Self::Decimal(decimals(scale)),
            (ColumnType::Decimal { scale }, true) => Self::Decimals(ListBuilder::new(decimals(scale))),
            (ColumnType::Boolean, false) => Self::Boolean(BooleanBuilder::new()),
            (ColumnType::Text, true) => Self::Texts(ListBuilder::new(StringBuilder::new())),
            (ColumnType::Number, true) => Self::Numbers(ListBuilder::new(Float64Builder::new())),
            (ColumnType::Integer, true) => Self::Integers(ListBuilder::new(Int64Builder::new())),
            (ColumnType::Boolean, true) => Self::Booleans(ListBuilder::new(BooleanBuilder::new())),
        }
    }

    fn push(&mut self, datum: &Datum<'_>) {
        match (self, datum) {
            (Self::Text(builder), Datum::Text(text)) => builder.append_value(text),
            (Self::Number(builder), Datum::Number(number)) => builder.append_value(*number),
            (Self::Integer(builder), Datum::Integer(integer)) => builder.append_value(*integer),
            (Self::Decimal(builder), Datum::Decimal(decimal)) => {
                builder.append_value(decimal.unscaled().into());
            }
            (Self::Decimals(builder), Datum::Decimals(decimals)) => {
                builder.append_value(decimals.iter().map(|decimal| Some(i128::from(decimal.unscaled()))));
            }
            (Self::Boolean(builder), Datum::Boolean(boolean)) => builder.append_value(*boolean),
            (Self::Texts(builder), Datum::Texts(texts)) => builder.append_value(texts.iter().map(Some)),
            (Self::Numbers(builder), Datum::Numbers(numbers)) => {
                builder.append_value(numbers.iter().copied().map(Some));
            }
            (Self::Integers(builder), Datum::Integers(integers)) => {
                builder.append_value(integers.iter().copied().map(Some));
            }
            (Self::Booleans(builder), Datum::Booleans(booleans)) => {
                builder.append_value(booleans.iter().copied().map(Some));
            }
            // A row contains a value of the column's type or a null. If the column is not nullable, the Parquet writer rejects a
            // null.
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Number(builder), _) => builder.append_null(),
            (Self::Integer(builder), _) => builder.append_null(),
            (Self::Decimal(builder), _) => builder.append_null(),
            (Self::Decimals(builder), _) => builder.append_null(),
            (Self::Boolean(builder), _) => builder.append_null(),
            (Self::Texts(builder), _) => builder.append_null(),
            (Self::Numbers(builder), _) => builder.append_null(),
            (Self::Integers(builder), _) => builder.append_null(),
            (Self::Booleans(builder), _) => builder.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Number(builder) => Arc::new(builder.finish()),
            Self::Integer(builder) => Arc::new(builder.finish()),
            Self::Decimal(builder) => Arc::new(builder.finish()),
            Self::Decimals(builder) => Arc::new(builder.finish()),
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::Texts(builder) => Arc::new(builder.finish()),
            Self::Numbers(builder) => Arc::new(builder.finish()),
            Self::Integers(builder) => Arc::new(builder.finish()),
            Self::Booleans(builder) => Arc::new(builder.finish()),
        }
    }
}
