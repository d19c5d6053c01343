//! The strategies that count one facet in one batch, with the conditions and the costs of each.

use std::fmt;

/// A strategy that counts one facet in one batch. Each batch uses the first strategy that applies, in this order.
///
/// The costs are estimates for a full batch of 65,536 documents. `benches/facets.rs` measures them. The docs of each strategy name
/// the line of this benchmark that shows its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum FacetStrategy {
    /// Reads the counts from the index over all batches, and subtracts the counts of deleted documents. Applies if every document
    /// is selected, and the field is a single-valued string field with an index. Does not apply if a batch has deleted documents
    /// and more than 1,024 distinct strings, because such a batch does not count its deleted documents per string. Recent batches
    /// that the index does not cover use other strategies. It takes one step per string, and one more per string for each batch
    /// with deleted documents (benchmark line `values/all`).
    Index,
    /// Counts the selected documents that have a value, 64 documents at a time. Does not read the values. Applies if this count is
    /// 0, or if one bucket of a histogram contains the smallest and the greatest value of the batch. For a string field, applies
    /// only if no document of the batch has a value.
    Zone,
    /// Adds the number of documents that have each string. The batch stores this number with the postings of the string. Applies if
    /// every document of the batch is selected. It takes one addition per string (benchmark line `values/all of a list`).
    Lengths,
    /// Intersects the selected documents with the documents of each string or Boolean. The documents of a value are a bitmap or a
    /// list. It takes about 100 ns for a bitmap, and 0.5 ns for each listed document. So this strategy is best for few strings
    /// (benchmark line `values/few of a filter`).
    Postings,
    /// Finds the edges of the buckets in the sorted rows. A prefix bitmap contains all documents before a position in this order.
    /// The difference of two prefix bitmaps contains the documents between two edges. The strategy counts the selected documents in
    /// this difference. A few documents near the edges are tested one by one. Applies to single-valued fields, unless the batch has
    /// thousands of buckets or the selected documents are a short list. It takes at most one test for each document (benchmark line
    /// `histogram/day of a filter`).
    SortedRows,
    /// Reads the code of each selected document, and counts the codes in an array. It takes about 1 ns for each document (benchmark
    /// line `values/many of a filter`).
    Codes,
    /// Reads the values of each selected document (benchmark line `stats/filter`). Always applies, except to string and Boolean
    /// fields.
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

/// The number of batches that each strategy has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uses([u64; FacetStrategy::ALL.len()]);

impl Uses {
    /// Records that a strategy has counted batches.
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
