//! Imports the rows of a Parquet file or of Arrow record batches into an engine.

use std::collections::HashSet;
use std::iter;

use arrow_array::{Array, RecordBatch, RecordBatchReader};
use parquet::file::reader::ChunkReader;

use super::bind::{Object, bind};
use super::cast::cast_batch;
use super::parquet_reader::{catch_panics, open, plan};
use super::plan::Plan;
use super::rows::RowReader;
use crate::engine::{Cases, Import, ImportError, RowBound, RowGroup};
use crate::error::{Error, ErrorKind, quote};
use crate::ingest::{case_limit, complete};

/// The size of the buffers of a group, in bytes, at which the group is complete. A group exceeds it by less than one batch.
const GROUP_BYTES: usize = 1 << 27;

/// The maximum size of all documents, as a multiple of the size of their file.
const MAX_EXPANSION: u64 = 1000;

/// The total size of documents that is allowed even for the smallest file, in bytes.
const MIN_DOCUMENT_BYTES: u64 = 64 << 20;

/// The number of bytes that count towards the limit for each row, in addition to the size of its document.
pub(super) const ROW_BYTES: u64 = 64;

/// Imports a complete Parquet file.
pub(super) fn read(import: &mut Import<'_>, reader: impl ChunkReader + 'static) -> Result<(), ImportError> {
    let max_bytes = max_document_bytes(reader.len());
    let (plan, mut batches) = match open(reader, import.engine().catalog()) {
        Ok(opened) => opened,
        Err(error) => return import.fail(0, error),
    };
    let batches = iter::from_fn(|| catch_panics(|| batches.next().transpose()).transpose());
    read_all(import, &BatchSource { plan: &plan, expected: "a valid Parquet file" }, batches, max_bytes)
}

/// Returns the maximum size of all documents of a file of this size.
pub(super) fn max_document_bytes(file: u64) -> u64 {
    file.saturating_mul(MAX_EXPANSION).max(MIN_DOCUMENT_BYTES)
}

/// Imports all record batches of a reader.
pub(super) fn read_batches(
    import: &mut Import<'_>,
    batches: impl RecordBatchReader,
) -> Result<(), ImportError> {
    let schema = batches.schema();
    let plan = match plan(&schema, import.engine().catalog()) {
        Ok((plan, _)) => plan,
        Err(error) => return import.fail(0, error),
    };
    let source = BatchSource { plan: &plan, expected: "a batch of the reader's schema" };
    let batches = batches.map(|batch| match batch {
        Ok(batch) if batch.schema().fields() == schema.fields() => cast_batch(&batch, &plan),
        Ok(_) => Err(source.schema_mismatch()),
        Err(error) => Err(Error::new(ErrorKind::BadFile, 0, quote(&error.to_string()), "a record batch")),
    });
    // There is no limit: the batches are already in memory, and their documents are not much larger.
    read_all(import, &source, batches, u64::MAX)
}

/// Imports batches until the first error. Rejects the source if the total size of its documents exceeds `max_bytes`.
fn read_all(
    import: &mut Import<'_>,
    source: &BatchSource<'_>,
    batches: impl Iterator<Item = Result<RecordBatch, Error>>,
    max_bytes: u64,
) -> Result<(), ImportError> {
    source.plan.column_errors.iter().try_for_each(|column| import.leave_out(column))?;
    let groups = GroupedBatches { batches, rows: import.rows_at_once(), has_ended: false };
    let bound = RowBound { bytes: max_bytes, too_much: too_large };
    import.push_rows(groups, bound, |group, line, cases| source.take(group, line, cases))
}

/// A group of consecutive record batches that one thread imports. It is not a row group of Parquet.
struct Group {
    batches: Vec<RecordBatch>,
    /// The error that the reader returned after these batches, if there was one.
    failed: Option<Error>,
}

/// An iterator over groups of consecutive batches. A group ends after `rows` rows, after [`GROUP_BYTES`], or at an error.
struct GroupedBatches<I> {
    batches: I,
    /// The number of rows after which a group is complete.
    rows: usize,
    has_ended: bool,
}

impl<I: Iterator<Item = Result<RecordBatch, Error>>> Iterator for GroupedBatches<I> {
    type Item = RowGroup<Group>;

    fn next(&mut self) -> Option<RowGroup<Group>> {
        let mut group = Group { batches: Vec::new(), failed: None };
        let (mut rows, mut bytes, mut seen) = (0_usize, 0_usize, HashSet::new());
        // After an error, the reader is not called again.
        while !self.has_ended && rows < self.rows && bytes < GROUP_BYTES {
            match self.batches.next() {
                None => self.has_ended = true,
                Some(Err(error)) => {
                    self.has_ended = true;
                    group.failed = Some(error);
                }
                Some(Ok(batch)) => {
                    rows = rows.saturating_add(batch.num_rows());
                    bytes = bytes.saturating_add(new_bytes(&batch, &mut seen));
                    group.batches.push(batch);
                }
            }
        }
        (!group.batches.is_empty() || group.failed.is_some()).then_some(RowGroup { rows, group })
    }
}

/// Returns the size in bytes of the buffers of a batch that are not in `seen`, and adds their addresses to `seen`. Batches can
/// share dictionaries, so each buffer is counted once.
fn new_bytes(batch: &RecordBatch, seen: &mut HashSet<usize>) -> usize {
    let mut open: Vec<_> = batch.columns().iter().map(Array::to_data).collect();
    let mut bytes = 0_usize;
    while let Some(data) = open.pop() {
        for buffer in data.buffers() {
            if seen.insert(buffer.as_ptr().addr()) {
                bytes = bytes.saturating_add(buffer.capacity());
            }
        }
        open.extend(data.child_data().iter().cloned());
    }
    bytes
}

/// A source of record batches, with the plan by which all its batches are read.
struct BatchSource<'p> {
    plan: &'p Plan,
    /// The description of the expected schema, for the error about a batch with a different schema.
    expected: &'static str,
}

impl BatchSource<'_> {
    /// Imports the cases of a group. `line` is the line of the first row of the group.
    fn take(&self, group: Group, mut line: u64, cases: &mut dyn Cases) -> Result<(), ImportError> {
        for batch in &group.batches {
            let Some(case) = bind(&self.plan.members, batch) else {
                return Err(cases.fail(line, self.schema_mismatch()));
            };
            self.take_batch(&case, batch.num_rows(), line, cases)?;
            line = line.saturating_add(batch.num_rows() as u64);
        }
        match group.failed {
            Some(error) => Err(cases.fail(line, error)),
            None => Ok(()),
        }
    }

    fn take_batch(
        &self,
        case: &Object<'_>,
        count: usize,
        first_line: u64,
        cases: &mut dyn Cases,
    ) -> Result<(), ImportError> {
        let catalog = cases.catalog().clone();
        let mut rows = RowReader::new(&catalog, case_limit(cases.limits()));
        for (line, at) in (first_line..).zip(0..count) {
            let read = rows.read(case, at);
            cases.count(line, (rows.text.len() as u64).saturating_add(ROW_BYTES))?;
            let complete = |()| {
                complete(&mut rows.row, &rows.rejected, 0, &catalog)
                    .map_err(|error| error.at(catalog.id_name()))
            };
            match read.and_then(complete) {
                Ok(()) => cases.row(line, &mut rows.row, &rows.text)?,
                Err(error) => cases.refuse(line, error)?,
            }
        }
        Ok(())
    }

    fn schema_mismatch(&self) -> Error {
        Error::new(ErrorKind::BadFile, 0, "a batch of another schema", self.expected)
    }
}

fn too_large() -> Error {
    let found = format!("documents of more than {MAX_EXPANSION} times the size of their file");
    let mib = MIN_DOCUMENT_BYTES >> 20;
    let expected = format!("at most {MAX_EXPANSION} times the size, or {mib} MiB if that is more");
    Error::new(ErrorKind::BadFile, 0, found, expected)
}
