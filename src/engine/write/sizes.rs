//! The row counts at which an engine treats batches differently: heads, indexed batches, and classes for merges.

/// The sizes of batches. All of them are derived from the size of a full batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The number of rows of a full batch.
    pub(crate) batch: usize,
}

impl Sizes {
    /// Returns the maximum number of edits of the head.
    pub(crate) fn head(self) -> usize {
        (self.batch / 1024).clamp(4, 64).min(self.batch)
    }

    /// Returns the maximum number of rows of a batch of joined heads: 32 heads, but at most 1/32 of a full batch.
    pub(crate) fn joined(self) -> usize {
        (self.head() * 32).min(self.batch / 32)
    }

    /// Returns true if a batch with this number of live rows is indexed. A search tests smaller batches one by one.
    pub(crate) fn is_covered(self, live_rows: usize) -> bool {
        live_rows >= (self.batch / 16).max(1)
    }

    /// Returns the classes of batches that are merged. Each class is a pair `(most, enough)` of row counts.
    ///
    /// A batch belongs to the first class whose `most` is greater than the batch's number of live rows. The batches of a class are
    /// merged if they have at least `enough` rows together, including deleted rows. This holds even if there are only a few
    /// batches. A batch that is at least half full belongs to no class.
    pub(super) fn classes(self) -> [(usize, usize); 3] {
        let enough = self.batch / 8;
        [(self.batch / 64, enough), (self.batch / 16, enough), ((self.batch / 2).max(1), self.batch + 1)]
    }
}
