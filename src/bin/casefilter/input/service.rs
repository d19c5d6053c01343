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

#[cfg(feature = "arrow")]
use crate::output::failure::Failure;

#[cfg(not(all(unix, feature = "service")))]
pub(crate) use elsewhere::{Service, Upload};
#[cfg(all(unix, feature = "service"))]
pub(crate) use unix::{Service, Upload};

/// The reason why a file could not be sent.
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
