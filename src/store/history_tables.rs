//! Keeps, finds, forgets and copies documents that were replaced or deleted, in the tables of the history.
//!
//! The first row of the table `writes` is for the *oldest* write: the oldest write after which the documents are known. Each later
//! write also has a row. The table `history` has each document that one of these later writes removed, in the order of the writes.
//! So the documents after write *n* are the current documents, and the documents in `history` that writes after *n* removed. In
//! both groups, the documents that are newer than write *n* are left out.

use redb::{
    ReadOnlyTable, ReadableTable, ReadableTableMetadata, Table, TableDefinition, TableError, WriteTransaction,
};

use super::dictionary::Dictionaries;
use super::error::Fault;
use super::file::Reading;
use super::history_bytes::{WriteCounters, WriteRow, entry_from_bytes, entry_to_bytes};
use super::tables::{HISTORY, META, StoreCounters, WRITE_COUNTERS, WRITES};
use crate::value::Timestamp;

/// The key of a document in the history: the number of the write that removed it, and the number of the document.
pub(super) type Key = (u64, u64);

/// The writer of the history for one write. It stores the documents that this write removes.
pub(super) struct Keeper<'t> {
    table: Table<'t, Key, &'static [u8]>,
    write: u64,
    /// The number of the first document of the write.
    first_document: u64,
}

impl<'t> Keeper<'t> {
    /// Opens the history for a write. The pair is the number of the write, and the number of its first document. Returns `None` if
    /// there is no history.
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        counters: &WriteCounters,
        (write, first_document): (u64, u64),
    ) -> Result<Option<Self>, Fault> {
        if !counters.has_history() {
            return Ok(None);
        }
        Ok(Some(Self { table: transaction.open_table(HISTORY)?, write, first_document }))
    }

    /// Keeps a document, given the bytes of its entry in the table of documents. Does not keep a document that the same write has
    /// stored, because no search has seen it.
    pub(super) fn keep(&mut self, number: u64, bytes: &[u8]) -> Result<(), Fault> {
        if number < self.first_document {
            let key = (self.write, number);
            self.table.insert(key, entry_to_bytes(key, bytes).as_slice())?;
        }
        Ok(())
    }
}

/// Stores the counters.
pub(super) fn put_counters(transaction: &WriteTransaction, counters: WriteCounters) -> Result<(), Fault> {
    transaction.open_table(META)?.insert(WRITE_COUNTERS, counters.to_bytes().as_slice())?;
    Ok(())
}

impl WriteRow {
    /// Returns the row of a write, given the counters after it.
    pub(super) fn after(state: &StoreCounters, time: Timestamp) -> Self {
        Self { time, next_document: state.next_document, cases: state.cases }
    }
}

/// Counts a write. If there is a history, stores the row of the write, and forgets rows and documents that are too old to be kept.
/// Forgets at most `most` of them in total. Does not store the counters.
pub(super) fn note_write(
    transaction: &WriteTransaction,
    counters: &mut WriteCounters,
    (write, state): (u64, &StoreCounters),
    now: Timestamp,
    most: u64,
) -> Result<(), Fault> {
    let before = std::mem::replace(&mut counters.last, write);
    if !counters.has_history() {
        return Ok(());
    }
    let mut rows = transaction.open_table(WRITES)?;
    let time = row(&rows, before)?.time.max(now);
    rows.insert(write, WriteRow::after(state, time).to_bytes(write).as_slice())?;
    drop(rows);
    forget(transaction, counters, now, most)
}

/// Forgets rows and documents that are too old to be kept, at most `most` of them in total. There must be a history. Does not store
/// the counters.
pub(super) fn forget(
    transaction: &WriteTransaction,
    counters: &mut WriteCounters,
    now: Timestamp,
    most: u64,
) -> Result<(), Fault> {
    let mut rows = transaction.open_table(WRITES)?;
    let age = i64::try_from(counters.history_ms).unwrap_or(i64::MAX);
    let since = now.as_millis().saturating_sub(age);
    let mut left = most;
    // The documents at the time `since` are those after the last write that is not later than `since`.
    while left > 0 && counters.oldest < counters.last {
        let next = counters.oldest.saturating_add(1);
        if row(&rows, next)?.time.as_millis() > since {
            break;
        }
        rows.remove(counters.oldest)?;
        counters.oldest = next;
        left = left.saturating_sub(1);
    }
    let mut history = transaction.open_table(HISTORY)?;
    while left > 0 {
        let first = history.first()?.map(|(key, _)| key.value());
        if first.is_none_or(|(write, _)| write > counters.oldest) {
            break;
        }
        history.pop_first()?;
        left = left.saturating_sub(1);
    }
    counters.documents = history.len()?;
    Ok(())
}

/// Sets the time for which documents are kept. 0 forgets the whole history. Does not store the counters.
pub(super) fn set_time(
    transaction: &WriteTransaction,
    counters: &mut WriteCounters,
    history_ms: u64,
    now: Timestamp,
    state: &StoreCounters,
) -> Result<(), Fault> {
    if history_ms == 0 {
        transaction.delete_table(WRITES)?;
        transaction.delete_table(HISTORY)?;
        *counters = WriteCounters { last: counters.last, ..WriteCounters::default() };
        return Ok(());
    }
    if !counters.has_history() {
        let write = counters.last;
        let row = WriteRow::after(state, now).to_bytes(write);
        transaction.open_table(WRITES)?.insert(write, row.as_slice())?;
        transaction.open_table(HISTORY)?;
        counters.oldest = write;
    }
    counters.history_ms = history_ms;
    Ok(())
}

/// The tables of the history in a read transaction.
pub(super) struct History {
    rows: ReadOnlyTable<u64, &'static [u8]>,
    pub(super) documents: ReadOnlyTable<Key, &'static [u8]>,
    counters: WriteCounters,
}

impl History {
    /// Opens the history. Returns `None` if there is none. Returns an error if the lengths of its tables differ from the counters.
    pub(super) fn open(reading: &Reading, counters: WriteCounters) -> Result<Option<Self>, Fault> {
        let (rows, documents) = match (open(reading, WRITES)?, open(reading, HISTORY)?) {
            (Some(rows), Some(documents)) if counters.has_history() => (rows, documents),
            (None, None) if !counters.has_history() => return Ok(None),
            _ => return Err(Fault::corrupt("the tables of the history do not match the counters")),
        };
        let found = (rows.len()?, documents.len()?);
        if found != (counters.rows(), counters.documents) {
            return Err(Fault::corrupt(format!(
                "a history of {} writes and {} documents, counted as {} and {}",
                found.0,
                found.1,
                counters.rows(),
                counters.documents
            )));
        }
        Ok(Some(Self { rows, documents, counters }))
    }

    pub(super) fn counters(&self) -> &WriteCounters {
        &self.counters
    }

    /// Returns the row of a write.
    pub(super) fn row(&self, write: u64) -> Result<WriteRow, Fault> {
        row(&self.rows, write)
    }

    /// Returns the number of the last write that is not later than a time. Returns `None` if this write is not known any more.
    pub(super) fn write_at(&self, time: Timestamp) -> Result<Option<u64>, Fault> {
        let WriteCounters { oldest, last, .. } = self.counters;
        if self.row(oldest)?.time > time {
            return Ok(None);
        }
        // The write `from` is not later than `time`, and the writes after `to` are later.
        let (mut from, mut to) = (oldest, last);
        while from < to {
            let middle = from.saturating_add(to.saturating_sub(from).div_ceil(2));
            match self.row(middle)?.time <= time {
                true => from = middle,
                false => to = middle.saturating_sub(1),
            }
        }
        Ok(Some(from))
    }

    /// Calls `take` for each document that a write after `write` removed, and whose number is less than `next_document`. Passes the
    /// number of the removing write, the number of the document, and the bytes of the document. Without `write`, includes the
    /// documents that any write removed.
    pub(super) fn each_after(
        &self,
        write: Option<u64>,
        next_document: u64,
        mut take: impl FnMut(u64, u64, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut last = None;
        let first = write.map_or(0, |write| write.saturating_add(1));
        for entry in self.documents.range((first, 0)..)? {
            let (key, bytes) = entry?;
            let key = key.value();
            in_order(&mut last, key)?;
            let document = entry_from_bytes(key, bytes.value())?;
            if key.0 > self.counters.last {
                return Err(Fault::corrupt(format!(
                    "the document {} of the history belongs to no write",
                    key.1
                )));
            }
            if key.1 < next_document {
                take(key.0, key.1, document)?;
            }
        }
        Ok(())
    }
}

/// Checks that the keys of the history ascend. The pages of a damaged file may form a cycle.
pub(super) fn in_order(last: &mut Option<Key>, key: Key) -> Result<(), Fault> {
    if last.replace(key).is_some_and(|last| last >= key) {
        return Err(Fault::corrupt(format!("the document {} of the history is out of order", key.1)));
    }
    Ok(())
}

fn row(rows: &impl ReadableTable<u64, &'static [u8]>, write: u64) -> Result<WriteRow, Fault> {
    let bytes = rows.get(write)?;
    let bytes = bytes.ok_or_else(|| Fault::corrupt(format!("no row of write {write}")))?;
    WriteRow::from_bytes(write, bytes.value())
}

/// Copies the history. With dictionaries, compresses the documents that are plain. If `goes_on` returns false, stops and returns
/// false.
pub(super) fn copy(
    from: &Reading,
    to: &WriteTransaction,
    dictionaries: Option<&Dictionaries>,
    goes_on: &dyn Fn() -> bool,
) -> Result<bool, Fault> {
    let Some(rows) = open(from, WRITES)? else { return Ok(true) };
    let mut copied = to.open_table(WRITES)?;
    for entry in rows.iter()? {
        if !goes_on() {
            return Ok(false);
        }
        let (write, bytes) = entry?;
        copied.insert(write.value(), bytes.value())?;
    }
    let Some(documents) = open(from, HISTORY)? else { return Ok(true) };
    let mut copied = to.open_table(HISTORY)?;
    for entry in documents.iter()? {
        if !goes_on() {
            return Ok(false);
        }
        let (key, bytes) = entry?;
        let (key, bytes) = (key.value(), bytes.value());
        let repacked = dictionaries.and_then(|own| own.repack(key.1, entry_from_bytes(key, bytes).ok()?));
        let repacked = repacked.map(|document| entry_to_bytes(key, &document));
        copied.insert(key, repacked.as_deref().unwrap_or(bytes))?;
    }
    Ok(true)
}

fn open<K: redb::Key + 'static>(
    reading: &Reading,
    table: TableDefinition<'static, K, &'static [u8]>,
) -> Result<Option<ReadOnlyTable<K, &'static [u8]>>, Fault> {
    match reading.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
