//! Collects the counts of the buckets of a histogram, and builds the list of the answer.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of documents, and numbers of buckets in 128 bits"
)]

use std::collections::HashMap;

use super::answer::FacetBucket;
use super::buckets::Buckets;
use crate::catalog::Field;
use crate::error::{Error, ErrorKind, Suggestion, quote};
use crate::limits::Limits;
use crate::value::OrderedType;

/// The counts of the buckets that have at least one document.
#[derive(Debug, Default)]
pub(crate) struct HistogramCounts {
    counts: HashMap<i64, u64, foldhash::quality::RandomState>,
    /// True if the width is too small to number the bucket of a value.
    is_too_narrow: bool,
}

impl HistogramCounts {
    /// Adds documents to the bucket with this number.
    pub(crate) fn add(&mut self, number: i64, documents: u64) {
        if documents > 0 {
            *self.counts.entry(number).or_default() += documents;
        }
    }

    /// Adds all counts of `other`.
    pub(crate) fn append(&mut self, other: Self) {
        self.is_too_narrow |= other.is_too_narrow;
        other.counts.into_iter().for_each(|(number, documents)| self.add(number, documents));
    }

    /// Records that a value has no bucket, because the width is too small.
    pub(crate) fn add_too_narrow(&mut self) {
        self.is_too_narrow = true;
    }

    /// Returns true if it is certain that the list will exceed the limit. Adding more documents does not change that.
    pub(crate) fn is_over(&self, limits: &Limits) -> bool {
        self.is_too_narrow || self.counts.len() as u64 > limits.facet_buckets
    }

    /// Returns the buckets from the first to the last that has a document, with the empty ones between them. If the request gives
    /// the edges, also returns all buckets between the first and the last edge, even if they are empty.
    ///
    /// # Errors
    /// Returns [`ErrorKind::TooManyBuckets`] if the list exceeds [`Limits::facet_buckets`]. The error has no path.
    pub(crate) fn into_buckets(
        self,
        buckets: &Buckets,
        (field, kind): (&Field, OrderedType),
        limits: &Limits,
    ) -> Result<Vec<FacetBucket>, Error> {
        let used = self.counts.keys().fold(None, |range: Option<(i64, i64)>, number| {
            let (first, last) = range.unwrap_or((*number, *number));
            Some((first.min(*number), last.max(*number)))
        });
        let range = match (used, buckets.fixed()) {
            (Some((first, last)), Some((from, to))) => Some((first.min(from), last.max(to))),
            (used, fixed) => used.or(fixed),
        };
        let len = range.map_or(0, |(first, last)| i128::from(last) - i128::from(first) + 1);
        if self.is_too_narrow || len > i128::from(limits.facet_buckets) {
            return Err(too_many(buckets, (field, kind), limits));
        }
        let Some((first, last)) = range else { return Ok(Vec::new()) };
        let edge = |number: i64| buckets.edge(number).map(|edge| kind.value(edge));
        Ok((first..=last)
            .map(|number| FacetBucket {
                from: edge(number),
                to: edge(number.saturating_add(1)),
                count: self.counts.get(&number).copied().unwrap_or(0),
            })
            .collect())
    }
}

/// Returns the error for a histogram of more buckets than the limit.
fn too_many(buckets: &Buckets, (field, kind): (&Field, OrderedType), limits: &Limits) -> Error {
    let size = buckets.size(kind);
    let found = format!("values of {} in too many buckets {size}", quote(field.name()));
    let expected = format!("at most {} buckets from the first to the last", limits.facet_buckets);
    let advice = match buckets {
        Buckets::Calendar { .. } => "a longer interval, or criteria that bound the field",
        Buckets::Edges(_) => "fewer edges",
        Buckets::Width(_) | Buckets::NumberWidth(_) => "a greater width, or criteria that bound the field",
    };
    Error::new(ErrorKind::TooManyBuckets, 0, found, expected).suggest(Some(Suggestion::explain(advice)))
}
