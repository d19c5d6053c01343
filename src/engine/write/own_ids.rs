//! Where the cases that a change stores are, by the hashes of their ids.

use crate::batch::RowAddr;
use crate::kernels::prefetch;

/// A table of the cases of a change, as large as an import has cases.
///
/// Of a million cases nearly each one that is looked for is a miss of all caches, which took 6 % of the time of reading them from NDJSON
/// (`perf`, AMD family 26). It can be [announced](Self::announce) here, and cannot with a table of the library.
///
/// A hash names a place by its upper half, and greater halves name none that lie before: a table that grows is filled from its beginning
/// to its end, as the smaller one is read.
///
/// Invariant: no free place stands between that which a hash names and its own, the places being a ring; at most three of four are
/// taken.
#[derive(Default)]
pub(crate) struct OwnIds {
    /// As many as a power of two, or none.
    places: Vec<Place>,
    taken: usize,
}

/// Flat and small, so that eight fill a line of the cache.
#[derive(Clone, Copy)]
struct Place {
    /// The upper half of a hash, its lowest bit set; zero if the place is free.
    tag: u32,
    /// A change has no more batches than that.
    batch: u16,
    row: u16,
}

impl Place {
    const FREE: Self = Self { tag: 0, batch: 0, row: 0 };

    #[inline]
    fn new(hash: u64, RowAddr { batch, row }: RowAddr) -> Self {
        Self { tag: Self::tag(hash), batch: u16::try_from(batch).unwrap_or(u16::MAX), row }
    }

    #[inline]
    fn tag(hash: u64) -> u32 {
        (hash >> u32::BITS) as u32 | 1
    }

    #[inline]
    fn is_taken(&self) -> bool {
        self.tag != 0
    }

    #[inline]
    fn at(&self) -> RowAddr {
        RowAddr { batch: self.batch.into(), row: self.row }
    }
}

impl OwnIds {
    const LEAST_PLACES: usize = 16;

    pub(crate) fn len(&self) -> usize {
        self.taken
    }

    /// Where each case is, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = RowAddr> {
        self.places.iter().filter(|place| place.is_taken()).map(Place::at)
    }

    /// Has the processor fetch what a hash will be looked for in.
    #[inline]
    pub(crate) fn announce(&self, hash: u64) {
        prefetch(&self.places, self.first(Place::tag(hash)));
    }

    /// Says of the case with this hash of which `is_it` is true that it is somewhere else now; gives where it was, if there is one.
    #[inline]
    pub(crate) fn replace(
        &mut self,
        hash: u64,
        at: RowAddr,
        is_it: impl Fn(RowAddr) -> bool,
    ) -> Option<RowAddr> {
        let found = self.position(hash, is_it)?;
        let place = self.places.get_mut(found)?;
        Some(std::mem::replace(place, Place::new(hash, at)).at())
    }

    /// Adds a case that is not there.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, at: RowAddr) {
        self.reserve(1);
        self.put(Place::new(hash, at));
        self.taken = self.taken.saturating_add(1);
    }

    /// Makes room for so many further cases.
    #[inline]
    pub(crate) fn reserve(&mut self, further: usize) {
        let taken = self.taken.saturating_add(further);
        let least = taken.saturating_add(taken.div_ceil(3));
        if least > self.places.len() {
            self.grow(least);
        }
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        let len = least.next_power_of_two().max(Self::LEAST_PLACES);
        for place in std::mem::replace(&mut self.places, vec![Place::FREE; len]) {
            if place.is_taken() {
                self.put(place);
            }
        }
    }

    /// Puts it into the first free place; there is one.
    #[inline]
    fn put(&mut self, new: Place) {
        let mut at = self.first(new.tag);
        while let Some(place) = self.places.get_mut(at) {
            if !place.is_taken() {
                *place = new;
                return;
            }
            at = self.behind(at);
        }
    }

    #[inline]
    fn position(&self, hash: u64, is_it: impl Fn(RowAddr) -> bool) -> Option<usize> {
        let tag = Place::tag(hash);
        let mut at = self.first(tag);
        loop {
            let place = self.places.get(at).filter(|place| place.is_taken())?;
            if place.tag == tag && is_it(place.at()) {
                return Some(at);
            }
            at = self.behind(at);
        }
    }

    /// The place that the hash of a tag names: as far into the table as the tag is into all tags.
    #[inline]
    fn first(&self, tag: u32) -> usize {
        (u128::from(tag).wrapping_mul(self.places.len() as u128) >> u32::BITS) as usize
    }

    /// The place behind one, that behind the last being the first.
    #[inline]
    fn behind(&self, at: usize) -> usize {
        at.wrapping_add(1) & self.places.len().wrapping_sub(1)
    }

    /// Whether the invariant holds.
    #[cfg(test)]
    fn validate(&self) -> bool {
        let is_reached = |at: usize, place: &Place| {
            let mut from = self.first(place.tag);
            while from != at && self.places[from].is_taken() {
                from = self.behind(from);
            }
            from == at
        };
        let mut taken = self.places.iter().enumerate().filter(|(_, place)| place.is_taken());
        taken.clone().count() == self.taken
            && self.taken * 4 <= self.places.len() * 3
            && taken.all(|(at, place)| is_reached(at, place))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few hashes, so that many are the same or lie side by side, some of them at the end.
        #[test]
        fn cases_are_where_they_were_put(numbers in prop::collection::vec(0_u16..60, 0..300)) {
            let tags = [0, 1, 2, 1 << 31, u32::MAX, u32::MAX - 2, u32::MAX >> 4];
            let hash = |number: u16| u64::from(tags[usize::from(number % 7)]) << 32 | u64::from(number);
            let mut ids = OwnIds::default();
            let mut expected: BTreeMap<u16, RowAddr> = BTreeMap::new();
            for (step, number) in (0..).zip(numbers) {
                // A case is another's row, after it has been replaced.
                let own = expected.get(&number).copied();
                let new = RowAddr { batch: u32::from(u16::MAX) - step, row: number };
                let before = ids.replace(hash(number), new, |other| Some(other) == own);
                prop_assert_eq!(before, expected.insert(number, new));
                if before.is_none() {
                    ids.insert(hash(number), new);
                }
                if step % 50 == 49 {
                    ids.reserve(usize::from(number));
                }
                prop_assert_eq!(ids.len(), expected.len());
                prop_assert!(ids.validate());
            }
            let mut all: Vec<RowAddr> = ids.iter().collect();
            all.sort_by_key(|at| at.row);
            prop_assert_eq!(all, expected.into_values().collect::<Vec<RowAddr>>());
        }
    }

    #[test]
    fn a_table_of_no_case_has_none() {
        let mut ids = OwnIds::default();
        ids.announce(7);
        let at = RowAddr { batch: 1, row: 9 };
        assert_eq!((ids.replace(7, at, |_| true), ids.len()), (None, 0));
        ids.reserve(100);
        assert_eq!((ids.replace(7, at, |_| true), ids.iter().count()), (None, 0));
        ids.insert(7, at);
        assert_eq!(ids.replace(7, RowAddr { batch: 2, row: 3 }, |_| true), Some(at));
    }
}
