//! The cases at one moment.

use std::sync::Arc;

use crate::batch::Batch;
use crate::catalog::Catalog;
use crate::column::{Bitmap, Selection};
use crate::page::At;

/// A batch and those of its rows that were not replaced.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) batch: Arc<Batch>,
    live: Arc<Selection>,
}

impl Slot {
    pub(super) fn new(batch: Batch, dead: &[usize]) -> Self {
        let slot = Self { batch: Arc::new(batch), live: Arc::new(Selection::All) };
        slot.without(dead)
    }

    /// The same batch with fewer live rows.
    pub(super) fn without(&self, dead: &[usize]) -> Self {
        if dead.is_empty() {
            return self.clone();
        }
        let rows = self.batch.rows();
        let mut live = match &*self.live {
            Selection::None => Bitmap::zeros(rows),
            Selection::All => Bitmap::ones(rows),
            Selection::Bitmap(bitmap) => bitmap.clone(),
        };
        for row in dead {
            live.clear(*row);
        }
        Self { batch: Arc::clone(&self.batch), live: Arc::new(Selection::from_bitmap(live)) }
    }

    /// Those of the selected rows that are live.
    pub(super) fn live(&self, selection: Selection) -> Selection {
        selection.and(&self.live)
    }

    fn live_rows(&self) -> usize {
        self.live.count(self.batch.rows())
    }

    pub(super) fn live_bytes(&self) -> usize {
        self.live.size_bytes()
    }
}

/// The cases at one moment; never changed.
#[derive(Default)]
pub(super) struct Snapshot {
    slots: Vec<Slot>,
    cases: usize,
    /// Walking the batches in turn meets the cases in the order of their places.
    ordered: bool,
}

impl Snapshot {
    pub(super) fn new(slots: Vec<Slot>) -> Self {
        let cases = slots.iter().map(Slot::live_rows).sum();
        let mut last = None;
        let ordered =
            slots.iter().filter(|slot| slot.batch.rows() > 0).all(|slot| match slot.batch.ordered_places() {
                Some((from, to)) => last.replace(to).is_none_or(|last| last < from),
                None => false,
            });
        Self { slots, cases, ordered }
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(super) fn cases(&self) -> usize {
        self.cases
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    pub(super) fn batch(&self, at: At) -> Option<&Batch> {
        self.slots.get(at.batch as usize).map(|slot| &*slot.batch)
    }

    pub(super) fn id(&self, at: At) -> &str {
        self.batch(at).map_or("", |batch| batch.id(usize::from(at.row)))
    }

    pub(super) fn is_live(&self, at: At) -> bool {
        self.slots.get(at.batch as usize).is_some_and(|slot| slot.live.contains(usize::from(at.row)))
    }

    pub(super) fn validate(&self, catalog: &Catalog) -> Result<(), String> {
        let mut ids = std::collections::HashSet::new();
        let mut places = std::collections::HashSet::new();
        for (number, slot) in self.slots.iter().enumerate() {
            slot.batch.validate(catalog).map_err(|fault| format!("batch {number}: {fault}"))?;
            slot.live.validate(slot.batch.rows())?;
            for row in slot.live.iter(slot.batch.rows()) {
                if !ids.insert(slot.batch.id(row)) || !places.insert(slot.batch.place(row)) {
                    return Err(format!("batch {number}: the id or place of row {row} is not its own"));
                }
            }
        }
        if ids.len() == self.cases {
            Ok(())
        } else {
            Err(format!("{} cases, counted as {}", ids.len(), self.cases))
        }
    }
}
