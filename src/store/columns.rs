//! Reads the columns of stored batches, when a search or write first needs them.
//!
//! A column is read in a read transaction of its own, so that no transaction stays open between reads. An open transaction would
//! keep the file from reusing pages. A batch that was read from the file never changes, so any later transaction finds the same
//! bytes. There is one exception: a checkpoint removes the batches that no longer exist. Snapshots may still need such a batch. So
//! the checkpoint first [keeps](BatchSource::keep) a transaction for it. The transaction ends when the commit of the checkpoint
//! fails, when all columns have been read, or with the last of these snapshots.
//!
//! After a failed read or write, the file is opened again, and kept transactions can no longer be used. Batches that the file still
//! has are then read from the file. A snapshot that is older than the removal of a batch gets an error.
//!
//! If a column cannot be read, the operation that needs it must not answer. So the read unwinds to the operation, which returns the
//! error. So a search never uses values of a column that could not be read. Later operations try to read the column again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use redb::{ReadOnlyTable, ReadableTable};

use super::batches::{self, PieceKey};
use super::error::{Fault, Guarded, StoreErrorKind, caught, fault_of, guarded};
use super::file::{Opened, Reader};
use super::tables::{BATCHES, LIVE, summary_from_bytes};
use crate::batch::codec::{self, Part};
use crate::batch::{Batch, ColumnSource, ColumnSummary, KeyFilter, Unreadable};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Column, Selection};
use crate::engine::Engine;

/// A generation that no database has. The generation of a database is the number of times that its file was reopened or replaced
/// before. A fault with this generation does not make the store open the file again.
const NO_GENERATION: u64 = u64::MAX;

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
    /// True if a column could not be read or was damaged.
    is_unreadable: AtomicBool,
    /// A transaction in which the batch exists, if a checkpoint has removed the batch from the file, or is about to do so.
    kept: Mutex<Option<Arc<Kept>>>,
}

/// The table of a read transaction that ends when this value is dropped.
#[derive(Debug)]
struct Kept {
    table: Guarded<ReadOnlyTable<PieceKey, &'static [u8]>>,
    /// The generation of the database of the transaction.
    generation: u64,
    /// Keeps the database open. This field is dropped last.
    _opened: Option<Arc<Opened>>,
}

impl BatchSource {
    /// Reads the summary and the [`Part::Rows`] of a batch. Returns the batch, and the source of its columns.
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
        Self {
            reader,
            catalog: catalog.clone(),
            number,
            rows,
            unread,
            is_unreadable: AtomicBool::new(false),
            kept: Mutex::default(),
        }
    }

    /// Keeps a transaction in which the batch exists, unless all of its columns have been read. Replaces a transaction that was
    /// kept before. Does nothing if the file no longer has the batch.
    pub(super) fn keep(&self) -> Result<(), Fault> {
        if self.unread.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let reading = self.reader.read()?;
        let generation = reading.generation();
        let open = || Ok(reading.open_table(LIVE)?.get(self.number)?.is_some());
        if !guarded(open).map_err(|fault| fault.of_generation(generation))? {
            return Ok(());
        }
        let table = Guarded::new(reading.open_table(BATCHES)?);
        self.replace_kept(Some(Arc::new(Kept { table, generation, _opened: reading.keep() })));
        // The last column may have been read in the meantime.
        if self.unread.load(Ordering::Acquire) == 0 {
            self.release();
        }
        Ok(())
    }

    /// Ends the transaction that is kept. The file must still have the batch, or all of its columns must have been read.
    fn release(&self) {
        self.replace_kept(None);
    }

    fn replace_kept(&self, kept: Option<Arc<Kept>>) {
        let before = std::mem::replace(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner), kept);
        // The end of a transaction may take time, so the lock is not held.
        drop(before);
    }

    fn kept(&self) -> Option<Arc<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns true if this source keeps a transaction.
    #[cfg(test)]
    pub(super) fn is_keeping(&self) -> bool {
        self.kept().is_some()
    }

    /// Reads the bytes of a part from the transaction that is kept, if there is one, or else from the file.
    fn bytes(&self, kept: Option<&Kept>, part: Part) -> Result<Vec<u8>, Fault> {
        let Some(kept) = kept else { return self.bytes_in_file(part) };
        let read = guarded(|| batches::part(kept.table.get()?, self.number, part));
        match read.map_err(|fault| fault.of_generation(kept.generation)) {
            // The database of the transaction was closed after an error. The file may still have the batch.
            Err(fault) if fault.kind == StoreErrorKind::Failed => self.bytes_in_file(part),
            read => read,
        }
    }

    /// Reads the bytes of a part from the file.
    fn bytes_in_file(&self, part: Part) -> Result<Vec<u8>, Fault> {
        let reading = self.reader.read()?;
        let read = guarded(|| {
            if reading.open_table(LIVE)?.get(self.number)?.is_none() {
                return Ok(None);
            }
            batches::part(&reading.open_table(BATCHES)?, self.number, part).map(Some)
        });
        read.map_err(|fault| fault.of_generation(reading.generation()))?.ok_or_else(|| {
            let detail =
                "the file was opened again, and no longer has the cases of this snapshot; search again";
            Fault::new(StoreErrorKind::Failed, detail).of_generation(NO_GENERATION)
        })
    }

    fn column(&self, field: FieldId, summary: ColumnSummary) -> Result<Column, Fault> {
        let batch = (self.number, self.rows);
        self.read_kept(|kept| {
            let bytes = self.bytes(kept, Part::Column(field))?;
            Ok(codec::read_summarized(&self.catalog, batch, field, summary, &bytes)?)
        })
    }

    fn key_filter(&self, field: FieldId) -> Result<Option<KeyFilter>, Fault> {
        let part = Part::Keys(field);
        if !Part::filters(&self.catalog).any(|other| other == part) {
            return Ok(None);
        }
        self.read_kept(|kept| {
            let bytes = self.bytes(kept, part)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            Ok(Some(codec::read_filter(&self.catalog, self.number, field, &bytes)?))
        })
    }

    /// Reads from the transaction that is kept, if there is one, or else from the file.
    fn read_kept<T>(&self, read: impl Fn(Option<&Kept>) -> Result<T, Fault>) -> Result<T, Fault> {
        let kept = self.kept();
        match read(kept.as_deref()) {
            // A checkpoint has removed the batch in the meantime.
            Err(fault) if kept.is_none() => match self.kept() {
                Some(kept) => read(Some(&kept)),
                None => Err(fault),
            },
            read => read,
        }
    }

    /// Converts a fault for unwinding. Marks this batch as unreadable if the fault would remain after the file is opened again.
    fn noted(&self, fault: Fault) -> Unreadable {
        // All other faults are about the whole file.
        if matches!(fault.kind, StoreErrorKind::Corrupt | StoreErrorKind::Io) {
            self.is_unreadable.store(true, Ordering::Relaxed);
        }
        Box::new(fault)
    }
}

/// The sources that keep a transaction for a checkpoint. If the checkpoint is not committed, these transactions end.
#[derive(Default)]
pub(super) struct KeptSources(Vec<Arc<BatchSource>>);

impl KeptSources {
    /// Keeps a transaction in which the batch exists.
    pub(super) fn keep(&mut self, source: Arc<BatchSource>) -> Result<(), Fault> {
        source.keep()?;
        self.0.push(source);
        Ok(())
    }

    /// Lets the sources keep their transactions, because the file no longer has the batches.
    pub(super) fn committed(mut self) {
        self.0.clear();
    }
}

impl Drop for KeptSources {
    fn drop(&mut self) {
        self.0.iter().for_each(|source| source.release());
    }
}

impl ColumnSource for BatchSource {
    fn read(&self, field: FieldId, summary: ColumnSummary) -> Result<Column, Unreadable> {
        self.column(field, summary).map_err(|fault| self.noted(fault))
    }

    fn filter(&self, field: FieldId) -> Result<Option<KeyFilter>, Unreadable> {
        self.key_filter(field).map_err(|fault| self.noted(fault))
    }

    fn note_read(&self) {
        if self.unread.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.release();
        }
    }

    fn is_unreadable(&self) -> bool {
        self.is_unreadable.load(Ordering::Relaxed)
    }
}

/// Reads all columns, and builds all indexes. Returns false if it stopped because `goes_on` returned false. If columns cannot be
/// read, returns the first fault after all other columns have been read, and does not unwind.
pub(super) fn warm(engine: &Engine, goes_on: &dyn Fn() -> bool) -> Result<bool, Fault> {
    caught(|| engine.warm(goes_on))?.map_err(fault_of)
}
