//! Where the cases that a change stores are, by the hashes of their ids.

use crate::exec::prefetch;
use crate::page::At;

/// A table of the cases of a change, as large as an import has cases.
///
/// The places for a hash stand one behind the other from that which the hash names; at most half of all are taken. Of a million cases
/// nearly each one that is looked for is a miss of all caches, as long as reading a fifth of a document takes; that can be
/// [announced](Self::announce) here, and cannot with a table of the library.
#[derive(Default)]
pub(super) struct OwnIds {
    /// As many as a power of two, or none.
    places: Vec<Place>,
    taken: usize,
}

#[derive(Clone, Copy)]
struct Place {
    hash: u64,
    at: At,
    is_taken: bool,
}

impl Place {
    const FREE: Self = Self { hash: 0, at: At { batch: 0, row: 0 }, is_taken: false };
}

impl OwnIds {
    const LEAST_PLACES: usize = 16;

    pub(super) fn len(&self) -> usize {
        self.taken
    }

    /// Each hash, and where its case is, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, At)> {
        self.places.iter().filter(|place| place.is_taken).map(|place| (place.hash, place.at))
    }

    /// Has the processor fetch what a hash will be looked for in.
    #[inline]
    pub(super) fn announce(&self, hash: u64) {
        prefetch(&self.places, self.first(hash));
    }

    /// The case with this hash of which that is true.
    #[inline]
    pub(super) fn find_mut(&mut self, hash: u64, is_it: impl Fn(At) -> bool) -> Option<&mut At> {
        let at = self.position(hash, is_it)?;
        self.places.get_mut(at).map(|place| &mut place.at)
    }

    /// Adds a case that is not there.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, at: At) {
        self.reserve(1);
        self.put(Place { hash, at, is_taken: true });
        self.taken = self.taken.saturating_add(1);
    }

    /// Makes room for so many further cases.
    #[inline]
    pub(super) fn reserve(&mut self, further: usize) {
        let least = self.taken.saturating_add(further).saturating_mul(2);
        if least > self.places.len() {
            self.grow(least);
        }
    }

    /// Takes out the case with this hash of which that is true.
    pub(super) fn remove(&mut self, hash: u64, is_it: impl Fn(At) -> bool) -> Option<At> {
        let found = self.position(hash, is_it)?;
        let removed = std::mem::replace(self.places.get_mut(found)?, Place::FREE).at;
        self.taken = self.taken.saturating_sub(1);
        // No free place may stand between that which a hash names and its own.
        let mut at = self.behind(found);
        while let Some(place) = self.places.get_mut(at).filter(|place| place.is_taken) {
            let place = std::mem::replace(place, Place::FREE);
            self.put(place);
            at = self.behind(at);
        }
        Some(removed)
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        let len = least.next_power_of_two().max(Self::LEAST_PLACES);
        for place in std::mem::replace(&mut self.places, vec![Place::FREE; len]) {
            if place.is_taken {
                self.put(place);
            }
        }
    }

    /// Puts it into the first free place; there is one.
    #[inline]
    fn put(&mut self, new: Place) {
        let mut at = self.first(new.hash);
        while let Some(place) = self.places.get_mut(at) {
            if !place.is_taken {
                *place = new;
                return;
            }
            at = self.behind(at);
        }
    }

    #[inline]
    fn position(&self, hash: u64, is_it: impl Fn(At) -> bool) -> Option<usize> {
        let mut at = self.first(hash);
        loop {
            let place = self.places.get(at).filter(|place| place.is_taken)?;
            if place.hash == hash && is_it(place.at) {
                return Some(at);
            }
            at = self.behind(at);
        }
    }

    /// The place that a hash names.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower bits are wanted")]
    fn first(&self, hash: u64) -> usize {
        hash as usize & self.places.len().wrapping_sub(1)
    }

    /// The place behind one, that behind the last being the first.
    #[inline]
    fn behind(&self, at: usize) -> usize {
        at.wrapping_add(1) & self.places.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn at(number: u16) -> At {
        At { batch: u32::from(number / 7), row: number }
    }

    proptest! {
        /// Few hashes, so that many are the same or lie side by side, some of them at the end.
        #[test]
        fn cases_are_where_they_were_put(steps in prop::collection::vec((0_u16..60, any::<bool>()), 0..300)) {
            let hash = |number: u16| [0, 1, 2, u64::MAX, u64::MAX - 1, 15, 31][usize::from(number % 7)];
            let mut ids = OwnIds::default();
            let mut expected: BTreeMap<u16, At> = BTreeMap::new();
            for (step, (number, stays)) in (0..).zip(steps) {
                // A case is another's row, after it has been replaced.
                let is_it = |expected: &BTreeMap<u16, At>| {
                    let own = expected.get(&number).copied();
                    move |other: At| Some(other) == own
                };
                if stays {
                    let new = At { batch: step, row: number };
                    match ids.find_mut(hash(number), is_it(&expected)) {
                        Some(found) => *found = new,
                        None => ids.insert(hash(number), new),
                    }
                    expected.insert(number, new);
                } else {
                    let removed = ids.remove(hash(number), is_it(&expected));
                    prop_assert_eq!(removed, expected.remove(&number));
                }
                prop_assert_eq!(ids.len(), expected.len());
            }
            for number in 0..60 {
                let found = ids.find_mut(hash(number), |at| at.row == number).copied();
                prop_assert_eq!(found, expected.get(&number).copied());
            }
            let mut all: Vec<(u64, At)> = ids.iter().collect();
            all.sort_by_key(|(_, at)| at.row);
            let expected: Vec<(u64, At)> = expected.into_iter().map(|(number, at)| (hash(number), at)).collect();
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn a_table_of_no_case_has_none() {
        let mut ids = OwnIds::default();
        ids.announce(7);
        assert_eq!((ids.find_mut(7, |_| true).copied(), ids.remove(7, |_| true), ids.len()), (None, None, 0));
        ids.reserve(100);
        assert_eq!((ids.find_mut(7, |_| true).copied(), ids.iter().count()), (None, 0));
        ids.insert(7, at(9));
        assert_eq!(ids.find_mut(7, |_| true).copied(), Some(at(9)));
    }
}
