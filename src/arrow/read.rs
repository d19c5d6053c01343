//! A Parquet file, a record batch at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::reader::ChunkReader;

use super::bind::bind;
use super::footer;
use super::plan::Plan;
use super::rows::Rows;
use super::view::{view, view_schema};
use crate::catalog::Catalog;
use crate::engine::{Import, Refusal};
use crate::error::{Error, ErrorKind, quote};
use crate::ingest::{case_limit, complete};

/// Rows that are decoded at once: enough that the work for a batch does not count.
const BATCH_ROWS: usize = 4096;

/// A file may become so many times its size in documents …
const EXPANSION: u64 = 1000;
/// … or this much, whatever its size.
const SMALL_BYTES: u64 = 64 << 20;
/// What a row counts beside its document.
const ROW_BYTES: u64 = 64;

/// Reads a whole file into the import.
pub(super) fn read(import: &mut Import<'_>, reader: impl ChunkReader + 'static) -> Result<(), Refusal> {
    let engine = import.engine();
    let mut room = reader.len().saturating_mul(EXPANSION).max(SMALL_BYTES);
    let (plan, mut batches) = match open(reader, engine.catalog()) {
        Ok(opened) => opened,
        Err(error) => return import.fail(0, error),
    };
    plan.left_out.iter().try_for_each(|column| import.leave_out(column))?;
    let mut line = 0;
    // The next batch, or why there is none; nothing of a reader that panicked is used again.
    while let Some(batch) = guarded(|| batches.next().transpose()).transpose() {
        let taken = match batch {
            Ok(batch) => take(import, &plan, &batch, &mut line, &mut room)?,
            Err(error) => return import.fail(line.saturating_add(1), error),
        };
        if taken.is_none() {
            return import.fail(line.saturating_add(1), bad_file("a batch of another schema"));
        }
    }
    Ok(())
}

/// Takes the cases of all batches into the import.
pub(super) fn read_batches(import: &mut Import<'_>, batches: impl RecordBatchReader) -> Result<(), Refusal> {
    let schema = batches.schema();
    let plan = match Plan::new(&view_schema(&schema), import.engine().catalog()) {
        Ok(plan) => plan,
        Err(error) => return import.fail(0, error),
    };
    plan.left_out.iter().try_for_each(|column| import.leave_out(column))?;
    let foreign =
        || Error::new(ErrorKind::BadFile, 0, "a batch of another schema", "one of the reader's schema");
    // Batches lie in memory already, so their documents are not much larger.
    let (mut line, mut room) = (0, u64::MAX);
    for batch in batches {
        let batch = match batch {
            Ok(batch) if batch.schema().fields() == schema.fields() => view(&batch, &plan),
            Ok(_) => Err(foreign()),
            Err(error) => Err(Error::new(ErrorKind::BadFile, 0, quote(&error.to_string()), "a record batch")),
        };
        let taken = match batch {
            Ok(batch) => take(import, &plan, &batch, &mut line, &mut room)?,
            Err(error) => return import.fail(line.saturating_add(1), error),
        };
        if taken.is_none() {
            return import.fail(line.saturating_add(1), foreign());
        }
    }
    Ok(())
}

/// Takes in the cases of a batch; none when it is not of the plan's schema.
///
/// `room` is for how many bytes of documents there still is; a file that becomes more is refused.
fn take(
    import: &mut Import<'_>,
    plan: &Plan,
    batch: &RecordBatch,
    line: &mut u64,
    room: &mut u64,
) -> Result<Option<()>, Refusal> {
    let engine = import.engine();
    let catalog = engine.catalog();
    let Some(case) = bind(&plan.members, batch) else { return Ok(None) };
    let mut rows = Rows::new(catalog, case_limit(engine.limits()));
    for at in 0..batch.num_rows() {
        *line = line.saturating_add(1);
        let read = rows.read(&case, at);
        match room.checked_sub((rows.text.len() as u64).saturating_add(ROW_BYTES)) {
            Some(left) => *room = left,
            None => import.fail(*line, too_much())?,
        }
        let complete =
            |()| complete(&mut rows.row, &rows.refused, 0, catalog).map_err(|error| error.at("id"));
        match read.and_then(complete) {
            Ok(()) => import.row(*line, &mut rows.row, &rows.text)?,
            Err(error) => import.refuse(*line, error)?,
        }
    }
    Ok(Some(()))
}

fn open(
    reader: impl ChunkReader + 'static,
    catalog: &Catalog,
) -> Result<(Plan, ParquetRecordBatchReader), Error> {
    if !guarded(|| footer::is_sound(&reader))? {
        return Err(bad_file("a footer that is damaged, or a schema that nests too deeply"));
    }
    let found = guarded(|| ArrowReaderMetadata::load(&reader, ArrowReaderOptions::new()))?;
    let schema = view_schema(found.schema());
    let plan = Plan::new(&schema, catalog)?;
    let batches = guarded(|| {
        let options = ArrowReaderOptions::new().with_schema(schema);
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options)?;
        let mask = ProjectionMask::roots(metadata.parquet_schema(), plan.columns.iter().copied());
        ParquetRecordBatchReaderBuilder::new_with_metadata(reader, metadata)
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
    })?;
    Ok((plan, batches))
}

/// What a call into the Parquet library gives; its panics, which damaged files can cause, are errors too.
fn guarded<T, E: std::fmt::Display>(call: impl FnOnce() -> Result<T, E>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| bad_file(&error.to_string())),
        Err(_) => Err(bad_file("damage that the Parquet library cannot name")),
    }
}

fn too_much() -> Error {
    let found = format!("cases of more than {EXPANSION} times the size of their file");
    let expected = format!("at most that, or {} MiB", SMALL_BYTES >> 20);
    Error::new(ErrorKind::BadFile, 0, found, expected)
}

fn bad_file(found: &str) -> Error {
    let found = found.strip_prefix("Parquet error: ").unwrap_or(found);
    Error::new(ErrorKind::BadFile, 0, quote(found), "a sound Parquet file")
}
