//! The address of a row as a pair of numbers, for every batch of a snapshot, covered by the index or not. The index packs the
//! addresses of covered batches into a `GlobalRow` of 32 bits.

/// The address of a row: its batch number in the snapshot, and its row number in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowAddr {
    pub(crate) batch: u32,
    pub(crate) row: u16,
}
