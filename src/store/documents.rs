//! Reads the documents of a snapshot from the file.

use std::sync::Arc;

use redb::ReadOnlyTable;

use super::dictionary::Dictionaries;
use super::error::{Fault, Guarded};
use super::file::{File, Opened};
use super::tables::DOCUMENTS;

/// A reader of the documents of one snapshot. It holds a read transaction that was opened together with the snapshot.
///
/// While the reader exists, the file is not compacted, and the pages of the documents are not reused.
#[derive(Debug)]
pub(crate) struct Documents {
    table: Guarded<ReadOnlyTable<u64, &'static [u8]>>,
    /// The dictionaries of the same state of the file.
    dictionaries: Arc<Dictionaries>,
    /// The generation of the file that the documents are read from: the count of earlier reopenings and exchanges.
    pub(super) generation: u64,
    /// Keeps the database open. This field is dropped last.
    _opened: Option<Arc<Opened>>,
}

impl Documents {
    /// Creates a reader of the documents in the state of the last commit.
    pub(super) fn of(file: &File) -> Result<Self, Fault> {
        let reading = file.read()?;
        let table = Guarded::new(reading.open_table(DOCUMENTS)?);
        let dictionaries = file.dictionaries(&reading)?;
        Ok(Self { table, dictionaries, generation: reading.generation(), _opened: reading.keep() })
    }

    /// Reads the document with this document number, and passes it to `take`.
    pub(super) fn read<T>(&self, number: Option<u64>, take: impl FnOnce(&str) -> T) -> Result<T, Fault> {
        let number = number.ok_or_else(|| Fault::corrupt("a case without a document"))?;
        let bytes =
            self.table.get()?.get(number)?.ok_or_else(|| Fault::corrupt(format!("no document {number}")))?;
        self.dictionaries.decode(number, bytes.value(), |_, text| take(text))
    }
}
