//! Cases stored and deleted by one transaction.

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
use crate::engine::write::report::Upserted;
use crate::error::{Error, ErrorKind};

/// More bytes than this of documents are not kept in the head: a search would have to seal them.
const HEAD_BYTES: usize = 1 << 24;

/// A batch that is full by this part is likely to become full, and gets the room for that: a buffer that grows bit by bit is copied
/// again and again.
const LIKELY_FULL: usize = 16;
/// At most this much of that room is for documents, whose size is not known.
const LIKELY_DOCUMENT_BYTES: usize = 1 << 26;

/// A write under way, which searches see once it is published. Dropped before, nothing of it happened.
///
/// [Attached](Self::new), it holds the right to write and so keeps other writes waiting. [Detached](Self::detached), it does not
/// know what is stored: its cases have places counted from 0, and a case counts as stored if its id is new to the transaction.
/// [`attach`](Self::attach) mends both.
pub(crate) struct WriteTxn<'e> {
    pub(super) engine: &'e Engine,
    pub(super) hasher: foldhash::quality::RandomState,
    /// Absent until the transaction is attached.
    pub(super) before: Option<Before<'e>>,
    pub(super) buffer: Buffer,
    /// The size of the documents of [`Buffer::Rows`].
    buffer_bytes: usize,
    /// The live ones of the cases that it stores.
    pub(super) ids: PendingIds,
    /// The cases it stores that it replaces again.
    pub(super) own_deleted: Vec<RowAddr>,
    /// Stored rows that it replaces or deletes, with the hash of the id.
    pub(super) deleted: HashMap<StoredAddr, u64, foldhash::quality::RandomState>,
    pub(super) next_place: u64,
    /// The place of the case stored last.
    last_place: u64,
    /// The numbers of the documents that no case will have any more.
    pub(super) released: Vec<u64>,
}

/// The right to write, and the snapshot when it was got.
pub(super) struct Before<'e> {
    pub(super) writer: Writing<'e>,
    pub(super) snapshot: Arc<Snapshot>,
}

impl<'e> Before<'e> {
    /// Waits for a write that is under way.
    pub(super) fn new(engine: &'e Engine) -> Self {
        let writer = engine.current.write();
        Self { writer, snapshot: engine.snapshot() }
    }

    /// Returns the row of the live case of an id, given its hash.
    fn find(&self, hash: u64, id: &str) -> Option<StoredAddr> {
        if self.snapshot.cases() == 0 {
            return None;
        }
        self.writer.find(&self.snapshot, hash, id)
    }
}

impl<'e> WriteTxn<'e> {
    /// Begins attached: waits for a write that is under way.
    pub(crate) fn new(engine: &'e Engine) -> Self {
        let before = Before::new(engine);
        Self { next_place: before.writer.next_place, before: Some(before), ..Self::detached(engine) }
    }

    /// Begins detached: neither waits for other writes, nor keeps them waiting before it is attached.
    pub(crate) fn detached(engine: &'e Engine) -> Self {
        Self {
            engine,
            // That of every base of the engine.
            hasher: engine.current.load().base.index().hasher().clone(),
            next_place: 0,
            last_place: u64::MAX,
            before: None,
            buffer: Buffer::Rows(Vec::new()),
            buffer_bytes: 0,
            ids: PendingIds::default(),
            own_deleted: Vec::new(),
            deleted: HashMap::default(),
            released: Vec::new(),
        }
    }

    pub(crate) fn engine(&self) -> &'e Engine {
        self.engine
    }

    /// Returns the place of the case stored last.
    pub(crate) fn last_place(&self) -> u64 {
        self.last_place
    }

    /// Stores a case whose row is complete and sound.
    ///
    /// # Errors
    /// When the engine can hold no further batch.
    pub(crate) fn upsert(&mut self, row: &Row<'_>, document: Document<'_>) -> Result<Upserted, Box<Error>> {
        self.make_room(document.size_bytes())?;
        let at = self.buffer.next();
        let id = row.id();
        let (upserted, place) = self.register(self.hasher.hash_one(id), || id, at, None, None);
        self.last_place = place;
        match &mut self.buffer {
            Buffer::Rows(rows) => rows.push(Arc::new(BufferedRow::new(row, document, place))),
            Buffer::Batches(_, filling) => filling.push(row, document, place),
        }
        Ok(upserted)
    }

    /// Deletes a case. Returns false if there is none of this id.
    ///
    /// The transaction stores none itself, and was begun attached.
    pub(crate) fn delete(&mut self, id: &str) -> bool {
        debug_assert_eq!(self.ids.len(), 0, "a transaction that stores does not delete");
        let Some(before) = &self.before else { return false };
        let hash = self.hasher.hash_one(id);
        let Some(found) = before.find(hash, id).filter(|at| !self.deleted.contains_key(at)) else {
            return false;
        };
        self.deleted.insert(found, hash);
        self.released.extend(before.writer.describe(&before.snapshot, found).1);
        true
    }

    /// Takes the batch being filled, for a worker to go on with.
    ///
    /// Returns `None` while the transaction has neither a full batch nor `least` cases in this one.
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

    /// Stores the cases of a batch, the first `known` of which the transaction knows, since it [began](Self::take_filling) the batch.
    ///
    /// Hands each other one to `stored`: its row, what became of it, and its place.
    ///
    /// # Errors
    /// When the engine can hold no further batch.
    pub(crate) fn push_batch(
        &mut self,
        mut batch: Batch,
        known: usize,
        lookup: Lookup,
        mut stored: impl FnMut(usize, Upserted, u64),
    ) -> Result<(), Box<Error>> {
        self.begin_batches();
        if let Buffer::Batches(sealed, filling) = &mut self.buffer
            && filling.rows() > 0
        {
            sealed.push(filling.seal().into());
        }
        self.check_next_batch(0)?;
        let number = self.buffer.next().batch as usize;
        let Lookup { base, mut ids, keys } = lookup;
        if let Some(Before { snapshot, .. }) = &self.before
            && !std::ptr::eq(base.as_ptr(), Arc::as_ptr(&snapshot.base))
        {
            let texts: Vec<&str> = (0..batch.rows()).map(|row| batch.id(row)).collect();
            ids = snapshot.base.find_all_covered(&texts);
        }
        let mut places: Vec<u64> = (0..known).map(|row| batch.place(row)).collect();
        self.ids.reserve(ids.len());
        for (row, (hash, covered)) in ids.iter().copied().enumerate().skip(known) {
            let incoming = IncomingBatch { number, batch: &batch, places: &places };
            let at = row_addr(number, row);
            let (upserted, place) = self.register(hash, || batch.id(row), at, Some(incoming), covered);
            places.push(place);
            stored(row, upserted, place);
        }
        let covered = match &self.before {
            Some(_) => CoveredRows::default(),
            None => CoveredRows::new(base, ids.into_iter().map(|(_, at)| at)),
        };
        batch.set_places(places);
        if let Buffer::Batches(sealed, _) = &mut self.buffer {
            sealed.push(SealedBatch { batch, keys, covered });
        }
        Ok(())
    }

    /// Notes that the case of an id, given with its hash, is at a row from now on. Returns its place, that of the case that it
    /// replaces, if there is one.
    ///
    /// `incoming` is the batch of the row if the buffer does not have it yet. `covered` is then the live covered row of the id.
    fn register<'i>(
        &mut self,
        hash: u64,
        id: impl Fn() -> &'i str,
        at: RowAddr,
        incoming: Option<IncomingBatch<'_>>,
        covered: Option<StoredAddr>,
    ) -> (Upserted, u64) {
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
            self.before.as_ref().and_then(|before| {
                let found = match incoming {
                    Some(_) => before.writer.find_known(&before.snapshot, hash, &id, covered),
                    None => before.find(hash, id()),
                };
                let found = found.filter(|at| !self.deleted.contains_key(at))?;
                self.deleted.insert(found, hash);
                Some(before.writer.describe(&before.snapshot, found))
            })
        };
        match replaced {
            Some((place, number)) => {
                self.released.extend(number);
                (Upserted::Replaced, place)
            }
            None => {
                let place = self.next_place;
                self.next_place += 1;
                (Upserted::Stored, place)
            }
        }
    }

    /// Makes room in the buffer for one more case, with a document of this size.
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
                // Where one batch was filled, another will be, as a rule.
                sealed.push(filling.seal_and_go_on().into());
            } else if filling.rows() == sizes.batch / LIKELY_FULL {
                let bytes = filling.document_bytes().saturating_mul(LIKELY_FULL).min(LIKELY_DOCUMENT_BYTES);
                filling.reserve(sizes.batch, bytes);
            }
        }
        match &self.buffer {
            // The next rows of a batch need no further one.
            Buffer::Batches(_, filling) if filling.rows() > 0 => Ok(()),
            Buffer::Batches(..) => self.check_next_batch(0),
            Buffer::Rows(rows) => self.check_next_batch(rows.len() + 1),
        }
    }

    /// Moves cases that might have gone to the head to the first batch.
    fn begin_batches(&mut self) {
        if let Buffer::Rows(rows) = &self.buffer {
            let mut builder = Box::new(BatchBuilder::new(&self.engine.catalog, self.engine.keep, 0));
            rows.iter().for_each(|row| builder.push_owned(row));
            self.buffer = Buffer::Batches(Vec::new(), builder);
        }
    }

    /// Checks that the engine can hold one more batch of the transaction; `rows` as for [`check_batches`](Self::check_batches).
    fn check_next_batch(&self, rows: usize) -> Result<(), Box<Error>> {
        match &self.before {
            Some(Before { snapshot, .. }) => self.check_batches(snapshot, rows),
            None => self.check_batches(&self.engine.current.load(), rows),
        }
    }

    /// Checks that the engine can hold the batches of the transaction, the one being filled among them, besides those of a snapshot.
    ///
    /// `rows` is the number of the cases if they may go to the head, which is a batch too.
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

    /// Checks that the engine can hold further batches besides those of a snapshot.
    pub(super) fn check_added(&self, snapshot: &Snapshot, added: usize) -> Result<(), Box<Error>> {
        let batches = snapshot.batches() + added;
        let limit = self.engine.limits.batches.min(MAX_BATCHES);
        if batches <= limit {
            return Ok(());
        }
        let found = format!("a case for batch {batches}");
        let expected = format!("at most {limit} batches in an engine");
        Err(Box::new(Error::new(ErrorKind::TooManyBatches, 0, found, expected)))
    }

    /// Returns whether the head has room for this number of cases and for the deletions so far.
    pub(super) fn fits_head(&self, head: &Head, rows: usize) -> bool {
        let edits = rows.max(self.deleted.len() + self.own_deleted.len());
        head.len() + edits <= self.engine.sizes.head()
            && head.document_bytes() + self.buffer_bytes <= HEAD_BYTES
    }
}
