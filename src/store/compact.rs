//! Compaction of the file of a store: either in place, with exclusive access, or by a copy that [replaces](super::exchange) the
//! file while searches continue.

use std::sync::Arc;

use super::backup::copy_into;
use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError, guarded};
use super::exchange::NewFile;
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
    /// give the copy the owner of the file. After such an error, the database is unchanged. There are two exceptions. If only
    /// the sync of the folder fails, the copy has already replaced the file. And after a failed rename, it may be impossible to
    /// find out which file has the name. In both cases, later writes fail.
    pub fn compact_online(&self) -> Result<CompactReport, StoreError> {
        self.compact_into(|| self.new_file())
    }

    /// Like [`compact_online`](Self::compact_online), but copies into the file that `new_file` creates.
    pub(super) fn compact_into(
        &self,
        new_file: impl FnOnce() -> Result<NewFile, Fault>,
    ) -> Result<CompactReport, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        self.forget_old(&mut log)?;
        let compacted = guarded(|| {
            let fill = |copy: &mut File| {
                let dictionaries = self.file.known_dictionaries();
                copy_into(&self.file, copy, self.is_packed.then_some(&*dictionaries), &|| true)
            };
            let new = new_file()?;
            let bytes_before = new.bytes_before;
            let bytes_after = self.exchange_with(new, fill, |()| {
                // If this fails, the documents are read from the old file, which has the same documents.
                if let Ok(documents) = guarded(|| Documents::of(&self.file)) {
                    self.engine.attach(Arc::new(documents));
                }
            })?;
            Ok(CompactReport { bytes_before, bytes_after })
        })
        .map_err(|fault| self.exchange_failed(&mut log, fault))?;
        log.synced();
        Ok(compacted)
    }

    /// Moves all pages to the front of the file and cuts off the rest. Returns false if no page had to be moved. First removes
    /// documents that are older than the [history](Self::set_history).
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
}
