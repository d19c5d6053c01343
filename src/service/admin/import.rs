//! Imports cases or records from a body that was spooled to a file. Each import is one transaction.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;

use super::upload::{Source, Spool};
use crate::domain::{RecordImportReport, RecordKind, import_records_in};
use crate::engine::{ImportMode, ImportReport};
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;
use crate::store::StoreError;

/// The size of a read in bytes. A chunk of this size is still in the L2 cache when it is parsed.
const CHUNK_BYTES: usize = 1 << 16;

/// A flag that cancels an import or a copy.
#[derive(Clone, Default)]
pub(super) struct Cancellation(Arc<AtomicBool>);

/// A guard that cancels an import or a copy when it is dropped. This happens when the client disconnects. After the end of the
/// work, it has no effect.
pub(super) struct CancelOnDrop(Cancellation);

impl Cancellation {
    pub(super) fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// Returns true if the client has disconnected or the grace period of a shutdown has ended.
    pub(super) fn is_cancelled(&self, shared: &ServiceState) -> bool {
        self.0.load(Ordering::Relaxed) || shared.is_cut_off()
    }

    fn check(&self, shared: &ServiceState) -> Result<(), ImportFailure> {
        if self.is_cancelled(shared) {
            // The cancellation is logged here, because no client receives the response.
            tracing::info!("cancelled an import: its client disconnected or the service is shutting down");
            let description = "the import was cancelled; nothing was stored";
            return Err(ImportFailure(Failure::new(StatusCode::BAD_REQUEST, description).typed("given_up")));
        }
        Ok(())
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// The error of an import.
struct ImportFailure(Failure);

impl From<StoreError> for ImportFailure {
    fn from(error: StoreError) -> Self {
        Self(Failure::of_store(&error))
    }
}

impl From<io::Error> for ImportFailure {
    fn from(error: io::Error) -> Self {
        Self(Failure::temporary_file(format!("cannot read the spooled body of the request: {error}")))
    }
}

/// Imports cases. Returns the report, and the number of cases after the import. Other writes wait only for the commit.
pub(super) fn cases(
    shared: &ServiceState,
    spool: Spool,
    mode: ImportMode,
    cancellation: &Cancellation,
) -> Result<(ImportReport, usize), Failure> {
    let import = || -> Result<(ImportReport, usize), ImportFailure> {
        let file = Arc::new(spool.file);
        let mut import = shared.store.import(mode)?;
        for source in spool.sources {
            if source.is_parquet {
                parquet(&mut import, &file, source)?;
                cancellation.check(shared)?;
                continue;
            }
            import.begin_source(&source.name)?;
            each_chunk(&file, &source, |chunk| {
                cancellation.check(shared)?;
                Ok(import.push(chunk)?)
            })?;
        }
        // The import has read the whole body now. Closing the file frees its space before the database grows.
        drop(file);
        let _turn = shared.wait_for_write_lock();
        cancellation.check(shared)?;
        let commit = |shared: &ServiceState| {
            let report = import.commit().map_err(|error| Failure::of_store(&error))?;
            Ok((report, shared.store.len()))
        };
        shared.track_write(commit).map_err(ImportFailure)
    };
    import().map_err(|failed| failed.0)
}

/// Imports the records of a body. All of them have the same kind.
pub(super) fn records(
    shared: &ServiceState,
    spool: &Spool,
    kind: RecordKind,
    mode: ImportMode,
    cancellation: &Cancellation,
) -> Result<RecordImportReport, Failure> {
    let imported = import_records_in(&shared.store, kind, mode, |import| {
        for source in &spool.sources {
            if source.is_parquet {
                let description = "records must be NDJSON or a JSON array";
                return Err(ImportFailure(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, description)));
            }
            import.source(&source.name)?;
            each_chunk(&spool.file, source, |chunk| {
                cancellation.check(shared)?;
                Ok(import.push(chunk)?)
            })?;
        }
        Ok(())
    });
    imported.map_err(|failed| failed.0)
}

/// Passes each chunk of a source to `take`.
fn each_chunk(
    file: &File,
    source: &Source,
    mut take: impl FnMut(&[u8]) -> Result<(), ImportFailure>,
) -> Result<(), ImportFailure> {
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
fn parquet(
    _: &mut crate::store::StoreImport<'_>,
    _: &Arc<File>,
    source: Source,
) -> Result<(), ImportFailure> {
    let description = format!("{}: this service was built without Parquet", source.name);
    Err(ImportFailure(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, description)))
}

#[cfg(feature = "arrow")]
fn parquet(
    import: &mut crate::store::StoreImport<'_>,
    file: &Arc<File>,
    source: Source,
) -> Result<(), ImportFailure> {
    let region = region::Region { file: Arc::clone(file), start: source.start, len: source.len };
    let read = import.import_mut().parquet(&source.name, region);
    // An error of the store, such as a full disk, explains more than the parse error that it causes.
    import.check()?;
    read.map_err(|refusal| ImportFailure(Failure::of_refusal(&refusal)))
}

#[cfg(feature = "arrow")]
mod region {
    //! Random access to a range of a file, for the Parquet reader.

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

    /// A reader that reads from an offset to the end of the range.
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
                return Err(ParquetError::EOF(format!("cannot read {length} bytes at {start}")));
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
