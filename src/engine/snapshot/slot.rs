//! A batch of a view with its live rows (`Slot`), and the ids and addresses by which writers refer to batches and rows across
//! views.

use std::sync::Arc;

use super::tombstones::Tombstones;
use crate::batch::{Batch, MAX_ROWS};
use crate::catalog::{Catalog, FieldId};
use crate::column::{Bitmap, Selection};

/// The id of a batch. An engine never uses an id twice. Later batches have greater ids. If a head is joined to a batch, the batch
/// keeps its id, and its rows keep their row numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BatchId(pub(crate) u64);

/// The address of a stored row. Writers use an address across snapshots. It is valid until the batch of the row is merged.
///
/// Within one view, searches use a [`RowAddr`](crate::batch::RowAddr), which has the batch number. The entries of key indexes have
/// the batch number and the row number packed, as a [`GlobalRow`](crate::index::GlobalRow). When covered batches are added, the
/// batch numbers of uncovered batches change, so writers identify uncovered batches by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum StoredAddr {
    /// A row of the covered batch with this batch number.
    Covered(u32, u16),
    /// A row of an uncovered batch, or of the head (the batch of the latest single writes).
    Uncovered(BatchId, u16),
}

/// Converts a row number to `u16`. Batches have at most 65,536 rows.
pub(crate) fn row_number(row: usize) -> u16 {
    debug_assert!(row < MAX_ROWS, "row {row} of a batch");
    row as u16
}

/// A batch and its live rows: the rows that were neither replaced nor deleted.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) id: BatchId,
    pub(crate) batch: Arc<Batch>,
    pub(crate) live: Arc<Selection>,
    pub(crate) live_rows: usize,
    /// The counts of deleted rows. `None` if every row is live.
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

    /// Returns the same batch without the `deleted` rows.
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

    /// Returns the number of deleted rows for each string of a field, by the code of the string. The list is empty if no row is
    /// deleted. Returns `None` if the field has no such counts.
    pub(crate) fn deleted_counts(&self, field: FieldId) -> Option<&[u32]> {
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
            return Err("the count of live rows is wrong".into());
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
