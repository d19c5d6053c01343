//! Collects the first k documents in the order of an answer.

use std::sync::Arc;

use super::rank::{Rank, Ranking};

/// The number of documents beyond 2k that are collected before the list is reduced to the first k.
const SLACK: usize = 64;

/// The first k documents of those that were offered, each with its position and a payload.
///
/// Documents are kept unsorted. When there are 2k + [`SLACK`], a selection reduces them to the first k. So n documents take O(n + k
/// log k).
pub(super) struct Top<T> {
    wanted: usize,
    found: Vec<(Rank, T)>,
    /// The position after which no document can be among the first k. `None` if no such position is known yet.
    bound: Option<Arc<Rank>>,
}

impl<T> Top<T> {
    /// Creates an empty collector of `wanted` documents. No document after `bound` can be among the first `wanted` ones.
    pub(super) fn new(wanted: usize, bound: Option<Arc<Rank>>) -> Self {
        Self { wanted, found: Vec::new(), bound }
    }

    /// Returns the position after which no document can be among the first k. Returns `None` if no such position is known yet.
    pub(super) fn bound(&self) -> Option<&Arc<Rank>> {
        self.bound.as_ref()
    }

    /// Adds a document. The caller has checked that it is before the [bound](Self::bound).
    pub(super) fn push(&mut self, ranking: &Ranking, rank: Rank, payload: T) {
        if self.wanted == 0 {
            return;
        }
        self.found.push((rank, payload));
        let most = self.wanted.saturating_mul(2).saturating_add(SLACK);
        // In insertion order, documents are pushed by ascending place. Only documents with repeated ids are pushed at the end. So
        // the bound is known as soon as there are k documents.
        if self.found.len() >= most || ranking.is_by_place() && self.found.len() == self.wanted {
            self.reduce(ranking);
        }
    }

    /// Drops all documents but the first k.
    fn reduce(&mut self, ranking: &Ranking) {
        let Some(last) = self.wanted.checked_sub(1).filter(|last| *last < self.found.len()) else { return };
        self.found.select_nth_unstable_by(last, |a, b| ranking.compare(&a.0, &b.0));
        self.found.truncate(self.wanted);
        self.bound = self.found.get(last).map(|(rank, _)| Arc::new(rank.clone()));
    }

    /// Returns the first k documents in any order.
    pub(super) fn into_unsorted(mut self, ranking: &Ranking) -> Vec<(Rank, T)> {
        self.reduce(ranking);
        self.found
    }

    /// Returns the first k documents in order.
    pub(super) fn into_sorted(self, ranking: &Ranking) -> Vec<(Rank, T)> {
        let mut found = self.into_unsorted(ranking);
        found.sort_unstable_by(|a, b| ranking.compare(&a.0, &b.0));
        found
    }
}
