//! Writes: one transaction each, then the snapshot that shows it.

use std::collections::HashMap;
use std::time::Instant;

use redb::{ReadableTableMetadata, WriteTransaction};

use super::batches::StoredBatch;
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::tables::{DOCUMENTS, META, RELEASED, STATE, State, Stored, released_checksum};
use super::{Documents, Durability, Store, batches};
use crate::batch::{Document, Row};
use crate::column::Selection;
use crate::engine::{Change, Prepared, Refusal, Snapshot, Upserted};
use crate::error::Error;
use crate::filter::utf8;
use crate::ingest::trim;

/// What the next write needs to know of the file.
#[derive(Default)]
pub(super) struct Log {
    pub(super) state: State,
    /// The stored batches, as they are in the file.
    stored: HashMap<u64, StoredBatch>,
    /// Cases stored or deleted since the last checkpoint.
    since_checkpoint: u64,
    /// A write failed: memory may differ from the file.
    pub(super) failed: bool,
    /// A write was committed that memory does not show.
    pub(super) is_ahead: bool,
    /// The last write is on disk with the next that is synced.
    pub(super) is_unsynced: bool,
    pub(super) is_read_only: bool,
    /// How often the file was opened again to be read since a write succeeded.
    pub(super) reopenings: u64,
    /// When writes are tried again at the earliest.
    pub(super) next_try: Option<Instant>,
}

impl Log {
    pub(super) fn new(
        state: State,
        stored: HashMap<u64, StoredBatch>,
        since_checkpoint: u64,
        is_read_only: bool,
    ) -> Self {
        Self {
            state,
            stored,
            since_checkpoint,
            failed: false,
            is_ahead: false,
            is_unsynced: false,
            is_read_only,
            reopenings: 0,
            next_try: None,
        }
    }

    /// Notes that everything so far is on disk.
    pub(super) fn synced(&mut self) {
        self.is_unsynced = false;
        self.reopenings = 0;
    }

    /// Notes that a write failed.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.is_read_only {
            return Err(Fault::new(StoreErrorKind::ReadOnly, "it is open for reading alone"));
        }
        if self.failed {
            return Err(Fault::new(StoreErrorKind::Failed, "an earlier write failed; reopen it to go on"));
        }
        Ok(())
    }
}

/// A document that a write stores.
pub(super) struct Added<'d> {
    pub(super) number: u64,
    pub(super) place: u64,
    pub(super) text: &'d str,
}

impl Store {
    /// Stores a case, or replaces that of the same `id`, which keeps its place.
    ///
    /// # Errors
    /// A case that is malformed, and faults of the file; nothing is stored then. After a fault of the file the next write
    /// [recovers](Self::recover) first, and tells so if it cannot.
    pub fn upsert(&self, document: &[u8], durability: Durability) -> Result<Upserted, StoreError> {
        let outcomes = self.upsert_all([document], durability)?;
        Ok(outcomes.first().copied().unwrap_or(Upserted::Stored))
    }

    /// Stores several cases: all of them, or none.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert); the line of a refusal is the number of the case, counted from 1.
    pub fn upsert_all<'d>(
        &self,
        documents: impl IntoIterator<Item = &'d [u8]>,
        durability: Durability,
    ) -> Result<Vec<Upserted>, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let mut change = Change::new(&self.engine);
        let mut outcomes = Vec::new();
        let mut added = Vec::new();
        let mut number = log.state.next_document;
        for (line, document) in (1_u64..).zip(documents) {
            let refuse = |error: Error| {
                let source = String::new();
                let refusal = Refusal { source, line, kept: false, error: Box::new(error) };
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
            let outcome = change.upsert(&row, Document::Number { number, size_bytes });
            outcomes.push(outcome.map_err(|error| refuse(*error))?);
            added.push(Added { number, place: change.last_place(), text });
            number = number.saturating_add(1);
        }
        let state = State { next_document: number, ..log.state };
        self.commit(&mut log, change.prepare(), state, added, durability)?;
        Ok(outcomes)
    }

    /// Deletes the case of an `id`; false when there is none.
    ///
    /// # Errors
    /// Faults of the file, as [`upsert`](Self::upsert).
    pub fn delete(&self, id: &str, durability: Durability) -> Result<bool, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        let mut change = Change::new(&self.engine);
        let is_there = change.delete(id);
        if is_there {
            let state = log.state;
            self.commit(&mut log, change.prepare(), state, Vec::new(), durability)?;
        } else if durability == Durability::Synced {
            drop(change);
            self.sync_locked(&mut log)?;
        }
        Ok(is_there)
    }

    /// Puts all writes so far on disk.
    ///
    /// # Errors
    /// Faults of the file, as [`upsert`](Self::upsert).
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

    /// Makes a checkpoint now, so that opening has no document to read again.
    ///
    /// # Errors
    /// Faults of the file, as [`upsert`](Self::upsert).
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
        let change = Change::new(&self.engine);
        self.commit(&mut log, change.prepare(), state, Vec::new(), Durability::Synced)
    }

    /// Notes that a write failed.
    pub(super) fn settle<T>(&self, log: &mut Log, result: Result<T, Fault>) -> Result<T, StoreError> {
        result.map_err(|fault| {
            log.failed = true;
            self.error(fault)
        })
    }

    /// Commits what was prepared, with the documents of it, and lets everyone see it.
    fn commit(
        &self,
        log: &mut Log,
        prepared: Prepared<'_>,
        state: State,
        added: Vec<Added<'_>>,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let result = guarded(|| {
            let synced =
                durability == Durability::Synced || self.is_checkpoint_due(log, added.len(), &prepared);
            let transaction = self.file.write(synced)?;
            put_documents(&transaction, &added)?;
            self.finish(log, transaction, prepared, state, added.len() as u64)?;
            Ok(synced)
        });
        if self.settle(log, result)? {
            log.synced();
        } else {
            log.is_unsynced = true;
        }
        Ok(())
    }

    fn is_checkpoint_due(&self, log: &Log, added: usize, prepared: &Prepared<'_>) -> bool {
        let changes = (added.max(prepared.released().len())) as u64;
        log.since_checkpoint.saturating_add(changes) >= self.options.checkpoint_every
    }

    /// Ends a transaction in which the documents of a change are: removes what it released, makes a
    /// checkpoint if one is due, commits, and publishes.
    pub(super) fn finish(
        &self,
        log: &mut Log,
        transaction: WriteTransaction,
        prepared: Prepared<'_>,
        mut state: State,
        added: u64,
    ) -> Result<(), Fault> {
        let is_due = self.is_checkpoint_due(log, usize::try_from(added).unwrap_or(usize::MAX), &prepared);
        let changes = added.max(prepared.released().len() as u64);
        state.next_place = prepared.next_place();
        state.next_batch = prepared.next_batch();
        {
            let mut documents = transaction.open_table(DOCUMENTS)?;
            let mut released = transaction.open_table(RELEASED)?;
            for number in prepared.released() {
                if documents.remove(number)?.is_none() {
                    return Err(Fault::corrupt(format!("no document {number}")));
                }
                if *number < state.checkpoint {
                    released.insert(number, released_checksum(*number))?;
                }
            }
            state.cases = documents.len()?;
            state.released = released.len()?;
        }
        let cases = prepared.after().len() as u64;
        if state.cases != cases {
            return Err(Fault::corrupt(format!("{} documents of {cases} cases", state.cases)));
        }
        let stored = match is_due {
            true => Some(self.write_checkpoint(&transaction, prepared.after(), &log.stored, &mut state)?),
            false => None,
        };
        transaction.open_table(META)?.insert(STATE, state.to_bytes().as_slice())?;
        transaction.commit()?;
        log.is_ahead = true;
        prepared.after().attach(std::sync::Arc::new(Documents::of(&self.file)?));
        prepared.publish();
        log.is_ahead = false;
        log.state = state;
        match stored {
            Some(stored) => {
                log.stored = stored;
                log.since_checkpoint = 0;
            }
            None => log.since_checkpoint = log.since_checkpoint.saturating_add(changes),
        }
        Ok(())
    }

    /// Stores the batches that the file does not have and the live rows that changed, and removes batches
    /// that are gone. The rows of the head, few, stay documents alone.
    fn write_checkpoint(
        &self,
        transaction: &WriteTransaction,
        after: &Snapshot,
        stored: &HashMap<u64, StoredBatch>,
        state: &mut State,
    ) -> Result<HashMap<u64, StoredBatch>, Fault> {
        let catalog = self.engine.catalog();
        let view = self.engine.view_of(after);
        let mut now = HashMap::new();
        for slot in view.slots().filter(|slot| slot.id != after.head_id()) {
            let number = slot.id.0;
            let rows = slot.batch.rows();
            let before = stored.get(&number);
            // Heads are joined to a batch behind its rows: it is another one when it has more.
            if before.is_none_or(|before| before.rows != rows) {
                if before.is_some() {
                    batches::remove(transaction, number)?;
                }
                batches::write(transaction, catalog, number, &slot.batch)?;
            }
            let batch = StoredBatch { rows, live: Selection::clone(&slot.live) };
            if before != Some(&batch) {
                batches::write_live(transaction, number, &slot.live, rows)?;
            }
            now.insert(number, batch);
        }
        for number in stored.keys().filter(|number| !now.contains_key(number)) {
            batches::remove(transaction, *number)?;
        }
        transaction.delete_table(RELEASED)?;
        transaction.open_table(RELEASED)?;
        state.released = 0;
        state.batches = now.len() as u64;
        state.checkpoint = after.first_document_of_head().unwrap_or(state.next_document);
        Ok(now)
    }
}

/// Stores documents.
pub(super) fn put_documents(transaction: &WriteTransaction, added: &[Added<'_>]) -> Result<(), Fault> {
    let mut documents = transaction.open_table(DOCUMENTS)?;
    for Added { number, place, text } in added {
        let bytes = Stored { place: *place, text }.to_bytes(*number);
        documents.insert(number, bytes.as_slice())?;
    }
    Ok(())
}
