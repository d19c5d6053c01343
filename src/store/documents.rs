//! The documents of a snapshot, read from the file.

use std::sync::Arc;

use redb::ReadOnlyTable;

use super::error::{Fault, Guarded};
use super::file::{File, Opened};
use super::tables::{DOCUMENTS, Stored};

/// The documents of a snapshot: a read transaction of the moment of the snapshot.
///
/// As long as it lives, the file is not compacted and the pages of these documents are not reused.
#[derive(Debug)]
pub(crate) struct Documents {
    table: Guarded<ReadOnlyTable<u64, &'static [u8]>>,
    /// The generation of the file that they are read from.
    pub(super) generation: u64,
    /// It is dropped last.
    _opened: Option<Arc<Opened>>,
}

impl Documents {
    /// Returns the documents at the last commit.
    pub(super) fn of(file: &File) -> Result<Self, Fault> {
        let reading = file.read()?;
        let table = Guarded::new(reading.open_table(DOCUMENTS)?);
        Ok(Self { table, generation: reading.generation(), _opened: reading.keep() })
    }

    /// Passes the document of a number to `take`.
    pub(super) fn read<T>(&self, number: Option<u64>, take: impl FnOnce(&str) -> T) -> Result<T, Fault> {
        let number = number.ok_or_else(|| Fault::corrupt("a case without a document"))?;
        let bytes =
            self.table.get()?.get(number)?.ok_or_else(|| Fault::corrupt(format!("no document {number}")))?;
        Ok(take(Stored::from_bytes(number, bytes.value())?.text))
    }
}
