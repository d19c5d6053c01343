//! The address of a row among the batches of a snapshot.

/// The address of a row: the number of its batch in the snapshot, and the number of the row in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowAddr {
    pub(crate) batch: u32,
    pub(crate) row: u16,
}
