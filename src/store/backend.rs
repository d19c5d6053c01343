//! Storage backends of redb: a file without an incomplete page at its end, an overlay with all changes in memory, and a wrapper
//! that records failed syncs.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

/// The size of a page of redb, in bytes.
pub(super) const PAGE_BYTES: u64 = 4096;

/// Returns the length of a file without the bytes after its last complete page.
///
/// redb files consist of complete pages, and redb reports any other length as damage. An editor or a copying tool may have added a
/// few bytes at the end. They are ignored. If the file is shorter than a page, its length is returned unchanged, because redb would
/// create a new database in an empty file.
fn whole_pages(len: u64) -> u64 {
    if len < PAGE_BYTES { len } else { len.saturating_sub(len.checked_rem(PAGE_BYTES).unwrap_or(0)) }
}

/// A storage backend over the complete pages of a file. Bytes after the last complete page are ignored.
#[derive(Debug)]
pub(super) struct WholePages(FileBackend);

impl WholePages {
    pub(super) fn new(file: File) -> Result<Self, DatabaseError> {
        FileBackend::new(file).map(Self)
    }
}

impl StorageBackend for WholePages {
    fn len(&self) -> io::Result<u64> {
        self.0.len().map(whole_pages)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}

/// A storage backend over the complete pages of a file that is only read. It is a copy-on-write overlay: pages that redb writes
/// stay in memory, for example repairs after a crash.
///
/// It takes a reader's lock on the file. So other processes may read the file at the same time, but must not write it.
#[derive(Debug)]
pub(super) struct Overlay {
    file: FileBackend,
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    len: u64,
    /// The smallest length that the overlay has had, in bytes. Bytes before this offset are read from the file, and bytes after it
    /// are zero, except for the pages in `pages`.
    from_file: u64,
    /// The pages that were written, by page number.
    pages: HashMap<u64, Box<[u8]>>,
}

impl Overlay {
    pub(super) fn new(file: File) -> Result<Self, DatabaseError> {
        let len = whole_pages(file.metadata().map_err(|error| DatabaseError::Storage(error.into()))?.len());
        let changes = Mutex::new(Changes { len, from_file: len, pages: HashMap::new() });
        Ok(Self { file: FileBackend::new(file)?, changes })
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills `out` with bytes of the file from `offset` on. Bytes after the first `from_file` bytes of the file are read as zeros.
    fn read_file(&self, from_file: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = usize::try_from(from_file.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        let (from, zeros) = out.split_at_mut(there);
        zeros.fill(0);
        if from.is_empty() { Ok(()) } else { self.file.read(offset, from) }
    }

    /// Splits a range at page boundaries. For each part, passes the page number, the offset in the page, and the length of the part
    /// to `take`.
    fn each_page(
        offset: u64,
        len: usize,
        mut take: impl FnMut(u64, usize, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut offset = offset;
        let mut left = len as u64;
        while left > 0 {
            let number = offset.checked_div(PAGE_BYTES).unwrap_or(0);
            let within = offset.checked_rem(PAGE_BYTES).unwrap_or(0);
            let part = left.min(PAGE_BYTES.saturating_sub(within));
            let size = |bytes: u64| usize::try_from(bytes).map_err(io::Error::other);
            take(number, size(within)?, size(part)?)?;
            offset = offset.saturating_add(part);
            left = left.saturating_sub(part);
        }
        Ok(())
    }
}

/// Returns the range that a reader locks: the range of a writer without its last byte. Readers test this last byte to find out if a
/// writer has the file open.
fn reader_range(start: Bound<u64>, end: Bound<u64>) -> (Bound<u64>, Bound<u64>) {
    match end {
        Bound::Included(last) => (start, Bound::Excluded(last)),
        _ => (start, end),
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changes().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changes = self.changes();
        if offset.saturating_add(out.len() as u64) > changes.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if changes.pages.is_empty() {
            let from_file = changes.from_file;
            drop(changes);
            return self.read_file(from_file, offset, out);
        }
        let mut out = out;
        let mut at = offset;
        Self::each_page(offset, out.len(), |number, within, part| {
            let (now, rest) = std::mem::take(&mut out).split_at_mut(part);
            out = rest;
            match changes.pages.get(&number).and_then(|page| page.get(within..within.saturating_add(part))) {
                Some(page) => now.copy_from_slice(page),
                None => self.read_file(changes.from_file, at, now)?,
            }
            at = at.saturating_add(part as u64);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut changes = self.changes();
        if len < changes.len {
            changes.pages.retain(|number, _| number.saturating_mul(PAGE_BYTES) < len);
            changes.from_file = changes.from_file.min(len);
        }
        changes.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changes = self.changes();
        let mut data = data;
        Self::each_page(offset, data.len(), |number, within, part| {
            let (now, rest) = data.split_at(part);
            data = rest;
            if !changes.pages.contains_key(&number) {
                let mut page = vec![0; usize::try_from(PAGE_BYTES).map_err(io::Error::other)?];
                self.read_file(changes.from_file, number.saturating_mul(PAGE_BYTES), &mut page)?;
                changes.pages.insert(number, page.into_boxed_slice());
            }
            let page = changes.pages.get_mut(&number);
            if let Some(page) = page.and_then(|page| page.get_mut(within..within.saturating_add(part))) {
                page.copy_from_slice(now);
            }
            Ok(())
        })
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        let (start, end) = reader_range(start, end);
        self.file.try_lock_shared_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.try_lock_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        let (start, end) = reader_range(start, end);
        self.file.lock_shared_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        let (start, end) = reader_range(start, end);
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

/// A flag that is set when a sync of a file fails.
///
/// After a failed sync, the system may have dropped data that it could not write, and still show this data to readers. A later sync
/// does not report the error again.
#[derive(Clone, Debug, Default)]
pub(super) struct SyncFailed(Arc<AtomicBool>);

impl SyncFailed {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A storage backend that wraps another backend, and sets a flag when a sync fails.
pub(super) struct Watched<B> {
    inner: B,
    sync_failed: SyncFailed,
}

impl<B> Watched<B> {
    pub(super) fn new(inner: B, sync_failed: &SyncFailed) -> Self {
        Self { inner, sync_failed: sync_failed.clone() }
    }
}

impl<B: fmt::Debug> fmt::Debug for Watched<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<B: StorageBackend> StorageBackend for Watched<B> {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data().inspect_err(|_| self.sync_failed.set())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_shows_what_was_written_and_leaves_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let bytes: Vec<u8> = (0..12_388_u32).map(|n| (n % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let overlay = Overlay::new(File::open(&path).unwrap()).unwrap();
        let mut expected = bytes[..12_288].to_vec();
        let check = |overlay: &Overlay, expected: &[u8]| {
            assert_eq!(overlay.len().unwrap(), expected.len() as u64);
            let mut found = vec![0xAA; expected.len()];
            overlay.read(0, &mut found).unwrap();
            assert!(found == expected);
            assert!(overlay.read(1, &mut found).is_err());
        };
        check(&overlay, &expected);
        overlay.write(4_000, &[7; 5_000]).unwrap();
        expected[4_000..9_000].fill(7);
        check(&overlay, &expected);
        overlay.set_len(4_096).unwrap();
        overlay.set_len(16_384).unwrap();
        expected.truncate(4_096);
        expected.resize(16_384, 0);
        check(&overlay, &expected);
        overlay.write(12_289, &[9; 3]).unwrap();
        expected[12_289..12_292].fill(9);
        check(&overlay, &expected);
        assert!(std::fs::read(&path).unwrap() == bytes);
    }

    #[test]
    fn less_than_a_page_behind_the_end_does_not_count() {
        for (len, expected) in
            [(0, 0), (9, 9), (4_095, 4_095), (4_096, 4_096), (4_097, 4_096), (8_191, 4_096)]
        {
            assert_eq!(whole_pages(len), expected);
        }
    }
}
