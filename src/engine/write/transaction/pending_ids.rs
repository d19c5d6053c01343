//! Finds the cases of a transaction by id, so that a case can replace an earlier case of the same transaction.

use hashbrown::HashTable;

use crate::batch::RowAddr;

/// A hash table from ids to rows of the transaction's buffer. The table does not store ids, because the rows contain them.
///
/// An import has one entry for each of its cases, so an entry is small: 8 bytes, and 1 byte of the table. An entry has only the
/// upper half of the hash of its id. When the table grows, each entry is placed by a hash of this half.
#[derive(Default)]
pub(super) struct PendingIds(HashTable<Entry>);

#[derive(Clone, Copy)]
struct Entry {
    /// The upper half of the id's hash.
    tag: u32,
    /// The batch number. It fits, because a transaction has at most 65,536 batches, like an engine.
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

/// Returns the upper half of a hash.
fn tag(hash: u64) -> u32 {
    (hash >> u32::BITS) as u32
}

/// Returns a hash for the table, which uses the lowest bits to choose the bucket and the highest seven bits as its own tag.
fn spread(tag: u32) -> u64 {
    // Fibonacci hashing: multiplies by the constant 2^64/φ, where φ is the golden ratio (Knuth, The Art of Computer Programming,
    // volume 3, section 6.4). The shift copies the upper bits, which are well mixed, to the lower bits.
    let product = u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> u32::BITS)
}

impl PendingIds {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the row of each case, in arbitrary order.
    pub(super) fn iter(&self) -> impl Iterator<Item = RowAddr> {
        self.0.iter().map(Entry::at)
    }

    /// Finds the case with this hash for which `is_it` returns true when it is called with the row of the case. Changes that row to
    /// `at`. Returns the old row, or `None` if there is no such case.
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

    /// Adds a case. It must not be in the table.
    pub(super) fn insert(&mut self, hash: u64, at: RowAddr) {
        self.0.insert_unique(spread(tag(hash)), Entry::new(hash, at), |entry| spread(entry.tag));
    }

    /// Reserves space for further cases.
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
        /// Uses only a few different hashes, so that many cases collide.
        #[test]
        fn cases_are_found_where_they_were_put(numbers in prop::collection::vec(0_u16..60, 0..300)) {
            let tags = [0, 1, 2, 1 << 31, u32::MAX, u32::MAX - 2, u32::MAX >> 4];
            let hash = |number: u16| u64::from(tags[usize::from(number % 7)]) << 32 | u64::from(number);
            let mut ids = PendingIds::default();
            let mut expected: BTreeMap<u16, RowAddr> = BTreeMap::new();
            for (step, number) in (0..).zip(numbers) {
                // A case that was replaced is now in another row.
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
