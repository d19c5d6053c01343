//! The state that a write needs in addition to the snapshot. Only the write in progress accesses it.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;

use super::merge::Merge;
use crate::batch::{Batch, BufferedRow, CaseRow, MAX_ROWS};
use crate::engine::snapshot::{BatchId, Snapshot, StoredAddr, View, row_number};
use crate::index::KeyWork;
use crate::standing::WatchRoom;

/// The state that each write leaves to the next write.
#[derive(Default)]
pub(crate) struct Writer {
    /// The insertion-order number of the next new case.
    pub(crate) next_place: u64,
    /// The id of the next batch.
    pub(crate) next_batch: u64,
    /// The live rows of uncovered batches and of the head, by id.
    pub(crate) uncovered: Locations,
    /// The uncovered batches of a restored engine whose rows are not in `uncovered` yet. The first write [lists](Self::list) them.
    pub(crate) unlisted: Vec<BatchId>,
    /// The cases stored in the head, by row number, including cases that were deleted afterwards.
    pub(crate) head: Vec<Arc<BufferedRow>>,
    /// The rows of covered batches that were deleted since the head was last sealed.
    pub(crate) deleted: Vec<StoredAddr>,
    /// The merge in progress.
    pub(crate) merge: Option<Merge>,
    /// The work in progress on the keys of the index.
    pub(crate) keys: Option<KeyWork>,
    /// The source batches of finished merges. Later writes [free](Self::free) them one at a time.
    pub(crate) obsolete: Vec<Arc<Batch>>,
    /// Scratch space for finding events. Each write reuses it.
    pub(crate) watch_room: WatchRoom,
}

impl Writer {
    /// Reads the ids of the live rows in the batches that are not listed yet. Adds these rows to the table of uncovered rows.
    pub(crate) fn list(&mut self, snapshot: &Snapshot) {
        if self.unlisted.is_empty() {
            return;
        }
        let hasher = snapshot.base.index().hasher();
        let slots = self.unlisted.iter().filter_map(|id| snapshot.base.uncovered(*id));
        let rows = slots.flat_map(|slot| {
            let live = slot.live.iter(slot.batch.rows());
            live.map(move |row| (hasher.hash_one(slot.batch.id(row)), slot.id, row_number(row)))
        });
        // Reading ids may unwind. The table changes only after all ids have been read.
        let rows: Vec<_> = rows.collect();
        self.unlisted.clear();
        rows.into_iter().for_each(|(hash, batch, row)| self.uncovered.insert(hash, batch, row));
    }

    /// Removes obsolete batches from the list and returns them, so that the caller frees their memory. Removes one batch, or more
    /// batches if the list has more rows than a full batch.
    pub(crate) fn free(&mut self) -> Vec<Arc<Batch>> {
        let mut rows: usize = self.obsolete.iter().map(|batch| batch.rows()).sum();
        let mut freed = Vec::new();
        while let Some(batch) = self.obsolete.pop_if(|_| freed.is_empty() || rows > MAX_ROWS) {
            rows -= batch.rows();
            freed.push(batch);
        }
        freed
    }

    /// Returns the row of the live case with the id `id`. `hash` is the hash of this id.
    pub(crate) fn find(&self, snapshot: &Snapshot, hash: u64, id: &str) -> Option<StoredAddr> {
        self.find_uncovered(snapshot, hash, &|| id)
            .or_else(|| snapshot.base.find_covered(hash, id).find(|at| !self.deleted.contains(at)))
    }

    /// Returns the same row as [`find`](Self::find), given `covered`, the result of an earlier look-up in the base of the snapshot.
    pub(crate) fn find_known<'i>(
        &self,
        snapshot: &Snapshot,
        hash: u64,
        id: &impl Fn() -> &'i str,
        covered: Option<StoredAddr>,
    ) -> Option<StoredAddr> {
        // No other covered row has this id, even if `covered` is deleted.
        self.find_uncovered(snapshot, hash, id).or_else(|| covered.filter(|at| !self.deleted.contains(at)))
    }

    fn find_uncovered<'i>(
        &self,
        snapshot: &Snapshot,
        hash: u64,
        id: &impl Fn() -> &'i str,
    ) -> Option<StoredAddr> {
        let has_id = |batch: BatchId, row: u16| {
            if batch == snapshot.head.id {
                self.head.get(usize::from(row)).is_some_and(|row| row.id() == id())
            } else {
                snapshot.base.uncovered(batch).is_some_and(|slot| slot.batch.id(usize::from(row)) == id())
            }
        };
        self.uncovered.find(hash, has_id).map(|(batch, row)| StoredAddr::Uncovered(batch, row))
    }

    /// Returns the insertion-order number and the document number of a row.
    pub(crate) fn describe(&self, snapshot: &Snapshot, at: StoredAddr) -> (u64, Option<u64>) {
        if let StoredAddr::Uncovered(batch, row) = at
            && batch == snapshot.head.id
        {
            return match self.head.get(usize::from(row)) {
                Some(row) => (row.place, row.document_number()),
                None => (u64::MAX, None),
            };
        }
        match snapshot.base.slot_of(at) {
            Some((slot, row)) => {
                let row = usize::from(row);
                (slot.batch.place(row), slot.batch.document_number(row))
            }
            None => (u64::MAX, None),
        }
    }

    /// Returns the case in a row.
    pub(crate) fn case_row<'s>(&'s self, snapshot: &'s Snapshot, at: StoredAddr) -> Option<CaseRow<'s>> {
        if let StoredAddr::Uncovered(batch, row) = at
            && batch == snapshot.head.id
        {
            return self.head.get(usize::from(row)).map(|row| CaseRow::Buffered(row));
        }
        let (slot, row) = snapshot.base.slot_of(at)?;
        Some(CaseRow::of(&slot.batch, usize::from(row)))
    }

    /// Returns the heap memory of the table of uncovered rows, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.uncovered.size_bytes()
    }

    pub(crate) fn validate(&self, snapshot: &Snapshot, view: &View) -> Result<(), String> {
        let hasher = view.index().hasher();
        let mut rows: usize = 0;
        for slot in view.uncovered_numbers().filter_map(|number| view.slot(number)) {
            for row in slot.live.iter(slot.batch.rows()) {
                rows += 1;
                let id = slot.batch.id(row);
                let own = StoredAddr::Uncovered(slot.id, row_number(row));
                if self.find(snapshot, hasher.hash_one(id), id) != Some(own) {
                    return Err(format!(
                        "the table does not find row {row} of batch {} by its id",
                        slot.id.0
                    ));
                }
            }
        }
        if rows != self.uncovered.len() {
            return Err(format!("{} ids of {rows} uncovered rows", self.uncovered.len()));
        }
        if self.next_batch <= snapshot.head.id.0 || view.slots().any(|slot| slot.id.0 >= self.next_batch) {
            return Err("a batch id that is not below the next free batch id".into());
        }
        if view.slots().any(|slot| slot.batch.place_range().is_some_and(|(_, to)| to >= self.next_place)) {
            return Err("a place that is not below the next free place".into());
        }
        if self.obsolete.iter().map(|batch| batch.rows()).sum::<usize>() > MAX_ROWS {
            return Err("too many merged batches are not freed yet".into());
        }
        if self.head.len() != usize::from(snapshot.head.rows()) {
            return Err("the head has other rows than the snapshot".into());
        }
        Ok(())
    }
}

/// A hash table from ids to rows of uncovered batches. The table does not store ids, because the rows contain them. An entry keeps
/// the hash of its id, so that growing the table does not read ids.
#[derive(Default)]
pub(crate) struct Locations(HashTable<Location>);

#[derive(Clone, Copy)]
struct Location {
    hash: u64,
    /// The id of the batch in the upper 48 bits, and the row number in the lower 16 bits.
    at: u64,
}

fn pack(batch: BatchId, row: u16) -> u64 {
    // At a million writes per second, it takes nine years to use 2^48 batch ids.
    batch.0 << 16 | u64::from(row)
}

impl Locations {
    fn find(&self, hash: u64, has_id: impl Fn(BatchId, u16) -> bool) -> Option<(BatchId, u16)> {
        #[expect(clippy::cast_possible_truncation, reason = "the row is the lower 16 bits")]
        let unpack = |at: u64| (BatchId(at >> 16), at as u16);
        let found = self.0.find(hash, |location| {
            let (batch, row) = unpack(location.at);
            location.hash == hash && has_id(batch, row)
        });
        found.map(|location| unpack(location.at))
    }

    pub(crate) fn insert(&mut self, hash: u64, batch: BatchId, row: u16) {
        self.0.insert_unique(hash, Location { hash, at: pack(batch, row) }, |location| location.hash);
    }

    pub(crate) fn remove(&mut self, hash: u64, batch: BatchId, row: u16) {
        let at = pack(batch, row);
        if let Ok(found) = self.0.find_entry(hash, |location| location.at == at) {
            found.remove();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.0.allocation_size()
    }
}
