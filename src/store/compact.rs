//! Compaction of the file of a store: in place with exclusive access, or by a copy while searches continue.
//!
//! While searches continue, a copy without free pages replaces the file. The copy is a file without a name in the folder of the
//! database. It is compacted, synced, and renamed to the path of the database in one step. So a crash leaves either the complete
//! old file or the complete new file. Earlier searches read from the old file. The space of the old file is freed when the last of
//! these searches ends. Until then, the disk needs space for two files. Writes wait until the copy has replaced the file.

use std::fs;
use std::sync::Arc;

use super::atomic::AtomicFile;
use super::backup::copy_into;
use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::file::File;

/// The length of the file before and after a compaction, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// The length before compaction, in bytes.
    pub bytes_before: u64,
    /// The length after compaction, in bytes.
    pub bytes_after: u64,
}

impl Store {
    /// Replaces the file with a copy that has no free pages. Searches continue, and writes wait. Compresses documents that were
    /// stored before the file had a dictionary, and removes documents that are older than the [history](Self::set_history).
    ///
    /// The copy is created in the folder of the file, so its disk needs space for two files. The copy replaces the file in one
    /// step: a crash leaves either the old file or the new file. The inode changes. In contrast, [`compact`](Self::compact) needs
    /// no second file, but needs exclusive access to the store.
    ///
    /// ```
    /// # use casefilter::{Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Synced)?;
    /// let compacted = store.compact_online()?;
    /// assert!(compacted.bytes_after <= compacted.bytes_before && store.len() == 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, the disk has no space, or the folder cannot be written. Also returns an error
    /// if the file has a second name (a hard link), which would keep the old contents. Also returns an error if this process cannot
    /// give the copy the owner of the file. After such an error, the database is unchanged. There is one exception: if only the
    /// sync of the folder fails, the copy has already replaced the file. Later writes then fail.
    pub fn compact_online(&self) -> Result<CompactReport, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        self.forget_old(&mut log)?;
        let compacted = guarded(|| {
            let fill = |copy: &mut File| {
                let dictionaries = self.file.known_dictionaries();
                copy_into(&self.file, copy, self.is_packed.then_some(&*dictionaries), &|| true)
            };
            self.exchange_with(fill, |()| {
                if let Ok(documents) = guarded(|| Documents::of(&self.file)) {
                    self.engine.attach(Arc::new(documents));
                }
            })
        })
        .map_err(|fault| {
            if self.file.sync_failed().is_set() {
                log.fail();
            }
            self.error(fault)
        })?;
        log.synced();
        Ok(compacted)
    }

    /// Moves all pages to the front of the file and cuts off the rest. Returns false if no page had to be moved. First removes documents
    /// that are older than the [history](Self::set_history).
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn compact(&mut self) -> Result<bool, StoreError> {
        self.checkpoint()?;
        self.forget_old(&mut self.lock_log())?;
        // A reader of documents borrows the store, so `&mut self` proves that no reader exists.
        self.engine.detach();
        // Batches that a merge reads may keep read transactions open.
        self.engine.stop_merging();
        let compacted = self.file.compact();
        // If `Documents::of` fails, no documents are attached, and the next reader of documents gets an error.
        let documents = guarded(|| Documents::of(&self.file));
        let result = match documents {
            Ok(documents) => {
                self.engine.attach(Arc::new(documents));
                compacted
            }
            Err(fault) => compacted.and(Err(fault)),
        };
        let mut log = self.lock_log();
        result.map_err(|fault| {
            log.fail();
            fault.of_file(&self.name)
        })
    }

    /// Replaces the file with a copy: `fill` writes the copy, which is then compacted and put in the place of the file. After that,
    /// calls `exchanged` with the result of `fill`. No write may be in progress during the call.
    pub(super) fn exchange_with<T>(
        &self,
        fill: impl FnOnce(&mut File) -> Result<T, Fault>,
        exchanged: impl FnOnce(T),
    ) -> Result<CompactReport, Fault> {
        let Some(path) = self.file.path() else {
            return Err(Fault::new(StoreErrorKind::Io, "it is not in a file"));
        };
        // The rename must replace the file itself, and not a symbolic link to it.
        let path = fs::canonicalize(path)?;
        let own = fs::metadata(&path)?;
        refuse_links(&own)?;
        // The copy gets its name when it is complete. A crash before that leaves nothing of the copy.
        let new = AtomicFile::replace(&path)?;
        check_owner(&new.file().metadata()?, &own)?;
        let mut copy = File::prepare_exchange(&new, &self.definition, self.options.cache_bytes)?;
        let (filled, bytes_after) = guarded(|| {
            let filled = fill(&mut copy)?;
            // A single pass may not move all pages.
            while copy.compact()? {}
            Ok((filled, new.file().metadata()?.len()))
        })?;
        let finished = match new.finish() {
            Err(error) if !copy.is_at(&path) => return Err(error.into()),
            finished => finished,
        };
        // From here on, the new file is the database.
        self.file.exchange(&copy);
        exchanged(filled);
        finished.map_err(|error| {
            // The rename may not be on disk. After a crash, the path may refer to the old file again, without later writes. So no
            // further write is accepted.
            self.file.sync_failed().set();
            Fault::from(error)
        })?;
        Ok(CompactReport { bytes_before: own.len(), bytes_after })
    }
}

/// Returns an error if the file has a second name.
#[cfg(unix)]
fn refuse_links(own: &fs::Metadata) -> Result<(), Fault> {
    use std::os::unix::fs::MetadataExt;
    if own.nlink() > 1 {
        let detail = "it has another name (a hard link), which would still refer to the old file; remove the hard link first";
        return Err(Fault::new(StoreErrorKind::Exists, detail));
    }
    Ok(())
}

/// Returns an error if the copy does not have the owner and the group of the file.
#[cfg(unix)]
fn check_owner(copy: &fs::Metadata, own: &fs::Metadata) -> Result<(), Fault> {
    use std::os::unix::fs::MetadataExt;
    if (copy.uid(), copy.gid()) != (own.uid(), own.gid()) {
        let detail = format!(
            "the file belongs to the user {} and the group {}, which this process cannot give to another file",
            own.uid(),
            own.gid()
        );
        return Err(Fault::new(StoreErrorKind::Io, detail));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_links(_: &fs::Metadata) -> Result<(), Fault> {
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &fs::Metadata, _: &fs::Metadata) -> Result<(), Fault> {
    Ok(())
}
