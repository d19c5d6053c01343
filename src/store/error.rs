//! The errors of the store, and `guarded`, which converts panics of redb into errors.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::as_of::HistoryGoneError;
use crate::engine::ImportError;
use crate::error::Error;
use crate::standing::EventsGoneError;

/// The kind of a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The file does not exist.
    NotFound,
    /// A file with the name of the new file already exists.
    Exists,
    /// Another store has the file open for writing, in this process or another process. Or readers have the file open.
    InUse,
    /// Another store, in this process or in another, is creating the file.
    BeingCreated,
    /// A temporary file of an import cannot be written or read. The database is unchanged and accepts writes.
    TemporaryFile,
    /// The file is not a database of this library.
    NotADatabase,
    /// The file has a format version that this library does not know.
    UnknownVersion,
    /// The file has documents of another catalogue. The catalogues have different fields, another order of the fields, or other
    /// hidden fields. Two fields are different if their paths, types, timestamp forms or default values differ, or if only one of
    /// them is a `key`. A difference only in known values or aliases does not cause this error.
    OtherCatalog,
    /// The file is damaged.
    Corrupt,
    /// The system could not read or write the file, for example because the disk is full or the user has no permission.
    Io,
    /// An earlier write failed, or the last writer did not close the file. Open the file again for writing to find out what is on
    /// disk.
    Failed,
    /// The file has an earlier format version, which cannot keep what was to be stored.
    OldFormat,
    /// The requested events of standing filters are not kept any more, or have not happened yet. See [`StoreError::events_gone`].
    EventsGone,
    /// The documents of the requested moment are not kept any more, or the moment has not come yet. See
    /// [`StoreError::history_gone`].
    HistoryGone,
    /// The store was opened for reading only.
    ReadOnly,
    /// A document or an imported record was rejected. Nothing of the write was stored.
    RejectedDocument,
    /// The request does not match the store: its filter or order was built with another catalogue, or its page is too large. Or the
    /// search was stopped by its [token](crate::CancelToken) or its [deadline](crate::Deadline). See [`StoreError::request_error`].
    Request,
}

impl StoreErrorKind {
    /// Returns the stable name of this kind, in snake case.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Exists => "exists",
            Self::InUse => "in_use",
            Self::BeingCreated => "being_created",
            Self::TemporaryFile => "temporary_file",
            Self::NotADatabase => "not_a_database",
            Self::UnknownVersion => "unknown_version",
            Self::OtherCatalog => "other_catalog",
            Self::Corrupt => "corrupt",
            Self::Io => "io",
            Self::Failed => "failed",
            Self::OldFormat => "old_format",
            Self::EventsGone => "events_gone",
            Self::HistoryGone => "history_gone",
            Self::ReadOnly => "read_only",
            Self::RejectedDocument => "refused",
            Self::Request => "request",
        }
    }
}

/// An error of a store. Its message begins with the name of the file, except for rejected documents and requests.
#[derive(Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    file: String,
    detail: String,
    refusal: Option<Box<ImportError>>,
    request: Option<Box<Error>>,
    gone: Option<Box<Gone>>,
}

/// The details of an error about events or a moment that the store does not have.
#[derive(Clone, Copy, Debug)]
enum Gone {
    Events(EventsGoneError),
    History(HistoryGoneError),
}

impl StoreError {
    pub(super) fn new(kind: StoreErrorKind, file: &str, detail: impl Into<String>) -> Self {
        Self { kind, file: file.to_owned(), detail: detail.into(), refusal: None, request: None, gone: None }
    }

    pub(super) fn refused(file: &str, refusal: ImportError) -> Self {
        let detail = refusal.to_string();
        Self { refusal: Some(Box::new(refusal)), ..Self::new(StoreErrorKind::RejectedDocument, file, detail) }
    }

    /// Creates the error for a request that does not match the store, or whose search was stopped.
    pub(super) fn request(file: &str, error: Error) -> Self {
        let detail = error.to_string();
        Self { request: Some(Box::new(error)), ..Self::new(StoreErrorKind::Request, file, detail) }
    }

    fn gone(file: &str, gone: Gone) -> Self {
        let (kind, detail) = match gone {
            Gone::Events(gone) => (StoreErrorKind::EventsGone, gone.to_string()),
            Gone::History(gone) => (StoreErrorKind::HistoryGone, gone.to_string()),
        };
        Self { gone: Some(Box::new(gone)), ..Self::new(kind, file, detail) }
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Returns the error of the rejected document if the kind is [`RejectedDocument`](StoreErrorKind::RejectedDocument).
    #[must_use]
    pub fn import_error(&self) -> Option<&ImportError> {
        self.refusal.as_deref()
    }

    /// Returns the numbers of the oldest and the last event that exist, if the kind is [`EventsGone`](StoreErrorKind::EventsGone).
    #[must_use]
    pub fn events_gone(&self) -> Option<EventsGoneError> {
        match self.gone.as_deref() {
            Some(Gone::Events(gone)) => Some(*gone),
            Some(Gone::History(_)) | None => None,
        }
    }

    /// Returns the moments whose documents are known, if the kind is [`HistoryGone`](StoreErrorKind::HistoryGone).
    #[must_use]
    pub fn history_gone(&self) -> Option<HistoryGoneError> {
        match self.gone.as_deref() {
            Some(Gone::History(gone)) => Some(*gone),
            Some(Gone::Events(_)) | None => None,
        }
    }

    /// Returns the error of the request if the kind is [`Request`](StoreErrorKind::Request).
    #[must_use]
    pub fn request_error(&self) -> Option<&Error> {
        self.request.as_deref()
    }
}

impl fmt::Debug for StoreError {
    /// Prints the kind and the message. A program whose `main` returns the error prints this form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreError({:?}, {self})", self.kind)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            StoreErrorKind::RejectedDocument | StoreErrorKind::Request => f.write_str(&self.detail),
            _ => write!(f, "{}: {}", self.file, self.detail),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match (&self.refusal, &self.request) {
            (Some(refusal), _) => Some(&**refusal),
            (None, Some(request)) => Some(&**request),
            (None, None) => None,
        }
    }
}

/// An error to which the name of the file has not been added yet.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: StoreErrorKind,
    pub(super) detail: String,
    /// The error of a search that was stopped, if the fault is such an error.
    request: Option<Box<Error>>,
    /// The details, if the store does not have the requested events or moment.
    gone: Option<Box<Gone>>,
    /// The generation of the file that could not be read, if it is known.
    pub(super) generation: Option<u64>,
}

impl Fault {
    pub(super) fn new(kind: StoreErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), request: None, gone: None, generation: None }
    }

    /// Creates the fault for bytes that cannot be decoded or that contradict each other.
    pub(super) fn corrupt(detail: impl Into<String>) -> Self {
        Self::new(StoreErrorKind::Corrupt, detail)
    }

    /// Creates the fault for a search that was stopped while its documents were read.
    pub(super) fn stopped(error: Error) -> Self {
        Self { request: Some(Box::new(error)), ..Self::new(StoreErrorKind::Request, "stopped") }
    }

    /// Creates the fault for events that are not kept any more, or that have not happened yet.
    pub(super) fn events_gone(gone: EventsGoneError) -> Self {
        let gone = Some(Box::new(Gone::Events(gone)));
        Self { gone, ..Self::new(StoreErrorKind::EventsGone, "events that do not exist") }
    }

    /// Creates the fault for a moment whose documents are not kept any more, or that has not come yet.
    pub(super) fn history_gone(gone: HistoryGoneError) -> Self {
        let gone = Some(Box::new(Gone::History(gone)));
        Self { gone, ..Self::new(StoreErrorKind::HistoryGone, "a moment that is not kept") }
    }

    /// Adds the generation of the file that was read.
    pub(super) fn of_generation(self, generation: u64) -> Self {
        Self { generation: Some(generation), ..self }
    }

    pub(super) fn of_file(self, file: &str) -> StoreError {
        match (self.request, self.gone) {
            (Some(error), _) => StoreError::request(file, *error),
            (None, Some(gone)) => StoreError::gone(file, *gone),
            (None, None) => StoreError::new(self.kind, file, self.detail),
        }
    }
}

/// Converts the description of a decoding error to a fault.
impl From<String> for Fault {
    fn from(detail: String) -> Self {
        Self::corrupt(detail)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => StoreErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => StoreErrorKind::Exists,
            // redb tried to read past the end of the file, because a page number is wrong or the file is truncated.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Io,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<redb::Error> for Fault {
    fn from(error: redb::Error) -> Self {
        use redb::Error;
        let kind = match error {
            Error::Io(error) => return error.into(),
            Error::DatabaseAlreadyOpen => {
                return Self::new(StoreErrorKind::InUse, "this process or another process has it open");
            }
            Error::UpgradeRequired(version) => {
                let detail = format!("written in version {version} of redb's file format, which is too old");
                return Self::new(StoreErrorKind::UnknownVersion, detail);
            }
            Error::RepairAborted => {
                return Self::new(
                    StoreErrorKind::Failed,
                    "it was not closed properly; open it once with write permission to repair it",
                );
            }
            Error::Corrupted(detail) => return Self::corrupt(format!("damaged: {}", of_pages(detail))),
            Error::TransactionInProgress => StoreErrorKind::InUse,
            Error::PreviousIo | Error::DatabaseClosed | Error::LockPoisoned(_) => StoreErrorKind::Failed,
            // The names or types of tables differ, or values are out of range. An undamaged file does not cause such errors.
            _ => return Self::corrupt(of_pages(error.to_string())),
        };
        Self::new(kind, error.to_string())
    }
}

/// Returns redb's description of damage. If the text mentions internals of redb, returns a general description instead.
fn of_pages(text: String) -> String {
    if text.contains("redb") || text.contains("::") { CONTRADICTION.to_owned() } else { text }
}

/// The description of damage for which redb has no suitable description.
const CONTRADICTION: &str = "its pages contradict each other";

macro_rules! from_redb {
    ($($error:ident),*) => {$(
        impl From<redb::$error> for Fault {
            fn from(error: redb::$error) -> Self {
                redb::Error::from(error).into()
            }
        }
    )*};
}

from_redb!(
    DatabaseError,
    TransactionError,
    TableError,
    StorageError,
    CommitError,
    CompactionError,
    SetDurabilityError
);

thread_local! {
    /// The current nesting depth of calls of [`guarded`] on this thread.
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Returns true while this thread runs code inside [`guarded`].
pub(super) fn catches_panics() -> bool {
    GUARDED.try_with(|depth| depth.get() > 0).unwrap_or(false)
}

/// Runs code that calls redb, and converts a panic into a [`Fault`]. redb panics on some damage of a file.
///
/// Unwind safety: values that a panic leaves inconsistent are dropped with the closure, or are not used again. After a fault, the
/// caller abandons the transaction. After a failed write, the store opens the file again before the next write.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let count = |change: fn(u32) -> u32| {
        // The counter cannot be accessed while the thread ends.
        let _ = GUARDED.try_with(|depth| depth.set(change(depth.get())));
    };
    count(|depth| depth.saturating_add(1));
    let result = catch_unwind(AssertUnwindSafe(call));
    count(|depth| depth.saturating_sub(1));
    result.unwrap_or_else(|panic| {
        // The message of a panic is not used, because it is about the internals of redb.
        let fault = panic.downcast().map(|fault| *fault);
        Err(fault.unwrap_or_else(|_| Fault::corrupt(format!("damaged: {CONTRADICTION}"))))
    })
}

/// Runs an operation of the engine that may read columns. Returns the fault if a column cannot be read. Other panics continue.
///
/// Unwind safety: a search changes only caches. If it unwinds while it fills a cell of a cache, the cell stays empty. A write that
/// unwinds before it is published has no effect.
pub(super) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(call)).map_err(fault_of)
}

/// Returns the fault of a column that could not be read. If `payload` comes from another panic, continues that panic.
pub(super) fn fault_of(payload: Box<dyn Any + Send>) -> Fault {
    payload.downcast().map_or_else(|payload| resume_unwind(payload), |fault| *fault)
}

/// A value of redb, such as a transaction or a table. If dropping the value panics, the panic is caught.
#[derive(Debug)]
pub(super) struct Guarded<T>(Option<T>);

impl<T> Guarded<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Some(value))
    }

    pub(super) fn get(&self) -> Result<&T, Fault> {
        self.0.as_ref().ok_or_else(|| Fault::corrupt("the transaction has ended"))
    }

    pub(super) fn get_mut(&mut self) -> Result<&mut T, Fault> {
        self.0.as_mut().ok_or_else(|| Fault::corrupt("the transaction has ended"))
    }

    /// Runs `call`. If it panics, drops the value before the panic continues, because redb does not free the pages of a transaction
    /// that is dropped during a panic.
    pub(super) fn beside<U>(self, call: impl FnOnce() -> U) -> (Self, U) {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => (self, result),
            Err(panic) => {
                drop(self);
                resume_unwind(panic)
            }
        }
    }

    pub(super) fn take(mut self) -> Result<T, Fault> {
        self.0.take().ok_or_else(|| Fault::corrupt("the transaction has ended"))
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        let _ = guarded(|| {
            drop(value);
            Ok(())
        });
    }
}
