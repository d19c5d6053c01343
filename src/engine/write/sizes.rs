//! The sizes of batches that an engine distinguishes.

/// The sizes of batches, all relative to a full batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The rows of a full batch.
    pub(crate) batch: usize,
}

impl Sizes {
    /// Returns the most edits of the head.
    pub(crate) fn head(self) -> usize {
        (self.batch / 1024).clamp(4, 64).min(self.batch)
    }

    /// Returns the most rows of a batch of joined heads with lazy columns: thirty-two heads.
    pub(crate) fn joined(self) -> usize {
        (self.head() * 32).min(self.batch / 32)
    }

    /// Returns true if a batch with this number of live rows is indexed. A search tests a smaller one by itself.
    pub(crate) fn is_covered(self, live_rows: usize) -> bool {
        live_rows >= (self.batch / 16).max(1)
    }

    /// Returns the classes of batches that are merged. Each class has fewer live rows per batch than its first number. If its
    /// batches together have at least the second number of rows, deleted ones included, they are merged even if they are few. A
    /// batch that is at least half full is left alone.
    pub(super) fn classes(self) -> [(usize, usize); 3] {
        let enough = self.batch / 8;
        [(self.batch / 64, enough), (self.batch / 16, enough), ((self.batch / 2).max(1), self.batch + 1)]
    }
}
