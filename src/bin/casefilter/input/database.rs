//! The argument that names a database, and functions that open and close databases.

use std::fs::File;
use std::path::{Path, PathBuf};

use casefilter::{Catalog, Store, StoreError, StoreErrorKind, StoreOptions};

use crate::input::syntax::unpaged;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::failure::{Failure, failed};
use crate::output::progress::Working;

/// The argument of a command that uses a database and no other file.
#[derive(clap::Args)]
pub(crate) struct Database {
    /// The database; `--db FILE` is the same
    #[arg(value_name = "DATABASE", required_unless_present = "db")]
    database: Option<PathBuf>,

    /// The database
    #[arg(long, value_name = "FILE", conflicts_with = "database")]
    db: Option<PathBuf>,
}

impl Database {
    /// Returns the path of the database.
    ///
    /// # Errors
    /// Returns an error if the file name has the ending of another format.
    pub(crate) fn path(&self) -> Result<&Path, Failure> {
        // Clap requires one of the two arguments.
        let path = self.database.as_deref().or(self.db.as_deref()).unwrap_or(Path::new(""));
        check_database(path, AS_IMPORTED).map(|()| path)
    }
}

/// Closes a database after writing to it.
pub(crate) fn close_written(store: Store) -> Result<(), Failure> {
    let _closing = Working::on("writing the database");
    store.close().map_err(|error| failed(&error))
}

/// Opens a database for reading only, so that other processes can read it at the same time. If a crash left the database open,
/// repairs it first.
pub(crate) fn open_to_read(path: &Path, catalog: &Catalog) -> Result<Store, StoreError> {
    let options = StoreOptions::default().limits(unpaged());
    Store::open_read_only(path, catalog.clone(), options.clone()).or_else(|error| match error.kind() {
        // Repair the database, and open it again for reading only.
        StoreErrorKind::Failed => {
            match Store::open(path, catalog.clone(), options.clone()).and_then(Store::close) {
                Ok(()) => Store::open_read_only(path, catalog.clone(), options),
                // If there is no permission to write, the repair is done only in memory.
                Err(other) if other.kind() == StoreErrorKind::Io => match File::open(path) {
                    Ok(file) => Store::open_file(file, &path.display().to_string(), catalog.clone(), options),
                    Err(_) => Err(error),
                },
                Err(other) => Err(other),
            }
        }
        _ => Err(error),
    })
}
