//! Cases as rows of a table: text for PostgreSQL, and flat Parquet.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use casefilter::arrow::TABLE_KEY;
use casefilter::sql::{Column, ColumnType, Datum, Table, write_copy};
use casefilter::{Catalog, Error};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::output::ending::Ending;
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::file::{replace, to_file};
use crate::output::progress::Progress;

/// Rows in a row group.
const GROUP_ROWS: usize = 2 * 65_536;
/// Rows that become columns at once.
const BATCH_ROWS: usize = 8_192;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// The text format of PostgreSQL's `COPY`.
    Copy,
    Parquet,
}

impl Rows {
    /// Tells by the ending of the file's name whether rows are wanted, and which.
    pub(crate) fn of(ending: Ending, flat: bool) -> Result<Option<Self>, Failure> {
        match ending {
            Ending::Tsv => Ok(Some(Self::Copy)),
            _ if !flat => Ok(None),
            Ending::Parquet => Ok(Some(Self::Parquet)),
            _ => Err(Failure::Usage("--flat is for files whose name ends in .parquet".to_owned())),
        }
    }

    /// Writes cases, `count` of them, whose documents `walk` hands over in the order of their places.
    pub(crate) fn write(self, path: &Path, count: u64, walk: Walk<'_>) -> Result<(), Failure> {
        let table = Table::new(&Catalog::cases());
        let progress = Progress::of_cases(count);
        let source = Source { walk, table: &table, progress: &progress };
        progress.say("writing".to_owned());
        // A fault of a case or of the database, which is none of the file's.
        let mut failure = None;
        let written = match self {
            Self::Copy => to_file(path, None, &mut |out| copy(&source, out, &mut failure)),
            Self::Parquet => replace(path, &mut |file| parquet(&source, file, &mut failure)),
        };
        match failure {
            Some(failure) => Err(failure),
            None => written,
        }
    }
}

/// Hands over documents, one after the other, until taking one fails.
pub(crate) type Walk<'w> = &'w dyn Fn(&mut dyn FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure>;

/// What is written.
struct Source<'s> {
    walk: Walk<'s>,
    table: &'s Table,
    progress: &'s Progress,
}

/// Hands over the row of every case.
fn each_row(
    source: &Source<'_>,
    failure: &mut Option<Failure>,
    mut take: impl FnMut(&[Datum<'_>]) -> Result<(), Fault>,
) -> io::Result<()> {
    let mut place = 0_u64;
    let mut write_fault = None;
    let result = (source.walk)(&mut |document| {
        let row = source.table.row(place, document).map_err(Fault::Case);
        place = place.saturating_add(1);
        source.progress.advance(1);
        row.and_then(|row| take(&row)).map_err(|fault| match fault {
            Fault::Write(error) => {
                write_fault = Some(error);
                Failure::ClosedPipe
            }
            Fault::Case(error) => Failure::Refused(format!(
                "case {place}: {}",
                escape(&format!("{}: {}", error.path, error.message()))
            )),
        })
    });
    match (write_fault, result) {
        (Some(error), _) => Err(error),
        (None, Err(fault)) => {
            *failure = Some(fault);
            Err(io::Error::other("stopped"))
        }
        (None, Ok(())) => Ok(()),
    }
}

/// Why a row was not written.
enum Fault {
    Write(io::Error),
    /// The case has no place in the table.
    Case(Error),
}

fn copy(source: &Source<'_>, out: &mut dyn Write, failure: &mut Option<Failure>) -> io::Result<()> {
    let mut line = String::new();
    each_row(source, failure, |row| {
        line.clear();
        write_copy(source.table, row, &mut line).map_err(Fault::Case)?;
        out.write_all(line.as_bytes()).map_err(Fault::Write)
    })
}

fn parquet(source: &Source<'_>, file: &File, failure: &mut Option<Failure>) -> io::Result<()> {
    let table = source.table;
    let fields: Vec<Field> = table.columns().iter().map(field).collect();
    let schema = Schema::new(fields).with_metadata([(TABLE_KEY, "")]);
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
        ColumnType::Boolean => DataType::Boolean,
    };
    if column.is_list() {
        Field::new_list(column.name(), Field::new_list_field(kind, true), false)
    } else {
        Field::new(column.name(), kind, column.is_nullable())
    }
}

/// A column that is being filled.
enum Builder {
    Text(StringBuilder),
    Number(Float64Builder),
    Integer(Int64Builder),
    Boolean(BooleanBuilder),
    Texts(ListBuilder<StringBuilder>),
    Numbers(ListBuilder<Float64Builder>),
    Integers(ListBuilder<Int64Builder>),
    Booleans(ListBuilder<BooleanBuilder>),
}

impl Builder {
    fn new(column: &Column) -> Self {
        match (column.kind(), column.is_list()) {
            (ColumnType::Text, false) => Self::Text(StringBuilder::new()),
            (ColumnType::Number, false) => Self::Number(Float64Builder::new()),
            (ColumnType::Integer, false) => Self::Integer(Int64Builder::new()),
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
            // A row has what its columns want, or a null; writing refuses a null that has no place.
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Number(builder), _) => builder.append_null(),
            (Self::Integer(builder), _) => builder.append_null(),
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
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::Texts(builder) => Arc::new(builder.finish()),
            Self::Numbers(builder) => Arc::new(builder.finish()),
            Self::Integers(builder) => Arc::new(builder.finish()),
            Self::Booleans(builder) => Arc::new(builder.finish()),
        }
    }
}
