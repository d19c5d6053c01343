//! Opens and checks a Parquet file, and converts panics of the Parquet library to errors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::file::reader::ChunkReader;

use super::footer;
use super::plan::Plan;
use super::types::{SQL_TABLE_KEY, canonical_schema};
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, quote};

/// The number of rows per decoded batch. It is so large that the fixed cost per batch is negligible.
const BATCH_ROWS: usize = 4096;

/// A Parquet file whose columns fit the catalogue.
pub(super) struct Opened {
    pub(super) plan: Plan,
    /// The canonical schema, in which the columns are read.
    pub(super) schema: SchemaRef,
    /// The metadata of the file, with the canonical schema.
    pub(super) metadata: ArrowReaderMetadata,
}

/// Opens a file, to read all of its rows.
pub(super) fn open(
    reader: impl ChunkReader + 'static,
    catalog: &Catalog,
) -> Result<(Plan, ParquetRecordBatchReader), Error> {
    let Opened { plan, metadata, .. } = open_file(&reader, catalog)?;
    let batches = catch_panics(|| {
        let mask = ProjectionMask::roots(metadata.parquet_schema(), plan.columns.iter().copied());
        ParquetRecordBatchReaderBuilder::new_with_metadata(reader, metadata)
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
    })?;
    Ok((plan, batches))
}

/// Reads the metadata of a file, and checks that its columns can be read.
pub(super) fn open_file(reader: &impl ChunkReader, catalog: &Catalog) -> Result<Opened, Error> {
    if !catch_panics(|| footer::is_valid(reader))? {
        return Err(bad_file("a footer that is damaged, or a schema that nests too deeply"));
    }
    let found = catch_panics(|| ArrowReaderMetadata::load(reader, ArrowReaderOptions::new()))?;
    let (plan, schema) = plan(found.schema(), catalog)?;
    let schema_of_file = found.metadata().file_metadata().schema_descr();
    let is_read = |leaf: usize| plan.columns.contains(&schema_of_file.get_column_root_idx(leaf));
    let columns = found.metadata().row_groups().iter().flat_map(|group| group.columns().iter().enumerate());
    let mut columns = columns.filter(|(leaf, _)| is_read(*leaf)).map(|(_, column)| column);
    if let Some(column) = columns.find(|column| !is_supported(column.compression())) {
        let codec = column.compression().to_string();
        let codec = codec.split('(').next().unwrap_or_default().to_lowercase();
        let expected = "columns compressed with snappy, zstd, gzip or lz4, or not at all";
        let error = Error::new(ErrorKind::BadFile, 0, format!("a column compressed with {codec}"), expected);
        return Err(error.at(column.column_path().string()));
    }
    let metadata = catch_panics(|| {
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(&schema));
        ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options)
    })?;
    Ok(Opened { plan, schema, metadata })
}

/// Returns true if this build can decompress data of the codec.
fn is_supported(codec: Compression) -> bool {
    use Compression::{GZIP, LZ4, LZ4_RAW, SNAPPY, UNCOMPRESSED, ZSTD};
    matches!(codec, UNCOMPRESSED | SNAPPY | ZSTD(_) | GZIP(_) | LZ4 | LZ4_RAW)
}

/// Creates the plan for a schema. Also returns the canonical schema, in which the columns are read.
pub(super) fn plan(schema: &Schema, catalog: &Catalog) -> Result<(Plan, SchemaRef), Error> {
    if schema.metadata().contains_key(SQL_TABLE_KEY) {
        let expected = "cases: nested as in JSON, or columns named by field paths";
        return Err(Error::new(ErrorKind::BadFile, 0, "rows laid out for SQL engines", expected));
    }
    let schema = canonical_schema(schema);
    Plan::new(&schema, catalog).map(|plan| (plan, schema))
}

/// Calls the Parquet library. Damaged files can make it panic; such a panic is converted to an error.
pub(super) fn catch_panics<T, E: std::fmt::Display>(call: impl FnOnce() -> Result<T, E>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| bad_file(&error.to_string())),
        Err(_) => Err(bad_file("damage that made the Parquet library panic")),
    }
}

fn bad_file(found: &str) -> Error {
    let found = found.strip_prefix("Parquet error: ").unwrap_or(found);
    Error::new(ErrorKind::BadFile, 0, quote(found), "a valid Parquet file")
}
