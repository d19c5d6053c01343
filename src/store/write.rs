//! Writes of single cases: each is one transaction, followed by the snapshot that shows it.

use super::commit::Added;
use super::database::Store;
use super::error::{StoreError, guarded};
use super::log::Log;
use super::options::Durability;
use super::tables::State;
use crate::batch::{Document, Row};
use crate::engine::{ImportError, UpsertOutcome, WriteTxn};
use crate::error::Error;
use crate::filter::utf8;
use crate::ingest::trim;

impl Store {
    /// Stores a case. It replaces the case with the same `id`, and keeps its position in the insertion order.
    ///
    /// # Errors
    /// Returns an error if the case is malformed, or if the file cannot be read or written; nothing is stored then. After a failure of the
    /// file, the next write [recovers](Self::recover) first, and fails if that fails.
    pub fn upsert(&self, document: &[u8], durability: Durability) -> Result<UpsertOutcome, StoreError> {
        let outcomes = self.upsert_many([document], durability)?;
        Ok(outcomes.first().copied().unwrap_or(UpsertOutcome::Stored))
    }

    /// Stores several cases: all of them, or none.
    ///
    /// # Errors
    /// Returns the errors of [`upsert`](Self::upsert). The line of an [`ImportError`] is the number of the case, counted from 1.
    pub fn upsert_many<'d>(
        &self,
        documents: impl IntoIterator<Item = &'d [u8]>,
        durability: Durability,
    ) -> Result<Vec<UpsertOutcome>, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let mut txn = WriteTxn::new(&self.engine);
        let mut outcomes = Vec::new();
        let mut added = Vec::new();
        let mut number = log.state.next_document;
        for (line, document) in (1_u64..).zip(documents) {
            let refuse = |error: Error| {
                let source = String::new();
                let refusal = ImportError { source, line, kept: false, error: Box::new(error) };
                StoreError::refused(&self.name, refusal)
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
            // Loading checked that the counter is far from the maximum, which would be assigned twice.
            number = number.saturating_add(1);
        }
        let state = State { next_document: number, ..log.state };
        self.commit(&mut log, txn.stage(), state, added, durability)?;
        Ok(outcomes)
    }

    /// Deletes the case with this `id`. Returns false if there is no such case.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, as [`upsert`](Self::upsert) does.
    pub fn delete(&self, id: &str, durability: Durability) -> Result<bool, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let mut txn = WriteTxn::new(&self.engine);
        let is_there = txn.delete(id);
        if is_there {
            let state = log.state;
            self.commit(&mut log, txn.stage(), state, Vec::new(), durability)?;
        } else if durability == Durability::Synced {
            drop(txn);
            self.sync_locked(&mut log)?;
        }
        Ok(is_there)
    }

    /// Flushes all previous writes to disk.
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

    /// Makes a checkpoint now, so that the next opening parses no document.
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
        let txn = WriteTxn::new(&self.engine);
        self.commit(&mut log, txn.stage(), state, Vec::new(), Durability::Synced)
    }

    /// Makes a checkpoint and closes the file. Dropping the store does that too, but does not return errors.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, or if closing it fails, even if it was only read.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.checkpoint()?;
        self.sync()?;
        // Read transactions are closed before the file.
        let detached = guarded(|| {
            self.engine.detach();
            Ok(())
        });
        let closed = self.file.close();
        detached.and(closed).map_err(|fault| fault.of_file(&self.name))
    }
}

/// Tries to make a checkpoint.
impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.checkpoint();
    }
}
