//! Records of other kinds beside the cases: text under a kind and a key.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use redb::{ReadOnlyTable, ReadableTable, ReadableTableMetadata, Table, TableError, WriteTransaction};

use super::Store;
use super::error::{Fault, Guarded, StoreError, guarded};
use super::file::{File, Opened, Reading};
use super::tables::{
    FORMAT, FORMAT_VERSION, META, RECORD_COUNT, RECORDS, record_from_bytes, record_to_bytes, records_to_bytes,
};
use super::write::Log;

type Key = (&'static str, &'static str);
type Bytes = &'static [u8];

/// The records of one moment; see [`Store::records`].
pub struct Records<'s> {
    store: &'s Store,
    /// That of the file which the table is of.
    generation: u64,
    /// None in a file that never had a record.
    table: Option<Guarded<ReadOnlyTable<Key, Bytes>>>,
    /// It is dropped last.
    _opened: Option<Arc<Opened>>,
}

/// A write of records under way; see [`Store::write_records`].
pub struct RecordWrite<'t> {
    name: &'t str,
    table: Guarded<Table<'t, Key, Bytes>>,
    log: &'t mut Log,
    /// Whether anything was put or removed.
    is_changed: bool,
}

impl Store {
    /// The records beside the cases, as they are now: a reader that no write disturbs.
    ///
    /// A record is any text, of a kind and under a key that its host chooses.
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreError, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
    /// store.write_records(|records| {
    ///     records.put("note", "a-1", "first")?;
    ///     records.put("note", "a-2", "second")?;
    ///     Ok::<_, StoreError>(())
    /// })?;
    /// assert_eq!(store.records()?.get("note", "a-2")?.as_deref(), Some("second"));
    /// assert_eq!(store.records()?.with_prefix("note", "a-")?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn records(&self) -> Result<Records<'_>, StoreError> {
        let open = || {
            let reading = self.file.read()?;
            Ok(Records {
                store: self,
                generation: reading.generation(),
                table: open(&reading)?.map(Guarded::new),
                _opened: reading.keep(),
            })
        };
        self.reading(self.file.generation(), open, open)
    }

    /// Reads and writes records in one step: others see all of it or nothing, it is on disk when the call
    /// returns, and no other write comes between. When the closure gives an error, nothing is written.
    ///
    /// The closure must not call other methods of this store that write: they wait for it.
    ///
    /// # Errors
    /// What the closure gives, and faults of the file, as [`upsert`](Self::upsert).
    pub fn write_records<T, E: From<StoreError>>(
        &self,
        write: impl FnOnce(&mut RecordWrite<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let begun = guarded(|| self.file.write(true));
        let transaction = Guarded::new(self.settle(&mut log, begun)?);
        let outcome = {
            let table = guarded(|| Ok(transaction.get()?.open_table(RECORDS)?));
            let table = Guarded::new(self.settle(&mut log, table)?);
            let mut records = RecordWrite { name: &self.name, table, log: &mut log, is_changed: false };
            let outcome = write(&mut records)?;
            let is_changed = records.is_changed;
            drop(records);
            // The closure may have passed over a fault.
            log.check().map_err(|fault| self.error(fault))?;
            if !is_changed {
                return Ok(outcome);
            }
            outcome
        };
        let committed = guarded(|| commit(transaction.take()?));
        self.settle(&mut log, committed)?;
        log.synced();
        Ok(outcome)
    }
}

/// Counts the records, and marks a file that has some as one of the version that knows them: an older
/// library would leave them out of its copies.
fn commit(transaction: WriteTransaction) -> Result<(), Fault> {
    let count = transaction.open_table(RECORDS)?.len()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, FORMAT_VERSION.to_le_bytes().as_slice())?;
        meta.insert(RECORD_COUNT, records_to_bytes(count).as_slice())?;
    }
    Ok(transaction.commit()?)
}

/// The table of a transaction; none in a file that never had a record.
fn open(reading: &Reading) -> Result<Option<ReadOnlyTable<Key, Bytes>>, Fault> {
    match reading.open_table(RECORDS) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Says whether there are as many records as `counted`, reading none.
pub(super) fn check_count(file: &File, counted: u64) -> Result<(), Fault> {
    let found = match open(&file.read()?)? {
        Some(table) => table.len()?,
        None => 0,
    };
    if found != counted {
        return Err(Fault::corrupt(format!("{found} records, counted as {counted}")));
    }
    Ok(())
}

/// Reads every record, and gives how many there are.
pub(super) fn verify(file: &File) -> Result<u64, Fault> {
    let reading = file.read()?;
    let Some(table) = open(&reading)? else { return Ok(0) };
    let mut last: Option<(String, String)> = None;
    for entry in table.iter()? {
        let (key, bytes) = entry?;
        let (kind, key) = key.value();
        record_from_bytes(kind, key, bytes.value())?;
        let own = Some((kind.to_owned(), key.to_owned()));
        // Damage may lead in circles.
        if last >= own {
            return Err(Fault::corrupt(format!("the {kind} {key} is not in its place")));
        }
        last = own;
    }
    Ok(table.len()?)
}

/// Copies the records of a moment.
pub(super) fn copy(from: &redb::ReadTransaction, to: &WriteTransaction) -> Result<(), Fault> {
    let from = match from.open_table(RECORDS) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut to = to.open_table(RECORDS)?;
    for entry in from.iter()? {
        let (key, bytes) = entry?;
        to.insert(key.value(), bytes.value())?;
    }
    Ok(())
}

fn get(table: &impl ReadableTable<Key, Bytes>, kind: &str, key: &str) -> Result<Option<String>, Fault> {
    let bytes = table.get((kind, key))?;
    bytes.map(|bytes| record_from_bytes(kind, key, bytes.value()).map(str::to_owned)).transpose()
}

fn with_prefix(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    prefix: &str,
) -> Result<Vec<(String, String)>, Fault> {
    let count = usize::try_from(table.len()?).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    // Damage may lead in circles.
    for entry in table.range((kind, prefix)..)?.take(count) {
        let (key, bytes) = entry?;
        let (own, key) = key.value();
        if own != kind || !key.starts_with(prefix) {
            break;
        }
        found.push((key.to_owned(), record_from_bytes(kind, key, bytes.value())?.to_owned()));
    }
    Ok(found)
}

fn page(
    table: &impl ReadableTable<Key, Bytes>,
    kind: &str,
    after: Option<&str>,
    most: usize,
) -> Result<Vec<(String, String)>, Fault> {
    let start = after.map_or(Bound::Included((kind, "")), |after| Bound::Excluded((kind, after)));
    let mut found: Vec<(String, String)> = Vec::new();
    for entry in table.range::<(&str, &str)>((start, Bound::Unbounded))?.take(most) {
        let (key, bytes) = entry?;
        let (own, key) = key.value();
        if own != kind {
            break;
        }
        // Damage may lead in circles.
        let last = found.last().map(|(last, _)| &**last).or(after);
        if last.is_some_and(|last| last >= key) {
            return Err(Fault::corrupt(format!("the {kind} {key:?} is not in its place")));
        }
        found.push((key.to_owned(), record_from_bytes(kind, key, bytes.value())?.to_owned()));
    }
    Ok(found)
}

impl Records<'_> {
    /// The record of a key.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged there.
    pub fn get(&self, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.read(|table| get(table, kind, key))
    }

    /// The records whose keys begin so, with their keys, in the order of these.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn with_prefix(&self, kind: &str, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|table| with_prefix(table, kind, prefix))
    }

    /// At most `most` records of a kind, with their keys, in the order of these: the first, or those after a key.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn page(
        &self,
        kind: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|table| page(table, kind, after, most))
    }

    /// Reads from the table, if there is one.
    fn read<T: Default>(
        &self,
        read: impl Fn(&ReadOnlyTable<Key, Bytes>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let Some(table) = &self.table else { return Ok(T::default()) };
        let again = || {
            let reading = self.store.file.read()?;
            open(&reading)?.map_or_else(|| Ok(T::default()), |table| read(&table))
        };
        self.store.reading(self.generation, || read(table.get()?), again)
    }
}

impl RecordWrite<'_> {
    /// Runs what may meet a fault of the file; after one, nothing of this write is kept.
    fn run<T>(&mut self, call: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, StoreError> {
        guarded(|| call(self)).map_err(|fault| {
            self.log.fail();
            fault.of_file(self.name)
        })
    }

    /// The record of a key, as this write has it so far.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged there.
    pub fn get(&mut self, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.run(|own| get(own.table.get()?, kind, key))
    }

    /// The records whose keys begin so, as [`Records::with_prefix`].
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn with_prefix(&mut self, kind: &str, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.run(|own| with_prefix(own.table.get()?, kind, prefix))
    }

    /// Stores a record, in place of that which has the key; true when there was one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put(&mut self, kind: &str, key: &str, text: &str) -> Result<bool, StoreError> {
        self.is_changed = true;
        let bytes = record_to_bytes(kind, key, text);
        self.run(|own| Ok(own.table.get_mut()?.insert((kind, key), bytes.as_slice())?.is_some()))
    }

    /// Removes a record; false when there is none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&mut self, kind: &str, key: &str) -> Result<bool, StoreError> {
        self.is_changed = true;
        self.run(|own| Ok(own.table.get_mut()?.remove((kind, key))?.is_some()))
    }
}

impl fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("file", &self.store.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for RecordWrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordWrite").field("file", &self.name).finish_non_exhaustive()
    }
}
