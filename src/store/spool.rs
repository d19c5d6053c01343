//! The spool: a temporary file for the documents of an import that has not been committed yet.
//!
//! Documents are written in ascending order of their document numbers, and are read in the same order. Each document is one entry:
//!
//! | field | bytes |
//! |---|---|
//! | number | `u64`, counted from 0 in each import |
//! | length of the contents | `u64`; the highest bit is set if the document is compressed |
//! | checksum | XXH3 of the contents, seeded with the number |
//! | contents | the document in UTF-8, or a frame of zstd |
//!
//! Documents are collected until there are [`BUFFER_BYTES`] of them. Then they are compressed, on two threads with the feature
//! `parallel`, and written to the file. If the store has no dictionary yet, the first documents of the import train one.
//!
//! The last [`BUFFER_BYTES`] of documents are in memory, or up to [`TRAINING_BYTES`] before the training. Earlier ones are in an
//! unnamed file that only its owner can read. The file is in the folder of the database. If that folder cannot be written, the file
//! is in the temporary folder of the system. The system frees the file when the spool is dropped or the process ends. A small
//! import needs no file. If the store itself is not in a file, the whole spool is in memory.

use std::env;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use redb::WriteTransaction;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::atomic::{real_folder_of, unnamed_in};
use super::dictionary::{self, Dictionary};
use super::error::{Fault, StoreErrorKind};
use super::tables::{Body, DOCUMENTS, Stored};
use super::training::{SAMPLES, train};
use crate::engine::available_workers;
use crate::json;

/// The size of the buffer of documents in memory, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// The maximum size of the documents that are collected for the training of a dictionary, in bytes.
const TRAINING_BYTES: usize = 8 << 20;

/// The bit of a length that is set if the document is compressed.
const PACKED: u64 = 1 << 63;

/// The compression of the documents of a spool.
#[derive(Clone, Debug)]
pub(super) enum Packing {
    /// Documents are stored plain.
    Off,
    /// The first documents train a dictionary. If the training fails, the empty dictionary in this variant is used.
    Training(Arc<Dictionary>),
    /// Documents are compressed with this dictionary.
    With(Arc<Dictionary>),
}

/// The documents that an import has added so far.
pub(super) struct Spool {
    target: Target,
    packing: Packing,
    /// The documents that were not encoded yet, concatenated.
    text: String,
    /// For each document in `text`: its number, and the offset at which it ends.
    added: Vec<(u64, usize)>,
    /// Encoded entries that were not written yet.
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
    pub(super) fn beside(database: Option<&Path>, packing: Packing) -> Self {
        Self::to(database.map_or(Target::Memory, |path| Target::Folder(real_folder_of(path))), packing)
    }

    /// Creates a spool in an existing file.
    #[cfg(test)]
    pub(super) fn over(file: File) -> Self {
        Self::to(Target::File(file), Packing::Off)
    }

    fn to(target: Target, packing: Packing) -> Self {
        Self {
            target,
            packing,
            text: String::new(),
            added: Vec::new(),
            buffer: Vec::new(),
            documents: 0,
            next_number: 0,
            fault: None,
        }
    }

    /// Adds a document. Does nothing if an earlier document could not be written.
    pub(super) fn put(&mut self, number: u64, text: &str) {
        if self.fault.is_some() {
            return;
        }
        self.text.push_str(text);
        self.added.push((number, self.text.len()));
        self.documents = self.documents.saturating_add(1);
        self.next_number = number.saturating_add(1);
        let most = match self.packing {
            Packing::Training(_) if self.added.len() < SAMPLES => TRAINING_BYTES,
            _ => BUFFER_BYTES,
        };
        if self.text.len() >= most {
            self.encode();
            if let Err(error) = self.flush() {
                self.fault = Some(not_put_aside(&error));
                self.buffer = Vec::new();
            }
        }
    }

    /// Encodes the collected documents.
    fn encode(&mut self) {
        if let Packing::Training(empty) = &self.packing {
            let trained = train(texts(&self.text, &self.added, 0).map(|(_, text)| text));
            let trained = trained.and_then(|bytes| Dictionary::new(0, &bytes));
            self.packing = Packing::With(trained.map_or_else(|| Arc::clone(empty), Arc::new));
        }
        let dictionary = match &self.packing {
            Packing::Off | Packing::Training(_) => None,
            Packing::With(dictionary) => Some(&**dictionary),
        };
        let encode = |added, start| {
            let mut entries = Vec::new();
            for (number, text) in texts(&self.text, added, start) {
                put_entry(number, text, dictionary, &mut entries);
            }
            entries
        };
        let (head, tail) = self.added.split_at(self.added.len() / 2);
        let middle = head.last().map_or(0, |(_, end)| *end);
        let (first, second) = if dictionary.is_some() && !head.is_empty() && available_workers() > 1 {
            thread::scope(|scope| {
                let first = thread::Builder::new().spawn_scoped(scope, || encode(head, 0));
                let second = encode(tail, middle);
                (first.ok().and_then(|thread| thread.join().ok()), second)
            })
        } else {
            (None, encode(tail, middle))
        };
        // The first half is encoded here if no second thread was used, or if the system could not start it.
        let first = first.unwrap_or_else(|| encode(head, 0));
        self.buffer.extend_from_slice(&first);
        self.buffer.extend_from_slice(&second);
        self.text.clear();
        self.added.clear();
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
    pub(super) fn finish(mut self) -> Result<Spooled, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        self.encode();
        let Self { target, packing, buffer, documents, next_number, .. } = self;
        let rest = Cursor::new(buffer);
        let records: Box<dyn Read + Send> = match target {
            Target::File(mut file) => {
                file.seek(SeekFrom::Start(0)).map_err(|error| not_read(&error))?;
                Box::new(BufReader::with_capacity(BUFFER_BYTES, file).chain(rest))
            }
            Target::Folder(_) | Target::Memory => Box::new(rest),
        };
        let dictionary = match packing {
            Packing::With(dictionary) => Some(dictionary),
            Packing::Off | Packing::Training(_) => None,
        };
        Ok(Spooled { records, dictionary, documents, next_number })
    }
}

/// Returns documents of `text`, with their numbers. `added` has the number of each document, and the offset at which it ends. The
/// first document starts at the offset `start`.
fn texts<'t>(text: &'t str, added: &'t [(u64, usize)], start: usize) -> impl Iterator<Item = (u64, &'t str)> {
    let starts = std::iter::once(start).chain(added.iter().map(|(_, end)| *end));
    added
        .iter()
        .zip(starts)
        .map(|((number, end), start)| (*number, text.get(start..*end).unwrap_or_default()))
}

/// Writes the entry of a document.
fn put_entry(number: u64, text: &str, dictionary: Option<&Dictionary>, entries: &mut Vec<u8>) {
    let packed = dictionary.and_then(|own| own.encode(text));
    let (contents, flag) = match &packed {
        Some(frame) => (&frame[..], PACKED),
        None => (text.as_bytes(), 0),
    };
    let head = [number, contents.len() as u64 | flag, xxh3_64_with_seed(contents, number)];
    head.iter().for_each(|word| entries.extend_from_slice(&word.to_le_bytes()));
    entries.extend_from_slice(contents);
}

/// A completely written spool. It can be read once.
pub(super) struct Spooled {
    records: Box<dyn Read + Send>,
    /// The dictionary that compressed the documents.
    dictionary: Option<Arc<Dictionary>>,
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
    /// number of each document. Also stores the dictionary if it is not in the database yet.
    ///
    /// # Errors
    /// Returns an error if the database fails. Returns an inner error if the spool cannot be read or its content was changed.
    pub(super) fn store(
        mut self,
        transaction: &WriteTransaction,
        first: u64,
        places: impl Iterator<Item = (u64, u64)>,
    ) -> Result<Result<(), Fault>, Fault> {
        let dictionary = match &self.dictionary {
            Some(own) if self.documents > 0 => dictionary::add(transaction, own)?,
            _ => 0,
        };
        let mut table = transaction.open_table(DOCUMENTS)?;
        let mut contents = Vec::new();
        let mut stored: u64 = 0;
        for (number, place) in places {
            let own = number.saturating_sub(first);
            let body = match self.read(own, &mut contents) {
                Ok(true) => Body::Packed { dictionary, frame: &contents },
                Ok(false) if json::text(&contents).is_ok() => Body::Plain(&contents),
                Ok(false) => return Ok(Err(changed())),
                Err(fault) => return Ok(Err(fault)),
            };
            table.insert(number, Stored { place, body }.to_bytes(number).as_slice())?;
            stored = stored.saturating_add(1);
        }
        Ok(if stored == self.documents { Ok(()) } else { Err(changed()) })
    }

    /// Reads the next entry, which must have this number. Returns true if the document is compressed.
    fn read(&mut self, number: u64, contents: &mut Vec<u8>) -> Result<bool, Fault> {
        let mut next = || {
            let mut word = [0; 8];
            self.records.read_exact(&mut word).map_err(|error| not_read(&error))?;
            Ok::<_, Fault>(u64::from_le_bytes(word))
        };
        let (own, length, checksum) = (next()?, next()?, next()?);
        let (length, is_packed) = (length & !PACKED, length & PACKED != 0);
        contents.clear();
        let read =
            (&mut self.records).take(length).read_to_end(contents).map_err(|error| not_read(&error))?;
        let is_it = own == number && read as u64 == length && xxh3_64_with_seed(contents, own) == checksum;
        if is_it && (!is_packed || self.dictionary.is_some()) { Ok(is_packed) } else { Err(changed()) }
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
        let mut spool = Spool::beside(path.as_deref(), Packing::Off);
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
    fn changed_bytes_of_the_temporary_file_are_an_error() {
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
