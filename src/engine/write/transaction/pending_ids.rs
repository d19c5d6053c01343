//! The ids of the cases that a transaction stores.

use hashbrown::HashTable;

use crate::batch::RowAddr;

/// A table from the hashes of ids to rows of the transaction's buffer. The ids themselves lie with the rows.
///
/// An entry is small, since an import has one for each of its cases: 8 bytes, and 1 of the table's own. It keeps half of the hash,
/// from which the table's hash is made again when it grows.
#[derive(Default)]
pub(super) struct PendingIds(HashTable<Entry>);

#[derive(Clone, Copy)]
struct Entry {
    /// The upper half of the id's hash.
    tag: u32,
    /// A transaction has no more batches than an engine, 65,536.
    batch: u16,
    row: u16,
}

impl Entry {
    fn new(hash: u64, RowAddr { batch, row }: RowAddr) -> Self {
        debug_assert!(u16::try_from(batch).is_ok(), "batch {batch} of a transaction");
        Self { tag: tag(hash), batch: batch as u16, row }
    }

    fn at(&self) -> RowAddr {
        RowAddr { batch: self.batch.into(), row: self.row }
    }
}

/// The upper half of a hash.
fn tag(hash: u64) -> u32 {
    (hash >> u32::BITS) as u32
}

/// Returns a hash for the table, which takes the bucket from its low bits and seven more from the top.
fn spread(tag: u32) -> u64 {
    // 2^64 over the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4), with the better bits moved down.
    let product = u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> u32::BITS)
}

impl PendingIds {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the row of each case, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = RowAddr> {
        self.0.iter().map(Entry::at)
    }

    /// Moves the case with this hash for whose row `is_it` is true to another row. Returns its row before, if there is such a case.
    pub(super) fn replace(
        &mut self,
        hash: u64,
        at: RowAddr,
        is_it: impl Fn(RowAddr) -> bool,
    ) -> Option<RowAddr> {
        let tag = tag(hash);
        let found = self.0.find_mut(spread(tag), |entry| entry.tag == tag && is_it(entry.at()))?;
        Some(std::mem::replace(found, Entry::new(hash, at)).at())
    }

    /// Adds a case that is not in the table.
    pub(super) fn insert(&mut self, hash: u64, at: RowAddr) {
        self.0.insert_unique(spread(tag(hash)), Entry::new(hash, at), |entry| spread(entry.tag));
    }

    /// Makes room for further cases.
    pub(super) fn reserve(&mut self, further: usize) {
        self.0.reserve(further, |entry| spread(entry.tag));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few hashes, so that many cases share one.
        #[test]
        fn cases_are_where_they_were_put(numbers in prop::collection::vec(0_u16..60, 0..300)) {
            let tags = [0, 1, 2, 1 << 31, u32::MAX, u32::MAX - 2, u32::MAX >> 4];
            let hash = |number: u16| u64::from(tags[usize::from(number % 7)]) << 32 | u64::from(number);
            let mut ids = PendingIds::default();
            let mut expected: BTreeMap<u16, RowAddr> = BTreeMap::new();
            for (step, number) in (0..).zip(numbers) {
                // A case is in another row after it has been replaced.
                let own = expected.get(&number).copied();
                let new = RowAddr { batch: u32::from(u16::MAX - step), row: number };
                let before = ids.replace(hash(number), new, |other| Some(other) == own);
                prop_assert_eq!(before, expected.insert(number, new));
                if before.is_none() {
                    ids.insert(hash(number), new);
                }
                if step % 50 == 49 {
                    ids.reserve(usize::from(number));
                }
                prop_assert_eq!(ids.len(), expected.len());
            }
            let mut all: Vec<RowAddr> = ids.iter().collect();
            all.sort_by_key(|at| at.row);
            prop_assert_eq!(all, expected.into_values().collect::<Vec<RowAddr>>());
        }
    }

    #[test]
    fn an_entry_takes_eight_bytes() {
        assert_eq!(size_of::<Entry>(), 8);
    }
}
