//! Backups: makes a consistent copy of the store while searches and writes continue.

use std::path::Path;

use redb::{ReadableTable, TableError};

use super::database::Store;
use super::dictionary::Dictionaries;
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::file::File;
use super::tables::{BATCHES, DICTIONARIES, DOCUMENTS, LIVE, META, RELEASED, SUMMARIES};
use super::{history_tables, record_table, standing_tables};

impl Store {
    /// Copies the current state of the store into a new file, while searches and writes continue. After a failed write, the copy
    /// has the state that is in the file.
    ///
    /// While a store is open for writing, only the process that has it open can make a backup. The copy gets its name only when it
    /// is complete and synced. Only its owner can read it. Copying the file by other means is safe only while no store has the file
    /// open.
    ///
    /// # Errors
    /// Returns the errors of [`create`](Self::create) for the new file. Returns an error if the store or the new file cannot be
    /// read or written.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        self.backup_while(path.as_ref(), &|| true)
    }

    /// Makes a [`backup`](Self::backup), but stops when `goes_on` returns false. `goes_on` is called before each entry is copied,
    /// except for records and standing filters, and once before the commit.
    pub(crate) fn backup_while(&self, path: &Path, goes_on: &dyn Fn() -> bool) -> Result<(), StoreError> {
        let name = path.display().to_string();
        let copy = File::prepare(path, &self.definition, self.options.cache_bytes);
        self.copy(copy, &name, goes_on)
    }

    /// Like [`backup_while`](Self::backup_while), but writes to the empty file `file`, which may be unnamed. In error messages, the
    /// file has the name `name`.
    #[cfg(all(feature = "service", unix))]
    pub(crate) fn copy_while(
        &self,
        file: std::fs::File,
        name: &str,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        let copy = File::create_in_file(file, &self.definition, self.options.cache_bytes);
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
            let copied = guarded(|| copy_into(&self.file, &copy, None, goes_on));
            copied.or_else(|fault| {
                let is_stuck = fault.kind == StoreErrorKind::Failed && goes_on() && self.reopen(generation);
                if is_stuck { guarded(|| copy_into(&self.file, &copy, None, goes_on)) } else { Err(fault) }
            })?;
            // redb doubles the length of a file that is too short. A copy that cannot be shortened is complete nevertheless, unless
            // closing it fails too.
            let _ = copy.compact();
            copy.close()
        });
        copy.map_err(|fault| fault.of_file(name))
    }
}

/// Copies every table in the state of the last commit. If `dictionaries` is given, compresses the documents that are not compressed
/// yet.
pub(super) fn copy_into(
    from: &File,
    to: &File,
    dictionaries: Option<&Dictionaries>,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), Fault> {
    let read = from.read()?;
    let write = to.write(true)?;
    let is_cancelled = || Err(Fault::new(StoreErrorKind::Failed, "the copy was cancelled"));
    {
        let mut documents = write.open_table(DOCUMENTS)?;
        for entry in read.open_table(DOCUMENTS)?.iter()? {
            if !goes_on() {
                return is_cancelled();
            }
            let (number, bytes) = entry?;
            let (number, bytes) = (number.value(), bytes.value());
            let repacked = dictionaries.and_then(|own| own.repack(number, bytes));
            documents.insert(number, repacked.as_deref().unwrap_or(bytes))?;
        }
    }
    macro_rules! copy {
        ($($table:expr),*) => {$({
            let from = read.open_table($table)?;
            let mut to = write.open_table($table)?;
            for entry in from.iter()? {
                if !goes_on() {
                    return is_cancelled();
                }
                let (key, value) = entry?;
                to.insert(key.value(), value.value())?;
            }
        })*};
    }
    copy!(META, RELEASED, BATCHES, LIVE);
    match read.open_table(SUMMARIES) {
        Ok(_) => {
            copy!(SUMMARIES, DICTIONARIES);
        }
        // A file of an earlier version, whose copy gets the same version.
        Err(TableError::TableDoesNotExist(_)) => {
            write.delete_table(SUMMARIES)?;
            write.delete_table(DICTIONARIES)?;
        }
        Err(error) => return Err(error.into()),
    }
    record_table::copy(&read, &write)?;
    let is_whole = standing_tables::copy(&read, &write, goes_on)?
        && history_tables::copy(&read, &write, dictionaries, goes_on)?;
    if !is_whole || !goes_on() {
        return is_cancelled();
    }
    Ok(write.commit()?)
}
