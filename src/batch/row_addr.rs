//! The address of a row as a pair of numbers. Every row of a snapshot has such an address, even if the index does not cover its
//! batch. The index packs the address of a row in a covered batch into a `GlobalRow` of 32 bits.

/// The address of a row: its batch number in the snapshot, and its row number in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowAddr {
    pub(crate) batch: u32,
    pub(crate) row: u16,
}
