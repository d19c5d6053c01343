//! One batch of a view, its live rows, and the names of batches and rows that outlive a view.

use std::sync::Arc;

use super::tombstones::Tombstones;
use crate::batch::{Batch, MAX_ROWS};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Bitmap, Selection};

/// Names a batch for the life of an engine; later batches have greater numbers. One that a head is joined to keeps its
/// own, and its rows keep theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BatchId(pub(crate) u64);

/// The address of a stored row that writers keep from one snapshot to the next. It holds until the row's batch is merged.
///
/// Within one view a row has a [`RowAddr`](crate::batch::RowAddr), by the number of its batch there, and in keys of the index its packed
/// form, [`GlobalRow`](crate::index::GlobalRow). Numbers of uncovered batches change when the covered ones grow, so that writers
/// name these by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum StoredAddr {
    /// In the covered batch of this number.
    Covered(u32, u16),
    /// In an uncovered batch, or in the head.
    Uncovered(BatchId, u16),
}

/// Returns the number of a row in its batch, which has at most 65,536 rows.
pub(crate) fn row_number(row: usize) -> u16 {
    debug_assert!(row < MAX_ROWS, "row {row} of a batch");
    row as u16
}

/// A batch and those of its rows that were neither replaced nor deleted.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) id: BatchId,
    pub(crate) batch: Arc<Batch>,
    pub(crate) live: Arc<Selection>,
    pub(crate) live_rows: usize,
    /// `None` if every row is live.
    tombstones: Option<Arc<Tombstones>>,
}

impl Slot {
    pub(crate) fn new(id: BatchId, batch: Batch, live: Selection) -> Self {
        Self::shared(id, Arc::new(batch), live)
    }

    pub(crate) fn shared(id: BatchId, batch: Arc<Batch>, live: Selection) -> Self {
        let live_rows = live.count(batch.rows());
        let tombstones = (live_rows < batch.rows()).then(|| Arc::new(Tombstones::new(&batch)));
        Self { id, batch, live: Arc::new(live), live_rows, tombstones }
    }

    /// Returns the same batch with fewer live rows.
    pub(crate) fn without(&self, deleted: impl IntoIterator<Item = u16>) -> Self {
        let rows = self.batch.rows();
        let mut deleted: Vec<u16> = deleted.into_iter().filter(|row| self.is_live(*row)).collect();
        deleted.sort_unstable();
        deleted.dedup();
        let tombstones = match &self.tombstones {
            Some(tombstones) => tombstones.with(&self.batch, &deleted),
            None => Tombstones::new(&self.batch),
        };
        let live = match &*self.live {
            Selection::None => Bitmap::zeros(rows),
            Selection::All => Bitmap::ones(rows),
            Selection::Bitmap(bitmap) => bitmap.clone(),
        };
        let live = Selection::from_bitmap(live.without(deleted.into_iter().map(usize::from)));
        let live_rows = live.count(rows);
        let tombstones = (live_rows < rows).then(|| Arc::new(tombstones));
        Self { id: self.id, batch: Arc::clone(&self.batch), live: Arc::new(live), live_rows, tombstones }
    }

    /// Returns the number of deleted rows that have each string of a field, by code; `None` if they are not counted.
    pub(crate) fn tombstone_counts(&self, field: FieldId) -> Option<&[u32]> {
        match &self.tombstones {
            Some(tombstones) => tombstones.counts(&self.batch, &self.live, field),
            None => Some(&[]),
        }
    }

    /// Checks the invariants of the batch and its live rows.
    pub(super) fn validate(&self, catalog: &Catalog) -> Result<(), String> {
        self.batch.validate(catalog)?;
        self.live.validate(self.batch.rows())?;
        match &self.tombstones {
            Some(tombstones) => tombstones.validate(&self.batch, &self.live)?,
            None if self.is_all_live() || self.batch.rows() == 0 => {}
            None => return Err("deleted rows that are not counted".into()),
        }
        if self.live_rows != self.live.count(self.batch.rows()) {
            return Err("live rows counted wrongly".into());
        }
        Ok(())
    }

    pub(crate) fn is_live(&self, row: u16) -> bool {
        self.live.contains(usize::from(row))
    }

    pub(crate) fn is_all_live(&self) -> bool {
        matches!(*self.live, Selection::All)
    }
}
