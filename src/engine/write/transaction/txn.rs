//! The write transaction type: collects the cases that one write stores and deletes.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::buffer::{Buffer, CoveredRows, IncomingBatch, SealedBatch, row_addr};
use super::pending_ids::PendingIds;
use crate::batch::{Batch, BatchBuilder, BufferedRow, Document, MAX_BATCHES, Row, RowAddr};
use crate::engine::handle::Engine;
use crate::engine::shared_state::Writing;
use crate::engine::snapshot::{Head, Snapshot, StoredAddr};
use crate::engine::write::lookup::Lookup;
use crate::engine::write::report::UpsertOutcome;
use crate::error::{Error, ErrorKind};
use crate::ingest::stored_id;

/// The maximum size of the documents in the head, in bytes. A write that would exceed it seals the head. Without this limit, the
/// first search of a snapshot would take long, because it converts the head to a batch.
const HEAD_BYTES: usize = 1 << 24;

/// The divisor of the size of a full batch. When a batch has 1/16 of this size, memory for the full batch is reserved. Such a batch
/// will probably become full, and a buffer that grows step by step would be copied repeatedly.
const LIKELY_FULL: usize = 16;
/// The maximum memory that is reserved for documents, in bytes. For more documents, the buffer grows later. The size of the
/// documents is not known in advance.
const LIKELY_DOCUMENT_BYTES: usize = 1 << 26;

/// A write transaction. Searches see its changes when it is published. A transaction that is dropped before it is published has no
/// effect.
///
/// An [attached](Self::new) transaction holds the writer lock, so other writes wait. A [detached](Self::detached) transaction does
/// not know the stored cases. So its insertion-order numbers start at 0, and a case counts as new if its id is new within the
/// transaction. [`attach`](Self::attach) corrects these numbers and the counts.
pub(crate) struct WriteTxn<'e> {
    pub(super) engine: &'e Engine,
    pub(super) hasher: foldhash::quality::RandomState,
    /// `None` until the transaction is attached.
    pub(super) attached: Option<Attached<'e>>,
    pub(super) buffer: Buffer,
    /// The size in bytes of the documents in [`Buffer::Rows`].
    buffer_bytes: usize,
    /// The live cases that the transaction stores, by id.
    pub(super) ids: PendingIds,
    /// The rows of cases that the transaction first stored and then replaced.
    pub(super) own_deleted: Vec<RowAddr>,
    /// The stored rows that the transaction replaces or deletes, each with the hash of its id.
    pub(super) deleted: HashMap<StoredAddr, u64, foldhash::quality::RandomState>,
    /// The stored rows that [`delete`](Self::delete) deletes, in order. Empty if the engine has no standing filters.
    pub(super) removed: Vec<StoredAddr>,
    /// The insertion-order number of the next new case.
    pub(super) next_place: u64,
    /// The insertion-order number of the last stored case.
    #[cfg(feature = "store")]
    last_place: u64,
    /// The document numbers of the documents that no longer belong to a case.
    pub(super) released: Vec<u64>,
}

/// The writer lock, and the snapshot that was current when the lock was taken.
pub(super) struct Attached<'e> {
    pub(super) writer: Writing<'e>,
    pub(super) snapshot: Arc<Snapshot>,
}

impl<'e> Attached<'e> {
    /// Waits for the write in progress, and takes the writer lock.
    pub(super) fn new(engine: &'e Engine) -> Self {
        let mut writer = engine.current.write();
        let snapshot = engine.current_snapshot();
        writer.list(&snapshot);
        Self { writer, snapshot }
    }

    /// Returns the row of the live case with this id. `hash` is the hash of the id.
    fn find(&self, hash: u64, id: &str) -> Option<StoredAddr> {
        if self.snapshot.cases() == 0 {
            return None;
        }
        self.writer.find(&self.snapshot, hash, id)
    }
}

impl<'e> WriteTxn<'e> {
    /// Starts an attached transaction. Waits for the write in progress.
    pub(crate) fn new(engine: &'e Engine) -> Self {
        let attached = Attached::new(engine);
        Self { next_place: attached.writer.next_place, attached: Some(attached), ..Self::detached(engine) }
    }

    /// Starts a detached transaction. Until it is attached, it does not wait for other writes, and other writes do not wait for it.
    pub(crate) fn detached(engine: &'e Engine) -> Self {
        Self {
            engine,
            // All bases of an engine have the same hasher.
            hasher: engine.current.load().base.index().hasher().clone(),
            next_place: 0,
            #[cfg(feature = "store")]
            last_place: u64::MAX,
            attached: None,
            buffer: Buffer::Rows(Vec::new()),
            buffer_bytes: 0,
            ids: PendingIds::default(),
            own_deleted: Vec::new(),
            deleted: HashMap::default(),
            removed: Vec::new(),
            released: Vec::new(),
        }
    }

    pub(crate) fn engine(&self) -> &'e Engine {
        self.engine
    }

    /// Returns the insertion-order number of the case in the latest call of [`upsert`](Self::upsert). A case that replaces another
    /// case has the number of that case. Returns `u64::MAX` before the first call.
    #[cfg(feature = "store")]
    pub(crate) fn last_place(&self) -> u64 {
        self.last_place
    }

    /// Stores the case of a complete, valid row.
    ///
    /// # Errors
    /// Returns an error if the engine cannot hold another batch.
    pub(crate) fn upsert(
        &mut self,
        row: &Row<'_>,
        document: Document<'_>,
    ) -> Result<UpsertOutcome, Box<Error>> {
        self.make_room(document.size_bytes())?;
        let at = self.buffer.next();
        let id = row.id();
        let (upserted, place) = self.register(self.hasher.hash_one(id), || id, at, None);
        #[cfg(feature = "store")]
        {
            self.last_place = place;
        }
        match &mut self.buffer {
            Buffer::Rows(rows) => rows.push(Arc::new(BufferedRow::new(row, document, place))),
            Buffer::Batches(_, filling) => filling.push(row, document, place),
        }
        Ok(upserted)
    }

    /// Deletes a case. Returns false if there is no case with this id.
    ///
    /// The transaction must be attached, and must store no cases.
    pub(crate) fn delete(&mut self, id: &str) -> bool {
        debug_assert_eq!(self.ids.len(), 0, "a transaction that stores does not delete");
        let Some(attached) = &self.attached else { return false };
        let id = &*stored_id(self.engine.catalog(), id);
        let hash = self.hasher.hash_one(id);
        let Some(found) = attached.find(hash, id).filter(|at| !self.deleted.contains_key(at)) else {
            return false;
        };
        self.deleted.insert(found, hash);
        if self.engine.watching.is_some() {
            self.removed.push(found);
        }
        self.released.extend(attached.writer.describe(&attached.snapshot, found).1);
        true
    }

    /// Removes and returns the batch that is being filled, so that a worker thread can continue it.
    ///
    /// Returns `None` as long as the transaction has no full batch and fewer than `least` cases in the batch that is being filled.
    pub(crate) fn take_filling(&mut self, least: usize) -> Option<Box<BatchBuilder>> {
        if least == 0 {
            self.begin_batches();
        }
        match &mut self.buffer {
            Buffer::Batches(sealed, filling) if !sealed.is_empty() || filling.rows() >= least => {
                let next = BatchBuilder::new(&self.engine.catalog, self.engine.keep, 0);
                Some(std::mem::replace(filling, Box::new(next)))
            }
            _ => None,
        }
    }

    /// Stores the cases of a batch. The transaction must be detached. The first `known` cases of the batch are already registered,
    /// because they were in it when [`take_filling`](Self::take_filling) removed it.
    ///
    /// Calls `stored` for each further case, with its row and the outcome.
    ///
    /// # Errors
    /// Returns an error if the engine cannot hold another batch.
    pub(crate) fn push_batch(
        &mut self,
        mut batch: Batch,
        known: usize,
        lookup: Lookup,
        mut stored: impl FnMut(usize, UpsertOutcome),
    ) -> Result<(), Box<Error>> {
        debug_assert!(self.attached.is_none(), "ids are looked up when the transaction is attached");
        self.begin_batches();
        if let Buffer::Batches(sealed, filling) = &mut self.buffer
            && filling.rows() > 0
        {
            sealed.push(filling.seal().into());
        }
        self.check_next_batch(0)?;
        let number = self.buffer.next().batch as usize;
        let Lookup { base, ids, keys } = lookup;
        let mut places: Vec<u64> = (0..known).map(|row| batch.place(row)).collect();
        self.ids.reserve(ids.len());
        for (row, (hash, _)) in ids.iter().copied().enumerate().skip(known) {
            let incoming = IncomingBatch { number, batch: &batch, places: &places };
            let at = row_addr(number, row);
            let (upserted, place) = self.register(hash, || batch.id(row), at, Some(incoming));
            places.push(place);
            stored(row, upserted);
        }
        let covered = CoveredRows::new(base, ids.into_iter().map(|(_, at)| at));
        batch.set_places(places);
        if let Buffer::Batches(sealed, _) = &mut self.buffer {
            sealed.push(SealedBatch { batch, keys, covered });
        }
        Ok(())
    }

    /// Records the row of a case, given its id and the hash of the id. Returns the outcome and the insertion-order number of the
    /// case. If the case replaces another case, it gets the number of that case.
    ///
    /// `incoming` is the batch that contains the row, if the buffer does not contain this batch yet.
    fn register<'i>(
        &mut self,
        hash: u64,
        id: impl Fn() -> &'i str,
        at: RowAddr,
        incoming: Option<IncomingBatch<'_>>,
    ) -> (UpsertOutcome, u64) {
        let buffer = &self.buffer;
        let incoming_of = |at: RowAddr| incoming.filter(|incoming| incoming.has(at));
        let id_of = |at: RowAddr| match incoming_of(at) {
            Some(incoming) => incoming.batch.id(usize::from(at.row)),
            None => buffer.id(at),
        };
        let replaced = if let Some(own) = self.ids.replace(hash, at, |at| id_of(at) == id()) {
            self.own_deleted.push(own);
            Some(incoming_of(own).map_or_else(|| buffer.describe(own), |incoming| incoming.describe(own)))
        } else {
            self.ids.insert(hash, at);
            self.attached.as_ref().and_then(|attached| {
                let found = attached.find(hash, id()).filter(|at| !self.deleted.contains_key(at))?;
                self.deleted.insert(found, hash);
                Some(attached.writer.describe(&attached.snapshot, found))
            })
        };
        match replaced {
            Some((place, number)) => {
                self.released.extend(number);
                (UpsertOutcome::Replaced, place)
            }
            None => {
                let place = self.next_place;
                self.next_place += 1;
                (UpsertOutcome::Stored, place)
            }
        }
    }

    /// Prepares the buffer for one more case, which has a document of `document_bytes` bytes.
    fn make_room(&mut self, document_bytes: usize) -> Result<(), Box<Error>> {
        let sizes = self.engine.sizes;
        self.buffer_bytes += document_bytes;
        if let Buffer::Rows(rows) = &self.buffer
            && (rows.len() >= sizes.head() || self.buffer_bytes > HEAD_BYTES)
        {
            self.begin_batches();
        }
        if let Buffer::Batches(sealed, filling) = &mut self.buffer {
            if filling.is_full() || filling.rows() >= sizes.batch {
                // After a full batch, the next batch will probably become full, too.
                sealed.push(filling.seal_and_go_on().into());
            } else if filling.rows() == sizes.batch / LIKELY_FULL {
                let bytes = filling.document_bytes().saturating_mul(LIKELY_FULL).min(LIKELY_DOCUMENT_BYTES);
                filling.reserve(sizes.batch, bytes);
            }
        }
        match &self.buffer {
            // The batch that is being filled has room, so the case needs no further batch.
            Buffer::Batches(_, filling) if filling.rows() > 0 => Ok(()),
            Buffer::Batches(..) => self.check_next_batch(0),
            Buffer::Rows(rows) => self.check_next_batch(rows.len() + 1),
        }
    }

    /// If the buffer still has single rows, which could have become part of the head, moves them to a first batch.
    fn begin_batches(&mut self) {
        if let Buffer::Rows(rows) = &self.buffer {
            let mut builder = Box::new(BatchBuilder::new(&self.engine.catalog, self.engine.keep, 0));
            rows.iter().for_each(|row| builder.push_owned(row));
            self.buffer = Buffer::Batches(Vec::new(), builder);
        }
    }

    /// Checks that the engine can hold one more batch of the transaction. `rows` is passed to
    /// [`check_batches`](Self::check_batches).
    fn check_next_batch(&self, rows: usize) -> Result<(), Box<Error>> {
        match &self.attached {
            Some(Attached { snapshot, .. }) => self.check_batches(snapshot, rows),
            None => self.check_batches(&self.engine.current.load(), rows),
        }
    }

    /// Checks that the engine can hold the batches of a snapshot and those of the transaction. The batch that is being filled
    /// counts as well.
    ///
    /// `rows` is the number of single rows in the buffer, which may become part of the head. It is ignored if the buffer has
    /// batches. The head counts as a batch.
    pub(super) fn check_batches(&self, snapshot: &Snapshot, rows: usize) -> Result<(), Box<Error>> {
        let added = match &self.buffer {
            Buffer::Rows(_) => {
                let joins = snapshot.head.len() > 0 && self.fits_head(&snapshot.head, rows);
                usize::from(!joins)
            }
            Buffer::Batches(sealed, _) => sealed.len() + 1,
        };
        self.check_added(snapshot, added)
    }

    /// Checks that the engine can hold `added` batches in addition to the batches of a snapshot.
    pub(super) fn check_added(&self, snapshot: &Snapshot, added: usize) -> Result<(), Box<Error>> {
        let batches = snapshot.batches() + added;
        let limit = self.engine.limits.batches.min(MAX_BATCHES);
        if batches <= limit {
            return Ok(());
        }
        let found = format!("a document for batch {batches}");
        let expected = format!("at most {limit} batches in an engine");
        Err(Box::new(Error::new(ErrorKind::TooManyBatches, 0, found, expected)))
    }

    /// Returns true if the head has room for `rows` cases and for the deletions so far.
    pub(super) fn fits_head(&self, head: &Head, rows: usize) -> bool {
        let edits = rows.max(self.deleted.len() + self.own_deleted.len());
        head.len() + edits <= self.engine.sizes.head()
            && head.document_bytes() + self.buffer_bytes <= HEAD_BYTES
    }
}
