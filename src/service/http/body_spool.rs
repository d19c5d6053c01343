//! Temporary files for large request bodies whose signature is not verified yet.
//!
//! The files are unnamed, and can be read by their owner only. The system frees the space of a file when the file is closed or the
//! process ends. The files are written and read on blocking threads: a slow disk does not delay other requests.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use xxhash_rust::xxh3::Xxh3Default;

use super::budget::{Account, Budget, Reservation};
use super::errors::Failure;
use crate::store::unnamed_in;

/// The maximum number of blocking threads that read and write temporary files at a time.
const MAX_THREADS: usize = 16;

/// The place of the temporary files, and their limits.
pub(in crate::service) struct BodySpool {
    /// The folders to try, in this order.
    folders: Vec<PathBuf>,
    budget: Arc<Budget>,
    threads: Arc<Semaphore>,
    /// True if the last access to a temporary file failed.
    is_failing: AtomicBool,
}

/// The spooled part of one body: its reservation, and its file once there is one.
pub(in crate::service) struct SpooledBody {
    spool: Arc<BodySpool>,
    /// Always present, except while the value is dropped.
    contents: Option<Contents>,
}

/// A temporary file and its reservation, which is released after the file is closed.
struct Contents {
    file: Option<Box<SpoolFile>>,
    reservation: Reservation,
}

/// A temporary file.
struct SpoolFile {
    file: File,
    len: usize,
    /// The hash of the written bytes. A disk may return other bytes than were written. The signature does not detect this.
    hash: Xxh3Default,
}

impl BodySpool {
    /// Creates a spool of at most `capacity` bytes in the folder `chosen`. Without it, uses the folder of the database, and if that
    /// fails, the temporary folder of the system.
    pub(in crate::service) fn new(
        chosen: Option<PathBuf>,
        database: Option<PathBuf>,
        capacity: usize,
    ) -> Arc<Self> {
        let folders = match chosen {
            Some(chosen) => vec![chosen],
            None => database.into_iter().chain([env::temp_dir()]).collect(),
        };
        Arc::new(Self {
            folders,
            budget: Budget::new(capacity),
            threads: Arc::new(Semaphore::new(MAX_THREADS)),
            is_failing: AtomicBool::new(false),
        })
    }

    /// Returns the number of reserved bytes.
    pub(in crate::service) fn reserved_bytes(&self) -> usize {
        self.budget.reserved_bytes()
    }

    /// Begins the spooled part of a body. It has no file yet.
    pub(in crate::service) fn begin(self: &Arc<Self>, account: Account) -> SpooledBody {
        let reservation = self.budget.reserve(account);
        SpooledBody { spool: Arc::clone(self), contents: Some(Contents { file: None, reservation }) }
    }

    /// Checks that a temporary file can be created.
    pub(in crate::service) fn check(&self) -> Result<(), String> {
        self.create().map(drop).map_err(|error| self.cause("write", &error))
    }

    fn create(&self) -> io::Result<File> {
        let mut result = Err(io::ErrorKind::NotFound.into());
        for folder in &self.folders {
            result = unnamed_in(folder);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    fn cause(&self, verb: &str, error: &io::Error) -> String {
        let folders: Vec<_> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        format!("cannot {verb} a temporary file for a request body in {}: {error}", folders.join(" or "))
    }

    /// Records whether a write or read succeeded, and converts its error.
    fn record<T>(&self, verb: &str, result: io::Result<T>) -> Result<T, Failure> {
        self.is_failing.store(result.is_err(), Ordering::Relaxed);
        result.map_err(|error| Failure::unspooled(self.cause(verb, &error)))
    }
}

impl SpooledBody {
    /// Returns the number of written bytes.
    pub(super) fn len(&self) -> usize {
        let file = self.contents.as_ref().and_then(|contents| contents.file.as_ref());
        file.map_or(0, |file| file.len)
    }

    /// Checks if a body of `bytes` bytes could be written now. Returns the error that [`write`](Self::write) would return, but
    /// writes nothing. The service calls this for a request that it will reject later. Such a request must get the same errors as
    /// other requests.
    ///
    /// # Errors
    /// Returns 503 if the share of the account is used up, or if files cannot be written.
    pub(super) fn could_write(&self, bytes: usize) -> Result<(), Failure> {
        let has_room = self.contents.as_ref().is_some_and(|own| own.reservation.could_reserve(bytes));
        if !has_room {
            return Err(Failure::overloaded());
        }
        match self.spool.is_failing.load(Ordering::Relaxed) {
            true => Err(Failure::unspooled("an earlier temporary file could not be written".to_owned())),
            false => Ok(()),
        }
    }

    /// Appends bytes to the file on a blocking thread.
    ///
    /// # Errors
    /// Returns 503 if the share of the account is used up, or if the file cannot be written.
    pub(super) async fn write(mut self, parts: [Bytes; 2]) -> Result<Self, Failure> {
        let bytes = parts.iter().map(Bytes::len).fold(0, usize::saturating_add);
        let has_room = self.contents.as_mut().is_some_and(|own| own.reservation.grow(bytes));
        if !has_room {
            return Err(Failure::overloaded());
        }
        self.on_thread(move |mut own| {
            let spool = Arc::clone(&own.spool);
            let result = own.contents.as_mut().map_or(Ok(()), |contents| contents.write(&spool, &parts));
            spool.record("write", result).map(|()| own)
        })
        .await
    }

    /// Reads the file and appends `rest`.
    ///
    /// # Errors
    /// Returns 503 if the file cannot be read or was changed.
    pub(super) async fn read(self, rest: Bytes) -> Result<Vec<u8>, Failure> {
        self.on_thread(move |mut own| {
            let result = own.contents.as_mut().map_or(Ok(Vec::new()), |contents| contents.read(&rest));
            own.spool.record("read", result)
        })
        .await
    }

    /// Runs `work` on a blocking thread. The file is closed after `work`, even if the request is aborted.
    async fn on_thread<T: Send + 'static>(
        self,
        work: impl FnOnce(Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = Arc::clone(&self.spool.threads).acquire_owned().await;
        let run = move || {
            let _permit = permit;
            work(self)
        };
        let done = tokio::task::spawn_blocking(run).await;
        done.unwrap_or_else(|error| Err(Failure::internal(error.to_string())))
    }
}

impl Contents {
    fn write(&mut self, spool: &BodySpool, parts: &[Bytes]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Box::new(SpoolFile::over(spool.create()?))),
        };
        parts.iter().try_for_each(|part| file.write(part))
    }

    fn read(&mut self, rest: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let len = self.file.as_ref().map_or(0, |file| file.len);
        bytes.try_reserve_exact(len.saturating_add(rest.len()))?;
        if let Some(file) = &mut self.file {
            file.read(&mut bytes)?;
        }
        bytes.extend_from_slice(rest);
        Ok(bytes)
    }
}

impl SpoolFile {
    fn over(file: File) -> Self {
        Self { file, len: 0, hash: Xxh3Default::new() }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.len = self.len.saturating_add(bytes.len());
        Ok(())
    }

    /// Reads the file from its start. Compares its length and hash with the written bytes.
    fn read(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let len = u64::try_from(self.len).unwrap_or(u64::MAX);
        (&mut self.file).take(len).read_to_end(bytes)?;
        let mut found = Xxh3Default::new();
        found.update(bytes);
        match bytes.len() == self.len && found.digest() == self.hash.digest() {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "it was changed")),
        }
    }
}

/// Closes the file on a blocking thread: the system frees its space, which takes time.
impl Drop for SpooledBody {
    fn drop(&mut self) {
        let contents = self.contents.take();
        if contents.as_ref().is_some_and(|contents| contents.file.is_some())
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn_blocking(move || drop(contents));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: Account = Account { token: 1, peer: None };

    fn parts(first: &'static [u8], second: &'static [u8]) -> [Bytes; 2] {
        [Bytes::from_static(first), Bytes::from_static(second)]
    }

    #[tokio::test]
    async fn a_body_is_read_back_as_it_was_written_and_its_space_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let spool = BodySpool::new(Some(folder.path().to_owned()), None, 1000);
        let body = spool.begin(ACCOUNT).write(parts(b"one", b"two")).await.unwrap();
        let body = body.write(parts(b"", b"three")).await.unwrap();
        assert_eq!((body.len(), spool.reserved_bytes()), (11, 11));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(body.read(Bytes::from_static(b"four")).await.unwrap(), b"onetwothreefour");
        let body = spool.begin(ACCOUNT).write(parts(&[7; 400], b"")).await.unwrap();
        let failure = body.write(parts(&[7; 400], b"")).await.map(drop).unwrap_err();
        assert!(!failure.is_spool_fault(), "it is over its share");
        // Files are closed on other threads.
        while spool.reserved_bytes() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_file_that_was_changed_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let spool = BodySpool::new(Some(folder.path().to_owned()), None, 1000);
        for (at, bytes) in [(0, &b"x"[..]), (5, b"x"), (3, b"")] {
            let mut body = spool.begin(ACCOUNT).write(parts(b"one", b"two")).await.unwrap();
            let file = &mut body.contents.as_mut().unwrap().file.as_mut().unwrap().file;
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(bytes).unwrap();
            if bytes.is_empty() {
                file.set_len(at).unwrap();
            }
            let failure = body.read(Bytes::new()).await.unwrap_err();
            assert!(failure.is_spool_fault() && failure.cause().unwrap().contains("was changed"));
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_full_disk_is_an_error_until_bytes_can_be_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let spool = BodySpool::new(Some(folder.path().to_owned()), None, 1000);
        let mut body = spool.begin(ACCOUNT);
        let full = File::options().write(true).open("/dev/full").unwrap();
        body.contents.as_mut().unwrap().file = Some(Box::new(SpoolFile::over(full)));
        let failure = body.write(parts(b"one", b"two")).await.map(drop).unwrap_err();
        assert_eq!((failure.status().as_u16(), failure.is_spool_fault()), (503, true));
        assert!(failure.cause().unwrap().contains("No space left"), "{failure:?}");
        let rejected = spool.begin(ACCOUNT);
        assert!(rejected.could_write(6).unwrap_err().is_spool_fault());
        spool.begin(ACCOUNT).write(parts(b"one", b"two")).await.unwrap();
        rejected.could_write(6).unwrap();
        assert!(!rejected.could_write(600).unwrap_err().is_spool_fault());
    }

    #[test]
    fn the_chosen_folder_is_the_only_one() {
        let folder = tempfile::tempdir().unwrap();
        let (good, bad) = (folder.path().to_owned(), folder.path().join("none"));
        BodySpool::new(None, Some(bad.clone()), 1).check().unwrap();
        BodySpool::new(Some(good), Some(bad.clone()), 1).check().unwrap();
        assert!(BodySpool::new(Some(bad), None, 1).check().unwrap_err().contains("none: "));
    }
}
