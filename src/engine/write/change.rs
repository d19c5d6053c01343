//! A write under way, whichever door it came in by.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Weak};

#[cfg(feature = "parallel")]
use super::gathered::Built;
#[cfg(feature = "parallel")]
use super::lookup::Lookup;
use super::merge::{Merge, join_head};
use super::own_ids::OwnIds;
use super::prepared::{Effects, Prepared};
use super::report::Upserted;
use crate::batch::RowAddr;
use crate::batch::{Batch, BatchBuilder, Document, MAX_BATCHES, OwnedRow, Row};
use crate::catalog::FieldId;
use crate::column::{Bitmap, Selection};
use crate::engine::current::Writing;
use crate::engine::handle::Engine;
use crate::engine::snapshot::{BatchId, Head, Slot, Snapshot, View, Where};
use crate::error::{Error, ErrorKind};
use crate::index::BatchKeys;

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

/// A write under way, which searches see when it is published. Dropped before, nothing of it happened.
///
/// [Begun](Self::new) with the right to write, it holds up other writes. [Begun apart](Self::apart), it does so only from
/// [`attach`](Self::attach) on: until then it does not know what is stored, its cases have places counted from 0, and each of them
/// whose id is new to it counts as stored.
pub(crate) struct Change<'e> {
    engine: &'e Engine,
    hasher: foldhash::quality::RandomState,
    /// Absent until the change is attached.
    before: Option<Before<'e>>,
    own: Own,
    /// The size of the documents of [`Own::Rows`].
    own_bytes: usize,
    /// Where the live ones of the cases that it stores are.
    ids: OwnIds,
    /// Those of the cases it stores that it replaces again.
    own_dead: Vec<RowAddr>,
    /// Rows of before that it replaces or deletes, with the hash of the id.
    dead: HashMap<Where, u64, foldhash::quality::RandomState>,
    next_place: u64,
    /// The place of the case stored last.
    last_place: u64,
    released: Vec<u64>,
}

/// The right to write, and what was stored when it was got.
struct Before<'e> {
    writer: Writing<'e>,
    snapshot: Arc<Snapshot>,
}

impl<'e> Before<'e> {
    /// Waits for a write that is under way.
    fn new(engine: &'e Engine) -> Self {
        let writer = engine.current.write();
        Self { writer, snapshot: engine.snapshot() }
    }

    /// Where the live case of an id is, given its hash.
    fn find(&self, hash: u64, id: &str) -> Option<Where> {
        if self.snapshot.cases() == 0 {
            return None;
        }
        self.writer.find(&self.snapshot, hash, id)
    }
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
    /// Which covered cases its rows may replace; only of use until the change is attached.
    covered: Covered,
}

impl From<Batch> for Sealed {
    fn from(batch: Batch) -> Self {
        Self { batch, keys: Vec::new(), covered: Covered::default() }
    }
}

/// Rows of a batch, in order, with the live covered case of each one's id, as a base has it.
#[derive(Default)]
struct Covered {
    base: Weak<View>,
    rows: Vec<(usize, Where)>,
}

impl Covered {
    /// Of rows that were looked up in a base.
    fn new(base: Weak<View>, looked_up: impl Iterator<Item = Option<Where>>) -> Self {
        let mut rows: Vec<_> = looked_up.enumerate().filter_map(|(row, at)| Some((row, at?))).collect();
        // Collecting may have kept the memory of all that were looked up.
        rows.shrink_to_fit();
        Self { base, rows }
    }

    /// Looks the rows up again unless that was done in this base.
    fn update(&mut self, batch: &Batch, base: &Arc<View>) {
        if !std::ptr::eq(self.base.as_ptr(), Arc::as_ptr(base)) {
            let ids: Vec<&str> = (0..batch.rows()).map(|row| batch.id(row)).collect();
            let looked_up = base.find_all_covered(&ids);
            *self = Self::new(Arc::downgrade(base), looked_up.into_iter().map(|(_, at)| at));
        }
    }
}

impl Own {
    fn id(&self, at: RowAddr) -> &str {
        let row = usize::from(at.row);
        match self {
            Self::Rows(rows) => rows.get(row).map_or("", |row| row.id()),
            Self::Batches(sealed, filling) => {
                sealed.get(at.batch as usize).map_or_else(|| filling.id(row), |sealed| sealed.batch.id(row))
            }
        }
    }

    /// The place and the document number.
    fn describe(&self, at: RowAddr) -> (u64, Option<u64>) {
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
    fn describe(&self, at: RowAddr) -> (u64, Option<u64>) {
        let row = usize::from(at.row);
        (self.places.get(row).copied().unwrap_or(u64::MAX), self.batch.document_number(row))
    }
}

impl<'e> Change<'e> {
    /// Waits for a write that is under way.
    pub(crate) fn new(engine: &'e Engine) -> Self {
        let before = Before::new(engine);
        Self { next_place: before.writer.next_place, before: Some(before), ..Self::apart(engine) }
    }

    /// Does not wait for other writes, nor hold them up before it is attached.
    pub(crate) fn apart(engine: &'e Engine) -> Self {
        Self {
            engine,
            // That of every base of the engine.
            hasher: engine.current.load().base.directory().hasher().clone(),
            next_place: 0,
            last_place: u64::MAX,
            before: None,
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
    fn next(&mut self, bytes: usize) -> Result<RowAddr, Box<Error>> {
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
        let (batch, row) = match &self.own {
            Own::Rows(rows) => (0, rows.len()),
            Own::Batches(sealed, filling) => (sealed.len(), filling.rows()),
        };
        // The next rows of a batch need no further one.
        if row == 0 || matches!(self.own, Own::Rows(_)) {
            match &self.before {
                Some(Before { snapshot, .. }) => self.check_batches(snapshot, row.saturating_add(1))?,
                None => self.check_batches(&self.engine.current.load(), row.saturating_add(1))?,
            }
        }
        // There are no more batches than that, and no more rows in one.
        let (batch, row) = (u32::try_from(batch).unwrap_or(u32::MAX), u16::try_from(row).unwrap_or(u16::MAX));
        Ok(RowAddr { batch, row })
    }

    /// Moves cases that might have gone to the head to the first batch.
    fn begin_batches(&mut self) {
        if let Own::Rows(rows) = &self.own {
            let mut builder = Box::new(BatchBuilder::new(&self.engine.catalog, self.engine.keep, 0));
            rows.iter().for_each(|row| builder.push_owned(row));
            self.own = Own::Batches(Vec::new(), builder);
        }
    }

    /// Whether the engine can hold the batches of the change beside those that there are, the head being one; of cases that may
    /// go to the head, when there are so many.
    fn check_batches(&self, snapshot: &Snapshot, rows: usize) -> Result<(), Box<Error>> {
        let added = match &self.own {
            Own::Rows(_) => {
                let joins = snapshot.head.len() > 0 && self.fits_head(&snapshot.head, rows);
                usize::from(!joins)
            }
            Own::Batches(sealed, _) => sealed.len().saturating_add(1),
        };
        self.check_added(snapshot, added)
    }

    /// Whether the engine can hold so many further batches.
    fn check_added(&self, snapshot: &Snapshot, added: usize) -> Result<(), Box<Error>> {
        let batches = snapshot.batches().saturating_add(added);
        let limit = self.engine.limits.batches.min(MAX_BATCHES);
        if batches <= limit {
            return Ok(());
        }
        let found = format!("a case for batch {batches}");
        let expected = format!("at most {limit} batches in an engine");
        Err(Box::new(Error::new(ErrorKind::TooManyBatches, 0, found, expected)))
    }

    /// Whether so many stored cases, and the deaths so far, have room in the head.
    fn fits_head(&self, head: &Head, rows: usize) -> bool {
        let edits = rows.max(self.dead.len().saturating_add(self.own_dead.len()));
        head.len().saturating_add(edits) <= self.engine.sizes.head()
            && head.document_bytes().saturating_add(self.own_bytes) <= HEAD_BYTES
    }

    /// Gets the right to write, and finds out which stored cases the change replaces; gives how many of those that counted as
    /// stored.
    ///
    /// What was looked up before is not looked up again if no other write has come in between.
    ///
    /// # Errors
    /// When the engine can hold no further batch.
    pub(crate) fn attach(&mut self) -> Result<u64, Box<Error>> {
        if self.before.is_some() {
            return Ok(0);
        }
        if let Own::Batches(sealed, filling) = &mut self.own
            && filling.rows() > 0
        {
            sealed.push(filling.seal().into());
        }
        let base = Arc::clone(&self.engine.current.load().base);
        self.look_up(&base);
        drop(base);
        let before = Before::new(self.engine);
        self.look_up(&before.snapshot.base);
        let replaced = self.resolve(&before);
        self.check_all_batches(&before.snapshot)?;
        self.before = Some(before);
        Ok(replaced)
    }

    /// Looks the rows of sealed batches up in a base.
    fn look_up(&mut self, base: &Arc<View>) {
        if let Own::Batches(sealed, _) = &mut self.own {
            sealed.iter_mut().for_each(|sealed| sealed.covered.update(&sealed.batch, base));
        }
    }

    /// Whether the engine can hold all batches of the change, none of which is being filled.
    fn check_all_batches(&self, snapshot: &Snapshot) -> Result<(), Box<Error>> {
        match &self.own {
            Own::Rows(rows) if rows.is_empty() => Ok(()),
            Own::Rows(rows) => self.check_batches(snapshot, rows.len()),
            // The last one is not counted as one that is being filled.
            Own::Batches(sealed, _) => self.check_added(snapshot, sealed.len()),
        }
    }

    /// Gives the cases their places among those that are stored, and notes which of these they replace; gives how many that are.
    fn resolve(&mut self, before: &Before<'_>) -> u64 {
        let Self { hasher, own, dead, released, .. } = self;
        let Before { writer, snapshot } = before;
        if snapshot.cases() == 0 && writer.next_place == 0 {
            return 0;
        }
        let is_searched = snapshot.cases() > 0;
        let mut next_place = writer.next_place;
        let mut replaced: u64 = 0;
        // By the place that a case has in the change alone: the cases come in the order of these, but for those that replace one of
        // the change itself and have its place.
        let mut places: Vec<u64> = Vec::with_capacity(usize::try_from(self.next_place).unwrap_or(0));
        let mut place_of = |own_place: u64, id: &str, covered: Option<Where>| {
            let at = usize::try_from(own_place).unwrap_or(usize::MAX);
            if let Some(place) = places.get(at) {
                return *place;
            }
            let hash = hasher.hash_one(id);
            let found = if is_searched { writer.find_known(snapshot, hash, &|| id, covered) } else { None };
            let place = match found {
                Some(at) => {
                    dead.insert(at, hash);
                    replaced = replaced.saturating_add(1);
                    let (place, number) = writer.describe(snapshot, at);
                    released.extend(number);
                    place
                }
                None => {
                    let place = next_place;
                    next_place = place.saturating_add(1);
                    place
                }
            };
            places.push(place);
            place
        };
        match own {
            Own::Rows(rows) => {
                for row in rows {
                    let covered = snapshot.base.find_covered(hasher.hash_one(row.id()), row.id()).next();
                    let place = place_of(row.place, row.id(), covered);
                    // No search has it yet.
                    if let Some(row) = Arc::get_mut(row) {
                        row.place = place;
                    }
                }
            }
            Own::Batches(sealed, _) => {
                for Sealed { batch, covered, .. } in sealed {
                    let mut found = std::mem::take(covered).rows.into_iter().peekable();
                    let rows = (0..batch.rows()).map(|row| {
                        let covered = found.next_if(|(at, _)| *at == row).map(|(_, at)| at);
                        place_of(batch.place(row), batch.id(row), covered)
                    });
                    let places = rows.collect();
                    batch.set_places(places);
                }
            }
        }
        self.next_place = next_place;
        replaced
    }

    /// Stores a case whose row is complete and sound.
    ///
    /// # Errors
    /// When the engine can hold no further batch.
    pub(crate) fn upsert(&mut self, row: &Row<'_>, document: Document<'_>) -> Result<Upserted, Box<Error>> {
        let at = self.next(document.size_bytes())?;
        let id = row.id();
        let hash = self.hasher.hash_one(id);
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
        at: RowAddr,
        next: Option<Next<'_>>,
    ) -> (Upserted, u64) {
        let own = &self.own;
        let id_of = |at: RowAddr| match next {
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
            self.ids.insert(hash, at);
            self.before.as_ref().and_then(|before| {
                let found = match next {
                    Some(Next { covered, .. }) => {
                        before.writer.find_known(&before.snapshot, hash, &id, covered)
                    }
                    None => before.find(hash, id()),
                };
                let found = found.filter(|at| !self.dead.contains_key(at))?;
                self.dead.insert(found, hash);
                Some(before.writer.describe(&before.snapshot, found))
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
    pub(crate) fn filling(&mut self) -> Option<Box<BatchBuilder>> {
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
    pub(crate) fn push_batch(
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
        match &self.before {
            Some(Before { snapshot, .. }) => self.check_batches(snapshot, 0)?,
            None => self.check_batches(&self.engine.current.load(), 0)?,
        }
        // There are fewer batches than that.
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let mut places: Vec<u64> = (0..built.known).map(|row| built.batch.place(row)).collect();
        let Lookup { base, mut ids, keys } = std::mem::take(&mut built.lookup);
        if let Some(Before { snapshot, .. }) = &self.before
            && !std::ptr::eq(base.as_ptr(), Arc::as_ptr(&snapshot.base))
        {
            let texts: Vec<&str> = (0..built.batch.rows()).map(|row| built.batch.id(row)).collect();
            ids = snapshot.base.find_all_covered(&texts);
        }
        self.ids.reserve(ids.len());
        let mut later = ids.iter().skip(built.known.saturating_add(EARLY));
        for (row, (hash, covered)) in ids.iter().copied().enumerate().skip(built.known) {
            if let Some((later, _)) = later.next() {
                self.ids.announce(*later);
            }
            // A batch has no more rows than that.
            let at = RowAddr { batch: number, row: u16::try_from(row).unwrap_or(u16::MAX) };
            let next = Next { number, batch: &built.batch, places: &places, covered };
            let (upserted, place) = self.register(hash, || built.batch.id(row), at, Some(next));
            places.push(place);
            stored(&built, row, upserted, place);
        }
        let covered = match &self.before {
            Some(_) => Covered::default(),
            None => Covered::new(base, ids.into_iter().map(|(_, at)| at)),
        };
        built.batch.set_places(places);
        if let Own::Batches(sealed, _) = &mut self.own {
            sealed.push(Sealed { batch: built.batch, keys, covered });
        }
        Ok(built.text)
    }

    /// The place of the case stored last.
    pub(crate) fn last_place(&self) -> u64 {
        self.last_place
    }

    /// Deletes a case; false when there is none of this id. The change stores none itself, and was not begun apart.
    pub(crate) fn delete(&mut self, id: &str) -> bool {
        debug_assert_eq!(self.ids.len(), 0, "no change both stores and deletes");
        let Some(before) = &self.before else { return false };
        let hash = self.hasher.hash_one(id);
        let Some(found) = before.find(hash, id).filter(|at| !self.dead.contains_key(at)) else {
            return false;
        };
        self.dead.insert(found, hash);
        self.released.extend(before.writer.describe(&before.snapshot, found).1);
        true
    }

    /// Makes everything ready that could fail or take time; nobody sees it yet. The change is attached.
    pub(crate) fn prepare(mut self) -> Prepared<'e> {
        debug_assert!(self.before.is_some(), "a change is attached before it is prepared");
        let mut before = self.before.take().unwrap_or_else(|| Before::new(self.engine));
        let stored = match &self.own {
            Own::Rows(rows) => rows.len(),
            Own::Batches(sealed, filling) => {
                sealed.iter().map(|sealed| sealed.batch.rows()).fold(filling.rows(), usize::saturating_add)
            }
        };
        let writes = stored.saturating_add(self.dead.len()).saturating_add(1);
        match &self.own {
            Own::Rows(rows) if self.fits_head(&before.snapshot.head, rows.len()) => {
                let (mut budget, mut keys) =
                    (MERGE_STEP.saturating_mul(writes), KEY_STEP.saturating_mul(writes));
                let Before { writer, snapshot } = &mut before;
                let directory = snapshot.base.directory();
                if let Some(merge) = &mut writer.merge {
                    merge.step(&self.engine.catalog, directory, self.engine.sizes, &mut budget);
                }
                if let Some(work) = &mut writer.keys {
                    work.step(directory, &mut keys);
                }
                self.prepare_in_head(before)
            }
            _ => self.prepare_sealed(before, writes),
        }
    }

    /// Adds what the change did to the head.
    fn prepare_in_head(self, before: Before<'e>) -> Prepared<'e> {
        let Before { writer, snapshot: before } = before;
        let mut head = before.head.clone();
        let first = head.rows();
        let rows = match self.own {
            Own::Rows(rows) => rows,
            Own::Batches(..) => Vec::new(),
        };
        let mut effects = Effects::new(self.next_place, writer.next_batch);
        effects.note_dead(&self.dead);
        effects.died = self.dead.keys().copied().filter(|at| matches!(at, Where::Covered(..))).collect();
        let hasher = before.base.directory().hasher();
        effects.note_head(&self.ids, |at| hash_in(&rows, at, hasher), head.id, first);
        let own_dead = own_dead_in_head(&self.own_dead, head.id, first);
        let cases = before.cases().saturating_add(self.ids.len()).saturating_sub(self.dead.len());
        head.extend(&rows, self.dead.into_keys().chain(own_dead));
        effects.head = rows;
        let after = Arc::new(Snapshot::new(Arc::clone(&before.base), head, cases).following(&before));
        Prepared { writer, after, released: self.released, effects }
    }

    /// Seals the head as it was, and batches of the change if it has some; other cases of it start a new head. `writes` are
    /// the cases that the change stores or deletes, and one more.
    fn prepare_sealed(mut self, before: Before<'e>, writes: usize) -> Prepared<'e> {
        let Before { mut writer, snapshot } = before;
        let (mut budget, mut keys) = (MERGE_STEP.saturating_mul(writes), KEY_STEP.saturating_mul(writes));
        let engine = self.engine;
        let (catalog, sizes, keep) = (&engine.catalog, engine.sizes, engine.keep);
        let mut view = View::clone(snapshot.view(catalog, keep));
        let mut effects = Effects::new(self.next_place, writer.next_batch);
        effects.is_new_head = true;
        effects.note_dead(&self.dead);
        view.kill(std::mem::take(&mut self.dead).into_keys().collect());
        view.drop_where(catalog, |slot| slot.live_rows == 0);
        let mut merge = writer.merge.take();
        if view.apart(snapshot.head.id).is_some() {
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
        let mut key_work = writer.keys.take();
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
        Prepared { writer, after, released: self.released, effects }
    }

    /// Adds sealed batches of the change to a view.
    fn push_batches(&self, sealed: Vec<Sealed>, view: &mut View, effects: &mut Effects) {
        let mut dead: Vec<Vec<u16>> = vec![Vec::new(); sealed.len()];
        for at in &self.own_dead {
            if let Some(rows) = dead.get_mut(at.batch as usize) {
                rows.push(at.row);
            }
        }
        for (Sealed { batch, keys, .. }, dead) in sealed.into_iter().zip(dead) {
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
fn hash_in(rows: &[Arc<OwnedRow>], at: RowAddr, hasher: &impl BuildHasher) -> u64 {
    rows.get(usize::from(at.row)).map_or(0, |row| hasher.hash_one(row.id()))
}

/// Rows of the change that died within it, as rows of a head in which they start at `first`.
fn own_dead_in_head(dead: &[RowAddr], head: BatchId, first: u16) -> impl Iterator<Item = Where> {
    dead.iter().map(move |at| Where::Apart(head, first.saturating_add(at.row)))
}
