//! Connects to the service that has a database open, through its admin socket.

#[cfg(all(unix, feature = "service"))]
mod answers;
#[cfg(not(all(unix, feature = "service")))]
mod elsewhere;
#[cfg(all(unix, feature = "service"))]
mod pieces;
#[cfg(all(unix, feature = "service"))]
mod unix;

#[cfg(feature = "arrow")]
use std::io::Read;

use casefilter::Catalog;
use casefilter::internal::check_same_columns;

use crate::output::escape::escape;
use crate::output::failure::{Failure, KEPT};

#[cfg(not(all(unix, feature = "service")))]
pub(crate) use elsewhere::{Service, Upload};
#[cfg(all(unix, feature = "service"))]
pub(crate) use unix::{Service, Upload};

/// The reason why a file could not be sent: reading the file failed (`Read`), or the service returned an error (`Told`).
#[cfg(feature = "arrow")]
pub(crate) enum SendFailure {
    Read(std::io::Error),
    Told(Failure),
}

#[cfg(feature = "arrow")]
impl Upload {
    /// Sends the complete contents of a reader as a Parquet file.
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

/// The catalogue in a service's description of itself.
#[derive(serde::Deserialize)]
struct Catalogued {
    /// `None` for a service of an earlier version, whose database has the catalogue of cases.
    catalog: Option<Catalog>,
}

impl Service {
    /// Returns the catalogue of the database.
    pub(crate) fn catalog(&mut self) -> Result<Catalog, Failure> {
        let Catalogued { catalog } = self.get("/")?;
        Ok(catalog.unwrap_or_else(Catalog::cases))
    }

    /// Checks that the database was made with this catalogue, except for known values and aliases.
    pub(crate) fn check_catalog(&mut self, catalog: &Catalog) -> Result<(), Failure> {
        let stored = self.catalog()?;
        check_same_columns(catalog, &stored).map_err(|difference| {
            let message =
                format!("the database of the service was made for another catalogue: {difference}{KEPT}");
            Failure::Failed(escape(&message).into_owned())
        })
    }
}
