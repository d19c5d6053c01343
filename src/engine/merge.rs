//! Merging of small and half-empty batches, in bounded steps.

use std::sync::Arc;

use super::view::{BatchId, Slot, View};
use crate::batch::{Batch, Gather, Keep, MAX_DOCUMENT_BYTES};
use crate::catalog::Catalog;
use crate::column::{Bitmap, Selection};

/// Batches of one class that are merged into one.
const FAN_IN: usize = 8;

/// The sizes of batches that an engine tells apart, all in relation to that of a full one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Rows of a full batch.
    pub(super) batch: usize,
}

impl Sizes {
    /// Most edits of the head: with 65,536 rows a batch, eight heads make the least batch of the second class.
    pub(super) fn head(self) -> usize {
        (self.batch / 1024).clamp(4, 64).min(self.batch)
    }

    /// A batch with fewer live rows than this is asked by itself rather than covered by the directory.
    pub(super) fn is_covered(self, live_rows: usize) -> bool {
        live_rows >= (self.batch / 16).max(1)
    }

    /// The class of a batch; `None` for one that is at least half full, which is left alone.
    fn class(self, live_rows: usize) -> Option<usize> {
        let parts = [self.batch / 128, self.batch / 16, (self.batch / 2).max(1)];
        parts.iter().position(|most| live_rows < *most)
    }
}

/// A merge under way.
pub(super) struct Merge {
    sources: Vec<BatchId>,
    stage: Stage,
}

enum Stage {
    Copying(Box<Gather>),
    /// The source, as an index, and the row in it of each row of the batch.
    Done(Arc<Batch>, Vec<(u16, u16)>),
}

impl Merge {
    /// The next merge that batches call for: the oldest of the smallest class that has enough of them.
    pub(super) fn choose(view: &View, sizes: Sizes, keep: Keep) -> Option<Self> {
        let mut classes: [Vec<&Slot>; 3] = Default::default();
        for slot in view.slots() {
            if let Some(class) = sizes.class(slot.live_rows).and_then(|class| classes.get_mut(class)) {
                class.push(slot);
            }
        }
        classes.into_iter().find_map(|mut class| {
            let rows: usize = class.iter().map(|slot| slot.live_rows).sum();
            if class.len() < FAN_IN && rows <= sizes.batch {
                return None;
            }
            class.sort_by_key(|slot| slot.id);
            let (mut rows, mut bytes) = (0_usize, 0_usize);
            class.retain(|slot| {
                let with =
                    (rows.saturating_add(slot.live_rows), bytes.saturating_add(slot.batch.text_bytes()));
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
            let rows = slot.live.iter(slot.batch.rows());
            rows.filter_map(move |row| Some((source, u16::try_from(row).ok()?)))
        });
        let batches = slots.iter().map(|slot| Arc::clone(&slot.batch)).collect();
        Self {
            sources: slots.iter().map(|slot| slot.id).collect(),
            stage: Stage::Copying(Box::new(Gather::new(batches, rows.collect(), keep))),
        }
    }

    /// Copies about `budget` values, which is lowered by what was copied; true when all are.
    pub(super) fn step(&mut self, catalog: &Catalog, budget: &mut usize) -> bool {
        if let Stage::Copying(gather) = &mut self.stage {
            if !gather.step(catalog, budget) {
                return false;
            }
            let empty = Box::new(Gather::new(Vec::new(), Vec::new(), Keep::Nothing));
            let gather = std::mem::replace(gather, empty);
            let rows = gather.rows().to_vec();
            self.stage = Stage::Done(Arc::new(gather.finish()), rows);
        }
        true
    }

    /// Puts the merged batch, under a number of its own, in the place of its sources.
    ///
    /// A row that died since the merge began is dead in the merged batch.
    pub(super) fn apply(
        &self,
        view: &mut View,
        catalog: &Catalog,
        id: BatchId,
        sizes: Sizes,
    ) -> Option<Moved> {
        let Stage::Done(batch, rows) = &self.stage else { return None };
        let sources: Vec<Option<&Slot>> =
            self.sources.iter().map(|id| view.slots().find(|slot| slot.id == *id)).collect();
        let dead = rows.iter().enumerate().filter(|(_, (source, row))| {
            let slot = sources.get(usize::from(*source)).copied().flatten();
            !slot.is_some_and(|slot| slot.is_live(*row))
        });
        let live = Bitmap::ones(rows.len()).without(dead.map(|(to, _)| to));
        let slot = Slot::shared(id, Arc::clone(batch), Selection::from_bitmap(live));
        let is_covered = sizes.is_covered(slot.live_rows);
        let moved = Moved {
            sources: self.sources.iter().map(|id| (*id, view.apart(*id).is_some())).collect(),
            rows: rows.clone(),
            to: slot.clone(),
            is_apart: !is_covered,
        };
        view.drop_where(catalog, |slot| self.sources.contains(&slot.id));
        if slot.live_rows > 0 && is_covered {
            view.push_covered(catalog, slot);
        } else if slot.live_rows > 0 {
            view.push_apart(slot);
        }
        Some(moved)
    }
}

/// Where the rows of merged batches went.
pub(super) struct Moved {
    /// The batches they were in, and whether those were apart.
    sources: Vec<(BatchId, bool)>,
    rows: Vec<(u16, u16)>,
    to: Slot,
    is_apart: bool,
}

impl Moved {
    /// Gives for each live row of an apart batch its id, where it was, and where it is if that is apart as well.
    pub(super) fn each(&self, mut take: impl FnMut(&str, Option<(BatchId, u16)>, Option<(BatchId, u16)>)) {
        for row in self.to.live.iter(self.rows.len()) {
            let Some((source, from)) = self.rows.get(row) else { continue };
            let Some((batch, was_apart)) = self.sources.get(usize::from(*source)) else { continue };
            let to = u16::try_from(row).ok().filter(|_| self.is_apart).map(|row| (self.to.id, row));
            let from = was_apart.then_some((*batch, *from));
            if from.is_some() || to.is_some() {
                take(self.to.batch.id(row), from, to);
            }
        }
    }
}
