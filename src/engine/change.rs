//! A write under way, whichever door it came in by.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::Engine;
use super::current::Writing;
#[cfg(feature = "parallel")]
use super::gathered::Built;
#[cfg(feature = "parallel")]
use super::lookup::Lookup;
use super::merge::{Merge, join_head};
use super::own_ids::OwnIds;
use super::prepared::{Effects, Prepared};
use super::snapshot::{Head, Snapshot};
use super::view::{BatchId, Slot, View, Where};
use crate::batch::{Batch, BatchBuilder, BatchKeys, Document, MAX_BATCHES, OwnedRow, Row};
use crate::catalog::FieldId;
use crate::column::{Bitmap, Selection};
use crate::error::{Error, ErrorKind};
use crate::page::At;

/// What became of a document that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upserted {
    /// Its `id` is new.
    Stored,
    /// It replaced the document of the same `id`, and keeps its place.
    Replaced,
}

/// Values that a write copies of a merge under way, for each case that it stores or deletes, and one more
/// time. A case is copied at most three times, a value a field, so that merging keeps up with writing.
const MERGE_STEP: usize = 1024;

/// Keys of the directory that a write moves, for each case that it stores or deletes, and one more time. A case has
/// few keys, each of which is moved a logarithm of the number of batches of times.
const KEY_STEP: usize = 128;

/// From so many cases on, an import reads batches of them on several threads.
#[cfg(feature = "parallel")]
const WORTH_A_THREAD: usize = 1024;

/// So many cases before one of a batch is looked for, it is announced.
#[cfg(feature = "parallel")]
const EARLY: usize = 16;

/// More bytes than this of documents are not kept in the head: a search would have to seal them.
const HEAD_BYTES: usize = 1 << 24;
/// A batch that is full by one part in so many is likely to become full, and gets the room for that: what grows bit by bit is
/// copied again and again.
const MANY_IN_BATCH: usize = 16;
/// At most so much of that is for documents, whose size nobody promised.
const LIKELY_DOCUMENT_BYTES: usize = 1 << 26;

/// A write under way: it holds up other writes, and nobody sees it until it is published.
///
/// Dropped before, nothing of it happened.
pub(crate) struct Change<'e> {
    engine: &'e Engine,
    writer: Writing<'e>,
    snapshot: Arc<Snapshot>,
    own: Own,
    /// The size of the documents of [`Own::Rows`].
    own_bytes: usize,
    /// Where the live ones of the cases that it stores are.
    ids: OwnIds,
    /// Those of the cases it stores that it replaces again.
    own_dead: Vec<At>,
    /// Rows of before that it replaces or deletes, with the hash of the id.
    dead: HashMap<Where, u64, foldhash::quality::RandomState>,
    next_place: u64,
    /// The place of the case stored last.
    last_place: u64,
    released: Vec<u64>,
}

/// The cases that a change stores.
enum Own {
    /// Few: they may go to the head. [`At::batch`] is 0.
    Rows(Vec<Arc<OwnedRow>>),
    /// Full batches, and the one being filled, numbered behind them.
    Batches(Vec<Sealed>, Box<BatchBuilder>),
}

/// A batch that is to be stored.
struct Sealed {
    batch: Batch,
    /// Those of its key fields that are made already.
    keys: Vec<(FieldId, BatchKeys)>,
}

impl From<Batch> for Sealed {
    fn from(batch: Batch) -> Self {
        Self { batch, keys: Vec::new() }
    }
}

impl Own {
    fn id(&self, at: At) -> &str {
        let row = usize::from(at.row);
        match self {
            Self::Rows(rows) => rows.get(row).map_or("", |row| row.id()),
            Self::Batches(sealed, filling) => {
                sealed.get(at.batch as usize).map_or_else(|| filling.id(row), |sealed| sealed.batch.id(row))
            }
        }
    }

    /// The place and the document number.
    fn describe(&self, at: At) -> (u64, Option<u64>) {
        let row = usize::from(at.row);
        match self {
            Self::Rows(rows) => {
                rows.get(row).map_or((u64::MAX, None), |row| (row.place, row.document_number()))
            }
            Self::Batches(sealed, filling) => sealed.get(at.batch as usize).map_or_else(
                || (filling.place(row), filling.document_number(row)),
                |sealed| (sealed.batch.place(row), sealed.batch.document_number(row)),
            ),
        }
    }
}

/// A batch whose rows are being added to a change, as far as they have places.
#[derive(Clone, Copy)]
struct Next<'b> {
    number: u32,
    batch: &'b Batch,
    places: &'b [u64],
    /// Where the covered case of the row's id is, if there is one.
    covered: Option<Where>,
}

impl Next<'_> {
    /// The place and the document number.
    fn describe(&self, at: At) -> (u64, Option<u64>) {
        let row = usize::from(at.row);
        (self.places.get(row).copied().unwrap_or(u64::MAX), self.batch.document_number(row))
    }
}

impl<'e> Change<'e> {
    /// Waits for a write that is under way.
    pub(crate) fn new(engine: &'e Engine) -> Self {
        let writer = engine.current.write();
        let snapshot = engine.snapshot();
        Self {
            engine,
            next_place: writer.next_place,
            last_place: u64::MAX,
            writer,
            snapshot,
            own: Own::Rows(Vec::new()),
            own_bytes: 0,
            ids: OwnIds::default(),
            own_dead: Vec::new(),
            dead: HashMap::default(),
            released: Vec::new(),
        }
    }

    pub(crate) fn engine(&self) -> &'e Engine {
        self.engine
    }

    /// Where the next case goes: its batch and row among the change's own.
    fn next(&mut self, bytes: usize) -> Result<At, Box<Error>> {
        let sizes = self.engine.sizes;
        self.own_bytes = self.own_bytes.saturating_add(bytes);
        if let Own::Rows(rows) = &self.own
            && (rows.len() >= sizes.head() || self.own_bytes > HEAD_BYTES)
        {
            self.begin_batches();
        }
        if let Own::Batches(sealed, filling) = &mut self.own {
            if filling.is_full() || filling.rows() >= sizes.batch {
                // Where one batch was filled, another will be, as a rule.
                sealed.push(filling.seal_and_go_on().into());
            } else if filling.rows() == sizes.batch / MANY_IN_BATCH {
                let bytes = filling.document_bytes().saturating_mul(MANY_IN_BATCH).min(LIKELY_DOCUMENT_BYTES);
                filling.reserve(sizes.batch, bytes);
            }
        }
        // How many batches the change adds to those there are, the head being one.
        let (batches, batch, row) = match &self.own {
            Own::Rows(rows) => {
                let joins = self.snapshot.head.len() > 0 && self.fits_head(rows.len().saturating_add(1));
                (usize::from(!joins), 0, rows.len())
            }
            Own::Batches(sealed, filling) => (sealed.len().saturating_add(1), sealed.len(), filling.rows()),
        };
        self.check_batches(batches)?;
        // There are no more batches than that, and no more rows in one.
        let (batch, row) = (u32::try_from(batch).unwrap_or(u32::MAX), u16::try_from(row).unwrap_or(u16::MAX));
        Ok(At { batch, row })
    }

    /// Moves cases that might have gone to the head to the first batch.
    fn begin_batches(&mut self) {
        if let Own::Rows(rows) = &self.own {
            let mut builder = Box::new(BatchBuilder::new(&self.engine.catalog, self.engine.keep, 0));
            rows.iter().for_each(|row| builder.push_owned(row));
            self.own = Own::Batches(Vec::new(), builder);
        }
    }

    /// Whether the engine can hold so many further batches.
    fn check_batches(&self, added: usize) -> Result<(), Box<Error>> {
        let batches = self.snapshot.batches().saturating_add(added);
        let limit = self.engine.limits.batches.min(MAX_BATCHES);
        if batches <= limit {
            return Ok(());
        }
        let found = format!("a case for batch {batches}");
        let expected = format!("at most {limit} batches in an engine");
        Err(Box::new(Error::new(ErrorKind::TooManyBatches, 0, found, expected)))
    }

    /// Whether so many stored cases, and the deaths so far, have room in the head as it is.
    fn fits_head(&self, rows: usize) -> bool {
        let head = &self.snapshot.head;
        let edits = rows.max(self.dead.len().saturating_add(self.own_dead.len()));
        head.len().saturating_add(edits) <= self.engine.sizes.head()
            && head.document_bytes().saturating_add(self.own_bytes) <= HEAD_BYTES
    }

    fn find_before(&self, hash: u64, id: &str) -> Option<Where> {
        if self.snapshot.cases() == 0 {
            return None;
        }
        self.writer.find(&self.snapshot, hash, id).filter(|at| !self.dead.contains_key(at))
    }

    /// Stores a case whose row is complete and sound.
    ///
    /// # Errors
    /// When the engine can hold no further batch.
    pub(crate) fn upsert(&mut self, row: &Row<'_>, document: Document<'_>) -> Result<Upserted, Box<Error>> {
        let at = self.next(document.size_bytes())?;
        let id = row.id();
        let hash = self.snapshot.base.directory().hasher().hash_one(id);
        self.ids.announce(hash);
        // The row is pushed as that of a new case before it is known whether it is one: meanwhile that is fetched which tells. Nothing
        // finds the row yet.
        if let Own::Batches(_, filling) = &mut self.own {
            filling.push(row, document, self.next_place);
        }
        let (upserted, place) = self.register(hash, || id, at, None);
        self.last_place = place;
        match &mut self.own {
            Own::Rows(rows) => rows.push(Arc::new(OwnedRow::new(row, document, place))),
            Own::Batches(_, filling) => filling.set_last_place(place),
        }
        Ok(upserted)
    }

    /// Notes where the case of an id, given with its hash, is from now on; gives its place, that of the case that it
    /// replaces.
    ///
    /// `next` is the batch of the row when it is not among the change's own yet.
    fn register<'i>(
        &mut self,
        hash: u64,
        id: impl Fn() -> &'i str,
        at: At,
        next: Option<Next<'_>>,
    ) -> (Upserted, u64) {
        let own = &self.own;
        let id_of = |at: At| match next {
            Some(next) if next.number == at.batch => next.batch.id(usize::from(at.row)),
            _ => own.id(at),
        };
        let before = if let Some(before) = self.ids.replace(hash, at, |at| id_of(at) == id()) {
            self.own_dead.push(before);
            Some(match next {
                Some(next) if next.number == before.batch => next.describe(before),
                _ => own.describe(before),
            })
        } else {
            let before = match next {
                Some(Next { covered, .. }) => {
                    let before = self.writer.find_known(&self.snapshot, hash, &id, covered);
                    before.filter(|at| !self.dead.contains_key(at))
                }
                None => self.find_before(hash, id()),
            };
            self.ids.insert(hash, at);
            before.map(|before| {
                self.dead.insert(before, hash);
                self.writer.describe(&self.snapshot, before)
            })
        };
        match before {
            Some((place, number)) => {
                self.released.extend(number);
                (Upserted::Replaced, place)
            }
            None => {
                let place = self.next_place;
                self.next_place = place.saturating_add(1);
                (Upserted::Stored, place)
            }
        }
    }

    /// The batch being filled, once there are enough cases that reading more of them is worth a thread.
    #[cfg(feature = "parallel")]
    pub(crate) fn take_builder(&mut self) -> Option<Box<BatchBuilder>> {
        match &mut self.own {
            Own::Batches(sealed, filling) if !sealed.is_empty() || filling.rows() >= WORTH_A_THREAD => {
                let next = BatchBuilder::new(&self.engine.catalog, self.engine.keep, 0);
                Some(std::mem::replace(filling, Box::new(next)))
            }
            _ => None,
        }
    }

    /// The batch being filled, however few rows it has.
    #[cfg(all(feature = "arrow", feature = "parallel"))]
    pub(super) fn filling(&mut self) -> Option<Box<BatchBuilder>> {
        self.begin_batches();
        match &mut self.own {
            Own::Batches(_, filling) if filling.rows() > 0 => {
                let next = BatchBuilder::new(&self.engine.catalog, self.engine.keep, 0);
                Some(std::mem::replace(filling, Box::new(next)))
            }
            _ => None,
        }
    }

    /// Stores the cases of a batch, the first of which may be [known](Built::known) to the change already.
    ///
    /// Each case that is new to it is handed to `stored` with its row and its place. Gives back the memory of the text.
    ///
    /// # Errors
    /// When the engine can hold no further batch.
    #[cfg(feature = "parallel")]
    pub(super) fn push_batch(
        &mut self,
        mut built: Built<'_>,
        mut stored: impl FnMut(&Built<'_>, usize, Upserted, u64),
    ) -> Result<Vec<u8>, Box<Error>> {
        if built.batch.rows() == 0 {
            return Ok(built.text);
        }
        let Own::Batches(sealed, filling) = &mut self.own else { return Ok(built.text) };
        if filling.rows() > 0 {
            sealed.push(filling.seal().into());
        }
        let number = sealed.len();
        self.check_batches(number.saturating_add(1))?;
        // There are fewer batches than that.
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let mut places: Vec<u64> = (0..built.known).map(|row| built.batch.place(row)).collect();
        let Lookup { ids, keys } = std::mem::take(&mut built.lookup);
        self.ids.reserve(ids.len());
        let mut later = ids.iter().skip(EARLY);
        for (row, (hash, covered)) in (built.known..).zip(ids.iter().copied()) {
            if let Some((later, _)) = later.next() {
                self.ids.announce(*later);
            }
            // A batch has no more rows than that.
            let at = At { batch: number, row: u16::try_from(row).unwrap_or(u16::MAX) };
            let next = Next { number, batch: &built.batch, places: &places, covered };
            let (upserted, place) = self.register(hash, || built.batch.id(row), at, Some(next));
            places.push(place);
            stored(&built, row, upserted, place);
        }
        if let Own::Batches(sealed, _) = &mut self.own {
            sealed.push(Sealed { batch: built.batch.with_places(places), keys });
        }
        Ok(built.text)
    }

    /// The place of the case stored last.
    pub(crate) fn last_place(&self) -> u64 {
        self.last_place
    }

    /// Deletes a case; false when there is none of this id. The change stores none itself.
    pub(crate) fn delete(&mut self, id: &str) -> bool {
        debug_assert_eq!(self.ids.len(), 0, "no change both stores and deletes");
        let hash = self.snapshot.base.directory().hasher().hash_one(id);
        let Some(before) = self.find_before(hash, id) else { return false };
        self.dead.insert(before, hash);
        self.released.extend(self.writer.describe(&self.snapshot, before).1);
        true
    }

    /// Makes everything ready that could fail or take time; nobody sees it yet.
    pub(crate) fn prepare(mut self) -> Prepared<'e> {
        let stored = match &self.own {
            Own::Rows(rows) => rows.len(),
            Own::Batches(sealed, filling) => {
                sealed.iter().map(|sealed| sealed.batch.rows()).fold(filling.rows(), usize::saturating_add)
            }
        };
        let writes = stored.saturating_add(self.dead.len()).saturating_add(1);
        match &self.own {
            Own::Rows(rows) if self.fits_head(rows.len()) => {
                let (mut budget, mut keys) =
                    (MERGE_STEP.saturating_mul(writes), KEY_STEP.saturating_mul(writes));
                if let Some(merge) = &mut self.writer.merge {
                    let directory = self.snapshot.base.directory();
                    merge.step(&self.engine.catalog, directory, self.engine.sizes, &mut budget);
                }
                if let Some(work) = &mut self.writer.keys {
                    work.step(self.snapshot.base.directory(), &mut keys);
                }
                self.prepare_in_head()
            }
            _ => self.prepare_sealed(writes),
        }
    }

    /// Adds what the change did to the head.
    fn prepare_in_head(self) -> Prepared<'e> {
        let before = &self.snapshot;
        let mut head = before.head.clone();
        let first = head.rows();
        let rows = match self.own {
            Own::Rows(rows) => rows,
            Own::Batches(..) => Vec::new(),
        };
        let mut effects = Effects::new(self.next_place, self.writer.next_batch);
        effects.note_dead(&self.dead);
        effects.died = self.dead.keys().copied().filter(|at| matches!(at, Where::Covered(..))).collect();
        let hasher = before.base.directory().hasher();
        effects.note_head(&self.ids, |at| hash_in(&rows, at, hasher), head.id, first);
        let own_dead = own_dead_in_head(&self.own_dead, head.id, first);
        let cases = before.cases().saturating_add(self.ids.len()).saturating_sub(self.dead.len());
        head.extend(&rows, self.dead.into_keys().chain(own_dead));
        effects.head = rows;
        let after = Arc::new(Snapshot::new(Arc::clone(&before.base), head, cases).following(before));
        Prepared { writer: self.writer, after, released: self.released, effects }
    }

    /// Seals the head as it was, and batches of the change if it has some; other cases of it start a new head. `writes` are
    /// the cases that the change stores or deletes, and one more.
    fn prepare_sealed(mut self, writes: usize) -> Prepared<'e> {
        let (mut budget, mut keys) = (MERGE_STEP.saturating_mul(writes), KEY_STEP.saturating_mul(writes));
        let engine = self.engine;
        let (catalog, sizes, keep) = (&engine.catalog, engine.sizes, engine.keep);
        let mut view = View::clone(self.snapshot.view(catalog, keep));
        let mut effects = Effects::new(self.next_place, self.writer.next_batch);
        effects.is_new_head = true;
        effects.note_dead(&self.dead);
        view.kill(std::mem::take(&mut self.dead).into_keys().collect());
        view.drop_where(catalog, |slot| slot.live_rows == 0);
        let mut merge = self.writer.merge.take();
        if view.apart(self.snapshot.head.id).is_some() {
            let is_taken = |id| merge.as_ref().is_some_and(|merge| merge.takes(id));
            effects.moved.extend(join_head(&mut view, keep, sizes, is_taken));
        }
        let mut rows = Vec::new();
        match std::mem::replace(&mut self.own, Own::Rows(Vec::new())) {
            Own::Rows(own) => rows = own,
            Own::Batches(mut sealed, mut filling) => {
                if filling.rows() > 0 {
                    sealed.push(filling.seal().into());
                }
                self.push_batches(sealed, &mut view, &mut effects);
            }
        }
        view.settle();
        while let Some(mut next) = merge.take().or_else(|| Merge::choose(&view, sizes, keep)) {
            if budget == 0 || !next.step(catalog, view.directory(), sizes, &mut budget) {
                merge = Some(next);
                break;
            }
            let id = effects.take_batch_id();
            effects.moved.extend(next.apply(&mut view, catalog, id, sizes));
            view.settle();
        }
        effects.merge = merge;
        let mut key_work = self.writer.keys.take();
        while let Some(mut work) = key_work.take().or_else(|| view.directory().key_work(writes)) {
            if !work.step(view.directory(), &mut keys) {
                key_work = Some(work);
                break;
            }
            view.put_keys(work);
        }
        effects.keys = key_work;
        let mut head = Head::new(effects.take_batch_id());
        let cases = view.cases();
        let mut own_cases = 0;
        if !rows.is_empty() {
            let hasher = view.directory().hasher();
            effects.note_head(&self.ids, |at| hash_in(&rows, at, hasher), head.id, 0);
            own_cases = self.ids.len();
            let own_dead: Vec<Where> = own_dead_in_head(&self.own_dead, head.id, 0).collect();
            head.extend(&rows, own_dead.into_iter());
            effects.head = rows;
        }
        let after = Arc::new(Snapshot::new(Arc::new(view), head, cases.saturating_add(own_cases)));
        Prepared { writer: self.writer, after, released: self.released, effects }
    }

    /// Adds sealed batches of the change to a view.
    fn push_batches(&self, sealed: Vec<Sealed>, view: &mut View, effects: &mut Effects) {
        let mut dead: Vec<Vec<u16>> = vec![Vec::new(); sealed.len()];
        for at in &self.own_dead {
            if let Some(rows) = dead.get_mut(at.batch as usize) {
                rows.push(at.row);
            }
        }
        for (Sealed { batch, keys }, dead) in sealed.into_iter().zip(dead) {
            let live = Bitmap::ones(batch.rows()).without(dead.into_iter().map(usize::from));
            let slot = Slot::new(effects.take_batch_id(), batch, Selection::from_bitmap(live));
            if self.engine.sizes.is_covered(slot.live_rows) {
                view.push_covered(&self.engine.catalog, slot, keys);
            } else if slot.live_rows > 0 {
                let hasher = view.directory().hasher();
                effects.inserted.extend(slot.live.iter(slot.batch.rows()).filter_map(|row| {
                    Some((hasher.hash_one(slot.batch.id(row)), slot.id, u16::try_from(row).ok()?))
                }));
                view.push_apart(slot);
            }
        }
    }
}

/// The hash of the id of the case that one of these rows is.
fn hash_in(rows: &[Arc<OwnedRow>], at: At, hasher: &impl BuildHasher) -> u64 {
    rows.get(usize::from(at.row)).map_or(0, |row| hasher.hash_one(row.id()))
}

/// Rows of the change that died within it, as rows of a head in which they start at `first`.
fn own_dead_in_head(dead: &[At], head: BatchId, first: u16) -> impl Iterator<Item = Where> {
    dead.iter().map(move |at| Where::Apart(head, first.saturating_add(at.row)))
}
