//! Rows of a Parquet file or of record batches, a batch at a time, into an import.

use std::collections::HashSet;
use std::iter;

use arrow_array::{Array, RecordBatch, RecordBatchReader};
use parquet::file::reader::ChunkReader;

use super::bind::{Object, bind};
use super::parquet_reader::{guarded, open, plan};
use super::plan::Plan;
use super::rows::Rows;
use super::view::view;
use crate::engine::{Cases, Import, Refusal, RowBound, RowGroup};
use crate::error::{Error, ErrorKind, quote};
use crate::ingest::{case_limit, complete};

/// A group has no more than this in its buffers, in bytes, but for its last batch.
const GROUP_BYTES: usize = 1 << 27;

/// A file may become so many times its size in documents …
const EXPANSION: u64 = 1000;

/// … or this much, whatever its size.
const SMALL_BYTES: u64 = 64 << 20;

/// What a row counts beside its document.
const ROW_BYTES: u64 = 64;

/// Reads a whole file into the import.
pub(super) fn read(import: &mut Import<'_>, reader: impl ChunkReader + 'static) -> Result<(), Refusal> {
    let room = reader.len().saturating_mul(EXPANSION).max(SMALL_BYTES);
    let (plan, mut batches) = match open(reader, import.engine().catalog()) {
        Ok(opened) => opened,
        Err(error) => return import.fail(0, error),
    };
    let batches = iter::from_fn(|| guarded(|| batches.next().transpose()).transpose());
    read_all(import, &Source { plan: &plan, expected: "a sound Parquet file" }, batches, room)
}

/// Takes the cases of all batches into the import.
pub(super) fn read_batches(import: &mut Import<'_>, batches: impl RecordBatchReader) -> Result<(), Refusal> {
    let schema = batches.schema();
    let plan = match plan(&schema, import.engine().catalog()) {
        Ok((plan, _)) => plan,
        Err(error) => return import.fail(0, error),
    };
    let source = Source { plan: &plan, expected: "one of the reader's schema" };
    let batches = batches.map(|batch| match batch {
        Ok(batch) if batch.schema().fields() == schema.fields() => view(&batch, &plan),
        Ok(_) => Err(source.foreign()),
        Err(error) => Err(Error::new(ErrorKind::BadFile, 0, quote(&error.to_string()), "a record batch")),
    });
    // Batches lie in memory already, so their documents are not much larger.
    read_all(import, &source, batches, u64::MAX)
}

/// Takes in the cases of batches, which may be an error where they cannot be read on.
///
/// `room` is for how many bytes of documents there is; a source that becomes more is refused.
fn read_all(
    import: &mut Import<'_>,
    source: &Source<'_>,
    batches: impl Iterator<Item = Result<RecordBatch, Error>>,
    room: u64,
) -> Result<(), Refusal> {
    source.plan.left_out.iter().try_for_each(|column| import.leave_out(column))?;
    let groups = Grouped { batches, rows: import.rows_at_once(), has_ended: false };
    let bound = RowBound { bytes: room, too_much };
    import.push_rows(groups, bound, |group, line, cases| source.take(group, line, cases))
}

/// Batches that are read one after the other, on one thread.
struct Group {
    batches: Vec<RecordBatch>,
    /// Why there are none behind them, other than that the source has ended.
    failed: Option<Error>,
}

/// Batches in groups.
struct Grouped<I> {
    batches: I,
    /// How many rows make a group.
    rows: usize,
    has_ended: bool,
}

impl<I: Iterator<Item = Result<RecordBatch, Error>>> Iterator for Grouped<I> {
    type Item = RowGroup<Group>;

    fn next(&mut self) -> Option<RowGroup<Group>> {
        let mut group = Group { batches: Vec::new(), failed: None };
        let (mut rows, mut bytes, mut seen) = (0_usize, 0_usize, HashSet::new());
        // Nothing of a reader that failed is used again.
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

/// The size of a batch's buffers, but for those that were seen already: batches share dictionaries.
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

/// What batches are read by.
struct Source<'p> {
    plan: &'p Plan,
    /// What a batch of another schema should be.
    expected: &'static str,
}

impl Source<'_> {
    /// Takes in the cases of a group; `line` is that of its first row.
    fn take(&self, group: Group, mut line: u64, cases: &mut dyn Cases) -> Result<(), Refusal> {
        for batch in &group.batches {
            let Some(case) = bind(&self.plan.members, batch) else {
                return Err(cases.fail(line, self.foreign()));
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
    ) -> Result<(), Refusal> {
        let catalog = cases.catalog().clone();
        let mut rows = Rows::new(&catalog, case_limit(cases.limits()));
        for (line, at) in (first_line..).zip(0..count) {
            let read = rows.read(case, at);
            cases.count(line, (rows.text.len() as u64).saturating_add(ROW_BYTES))?;
            let complete =
                |()| complete(&mut rows.row, &rows.refused, 0, &catalog).map_err(|error| error.at("id"));
            match read.and_then(complete) {
                Ok(()) => cases.row(line, &mut rows.row, &rows.text)?,
                Err(error) => cases.refuse(line, error)?,
            }
        }
        Ok(())
    }

    fn foreign(&self) -> Error {
        Error::new(ErrorKind::BadFile, 0, "a batch of another schema", self.expected)
    }
}

fn too_much() -> Error {
    let found = format!("cases of more than {EXPANSION} times the size of their file");
    let expected = format!("at most that, or {} MiB", SMALL_BYTES >> 20);
    Error::new(ErrorKind::BadFile, 0, found, expected)
}
