//! The cases at one moment.

use std::sync::Arc;

use crate::batch::{Batch, Directory, split};
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

    /// The rows that were not replaced.
    pub(super) fn live(&self) -> &Selection {
        &self.live
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
    /// No row is dead.
    all_live: bool,
    directory: Directory,
    /// Walking the batches in turn meets the cases in the order of their places.
    ordered: bool,
}

impl Snapshot {
    /// The cases of this snapshot with changes: `slots` are its batches, perhaps with fewer live rows, and new ones.
    pub(super) fn with(&self, catalog: &Catalog, slots: Vec<Slot>) -> Self {
        let mut directory = self.directory.clone();
        directory.add(catalog, slots.iter().skip(self.slots.len()).map(|slot| &*slot.batch));
        let cases = slots.iter().map(Slot::live_rows).sum();
        let rows: usize = slots.iter().map(|slot| slot.batch.rows()).sum();
        let mut last = None;
        let ordered =
            slots.iter().filter(|slot| slot.batch.rows() > 0).all(|slot| match slot.batch.ordered_places() {
                Some((from, to)) => last.replace(to).is_none_or(|last| last < from),
                None => false,
            });
        Self { slots, cases, all_live: cases == rows, directory, ordered }
    }

    /// Where the case of this id is.
    pub(super) fn find(&self, id: &str) -> Option<At> {
        let rows = self.directory.probe_id(id).map(|row| {
            let (batch, row) = split(row);
            At { batch: u32::try_from(batch).unwrap_or(u32::MAX), row }
        });
        rows.into_iter().find(|at| self.is_live(*at) && self.id(*at) == id)
    }

    /// True when every row of every batch is live.
    pub(super) fn is_all_live(&self) -> bool {
        self.all_live
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
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
                if self.find(slot.batch.id(row)).map(|at| (at.batch as usize, usize::from(at.row)))
                    != Some((number, row))
                {
                    return Err(format!("batch {number}: the id of row {row} does not lead to it"));
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
