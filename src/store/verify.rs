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
    /// The file is only read: others may read it at the same time, and what a crash left to repair is repaired in memory.
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
        let file = File::open_overlay(path, options.cache_bytes);
        file.and_then(|file| verify(file, catalog)).map_err(|fault| fault.of_file(&name))
    }

    /// As [`verify`](Self::verify), for a file that is open to be read, which may have no name; errors call it `name`.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_file(
        file: std::fs::File,
        name: &str,
        catalog: &Catalog,
        options: &StoreOptions,
    ) -> Result<Verified, StoreError> {
        let file = File::of_file(file, options.cache_bytes);
        file.and_then(|file| verify(file, catalog)).map_err(|fault| fault.of_file(name))
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
        let mut log = self.lock_log();
        result.map_err(|fault| {
            log.fail();
            fault.of_file(&self.name)
        })
    }

    /// Copies the store as it is now into a new file, while searches and writes go on. After a write that
    /// failed it is what is on disk.
    ///
    /// The copy appears under its name whole and synced, or not at all, and only its owner can read it. Copying the file itself is
    /// only safe while no store has it open.
    ///
    /// # Errors
    /// As [`create`](Self::create) for the new file, and faults of either.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        self.backup_while(path.as_ref(), &|| true)
    }

    /// As [`backup`](Self::backup), for as long as `goes_on` says so; it is asked often.
    pub(crate) fn backup_while(&self, path: &Path, goes_on: &dyn Fn() -> bool) -> Result<(), StoreError> {
        let name = path.display().to_string();
        let copy = File::prepare(path, self.catalog(), self.options.cache_bytes);
        self.copy(copy, &name, goes_on)
    }

    /// As [`backup_while`](Self::backup_while), into an empty file that may have no name; errors call it `name`.
    #[cfg(all(feature = "service", unix))]
    pub(crate) fn copy_while(
        &self,
        file: std::fs::File,
        name: &str,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        let copy = File::create_in_file(file, self.catalog(), self.options.cache_bytes);
        self.copy(copy, name, goes_on)
    }

    fn copy(
        &self,
        copy: Result<File, Fault>,
        name: &str,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        let copy = copy.and_then(|mut copy| {
            let generation = self.file.generation();
            let copied = guarded(|| copy_into(&self.file, &copy, goes_on));
            copied.or_else(|fault| {
                let is_stuck = fault.kind == StoreErrorKind::Failed && goes_on() && self.reopen(generation);
                if is_stuck { guarded(|| copy_into(&self.file, &copy, goes_on)) } else { Err(fault) }
            })?;
            copy.close()
        });
        copy.map_err(|fault| fault.of_file(name))
    }
}

/// Copies every table, as it was committed last.
pub(super) fn copy_into(from: &File, to: &File, goes_on: &dyn Fn() -> bool) -> Result<(), Fault> {
    let read = from.read()?;
    let write = to.write(true)?;
    macro_rules! copy {
        ($($table:expr),*) => {$({
            let from = read.open_table($table)?;
            let mut to = write.open_table($table)?;
            for entry in from.iter()? {
                if !goes_on() {
                    return Err(Fault::new(StoreErrorKind::Failed, "the copy was given up"));
                }
                let (key, value) = entry?;
                to.insert(key.value(), value.value())?;
            }
        })*};
    }
    copy!(META, DOCUMENTS, RELEASED, BATCHES, LIVE);
    records::copy(&read, &write)?;
    if !goes_on() {
        return Err(Fault::new(StoreErrorKind::Failed, "the copy was given up"));
    }
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
    .and_then(|verified| file.close().map(|()| verified))
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
