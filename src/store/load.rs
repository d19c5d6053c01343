//! Loads a file into an engine: the stored batches, and the documents that were stored since the last checkpoint.
//!
//! If the file has summaries, loading reads no columns. It reads only the summary of each batch, its live rows, and the insertion
//! order and document numbers of its rows. A column is read when it is first needed ([`columns`](super::columns)).

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use redb::{ReadableTable, ReadableTableMetadata};

use super::columns::{BatchSource, StoredBatch};
use super::dictionary::Dictionaries;
use super::documents::Documents;
use super::error::{Fault, guarded};
use super::file::File;
use super::history_bytes::WriteCounters;
use super::history_tables::History;
use super::options::{KeptEvents, StoreOptions};
use super::standing_bytes::StandingCounters;
use super::standing_tables::{read_filters, system_clock};
use super::tables::{
    BATCHES, Counted, DOCUMENTS, FORMAT_VERSION, LIVE, META, RELEASED, SUMMARIES, StoreCounters, check_meta,
    read_definition, released_checksum,
};
use super::{batches, record_table};
use crate::batch::codec::ReadBatch;
use crate::batch::{Batch, BatchBuilder, Document, Keep, Row};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Bitmap, Selection};
use crate::engine::{BatchId, Engine, Parts};
use crate::ingest::read_case;
use crate::limits::Limits;
use crate::standing::FilterSet;

/// The engine that was loaded from a file, and the state of the file.
pub(super) struct Loaded {
    pub(super) engine: Engine,
    pub(super) state: StoreCounters,
    pub(super) standing: StandingCounters,
    pub(super) writes: WriteCounters,
    /// The maximum number and the maximum age of kept events, if the file has this setting.
    pub(super) kept_events: Option<KeptEvents>,
    /// The standing filters, which the engine has too.
    pub(super) filters: Arc<FilterSet>,
    pub(super) stored: HashMap<u64, StoredBatch>,
    /// True if the file has version 3: it has summaries of the batches, and its documents and parts may be compressed.
    pub(super) is_packed: bool,
    /// The number of documents that had to be parsed, because they are in no stored batch.
    pub(super) replayed: u64,
    /// The catalogue that the file was made with, with its known values and aliases, if the file has it.
    pub(super) definition: Option<Catalog>,
}

/// Reads everything except the documents of stored batches. If the file has summaries, does not read the columns of batches either.
/// If the result will replace the cases of an engine, `hasher` is the hasher of that engine.
pub(super) fn load(
    file: &File,
    catalog: &Catalog,
    options: &StoreOptions,
    hasher: Option<foldhash::quality::RandomState>,
) -> Result<Loaded, Fault> {
    guarded(|| {
        let limits = &options.limits;
        let transaction = file.read()?;
        let meta = transaction.open_table(META)?;
        let Counted { version, mut state, records, standing, writes, kept_events } =
            check_meta(&meta, catalog)?;
        let most_events = options.kept_events(kept_events).count;
        let is_packed = version >= FORMAT_VERSION;
        let definition = read_definition(&meta)?;
        record_table::check_count(file, records)?;
        History::open(&transaction, writes)?;
        let filters = Arc::new(FilterSet::new(catalog));
        let inserted = filters.insert_many(read_filters(&transaction, catalog, &standing)?);
        inserted.map_err(|error| Fault::corrupt(format!("standing filters: {error}")))?;
        let released = read_released(&transaction.open_table(RELEASED)?, &state)?;
        let documents = transaction.open_table(DOCUMENTS)?;
        let dictionaries = file.dictionaries(&transaction)?;
        let pieces = transaction.open_table(BATCHES)?;
        let live_rows = transaction.open_table(LIVE)?;

        let summaries = is_packed.then(|| transaction.open_table(SUMMARIES)).transpose()?;
        let reader = file.reader();

        let limits_of_stored = limits.clone().for_stored_documents();
        let mut slots: Vec<(BatchId, Arc<Batch>, Selection)> = Vec::new();
        let mut stored = HashMap::new();
        let mut found: usize = 0;
        let numbers = batches::numbers(&live_rows)?;
        if numbers.len() as u64 != state.batches {
            return Err(Fault::corrupt(format!("{} batches, counted as {}", numbers.len(), state.batches)));
        }
        if let Some(summaries) = &summaries {
            let count = summaries.len()?;
            if count != state.batches {
                return Err(Fault::corrupt(format!("{count} summaries of {} batches", state.batches)));
            }
        }
        for number in numbers {
            let (batch, live, source) = match &summaries {
                Some(summaries) => {
                    let (batch, source) = BatchSource::open(&pieces, summaries, catalog, number, &reader)?;
                    let live = batches::read_live(&live_rows, number, batch.rows())?;
                    (batch, live, Arc::downgrade(&source))
                }
                None => {
                    let ReadBatch { mut batch, outdated } = batches::read(&pieces, catalog, number)?;
                    let live = batches::read_live(&live_rows, number, batch.rows())?;
                    if !outdated.is_empty() {
                        let documents = (&documents, &*dictionaries);
                        read_elements(&mut batch, &outdated, &live, documents, catalog, &limits_of_stored)?;
                    }
                    (batch, live, Weak::new())
                }
            };
            let stored_live = Selection::from_bitmap(live.clone());
            stored.insert(number, StoredBatch { rows: batch.rows(), live: stored_live, source });
            let gone: Vec<usize> = released_rows(&batch, &released).filter(|row| live.get(*row)).collect();
            found = found.saturating_add(gone.len());
            let live = live.without(gone);
            // The engine drops batches without rows, so a store never contains such a batch. Plans divide by the number of rows.
            let last_place = batch.place_range().map_or(0, |(_, last)| last);
            if batch.rows() == 0
                || batch.document_number(0).is_none()
                || number >= state.next_batch
                || last_place >= state.next_place
            {
                return Err(Fault::corrupt(format!(
                    "batch {number} has no documents, or does not match the counters"
                )));
            }
            slots.push((BatchId(number), Arc::new(batch), Selection::from_bitmap(live)));
        }
        if found != released.len() {
            return Err(Fault::corrupt(format!(
                "{} released documents, {found} of them found in live rows",
                released.len()
            )));
        }

        let mut replayed: u64 = 0;
        let mut builder = BatchBuilder::new(catalog, Keep::Numbers, 0);
        let mut seal = |builder: &mut BatchBuilder, state: &mut StoreCounters| {
            if builder.rows() > 0 {
                slots.push((BatchId(state.next_batch), Arc::new(builder.seal()), Selection::All));
                state.next_batch = state.next_batch.saturating_add(1);
            }
        };
        let count = usize::try_from(documents.len()?).unwrap_or(usize::MAX);
        // The pages of a damaged file may form a cycle, so the count of entries bounds the loop.
        for entry in documents.range(state.checkpoint..)?.take(count.saturating_add(1)) {
            let (number, bytes) = entry?;
            let number = number.value();
            if builder.is_full() || builder.rows() >= options.batch_rows {
                seal(&mut builder, &mut state);
            }
            dictionaries.decode(number, bytes.value(), |place, text| {
                let mut row = Row::default();
                read_case(text, catalog, &limits_of_stored, &mut row)
                    .map_err(|error| Fault::corrupt(format!("document {number}: {error}")))?;
                if number >= state.next_document || place >= state.next_place {
                    return Err(Fault::corrupt(format!("document {number} does not match the counters")));
                }
                builder.push(&row, Document::Number { number, size_bytes: text.len() }, place);
                Ok(())
            })??;
            replayed = replayed.saturating_add(1);
        }
        seal(&mut builder, &mut state);

        let engine = Engine::builder(catalog.clone())
            .limits(limits.clone())
            .batch_rows(options.batch_rows)
            .numbered_documents()
            .watch_for_store(&filters, most_events, system_clock())
            .restore(Parts {
                batches: slots,
                head: BatchId(state.next_batch),
                rows: Vec::new(),
                deleted: Vec::new(),
                next_place: state.next_place,
                next_batch: state.next_batch.saturating_add(1),
                write: writes.last,
                hasher,
            })
            .map_err(Fault::corrupt)?;
        if engine.len() as u64 != state.cases || documents.len()? != state.cases {
            return Err(Fault::corrupt(format!(
                "{} cases and {} documents, counted as {}",
                engine.len(),
                documents.len()?,
                state.cases
            )));
        }
        engine.attach(Arc::new(Documents::of(file)?));
        Ok(Loaded {
            engine,
            state,
            standing,
            writes,
            kept_events,
            filters,
            stored,
            is_packed,
            replayed,
            definition,
        })
    })
}

/// Reads the documents of a batch, to find out which element of an array of objects each value of these fields belongs to. An
/// earlier version of this library stored the batch without this information.
fn read_elements(
    batch: &mut Batch,
    fields: &[FieldId],
    live: &Bitmap,
    (documents, dictionaries): (&impl ReadableTable<u64, &'static [u8]>, &Dictionaries),
    catalog: &Catalog,
    limits: &Limits,
) -> Result<(), Fault> {
    let numbers: Vec<Option<u64>> = (0..batch.rows()).map(|row| batch.document_number(row)).collect();
    batch.set_elements(catalog, fields, |row, take| {
        let number = numbers.get(row).copied().flatten().filter(|_| live.get(row));
        let Some(number) = number else { return Ok(false) };
        // The document of a row that was deleted since the last checkpoint is gone.
        let Some(bytes) = documents.get(number)? else { return Ok(false) };
        dictionaries.decode(number, bytes.value(), |_, text| {
            let mut row = Row::default();
            read_case(text, catalog, limits, &mut row)
                .map_err(|error| Fault::corrupt(format!("document {number}: {error}")))?;
            take(&row);
            Ok(true)
        })?
    })
}

/// Returns the document numbers of the *released* documents, in ascending order: the documents of cases that were replaced or
/// deleted since the last checkpoint.
fn read_released(table: &impl ReadableTable<u64, u64>, state: &StoreCounters) -> Result<Vec<u64>, Fault> {
    let count = table.len()?;
    if count != state.released {
        return Err(Fault::corrupt(format!("{count} documents released, counted as {}", state.released)));
    }
    let mut released = Vec::new();
    for entry in table.iter()?.take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let (number, checksum) = entry?;
        let number = number.value();
        if checksum.value() != released_checksum(number) || released.last() >= Some(&number) {
            return Err(Fault::corrupt(format!(
                "the released document {number} has a wrong checksum or is out of order"
            )));
        }
        released.push(number);
    }
    Ok(released)
}

/// Returns the rows of a batch whose documents have been released.
fn released_rows<'b>(batch: &'b Batch, released: &'b [u64]) -> impl Iterator<Item = usize> + 'b {
    let rows = if released.is_empty() { 0 } else { batch.rows() };
    (0..rows).filter(|row| {
        batch.document_number(*row).is_some_and(|number| released.binary_search(&number).is_ok())
    })
}
