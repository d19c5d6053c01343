//! Creates, opens, reopens and closes the database file. Panics of redb are converted into errors.

mod new;
mod opened;
mod origin;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use redb::{ReadableDatabase, StorageBackend, TableError, WriteTransaction};

use super::atomic::AtomicFile;
use super::backend::{Overlay, PAGE_BYTES, SyncFailed, Watched};
use super::claim::Claim;
use super::dictionary::Dictionaries;
use super::error::{Fault, StoreErrorKind, guarded};
use super::tables::{Counted, DICTIONARIES, META, check_meta};
use crate::catalog::Catalog;

use new::{create_in, initialize};
use opened::{Handle, close_handle, closed, read_only};
use origin::{Origin, builder, check_metadata, check_start, identity_of, is_closed, open_to_write, settled};

pub(super) use opened::{Opened, Reader, Reading};
#[cfg(all(unix, feature = "service"))]
pub(super) use origin::Identity;
pub(super) use origin::is_store;

/// An open database. The callers run its methods inside [`guarded`].
pub(super) struct File {
    handle: Arc<RwLock<Handle>>,
    origin: Origin,
    /// The flag for a failed sync of the file that is currently open.
    sync_failed: RwLock<SyncFailed>,
    /// The dictionaries that were read last.
    dictionaries: Mutex<Arc<Dictionaries>>,
    /// A new file, which gets its name when it is closed.
    new: Option<AtomicFile>,
    /// The claim on the name of a new file.
    claim: Option<Claim>,
}

impl File {
    /// Creates a new database file. The file gets its name only when it is complete.
    pub(super) fn create(path: &Path, catalog: &Catalog, cache_bytes: usize) -> Result<Self, Fault> {
        let new = AtomicFile::create_new(path)?;
        let sync_failed = SyncFailed::default();
        let database = create_in(new.file().try_clone()?, catalog, cache_bytes, &sync_failed)?;
        let mut own = Self::unnamed(Opened::handle(database, 0), sync_failed);
        // The identity is read before the file gets its name. Later, another file may have that name.
        own.origin = Origin::of(path, cache_bytes, identity_of(&new.file().metadata()?));
        new.finish()?;
        Ok(own)
    }

    /// Creates a new database file that gets its name when it is closed.
    pub(super) fn prepare(path: &Path, catalog: &Catalog, cache_bytes: usize) -> Result<Self, Fault> {
        let new = AtomicFile::create_new(path)?;
        let mut own = Self::in_empty(new.file().try_clone()?, catalog, cache_bytes)?;
        own.new = Some(new);
        Ok(own)
    }

    /// Like [`prepare`](Self::prepare), but until the file has its name, no other store can claim this name.
    pub(super) fn prepare_claimed(path: &Path, catalog: &Catalog, cache_bytes: usize) -> Result<Self, Fault> {
        // The claim is taken before the name is checked, because a store that held the claim before may have given its file the
        // name.
        let claim = Claim::take(path)?;
        let mut own = Self::prepare(path, catalog, cache_bytes)?;
        own.claim = claim;
        Ok(own)
    }

    /// Creates a database in a file that will replace another file.
    pub(super) fn prepare_exchange(
        new: &AtomicFile,
        catalog: &Catalog,
        cache_bytes: usize,
    ) -> Result<Self, Fault> {
        let mut own = Self::in_empty(new.file().try_clone()?, catalog, cache_bytes)?;
        own.origin = Origin::of(new.target(), cache_bytes, identity_of(&new.file().metadata()?));
        Ok(own)
    }

    /// Returns true if `path` leads to this file. Returns `None` if this cannot be found out, or if the system has no file
    /// identities.
    pub(super) fn is_at(&self, path: &Path) -> Option<bool> {
        let Origin::File { identity, .. } = &self.origin else { return None };
        let own = (*identity.lock().unwrap_or_else(PoisonError::into_inner))?;
        match fs::metadata(path) {
            Ok(found) => Some(identity_of(&found)? == own),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(false),
            Err(_) => None,
        }
    }

    /// Creates a database in an empty file, which may be unnamed.
    #[cfg(all(feature = "service", unix))]
    pub(super) fn create_in_file(
        file: fs::File,
        catalog: &Catalog,
        cache_bytes: usize,
    ) -> Result<Self, Fault> {
        Self::in_empty(file, catalog, cache_bytes)
    }

    fn in_empty(file: fs::File, catalog: &Catalog, cache_bytes: usize) -> Result<Self, Fault> {
        let sync_failed = SyncFailed::default();
        let database = create_in(file, catalog, cache_bytes, &sync_failed)?;
        Ok(Self::unnamed(Opened::handle(database, 0), sync_failed))
    }

    fn unnamed(handle: Handle, sync_failed: SyncFailed) -> Self {
        Self {
            handle: Arc::new(RwLock::new(handle)),
            origin: Origin::Unnamed,
            sync_failed: RwLock::new(sync_failed),
            dictionaries: Mutex::default(),
            new: None,
            claim: None,
        }
    }

    /// Opens an existing file for writing.
    pub(super) fn open(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_metadata(path)?;
        guarded(|| {
            let sync_failed = SyncFailed::default();
            let (database, identity) = settled(path, || open_to_write(path, cache_bytes, &sync_failed))?;
            let mut own = Self::unnamed(Opened::handle(database, 0), sync_failed);
            own.origin = Origin::of(path, cache_bytes, identity);
            Ok(own)
        })
    }

    /// Opens an existing file for reading only. Other readers may have it open at the same time. The last writer must have closed
    /// it properly.
    pub(super) fn open_read_only(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_metadata(path)?;
        let (mut own, identity) = settled(path, || {
            let file = fs::File::open(path)?;
            check_start(&file)?;
            // redb reports a length that is not a multiple of the page size as damage. So such a file is opened as an overlay.
            if file.metadata()?.len().checked_rem(PAGE_BYTES) != Some(0) {
                return Self::of_file(file, cache_bytes);
            }
            guarded(|| {
                let database = builder(cache_bytes).open_read_only(path)?;
                Ok(Self::unnamed(Handle::ReadOnly(database), SyncFailed::default()))
            })
        })?;
        own.origin = Origin::of(path, cache_bytes, identity);
        Ok(own)
    }

    /// Opens a file for reading only. If the last writer did not close it properly, it is repaired in memory.
    pub(super) fn open_overlay(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        check_metadata(path)?;
        Ok(settled(path, || Self::of_file(fs::File::open(path)?, cache_bytes))?.0)
    }

    /// Like [`open_overlay`](Self::open_overlay), but for a file that has already been opened for reading.
    pub(super) fn of_file(file: fs::File, cache_bytes: usize) -> Result<Self, Fault> {
        check_start(&file)?;
        guarded(|| {
            let repaired = Arc::new(AtomicBool::new(false));
            let note = Arc::clone(&repaired);
            let database = builder(cache_bytes)
                .set_repair_callback(move |_| note.store(true, Ordering::Relaxed))
                .create_with_backend(Overlay::new(file)?)?;
            let repaired = repaired.load(Ordering::Relaxed);
            Ok(Self::unnamed(Handle::Overlay { database, repaired }, SyncFailed::default()))
        })
    }

    /// Opens or creates a database in a storage backend.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests and fuzzers store bytes elsewhere"))]
    pub(super) fn in_backend(backend: impl StorageBackend + Clone, catalog: &Catalog) -> Result<Self, Fault> {
        guarded(|| {
            let sync_failed = SyncFailed::default();
            let open = move |sync_failed: &SyncFailed| {
                Ok(builder(1 << 20).create_with_backend(Watched::new(backend.clone(), sync_failed))?)
            };
            let mut file = Self::unnamed(Opened::handle(open(&sync_failed)?, 0), sync_failed);
            file.origin = Origin::Backend(Box::new(open));
            if file.read()?.list_tables()?.next().is_none() {
                match &*file.handle() {
                    Handle::Open(opened) => opened.with(|database| initialize(database, catalog))?,
                    Handle::ReadOnly(_) | Handle::Overlay { .. } | Handle::Closed { .. } => {
                        return Err(closed());
                    }
                }
            }
            Ok(file)
        })
    }

    fn handle(&self) -> RwLockReadGuard<'_, Handle> {
        // Each change of the handle is a single assignment, so a panic of another thread leaves it consistent.
        self.handle.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the file is open for reading only.
    pub(super) fn is_read_only(&self) -> bool {
        matches!(&*self.handle(), Handle::ReadOnly(_) | Handle::Overlay { .. })
    }

    /// Returns the number of times that the file has been reopened or exchanged since it was opened.
    pub(super) fn generation(&self) -> u64 {
        self.handle().generation()
    }

    /// Returns the flag that is set when a sync fails. After a failed sync, the contents may not be on disk.
    pub(super) fn sync_failed(&self) -> SyncFailed {
        self.sync_failed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns true if redb refuses to write to the file, because an earlier read or write has failed. No write may be in progress.
    pub(super) fn is_stuck(&self) -> bool {
        guarded(|| self.write(true)).is_err()
    }

    /// Returns the identity of the file, if the system has file identities.
    #[cfg(all(unix, feature = "service"))]
    pub(super) fn identity(&self) -> Option<Identity> {
        match &self.origin {
            Origin::File { identity, .. } => *identity.lock().unwrap_or_else(PoisonError::into_inner),
            Origin::Unnamed | Origin::Backend(_) => None,
        }
    }

    /// Returns the current path of the file, or the path that it will have after closing. Returns `None` if the database is not in
    /// a file.
    pub(super) fn target(&self) -> Option<&Path> {
        self.new.as_ref().map(AtomicFile::target).or_else(|| self.path())
    }

    /// Returns the path of the file. Returns `None` if the file has no name yet, or if the database is not in a file.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::File { path, .. } => Some(path),
            Origin::Unnamed | Origin::Backend(_) => None,
        }
    }

    /// Closes the file and opens it again, which redb requires after a failed read or write. Returns the counters that the file
    /// contains. No write may be in progress. If the file cannot be opened, it stays closed.
    ///
    /// Read transactions that were started before can no longer be used.
    pub(super) fn reopen(&self, catalog: &Catalog) -> Result<Counted, Fault> {
        guarded(|| {
            let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
            let generation = handle.generation();
            match &*handle {
                Handle::ReadOnly(_) | Handle::Overlay { .. } => return Err(read_only()),
                // The fault that caused this reopening has already been returned.
                Handle::Open(opened) => drop(opened.close()),
                Handle::Closed { .. } => {}
            }
            *handle = Handle::Closed { generation };
            let database = self.origin.open(&self.sync_failed())?;
            let found = check_meta(&database.begin_read()?.open_table(META)?, catalog)?;
            *handle = Opened::handle(database, generation.saturating_add(1));
            Ok(found)
        })
    }

    /// Closes the file after a fault, until it is reopened.
    pub(super) fn shut(&self) {
        let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
        if let Handle::Open(opened) = &*handle {
            let _ = opened.close();
            let generation = opened.generation;
            *handle = Handle::Closed { generation };
        }
    }

    /// Takes over the database of `other`, whose file was renamed to the path of this file. Current readers continue to read the
    /// old file.
    pub(super) fn exchange(&self, other: &Self) {
        let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
        let own = handle.generation();
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

    /// Starts a read transaction on the last commit.
    pub(super) fn read(&self) -> Result<Reading, Fault> {
        self.handle().read()
    }

    /// Returns a reader of the file. After the file was reopened or exchanged, the reader reads from the new database.
    pub(super) fn reader(&self) -> Reader {
        Reader::new(&self.handle)
    }

    /// Reads the dictionaries in the state of a read transaction. Dictionaries that were read before are not prepared again.
    pub(super) fn dictionaries(&self, reading: &Reading) -> Result<Arc<Dictionaries>, Fault> {
        let table = match reading.open_table(DICTIONARIES) {
            Ok(table) => table,
            // A file of an earlier version.
            Err(TableError::TableDoesNotExist(_)) => return Ok(self.known_dictionaries()),
            Err(error) => return Err(error.into()),
        };
        let read = Arc::new(Dictionaries::read(&table, &self.known_dictionaries())?);
        let mut known = self.dictionaries.lock().unwrap_or_else(PoisonError::into_inner);
        // The file before an exchange may have had other dictionaries with the same numbers. Writes must not use them.
        if reading.generation() == self.generation() {
            *known = Arc::clone(&read);
        }
        Ok(read)
    }

    /// Returns the dictionaries that were read last. Each write reads them after its commit. All of them are in the file. The
    /// newest dictionary of the file may be missing here, if a thread with an older read transaction was the last to read them.
    pub(super) fn known_dictionaries(&self) -> Arc<Dictionaries> {
        Arc::clone(&self.dictionaries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets the dictionaries that were read last, and the documents that were decompressed.
    pub(super) fn forget_dictionaries(&self) {
        *self.dictionaries.lock().unwrap_or_else(PoisonError::into_inner) = Arc::default();
    }

    /// Starts a write transaction. There is only one at a time. If `synced` is true, the transaction is on disk when its commit
    /// returns. Otherwise, it is on disk after the next synced commit.
    pub(super) fn write(&self, synced: bool) -> Result<WriteTransaction, Fault> {
        let mut transaction = match &*self.handle() {
            Handle::Open(opened) => opened.with(|database| Ok(database.begin_write()?))?,
            Handle::ReadOnly(_) | Handle::Overlay { .. } => return Err(read_only()),
            Handle::Closed { .. } => return Err(closed()),
        };
        if !synced {
            transaction.set_durability(redb::Durability::None)?;
        }
        Ok(transaction)
    }

    /// Tests the checksum of every page, and repairs the file. redb does both. Returns false if a repair was necessary.
    pub(super) fn check_integrity(&mut self) -> Result<bool, Fault> {
        guarded(|| match &mut *self.handle.write().unwrap_or_else(PoisonError::into_inner) {
            Handle::Open(opened) => opened.with_mut(|database| Ok(database.check_integrity()?)),
            Handle::Overlay { database, repaired } => Ok(database.check_integrity()? && !*repaired),
            Handle::ReadOnly(_) => Err(read_only()),
            Handle::Closed { .. } => Err(closed()),
        })
    }

    /// Moves all pages to the front of the file, and shortens the file. Returns false if no page had to be moved. No read
    /// transaction may be open.
    pub(super) fn compact(&mut self) -> Result<bool, Fault> {
        guarded(|| match &mut *self.handle.write().unwrap_or_else(PoisonError::into_inner) {
            Handle::Open(opened) => opened.with_mut(|database| Ok(database.compact()?)),
            Handle::ReadOnly(_) | Handle::Overlay { .. } => Err(read_only()),
            Handle::Closed { .. } => Err(closed()),
        })
    }

    /// Returns true if the file gets its name when it is closed.
    pub(super) fn is_new(&self) -> bool {
        self.new.is_some()
    }

    /// Closes the file. A new file then gets its name.
    ///
    /// # Errors
    /// Returns an error if the last write of redb failed, so that the next opening has to repair the file. Returns an error if a
    /// new file cannot get its name.
    pub(super) fn close(&mut self) -> Result<(), Fault> {
        let is_written = {
            let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
            let is_written = matches!(*handle, Handle::Open(_));
            close_handle(&mut handle)?;
            is_written
        };
        let closed = match (&self.new, &self.origin) {
            (Some(new), _) => Some(new.file().try_clone()?),
            // Another file may have this path by now. Such a file is not read.
            (None, Origin::File { path, identity, .. }) if is_written => {
                let identity = *identity.lock().unwrap_or_else(PoisonError::into_inner);
                let file = fs::File::open(path).ok();
                file.filter(|file| file.metadata().is_ok_and(|found| identity_of(&found) == identity))
            }
            _ => None,
        };
        if let Some(file) = closed
            && !is_closed(file)?
        {
            let detail = "it could not be closed properly; all stored data is on disk, and the next opening for writing repairs the file";
            return Err(Fault::new(StoreErrorKind::Failed, detail));
        }
        if let Some(new) = self.new.take() {
            new.finish()?;
            self.claim = None;
        }
        Ok(())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = close_handle(&mut self.handle.write().unwrap_or_else(PoisonError::into_inner));
    }
}
