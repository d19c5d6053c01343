//! Copies a file without the cases and records of an erasure. The copy has no batches: opening it makes them from its documents.

use std::collections::HashSet;

use redb::{ReadableTable, ReadableTableMetadata, TableError, WriteTransaction};

use super::database::Store;
use super::dictionary::{self, Dictionaries, Dictionary};
use super::erasure::{Erasure, ErasureReport};
use super::error::Fault;
use super::file::{File, Reading};
use super::history_bytes::{WriteCounters, WriteRow, entry_to_bytes};
use super::history_tables::{self, History};
use super::record_table;
use super::standing_bytes::without_id;
use super::tables::{
    DICTIONARIES, DOCUMENTS, EVENTS, HISTORY, META, RECORD_COUNT, RECORDS, STANDING, STATE, SUMMARIES,
    StoreCounters, WRITES, read_writes, record_from_bytes, records_to_bytes,
};
use super::training::{SAMPLES, sample, train};
use crate::filter::Document;

/// The cases to erase.
#[derive(Default)]
pub(super) struct Selected {
    /// The document numbers of the current cases to erase.
    pub(super) numbers: HashSet<u64>,
    /// The ids whose earlier documents and events are erased.
    pub(super) ids: HashSet<String>,
}

/// Copies everything that is not to be erased to the empty file `to`. Returns the counts of what was left out.
pub(super) fn copy_without(
    store: &Store,
    to: &File,
    erasure: &Erasure,
    mut selected: Selected,
) -> Result<ErasureReport, Fault> {
    let read = store.file.read()?;
    let dictionaries = store.file.dictionaries(&read)?;
    let old = old_documents(store, &read, &dictionaries, erasure, &mut selected)?;
    let write = to.write(true)?;
    let mut copy = Copy { store, read: &read, write: &write, dictionaries: &dictionaries, dictionary: None };
    copy.train(&selected)?;
    let mut erased = ErasureReport { history: old.len() as u64, ..ErasureReport::default() };
    let gone = copy.documents(&selected)?;
    erased.cases = gone.len() as u64;
    erased.records = copy.records(erasure)?;
    erased.events = copy.events(&selected)?;
    let writes = copy.history(&old, &gone)?;
    copy.meta(writes)?;
    if !store.is_packed {
        write.delete_table(SUMMARIES)?;
        write.delete_table(DICTIONARIES)?;
    }
    write.commit()?;
    Ok(erased)
}

/// Returns the keys of the documents in the history to erase. If the filter selects an old document of a case that no longer
/// exists, adds the id of the case to the selected ids.
fn old_documents(
    store: &Store,
    read: &Reading,
    dictionaries: &Dictionaries,
    erasure: &Erasure,
    selected: &mut Selected,
) -> Result<HashSet<(u64, u64)>, Fault> {
    let counters = read_writes(&read.open_table(META)?)?;
    let mut old = HashSet::new();
    let Some(history) = History::open(read, counters)? else { return Ok(old) };
    let limits = store.options.limits.clone().for_stored_documents();
    let catalog = store.catalog();
    let mut all: Vec<((u64, u64), String)> = Vec::new();
    history.each_after(None, u64::MAX, |write, number, bytes| {
        dictionaries.decode(number, bytes, |_, text| {
            let wrong = |what: String| Fault::corrupt(format!("document {number} of the history: {what}"));
            let (document, _) = Document::parse_lenient(catalog, text.as_bytes(), &limits)
                .map_err(|errors| wrong(errors.to_string()))?;
            let is_selected = match &erasure.filter {
                Some(filter) => filter.selects(&document).map_err(|error| wrong(error.to_string()))?,
                None => false,
            };
            if is_selected {
                old.insert((write, number));
            }
            if is_selected && !store.engine.contains(document.id()) {
                selected.ids.insert(document.id().to_owned());
            }
            all.push(((write, number), document.id().to_owned()));
            Ok(())
        })?
    })?;
    old.extend(all.into_iter().filter(|(_, id)| selected.ids.contains(id)).map(|(key, _)| key));
    Ok(old)
}

/// Corrects the table of writes, row by row in ascending order: subtracts the erased cases from the case count of each row.
struct Fewer {
    /// The numbers of the erased documents, the greatest one first.
    born: Vec<u64>,
    /// The numbers of the writes that removed erased documents, the greatest one first.
    gone: Vec<u64>,
    /// The count of erased cases that existed directly after the last write that `row` has handled.
    cases: u64,
}

impl Fewer {
    /// `old` has the keys of the erased documents in the history. `now` has the document numbers of the erased current cases.
    fn new(old: &HashSet<(u64, u64)>, now: &[u64], oldest: u64) -> Self {
        // No row counts a document that the oldest write or an earlier write removed.
        let needed = || old.iter().filter(|(write, _)| *write > oldest);
        let mut born: Vec<u64> = needed().map(|(_, number)| *number).chain(now.iter().copied()).collect();
        let mut gone: Vec<u64> = needed().map(|(write, _)| *write).collect();
        born.sort_unstable_by(|one, other| other.cmp(one));
        gone.sort_unstable_by(|one, other| other.cmp(one));
        Self { born, gone, cases: 0 }
    }

    /// Returns the row of the next write, without the erased cases.
    fn row(&mut self, write: u64, row: WriteRow) -> Result<WriteRow, Fault> {
        while self.born.pop_if(|number| *number < row.next_document).is_some() {
            self.cases = self.cases.saturating_add(1);
        }
        while self.gone.pop_if(|other| *other <= write).is_some() {
            self.cases = self.cases.saturating_sub(1);
        }
        let cases = row.cases.checked_sub(self.cases);
        let cases =
            cases.ok_or_else(|| Fault::corrupt(format!("the row of write {write} has too few cases")))?;
        Ok(WriteRow { cases, ..row })
    }
}

/// A copy that is being written.
struct Copy<'c> {
    store: &'c Store,
    read: &'c Reading,
    write: &'c WriteTransaction,
    dictionaries: &'c Dictionaries,
    /// The dictionary of the copy.
    dictionary: Option<Dictionary>,
}

impl Copy<'_> {
    /// Trains the dictionary of the copy on documents that remain. The dictionaries of the file may contain a value of an erased
    /// person, if many documents of this person have it.
    fn train(&mut self, selected: &Selected) -> Result<(), Fault> {
        if !self.store.is_packed {
            return Ok(());
        }
        let mut samples = Vec::new();
        let mut left = SAMPLES;
        for entry in self.read.open_table(DOCUMENTS)?.iter()? {
            let (number, bytes) = entry?;
            if left == 0 {
                break;
            }
            if !selected.numbers.contains(&number.value()) {
                left = left.saturating_sub(1);
                samples
                    .extend(self.dictionaries.decode(number.value(), bytes.value(), |_, text| sample(text))?);
            }
        }
        self.dictionary = Some(Dictionary::default());
        let trained = train(samples.iter().map(String::as_str));
        if let Some(dictionary) = trained.as_ref().and_then(|bytes| Dictionary::new(0, bytes)) {
            let number = dictionary::add(self.write, &dictionary)?;
            self.dictionary = trained.and_then(|bytes| Dictionary::new(number, &bytes));
        }
        Ok(())
    }

    /// Returns the bytes of a document in the copy.
    fn packed(&self, number: u64, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
        self.dictionaries.decode(number, bytes, |place, text| {
            dictionary::encode(self.dictionary.as_ref(), number, place, text)
        })
    }

    /// Copies the documents of cases. Returns the document numbers of the documents that are left out.
    fn documents(&self, selected: &Selected) -> Result<Vec<u64>, Fault> {
        let mut erased = Vec::new();
        let mut to = self.write.open_table(DOCUMENTS)?;
        for entry in self.read.open_table(DOCUMENTS)?.iter()? {
            let (number, bytes) = entry?;
            let number = number.value();
            if selected.numbers.contains(&number) {
                erased.push(number);
            } else {
                to.insert(number, self.packed(number, bytes.value())?.as_slice())?;
            }
        }
        Ok(erased)
    }

    /// Copies the records. Returns the number of those that are left out.
    fn records(&self, erasure: &Erasure) -> Result<u64, Fault> {
        let Some(from) = record_table::open(self.read)? else { return Ok(0) };
        let mut to = self.write.open_table(RECORDS)?;
        for entry in from.iter()? {
            let (key, bytes) = entry?;
            let (kind, key) = key.value();
            let text = record_from_bytes(kind, key, bytes.value())?;
            if !erasure.records.as_ref().is_some_and(|is_erased| is_erased(kind, key, text)) {
                to.insert((kind, key), bytes.value())?;
            }
        }
        Ok(from.len()?.saturating_sub(to.len()?))
    }

    /// Copies the standing filters and the events. Returns the number of events whose id is removed.
    fn events(&self, selected: &Selected) -> Result<u64, Fault> {
        let from = match self.read.open_table(EVENTS) {
            Ok(from) => from,
            Err(TableError::TableDoesNotExist(_)) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let mut filters = self.write.open_table(STANDING)?;
        for entry in self.read.open_table(STANDING)?.iter()? {
            let (name, bytes) = entry?;
            filters.insert(name.value(), bytes.value())?;
        }
        let mut erased: u64 = 0;
        let mut to = self.write.open_table(EVENTS)?;
        for entry in from.iter()? {
            let (number, bytes) = entry?;
            let (number, bytes) = (number.value(), bytes.value());
            match without_id(number, bytes, |id| selected.ids.contains(id))? {
                Some((count, bytes)) => {
                    erased = erased.saturating_add(u64::from(count));
                    to.insert(number, bytes.as_slice())?;
                }
                None => {
                    to.insert(number, bytes)?;
                }
            }
        }
        Ok(erased)
    }

    /// Copies the history without the documents `old`. If the erasure removes current documents (`gone`), counts it as a write.
    fn history(&self, old: &HashSet<(u64, u64)>, gone: &[u64]) -> Result<WriteCounters, Fault> {
        let is_write = !gone.is_empty();
        let mut counters = read_writes(&self.read.open_table(META)?)?;
        let history = History::open(self.read, counters)?;
        if let Some(history) = &history {
            let mut rows = self.write.open_table(WRITES)?;
            let mut less = Fewer::new(old, gone, counters.oldest);
            for write in counters.oldest..=counters.last {
                let row = less.row(write, history.row(write)?)?;
                rows.insert(write, row.to_bytes(write).as_slice())?;
            }
            if is_write {
                let row = history.row(counters.last)?;
                let cases = self.write.open_table(DOCUMENTS)?.len()?;
                let row = WriteRow { time: row.time.max((self.store.clock)()), cases, ..row };
                let write = counters.last.saturating_add(1);
                rows.insert(write, row.to_bytes(write).as_slice())?;
            }
            let mut to = self.write.open_table(HISTORY)?;
            history.each_after(None, u64::MAX, |write, number, bytes| {
                if !old.contains(&(write, number)) {
                    let entry = entry_to_bytes((write, number), &self.packed(number, bytes)?);
                    to.insert((write, number), entry.as_slice())?;
                }
                Ok(())
            })?;
            counters.documents = to.len()?;
        }
        if is_write {
            counters.last = counters.last.saturating_add(1);
        }
        Ok(counters)
    }

    /// Copies `meta`, with the counters of the copy.
    fn meta(&self, writes: WriteCounters) -> Result<(), Fault> {
        let from = self.read.open_table(META)?;
        let mut to = self.write.open_table(META)?;
        for entry in from.iter()? {
            let (key, bytes) = entry?;
            to.insert(key.value(), bytes.value())?;
        }
        let state = from.get(STATE)?.ok_or_else(|| Fault::corrupt("no counters in it"))?;
        let state = StoreCounters {
            // No document is in a batch yet.
            checkpoint: 0,
            cases: self.write.open_table(DOCUMENTS)?.len()?,
            batches: 0,
            released: 0,
            ..StoreCounters::from_bytes(state.value())?
        };
        to.insert(STATE, state.to_bytes().as_slice())?;
        if from.get(RECORD_COUNT)?.is_some() {
            let count = self.write.open_table(RECORDS)?.len()?;
            to.insert(RECORD_COUNT, records_to_bytes(count).as_slice())?;
        }
        drop(to);
        if self.store.is_packed {
            history_tables::put_counters(self.write, writes)?;
        }
        Ok(())
    }
}
