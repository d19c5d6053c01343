//! Why a store could not do what it was asked for.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::ImportError;
use crate::error::Error;

/// What sort of fault a [`StoreError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// There is no such file.
    NotFound,
    /// A file that was to be made is there already.
    Exists,
    /// Another store, here or in another process, has the file open, or readers hold it.
    InUse,
    /// The file is something else.
    NotADatabase,
    /// The file was written by a version that this one does not know.
    UnknownVersion,
    /// The file holds cases of another catalogue.
    OtherCatalog,
    /// The file is damaged.
    Corrupt,
    /// The system could not read or write: disk full, no permission.
    Io,
    /// A write failed earlier, or the process that wrote did not close the file, so that it is not known what of it is on disk;
    /// opening it again to write tells.
    Failed,
    /// The store was opened for reading alone.
    ReadOnly,
    /// A case was refused; nothing was stored.
    Refused,
    /// The request does not fit the store: its filter or order is of another catalogue, or its page too large.
    Request,
}

impl StoreErrorKind {
    /// A stable name.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Exists => "exists",
            Self::InUse => "in_use",
            Self::NotADatabase => "not_a_database",
            Self::UnknownVersion => "unknown_version",
            Self::OtherCatalog => "other_catalog",
            Self::Corrupt => "corrupt",
            Self::Io => "io",
            Self::Failed => "failed",
            Self::ReadOnly => "read_only",
            Self::Refused => "refused",
            Self::Request => "request",
        }
    }
}

/// Why a store could not do what it was asked for; it names the file.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    file: String,
    detail: String,
    refusal: Option<Box<ImportError>>,
    request: Option<Box<Error>>,
}

impl StoreError {
    pub(super) fn new(kind: StoreErrorKind, file: &str, detail: impl Into<String>) -> Self {
        Self { kind, file: file.to_owned(), detail: detail.into(), refusal: None, request: None }
    }

    pub(super) fn refused(file: &str, refusal: ImportError) -> Self {
        let detail = refusal.to_string();
        Self { refusal: Some(Box::new(refusal)), ..Self::new(StoreErrorKind::Refused, file, detail) }
    }

    /// A request that does not fit.
    pub(super) fn request(file: &str, error: Error) -> Self {
        let detail = error.to_string();
        Self { request: Some(Box::new(error)), ..Self::new(StoreErrorKind::Request, file, detail) }
    }

    /// What sort of fault it is.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// The case that was refused, when that is the reason.
    #[must_use]
    pub fn refusal(&self) -> Option<&ImportError> {
        self.refusal.as_deref()
    }

    /// What is wrong with the request, when that is the reason.
    #[must_use]
    pub fn request_error(&self) -> Option<&Error> {
        self.request.as_deref()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            StoreErrorKind::Refused | StoreErrorKind::Request => f.write_str(&self.detail),
            _ => write!(f, "{}: {}", self.file, self.detail),
        }
    }
}

impl std::error::Error for StoreError {}

/// A fault below, not yet given the name of its file.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: StoreErrorKind,
    pub(super) detail: String,
}

impl Fault {
    pub(super) fn new(kind: StoreErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// Bytes that mean nothing, or contradict each other.
    pub(super) fn corrupt(detail: impl Into<String>) -> Self {
        Self::new(StoreErrorKind::Corrupt, detail)
    }

    pub(super) fn of_file(self, file: &str) -> StoreError {
        StoreError::new(self.kind, file, self.detail)
    }
}

/// What decoding finds wrong.
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
            // Reading behind the end: pages lead there, or the file lacks some.
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
                return Self::new(StoreErrorKind::InUse, "another process, or this one, has it open");
            }
            Error::UpgradeRequired(version) => {
                let detail = format!("written in version {version} of redb's file format, which is too old");
                return Self::new(StoreErrorKind::UnknownVersion, detail);
            }
            Error::RepairAborted => {
                return Self::new(
                    StoreErrorKind::Failed,
                    "it was not closed in order, and can be mended by who may write it",
                );
            }
            Error::Corrupted(detail) => return Self::corrupt(format!("damaged: {}", of_pages(detail))),
            Error::TransactionInProgress => StoreErrorKind::InUse,
            Error::PreviousIo | Error::DatabaseClosed | Error::LockPoisoned(_) => StoreErrorKind::Failed,
            // Tables of other names and types, values out of range and whatever else a whole file
            // does not lead to.
            _ => return Self::corrupt(of_pages(error.to_string())),
        };
        Self::new(kind, error.to_string())
    }
}

/// A text of redb about damage, unless it speaks of the innards of redb.
fn of_pages(text: String) -> String {
    if text.contains("redb") || text.contains("::") { CONTRADICTION.to_owned() } else { text }
}

/// Damage of a file, where no more can be said of it.
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
    /// How many calls of [`guarded`] this thread is in.
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Returns true while this thread runs code in [`guarded`].
pub(super) fn catches_panics() -> bool {
    GUARDED.try_with(|depth| depth.get() > 0).unwrap_or(false)
}

/// Runs what calls redb, which panics over some damage, and makes such a panic a fault.
///
/// Whatever the closure leaves half-done is either dropped with it or not used again: the
/// caller gives up the transaction, and after a failed write the whole store.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let count = |change: fn(u32) -> u32| {
        // A thread that ends has nothing to count any more.
        let _ = GUARDED.try_with(|depth| depth.set(change(depth.get())));
    };
    count(|depth| depth.saturating_add(1));
    let result = catch_unwind(AssertUnwindSafe(call));
    count(|depth| depth.saturating_sub(1));
    // Its text speaks of the innards of redb.
    result.unwrap_or_else(|_panic| Err(Fault::corrupt(format!("damaged: {CONTRADICTION}"))))
}

/// Something of redb's that is dropped without a panic, as a transaction or a table of one.
#[derive(Debug)]
pub(super) struct Guarded<T>(Option<T>);

impl<T> Guarded<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Some(value))
    }

    pub(super) fn get(&self) -> Result<&T, Fault> {
        self.0.as_ref().ok_or_else(|| Fault::corrupt("no transaction"))
    }

    pub(super) fn get_mut(&mut self) -> Result<&mut T, Fault> {
        self.0.as_mut().ok_or_else(|| Fault::corrupt("no transaction"))
    }

    pub(super) fn take(mut self) -> Result<T, Fault> {
        self.0.take().ok_or_else(|| Fault::corrupt("no transaction"))
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
