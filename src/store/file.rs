//! The database file: made, opened, and closed without a panic.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use redb::{
    Builder, Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, StorageBackend, WriteTransaction,
};

use super::atomic::AtomicFile;
use super::backend::{Overlay, PAGE_BYTES, WholePages};
use super::error::{Fault, StoreErrorKind, guarded};
use super::tables::{
    BATCHES, CATALOGUE, DOCUMENTS, FIRST_FORMAT_VERSION, FORMAT, LIVE, META, RELEASED, STATE, State,
    check_meta, describe,
};
use crate::catalog::Catalog;

/// What every redb file starts with.
const MAGIC: [u8; 9] = [b'r', b'e', b'd', b'b', 0x1A, 0x0A, 0xA9, 0x0D, 0x0A];

/// Where redb notes, behind its magic number, that a file was not closed in order: a bit of the byte after it.
const NOT_CLOSED: u8 = 2;

/// An open database. Whatever calls it is [`guarded`].
pub(super) struct File {
    handle: RwLock<Handle>,
    origin: Origin,
    /// How often it has been opened again.
    generation: AtomicU64,
    /// A new file that gets its name when it is closed.
    new: Option<AtomicFile>,
}

enum Handle {
    Open(Database),
    /// Others may read the file too, and nobody writes it.
    ReadOnly(ReadOnlyDatabase),
    /// As `ReadOnly`, for what redb does only where it may write: its writes stay in memory.
    Overlay {
        database: Database,
        /// Opening had to repair what a crash left.
        repaired: bool,
    },
    Closed,
}

/// Where a database comes from, to be opened once more.
enum Origin {
    File {
        path: PathBuf,
        cache_bytes: usize,
        identity: Option<(u64, u64)>,
    },
    /// A file that has no name, or not yet.
    Unnamed,
    Backend(Box<dyn Fn() -> Result<Database, Fault> + Send + Sync>),
}

impl Origin {
    /// Opens it once more, unless another file lies there now.
    fn open(&self) -> Result<Database, Fault> {
        match self {
            Self::File { path, cache_bytes, identity } => {
                let is_same = || Ok::<_, Fault>(identity_of(&fs::metadata(path)?) == *identity);
                let database = if is_same()? { Some(open_to_write(path, *cache_bytes)?) } else { None };
                // It may have been exchanged in between.
                database
                    .filter(|_| is_same().unwrap_or(false))
                    .ok_or_else(|| Fault::new(StoreErrorKind::Failed, "another file lies there now"))
            }
            Self::Unnamed => Err(closed()),
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
        let new = AtomicFile::create_new(path)?;
        let database = create_in(new.file().try_clone()?, catalog, cache_bytes)?;
        new.finish()?;
        Ok(Self::new(Handle::Open(database), path, cache_bytes))
    }

    /// Makes a new file that gets its name when it is closed.
    pub(super) fn prepare(path: &Path, catalog: &Catalog, cache_bytes: usize) -> Result<Self, Fault> {
        let new = AtomicFile::create_new(path)?;
        let database = create_in(new.file().try_clone()?, catalog, cache_bytes)?;
        let mut own = Self::unnamed(Handle::Open(database));
        own.new = Some(new);
        Ok(own)
    }

    /// Makes a database in an empty file that may have no name.
    #[cfg(all(feature = "service", unix))]
    pub(super) fn create_in_file(
        file: fs::File,
        catalog: &Catalog,
        cache_bytes: usize,
    ) -> Result<Self, Fault> {
        Ok(Self::unnamed(Handle::Open(create_in(file, catalog, cache_bytes)?)))
    }

    fn new(handle: Handle, path: &Path, cache_bytes: usize) -> Self {
        let identity = fs::metadata(path).ok().as_ref().and_then(identity_of);
        let mut own = Self::unnamed(handle);
        own.origin = Origin::File { path: path.to_owned(), cache_bytes, identity };
        own
    }

    fn unnamed(handle: Handle) -> Self {
        Self {
            handle: RwLock::new(handle),
            origin: Origin::Unnamed,
            generation: AtomicU64::new(0),
            new: None,
        }
    }

    /// Opens a file that is there.
    pub(super) fn open(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_metadata(path)?;
        guarded(|| Ok(Self::new(Handle::Open(open_to_write(path, cache_bytes)?), path, cache_bytes)))
    }

    /// Opens a file that is there for reading alone, beside others who do; it must have been closed in order.
    pub(super) fn open_read_only(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_metadata(path)?;
        let file = fs::File::open(path)?;
        check_start(&file)?;
        // redb takes a length that is no whole number of pages for damage.
        if file.metadata()?.len().checked_rem(PAGE_BYTES) != Some(0) {
            return Self::of_file(file, cache_bytes);
        }
        guarded(|| {
            let database = builder(cache_bytes).open_read_only(path)?;
            Ok(Self::new(Handle::ReadOnly(database), path, cache_bytes))
        })
    }

    /// Opens a file for reading alone, also one that was not closed in order: it is mended in memory.
    pub(super) fn open_overlay(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_metadata(path)?;
        Self::of_file(fs::File::open(path)?, cache_bytes)
    }

    /// As [`open_overlay`](Self::open_overlay), a file that is open to be read.
    pub(super) fn of_file(file: fs::File, cache_bytes: usize) -> Result<Self, Fault> {
        check_start(&file)?;
        guarded(|| {
            let repaired = Arc::new(AtomicBool::new(false));
            let note = Arc::clone(&repaired);
            let database = builder(cache_bytes)
                .set_repair_callback(move |_| note.store(true, Ordering::Relaxed))
                .create_with_backend(Overlay::new(file)?)?;
            let repaired = repaired.load(Ordering::Relaxed);
            Ok(Self::unnamed(Handle::Overlay { database, repaired }))
        })
    }

    /// Opens, or makes, a database in whatever stores bytes.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests and fuzzers store bytes elsewhere"))]
    pub(super) fn in_backend(backend: impl StorageBackend + Clone, catalog: &Catalog) -> Result<Self, Fault> {
        guarded(|| {
            let open = move || Ok(builder(1 << 20).create_with_backend(backend.clone())?);
            let database = open()?;
            let mut file = Self::unnamed(Handle::Open(database));
            file.origin = Origin::Backend(Box::new(open));
            if file.read()?.list_tables()?.next().is_none() {
                match &*file.handle() {
                    Handle::Open(database) => initialize(database, catalog)?,
                    Handle::ReadOnly(_) | Handle::Overlay { .. } | Handle::Closed => return Err(closed()),
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
        matches!(&*self.handle(), Handle::ReadOnly(_) | Handle::Overlay { .. })
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
            if let Handle::ReadOnly(_) | Handle::Overlay { .. } = &*handle {
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
            Handle::Open(database) | Handle::Overlay { database, .. } => Ok(database.begin_read()?),
            Handle::ReadOnly(database) => Ok(database.begin_read()?),
            Handle::Closed => Err(closed()),
        }
    }

    /// Begins the one transaction that writes; on disk when its commit returns if it is `synced`,
    /// otherwise with the next that is.
    pub(super) fn write(&self, synced: bool) -> Result<WriteTransaction, Fault> {
        let mut transaction = match &*self.handle() {
            Handle::Open(database) => database.begin_write()?,
            Handle::ReadOnly(_) | Handle::Overlay { .. } => {
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
            Handle::Overlay { database, repaired } => Ok(database.check_integrity()? && !*repaired),
            Handle::ReadOnly(_) => Err(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone")),
            Handle::Closed => Err(closed()),
        })
    }

    /// Moves what is stored to the front and shortens the file; nobody may be reading.
    pub(super) fn compact(&mut self) -> Result<bool, Fault> {
        guarded(|| match self.handle.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Handle::Open(database) => Ok(database.compact()?),
            Handle::ReadOnly(_) | Handle::Overlay { .. } => {
                Err(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone"))
            }
            Handle::Closed => Err(closed()),
        })
    }

    /// Closes the file, and gives a new one its name.
    ///
    /// # Errors
    /// When what redb writes last could not be written, so that the next opening has to repair the file; when a new one cannot get
    /// its name.
    pub(super) fn close(&mut self) -> Result<(), Fault> {
        let handle = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        let is_written = matches!(handle, Handle::Open(_));
        guarded(|| {
            *handle = Handle::Closed;
            Ok(())
        })?;
        let closed = match (&self.new, &self.origin) {
            (Some(new), _) => Some(new.file().try_clone()?),
            // Another file may lie there by now.
            (None, Origin::File { path, identity, .. }) if is_written => fs::File::open(path)
                .ok()
                .filter(|file| file.metadata().is_ok_and(|found| identity_of(&found) == *identity)),
            _ => None,
        };
        if let Some(file) = closed
            && !is_closed(file)?
        {
            let detail = "it could not be closed in order; what was stored is on disk, and the next opening to write repairs the rest";
            return Err(Fault::new(StoreErrorKind::Failed, detail));
        }
        if let Some(new) = self.new.take() {
            new.finish()?;
        }
        Ok(())
    }
}

/// Whether the header of a file says that it was closed in order.
fn is_closed(mut file: fs::File) -> Result<bool, Fault> {
    let mut flags = [0];
    file.seek(SeekFrom::Start(MAGIC.len() as u64))?;
    file.read_exact(&mut flags)?;
    let [flags] = flags;
    Ok(flags & NOT_CLOSED == 0)
}

fn open_to_write(path: &Path, cache_bytes: usize) -> Result<Database, Fault> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    check_start(&file)?;
    Ok(builder(cache_bytes).create_with_backend(WholePages::new(file)?)?)
}

/// Makes a database in a new file.
fn create_in(file: fs::File, catalog: &Catalog, cache_bytes: usize) -> Result<Database, Fault> {
    guarded(|| {
        let database = builder(cache_bytes).create_with_backend(WholePages::new(file)?)?;
        initialize(&database, catalog)?;
        Ok(database)
    })
}

fn closed() -> Fault {
    Fault::new(StoreErrorKind::Failed, "closed")
}

/// Says when what lies at a path is not a file; to open a pipe would wait for its writer.
fn check_metadata(path: &Path) -> Result<(), Fault> {
    if fs::metadata(path)?.is_file() {
        return Ok(());
    }
    Err(Fault::new(StoreErrorKind::NotADatabase, "not a file"))
}

/// Says when a file cannot be a database at all.
fn check_start(mut file: &fs::File) -> Result<(), Fault> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
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
