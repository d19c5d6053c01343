//! The database file: made, opened, and closed without a panic.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use redb::backends::FileBackend;
use redb::{
    Builder, Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, StorageBackend, WriteTransaction,
};

use super::backend::{SyncFailed, Watched};
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
    /// Of the file that is open now.
    sync_failed: RwLock<SyncFailed>,
}

enum Handle {
    Open(Arc<Opened>),
    /// Others may read the file too, and nobody writes it.
    ReadOnly(ReadOnlyDatabase),
    Closed {
        /// That of the database which was open.
        generation: u64,
    },
}

/// A database that stays open for its readers when another one takes its place, and until it is closed.
pub(super) struct Opened {
    database: RwLock<Option<Database>>,
    /// How many were open before it.
    generation: u64,
}

/// A transaction that reads, and the database that it reads from.
///
/// The transaction is dropped first.
pub(super) struct Reading {
    transaction: ReadTransaction,
    opened: Option<Arc<Opened>>,
}

impl Reading {
    /// How often the file had been opened again, or exchanged, before.
    pub(super) fn generation(&self) -> u64 {
        self.opened.as_ref().map_or(0, |opened| opened.generation)
    }

    /// Keeps the database open for tables of the transaction.
    pub(super) fn keep(&self) -> Option<Arc<Opened>> {
        self.opened.clone()
    }
}

impl Deref for Reading {
    type Target = ReadTransaction;

    fn deref(&self) -> &ReadTransaction {
        &self.transaction
    }
}

impl Opened {
    fn handle(database: Database, generation: u64) -> Handle {
        Handle::Open(Arc::new(Self { database: RwLock::new(Some(database)), generation }))
    }

    /// Calls redb, unless it is closed.
    fn with<T>(&self, call: impl FnOnce(&Database) -> Result<T, Fault>) -> Result<T, Fault> {
        match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => call(database),
            None => Err(closed()),
        }
    }

    /// Calls redb while nobody else does.
    fn with_mut<T>(&self, call: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, Fault> {
        match &mut *self.database.write().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => call(database),
            None => Err(closed()),
        }
    }

    /// Closes it. Its readers find that it is closed.
    fn close(&self) {
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        // Closing writes, and may meet damage.
        let _ = guarded(|| {
            drop(database);
            Ok(())
        });
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.close();
    }
}

/// Where a database comes from, to be opened once more.
enum Origin {
    File { path: PathBuf, cache_bytes: usize, identity: Mutex<Option<Identity>> },
    Backend(Box<dyn Fn() -> Result<Database, Fault> + Send + Sync>),
}

/// The numbers of a device and of a file on it.
pub(super) type Identity = (u64, u64);

impl Origin {
    /// Opens it once more, unless another file lies there now.
    fn open(&self, sync_failed: &SyncFailed) -> Result<Database, Fault> {
        match self {
            Self::File { path, cache_bytes, identity } => {
                let identity = *identity.lock().unwrap_or_else(PoisonError::into_inner);
                let is_same = || Ok::<_, Fault>(identity_of(&fs::metadata(path)?) == identity);
                let database = match is_same()? {
                    true => Some(open_to_write(path, *cache_bytes, sync_failed)?),
                    false => None,
                };
                // It may have been exchanged in between.
                database
                    .filter(|_| is_same().unwrap_or(false))
                    .ok_or_else(|| Fault::new(StoreErrorKind::Failed, "another file lies there now"))
            }
            Self::Backend(open) => open(),
        }
    }
}

fn open_to_write(path: &Path, cache_bytes: usize, sync_failed: &SyncFailed) -> Result<Database, Fault> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    Ok(builder(cache_bytes).create_with_backend(Watched::new(FileBackend::new(file)?, sync_failed))?)
}

/// Opens the file that lies at a path, also when another one takes its place meanwhile, as when a service compacts it.
fn settled<T>(path: &Path, open: impl Fn() -> Result<T, Fault>) -> Result<T, Fault> {
    /// A file is not exchanged again and again.
    const TRIES: usize = 8;
    let identity = || fs::metadata(path).map(|metadata| identity_of(&metadata));
    for _ in 0..TRIES {
        let before = identity()?;
        let opened = open()?;
        // Its lock is held by now, and only its holder exchanges it.
        if identity().is_ok_and(|after| after == before) {
            return Ok(opened);
        }
    }
    Err(Fault::new(StoreErrorKind::InUse, "other files take its place again and again"))
}

/// What tells a file from others that lie at the same path later, where the system has such.
#[cfg(unix)]
fn identity_of(metadata: &fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// What tells a file from others that lie at the same path later, where the system has such.
#[cfg(not(unix))]
fn identity_of(_: &fs::Metadata) -> Option<Identity> {
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
            let sync_failed = SyncFailed::default();
            let backend = Watched::new(FileBackend::new(file)?, &sync_failed);
            let database = builder(cache_bytes).create_with_backend(backend)?;
            initialize(&database, catalog)?;
            // Unlike a rename, a link does not take the place of a file made meanwhile.
            fs::hard_link(&fresh, path)?;
            sync_directory(path)?;
            Ok(Self::new(Opened::handle(database, 0), path, cache_bytes, sync_failed))
        });
        // Only the second name; nothing depends on its going.
        let _ = fs::remove_file(&fresh);
        result
    }

    fn new(handle: Handle, path: &Path, cache_bytes: usize, sync_failed: SyncFailed) -> Self {
        let identity = Mutex::new(fs::metadata(path).ok().as_ref().and_then(identity_of));
        let origin = Origin::File { path: path.to_owned(), cache_bytes, identity };
        Self { handle: RwLock::new(handle), origin, sync_failed: RwLock::new(sync_failed) }
    }

    /// Opens a file that is there.
    pub(super) fn open(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_file(path)?;
        guarded(|| {
            let sync_failed = SyncFailed::default();
            let database = settled(path, || open_to_write(path, cache_bytes, &sync_failed))?;
            Ok(Self::new(Opened::handle(database, 0), path, cache_bytes, sync_failed))
        })
    }

    /// Opens a file that is there for reading alone, beside others who do; it must have been closed in order.
    pub(super) fn open_read_only(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_file(path)?;
        guarded(|| {
            let database = settled(path, || Ok(builder(cache_bytes).open_read_only(path)?))?;
            Ok(Self::new(Handle::ReadOnly(database), path, cache_bytes, SyncFailed::default()))
        })
    }

    /// Opens, or makes, a database in whatever stores bytes.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests and fuzzers store bytes elsewhere"))]
    pub(super) fn in_backend(backend: impl StorageBackend + Clone, catalog: &Catalog) -> Result<Self, Fault> {
        guarded(|| {
            let sync_failed = SyncFailed::default();
            let own = sync_failed.clone();
            let open = move || Ok(builder(1 << 20).create_with_backend(Watched::new(backend.clone(), &own))?);
            let file = Self {
                handle: RwLock::new(Opened::handle(open()?, 0)),
                origin: Origin::Backend(Box::new(open)),
                sync_failed: RwLock::new(sync_failed),
            };
            if file.read()?.list_tables()?.next().is_none() {
                match &*file.handle() {
                    Handle::Open(opened) => opened.with(|database| initialize(database, catalog))?,
                    Handle::ReadOnly(_) | Handle::Closed { .. } => return Err(closed()),
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

    /// How often it has been opened again, or exchanged.
    pub(super) fn generation(&self) -> u64 {
        match &*self.handle() {
            Handle::Open(opened) => opened.generation,
            Handle::ReadOnly(_) => 0,
            Handle::Closed { generation } => *generation,
        }
    }

    /// Whether a sync of it failed, so that what it holds may not be on disk.
    pub(super) fn sync_failed(&self) -> SyncFailed {
        self.sync_failed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Which file it is, if it is one, and the system has numbers for them.
    #[cfg(all(unix, feature = "service"))]
    pub(super) fn identity(&self) -> Option<Identity> {
        match &self.origin {
            Origin::File { identity, .. } => *identity.lock().unwrap_or_else(PoisonError::into_inner),
            Origin::Backend(_) => None,
        }
    }

    /// The path of the file, if it is one.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::File { path, .. } => Some(path),
            Origin::Backend(_) => None,
        }
    }

    /// Closes it and opens it again, which redb asks for once reading or writing has failed, and gives the state found in it; no
    /// write may be under way. It stays closed if it cannot be opened.
    ///
    /// What was read from it before cannot be read any more.
    pub(super) fn reopen(&self, catalog: &Catalog) -> Result<State, Fault> {
        guarded(|| {
            let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
            let generation = match &*handle {
                Handle::ReadOnly(_) => return Err(read_only()),
                Handle::Open(opened) => {
                    opened.close();
                    opened.generation
                }
                Handle::Closed { generation } => *generation,
            };
            *handle = Handle::Closed { generation };
            let database = self.origin.open(&self.sync_failed())?;
            let found = check_meta(&database.begin_read()?.open_table(META)?, catalog)?.state;
            *handle = Opened::handle(database, generation.saturating_add(1));
            Ok(found)
        })
    }

    /// Closes it for good, unless it is opened again.
    pub(super) fn close(&self) {
        let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
        if let Handle::Open(opened) = &*handle {
            opened.close();
            let generation = opened.generation;
            *handle = Handle::Closed { generation };
        }
    }

    /// Takes the database of another file, which was moved to the place of this one. Those who read from the one before go on.
    pub(super) fn exchange(&self, other: &Self) {
        let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
        let own = match &*handle {
            Handle::Open(opened) => opened.generation,
            Handle::ReadOnly(_) => 0,
            Handle::Closed { generation } => *generation,
        };
        let mut others = other.handle.write().unwrap_or_else(PoisonError::into_inner);
        if let Handle::Open(opened) = &*others
            && let Some(database) = opened.database.write().unwrap_or_else(PoisonError::into_inner).take()
        {
            *handle = Opened::handle(database, own.saturating_add(1));
            *self.sync_failed.write().unwrap_or_else(PoisonError::into_inner) = other.sync_failed();
        }
        *others = Handle::Closed { generation: 0 };
        if let (Origin::File { identity, .. }, Origin::File { identity: new, .. }) =
            (&self.origin, &other.origin)
        {
            let new = *new.lock().unwrap_or_else(PoisonError::into_inner);
            *identity.lock().unwrap_or_else(PoisonError::into_inner) = new;
        }
    }

    /// Begins a transaction that reads what was committed last.
    pub(super) fn read(&self) -> Result<Reading, Fault> {
        match &*self.handle() {
            Handle::Open(opened) => {
                let transaction = opened.with(|database| Ok(database.begin_read()?))?;
                Ok(Reading { transaction, opened: Some(Arc::clone(opened)) })
            }
            Handle::ReadOnly(database) => Ok(Reading { transaction: database.begin_read()?, opened: None }),
            Handle::Closed { .. } => Err(closed()),
        }
    }

    /// Begins the one transaction that writes; on disk when its commit returns if it is `synced`,
    /// otherwise with the next that is.
    pub(super) fn write(&self, synced: bool) -> Result<WriteTransaction, Fault> {
        let mut transaction = match &*self.handle() {
            Handle::Open(opened) => opened.with(|database| Ok(database.begin_write()?))?,
            Handle::ReadOnly(_) => return Err(read_only()),
            Handle::Closed { .. } => return Err(closed()),
        };
        if !synced {
            transaction.set_durability(redb::Durability::None)?;
        }
        Ok(transaction)
    }

    /// Lets redb compare every page with its checksum, and repair what it can; false when it had to.
    pub(super) fn check_integrity(&mut self) -> Result<bool, Fault> {
        self.alone(|database| Ok(database.check_integrity()?))
    }

    /// Moves what is stored to the front and shortens the file; nobody may be reading.
    pub(super) fn compact(&mut self) -> Result<bool, Fault> {
        self.alone(|database| Ok(database.compact()?))
    }

    fn alone<T>(&self, call: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, Fault> {
        guarded(|| match &*self.handle() {
            Handle::Open(opened) => opened.with_mut(call),
            Handle::ReadOnly(_) => Err(read_only()),
            Handle::Closed { .. } => Err(closed()),
        })
    }
}

fn read_only() -> Fault {
    Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone")
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
        let handle = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Handle::Open(opened) = handle {
            opened.close();
        }
        let _ = guarded(|| {
            *handle = Handle::Closed { generation: 0 };
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
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Directories cannot be opened everywhere; where they cannot, there is nothing to sync either.
    match fs::File::open(parent) {
        Ok(directory) if cfg!(unix) => directory.sync_all(),
        _ => Ok(()),
    }
}
