//! The sizes of batches that an engine tells apart.

/// The sizes of batches that an engine tells apart, all in relation to that of a full one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Rows of a full batch.
    pub(crate) batch: usize,
}

impl Sizes {
    /// Most edits of the head.
    pub(crate) fn head(self) -> usize {
        (self.batch / 1024).clamp(4, 64).min(self.batch)
    }

    /// Most rows of a batch that heads are joined to while its columns wait: thirty-two heads.
    pub(crate) fn joined(self) -> usize {
        (self.head() * 32).min(self.batch / 32)
    }

    /// A batch with fewer live rows than this is asked by itself rather than covered by the index.
    pub(crate) fn is_covered(self, live_rows: usize) -> bool {
        live_rows >= (self.batch / 16).max(1)
    }

    /// The classes of batches that are merged: each has fewer live rows than the first number, and when all have as many
    /// rows as the second together, deleted ones too, they are merged however few they are. A batch that is at least half
    /// full is left alone.
    pub(super) fn classes(self) -> [(usize, usize); 3] {
        let enough = self.batch / 8;
        [(self.batch / 64, enough), (self.batch / 16, enough), ((self.batch / 2).max(1), self.batch + 1)]
    }
}
