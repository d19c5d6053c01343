//! Reads the columns of stored batches, when a search or write first needs them.
//!
//! A column is read in a read transaction of its own, so that no transaction stays open between reads. An open transaction would
//! keep the file from reusing pages. A stored batch never changes, so any later transaction finds the same bytes. There is one
//! exception: a checkpoint removes the batches that no longer exist. Snapshots may still need such a batch. So the checkpoint first
//! [keeps](BatchSource::keep) a transaction for it, which ends with the last of these snapshots.
//!
//! If a column cannot be read, the operation that needs it must not answer. So the read [unwinds](super::error::unwind) to the
//! operation, which returns the error. No value of a column that was not read reaches a search. Later operations try to read the
//! column again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use redb::{ReadOnlyTable, ReadableTable};

use super::batches::{self, PieceKey};
use super::error::{Fault, Guarded, guarded, unwind};
use super::file::{Opened, Reader};
use super::tables::{BATCHES, summary_from_bytes};
use crate::batch::codec::{self, Part};
use crate::batch::{Batch, ColumnSource, ColumnSummary};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, Selection};

/// The number of rows of a stored batch, and its live rows.
#[derive(Debug)]
pub(super) struct StoredBatch {
    pub(super) rows: usize,
    pub(super) live: Selection,
    /// The source of the columns, if the batch was read from the file.
    pub(super) source: Weak<BatchSource>,
}

/// The source of the columns of one stored batch.
#[derive(Debug)]
pub(super) struct BatchSource {
    reader: Reader,
    catalog: Catalog,
    number: u64,
    rows: usize,
    /// The number of columns that have not been read yet.
    unread: AtomicUsize,
    /// A transaction in which the batch exists. Empty as long as the file has the batch.
    kept: OnceLock<Kept>,
}

/// The table of a read transaction that ends when this value is dropped.
#[derive(Debug)]
struct Kept {
    table: Guarded<ReadOnlyTable<PieceKey, &'static [u8]>>,
    /// Keeps the database open. This field is dropped last.
    _opened: Option<Arc<Opened>>,
}

impl BatchSource {
    /// Reads part 0 of a batch and its summary. Returns the batch, and the source of its columns.
    pub(super) fn open(
        pieces: &impl ReadableTable<PieceKey, &'static [u8]>,
        summaries: &impl ReadableTable<u64, &'static [u8]>,
        catalog: &Catalog,
        number: u64,
        reader: &Reader,
    ) -> Result<(Batch, Arc<Self>), Fault> {
        let rows = codec::read_rows(catalog, number, &batches::part(pieces, number, Part::Rows)?)?;
        let summary = summaries.get(number)?;
        let summary = summary.ok_or_else(|| Fault::corrupt(format!("no summary of batch {number}")))?;
        let summary = summary_from_bytes(catalog, (number, rows.0), summary.value())?;
        let source = Arc::new(Self::new(reader.clone(), catalog, number, rows.0));
        let columns: Arc<Self> = Arc::clone(&source);
        Ok((Batch::stored(catalog, rows, summary, columns), source))
    }

    /// Creates the source of the columns of a batch of `rows` rows.
    fn new(reader: Reader, catalog: &Catalog, number: u64, rows: usize) -> Self {
        let columns = Part::all(catalog).filter(|part| matches!(part, Part::Column(_))).count();
        let unread = AtomicUsize::new(columns);
        Self { reader, catalog: catalog.clone(), number, rows, unread, kept: OnceLock::new() }
    }

    /// Keeps a transaction in which the batch exists, unless all of its columns have been read. The file must still have the batch.
    pub(super) fn keep(&self) -> Result<(), Fault> {
        if self.unread.load(Ordering::Acquire) > 0 && self.kept.get().is_none() {
            let reading = self.reader.read()?;
            let table = Guarded::new(reading.open_table(BATCHES)?);
            let kept = Kept { table, _opened: reading.keep() };
            // Only the writer keeps transactions, so the cell is still empty.
            drop(self.kept.set(kept));
        }
        Ok(())
    }

    fn bytes(&self, part: Part) -> Result<Vec<u8>, Fault> {
        if let Some(kept) = self.kept.get() {
            return batches::part(kept.table.get()?, self.number, part);
        }
        let reading = self.reader.read()?;
        let generation = reading.generation();
        let read = reading.open_table(BATCHES).map_err(Fault::from);
        read.and_then(|table| batches::part(&table, self.number, part))
            .map_err(|fault| fault.of_generation(generation))
    }

    fn column(&self, field: FieldId, summary: ColumnSummary) -> Result<Column, Fault> {
        let batch = (self.number, self.rows);
        let read = |bytes: Vec<u8>| Ok(codec::read_summarized(&self.catalog, batch, field, summary, &bytes)?);
        let bytes = || guarded(|| self.bytes(Part::Column(field)));
        let is_kept = self.kept.get().is_some();
        match bytes().and_then(read) {
            // A checkpoint has removed the batch in the meantime.
            Err(_) if !is_kept && self.kept.get().is_some() => bytes().and_then(read),
            column => column,
        }
    }
}

impl ColumnSource for BatchSource {
    fn read(&self, field: FieldId, summary: ColumnSummary) -> Column {
        match self.column(field, summary) {
            Ok(column) => {
                self.unread.fetch_sub(1, Ordering::Release);
                column
            }
            Err(fault) => unwind(fault),
        }
    }
}
