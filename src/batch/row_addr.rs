//! The address of a row among the batches of a snapshot.

/// The number of a batch in its snapshot, and of a row in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowAddr {
    pub(crate) batch: u32,
    pub(crate) row: u16,
}
