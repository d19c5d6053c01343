//! The buffer of a transaction: its cases, before they are part of a snapshot.

use std::sync::{Arc, Weak};

use crate::batch::{Batch, BatchBuilder, BufferedRow, MAX_BATCHES, RowAddr};
use crate::catalog::FieldId;
use crate::engine::snapshot::{StoredAddr, View, row_number};
use crate::index::BatchKeys;

/// The cases that a transaction stores.
pub(super) enum Buffer {
    /// A few cases, which may become part of the head. In their addresses, [`RowAddr::batch`] is 0.
    Rows(Vec<Arc<BufferedRow>>),
    /// Sealed batches, and the batch that is being filled. Its batch number follows the batch numbers of the sealed batches.
    Batches(Vec<SealedBatch>, Box<BatchBuilder>),
}

/// A sealed batch of the transaction, which will be stored.
pub(super) struct SealedBatch {
    pub(super) batch: Batch,
    /// The entries of the key fields, if a worker thread has computed them.
    pub(super) keys: Vec<(FieldId, BatchKeys)>,
    /// The rows of covered (indexed) batches that have the same ids as rows of this batch. The transaction may replace them. Not
    /// used after the transaction is attached.
    pub(super) covered: CoveredRows,
}

impl From<Batch> for SealedBatch {
    fn from(batch: Batch) -> Self {
        Self { batch, keys: Vec::new(), covered: CoveredRows::default() }
    }
}

/// Pairs of a row of a batch and a row of a base. Both rows have the same id, and the row of the base is live and covered. The
/// pairs are sorted by the row of the batch.
#[derive(Default)]
pub(super) struct CoveredRows {
    base: Weak<View>,
    rows: Vec<(usize, StoredAddr)>,
}

impl CoveredRows {
    /// Creates the list. For each row of a batch, `found` has the live covered row of the base with the same id, if there is such a
    /// row.
    pub(super) fn new(base: Weak<View>, found: impl Iterator<Item = Option<StoredAddr>>) -> Self {
        let mut rows: Vec<_> = found.enumerate().filter_map(|(row, at)| Some((row, at?))).collect();
        // The vector may have capacity for all rows of the batch.
        rows.shrink_to_fit();
        Self { base, rows }
    }

    /// Looks the ids up again if they were looked up in another base.
    pub(super) fn update(&mut self, batch: &Batch, base: &Arc<View>) {
        if !std::ptr::eq(self.base.as_ptr(), Arc::as_ptr(base)) {
            let ids: Vec<&str> = (0..batch.rows()).map(|row| batch.id(row)).collect();
            let found = base.find_all_covered(&ids);
            *self = Self::new(Arc::downgrade(base), found.into_iter().map(|(_, at)| at));
        }
    }

    pub(super) fn into_rows(self) -> Vec<(usize, StoredAddr)> {
        self.rows
    }
}

impl Buffer {
    /// Returns the number of cases, including cases that the transaction itself replaced.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.len(),
            Self::Batches(sealed, filling) => {
                let sealed: usize = sealed.iter().map(|sealed| sealed.batch.rows()).sum();
                sealed + filling.rows()
            }
        }
    }

    /// Returns the address of the next case. The buffer must have room for it.
    pub(super) fn next(&self) -> RowAddr {
        match self {
            Self::Rows(rows) => row_addr(0, rows.len()),
            Self::Batches(sealed, filling) => row_addr(sealed.len(), filling.rows()),
        }
    }

    pub(super) fn id(&self, at: RowAddr) -> &str {
        let row = usize::from(at.row);
        match self {
            Self::Rows(rows) => rows.get(row).map_or("", |row| row.id()),
            Self::Batches(sealed, filling) => {
                sealed.get(at.batch as usize).map_or_else(|| filling.id(row), |sealed| sealed.batch.id(row))
            }
        }
    }

    /// Returns the insertion-order number and the document number of a case.
    pub(super) fn describe(&self, at: RowAddr) -> (u64, Option<u64>) {
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

/// Returns the address of a row. Both numbers fit the address, because there are at most 65,536 batches of at most 65,536 rows
/// each.
pub(super) fn row_addr(batch: usize, row: usize) -> RowAddr {
    debug_assert!(batch < MAX_BATCHES, "batch {batch} of a transaction");
    RowAddr { batch: batch as u32, row: row_number(row) }
}

/// A batch that is being added to a transaction. `places` contains the insertion-order numbers of its first rows. The other rows do
/// not have such numbers yet.
#[derive(Clone, Copy)]
pub(super) struct IncomingBatch<'b> {
    pub(super) number: usize,
    pub(super) batch: &'b Batch,
    pub(super) places: &'b [u64],
}

impl IncomingBatch<'_> {
    /// Returns true if this batch contains the row.
    pub(super) fn has(&self, at: RowAddr) -> bool {
        self.number == at.batch as usize
    }

    /// Returns the insertion-order number and the document number of a case.
    pub(super) fn describe(&self, at: RowAddr) -> (u64, Option<u64>) {
        let row = usize::from(at.row);
        (self.places.get(row).copied().unwrap_or(u64::MAX), self.batch.document_number(row))
    }
}
