//! The zone index: the zone map (the minimum and the maximum) of one field in each batch, deleted rows included. It has no counts.
//! `exec/pruning.rs` uses it to exclude batches, and sorted pages visit the batches in the order of their zone maps.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "numbers of batches, within the length of the list, and sizes in memory"
)]

use std::sync::OnceLock;

use crate::value::OrdinalRange;

/// The zone maps of one field: the smallest and the greatest value of each batch, by batch number.
///
/// `[Some((1, 9)), None, Some((4, 4))]`: batch 0 has values from 1 to 9, and batch 2 only the value 4. Invariant: if a batch number
/// has no zone map, its batch has no values, or its batch is retired, or the number is free.
#[derive(Clone, Debug, Default)]
pub(crate) struct ZoneIndex {
    zones: Vec<Option<OrdinalRange>>,
    /// Two lists of all batch numbers: in ascending order of the smallest value, and in descending order of the greatest value.
    /// Batches without values come last. Each list is computed on first use.
    orders: [OnceLock<Box<[u32]>>; 2],
}

impl ZoneIndex {
    /// Sets the zone map of a batch. `zone` is `None` if the batch has no values, or is retired.
    pub(super) fn put(&mut self, number: usize, zone: Option<OrdinalRange>) {
        if self.zones.len() <= number {
            self.zones.resize(number + 1, None);
        }
        self.zones[number] = zone;
        self.orders = Default::default();
    }

    /// Returns the zone map of a batch. Returns `None` if the batch has no values.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<OrdinalRange> {
        self.zones.get(number).copied().flatten()
    }

    /// Returns the batch numbers of the batches whose zone map overlaps the range, in ascending order.
    pub(crate) fn overlapping(&self, (low, high): OrdinalRange) -> impl Iterator<Item = usize> {
        let overlaps = move |zone: &Option<OrdinalRange>| {
            zone.is_some_and(|(least, greatest)| least <= high && low <= greatest)
        };
        self.zones.iter().enumerate().filter(move |(_, zone)| overlaps(zone)).map(|(number, _)| number)
    }

    /// Returns the end of the range of batch numbers for which a zone map was ever set.
    pub(super) fn len(&self) -> usize {
        self.zones.len()
    }

    /// Returns all batch numbers in ascending order of the smallest value of each batch. If `descending`, returns them in
    /// descending order of the greatest value. Batches without values come last.
    pub(super) fn in_order(&self, descending: bool) -> &[u32] {
        let [ascending_order, descending_order] = &self.orders;
        let order = if descending { descending_order } else { ascending_order };
        order.get_or_init(|| {
            let mut numbers: Vec<u32> = (0..).zip(&self.zones).map(|(number, _)| number).collect();
            let zone = |number: &u32| self.get(*number as usize);
            if descending {
                numbers.sort_by_key(|number| std::cmp::Reverse(zone(number).map(|(_, greatest)| greatest)));
            } else {
                numbers.sort_by_key(|number| {
                    zone(number).map_or((true, None), |(least, _)| (false, Some(least)))
                });
            }
            numbers.into()
        })
    }

    /// Returns the heap memory in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let orders = self.orders.iter().filter_map(OnceLock::get).map(|order| size_of_val::<[u32]>(order));
        size_of_val::<[Option<OrdinalRange>]>(&self.zones) + orders.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_come_in_order_and_those_without_values_last() {
        let mut zones = ZoneIndex::default();
        for (number, zone) in [Some((5, 6)), None, Some((1, 9)), Some((3, 4))].into_iter().enumerate() {
            zones.put(number, zone);
        }
        assert_eq!(zones.in_order(false), [2, 3, 0, 1]);
        assert_eq!(zones.in_order(true), [2, 0, 3, 1]);
        zones.put(2, None);
        zones.put(5, Some((4, 7)));
        assert_eq!(zones.in_order(false), [3, 5, 0, 1, 2, 4]);
        assert_eq!(zones.in_order(true), [5, 0, 3, 1, 2, 4]);
    }

    #[test]
    fn a_range_is_met_by_the_zones_that_share_a_value_with_it() {
        let mut zones = ZoneIndex::default();
        for (number, zone) in [Some((5, 6)), None, Some((1, 9)), Some((3, 4))].into_iter().enumerate() {
            zones.put(number, zone);
        }
        for round in 0..2 {
            for low in 0..11 {
                for high in low..11 {
                    let meets = |number: &usize| {
                        zones.get(*number).is_some_and(|(least, greatest)| {
                            (least..=greatest).any(|n| low <= n && n <= high)
                        })
                    };
                    let expected: Vec<usize> = (0..zones.len()).filter(meets).collect();
                    assert_eq!(
                        zones.overlapping((low, high)).collect::<Vec<_>>(),
                        expected,
                        "{low}..={high}, {round}"
                    );
                }
            }
            zones.put(2, None);
            zones.put(5, Some((4, 7)));
        }
    }
}
