//! The files of an audit log: the file that is written, and the rotated files beside it.
//!
//! The name of a rotated file is the name of the log, a dot, and the twelve-digit number of the last record in the file. So the
//! names of the rotated files sort like their records.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::chain::{AuditHead, Hash, Line, digits};

/// The number of digits in the name of a rotated file.
const NUMBER_DIGITS: usize = 12;

/// The size of the first piece that is read from the end of a file, in bytes. The size is doubled until the piece contains a
/// record.
const TAIL_BYTES: u64 = 64 << 10;

/// The maximum size of the piece that is read from the end of a file, in bytes. It is greater than the size of two records. So a
/// piece of this size at the end of a log contains a complete record.
const MOST_TAIL_BYTES: u64 = 128 << 20;

/// Returns the path of the rotated file whose last record has this number.
pub(super) fn rotated_path(path: &Path, last: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{last:012}"));
    PathBuf::from(name)
}

/// Returns the rotated files of a log, oldest first.
pub(super) fn rotated(path: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(numbered(path)?.into_iter().map(|(_, path)| path).collect())
}

/// Returns the newest rotated file of a log, with the number in its name.
pub(super) fn newest_rotated(path: &Path) -> io::Result<Option<(u64, PathBuf)>> {
    Ok(numbered(path)?.pop())
}

/// Returns the rotated files of a log with the numbers in their names, oldest first.
fn numbered(path: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut prefix = path.file_name().map_or_else(OsString::new, ToOwned::to_owned);
    prefix.push(".");
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder_of(path))? {
        let name = entry?.file_name();
        let number = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        // A number of more than twelve digits has no leading zeros.
        let is_number = |digits: &&[u8]| {
            let is_long = digits.len() > NUMBER_DIGITS && !digits.starts_with(b"0");
            (is_long || digits.len() == NUMBER_DIGITS) && digits.iter().all(u8::is_ascii_digit)
        };
        let number =
            number.filter(is_number).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if let Some(number) = number {
            found.push((number, path.with_file_name(name)));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the path of the file to which a symbolic link leads. Returns any other path unchanged. The rotated files are beside the
/// file, not beside the link.
///
/// # Errors
/// Returns an error if the link leads to no file.
pub(super) fn followed(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => fs::canonicalize(path),
        _ => Ok(path.to_owned()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folder of a log, open for [`sync`](Self::sync).
pub(super) struct Folder(Option<File>);

impl Folder {
    /// Opens the folder of a file.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let folder = cfg!(unix).then(|| File::open(folder_of(path))).transpose()?;
        Ok(Self(folder))
    }

    /// Syncs the folder to disk, so that the names of new and renamed files survive a power loss.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), File::sync_all)
    }
}

/// Opens a file for appending and reading, and locks it. A new file can be read by its owner only.
///
/// # Errors
/// Returns an error if it is not a regular file, or if another process has it locked.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    // A pipe or a device would accept all records, and keep none.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    locked(file.try_lock())?;
    Ok(file)
}

/// Converts the result of an attempt to lock a file. If the file system has no locks, the file counts as locked.
fn locked(result: Result<(), fs::TryLockError>) -> io::Result<()> {
    match result {
        Ok(()) => Ok(()),
        Err(fs::TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, "another service writes this audit log"))
        }
        // Some file systems have no locks.
        Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Checks that a service could write an audit log at a path, without writing to the file. Locks the file only for a moment.
/// Succeeds in two cases:
///
/// - The file does not exist, and can be created.
/// - The file is empty or an audit log, and can be opened for writing. If the file has records, no rotated file beside it has later
///   ones.
///
/// ```
/// use casefilter::service::check_audit_file;
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("audit.ndjson");
/// assert!(check_audit_file(&path).is_ok());
/// std::fs::write(&path, "some notes")?;
/// assert!(check_audit_file(&path).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Returns an error in all other cases. Its kind is [`WouldBlock`](io::ErrorKind::WouldBlock) if the only reason is that a service
/// writes the log.
pub fn check_audit_file(path: &Path) -> io::Result<()> {
    let path = &*followed(path)?;
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = folder_of(path);
            fs::read_dir(folder)?;
            #[cfg(unix)]
            rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)?;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    let tail = Tail::of(&mut file)?;
    match tail.head {
        None if found.len() > 0 && !tail.is_begun => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not an audit log"));
        }
        Some(head) => check_newest(head, newest_rotated(path)?.map(|(last, _)| last))?,
        None => {}
    }
    // The lock is shared, so two checks at the same time do not disturb each other.
    locked(file.try_lock_shared())
}

/// Returns an error if rotated files have later records than the file of the log. `head` is the last record of that file, and
/// `rotated` is the number of the last record in rotated files. Without this check, a service could append to an older copy of the
/// file. The new records would get numbers that are already in the rotated files.
pub(super) fn check_newest(head: AuditHead, rotated: Option<u64>) -> io::Result<()> {
    if rotated.is_some_and(|last| head.number() <= last) {
        let cause = "the rotated files beside it have later records: it is an older copy";
        return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
    }
    Ok(())
}

/// Reserves space for `bytes` bytes at the end of a file, so that a record of this size can be written. Does nothing on systems and
/// file systems without this operation.
///
/// # Errors
/// Returns an error if the disk is full.
pub(super) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        let end = file.metadata()?.len();
        match fallocate(file, FallocateFlags::KEEP_SIZE, end, bytes.max(1)) {
            Err(error) if error == Errno::NOSPC || error == Errno::DQUOT => Err(error.into()),
            _ => Ok(()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, bytes);
        Ok(())
    }
}

/// Returns true if the path is that of the open file. On systems without inode numbers, always returns true.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |metadata: io::Result<fs::Metadata>| metadata.map(|own| (own.dev(), own.ino())).ok();
        let own = identity(file.metadata());
        own.is_some() && own == identity(fs::metadata(path))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

/// Returns the paths of an audit log: its rotated files, oldest first, and the file itself, if it exists. If there is no file at
/// all, returns only the path of the file itself.
///
/// ```
/// use casefilter::service::{AuditLog, AuditOptions, audit_files};
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("audit.ndjson");
/// AuditLog::open(&path, AuditOptions::default())?.close()?;
/// assert_eq!(audit_files(&path)?, [path]);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn audit_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let path = &*followed(path)?;
    let mut files = rotated(path)?;
    // Between the rename of a rotation and the creation of the next file, the file does not exist.
    if path.exists() || files.is_empty() {
        files.push(path.to_owned());
    }
    Ok(files)
}

/// Returns the files of an audit log for reading, oldest first. The files contain all records that were written before the call,
/// even if a service begins new files in the meantime.
///
/// A file is opened only when its item is read, except the newest one, which is opened first.
///
/// ```
/// use std::io::Read;
/// use casefilter::service::{AuditLog, AuditOptions, open_audit_files};
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("audit.ndjson");
/// AuditLog::open(&path, AuditOptions::default())?.close()?;
/// let mut text = String::new();
/// for (_, file) in open_audit_files(&path)? {
///     file?.read_to_string(&mut text)?;
/// }
/// assert_eq!(text.lines().count(), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the folder or the newest file cannot be read, or if there is no file.
pub fn open_audit_files(
    path: &Path,
) -> io::Result<impl ExactSizeIterator<Item = (PathBuf, io::Result<File>)> + use<>> {
    let path = &*followed(path)?;
    let newest = match File::open(path) {
        Ok(file) => Some(file),
        // Between the rename of a rotation and the creation of the next file, the file does not exist.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut files: Vec<(PathBuf, Option<File>)> =
        rotated(path)?.into_iter().map(|path| (path, None)).collect();
    match newest {
        Some(file) => {
            // The newest file may have been renamed after it was opened. Then it is among the rotated files, perhaps with later
            // ones.
            if cfg!(unix)
                && let Some(at) = files.iter().position(|(path, _)| is_at(&file, path))
            {
                files.truncate(at);
            }
            files.push((path.to_owned(), Some(file)));
        }
        None if files.is_empty() => return Err(io::ErrorKind::NotFound.into()),
        None => {}
    }
    Ok(files.into_iter().map(|(path, file)| {
        let file = file.map_or_else(|| File::open(&path), Ok);
        (path, file)
    }))
}

/// The end of a file: its last record, and the bytes after it.
#[derive(Debug)]
pub(super) struct Tail {
    /// The last record. `None` if the file has no record.
    pub(super) head: Option<AuditHead>,
    /// The bytes after the last record: the part of a line that a crash left. Empty after a clean end.
    pub(super) torn: Torn,
    /// True if the file has no record, and its bytes can be the beginning of one.
    pub(super) is_begun: bool,
    /// True if the last record is complete, except for its line end.
    pub(super) lacks_end: bool,
}

/// Bytes that are not a record.
#[derive(Clone, Debug)]
pub(super) struct Torn {
    pub(super) bytes: u64,
    hash: Sha256,
    /// True if the bytes end with a line end, or if there are none.
    pub(super) is_ended: bool,
}

impl Torn {
    pub(super) fn new() -> Self {
        Self { bytes: 0, hash: Sha256::new(), is_ended: true }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.hash.update(bytes);
        self.is_ended = bytes.last().map_or(self.is_ended, |byte| *byte == b'\n');
    }

    pub(super) fn digest(&self) -> Hash {
        digits(&self.hash.clone().finalize())
    }
}

impl Tail {
    /// Reads the end of a file. Reads the whole file only if it has no record near its end.
    pub(super) fn of(file: &mut File) -> io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        let mut size = TAIL_BYTES;
        loop {
            let start = length.saturating_sub(size);
            file.seek(SeekFrom::Start(start))?;
            let mut text = Vec::new();
            file.take(length.saturating_sub(start)).read_to_end(&mut text)?;
            // Unless the piece is the whole file, it begins within a line.
            let first = match start {
                0 => Some(0),
                _ => memchr::memchr(b'\n', &text).map(|at| at.saturating_add(1)),
            };
            let lines = first.and_then(|first| text.get(first..)).unwrap_or_default();
            if let Some(tail) = last_record(lines) {
                return Ok(tail);
            }
            if start == 0 {
                let mut torn = Torn::new();
                torn.add(&text);
                return Ok(Self { head: None, torn, is_begun: is_beginning(&text), lacks_end: false });
            }
            // The file may belong to another program and be huge, so the search for a record ends here.
            if size >= MOST_TAIL_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not an audit log"));
            }
            size = size.saturating_mul(2);
        }
    }
}

/// Returns true if a text can be the beginning of a record.
fn is_beginning(text: &[u8]) -> bool {
    let begin = b"{\"n\":";
    text.starts_with(begin) || begin.starts_with(text)
}

/// Finds the last record in a text. The text must begin at the start of a line. Returns `None` if no line is a record.
fn last_record(text: &[u8]) -> Option<Tail> {
    let found = |line: Line<'_>, torn, lacks_end| {
        Some(Tail { head: Some(line.head()), torn, is_begun: false, lacks_end })
    };
    let mut end = memchr::memrchr(b'\n', text);
    // A crash may have left only the line end unwritten.
    let rest = text.get(end.map_or(0, |end| end.saturating_add(1))..)?;
    if let Some(line) = Line::read(rest) {
        return found(line, Torn::new(), true);
    }
    while let Some(at) = end {
        let before = text.get(..at)?;
        let start = memchr::memrchr(b'\n', before);
        if let Some(line) = Line::read(before.get(start.map_or(0, |start| start.saturating_add(1))..)?) {
            let mut torn = Torn::new();
            torn.add(text.get(at.saturating_add(1)..)?);
            return found(line, torn, false);
        }
        end = start;
    }
    None
}
