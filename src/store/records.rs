//! Records of other kinds beside the cases: text under a kind and a key.

use std::fmt;
use std::sync::Arc;

use redb::{ReadOnlyTable, Table};

use super::database::Store;
use super::error::{Fault, Guarded, StoreError, guarded};
use super::file::Opened;
use super::log::Log;
use super::record_table::{Bytes, Key, commit, get, open, page, with_prefix};
use super::tables::{RECORDS, record_to_bytes};

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

    /// Hands over every record of a kind in the order of the keys, as this write has them so far. Holds one record at a time.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    #[cfg(feature = "service")]
    pub(crate) fn each(&mut self, kind: &str, take: impl FnMut(&str)) -> Result<(), StoreError> {
        self.run(|own| super::record_table::each(own.table.get()?, kind, take))
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
