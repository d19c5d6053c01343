//! Reads the documents of a snapshot from the file.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use redb::ReadOnlyTable;

use super::dictionary::Dictionaries;
use super::error::{Fault, Guarded, StoreErrorKind};
use super::file::{File, Reading};
use super::history_bytes::{WriteCounters, entry_from_bytes};
use super::history_tables::History;
use super::tables::{DOCUMENTS, HISTORY, META, read_writes};

/// A reader of the documents of one snapshot. It holds a read transaction that was opened together with the snapshot.
///
/// While the reader exists, the file is not compacted in place, and the pages of the documents are not reused.
#[derive(Debug)]
pub(crate) struct Documents {
    tables: Arc<Tables>,
    /// The documents of the history that belong to the snapshot.
    old: Option<Arc<OldDocuments>>,
    /// The generation of the file that the documents are read from: the number of times that the file was reopened or replaced
    /// before.
    pub(super) generation: u64,
}

/// The tables in one state of the file.
#[derive(Debug)]
struct Tables {
    documents: Guarded<ReadOnlyTable<u64, &'static [u8]>>,
    /// The dictionaries of the same state of the file.
    dictionaries: Arc<Dictionaries>,
    /// Keeps the database open. This field is dropped last.
    reading: Guarded<Reading>,
}

/// The documents that a snapshot as of an earlier write reads from the history: pairs of the number of the document and the number
/// of the write that removed it, in ascending order.
#[derive(Default)]
pub(super) struct OldDocuments {
    keys: Vec<(u64, u64)>,
    /// A value that is dropped with the last user of these documents.
    _guard: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for OldDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OldDocuments").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl OldDocuments {
    /// Returns an error if two writes have removed the same document.
    pub(super) fn new(mut removed: Vec<(u64, u64)>) -> Result<Self, Fault> {
        removed.sort_unstable();
        if !removed.is_sorted_by(|(one, _), (next, _)| one < next) {
            return Err(Fault::corrupt("two entries of one document in the history"));
        }
        Ok(Self { keys: removed, _guard: None })
    }

    /// Keeps a value as long as these documents are used.
    pub(super) fn guarded_by(self, guard: Option<Arc<dyn Any + Send + Sync>>) -> Self {
        Self { _guard: guard, ..self }
    }

    /// Returns the key of a document in the history.
    fn key(&self, number: u64) -> Option<(u64, u64)> {
        let at = self.keys.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.keys.get(at).map(|(number, write)| (*write, *number))
    }
}

impl Documents {
    /// Creates a reader of the documents in the state of the last commit.
    pub(super) fn of(file: &File) -> Result<Self, Fault> {
        let reading = file.read()?;
        let documents = Guarded::new(reading.open_table(DOCUMENTS)?);
        let dictionaries = file.dictionaries(&reading)?;
        let generation = reading.generation();
        let tables = Tables { documents, dictionaries, reading: Guarded::new(reading) };
        Ok(Self { tables: Arc::new(tables), old: None, generation })
    }

    /// Returns a reader of the same state of the file. The reader also reads documents of the history.
    pub(super) fn with_old(&self, old: OldDocuments) -> Self {
        self.with_shared(Some(Arc::new(old)))
    }

    /// Returns a reader of the same state of the file. The reader also reads the documents of the history that `other` reads.
    pub(super) fn with_old_of(&self, other: &Self) -> Self {
        self.with_shared(other.old.clone())
    }

    fn with_shared(&self, old: Option<Arc<OldDocuments>>) -> Self {
        Self { tables: Arc::clone(&self.tables), old, generation: self.generation }
    }

    /// Opens the history in the same state of the file. Returns the counters of writes, and the history if there is one.
    pub(super) fn history(&self) -> Result<(WriteCounters, Option<History>), Fault> {
        let reading = self.tables.reading.get()?;
        let counters = read_writes(&reading.open_table(META)?)?;
        Ok((counters, History::open(reading, counters)?))
    }

    /// Returns the dictionaries of the same state of the file.
    pub(super) fn dictionaries(&self) -> &Dictionaries {
        &self.tables.dictionaries
    }

    /// Reads the document with this document number, and passes it to `take`.
    pub(super) fn read<T>(&self, number: Option<u64>, take: impl FnOnce(&str) -> T) -> Result<T, Fault> {
        let number = number.ok_or_else(|| Fault::corrupt("a case without a document"))?;
        let missing = || Fault::corrupt(format!("no document {number}"));
        let Tables { documents, dictionaries, reading } = &*self.tables;
        if let Some(key) = self.old.as_ref().and_then(|old| old.key(number)) {
            let history = reading.get()?.open_table(HISTORY)?;
            let bytes = history.get(key)?.ok_or_else(missing)?;
            return dictionaries.decode(number, entry_from_bytes(key, bytes.value())?, |_, text| take(text));
        }
        let bytes = documents.get()?.get(number)?.ok_or_else(missing)?;
        dictionaries.decode(number, bytes.value(), |_, text| take(text))
    }
}

/// Returns the fault of an engine without a reader of documents. The file was replaced, and the new file could not be read. The
/// store then opens the file again, which gives the engine a reader. This loses no unsynced write. All writes before the
/// replacement are synced. There was no later write, because it would have given the engine a reader.
pub(super) fn no_documents() -> Fault {
    Fault::new(StoreErrorKind::Failed, "the documents could not be read after the file was replaced")
}
