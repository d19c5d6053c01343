//! The writer of an audit log (`Writer`): appends records to the file, rotates it, and opens it again after a failure.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::chain::AuditHead;
use super::event::Event;
use super::files::{Folder, Tail, check_newest, is_at, newest_rotated, open_file, reserve, rotated_path};
use super::sync::{SyncSlot, removed};

/// A writer that appends records at the end of a log.
pub(super) struct Writer {
    path: PathBuf,
    rotate_bytes: u64,
    /// The file. `None` after a failed write, until the file has been opened again.
    file: Option<Open>,
    head: AuditHead,
    /// The file, for the thread that syncs it.
    slot: Arc<SyncSlot>,
    /// The size of the records that could not be written, in bytes. The file is opened again only if the disk has room for these
    /// records.
    failed_bytes: u64,
    /// Lines that have not been written yet. Empty between two calls.
    pending: Vec<u8>,
    /// For each line in `pending`: the position of its end, and the number and the hash of its record.
    ends: Vec<(usize, AuditHead)>,
    /// The line that was added last to `pending`. It is kept to reuse its memory.
    line: Vec<u8>,
}

struct Open {
    file: Arc<File>,
    bytes: u64,
}

impl Writer {
    /// Creates the writer of a log that is not open yet.
    pub(super) fn new(path: PathBuf, rotate_bytes: u64, slot: Arc<SyncSlot>) -> Self {
        Self {
            path,
            rotate_bytes,
            file: None,
            head: AuditHead::NONE,
            slot,
            failed_bytes: 0,
            pending: Vec::new(),
            ends: Vec::new(),
            line: Vec::new(),
        }
    }

    /// Returns the last record.
    pub(super) fn head(&self) -> AuditHead {
        self.head
    }

    /// Closes the file. Nothing can be written until it is opened again.
    pub(super) fn shut(&mut self) {
        self.file = None;
        self.slot.set(None);
    }

    /// Opens the file, and finds the end of the log. If the file ends with a part of a record, writes a record about it. If the
    /// file is new and follows a rotated file, writes the record with which such a file begins.
    ///
    /// # Errors
    /// Always returns an error after a failed sync, and while a sync of the file is running.
    pub(super) fn open(&mut self) -> io::Result<()> {
        self.shut();
        self.slot.check()?;
        self.slot.before_access();
        let mut file = open_file(&self.path)?;
        let bytes = file.metadata()?.len();
        let tail = Tail::of(&mut file)?;
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let rotated = newest_rotated(&self.path)?;
        let (head, follows_rotated) = match (tail.head, rotated) {
            (Some(head), rotated) => {
                check_newest(head, rotated.map(|(last, _)| last))?;
                (head, false)
            }
            // The file is new, or it was begun by a rotation that a crash has interrupted.
            (None, Some((_, last))) => {
                let last = Tail::of(&mut File::open(last)?)?.head;
                (last.ok_or_else(|| invalid("the newest rotated file is not an audit log"))?, true)
            }
            (None, None) if bytes > 0 && !tail.is_begun => return Err(invalid("it is not an audit log")),
            (None, None) => (AuditHead::NONE, false),
        };
        let known = self.head;
        if head.number() < known.number() {
            return Err(invalid("records were removed from it while the service ran"));
        }
        if head.number() == known.number() && known != AuditHead::NONE && head != known {
            return Err(invalid("its records were changed while the service ran"));
        }
        if self.failed_bytes > 0 {
            reserve(&file, self.failed_bytes.saturating_add(RESERVE_BYTES))?;
            self.failed_bytes = 0;
        }
        self.head = head;
        if tail.lacks_end {
            file.write_all(b"\n")?;
            self.slot.note_write();
        }
        self.set_file(Arc::new(file), bytes);
        let mut torn = tail.torn;
        let mut prefix: &[u8] = b"";
        if !torn.is_ended {
            prefix = b"\n";
            torn.add(prefix);
        }
        let event = match torn.bytes {
            0 if follows_rotated => Event::Rotated,
            0 => return Ok(()),
            bytes => Event::Torn { bytes, sha256: torn.digest(), begins: follows_rotated },
        };
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

    /// Writes records with these members, in order. One system call writes many records. If a record cannot be written, the later
    /// ones are not written either. Returns the number of records that were written completely, and the error if there was one.
    pub(super) fn append_all<'m>(
        &mut self,
        records: impl Iterator<Item = &'m [u8]>,
    ) -> (usize, io::Result<()>) {
        let mut count: usize = 0;
        for members in records {
            if self.is_full(members.len()) || self.pending.len() > MOST_PENDING_BYTES {
                let (written, result) = self.flush();
                count = count.saturating_add(written);
                if let Err(error) = result.and_then(|()| self.rotate_for(members.len())) {
                    return (count, Err(error));
                }
            }
            self.push(b"", members);
        }
        let (written, result) = self.flush();
        (count.saturating_add(written), result)
    }

    /// Writes `prefix`, and then a record with these members.
    fn write(&mut self, prefix: &[u8], members: &[u8]) -> io::Result<()> {
        self.push(prefix, members);
        self.flush().1
    }

    /// Adds `prefix` to the pending bytes, and then a record with these members.
    fn push(&mut self, prefix: &[u8], members: &[u8]) {
        let last = self.ends.last().map_or(self.head, |(_, head)| *head);
        let head = last.seal(members, &mut self.line);
        self.pending.extend_from_slice(prefix);
        self.pending.extend_from_slice(&self.line);
        self.ends.push((self.pending.len(), head));
    }

    /// Writes the pending records. Returns the number of those that were written completely. No record is pending afterwards.
    fn flush(&mut self) -> (usize, io::Result<()>) {
        let (mut written, mut result) = (0_usize, Ok(()));
        match &mut self.file {
            _ if self.slot.has_failed() => result = Err(io::Error::other("an earlier sync failed")),
            None => result = Err(io::Error::other("an earlier write failed")),
            Some(open) => {
                while let Some(rest) = self.pending.get(written..).filter(|rest| !rest.is_empty()) {
                    self.slot.before_access();
                    match (&*open.file).write(rest) {
                        Ok(0) => result = Err(io::ErrorKind::WriteZero.into()),
                        Ok(bytes) => written = written.saturating_add(bytes),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => result = Err(error),
                    }
                    if result.is_err() {
                        self.failed_bytes = rest.len() as u64;
                        break;
                    }
                }
                open.bytes = open.bytes.saturating_add(written as u64);
                if written > 0 {
                    self.slot.note_write();
                }
            }
        }
        let count = self.ends.partition_point(|(end, _)| *end <= written);
        if let Some((_, head)) = count.checked_sub(1).and_then(|last| self.ends.get(last)) {
            self.head = *head;
        }
        self.pending.clear();
        self.ends.clear();
        // A very long filter must not occupy memory forever.
        self.pending.shrink_to(MOST_PENDING_BYTES);
        self.line.shrink_to(MOST_KEPT_BYTES);
        (count, result)
    }

    /// Returns true if `count` records of about `bytes` bytes in all can be written without beginning a new file.
    pub(super) fn has_room(&self, count: usize, bytes: usize) -> bool {
        let frames = (count as u64).saturating_sub(1).saturating_mul(FRAME_BYTES);
        let frames = usize::try_from(frames).unwrap_or(usize::MAX);
        self.file.is_some() && !self.is_full(bytes.saturating_add(frames))
    }

    /// Returns true if the file has no room for a record of about `bytes` bytes after the pending ones.
    fn is_full(&self, bytes: usize) -> bool {
        let Some(open) = &self.file else { return false };
        let present = open.bytes.saturating_add(self.pending.len() as u64);
        let after = present.saturating_add(bytes as u64).saturating_add(FRAME_BYTES);
        after > self.rotate_bytes && present > FIRST_RECORD_BYTES
    }

    /// Begins a new file if the present one has no room for a record of about `bytes` bytes. The old file is on disk before the new
    /// one has a record.
    fn rotate_for(&mut self, bytes: usize) -> io::Result<()> {
        if !self.is_full(bytes) {
            return Ok(());
        }
        self.sync()?;
        // The folder is opened before anything is changed, because there may be no file descriptor left.
        let folder = Folder::of(&self.path)?;
        self.file = None;
        let (old, new) = (&self.path, rotated_path(&self.path, self.head.number()));
        let file = self.slot.replace(|| {
            if fs::symlink_metadata(&new).is_ok() {
                let text = format!("{} exists already", new.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
            fs::rename(old, &new)?;
            open_file(old).map(Arc::new)
        })?;
        self.file = Some(Open { file, bytes: 0 });
        folder.sync().map_err(|error| self.after_failed_sync(&error))?;
        let members = Event::Rotated.members(&self.head);
        self.write(b"", members.as_bytes())
    }

    /// Returns an error if the file is not at its path any more.
    pub(super) fn check_place(&self) -> io::Result<()> {
        self.slot.before_access();
        match &self.file {
            Some(open) if !is_at(&open.file, &self.path) => Err(removed()),
            _ => Ok(()),
        }
    }

    fn set_file(&mut self, file: Arc<File>, bytes: u64) {
        self.slot.set(Some(Arc::clone(&file)));
        self.file = Some(Open { file, bytes });
    }

    /// Writes the records to disk, including those that the thread that syncs is writing at the moment.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let Some(open) = &self.file else { return Ok(()) };
        self.slot.before_access();
        // The system reports an error of the disk only once: to this thread or to the thread that syncs.
        let synced = open.file.sync_data().and_then(|()| match self.slot.has_failed() {
            true => Err(io::Error::other("an earlier sync of the file failed")),
            false => Ok(()),
        });
        synced.map_err(|error| self.after_failed_sync(&error))
    }

    /// Ends all writing after a failed sync, and returns its error. A second sync would succeed although records are lost.
    fn after_failed_sync(&mut self, error: &io::Error) -> io::Error {
        self.shut();
        self.slot.fail(error)
    }
}

/// The size of the parts of a line around its members, in bytes.
const FRAME_BYTES: u64 = 128;
/// An upper bound of the size of the record with which a rotation begins a new file, in bytes. A file with only this record is not
/// rotated.
const FIRST_RECORD_BYTES: u64 = 400;
/// The maximum memory that is kept for the next line, in bytes.
const MOST_KEPT_BYTES: usize = 64 << 10;
/// The size above which pending lines are written before another one is added, in bytes. Also the maximum memory that is kept for
/// them.
const MOST_PENDING_BYTES: usize = 256 << 10;
/// Space for the records about the log itself, in bytes.
const RESERVE_BYTES: u64 = 4 << 10;
