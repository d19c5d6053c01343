//! Verifies an audit log: checks the hash chain over all of its files, and names the first record that was changed, left out or put
//! in.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::chain::{AuditHead, Line, hash_of};
use super::event::Members;
use super::files::{Torn, open_audit_files};

/// The maximum length of a line in bytes. All lines of a log are shorter: the note of a record takes at most 32 MiB, and the rest
/// of a line is short.
const MOST_LINE_BYTES: u64 = 64 << 20;

/// The result of the verification of an audit log in which no fault was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditReport {
    /// The number of the first record in the files. It is greater than 1 if older records are no longer there.
    pub first: u64,
    /// The last record.
    pub head: AuditHead,
    /// The number of files.
    pub files: usize,
    /// The number of parts of records that a crash or a full disk has left, each followed by a record that says so.
    pub torn: u64,
    /// True if the log ends with a record about the end of a service. If it is false, the log is in use, the service was killed, or
    /// records were removed from the end.
    pub is_closed: bool,
    /// True if the last file ends with a part of a record. The next start of a service writes a record about it.
    pub ends_torn: bool,
}

/// The record with which the files of an audit log may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditBeginning {
    /// Record 1. Any other beginning is a fault.
    #[default]
    Complete,
    /// The first record of any file, because whole older files may have been moved away. A file whose first records are missing is
    /// still a fault.
    OlderRemoved,
    /// The record with this number, which must be about the log itself.
    At(u64),
}

/// The kind of an [`AuditError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuditErrorKind {
    /// The record was changed.
    Changed,
    /// The record is missing.
    LeftOut,
    /// The record is the first one, but older records are missing, or another first record was expected.
    Beginning,
    /// The line was put in, or is at another place.
    PutIn,
    /// The record, and all records after it, were removed from the end.
    CutOff,
    /// A file could not be read.
    Unreadable,
}

/// The first fault of an audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditError {
    kind: AuditErrorKind,
    /// The number of the record. 0 if a file could not be read.
    number: u64,
    place: String,
    cause: String,
}

impl AuditError {
    /// Returns the kind of the fault.
    #[must_use]
    pub fn kind(&self) -> AuditErrorKind {
        self.kind
    }

    /// Returns the number of the record. Returns 0 if a file could not be read.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    fn unreadable(path: &Path, error: &io::Error) -> Self {
        let place = path.display().to_string();
        Self { kind: AuditErrorKind::Unreadable, number: 0, place, cause: error.to_string() }
    }
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, number, place, cause } = self;
        match kind {
            AuditErrorKind::Changed => write!(f, "{place}: record {number} was changed"),
            AuditErrorKind::LeftOut => write!(f, "{place}: record {number} was left out before this line"),
            AuditErrorKind::Beginning => {
                write!(f, "{place}: the log begins with record {number}, so earlier records were removed")
            }
            AuditErrorKind::PutIn => write!(f, "{place}: record {number} was put in"),
            AuditErrorKind::CutOff => write!(f, "{place}: record {number} was cut off at the end"),
            AuditErrorKind::Unreadable => write!(f, "{place}: {cause}"),
        }
    }
}

impl std::error::Error for AuditError {}

/// Verifies an audit log and its rotated files.
///
/// `expected` is a record that was noted earlier: the log must contain it. Without `expected`, verification cannot detect that the
/// last records were removed, or that they were rewritten with new hashes. `beginning` says which oldest records may be missing.
///
/// ```
/// use casefilter::service::{AuditBeginning, AuditErrorKind, AuditLog, AuditOptions, verify_audit_log};
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("audit.ndjson");
/// let head = AuditLog::open(&path, AuditOptions::default())?.close()?;
/// assert_eq!(verify_audit_log(&path, Some(head), AuditBeginning::Complete)?.head, head);
/// let text = std::fs::read_to_string(&path)?;
/// std::fs::write(&path, text.replace("closed", "opened"))?;
/// let error = verify_audit_log(&path, None, AuditBeginning::Complete).unwrap_err();
/// assert_eq!((error.kind(), error.number()), (AuditErrorKind::Changed, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error about the first record that was changed, removed, inserted or cut off from the end. Returns an error if
/// `beginning` does not allow the first record. Also returns an error if a file cannot be read.
///
/// # Complexity
/// Linear in the size of the files. The longest line is in memory.
pub fn verify_audit_log(
    path: &Path,
    expected: Option<AuditHead>,
    beginning: AuditBeginning,
) -> Result<AuditReport, AuditError> {
    let files = open_audit_files(path).map_err(|error| AuditError::unreadable(path, &error))?;
    let count = files.len();
    let mut check = Check { files: count, expected, beginning, ..Check::default() };
    for (at, (path, file)) in files.enumerate() {
        let file = file.map_err(|error| AuditError::unreadable(&path, &error))?;
        check.file(&path, file, at.saturating_add(1) == count)?;
    }
    check.finish(path)
}

/// A running verification.
#[derive(Default)]
struct Check {
    files: usize,
    expected: Option<AuditHead>,
    beginning: AuditBeginning,
    first: u64,
    /// The last record.
    last: Option<AuditHead>,
    /// The record before the last one.
    before: Option<AuditHead>,
    /// The file and the line of the last record.
    last_place: String,
    torn: u64,
    is_closed: bool,
    ends_torn: bool,
}

impl Check {
    fn file(&mut self, path: &Path, file: File, is_last: bool) -> Result<(), AuditError> {
        let unreadable = |error: io::Error| AuditError::unreadable(path, &error);
        // Does not read lines that a service writes meanwhile: the last one may not be complete yet.
        let bytes = file.metadata().map_err(unreadable)?.len();
        let mut file = BufReader::with_capacity(1 << 20, file.take(bytes));
        let mut line = Vec::new();
        // The bytes since the last record that are not records, and the fault that is reported unless a later record is about these
        // bytes.
        let mut torn = Torn::new();
        let mut fault: Option<AuditError> = None;
        // The record number in the first line of `torn`, if that line has the form of a record. Then the bytes are not a torn part
        // of a record.
        let mut odd_number: Option<u64> = None;
        for number in 1_u64.. {
            line.clear();
            file.by_ref().take(MOST_LINE_BYTES).read_until(b'\n', &mut line).map_err(unreadable)?;
            if line.is_empty() {
                break;
            }
            let place = || format!("{}: line {number}", path.display());
            let record = line.strip_suffix(b"\n").and_then(Line::read);
            let is_first = self.last.is_none();
            if let Some(record) = record
                && self.follows(&record, &line, torn.bytes > 0)
            {
                let members = Members::read(&line);
                if is_first && !self.may_begin(&record, &members, torn.bytes > 0) {
                    let kind = AuditErrorKind::Beginning;
                    return Err(AuditError {
                        kind,
                        number: record.number,
                        place: place(),
                        cause: String::new(),
                    });
                }
                match fault {
                    None => {}
                    Some(_) if odd_number.is_none() && members.is_about_torn(torn.bytes, &torn.digest()) => {
                        self.torn = self.torn.saturating_add(1);
                    }
                    // The torn bytes that this record is about were changed.
                    Some(first) if members.event == "torn" => {
                        let number = record.number;
                        return Err(AuditError { kind: AuditErrorKind::Changed, number, ..first });
                    }
                    // This record follows the last accepted one, so the lines between them were put in.
                    Some(first) => {
                        let number = odd_number.unwrap_or(record.number);
                        return Err(AuditError { kind: AuditErrorKind::PutIn, number, ..first });
                    }
                }
                (torn, fault) = (Torn::new(), None);
                self.accept(&record, &members, place())?;
                continue;
            }
            torn.add(&line);
            match &fault {
                None => {
                    odd_number = record.map(|record| record.number);
                    fault = Some(self.fault_of(record, &line, place()));
                }
                // A record that was written after the torn bytes would be about them.
                Some(first) if record.is_some() => return Err(first.clone()),
                Some(_) => {}
            }
        }
        match fault {
            None => Ok(()),
            Some(_) if is_last && !torn.is_ended && odd_number.is_none() => {
                self.ends_torn = true;
                Ok(())
            }
            Some(fault) => Err(fault),
        }
    }

    /// Returns true if a line is the next record. The first record of a file contains the hash of the record before it. So the
    /// oldest file can be checked even if the files before it were moved away.
    fn follows(&mut self, record: &Line<'_>, line: &[u8], is_after_torn: bool) -> bool {
        if self.last.is_none() {
            let members = Members::read(line);
            let head = hash_of(members.previous.as_bytes()).zip(record.number.checked_sub(1));
            let head = head.map(|(hash, number)| AuditHead { number, hash });
            // Record 1 follows no record. A later record after other bytes is the first one only if it is about these bytes.
            let head = head.filter(|head| match head.number {
                0 => *head == AuditHead::NONE,
                _ => !is_after_torn || members.event == "torn",
            });
            self.first = record.number;
            self.last = head.filter(|head| head.is_before(record));
        }
        self.last.is_some_and(|last| last.is_before(record))
    }

    /// Returns true if the log may begin with this record.
    fn may_begin(&self, record: &Line<'_>, members: &Members, is_after_torn: bool) -> bool {
        match self.beginning {
            AuditBeginning::Complete => record.number == 1,
            AuditBeginning::OlderRemoved => record.number == 1 || members.begins_file(is_after_torn),
            AuditBeginning::At(number) => record.number == number,
        }
    }

    fn accept(&mut self, record: &Line<'_>, members: &Members, place: String) -> Result<(), AuditError> {
        self.before = self.last;
        self.last = Some(record.head());
        self.last_place = place;
        self.is_closed = members.event == "closed";
        match self.expected {
            Some(expected) if expected.number == record.number && expected != record.head() => {
                let (number, place) = (record.number, self.last_place.clone());
                Err(AuditError { kind: AuditErrorKind::Changed, number, place, cause: String::new() })
            }
            _ => Ok(()),
        }
    }

    /// Returns the fault of a line that is not the next record.
    fn fault_of(&self, record: Option<Line<'_>>, line: &[u8], place: String) -> AuditError {
        let last = self.last.unwrap_or(AuditHead::NONE);
        let next = last.number.saturating_add(1);
        let fault = |kind, number, place| AuditError { kind, number, place, cause: String::new() };
        let Some(record) = record else { return fault(AuditErrorKind::Changed, next, place) };
        if self.last.is_none() {
            // A file begins with record 1, or with a record about the log that names the record before it.
            let may_begin = record.number == 1 || !Members::read(line).previous.is_empty();
            let kind = if may_begin { AuditErrorKind::Changed } else { AuditErrorKind::Beginning };
            return fault(kind, record.number, place);
        }
        match record.number.cmp(&next) {
            // Its members, its number or its hash was changed.
            _ if last.is_named_by(&record) => fault(AuditErrorKind::Changed, next, place),
            std::cmp::Ordering::Greater => fault(AuditErrorKind::LeftOut, next, place),
            std::cmp::Ordering::Equal if last.is_before_but_for_prev(&record) => {
                fault(AuditErrorKind::Changed, next, place)
            }
            // The record before it was changed together with its hash.
            std::cmp::Ordering::Equal => fault(AuditErrorKind::Changed, last.number, self.last_place.clone()),
            // The line before this one was put in: this one is the successor of the record before that line.
            std::cmp::Ordering::Less if self.before.is_some_and(|before| before.is_before(&record)) => {
                fault(AuditErrorKind::PutIn, record.number, self.last_place.clone())
            }
            std::cmp::Ordering::Less => fault(AuditErrorKind::PutIn, record.number, place),
        }
    }

    fn finish(self, path: &Path) -> Result<AuditReport, AuditError> {
        let place = path.display().to_string();
        let fault = |kind, number| AuditError { kind, number, place, cause: String::new() };
        // Each log begins with a record about its start.
        let Some(head) = self.last else { return Err(fault(AuditErrorKind::CutOff, 1)) };
        if self.expected.is_some_and(|expected| expected.number > head.number) {
            return Err(fault(AuditErrorKind::CutOff, head.number.saturating_add(1)));
        }
        if self.expected.is_some_and(|expected| expected.number < self.first) {
            return Err(fault(AuditErrorKind::LeftOut, self.first.saturating_sub(1)));
        }
        let Self { first, files, torn, is_closed, ends_torn, .. } = self;
        Ok(AuditReport { first, head, files, torn, is_closed: is_closed && !ends_torn, ends_torn })
    }
}
