//! The service that has a database open, and what it does for other commands.

use std::io::Read;
use std::path::{Path, PathBuf};

use casefilter::{StoreError, StoreErrorKind};

use crate::escape::escape;
use crate::failure::Failure;
use crate::held::failed;

#[cfg(unix)]
#[path = "admin/unix.rs"]
mod connection;
#[cfg(not(unix))]
#[path = "admin/elsewhere.rs"]
mod connection;

pub(crate) use connection::{Service, Upload};

/// Where the service is asked that has a database open.
#[derive(clap::Args)]
pub(crate) struct Admin {
    /// Socket of the service that has the database open, if any [default: FILE.sock]
    #[arg(long = "admin-socket", value_name = "PATH", env = "CASEFILTER_ADMIN_SOCKET")]
    pub(crate) socket: Option<PathBuf>,
}

impl Admin {
    /// The service that has a database, if that is why it cannot be opened.
    pub(crate) fn service(&self, database: &Path, error: &StoreError) -> Result<Service, Failure> {
        if error.kind() != StoreErrorKind::InUse {
            return Err(failed(error));
        }
        Service::connect(database, self.socket.as_deref())
            .map_err(|why| Failure::Failed(format!("{}: {}", escape(&error.to_string()), escape(&why))))
    }
}

/// Why a file could not be sent.
pub(crate) enum SendFailure {
    Read(std::io::Error),
    Told(Failure),
}

impl Upload {
    /// Sends all that a reader has, as a Parquet file.
    pub(crate) fn parquet(&mut self, name: &str, mut file: impl Read) -> Result<(), SendFailure> {
        const PIECE_BYTES: usize = 1 << 20;
        self.begin(name, true).map_err(SendFailure::Told)?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    self.push(piece.get(..length).unwrap_or_default()).map_err(SendFailure::Told)?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(SendFailure::Read(error)),
            }
        }
    }
}
