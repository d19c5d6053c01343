//! The origin of a database (its path and file identity), from which the database can be reopened. This module also opens files
//! with their backends, and reads the header of redb files.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use redb::{Builder, Database};

use super::super::backend::{SyncFailed, Watched, WholePages};
use super::super::error::{Fault, StoreErrorKind};
use super::opened::closed;

/// The magic number at the start of a redb file.
const MAGIC: [u8; 9] = [b'r', b'e', b'd', b'b', 0x1A, 0x0A, 0xA9, 0x0D, 0x0A];

/// A bit of the byte after the magic number. redb sets it while the file is open for writing, and clears it when the file is
/// closed.
const NOT_CLOSED: u8 = 2;

/// The origin of a database. The database can be opened again from it.
pub(super) enum Origin {
    File {
        path: PathBuf,
        cache_bytes: usize,
        identity: Mutex<Option<Identity>>,
    },
    /// A file that has no name yet.
    Unnamed,
    Backend(Box<OpenBackend>),
}

/// Opens a database in a storage backend.
pub(super) type OpenBackend = dyn Fn(&SyncFailed) -> Result<Database, Fault> + Send + Sync;

/// The identity of a file: its device number and its inode number.
pub(in crate::store) type Identity = (u64, u64);

impl Origin {
    /// Creates the origin for the file at `path` with this identity.
    pub(super) fn of(path: &Path, cache_bytes: usize, identity: Option<Identity>) -> Self {
        Self::File { path: path.to_owned(), cache_bytes, identity: Mutex::new(identity) }
    }

    /// Opens the database again. Returns an error if `path` now leads to another file.
    pub(super) fn open(&self, sync_failed: &SyncFailed) -> Result<Database, Fault> {
        match self {
            Self::File { path, cache_bytes, identity } => {
                let identity = *identity.lock().unwrap_or_else(PoisonError::into_inner);
                let is_same = || Ok::<_, Fault>(identity_of(&fs::metadata(path)?) == identity);
                let database = match is_same()? {
                    true => Some(open_to_write(path, *cache_bytes, sync_failed)?),
                    false => None,
                };
                // The file at the path may have been replaced while it was opened.
                database
                    .filter(|_| is_same().unwrap_or(false))
                    .ok_or_else(|| Fault::new(StoreErrorKind::Failed, "another file has this path now"))
            }
            Self::Unnamed => Err(closed()),
            Self::Backend(open) => open(sync_failed),
        }
    }
}

pub(super) fn open_to_write(
    path: &Path,
    cache_bytes: usize,
    sync_failed: &SyncFailed,
) -> Result<Database, Fault> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    check_start(&file)?;
    Ok(builder(cache_bytes).create_with_backend(Watched::new(WholePages::new(file)?, sync_failed))?)
}

/// Opens the file at a path. Returns the result of `open` and the identity of the file. Tries again if the file is replaced at the
/// same time, for example when a service compacts it.
pub(super) fn settled<T>(
    path: &Path,
    open: impl Fn() -> Result<T, Fault>,
) -> Result<(T, Option<Identity>), Fault> {
    /// The maximum number of attempts. If the file is replaced in each attempt, the result is an error.
    const TRIES: usize = 8;
    let identity = || fs::metadata(path).map(|metadata| identity_of(&metadata));
    for _ in 0..TRIES {
        let before = identity()?;
        let opened = open()?;
        // `open` has taken the lock of the file, and only the holder of the lock replaces the file.
        if identity().is_ok_and(|after| after == before) {
            return Ok((opened, before));
        }
    }
    Err(Fault::new(StoreErrorKind::InUse, "it is replaced by other files repeatedly"))
}

/// Returns the identity of a file, which distinguishes it from later files at the same path. Returns `None` if the system has no
/// file identities.
#[cfg(unix)]
pub(super) fn identity_of(metadata: &fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// Returns the identity of a file, which distinguishes it from later files at the same path. Returns `None` if the system has no
/// file identities.
#[cfg(not(unix))]
pub(super) fn identity_of(_: &fs::Metadata) -> Option<Identity> {
    None
}

/// Returns true if the file at `path` begins with the magic number of a database.
pub(in crate::store) fn is_store(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MAGIC
}

pub(super) fn builder(cache_bytes: usize) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    builder
}

/// Returns true if the header of the file says that the last writer closed it properly.
pub(super) fn is_closed(mut file: fs::File) -> Result<bool, Fault> {
    let mut flags = [0];
    file.seek(SeekFrom::Start(MAGIC.len() as u64))?;
    file.read_exact(&mut flags)?;
    let [flags] = flags;
    Ok(flags & NOT_CLOSED == 0)
}

/// Returns an error if `path` is not a regular file. Opening a pipe would wait for its writer.
pub(super) fn check_metadata(path: &Path) -> Result<(), Fault> {
    if fs::metadata(path)?.is_file() {
        return Ok(());
    }
    Err(Fault::new(StoreErrorKind::NotADatabase, "not a file"))
}

/// Returns an error if the file does not begin with the magic number.
pub(super) fn check_start(mut file: &fs::File) -> Result<(), Fault> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    if start != MAGIC {
        return Err(Fault::new(StoreErrorKind::NotADatabase, "not a database of casefilter"));
    }
    Ok(())
}
