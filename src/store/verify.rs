//! Checking a file whole, and the work on whole files: compaction and copies.

use std::path::Path;

use redb::ReadableTable;

use super::batches;
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::file::File;
use super::load::load;
use super::tables::{BATCHES, DOCUMENTS, LIVE, META, RELEASED, Stored, check_meta};
use super::{Documents, Store, StoreOptions, records};
use crate::batch::{Batch, BatchBuilder, Document, Keep, Row};
use crate::catalog::Catalog;
use crate::engine::Slot;
use crate::ingest::read_case;
use crate::limits::Limits;

/// What [`Store::verify`] found in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Cases, each of whose documents was read again and compared with its columns.
    pub cases: u64,
    /// Batches.
    pub batches: u64,
    /// Records of other kinds.
    pub records: u64,
    /// False when redb had to repair what a crash left; nothing that was acknowledged is lost by that.
    pub was_clean: bool,
}

impl Store {
    /// Checks a file whole: every page, every checksum, every invariant, and every document against its columns.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`Corrupt`](super::StoreErrorKind::Corrupt) with the first fault that was found.
    ///
    /// # Complexity
    /// Reads the whole file, and parses each document.
    pub fn verify(
        path: impl AsRef<Path>,
        catalog: &Catalog,
        options: &StoreOptions,
    ) -> Result<Verified, StoreError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::open(path, options.cache_bytes);
        file.and_then(|file| verify(file, catalog)).map_err(|fault| fault.of_file(&name))
    }

    /// Moves what is stored to the front of the file and gives the rest of it back to the system; false when
    /// there was nothing to gain.
    ///
    /// # Errors
    /// Faults of the file, as [`upsert`](Self::upsert).
    pub fn compact(&mut self) -> Result<bool, StoreError> {
        self.checkpoint()?;
        // Whoever reads documents borrows the store, so that nobody does now.
        self.engine.detach();
        let compacted = self.file.compact();
        // Whoever reads them finds a fault then, or they are there.
        let documents = guarded(|| Documents::of(&self.file));
        let result = match documents {
            Ok(documents) => {
                self.engine.attach(std::sync::Arc::new(documents));
                compacted
            }
            Err(fault) => compacted.and(Err(fault)),
        };
        let mut log = self.log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        result.map_err(|fault| {
            log.fail();
            fault.of_file(&self.name)
        })
    }

    /// Copies the store as it is now into a new file of the same permissions, while searches and writes go on. After a write that
    /// failed it is what is on disk.
    ///
    /// Copying the file itself is only safe while no store has it open.
    ///
    /// # Errors
    /// As [`create`](Self::create) for the new file, and faults of either.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let copy = File::create(path, self.catalog(), self.options.cache_bytes);
        let copy = copy.map_err(|fault| fault.of_file(&name))?;
        let copied = guarded(|| {
            // Whoever may not read the one is not to read the other.
            if let Ok(own) = std::fs::metadata(&self.name) {
                std::fs::set_permissions(path, own.permissions())?;
            }
            let generation = self.file.generation();
            copy_into(&self.file, &copy).or_else(|fault| {
                let is_stuck = fault.kind == StoreErrorKind::Failed && self.reopen(generation);
                if is_stuck { copy_into(&self.file, &copy) } else { Err(fault) }
            })
        });
        copied.map_err(|fault| {
            drop(copy);
            // Half a copy would be a database without cases.
            let _ = std::fs::remove_file(path);
            fault.of_file(&name)
        })
    }
}

/// Copies every table, as it was committed last.
pub(super) fn copy_into(from: &File, to: &File) -> Result<(), Fault> {
    let read = from.read()?;
    let write = to.write(true)?;
    macro_rules! copy {
        ($($table:expr),*) => {$({
            let from = read.open_table($table)?;
            let mut to = write.open_table($table)?;
            for entry in from.iter()? {
                let (key, value) = entry?;
                to.insert(key.value(), value.value())?;
            }
        })*};
    }
    copy!(META, DOCUMENTS, RELEASED, BATCHES, LIVE);
    records::copy(&read, &write)?;
    Ok(write.commit()?)
}

pub(super) fn verify(mut file: File, catalog: &Catalog) -> Result<Verified, Fault> {
    let was_clean = file.check_integrity()?;
    let loaded = load(&file, catalog, &StoreOptions::default())?;
    let engine = loaded.engine;
    engine.validate().map_err(Fault::corrupt)?;
    guarded(|| {
        let transaction = file.read()?;
        let state = check_meta(&transaction.open_table(META)?, catalog)?.state;
        let documents = transaction.open_table(DOCUMENTS)?;
        let mut cases: u64 = 0;
        let snapshot = engine.snapshot();
        let view = engine.view_of(&snapshot);
        for slot in view.slots() {
            cases = cases.saturating_add(compare(slot, catalog, &documents)?);
        }
        // That nothing else is in the tables.
        let pieces = transaction.open_table(BATCHES)?;
        let numbers = batches::numbers(&transaction.open_table(LIVE)?)?;
        let mut last = None;
        for entry in pieces.iter()? {
            let batch = entry?.0.value().0;
            if last != Some(batch) && numbers.binary_search(&batch).is_err() {
                return Err(Fault::corrupt(format!("pieces of batch {batch}, which is not there")));
            }
            last = Some(batch);
        }
        let records = records::verify(&file)?;
        Ok(Verified { cases, batches: state.batches, records, was_clean })
    })
}

/// Compares the live rows of a batch with their documents; gives how many there are.
fn compare(
    slot: &Slot,
    catalog: &Catalog,
    documents: &impl ReadableTable<u64, &'static [u8]>,
) -> Result<u64, Fault> {
    let batch: &Batch = &slot.batch;
    let limits = Limits { case_bytes: usize::MAX, case_depth: usize::MAX, ..Limits::default() };
    let rows: Vec<usize> = slot.live.iter(batch.rows()).collect();
    let mut builder = BatchBuilder::new(catalog, Keep::Numbers, 0);
    for row in &rows {
        let number = batch.document_number(*row);
        let fault = |what: String| Fault::corrupt(format!("row {row} of batch {}: {what}", slot.id.0));
        let number = number.ok_or_else(|| fault("no document".to_owned()))?;
        let bytes = documents.get(number)?.ok_or_else(|| fault(format!("no document {number}")))?;
        let stored = Stored::from_bytes(number, bytes.value())?;
        let mut values = Row::default();
        read_case(stored.text, catalog, &limits, &mut values)
            .map_err(|error| fault(format!("document {number}: {error}")))?;
        if stored.place != batch.place(*row) {
            return Err(fault(format!("place {}, and {} of its document", batch.place(*row), stored.place)));
        }
        builder.push(&values, Document::Number { number, size_bytes: 0 }, stored.place);
    }
    let again = builder.seal();
    for field in catalog.field_ids() {
        let (Some(column), Some(expected)) = (batch.column(field), again.column(field)) else { continue };
        for (at, row) in rows.iter().enumerate() {
            if !column.values(*row).eq(expected.values(at)) {
                let name = catalog.field(field).name();
                return Err(Fault::corrupt(format!(
                    "row {row} of batch {}: {name} is not what its document says",
                    slot.id.0
                )));
            }
        }
    }
    Ok(rows.len() as u64)
}
