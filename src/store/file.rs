//! The database file: made, opened, and closed without a panic.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use redb::{
    Builder, Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, StorageBackend, WriteTransaction,
};

use super::error::{Fault, StoreErrorKind, guarded};
use super::tables::{
    BATCHES, CATALOGUE, DOCUMENTS, FIRST_FORMAT_VERSION, FORMAT, LIVE, META, RELEASED, STATE, State,
    check_meta, describe,
};
use crate::catalog::Catalog;

/// What every redb file starts with.
const MAGIC: [u8; 9] = [b'r', b'e', b'd', b'b', 0x1A, 0x0A, 0xA9, 0x0D, 0x0A];

/// An open database. Whatever calls it is [`guarded`].
pub(super) struct File {
    handle: RwLock<Handle>,
    origin: Origin,
    /// How often it has been opened again.
    generation: AtomicU64,
}

enum Handle {
    Open(Database),
    /// Others may read the file too, and nobody writes it.
    ReadOnly(ReadOnlyDatabase),
    Closed,
}

/// Where a database comes from, to be opened once more.
enum Origin {
    File { path: PathBuf, cache_bytes: usize, identity: Option<(u64, u64)> },
    Backend(Box<dyn Fn() -> Result<Database, Fault> + Send + Sync>),
}

impl Origin {
    /// Opens it once more, unless another file lies there now.
    fn open(&self) -> Result<Database, Fault> {
        match self {
            Self::File { path, cache_bytes, identity } => {
                let is_same = || Ok::<_, Fault>(identity_of(&fs::metadata(path)?) == *identity);
                let database = if is_same()? { Some(builder(*cache_bytes).open(path)?) } else { None };
                // It may have been exchanged in between.
                database
                    .filter(|_| is_same().unwrap_or(false))
                    .ok_or_else(|| Fault::new(StoreErrorKind::Failed, "another file lies there now"))
            }
            Self::Backend(open) => open(),
        }
    }
}

/// What tells a file from others that lie at the same path later, where the system has such.
#[cfg(unix)]
fn identity_of(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// What tells a file from others that lie at the same path later, where the system has such.
#[cfg(not(unix))]
fn identity_of(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// True when the file at a path is a database, told by how it begins.
///
/// ```
/// assert!(!casefilter::is_store(std::path::Path::new("no such file")));
/// ```
#[must_use]
pub fn is_store(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MAGIC
}

fn builder(cache_bytes: usize) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    builder
}

impl File {
    /// Makes a new file, which appears under its name complete, or not at all.
    pub(super) fn create(path: &Path, catalog: &Catalog, cache_bytes: usize) -> Result<Self, Fault> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(Fault::new(StoreErrorKind::Exists, "it exists already"));
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let fresh = path.with_file_name(name);
        let result = guarded(|| {
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&fresh)?;
            let database = builder(cache_bytes).create_file(file)?;
            initialize(&database, catalog)?;
            // Unlike a rename, a link does not take the place of a file made meanwhile.
            fs::hard_link(&fresh, path)?;
            sync_directory(path)?;
            Ok(Self::new(Handle::Open(database), path, cache_bytes))
        });
        // Only the second name; nothing depends on its going.
        let _ = fs::remove_file(&fresh);
        result
    }

    fn new(handle: Handle, path: &Path, cache_bytes: usize) -> Self {
        let identity = fs::metadata(path).ok().as_ref().and_then(identity_of);
        let origin = Origin::File { path: path.to_owned(), cache_bytes, identity };
        Self { handle: RwLock::new(handle), origin, generation: AtomicU64::new(0) }
    }

    /// Opens a file that is there.
    pub(super) fn open(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_file(path)?;
        guarded(|| Ok(Self::new(Handle::Open(builder(cache_bytes).open(path)?), path, cache_bytes)))
    }

    /// Opens a file that is there for reading alone, beside others who do; it must have been closed in order.
    pub(super) fn open_read_only(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_file(path)?;
        guarded(|| {
            let database = builder(cache_bytes).open_read_only(path)?;
            Ok(Self::new(Handle::ReadOnly(database), path, cache_bytes))
        })
    }

    /// Opens, or makes, a database in whatever stores bytes.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests and fuzzers store bytes elsewhere"))]
    pub(super) fn in_backend(backend: impl StorageBackend + Clone, catalog: &Catalog) -> Result<Self, Fault> {
        guarded(|| {
            let open = move || Ok(builder(1 << 20).create_with_backend(backend.clone())?);
            let file = Self {
                handle: RwLock::new(Handle::Open(open()?)),
                origin: Origin::Backend(Box::new(open)),
                generation: AtomicU64::new(0),
            };
            if file.read()?.list_tables()?.next().is_none() {
                match &*file.handle() {
                    Handle::Open(database) => initialize(database, catalog)?,
                    Handle::ReadOnly(_) | Handle::Closed => return Err(closed()),
                }
            }
            Ok(file)
        })
    }

    fn handle(&self) -> RwLockReadGuard<'_, Handle> {
        // The handle changes in one step.
        self.handle.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is written to it.
    pub(super) fn is_read_only(&self) -> bool {
        matches!(&*self.handle(), Handle::ReadOnly(_))
    }

    /// How often it has been opened again.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Closes it and opens it again, which redb asks for once reading or writing has failed; no write may be under way. It stays
    /// closed if it cannot be opened, or holds anything else than `state`.
    ///
    /// What was read from it before cannot be read any more.
    pub(super) fn reopen(&self, catalog: &Catalog, state: &State) -> Result<(), Fault> {
        guarded(|| {
            let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
            if let Handle::ReadOnly(_) = &*handle {
                return Err(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone"));
            }
            *handle = Handle::Closed;
            let database = self.origin.open()?;
            let found = check_meta(&database.begin_read()?.open_table(META)?, catalog)?.state;
            // Opening gives numbers to batches that are made of documents then.
            let numbered = |state: &State| State { next_batch: 0, ..*state };
            if numbered(&found) != numbered(state) {
                let detail = "what is on disk is not what is in memory; reopen it to go on";
                return Err(Fault::new(StoreErrorKind::Failed, detail));
            }
            *handle = Handle::Open(database);
            self.generation.fetch_add(1, Ordering::AcqRel);
            Ok(())
        })
    }

    /// Begins a transaction that reads what was committed last.
    pub(super) fn read(&self) -> Result<ReadTransaction, Fault> {
        match &*self.handle() {
            Handle::Open(database) => Ok(database.begin_read()?),
            Handle::ReadOnly(database) => Ok(database.begin_read()?),
            Handle::Closed => Err(closed()),
        }
    }

    /// Begins the one transaction that writes; on disk when its commit returns if it is `synced`,
    /// otherwise with the next that is.
    pub(super) fn write(&self, synced: bool) -> Result<WriteTransaction, Fault> {
        let mut transaction = match &*self.handle() {
            Handle::Open(database) => database.begin_write()?,
            Handle::ReadOnly(_) => {
                return Err(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone"));
            }
            Handle::Closed => return Err(closed()),
        };
        if !synced {
            transaction.set_durability(redb::Durability::None)?;
        }
        Ok(transaction)
    }

    /// Lets redb compare every page with its checksum, and repair what it can; false when it had to.
    pub(super) fn check_integrity(&mut self) -> Result<bool, Fault> {
        guarded(|| match self.handle.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Handle::Open(database) => Ok(database.check_integrity()?),
            Handle::ReadOnly(_) => Err(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone")),
            Handle::Closed => Err(closed()),
        })
    }

    /// Moves what is stored to the front and shortens the file; nobody may be reading.
    pub(super) fn compact(&mut self) -> Result<bool, Fault> {
        guarded(|| match self.handle.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Handle::Open(database) => Ok(database.compact()?),
            Handle::ReadOnly(_) => Err(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone")),
            Handle::Closed => Err(closed()),
        })
    }
}

fn closed() -> Fault {
    Fault::new(StoreErrorKind::Failed, "closed")
}

/// Whether the file at a path can be a database at all.
fn check_file(path: &Path) -> Result<(), Fault> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(Fault::new(StoreErrorKind::NotADatabase, "not a file"));
    }
    let mut start = Vec::new();
    fs::File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    if start != MAGIC {
        return Err(Fault::new(StoreErrorKind::NotADatabase, "not a database of cases"));
    }
    Ok(())
}

impl Drop for File {
    fn drop(&mut self) {
        // Closing writes, and may meet damage.
        let _ = guarded(|| {
            *self.handle.get_mut().unwrap_or_else(PoisonError::into_inner) = Handle::Closed;
            Ok(())
        });
    }
}

/// Writes what an empty store holds.
fn initialize(database: &Database, catalog: &Catalog) -> Result<(), Fault> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, FIRST_FORMAT_VERSION.to_le_bytes().as_slice())?;
        meta.insert(CATALOGUE, describe(catalog).as_bytes())?;
        meta.insert(STATE, State::default().to_bytes().as_slice())?;
        transaction.open_table(DOCUMENTS)?;
        transaction.open_table(RELEASED)?;
        transaction.open_table(BATCHES)?;
        transaction.open_table(LIVE)?;
    }
    Ok(transaction.commit()?)
}

/// Makes a new name in a directory durable.
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Directories cannot be opened everywhere; where they cannot, there is nothing to sync either.
    match fs::File::open(parent) {
        Ok(directory) if cfg!(unix) => directory.sync_all(),
        _ => Ok(()),
    }
}
