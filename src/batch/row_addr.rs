//! The address of a row among the batches of a snapshot.

/// The address of a row: its batch number in the snapshot, and its row number in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowAddr {
    pub(crate) batch: u32,
    pub(crate) row: u16,
}
