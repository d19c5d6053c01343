//! Stores the hashes of the ids of a scan, and finds the hashes that occur more than once.

use std::collections::HashSet;

/// The hashes of many ids, in sorted runs of one block each. Takes 8 bytes for each hash.
#[derive(Default)]
pub(super) struct IdHashes {
    runs: Vec<Box<[u64]>>,
    len: usize,
}

/// The approximate number of hashes that are compared at a time, unless there are more runs than this. They fit the processor's
/// second-level cache.
const LEAST_TOGETHER: usize = 1 << 14;

impl IdHashes {
    /// Adds the hashes of a block, in ascending order.
    pub(super) fn add(&mut self, run: Box<[u64]>) {
        debug_assert!(run.is_sorted(), "a block sorts its hashes");
        self.len = self.len.saturating_add(run.len());
        self.runs.push(run);
    }

    /// Returns the hashes that occur more than once.
    pub(super) fn repeated(self) -> HashSet<u64> {
        let mut repeated = HashSet::new();
        // Hashes are spread evenly, so each part of their range has about the same number of hashes. Every run is visited for each
        // part, so a part should not have far fewer hashes than there are runs.
        let least = LEAST_TOGETHER.max(self.runs.len());
        let parts = self.len.checked_div(least).unwrap_or(0).next_power_of_two();
        let width = u64::MAX >> parts.trailing_zeros();
        let mut rest: Vec<&[u64]> = self.runs.iter().map(|run| &**run).collect();
        let mut together = Vec::new();
        let mut last = width;
        loop {
            together.clear();
            for run in &mut rest {
                let (own, later) = run.split_at(run.partition_point(|hash| *hash <= last));
                together.extend_from_slice(own);
                *run = later;
            }
            // The stable sort merges sorted runs.
            together.sort();
            let pairs = together.iter().zip(together.iter().skip(1));
            repeated.extend(pairs.filter(|(one, next)| one == next).map(|(one, _)| *one));
            if last == u64::MAX {
                return repeated;
            }
            last = last.saturating_add(width).saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_that_occur_twice_are_found() {
        let hash = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (count, run) in [(0, 1), (1, 1), (5, 2), (1000, 64), (200_000, 1000), (200_000, 200_000)] {
            let mut hashes: Vec<u64> = (1..=count).map(hash).collect();
            hashes.extend([0, u64::MAX]);
            let twice: HashSet<u64> = [0, u64::MAX, hash(1), hash(count)].into();
            for repeated in [HashSet::new(), twice] {
                let all: Vec<u64> = hashes.iter().chain(&repeated).copied().collect();
                let mut ids = IdHashes::default();
                for run in all.chunks(run) {
                    let mut run = run.to_vec();
                    run.sort_unstable();
                    ids.add(run.into());
                }
                let known: HashSet<u64> = hashes.iter().copied().collect();
                let expected: HashSet<u64> = repeated.intersection(&known).copied().collect();
                assert_eq!(ids.repeated(), expected, "{count} hashes in runs of {run}");
            }
        }
    }
}
