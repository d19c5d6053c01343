//! The database file: made, opened, and closed without a panic.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use redb::{Builder, Database, ReadTransaction, ReadableDatabase, StorageBackend, WriteTransaction};

use super::error::{Fault, StoreErrorKind, guarded};
use super::tables::{
    BATCHES, CATALOGUE, DOCUMENTS, FIRST_FORMAT_VERSION, FORMAT, LIVE, META, RELEASED, STATE, State, describe,
};
use crate::catalog::Catalog;

/// What every redb file starts with.
const MAGIC: [u8; 9] = [b'r', b'e', b'd', b'b', 0x1A, 0x0A, 0xA9, 0x0D, 0x0A];

/// An open database. Whatever calls it is [`guarded`].
#[derive(Debug)]
pub(super) struct File {
    /// Taken when it is closed.
    database: Option<Database>,
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
            Ok(Self { database: Some(database) })
        });
        // Only the second name; nothing depends on its going.
        let _ = fs::remove_file(&fresh);
        result
    }

    /// Opens a file that is there.
    pub(super) fn open(path: &Path, cache_bytes: usize) -> Result<Self, Fault> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(Fault::new(StoreErrorKind::NotADatabase, "not a file"));
        }
        let mut start = Vec::new();
        fs::File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
        if start != MAGIC {
            return Err(Fault::new(StoreErrorKind::NotADatabase, "not a database of cases"));
        }
        guarded(|| Ok(Self { database: Some(builder(cache_bytes).open(path)?) }))
    }

    /// Opens, or makes, a database in whatever stores bytes.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests and fuzzers store bytes elsewhere"))]
    pub(super) fn in_backend(backend: impl StorageBackend, catalog: &Catalog) -> Result<Self, Fault> {
        guarded(|| {
            let database = builder(1 << 20).create_with_backend(backend)?;
            let file = Self { database: Some(database) };
            if file.read()?.list_tables()?.next().is_none() {
                initialize(file.database()?, catalog)?;
            }
            Ok(file)
        })
    }

    fn database(&self) -> Result<&Database, Fault> {
        self.database.as_ref().ok_or_else(|| Fault::new(StoreErrorKind::Failed, "closed"))
    }

    /// Begins a transaction that reads what was committed last.
    pub(super) fn read(&self) -> Result<ReadTransaction, Fault> {
        Ok(self.database()?.begin_read()?)
    }

    /// Begins the one transaction that writes; on disk when its commit returns if it is `synced`,
    /// otherwise with the next that is.
    pub(super) fn write(&self, synced: bool) -> Result<WriteTransaction, Fault> {
        let mut transaction = self.database()?.begin_write()?;
        if !synced {
            transaction.set_durability(redb::Durability::None)?;
        }
        Ok(transaction)
    }

    /// Lets redb compare every page with its checksum, and repair what it can; false when it had to.
    pub(super) fn check_integrity(&mut self) -> Result<bool, Fault> {
        guarded(|| match &mut self.database {
            Some(database) => Ok(database.check_integrity()?),
            None => Err(Fault::new(StoreErrorKind::Failed, "closed")),
        })
    }

    /// Moves what is stored to the front and shortens the file; nobody may be reading.
    pub(super) fn compact(&mut self) -> Result<bool, Fault> {
        guarded(|| match &mut self.database {
            Some(database) => Ok(database.compact()?),
            None => Err(Fault::new(StoreErrorKind::Failed, "closed")),
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let database = self.database.take();
        // Closing writes, and may meet damage.
        let _ = guarded(|| {
            drop(database);
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
