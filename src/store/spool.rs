//! The spool: a temporary file for the documents of an import that has not been committed yet.
//!
//! Documents are written in ascending order of their document numbers, and are read in the same order. Each document is one entry:
//!
//! | field | bytes |
//! |---|---|
//! | number | `u64`, counted from 0 in each import |
//! | length of the document | `u64` |
//! | checksum | XXH3 of the document, seeded with the number |
//! | document | UTF-8 |
//!
//! The last [`BUFFER_BYTES`] are in memory. Earlier bytes are in an unnamed file that only its owner can read. The file is in the
//! folder of the database. If that folder cannot be written, the file is in the temporary folder of the system. The system frees
//! the file when the spool is dropped or the process ends. A small import needs no file. If the store itself is not in a file, the
//! whole spool is in memory.

use std::env;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use redb::WriteTransaction;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::atomic::{real_folder_of, unnamed_in};
use super::error::{Fault, StoreErrorKind};
use super::tables::{DOCUMENTS, Stored};
use crate::json;

/// The size of the buffer in memory in bytes. Each write to the file has about this size.
const BUFFER_BYTES: usize = 1 << 20;

/// The documents that an import has added so far.
pub(super) struct Spool {
    target: Target,
    buffer: Vec<u8>,
    documents: u64,
    /// The document number of the last document plus 1.
    next_number: u64,
    /// The first error of a write. After an error, nothing more is written.
    fault: Option<Fault>,
}

/// The destination of documents that do not fit into the buffer.
enum Target {
    /// A file that is created in this folder when the first write needs it.
    Folder(PathBuf),
    File(File),
    Memory,
}

impl Spool {
    /// Creates the spool for an import into the database at this path. Without a path, the whole spool is in memory.
    pub(super) fn beside(database: Option<&Path>) -> Self {
        Self::to(database.map_or(Target::Memory, |path| Target::Folder(real_folder_of(path))))
    }

    /// Creates a spool in an existing file.
    #[cfg(test)]
    pub(super) fn over(file: File) -> Self {
        Self::to(Target::File(file))
    }

    fn to(target: Target) -> Self {
        Self { target, buffer: Vec::new(), documents: 0, next_number: 0, fault: None }
    }

    /// Adds a document. Does nothing if an earlier document could not be written.
    pub(super) fn put(&mut self, number: u64, text: &str) {
        if self.fault.is_some() {
            return;
        }
        let head = [number, text.len() as u64, xxh3_64_with_seed(text.as_bytes(), number)];
        head.iter().for_each(|word| self.buffer.extend_from_slice(&word.to_le_bytes()));
        self.buffer.extend_from_slice(text.as_bytes());
        self.documents = self.documents.saturating_add(1);
        self.next_number = number.saturating_add(1);
        if self.buffer.len() >= BUFFER_BYTES
            && let Err(error) = self.flush()
        {
            self.fault = Some(not_put_aside(&error));
            self.buffer = Vec::new();
        }
    }

    /// Returns the error of the first document that could not be written. Returns `None` if there was no error.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Target::Folder(folder) = &self.target {
            self.target = Target::File(unnamed_in(folder).or_else(|_| unnamed_in(&env::temp_dir()))?);
        }
        if let Target::File(file) = &mut self.target {
            file.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Ends writing, and returns the documents for reading.
    ///
    /// # Errors
    /// Returns the error of an earlier write.
    pub(super) fn finish(self) -> Result<Spooled, Fault> {
        let Self { target, buffer, documents, next_number, fault } = self;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let rest = Cursor::new(buffer);
        let records: Box<dyn Read + Send> = match target {
            Target::File(mut file) => {
                file.seek(SeekFrom::Start(0)).map_err(|error| not_read(&error))?;
                Box::new(BufReader::with_capacity(BUFFER_BYTES, file).chain(rest))
            }
            Target::Folder(_) | Target::Memory => Box::new(rest),
        };
        Ok(Spooled { records, documents, next_number })
    }
}

/// A completely written spool. It can be read once.
pub(super) struct Spooled {
    records: Box<dyn Read + Send>,
    documents: u64,
    next_number: u64,
}

impl Spooled {
    /// Returns the number of documents.
    pub(super) fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the document number of the last document plus 1.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Stores the documents in the database, numbered from `first`. `places` yields the document number and the insertion-order
    /// number of each document.
    ///
    /// # Errors
    /// Returns an error if the database fails. Returns an inner error if the spool cannot be read or its content was changed.
    pub(super) fn store(
        mut self,
        transaction: &WriteTransaction,
        first: u64,
        places: impl Iterator<Item = (u64, u64)>,
    ) -> Result<Result<(), Fault>, Fault> {
        let mut table = transaction.open_table(DOCUMENTS)?;
        let mut document = Vec::new();
        let mut stored: u64 = 0;
        for (number, place) in places {
            let own = number.saturating_sub(first);
            let text =
                self.read(own, &mut document).and_then(|()| json::text(&document).map_err(|_| changed()));
            let text = match text {
                Ok(text) => text,
                Err(fault) => return Ok(Err(fault)),
            };
            table.insert(number, Stored { place, text }.to_bytes(number).as_slice())?;
            stored = stored.saturating_add(1);
        }
        Ok(if stored == self.documents { Ok(()) } else { Err(changed()) })
    }

    /// Reads the next entry, which must have this number.
    fn read(&mut self, number: u64, document: &mut Vec<u8>) -> Result<(), Fault> {
        let mut next = || {
            let mut word = [0; 8];
            self.records.read_exact(&mut word).map_err(|error| not_read(&error))?;
            Ok::<_, Fault>(u64::from_le_bytes(word))
        };
        let (own, length, checksum) = (next()?, next()?, next()?);
        document.clear();
        let read =
            (&mut self.records).take(length).read_to_end(document).map_err(|error| not_read(&error))?;
        let is_it = own == number && read as u64 == length && xxh3_64_with_seed(document, own) == checksum;
        if is_it { Ok(()) } else { Err(changed()) }
    }
}

fn not_put_aside(error: &io::Error) -> Fault {
    Fault::new(
        StoreErrorKind::TemporaryFile,
        format!("the documents of the import cannot be written to a temporary file: {error}"),
    )
}

fn not_read(error: &io::Error) -> Fault {
    let detail = format!("the documents of the import cannot be read from the temporary file: {error}");
    Fault::new(StoreErrorKind::TemporaryFile, detail)
}

/// Returns the error for a spool whose content was changed.
fn changed() -> Fault {
    Fault::new(
        StoreErrorKind::TemporaryFile,
        "the temporary file of the import contains other documents than were written to it",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// Writes documents of these sizes to a spool. Their numbers are 0, 2, 4 and so on.
    fn spooled(folder: Option<&Path>, sizes: &[usize]) -> Spool {
        let path = folder.map(|folder| folder.join("cases.db"));
        let mut spool = Spool::beside(path.as_deref());
        for (number, size) in (0_u64..).step_by(2).zip(sizes) {
            spool.put(number, &"é".repeat(*size));
        }
        spool
    }

    fn read_back(mut spooled: Spooled, sizes: &[usize]) -> Result<(), Fault> {
        let mut document = Vec::new();
        for (number, size) in (0_u64..).step_by(2).zip(sizes) {
            spooled.read(number, &mut document)?;
            assert_eq!(document, "é".repeat(*size).as_bytes());
        }
        assert_eq!(
            (spooled.documents(), spooled.next_number()),
            (sizes.len() as u64, 2 * sizes.len() as u64 - 1)
        );
        Ok(())
    }

    #[test]
    fn documents_are_read_back_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for sizes in [&[3, 0, 70][..], &[700_000, 1, 0, 2_000_000, 5]] {
            for folder in [None, Some(folder.path())] {
                let spool = spooled(folder, sizes);
                let has_file = matches!(spool.target, Target::File(_));
                assert_eq!(has_file, folder.is_some() && sizes.len() > 3);
                read_back(spool.finish().unwrap(), sizes).unwrap();
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_in_the_temporary_folder_where_there_is_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let sizes = [700_000, 2];
        let spool = spooled(Some(&folder.path().join("not there")), &sizes);
        assert!(matches!(spool.target, Target::File(_)));
        read_back(spool.finish().unwrap(), &sizes).unwrap();
    }

    #[test]
    fn what_was_changed_in_the_file_is_not_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let sizes = [600_000, 30];
        for at in [0, 8, 16, 24, 1_000_000, 1_200_023] {
            let spool = spooled(Some(folder.path()), &sizes);
            let Target::File(file) = &spool.target else { panic!("no file") };
            file.write_at(b"!", at).unwrap();
            let fault = read_back(spool.finish().unwrap(), &sizes).unwrap_err();
            assert_eq!(fault.kind, StoreErrorKind::TemporaryFile, "byte {at}");
        }
    }

    #[test]
    fn a_document_that_cannot_be_written_is_told_once_and_for_all() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut spool = Spool::over(full);
        spool.put(0, "small");
        assert!(spool.fault().is_none(), "it is in memory");
        spool.put(1, &"x".repeat(BUFFER_BYTES));
        assert!(spool.fault().unwrap().detail.contains("cannot be written to a temporary file"));
        spool.put(2, "more");
        assert!(spool.buffer.is_empty());
        assert_eq!(spool.finish().err().unwrap().kind, StoreErrorKind::TemporaryFile);
    }
}
