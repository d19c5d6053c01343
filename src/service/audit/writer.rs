//! The end of an audit log (`Writer`): appends records to the file, rotates it, and opens it again after a failure.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use super::chain::AuditHead;
use super::event::Event;
use super::files::{Tail, is_at, open_file, rotated, rotated_path, sync_folder};

/// The end of a log, to which the next record is written.
pub(super) struct Writer {
    path: PathBuf,
    rotate_bytes: u64,
    /// The file. `None` after a failed write, until the file was opened again.
    file: Option<Open>,
    head: AuditHead,
    /// True after a failed sync. The system may then have dropped records that it still shows to this process.
    sync_failed: bool,
    /// The line of the last record. It is kept to reuse its memory.
    line: Vec<u8>,
}

struct Open {
    file: File,
    bytes: u64,
    is_unsynced: bool,
}

impl Writer {
    /// Creates the writer of a log that is not open yet.
    pub(super) fn new(path: PathBuf, rotate_bytes: u64) -> Self {
        Self { path, rotate_bytes, file: None, head: AuditHead::NONE, sync_failed: false, line: Vec::new() }
    }

    /// Returns the last record.
    pub(super) fn head(&self) -> AuditHead {
        self.head
    }

    /// Closes the file. Nothing can be written until it is opened again.
    pub(super) fn shut(&mut self) {
        self.file = None;
    }

    /// Opens the file, and finds the end of the log. If the file ends with a part of a record, writes a record about it.
    ///
    /// # Errors
    /// Always returns an error after a failed sync.
    pub(super) fn open(&mut self) -> io::Result<()> {
        self.file = None;
        if self.sync_failed {
            return Err(io::Error::other("an earlier sync of the file failed"));
        }
        let mut file = open_file(&self.path)?;
        let bytes = file.metadata()?.len();
        let tail = Tail::of(&mut file)?;
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let known = self.head.number();
        let head = match tail.head {
            Some(head) => head,
            // The file is new, or it was begun by a rotation that a crash has ended.
            None => match rotated(&self.path)?.pop() {
                Some(last) => Tail::of(&mut File::open(last)?)?
                    .head
                    .ok_or_else(|| invalid("the newest rotated file is not an audit log"))?,
                None if bytes > 0 && !tail.is_begun => return Err(invalid("it is not an audit log")),
                None => AuditHead::NONE,
            },
        };
        if head.number() < known {
            return Err(invalid("records were removed from it while the service ran"));
        }
        self.head = head;
        if tail.lacks_end {
            file.write_all(b"\n")?;
        }
        self.file = Some(Open { file, bytes, is_unsynced: tail.lacks_end });
        let mut torn = tail.torn;
        if torn.bytes == 0 {
            return Ok(());
        }
        let mut prefix: &[u8] = b"";
        if !torn.is_ended {
            prefix = b"\n";
            torn.add(prefix);
        }
        let event = Event::Torn { bytes: torn.bytes, sha256: torn.digest() };
        let members = event.members(&self.head);
        self.write(prefix, members.as_bytes())?;
        self.sync()
    }

    /// Writes a record about the log itself, and syncs the file.
    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        self.rotate_for(0)?;
        let members = event.members(&self.head);
        self.write(b"", members.as_bytes())?;
        self.sync()
    }

    /// Writes a record with these members.
    pub(super) fn append(&mut self, members: &[u8]) -> io::Result<()> {
        self.rotate_for(members.len())?;
        self.write(b"", members)
    }

    /// Writes a record after `prefix`, by one call of the system.
    fn write(&mut self, prefix: &[u8], members: &[u8]) -> io::Result<()> {
        let Some(open) = &mut self.file else { return Err(io::Error::other("an earlier write failed")) };
        let head = self.head.seal(members, &mut self.line);
        if !prefix.is_empty() {
            self.line.splice(0..0, prefix.iter().copied());
        }
        open.is_unsynced = true;
        open.file.write_all(&self.line)?;
        open.bytes = open.bytes.saturating_add(self.line.len() as u64);
        self.head = head;
        // A very long filter must not occupy memory forever.
        if self.line.capacity() > MOST_KEPT_BYTES {
            self.line = Vec::new();
        }
        Ok(())
    }

    /// Begins a new file if the present one has no room for a record of about `bytes` bytes.
    fn rotate_for(&mut self, bytes: usize) -> io::Result<()> {
        let Some(open) = &self.file else { return Ok(()) };
        let bytes = open.bytes.saturating_add(bytes as u64).saturating_add(FRAME_BYTES);
        if open.bytes == 0 || bytes <= self.rotate_bytes || open.bytes <= FIRST_RECORD_BYTES {
            return Ok(());
        }
        self.sync()?;
        self.file = None;
        fs::rename(&self.path, rotated_path(&self.path, self.head.number()))?;
        let file = open_file(&self.path)?;
        self.file = Some(Open { file, bytes: 0, is_unsynced: true });
        sync_folder(&self.path).map_err(|error| self.after_failed_sync(&error))?;
        let members = Event::Rotated.members(&self.head);
        self.write(b"", members.as_bytes())
    }

    /// Returns a handle to sync, if the file has records that are not synced. Returns an error if the path is that of another file.
    pub(super) fn begin_sync(&mut self) -> io::Result<Option<File>> {
        match &mut self.file {
            Some(open) if open.is_unsynced => {
                if !is_at(&open.file, &self.path) {
                    return Err(io::Error::other("the file was removed or replaced while the service ran"));
                }
                open.is_unsynced = false;
                open.file.try_clone().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Writes the records to disk, if the file has records that are not synced.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let synced = match &mut self.file {
            Some(open) if open.is_unsynced => {
                open.is_unsynced = false;
                open.file.sync_data()
            }
            _ => Ok(()),
        };
        synced.map_err(|error| self.after_failed_sync(&error))
    }

    /// Ends all writing after a failed sync, and returns its error. A second sync would succeed although records are lost.
    pub(super) fn after_failed_sync(&mut self, error: &io::Error) -> io::Error {
        self.file = None;
        self.sync_failed = true;
        io::Error::new(error.kind(), format!("a sync failed, the log goes on only after a restart: {error}"))
    }
}

/// The size of the parts of a line around its members, in bytes.
const FRAME_BYTES: u64 = 128;
/// More than the size of the record with which a rotation begins a new file, in bytes. A file with only this record is not rotated.
const FIRST_RECORD_BYTES: u64 = 400;
/// The maximum memory that is kept for the next line, in bytes.
const MOST_KEPT_BYTES: usize = 64 << 10;
