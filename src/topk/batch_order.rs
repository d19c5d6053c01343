//! Lists batches in the order of their first keys. Reads only as many batches as the search needs. Also finds batches whose keys
//! all come before the keys of every later batch. The search may skip such a batch after it has counted its selected rows.
#![expect(clippy::arithmetic_side_effects, reason = "indexes of batches in memory")]

use super::key::{Key, SortBy, key_range};
use crate::exec::Visit;

/// A batch with the first and the last key that its rows can have.
#[derive(Clone, Copy)]
pub(super) struct Ranged<'b> {
    pub(super) visit: Visit<'b>,
    pub(super) first: Key<'b>,
    pub(super) last: Key<'b>,
    /// True if every row of every later batch has a key after [`last`](Self::last). False if this is not true or not known.
    pub(super) is_apart_from_next: bool,
}

impl<'b> Ranged<'b> {
    pub(super) fn new(visit: Visit<'b>, by: SortBy<'_>) -> Self {
        let (first, last) = key_range(visit.batch, by);
        Self { visit, first, last, is_apart_from_next: false }
    }
}

/// A lazy list of batches in the order of their first keys.
pub(super) struct Ordered<'b, 's, I> {
    by: SortBy<'s>,
    /// The batches that have been read from both inputs so far, in the order of their first keys.
    met: Vec<Ranged<'b>>,
    /// The remaining batches of the sorted input.
    in_order: I,
    /// The next batch of the sorted input, if it has been read but not yet moved to `met`.
    next: Option<Ranged<'b>>,
    /// The remaining batches of the other input, in the reverse order of their first keys. The next batch is the last element of
    /// this list, so that it can be popped.
    others: Vec<Ranged<'b>>,
}

impl<'b, 's, I: Iterator<Item = Visit<'b>>> Ordered<'b, 's, I> {
    /// Merges two inputs. The batches of `in_order` are in the order of their first keys, the batches of `others` are in any order.
    pub(super) fn new(in_order: I, others: impl Iterator<Item = Visit<'b>>, by: SortBy<'s>) -> Self {
        let descending = by.is_descending();
        let mut others: Vec<Ranged<'b>> = others.map(|visit| Ranged::new(visit, by)).collect();
        if !descending {
            // Batches of successive imports often have ascending keys. Reversed, such batches are already in the order that the
            // sort below creates.
            others.reverse();
        }
        others.sort_by(|a, b| b.first.compare(&a.first, descending));
        Self { by, met: Vec::new(), in_order, next: None, others }
    }

    /// Reads one more batch. Returns `None` if no batch is left.
    fn advance(&mut self) -> Option<()> {
        if self.others.is_empty() && self.next.is_none() {
            self.met.push(Ranged::new(self.in_order.next()?, self.by));
            return Some(());
        }
        if self.next.is_none() {
            self.next = self.in_order.next().map(|visit| Ranged::new(visit, self.by));
        }
        let is_first = |other: &mut Ranged<'b>| match &self.next {
            Some(next) => other.first.compare(&next.first, self.by.is_descending()).is_lt(),
            None => true,
        };
        let met = self.others.pop_if(is_first).or_else(|| self.next.take())?;
        self.met.push(met);
        Some(())
    }

    /// Returns the batch at index `at` of the order. Returns `None` if there are fewer batches.
    pub(super) fn get(&mut self, at: usize) -> Option<Ranged<'b>> {
        while self.met.len() <= at {
            self.advance()?;
        }
        self.met.get(at).copied()
    }

    /// Returns the batches in order. If `looks_ahead`, reads one batch ahead and sets
    /// [`is_apart_from_next`](Ranged::is_apart_from_next).
    pub(super) fn batches(&mut self, looks_ahead: bool) -> impl Iterator<Item = Ranged<'b>> {
        let descending = self.by.is_descending();
        (0_usize..).map_while(move |at| {
            let ranged = self.get(at)?;
            let is_apart_from_next = looks_ahead
                && self.get(at + 1).is_none_or(|next| ranged.last.compare(&next.first, descending).is_lt());
            Some(Ranged { is_apart_from_next, ..ranged })
        })
    }

    /// Returns all batches in order.
    pub(super) fn all(&mut self) -> &[Ranged<'b>] {
        while self.advance().is_some() {}
        &self.met
    }
}
