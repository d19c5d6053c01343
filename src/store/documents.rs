//! The documents of a snapshot.

use std::sync::Arc;

use redb::ReadOnlyTable;

use super::error::{Fault, Guarded};
use super::file::{File, Opened};
use super::tables::{DOCUMENTS, Stored};

/// The documents of a snapshot: a transaction that reads the file as it was then.
///
/// The file is not compacted, nor are pages used again, as long as there is one.
#[derive(Debug)]
pub(crate) struct Documents {
    table: Guarded<ReadOnlyTable<u64, &'static [u8]>>,
    /// That of the file which they are read from.
    pub(super) generation: u64,
    /// It is dropped last.
    _opened: Option<Arc<Opened>>,
}

impl Documents {
    /// The documents as they are now in the file.
    pub(super) fn of(file: &File) -> Result<Self, Fault> {
        let reading = file.read()?;
        let table = Guarded::new(reading.open_table(DOCUMENTS)?);
        Ok(Self { table, generation: reading.generation(), _opened: reading.keep() })
    }

    /// Hands over the document of a number.
    pub(super) fn read<T>(&self, number: Option<u64>, take: impl FnOnce(&str) -> T) -> Result<T, Fault> {
        let number = number.ok_or_else(|| Fault::corrupt("a case without a document"))?;
        let bytes =
            self.table.get()?.get(number)?.ok_or_else(|| Fault::corrupt(format!("no document {number}")))?;
        Ok(take(Stored::from_bytes(number, bytes.value())?.text))
    }
}
