//! Verifies a whole file: all checksums and invariants, and each document against its columns.

use std::path::Path;

use redb::ReadableTable;

use super::batches::PieceKey;
use super::columns::warm;
use super::database::Store;
use super::dictionary::Dictionaries;
use super::error::{Fault, StoreError, caught, guarded};
use super::file::File;
use super::load::load;
use super::options::StoreOptions;
use super::tables::{BATCHES, Counted, DOCUMENTS, LIVE, META, check_meta};
use super::{batches, history_check, record_table, standing_tables};
use crate::batch::codec::{self, Part};
use crate::batch::{Batch, BatchBuilder, Document, Keep, KeyFilter, Row};
use crate::catalog::Catalog;
use crate::engine::Slot;
use crate::ingest::read_case;
use crate::limits::Limits;

/// The result of [`Store::verify`] for an undamaged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The number of documents. Each document was parsed, and its values were compared with the columns.
    pub documents: u64,
    /// The number of stored batches. Documents that were stored since the last checkpoint are in no batch yet. So a file with few
    /// documents may have no batch.
    pub batches: u64,
    /// The number of records.
    pub records: u64,
    /// The number of standing filters.
    pub standing_filters: u64,
    /// The number of events that are kept.
    pub events: u64,
    /// The number of documents in the history: documents that writes replaced or deleted, and that are still kept.
    pub history: u64,
    /// False if redb had to repair the file after a crash. A repair loses no acknowledged write.
    pub was_clean: bool,
}

impl Store {
    /// Checks a whole file: every page, every checksum and every invariant. Compares every document with its columns.
    ///
    /// The file is only read. Other processes may read it at the same time. Repairs after a crash are made in memory. No store may
    /// have the file open for writing. To verify a store that is in use, verify a [backup](Self::backup) of it.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open). Returns [`Corrupt`](super::StoreErrorKind::Corrupt) for the first damage that
    /// was found.
    ///
    /// # Complexity
    /// Reads the whole file, and parses each document.
    pub fn verify(
        path: impl AsRef<Path>,
        catalog: &Catalog,
        options: &StoreOptions,
    ) -> Result<VerifyReport, StoreError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::open_overlay(path, options.cache_bytes);
        file.and_then(|file| verify(file, catalog)).map_err(|fault| fault.of_file(&name))
    }

    /// Like [`verify`](Self::verify), for a file that is already open for reading and may be unnamed. In error messages, the file
    /// has the name `name`.
    ///
    /// # Errors
    /// Returns the errors of [`verify`](Self::verify).
    pub fn verify_file(
        file: std::fs::File,
        name: &str,
        catalog: &Catalog,
        options: &StoreOptions,
    ) -> Result<VerifyReport, StoreError> {
        let file = File::of_file(file, options.cache_bytes);
        file.and_then(|file| verify(file, catalog)).map_err(|fault| fault.of_file(name))
    }
}

pub(super) fn verify(mut file: File, catalog: &Catalog) -> Result<VerifyReport, Fault> {
    let was_clean = file.check_integrity()?;
    let loaded = load(&file, catalog, &StoreOptions::default(), None)?;
    let engine = loaded.engine;
    warm(&engine, &|| true)?;
    caught(|| engine.validate())?.map_err(|error| Fault::corrupt(error.to_string()))?;
    guarded(|| {
        let transaction = file.read()?;
        let Counted { state, standing, writes, .. } = check_meta(&transaction.open_table(META)?, catalog)?;
        let documents = transaction.open_table(DOCUMENTS)?;
        let dictionaries = file.dictionaries(&transaction)?;
        let mut cases: u64 = 0;
        let snapshot = engine.current_snapshot();
        let view = engine.view_of(&snapshot);
        for slot in view.slots() {
            cases = cases.saturating_add(compare(slot, catalog, &documents, &dictionaries)?);
        }
        let pieces = transaction.open_table(BATCHES)?;
        for slot in view.slots() {
            check_filters(slot, catalog, &pieces)?;
        }
        // The table of batches must contain no pieces of batches that do not exist.
        let numbers = batches::numbers(&transaction.open_table(LIVE)?)?;
        let mut last = None;
        for entry in pieces.iter()? {
            let batch = entry?.0.value().0;
            if last != Some(batch) && numbers.binary_search(&batch).is_err() {
                return Err(Fault::corrupt(format!("pieces of batch {batch}, which does not exist")));
            }
            last = Some(batch);
        }
        let records = record_table::verify(&file)?;
        let events = standing_tables::verify(&file, catalog, &standing)?;
        let counters = (writes, &state);
        let history = history_check::verify(&transaction, catalog, &dictionaries, counters)?;
        let (batches, standing_filters) = (state.batches, standing.filters);
        Ok(VerifyReport { documents: cases, batches, records, standing_filters, events, history, was_clean })
    })
    .and_then(|verified| file.close().map(|()| verified))
}

/// Checks the key filters of a stored batch: each filter must equal the filter that is created from its column. Files of earlier
/// versions have no key filters.
fn check_filters(
    slot: &Slot,
    catalog: &Catalog,
    pieces: &impl ReadableTable<PieceKey, &'static [u8]>,
) -> Result<(), Fault> {
    let number = slot.id.0;
    for part in Part::filters(catalog) {
        let Part::Keys(field) = part else { continue };
        let bytes = batches::part(pieces, number, part)?;
        let Some(column) = slot.batch.column(field) else { continue };
        if !bytes.is_empty() && codec::read_filter(catalog, number, field, &bytes)? != KeyFilter::of(column) {
            let name = catalog.field(field).name();
            return Err(Fault::corrupt(format!(
                "the key filter of {name} in batch {number} does not match its column"
            )));
        }
    }
    Ok(())
}

/// Compares the live rows of a batch with their documents. Returns the number of live rows.
fn compare(
    slot: &Slot,
    catalog: &Catalog,
    documents: &impl ReadableTable<u64, &'static [u8]>,
    dictionaries: &Dictionaries,
) -> Result<u64, Fault> {
    let batch: &Batch = &slot.batch;
    let limits = Limits::default().for_stored_documents();
    let rows: Vec<usize> = slot.live.iter(batch.rows()).collect();
    let mut builder = BatchBuilder::new(catalog, Keep::Numbers, 0);
    for row in &rows {
        let number = batch.document_number(*row);
        let fault = |what: String| Fault::corrupt(format!("row {row} of batch {}: {what}", slot.id.0));
        let number = number.ok_or_else(|| fault("no document".to_owned()))?;
        let bytes = documents.get(number)?.ok_or_else(|| fault(format!("no document {number}")))?;
        dictionaries.decode(number, bytes.value(), |place, text| {
            let mut values = Row::default();
            read_case(text, catalog, &limits, &mut values)
                .map_err(|error| fault(format!("document {number}: {error}")))?;
            if place != batch.place(*row) {
                return Err(fault(format!(
                    "place {}, but its document has place {place}",
                    batch.place(*row)
                )));
            }
            builder.push(&values, Document::Number { number, size_bytes: 0 }, place);
            Ok(())
        })??;
    }
    let again = builder.seal();
    for field in catalog.field_ids() {
        let (Some(column), Some(expected)) = (batch.column(field), again.column(field)) else { continue };
        for (at, row) in rows.iter().enumerate() {
            if !column.values(*row).eq(expected.values(at)) {
                let name = catalog.field(field).name();
                return Err(Fault::corrupt(format!(
                    "row {row} of batch {}: {name} differs from its document",
                    slot.id.0
                )));
            }
        }
    }
    Ok(rows.len() as u64)
}
