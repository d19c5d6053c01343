//! Imports from a body that was put aside: all of it, or nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;

use super::upload::{Source, Spool};
use crate::domain::{Imported, RecordKind, import_records_in};
use crate::engine::{Mode, Report};
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;
use crate::store::StoreError;

/// How much is read at once: what is still in the second cache when its cases are read.
const CHUNK_BYTES: usize = 1 << 16;

/// Whether nobody waits for an import, or a copy, any more.
#[derive(Clone, Default)]
pub(super) struct GivenUp(Arc<AtomicBool>);

/// Gives an import, or a copy, up when it is dropped.
pub(super) struct Waiting(GivenUp);

impl GivenUp {
    pub(super) fn unless_awaited(&self) -> Waiting {
        Waiting(self.clone())
    }

    /// Whether the client left, or the service ends.
    pub(super) fn is_given_up(&self, shared: &ServiceState) -> bool {
        self.0.load(Ordering::Relaxed) || shared.is_cut_off()
    }

    fn check(&self, shared: &ServiceState) -> Result<(), Stop> {
        if self.is_given_up(shared) {
            // Nobody is left to be told.
            tracing::info!("an import was given up, because its client left or the service ends");
            let description = "the import was given up; nothing was stored";
            return Err(Stop(Failure::new(StatusCode::BAD_REQUEST, description).typed("given_up")));
        }
        Ok(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Why an import ended.
struct Stop(Failure);

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self(Failure::of_store(&error))
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self(Failure::internal(format!("the body that was put aside cannot be read: {error}")))
    }
}

/// Imports cases, and returns how many there are now too. Updates wait for the commit alone.
pub(super) fn cases(
    shared: &ServiceState,
    spool: Spool,
    mode: Mode,
    given_up: &GivenUp,
) -> Result<(Report, usize), Failure> {
    let import = || -> Result<(Report, usize), Stop> {
        let file = Arc::new(spool.file);
        let mut import = shared.store.import(mode)?;
        for source in spool.sources {
            if source.is_parquet {
                parquet(&mut import, &file, source)?;
                given_up.check(shared)?;
                continue;
            }
            import.source(&source.name)?;
            each_chunk(&file, &source, |chunk| {
                given_up.check(shared)?;
                Ok(import.push(chunk)?)
            })?;
        }
        let _turn = shared.wait_for_turn();
        given_up.check(shared)?;
        let commit = |shared: &ServiceState| {
            let report = import.commit().map_err(|error| Failure::of_store(&error))?;
            Ok((report, shared.store.len()))
        };
        shared.watched(commit).map_err(Stop)
    };
    import().map_err(|stop| stop.0)
}

/// Imports records of a kind.
pub(super) fn records(
    shared: &ServiceState,
    spool: &Spool,
    kind: RecordKind,
    mode: Mode,
    given_up: &GivenUp,
) -> Result<Imported, Failure> {
    let imported = import_records_in(&shared.store, kind, mode, |import| {
        for source in &spool.sources {
            if source.is_parquet {
                let description = "records come as NDJSON or a JSON array";
                return Err(Stop(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, description)));
            }
            import.source(&source.name)?;
            each_chunk(&spool.file, source, |chunk| {
                given_up.check(shared)?;
                Ok(import.push(chunk)?)
            })?;
        }
        Ok(())
    });
    imported.map_err(|stop| stop.0)
}

/// Hands over the bytes of a source, a piece after the other.
fn each_chunk(
    file: &File,
    source: &Source,
    mut take: impl FnMut(&[u8]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut done = 0_u64;
    while done < source.len {
        let length = usize::try_from(source.len.saturating_sub(done)).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        let chunk = chunk.get_mut(..length).unwrap_or_default();
        file.read_exact_at(chunk, source.start.saturating_add(done))?;
        take(chunk)?;
        done = done.saturating_add(length as u64);
    }
    Ok(())
}

#[cfg(not(feature = "arrow"))]
fn parquet(_: &mut crate::store::StoreImport<'_>, _: &Arc<File>, source: Source) -> Result<(), Stop> {
    let description = format!("{}: this service was built without Parquet", source.name);
    Err(Stop(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, description)))
}

#[cfg(feature = "arrow")]
fn parquet(import: &mut crate::store::StoreImport<'_>, file: &Arc<File>, source: Source) -> Result<(), Stop> {
    let region = region::Region { file: Arc::clone(file), start: source.start, len: source.len };
    let read = import.cases().parquet(&source.name, region);
    // That the disk is full says more than what came of it.
    import.check()?;
    read.map_err(|refusal| Stop(Failure::of_refusal(&refusal)))
}

#[cfg(feature = "arrow")]
mod region {
    //! A part of a file, read here and there.

    use std::fs::File;
    use std::io::{self, BufReader, Read};
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    use bytes::Bytes;
    use parquet::errors::{ParquetError, Result};
    use parquet::file::reader::{ChunkReader, Length};

    pub(super) struct Region {
        pub(super) file: Arc<File>,
        pub(super) start: u64,
        pub(super) len: u64,
    }

    /// Reads on from a place.
    pub(super) struct Reader {
        file: Arc<File>,
        at: u64,
        end: u64,
    }

    impl Length for Region {
        fn len(&self) -> u64 {
            self.len
        }
    }

    impl ChunkReader for Region {
        type T = BufReader<Reader>;

        fn get_read(&self, start: u64) -> Result<Self::T> {
            let at = self.start.saturating_add(start.min(self.len));
            let end = self.start.saturating_add(self.len);
            Ok(BufReader::new(Reader { file: Arc::clone(&self.file), at, end }))
        }

        fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
            let is_within = start.checked_add(length as u64).is_some_and(|end| end <= self.len);
            if !is_within {
                return Err(ParquetError::EOF(format!("found no {length} bytes at {start}")));
            }
            let mut bytes = vec![0; length];
            self.file.read_exact_at(&mut bytes, self.start.saturating_add(start))?;
            Ok(bytes.into())
        }
    }

    impl Read for Reader {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
            let length = left.min(buffer.len());
            let read = self.file.read_at(buffer.get_mut(..length).unwrap_or_default(), self.at)?;
            self.at = self.at.saturating_add(read as u64);
            Ok(read)
        }
    }
}
