//! Stores and deletes documents. Each write is one transaction, after which a new snapshot is published.

use super::commit::Added;
use super::database::Store;
use super::error::{StoreError, guarded};
use super::log::Log;
use super::options::Durability;
use super::tables::StoreCounters;
use crate::batch::{Document, Row};
use crate::engine::{ImportError, ImportMode, ImportReport, UpsertOutcome, WriteTxn};
use crate::error::Error;
use crate::filter::{Document as ParsedDocument, utf8};
use crate::ingest::trim;

impl Store {
    /// Stores one JSON document. If a document with the same `id` exists, replaces it. The new document then has the position of
    /// the old document in the insertion order.
    ///
    /// # Errors
    /// Returns an error if the document is malformed, or if the file cannot be read or written. Then nothing is stored. After a
    /// failure of the file, the next write first [recovers](Self::recover). If that fails, the write also fails.
    ///
    /// For a malformed document, the error contains the first error in the document.
    /// [`Document::parse_within`](crate::Document::parse_within) returns up to ten. [The
    /// guide](crate::guide::durability#rejected-documents) has an example.
    pub fn upsert(&self, document: &[u8], durability: Durability) -> Result<UpsertOutcome, StoreError> {
        let outcomes = self.upsert_each([document], durability)?;
        Ok(outcomes.first().copied().unwrap_or(UpsertOutcome::Stored))
    }

    /// Stores several JSON documents, all or none. Returns the outcome for each document.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Store, StoreOptions, UpsertOutcome::{Replaced, Stored}};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let documents = [&br#"{"id":"a"}"#[..], br#"{"id":"b"}"#, br#"{"id":"a"}"#];
    /// assert_eq!(store.upsert_each(documents, Durability::Synced)?, [Stored, Stored, Replaced]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`upsert`](Self::upsert). The `document` of an [`ImportError`] is the position of the document in
    /// `documents`, counted from 1.
    pub fn upsert_each<'d>(
        &self,
        documents: impl IntoIterator<Item = &'d [u8]>,
        durability: Durability,
    ) -> Result<Vec<UpsertOutcome>, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let mut outcomes = Vec::new();
        let mut added = Vec::new();
        let mut number = log.state.next_document;
        let staged = self.prepared(&mut log, || {
            let mut txn = WriteTxn::new(&self.engine);
            for (line, document) in (1_u64..).zip(documents) {
                let refuse = |error: Error| {
                    StoreError::refused(&self.name, ImportError::new("", line, error).of_document(line))
                };
                let document = trim(document);
                let text = utf8(document).map_err(refuse)?;
                let mut row = Row::default();
                self.engine.read_text(text, &mut row).map_err(refuse)?;
                if let Some(fault) = row.take_faults().into_iter().next() {
                    return Err(refuse(fault));
                }
                let size_bytes = text.len();
                let outcome = txn.upsert(&row, Document::Number { number, size_bytes });
                outcomes.push(outcome.map_err(|error| refuse(*error))?);
                added.push(Added { number, place: txn.last_place(), text });
                // Loading checked that the counter is far from the maximum. So it does not saturate, and no number is assigned
                // twice.
                number = number.saturating_add(1);
            }
            Ok(txn.stage())
        })?;
        let state = StoreCounters { next_document: number, ..log.state };
        self.commit(&mut log, staged, state, added, durability)?;
        Ok(outcomes)
    }

    /// Stores a document that was parsed before, without parsing it again, like
    /// [`Engine::upsert_document`](crate::Engine::upsert_document).
    ///
    /// ```
    /// use casefilter::{Catalog, Document, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let document = Document::parse(store.catalog(), br#"{"id":"a","tags":["vip"]}"#)?;
    /// store.upsert_document(&document, Durability::Synced)?;
    /// assert_eq!(store.get("a")?.as_deref(), document.text());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`upsert`](Self::upsert). An error of the kind
    /// [`RejectedDocument`](super::StoreErrorKind::RejectedDocument) contains an error of
    /// [`Engine::upsert_document`](crate::Engine::upsert_document).
    pub fn upsert_document(
        &self,
        document: &ParsedDocument,
        durability: Durability,
    ) -> Result<UpsertOutcome, StoreError> {
        let refuse =
            |error: Error| StoreError::refused(&self.name, ImportError::new("", 1, error).of_document(1));
        let text = self.engine.text_to_store(document).map_err(refuse)?;
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let number = log.state.next_document;
        let (staged, outcome, place) = self.prepared(&mut log, || {
            let mut txn = WriteTxn::new(&self.engine);
            let stored = Document::Number { number, size_bytes: text.len() };
            let outcome = txn.upsert(&document.row().to_row(), stored).map_err(|error| refuse(*error))?;
            let place = txn.last_place();
            Ok((txn.stage(), outcome, place))
        })?;
        let state = StoreCounters { next_document: number.saturating_add(1), ..log.state };
        self.commit(&mut log, staged, state, vec![Added { number, place, text }], durability)?;
        Ok(outcome)
    }

    /// Stores documents, all or none, and syncs them to disk. The input is NDJSON, a JSON array or a search answer, as in a strict
    /// [import](Self::import).
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// assert_eq!(store.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?.stored, 2);
    /// let error = store.upsert_many(b"{\"id\":\"c\"}\n{\"id\":7}").unwrap_err();
    /// assert_eq!((error.import_error().map(|error| error.line), store.len()), (Some(2), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`StoreImport::push`](super::StoreImport::push) and
    /// [`StoreImport::commit`](super::StoreImport::commit).
    pub fn upsert_many(&self, documents: &[u8]) -> Result<ImportReport, StoreError> {
        let mut import = self.import(ImportMode::Strict)?;
        import.push(documents)?;
        import.commit()
    }

    /// Deletes the document with this `id`. Returns false if no document has it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, as [`upsert`](Self::upsert) does.
    pub fn delete(&self, id: &str, durability: Durability) -> Result<bool, StoreError> {
        self.delete_many([id], durability).map(|deleted| deleted == 1)
    }

    /// Deletes documents in one transaction. Returns the number of documents that were deleted.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert_many(br#"[{"id":"a"},{"id":"b"},{"id":"c"}]"#)?;
    /// assert_eq!(store.delete_many(["a", "c", "a", "unknown"], Durability::Synced)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, as [`upsert`](Self::upsert) does. Then nothing is deleted.
    pub fn delete_many<I: AsRef<str>>(
        &self,
        ids: impl IntoIterator<Item = I>,
        durability: Durability,
    ) -> Result<usize, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let (deleted, staged) = self.prepared(&mut log, || {
            let mut txn = WriteTxn::new(&self.engine);
            let deleted = ids.into_iter().filter(|id| txn.delete(id.as_ref())).count();
            Ok((deleted, (deleted > 0).then(|| txn.stage())))
        })?;
        if let Some(staged) = staged {
            let state = log.state;
            self.commit(&mut log, staged, state, Vec::new(), durability)?;
        } else if durability == Durability::Synced {
            self.sync_locked(&mut log)?;
        }
        Ok(deleted)
    }

    /// Syncs all previous writes to disk.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, as [`upsert`](Self::upsert) does.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.sync_locked(&mut self.lock_log())
    }

    fn sync_locked(&self, log: &mut Log) -> Result<(), StoreError> {
        if log.is_read_only {
            return Ok(());
        }
        self.ready(log)?;
        let synced = guarded(|| Ok(self.file.write(true)?.commit()?));
        self.settle(log, synced)?;
        log.synced();
        Ok(())
    }

    /// Makes a checkpoint now. Then the next opening parses only the documents of the head (the latest single writes, at most 64).
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, as [`upsert`](Self::upsert) does.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        let mut log = self.lock_log();
        if log.is_read_only {
            return Ok(());
        }
        self.ready(&mut log)?;
        if log.since_checkpoint == 0 {
            return Ok(());
        }
        log.since_checkpoint = u64::MAX;
        let state = log.state;
        let staged = self.prepared(&mut log, || Ok(WriteTxn::new(&self.engine).stage()))?;
        self.commit(&mut log, staged, state, Vec::new(), Durability::Synced)
    }

    /// Makes a checkpoint and closes the file. Dropping the store does the same, but returns no errors. Dropping a
    /// [prepared](Self::prepare) store removes its file instead.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, or if closing it fails. Closing can fail even if the store was only
    /// read.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.checkpoint()?;
        self.sync()?;
        // Read transactions must be closed before the file.
        let detached = guarded(|| {
            self.engine.detach();
            Ok(())
        });
        if self.file.is_new() {
            // redb doubles the length of a file that is too short. So a new file is shortened here. If this fails, the file stays
            // longer, or closing it fails too.
            let _ = self.file.compact();
        }
        let closed = self.file.close();
        detached.and(closed).map_err(|fault| fault.of_file(&self.name))
    }
}

/// Tries to make a checkpoint, and ignores errors.
impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.checkpoint();
    }
}
