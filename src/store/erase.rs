//! Erasure: removes cases and records so that the file has none of their bytes any more.
//!
//! Deleting is not enough. A sealed column keeps the strings of deleted rows, and the file keeps the bytes of freed pages. So an
//! erasure writes a new file without the erased cases (`erase_copy`): its columns are made again from the documents that remain,
//! and its dictionary is trained on them. The new file replaces the old one in one step, as in [`exchange`](super::exchange). So
//! after a crash, the file has either everything that was to be erased, or nothing of it.

use std::sync::Arc;

use super::columns::KeptSources;
use super::database::Store;
use super::documents::Documents;
use super::erase_copy::{Selected, copy_without};
use super::erasure::{Erasure, ErasureReport};
use super::error::{Fault, StoreError, guarded};
use super::exchange::NewFile;
use super::file::File;
use super::load::{Loaded, load};
use super::log::Log;
use super::tables::{META, STATE};
use crate::engine::request_for;
use crate::error::Error;
use crate::filter::SearchRequest;

impl Store {
    /// Removes cases and records, and everything that the file contains about them: their documents, their earlier documents in the
    /// history, the ids in events, and their values in columns, dictionaries and free pages. Afterwards, no byte of them is in the
    /// file. Searches continue meanwhile, and writes wait. The erasure is on disk when the call returns.
    ///
    /// The file is replaced by a new one, which is made from the documents that remain: all of them are compressed and parsed
    /// again. So an erasure takes as long as an import of all cases. It needs memory for a second set of columns, and disk space
    /// for two files. The inode changes. A repeated call does the same again, even if nothing is left to be removed.
    ///
    /// The erasure reaches only the file of the store. It does not reach copies or backups, not even those in progress. An import
    /// in progress can store an erased case again. The erasure also does not reach exports, files of audit logs, or blocks of the
    /// disk that the file system has freed. A snapshot that is held keeps the old file, which then has no name any more. Values
    /// that other documents have too are not removed. Searches [as of](Self::as_of) a moment before the erasure no longer find the
    /// erased cases. Standing filters are not changed, even if they test an erased id.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Erasure, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a","name":"Anna Adler"}"#, Durability::Synced)?;
    /// store.upsert(br#"{"id":"b"}"#, Durability::Synced)?;
    /// let erased = store.erase(&Erasure::new().with_ids(["a"]))?;
    /// assert_eq!((erased.cases, store.len()), (1, 1));
    /// store.close()?;
    /// let bytes = std::fs::read(&path)?;
    /// assert!(!bytes.windows(5).any(|part| part == b"Adler"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`compact_online`](Self::compact_online), and those of [`count`](Self::count) for the filter. Then
    /// nothing is erased, with the exceptions that `compact_online` names.
    pub fn erase(&self, erasure: &Erasure) -> Result<ErasureReport, StoreError> {
        self.erase_into(erasure, || self.new_file())
    }

    /// Like [`erase`](Self::erase), but writes to the file that `new_file` creates.
    pub(super) fn erase_into(
        &self,
        erasure: &Erasure,
        new_file: impl FnOnce() -> Result<NewFile, Fault>,
    ) -> Result<ErasureReport, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let selected = self.prepared(&mut log, || {
            self.select(erasure).map_err(|error| StoreError::request(&self.name, error))
        })?;
        let mut erased = ErasureReport::default();
        let exchanged = guarded(|| {
            // Searches in progress may still read columns of the old file.
            let mut kept = KeptSources::default();
            for source in log.stored.values().filter_map(|batch| batch.source.upgrade()) {
                kept.keep(source)?;
            }
            self.exchange_with(
                new_file()?,
                |copy| {
                    erased = copy_without(self, copy, erasure, selected)?;
                    self.load_and_store(copy)
                },
                |(engine, mut fresh)| {
                    kept.committed();
                    self.file.forget_dictionaries();
                    match guarded(|| Documents::of(&self.file)) {
                        Ok(documents) => engine.attach(Arc::new(documents)),
                        // The next reader or writer opens the file again.
                        Err(_) => fresh.fail(),
                    }
                    self.engine.replace(engine);
                    *log = fresh;
                },
            )
        });
        exchanged.map_err(|fault| self.exchange_failed(&mut log, fault))?;
        log.synced();
        Ok(erased)
    }

    /// Returns the document numbers and the ids of the cases to erase.
    fn select(&self, erasure: &Erasure) -> Result<Selected, Error> {
        let mut selected = Selected { ids: erasure.ids.clone(), ..Selected::default() };
        let all =
            erasure.filter.as_ref().map(|filter| SearchRequest::new(filter.clone()).with_limit(u64::MAX));
        let of_ids = erasure.ids.iter().filter_map(|id| request_for(self.catalog(), id));
        for request in all.into_iter().chain(of_ids) {
            let found = self.engine.find_any_page(&request)?;
            selected.numbers.extend((0..found.len()).filter_map(|place| found.document_number(place)));
            selected.ids.extend(found.ids().map(str::to_owned));
        }
        Ok(selected)
    }

    /// Loads a copy that has no batches. Loading makes batches from the documents, and this function stores them in the copy.
    /// Returns the engine and the log of the copy.
    fn load_and_store(&self, copy: &File) -> Result<(crate::engine::Engine, Log), Fault> {
        let hasher = Some(self.engine.hasher());
        let loaded = load(copy, self.catalog(), &self.options, hasher)?;
        let Loaded { engine, mut state, standing, writes, .. } = loaded;
        // Imports in progress look up ids on other threads.
        engine.read_ids();
        // The copy will be compacted, for which no read transaction may be open.
        engine.detach();
        let new = Log::default();
        // The engine has already given the number `next_batch` to its head.
        state.next_batch = state.next_batch.saturating_add(1);
        let transaction = copy.write(true)?;
        let snapshot = engine.current_snapshot();
        let stored =
            self.write_checkpoint(&transaction, &snapshot, &new, &mut state, &mut Default::default())?;
        transaction.open_table(META)?.insert(STATE, state.to_bytes().as_slice())?;
        transaction.commit()?;
        let bell = Arc::clone(&self.bell);
        Ok((engine, Log::new((state, standing, writes), bell, stored, 0, false)))
    }
}
