//! The strategies that count the values of one facet in one batch, with the reasons for each.

use std::fmt;

/// A strategy that counts the values of one facet. Each batch uses the first one that applies, in this order.
///
/// The costs are estimates for a full batch of 65,536 documents. `benches/facets.rs` has the lines that measure them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum FacetStrategy {
    /// The index over all batches has the counts: every document is selected, and the field is a single-valued string field with an
    /// index. Deleted documents are subtracted per string, and recent small batches are counted one by one. It takes one look-up per
    /// string, for any number of documents (line `values/all`).
    Index,
    /// No document of the batch has a value, or all values are in one bucket of a histogram. The smallest and the greatest value of
    /// the batch say so. Only the selected documents with a value are counted, 64 at a time.
    Zone,
    /// Every document of the batch is selected, and the batch stores the number of documents of each string. It takes one addition per
    /// string (line `values/all of a list`).
    Lengths,
    /// The documents of each string are a bitmap or a list, which is intersected with the selected documents. It takes 0.1 µs for a
    /// bitmap, and half a nanosecond for each listed document. So it is best for few strings (line `values/few of a filter`).
    Postings,
    /// The edges of the buckets are looked up in the sorted rows. Documents between two edges are counted by two bitmaps of the sorted
    /// rows, or listed if they are few. It takes at most one test for each document (line `histogram/day of a filter`).
    SortedRows,
    /// The code of each selected document is read, and counted in an array: about one nanosecond for each (line
    /// `values/many of a filter`).
    Codes,
    /// The value of each selected document is read. It is the last strategy, and always applies (line `stats/filter`).
    Values,
}

impl FacetStrategy {
    /// All strategies, in the order in which they are tried.
    pub const ALL: [Self; 7] =
        [Self::Index, Self::Zone, Self::Lengths, Self::Postings, Self::SortedRows, Self::Codes, Self::Values];
}

impl fmt::Display for FacetStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Index => "counts of the index",
            Self::Zone => "zone maps",
            Self::Lengths => "counts of each batch",
            Self::Postings => "postings of each value",
            Self::SortedRows => "sorted rows",
            Self::Codes => "codes of the selected documents",
            Self::Values => "values of the selected documents",
        })
    }
}

/// The number of batches that were counted by each strategy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uses([u64; FacetStrategy::ALL.len()]);

impl Uses {
    /// Records that batches were counted by a strategy.
    pub(super) fn add(&mut self, strategy: FacetStrategy, batches: u64) {
        if let Some(uses) = self.0.get_mut(strategy as usize) {
            *uses = uses.saturating_add(batches);
        }
    }

    /// Returns the strategies that were used, with the number of batches of each.
    pub(super) fn list(self) -> Vec<(FacetStrategy, u64)> {
        FacetStrategy::ALL.into_iter().zip(self.0).filter(|(_, uses)| *uses > 0).collect()
    }
}
