//! Chooses small and half-empty batches, and merges them in steps of bounded cost. Also joins full heads, which are the
//! batches of the most recent single writes.

use std::sync::Arc;

use super::sizes::Sizes;
use crate::batch::{Batch, BatchMerge, Keep, MAX_DOCUMENT_BYTES};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Bitmap, Selection};
use crate::engine::snapshot::{BatchId, Slot, View, row_number};
use crate::index::{BatchIndex, BatchKeys};

/// The minimum number of batches of a class that is merged in any case. A class with fewer batches is merged only if its batches
/// have [enough rows](Sizes::classes) together.
const FAN_IN: usize = 8;

/// The maximum size, in bytes, of the documents and strings of a batch that joins several heads. It is bounded because a search may
/// have to build the columns of this batch.
const JOINED_BYTES: usize = 1 << 24;

/// A merge in progress.
pub(crate) struct Merge {
    /// The source batches.
    sources: Vec<BatchId>,
    stage: Stage,
}

enum Stage {
    /// Rows are being copied.
    Copying(Box<BatchMerge>),
    /// The rows have been copied. Keys may still be missing.
    Copied(Copied),
}

/// A merged batch, whose keys are being computed.
struct Copied {
    batch: Arc<Batch>,
    /// For each row of the batch: the index of its source, and its row number in this source.
    rows: Vec<(u16, u16)>,
    /// The number of fields whose keys have been computed or are not needed.
    fields_done: usize,
    keys: Vec<(FieldId, BatchKeys)>,
    /// The budget that was not used, because it was too small for the next field.
    saved: usize,
}

impl Merge {
    /// Chooses the next merge: the oldest batches of the first class that must be merged. Returns `None` if no class must be
    /// merged. Ignores batches with a column that could not be read. If they were chosen, one damaged column would make all writes
    /// fail.
    pub(crate) fn choose(view: &View, sizes: Sizes, keep: Keep) -> Option<Self> {
        let mut classes = sizes.classes().map(|(most, enough)| (most, enough, Vec::new()));
        for slot in view.slots().filter(|slot| !slot.batch.is_unreadable()) {
            if let Some((.., class)) = classes.iter_mut().find(|(most, ..)| slot.live_rows < *most) {
                class.push(slot);
            }
        }
        classes.into_iter().find_map(|(_, enough, mut class)| {
            let rows: usize = class.iter().map(|slot| slot.batch.rows()).sum();
            if class.len() < FAN_IN && rows < enough {
                return None;
            }
            class.sort_by_key(|slot| slot.id);
            let (mut rows, mut bytes) = (0_usize, 0_usize);
            class.retain(|slot| {
                // A hostile summary of a stored batch may contain any size.
                let with = (rows + slot.live_rows, bytes.saturating_add(slot.batch.text_bytes()));
                let fits = with.0 <= sizes.batch && with.1 <= MAX_DOCUMENT_BYTES;
                if fits {
                    (rows, bytes) = with;
                }
                fits
            });
            (class.len() > 1).then(|| Self::new(&class, keep))
        })
    }

    fn new(slots: &[&Slot], keep: Keep) -> Self {
        let rows = (0_u16..).zip(slots).flat_map(|(source, slot)| {
            slot.live.iter(slot.batch.rows()).map(move |row| (source, row_number(row)))
        });
        let batches = slots.iter().map(|slot| Arc::clone(&slot.batch)).collect();
        Self {
            sources: slots.iter().map(|slot| slot.id).collect(),
            stage: Stage::Copying(Box::new(BatchMerge::new(batches, rows.collect(), keep))),
        }
    }

    /// Returns true if the merge cannot continue, because a column of a source could not be read.
    pub(crate) fn is_stuck(&self) -> bool {
        matches!(&self.stage, Stage::Copying(merge) if merge.is_unreadable())
    }

    /// Returns true if the batch is a source of the merge.
    pub(crate) fn has_source(&self, id: BatchId) -> bool {
        self.sources.contains(&id)
    }

    /// Copies about `budget` values. Afterwards, computes the keys of the merged batch with the rest of the budget. Subtracts the
    /// work from `budget`. Returns true when the merge can be applied.
    pub(crate) fn step(
        &mut self,
        catalog: &Catalog,
        index: &BatchIndex,
        sizes: Sizes,
        budget: &mut usize,
    ) -> bool {
        if let Stage::Copying(gather) = &mut self.stage {
            if !gather.step(catalog, budget) {
                return false;
            }
            let empty = Box::new(BatchMerge::new(Vec::new(), Vec::new(), Keep::Nothing));
            let gather = std::mem::replace(gather, empty);
            let rows = gather.rows().to_vec();
            let batch = Arc::new(gather.finish());
            self.stage = Stage::Copied(Copied { batch, rows, fields_done: 0, keys: Vec::new(), saved: 0 });
        }
        match &mut self.stage {
            Stage::Copied(copied) if sizes.is_covered(copied.rows.len()) => {
                copied.step(catalog, index, budget)
            }
            _ => true,
        }
    }

    /// Replaces the sources by the merged batch, which gets the id `id`.
    ///
    /// A row that was deleted after the merge started is also deleted in the merged batch. Returns `None` if the rows have not been
    /// copied yet.
    pub(crate) fn apply(
        self,
        view: &mut View,
        catalog: &Catalog,
        id: BatchId,
        sizes: Sizes,
    ) -> Option<Moved> {
        let Stage::Copied(Copied { batch, rows, keys, .. }) = self.stage else { return None };
        let sources: Vec<Option<&Slot>> =
            self.sources.iter().map(|id| view.slots().find(|slot| slot.id == *id)).collect();
        let obsolete = sources.iter().flatten().map(|slot| Arc::clone(&slot.batch)).collect();
        let deleted = rows.iter().enumerate().filter(|(_, (source, row))| {
            let slot = sources.get(usize::from(*source)).copied().flatten();
            !slot.is_some_and(|slot| slot.is_live(*row))
        });
        let live = Bitmap::ones(rows.len()).without(deleted.map(|(to, _)| to));
        let slot = Slot::shared(id, batch, Selection::from_bitmap(live));
        let is_covered = sizes.is_covered(slot.live_rows);
        let moved = Moved {
            sources: self.sources.iter().map(|id| (*id, view.uncovered(*id).is_some())).collect(),
            first: 0,
            rows,
            to: slot.clone(),
            is_uncovered: !is_covered,
            obsolete,
        };
        view.drop_where(catalog, |slot| self.sources.contains(&slot.id));
        if slot.live_rows > 0 && is_covered {
            view.push_covered(catalog, slot, keys);
        } else if slot.live_rows > 0 {
            view.push_uncovered(slot);
        }
        Some(moved)
    }
}

impl Copied {
    /// Computes the keys, field by field, as far as the budget allows. Subtracts the work from `budget`. Returns true when all keys
    /// have been computed.
    fn step(&mut self, catalog: &Catalog, index: &BatchIndex, budget: &mut usize) -> bool {
        let cost = self.rows.len();
        let mut left = self.saved.saturating_add(std::mem::take(budget));
        for field in catalog.field_ids().skip(self.fields_done) {
            if index.has_keys(field) {
                if left < cost {
                    self.saved = left;
                    return false;
                }
                left -= cost;
                self.keys.extend(index.keys_of(catalog, &self.batch, field).map(|keys| (field, keys)));
            }
            self.fields_done += 1;
        }
        self.saved = 0;
        *budget = left;
        true
    }
}

/// Joins the newest batch, which was the head, to an earlier batch with lazy columns. So searches have one batch less to test.
///
/// Returns `None` if there is no such batch, or if both batches together have too many rows or too large documents. Ignores batches
/// for which `is_merging` returns true.
pub(crate) fn join_head(
    view: &mut View,
    keep: Keep,
    sizes: Sizes,
    is_merging: impl Fn(BatchId) -> bool,
) -> Option<Moved> {
    let is_lazy = |slot: &&Slot| slot.batch.is_lazy() && !is_merging(slot.id);
    let head = view.slots().max_by_key(|slot| slot.id).filter(is_lazy)?;
    let joins = |slot: &&Slot| {
        let rows = slot.batch.rows() + head.batch.rows();
        let bytes = || slot.batch.text_bytes().saturating_add(head.batch.text_bytes());
        slot.id != head.id && rows <= sizes.joined() && bytes() <= JOINED_BYTES
    };
    let before = view.slots().filter(is_lazy).filter(joins).max_by_key(|slot| slot.id)?;
    let batch = before.batch.joined(&head.batch, keep)?;
    let first = before.batch.rows();
    let deleted =
        |slot: &Slot| (0..slot.batch.rows()).filter(|row| !slot.live.contains(*row)).collect::<Vec<_>>();
    let deleted = deleted(before).into_iter().chain(deleted(head).into_iter().map(|row| first + row));
    let live = Bitmap::ones(batch.rows()).without(deleted);
    let rows = (0..head.batch.rows()).map(|row| (0, row_number(row)));
    let moved = Moved {
        sources: vec![(head.id, true)],
        first,
        rows: rows.collect(),
        to: Slot::new(before.id, batch, Selection::from_bitmap(live)),
        is_uncovered: true,
        obsolete: Vec::new(),
    };
    view.join_newest(moved.to.clone());
    Some(moved)
}

/// The address changes of all rows that a merge has moved.
pub(crate) struct Moved {
    /// The source batches. The flag is true if the batch was uncovered.
    sources: Vec<(BatchId, bool)>,
    /// The first row of the target batch that was moved from a source.
    first: usize,
    /// For each row from `first` on: the index of its source, and its row number in this source.
    rows: Vec<(u16, u16)>,
    /// The target batch.
    to: Slot,
    /// True if the target batch is uncovered.
    is_uncovered: bool,
    /// The source batches. Later writes free their memory.
    pub(crate) obsolete: Vec<Arc<Batch>>,
}

impl Moved {
    /// Calls `take` for each live row that is uncovered before or after the merge. Passes the id, the old address and the new
    /// address of the row. The old address is `None` if the row was covered before the merge. The new address is `None` if the row
    /// is covered after the merge.
    pub(crate) fn each(&self, mut take: impl FnMut(&str, Option<(BatchId, u16)>, Option<(BatchId, u16)>)) {
        for (row, (source, from)) in (self.first..).zip(&self.rows) {
            let Some((batch, was_uncovered)) = self.sources.get(usize::from(*source)) else { continue };
            if !self.to.live.contains(row) {
                continue;
            }
            let to = self.is_uncovered.then(|| (self.to.id, row_number(row)));
            let from = was_uncovered.then_some((*batch, *from));
            if from.is_some() || to.is_some() {
                take(self.to.batch.id(row), from, to);
            }
        }
    }
}
