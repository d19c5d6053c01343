//! Checks the whole history of a file.

use redb::{ReadOnlyTable, ReadableTable};

use super::dictionary::Dictionaries;
use super::error::Fault;
use super::file::Reading;
use super::history_bytes::{WriteCounters, WriteRow, entry_from_bytes};
use super::history_tables::{History, in_order};
use super::tables::{DOCUMENTS, StoreCounters};
use crate::batch::Row;
use crate::catalog::Catalog;
use crate::ingest::read_case;
use crate::limits::Limits;

/// Reads and checks the whole history. Returns the number of its documents.
pub(super) fn verify(
    reading: &Reading,
    catalog: &Catalog,
    dictionaries: &Dictionaries,
    (counters, state): (WriteCounters, &StoreCounters),
) -> Result<u64, Fault> {
    let Some(history) = History::open(reading, counters)? else { return Ok(0) };
    let mut before: Option<WriteRow> = None;
    for write in counters.oldest..=counters.last {
        let own = history.row(write)?;
        let is_later =
            before.is_none_or(|old| old.time <= own.time && old.next_document <= own.next_document);
        if !is_later {
            return Err(Fault::corrupt(format!(
                "the row of write {write} is earlier than the row before it"
            )));
        }
        before = Some(own);
    }
    if before.map(|last| last.next_document) != Some(state.next_document) {
        return Err(Fault::corrupt("the row of the last write does not match the counters"));
    }
    let documents = reading.open_table(DOCUMENTS)?;
    let limits = Limits::default().for_stored_documents();
    let (mut last, mut count, mut removed) = (None, 0_u64, Vec::new());
    for entry in history.documents.iter()? {
        let (key, bytes) = entry?;
        let (write, number) = key.value();
        in_order(&mut last, (write, number))?;
        let bytes = entry_from_bytes((write, number), bytes.value())?;
        count = count.saturating_add(1);
        removed.push((number, write));
        let wrong = |what: &str| Fault::corrupt(format!("the document {number} of the history {what}"));
        // Documents that the oldest write, or an earlier one, removed are not needed any more, but may still be there.
        let end = match write > counters.oldest && write <= counters.last {
            true => history.row(write.saturating_sub(1))?.next_document,
            false => state.next_document,
        };
        if write > counters.last || number >= end || documents.get(number)?.is_some() {
            return Err(wrong("contradicts the write that removed it"));
        }
        dictionaries.decode(number, bytes, |place, text| {
            let mut row = Row::default();
            read_case(text, catalog, &limits, &mut row)
                .map_err(|error| wrong(&format!("is invalid: {error}")))?;
            if place < state.next_place { Ok(()) } else { Err(wrong("does not match the counters")) }
        })??;
    }
    if count != counters.documents {
        return Err(Fault::corrupt(format!(
            "{count} documents of the history, counted as {}",
            counters.documents
        )));
    }
    removed.sort_unstable();
    if removed.is_sorted_by(|(one, _), (next, _)| one < next) {
        verify_cases(&history, &documents, &removed)?;
        return Ok(count);
    }
    Err(Fault::corrupt("two entries of one document in the history"))
}

/// Checks the count of cases in each row, given the numbers of the documents that were removed and the writes that removed them.
fn verify_cases(
    history: &History,
    documents: &ReadOnlyTable<u64, &'static [u8]>,
    removed: &[(u64, u64)],
) -> Result<(), Fault> {
    let WriteCounters { oldest, last, .. } = *history.counters();
    let needed = || removed.iter().filter(|(_, write)| *write > oldest);
    let mut born = needed().map(|(number, _)| *number).peekable();
    let mut gone: Vec<u64> = needed().map(|(_, write)| *write).collect();
    gone.sort_unstable();
    let mut gone = gone.into_iter().peekable();
    let mut stored = documents.iter()?;
    let mut next = || Ok::<_, Fault>(stored.next().transpose()?.map(|(number, _)| number.value()));
    let (mut number, mut cases) = (next()?, 0_u64);
    for write in oldest..=last {
        let own = history.row(write)?;
        while let Some(before) = number.filter(|number| *number < own.next_document) {
            cases = cases.saturating_add(1);
            number = next()?;
            if number.is_some_and(|number| number <= before) {
                return Err(Fault::corrupt("the documents are not in order"));
            }
        }
        while born.next_if(|number| *number < own.next_document).is_some() {
            cases = cases.saturating_add(1);
        }
        while gone.next_if(|other| *other <= write).is_some() {
            cases = cases.saturating_sub(1);
        }
        if cases != own.cases {
            return Err(Fault::corrupt(format!(
                "{cases} cases after write {write}, counted as {}",
                own.cases
            )));
        }
    }
    Ok(())
}
