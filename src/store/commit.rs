//! Finishes a write. Stores the new documents, removes the *released* documents (of replaced and deleted cases), and makes a
//! checkpoint if one is due. Then commits, and publishes the new snapshot. The caller passes the new counters. This module sets
//! only the counters that depend on the snapshot, the tables or a checkpoint.

use std::collections::HashMap;
use std::sync::Arc;

use redb::{ReadableTable, ReadableTableMetadata, WriteTransaction};

use super::batches;
use super::columns::{KeptSources, StoredBatch};
use super::database::Store;
use super::dictionary::{self, Dictionaries, Dictionary};
use super::documents::Documents;
use super::error::{Fault, StoreError, guarded};
use super::history_tables::{self, Keeper};
use super::log::Log;
use super::options::Durability;
use super::standing_tables::{put_counters, put_events};
use super::tables::{DOCUMENTS, META, RELEASED, STATE, StoreCounters, released_checksum};
use super::training::{SAMPLES, sample, train};
use crate::column::Selection;
use crate::engine::{Snapshot, StagedWrite};

/// The maximum number of rows and documents of the history that a checkpoint forgets. If a write makes the checkpoint, the maximum
/// is greater by two for each document that the write changes.
const FORGOTTEN: u64 = 4096;

/// A document that a write adds.
pub(super) struct Added<'d> {
    pub(super) number: u64,
    pub(super) place: u64,
    pub(super) text: &'d str,
}

impl Store {
    /// Returns the result. If it is a fault, first marks the store as failed.
    pub(super) fn settle<T>(&self, log: &mut Log, result: Result<T, Fault>) -> Result<T, StoreError> {
        result.map_err(|fault| {
            log.failed = true;
            self.error(fault)
        })
    }

    /// Commits a staged write with its documents, and publishes its snapshot.
    pub(super) fn commit(
        &self,
        log: &mut Log,
        staged: StagedWrite<'_>,
        state: StoreCounters,
        added: Vec<Added<'_>>,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let result = guarded(|| {
            let synced =
                durability == Durability::Synced || self.is_checkpoint_due(log, added.len(), &staged);
            let transaction = self.file.write(synced)?;
            let dictionaries = self.file.known_dictionaries();
            // Training takes long. So an explicit checkpoint trains a dictionary, but a checkpoint that a write makes does not.
            if log.since_checkpoint == u64::MAX && self.is_packed && dictionaries.is_empty() {
                train_dictionary(&transaction, &dictionaries)?;
            }
            put_documents(&transaction, &added, self.is_packed.then_some(dictionaries.newest()))?;
            self.finish(log, transaction, staged, state, added.len() as u64, synced)?;
            Ok(synced)
        });
        if !self.settle(log, result)? {
            log.is_unsynced = true;
        }
        Ok(())
    }

    fn is_checkpoint_due(&self, log: &Log, added: usize, staged: &StagedWrite<'_>) -> bool {
        let changes = (added.max(staged.released().len())) as u64;
        log.since_checkpoint.saturating_add(changes) >= self.options.checkpoint_every
    }

    /// Finishes a transaction to which the new documents have been added. Removes the released documents, makes a checkpoint if one
    /// is due, commits, and publishes the snapshot. Released documents are the documents of replaced and deleted cases. If
    /// `is_synced` is true, the commit syncs this transaction and all earlier transactions to disk. Otherwise, a later commit syncs
    /// them.
    pub(super) fn finish(
        &self,
        log: &mut Log,
        transaction: WriteTransaction,
        staged: StagedWrite<'_>,
        mut state: StoreCounters,
        added: u64,
        is_synced: bool,
    ) -> Result<(), Fault> {
        let is_due = self.is_checkpoint_due(log, usize::try_from(added).unwrap_or(usize::MAX), &staged);
        let changes = added.max(staged.released().len() as u64);
        state.next_place = staged.next_place();
        state.next_batch = staged.next_batch();
        let mut writes = log.writes;
        let write = staged.after().write();
        {
            let numbers = (write, log.state.next_document);
            let mut keeper = Keeper::open(&transaction, &writes, numbers)?;
            let mut documents = transaction.open_table(DOCUMENTS)?;
            let mut released = transaction.open_table(RELEASED)?;
            for number in staged.released() {
                let removed = documents.remove(number)?;
                let removed = removed.ok_or_else(|| Fault::corrupt(format!("no document {number}")))?;
                if let Some(keeper) = &mut keeper {
                    keeper.keep(*number, removed.value())?;
                }
                if *number < state.checkpoint {
                    released.insert(number, released_checksum(*number))?;
                }
            }
            state.cases = documents.len()?;
            state.released = released.len()?;
        }
        let cases = staged.after().len() as u64;
        if state.cases != cases {
            return Err(Fault::corrupt(format!("{} documents of {cases} cases", state.cases)));
        }
        let mut kept = KeptSources::default();
        let stored = match is_due {
            true => Some(self.write_checkpoint(&transaction, staged.after(), log, &mut state, &mut kept)?),
            false => None,
        };
        transaction.open_table(META)?.insert(STATE, state.to_bytes().as_slice())?;
        if write != writes.last {
            // Each write may forget at least as many old documents as it adds to the history. So documents that are too old do not
            // accumulate.
            let most = changes.saturating_mul(2).saturating_add(if is_due { FORGOTTEN } else { 16 });
            // A search as of the time of an event sees the write that caused it.
            let now = (self.clock)();
            let now = staged.events().map_or(now, |events| events.time.min(now));
            history_tables::note_write(&transaction, &mut writes, (write, &state), now, most)?;
            // Files of earlier versions do not count writes.
            if self.is_packed {
                history_tables::put_counters(&transaction, writes)?;
            }
        } else if is_due && writes.has_history() {
            history_tables::forget(&transaction, &mut writes, (self.clock)(), FORGOTTEN)?;
            history_tables::put_counters(&transaction, writes)?;
        }
        let mut standing = log.standing;
        if let Some(events) = staged.events() {
            put_events(&transaction, events, self.kept_events(), &mut standing)?;
            put_counters(&transaction, standing)?;
        }
        transaction.commit()?;
        kept.committed();
        // The transaction is synced even if the following steps fail.
        if is_synced {
            log.synced();
        }
        log.is_ahead = true;
        staged.after().attach(Arc::new(Documents::of(&self.file)?));
        staged.publish();
        log.is_ahead = false;
        log.state = state;
        log.writes = writes;
        log.standing = standing;
        if is_synced {
            // Only now do searches see the cases of the events, so only now are these events shown.
            log.synced();
        }
        match stored {
            Some(stored) => {
                log.stored = stored;
                log.since_checkpoint = 0;
            }
            None => log.since_checkpoint = log.since_checkpoint.saturating_add(changes),
        }
        Ok(())
    }

    /// Makes a checkpoint: stores new batches and changed live rows, and removes batches that no longer exist. The rows of the head
    /// (the buffer of recent single writes) are not stored. When the file is opened, they are made again from their documents.
    pub(super) fn write_checkpoint(
        &self,
        transaction: &WriteTransaction,
        after: &Snapshot,
        log: &Log,
        state: &mut StoreCounters,
        kept: &mut KeptSources,
    ) -> Result<HashMap<u64, StoredBatch>, Fault> {
        let Log { stored, .. } = log;
        let catalog = self.engine.catalog();
        let view = self.engine.view_of(after);
        let mut now = HashMap::new();
        for slot in view.slots().filter(|slot| slot.id != after.head_id()) {
            let number = slot.id.0;
            let rows = slot.batch.rows();
            let before = stored.get(&number);
            // If rows of a head were merged into a batch, the batch has more rows than its stored version.
            if before.is_none_or(|before| before.rows != rows) {
                if before.is_some() {
                    batches::remove(transaction, number, self.is_packed)?;
                }
                batches::write(transaction, catalog, (number, &slot.batch), self.is_packed)?;
            }
            if before.is_none_or(|before| (before.rows, &before.live) != (rows, &*slot.live)) {
                batches::write_live(transaction, number, &slot.live, rows)?;
            }
            let source = before.map(|before| before.source.clone()).unwrap_or_default();
            now.insert(number, StoredBatch { rows, live: Selection::clone(&slot.live), source });
        }
        for (number, batch) in stored.iter().filter(|(number, _)| !now.contains_key(number)) {
            if let Some(source) = batch.source.upgrade() {
                kept.keep(source)?;
            }
            batches::remove(transaction, *number, self.is_packed)?;
        }
        transaction.delete_table(RELEASED)?;
        transaction.open_table(RELEASED)?;
        state.released = 0;
        state.batches = now.len() as u64;
        state.checkpoint = after.first_document_of_head().unwrap_or(state.next_document);
        Ok(now)
    }
}

/// Trains a dictionary on the first documents, and stores it. Later writes compress their documents with it. Does nothing if there
/// are too few documents.
fn train_dictionary(transaction: &WriteTransaction, dictionaries: &Dictionaries) -> Result<(), Fault> {
    let documents = transaction.open_table(DOCUMENTS)?;
    if documents.len()? < SAMPLES as u64 {
        return Ok(());
    }
    let mut samples = Vec::new();
    for entry in documents.iter()?.take(SAMPLES) {
        let (number, bytes) = entry?;
        samples.extend(dictionaries.decode(number.value(), bytes.value(), |_, text| sample(text))?);
    }
    drop(documents);
    let trained = train(samples.iter().map(String::as_str));
    if let Some(dictionary) = trained.and_then(|bytes| Dictionary::new(0, &bytes)) {
        dictionary::add(transaction, &dictionary)?;
    }
    Ok(())
}

/// Stores documents. With a dictionary, compresses those that this makes smaller.
pub(super) fn put_documents(
    transaction: &WriteTransaction,
    added: &[Added<'_>],
    dictionary: Option<&Arc<Dictionary>>,
) -> Result<(), Fault> {
    let mut documents = transaction.open_table(DOCUMENTS)?;
    for Added { number, place, text } in added {
        let bytes = dictionary::encode(dictionary.map(|own| &**own), *number, *place, text);
        documents.insert(number, bytes.as_slice())?;
    }
    Ok(())
}
