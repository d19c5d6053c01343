//! Records: texts that a host stores in addition to documents, under a kind and a key.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use redb::{ReadOnlyTable, Table};

use super::database::Store;
use super::error::{Fault, Guarded, StoreError, guarded};
use super::file::Opened;
use super::log::Log;
use super::record_table::{Bytes, Key, commit, get, open, page, with_prefix};
#[cfg(feature = "service")]
use super::record_table::{RecordSizes, size, sizes};
use super::tables::{RECORDS, record_to_bytes};

/// A consistent, read-only view of the records; see [`Store::records`].
pub struct Records<'s> {
    store: &'s Store,
    /// The generation of the file that the table is read from: the count of earlier reopenings and exchanges.
    generation: u64,
    /// The table, or `None` if the file has never had a record.
    table: Option<Guarded<ReadOnlyTable<Key, Bytes>>>,
    /// Keeps the database open. This field is dropped last.
    _opened: Option<Arc<Opened>>,
}

/// A transaction that writes records; see [`Store::write_records`].
pub struct RecordWriter<'t> {
    name: &'t str,
    table: Guarded<Table<'t, Key, Bytes>>,
    log: &'t mut Log,
    /// True if the transaction has stored or removed a record.
    is_changed: bool,
}

impl Store {
    /// Returns a reader of the records in their current state. Later writes do not change the result of the reader.
    ///
    /// A record is a text under a kind and a key that the host chooses. Kind and key may be any strings, also empty strings. They
    /// are compared byte by byte. [The guide](crate::guide::durability#records-beside-the-documents) shows keys that consist of
    /// several parts.
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
    /// Returns an error if the file cannot be read or is damaged.
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

    /// Reads and writes records in one transaction. The transaction is atomic and isolated from other writes, and is on disk when
    /// the call returns. If the closure returns an error, nothing is written.
    ///
    /// The closure must not call methods that write to this store, because they would deadlock.
    ///
    /// # Errors
    /// Returns the error of the closure. Returns an error if the file cannot be read or written, as [`upsert`](Self::upsert) does.
    pub fn write_records<T, E: From<StoreError>>(
        &self,
        write: impl FnOnce(&mut RecordWriter<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let begun = guarded(|| self.file.write(true));
        let transaction = Guarded::new(self.settle(&mut log, begun)?);
        let outcome = {
            let table = guarded(|| Ok(transaction.get()?.open_table(RECORDS)?));
            let table = Guarded::new(self.settle(&mut log, table)?);
            let mut records = RecordWriter { name: &self.name, table, log: &mut log, is_changed: false };
            let outcome = catch_unwind(AssertUnwindSafe(|| write(&mut records)));
            let is_changed = records.is_changed;
            drop(records);
            let outcome = match outcome {
                Ok(outcome) => outcome?,
                Err(panic) => {
                    // The transaction is dropped before the panic continues, because redb does not free the pages of a transaction
                    // that is dropped during a panic.
                    drop(transaction);
                    resume_unwind(panic)
                }
            };
            // The closure may have ignored an error of a record write.
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
    /// Returns the record with this key, or `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if the record is damaged.
    pub fn get(&self, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.read(|table| get(table, kind, key))
    }

    /// Returns the records whose keys begin with `prefix`, as pairs of key and text, in key order.
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get).
    pub fn with_prefix(&self, kind: &str, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|table| with_prefix(table, kind, prefix))
    }

    /// Returns at most `most` records of a kind, as pairs of key and text, in key order. If `after` is given, starts after this
    /// key.
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get).
    pub fn page(
        &self,
        kind: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|table| page(table, kind, after, (most, usize::MAX)))
    }

    /// Like [`page`](Self::page), but also limits the total length of the returned texts to `most_bytes`. The first record is
    /// always returned, even if it is longer.
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get).
    #[cfg(feature = "service")]
    pub(crate) fn page_within(
        &self,
        kind: &str,
        after: Option<&str>,
        most: usize,
        most_bytes: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|table| page(table, kind, after, (most, most_bytes)))
    }

    /// Returns the size of a record in bytes, or 0 if the record does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    #[cfg(feature = "service")]
    pub(crate) fn size(&self, kind: &str, key: &str) -> Result<usize, StoreError> {
        self.read(|table| size(table, kind, key))
    }

    /// Returns the sizes of the records whose keys begin with `prefix`, without copying the records.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    #[cfg(feature = "service")]
    pub(crate) fn sizes(&self, kind: &str, prefix: &str) -> Result<RecordSizes, StoreError> {
        self.read(|table| sizes(table, kind, prefix))
    }

    /// Reads from the table of records. Returns the default value if the file has no such table.
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

impl RecordWriter<'_> {
    /// Calls redb. If the call fails, marks the store as failed, so that the whole transaction is dropped.
    fn run<T>(&mut self, call: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, StoreError> {
        guarded(|| call(self)).map_err(|fault| {
            self.log.fail();
            fault.of_file(self.name)
        })
    }

    /// Returns the record with this key, or `None` if it does not exist. Earlier changes of this transaction are visible.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if the record is damaged.
    pub fn get(&mut self, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.run(|own| get(own.table.get()?, kind, key))
    }

    /// Returns the records whose keys begin with `prefix`, as pairs of key and text, in key order. Earlier changes of this
    /// transaction are visible.
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get).
    pub fn with_prefix(&mut self, kind: &str, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.run(|own| with_prefix(own.table.get()?, kind, prefix))
    }

    /// Like [`Records::page_within`]. Earlier changes of this transaction are visible.
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get).
    #[cfg(feature = "service")]
    pub(crate) fn page_within(
        &mut self,
        kind: &str,
        after: Option<&str>,
        most: usize,
        most_bytes: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.run(|own| page(own.table.get()?, kind, after, (most, most_bytes)))
    }

    /// Like [`Records::size`]. Earlier changes of this transaction are visible.
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get).
    #[cfg(feature = "service")]
    pub(crate) fn size(&mut self, kind: &str, key: &str) -> Result<usize, StoreError> {
        self.run(|own| size(own.table.get()?, kind, key))
    }

    /// Like [`Records::sizes`]. Earlier changes of this transaction are visible.
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get).
    #[cfg(feature = "service")]
    pub(crate) fn sizes(&mut self, kind: &str, prefix: &str) -> Result<RecordSizes, StoreError> {
        self.run(|own| sizes(own.table.get()?, kind, prefix))
    }

    /// Passes every record of a kind to `take`, in key order. Earlier changes of this transaction are visible. Only one record at a
    /// time is in memory.
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get).
    #[cfg(feature = "service")]
    pub(crate) fn each(&mut self, kind: &str, take: impl FnMut(&str)) -> Result<(), StoreError> {
        self.run(|own| super::record_table::each(own.table.get()?, kind, take))
    }

    /// Stores a record. Returns true if it replaced an existing record.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn put(&mut self, kind: &str, key: &str, text: &str) -> Result<bool, StoreError> {
        self.is_changed = true;
        let bytes = record_to_bytes(kind, key, text);
        self.run(|own| Ok(own.table.get_mut()?.insert((kind, key), bytes.as_slice())?.is_some()))
    }

    /// Removes a record. Returns false if the record does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
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

impl fmt::Debug for RecordWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordWriter").field("file", &self.name).finish_non_exhaustive()
    }
}
