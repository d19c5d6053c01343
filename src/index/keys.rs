//! The key index: maps the values of a field with mostly unique strings to their rows, over all batches.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "numbers of entries, whose rows are distinct and have 32 bits, and the codes of a column"
)]

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::global_row::{GlobalRow, join};
use super::runs::{Run, RunMerge};
use crate::column::{Column, ColumnData, sort_from_bit};

/// A multimap from the hashes of a field's values to rows. The caller must compare the values, because different values can have
/// the same hash.
///
/// The entries are in runs, in the order in which batches were added. Neighbouring runs of similar size are [merged](RunMerge), so
/// that there are few runs. Each value takes 8 bytes for its entry, plus at most about one byte for the fences. A *fence* is the
/// index at which a hash bucket of a run starts.
///
/// Invariant: each row of a covered batch that has a string is in exactly one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyIndex {
    /// The runs, oldest first.
    runs: Vec<Arc<Run>>,
}

/// The sorted entries of one batch. Creating the entries is the expensive part of [adding](KeyIndex::add) a batch. They are created
/// before the batch has a batch number.
#[derive(Debug)]
pub(crate) struct BatchKeys {
    /// Entries as in a run, with batch number 0.
    entries: Vec<u64>,
}

impl BatchKeys {
    /// Creates the entries of a single-valued string column. The strings `a`, `b`, `a` give three entries: two of the same hash,
    /// ascending by row, and one of another hash.
    pub(super) fn new(column: &Column, hasher: &foldhash::quality::RandomState) -> Self {
        // Each distinct string is hashed once, in memory order.
        let hashes: Vec<u64> = match &column.data {
            ColumnData::Strings { dictionary, .. } => {
                (0..dictionary.len()).map(|code| hasher.hash_one(dictionary.get(code))).collect()
            }
            _ => Vec::new(),
        };
        let hash = |row: usize| column.code(row).map(|(_, code)| hashes[code]);
        Self::of((0..column.rows()).filter_map(|row| Some((hash(row)?, u16::try_from(row).ok()?))))
    }

    /// Creates the entries from pairs of a hash and a row.
    fn of(values: impl Iterator<Item = (u64, u16)>) -> Self {
        let mut entries: Vec<u64> = values.map(|(hash, row)| (hash >> 32 << 32) | u64::from(row)).collect();
        sort_from_bit(&mut entries, 32);
        Self { entries }
    }
}

/// Up to this total number of entries, runs are merged completely when a batch is added. Larger merges are done in steps. A full
/// batch has this number of entries.
const AT_ONCE: usize = 1 << 16;

/// The number of memory prefetches that are issued before the first result is read.
const TOGETHER: usize = 32;

/// Merges two ascending lists.
fn merged(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let mut rest = b.iter().copied().peekable();
    for entry in a {
        while let Some(other) = rest.next_if(|other| other < entry) {
            all.push(other);
        }
        all.push(*entry);
    }
    all.extend(rest);
    all
}

impl KeyIndex {
    /// Adds the entries of a batch as the newest run. `number` is the batch number, and `retired` is the count of batches retired
    /// so far.
    ///
    /// Merges the newest runs with the new run as long as the result is not larger than the run of a full batch.
    pub(super) fn add(&mut self, values: BatchKeys, number: usize, retired: u64) {
        let Some(first) = join(number, 0) else { return };
        let mut entries = values.entries;
        entries.iter_mut().for_each(|entry| *entry |= u64::from(first));
        let mut clean = retired;
        while let Some(last) = self.runs.pop_if(|run| run.entries.len() + entries.len() <= AT_ONCE) {
            entries = merged(&last.entries, &entries);
            clean = clean.min(last.clean);
        }
        if !entries.is_empty() {
            self.runs.push(Arc::new(Run::new(&entries, clean)));
        }
    }

    /// Returns a merge of the smallest two neighbouring runs that should be merged, if any.
    ///
    /// Two neighbours are merged if the older run is at most twice as large as the newer run. So each of n entries is moved O(log
    /// n) times, and O(log n) runs remain. Two neighbours are also merged if they have at most about `2 * writes` entries together.
    /// Here, `writes` is the number of cases that the current write stores or deletes, plus one. Then the merge costs little
    /// compared to the writes, and later searches read one fewer run.
    pub(super) fn merge(&self, retired: u64, writes: usize) -> Option<RunMerge> {
        let size = |pair: &&[Arc<Run>]| pair.iter().map(|run| run.entries.len()).sum::<usize>();
        let is_due = |pair: &&[Arc<Run>]| match pair {
            [older, newer] => older.entries.len() <= newer.entries.len() * 2 || size(pair) / 2 <= writes,
            _ => false,
        };
        match self.runs.windows(2).filter(is_due).min_by_key(size)? {
            [older, newer] => Some(RunMerge::new(older, Some(newer), retired)),
            _ => None,
        }
    }

    /// Merges all runs into one run. No entry may belong to a retired batch.
    pub(super) fn merge_all(&mut self, retired: u64) {
        while let Some(mut merge) = self.merge(retired, usize::MAX) {
            let mut budget = usize::MAX;
            merge.step(|_| true, &mut budget);
            self.put(merge);
        }
    }

    /// Returns a sweep of a run that may have entries of retired batches, if there is one.
    pub(super) fn sweep(&self, retired: u64) -> Option<RunMerge> {
        let run = self.runs.iter().find(|run| run.clean < retired)?;
        Some(RunMerge::new(run, None, retired))
    }

    /// Replaces the runs of a finished merge by its result. Does nothing if one of these runs has already been replaced.
    pub(super) fn put(&mut self, merge: RunMerge) {
        let RunMerge { older, newer, builder, .. } = merge;
        let Some(at) = self.runs.iter().position(|run| Arc::ptr_eq(run, &older)) else { return };
        let end = match &newer {
            None => at + 1,
            Some(newer) if self.runs.get(at + 1).is_some_and(|run| Arc::ptr_eq(run, newer)) => at + 2,
            Some(_) => return,
        };
        let run = builder.finish();
        self.runs.splice(at..end, (!run.entries.is_empty()).then(|| Arc::new(run)));
    }

    /// Returns the minimum of [`clean`](Run::clean) over all runs. If it is `n`, no run has entries of the first `n` retired
    /// batches. Returns `None` if there are no runs.
    pub(super) fn clean(&self) -> Option<u64> {
        self.runs.iter().map(|run| run.clean).min()
    }

    /// Returns the rows of all entries.
    pub(super) fn rows(&self) -> impl Iterator<Item = GlobalRow> {
        #[expect(clippy::cast_possible_truncation, reason = "the row is the lower half")]
        self.runs.iter().flat_map(|run| run.entries.iter().map(|entry| *entry as u32))
    }

    /// Returns the rows whose value may have this hash.
    pub(crate) fn probe(&self, hash: u64) -> impl Iterator<Item = GlobalRow> {
        self.runs.iter().flat_map(move |run| run.probe(hash))
    }

    /// Like [`probe`](Self::probe), but for many hashes. Appends each row to `found`, with the index of its hash.
    ///
    /// Each loop does one load per hash, so that the cache misses of many hashes overlap. Calls `prefetch` with the entries of a
    /// run and the index at which a later loop will read them.
    pub(crate) fn probe_all(
        &self,
        hashes: &[u64],
        prefetch: impl Fn(&[u64], usize),
        found: &mut Vec<(GlobalRow, u32)>,
    ) {
        let mut buckets: SmallVec<[Range<u32>; TOGETHER]> = SmallVec::new();
        for run in &self.runs {
            for (part, hashes) in (0_u32..).step_by(TOGETHER).zip(hashes.chunks(TOGETHER)) {
                buckets.clear();
                buckets.extend(hashes.iter().map(|hash| run.bucket(*hash)));
                buckets.iter().for_each(|bucket| prefetch(&run.entries, bucket.start as usize));
                for ((number, hash), bucket) in (part..).zip(hashes).zip(&buckets) {
                    run.find(bucket.clone(), *hash, number, found);
                }
            }
        }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        let run = |run: &Arc<Run>| size_of_val::<[u64]>(&run.entries) + size_of_val::<[u32]>(&run.fences);
        self.runs.iter().map(run).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::global_row::split;
    use super::*;

    fn hash(value: u64) -> u64 {
        value.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Adds an entry for each of the rows. The rows 2n and 2n + 1 have the same value.
    fn add(index: &mut KeyIndex, rows: Range<u32>) {
        let rows: Vec<u32> = rows.collect();
        for rows in rows.chunk_by(|a, b| split(*a).0 == split(*b).0) {
            let values = rows.iter().map(|row| (hash(u64::from(*row) / 2), split(*row).1));
            index.add(BatchKeys::of(values), split(rows[0]).0, 0);
        }
    }

    #[test]
    fn every_key_is_found_in_every_arrangement_of_runs() {
        let many = (1..40).map(|number| number * 997).collect();
        for sizes in [vec![0], vec![1], vec![10_000], vec![1; 300], vec![5000, 3, 4, 2000, 1, 1, 1, 7], many]
        {
            let mut index = KeyIndex::default();
            let mut next = 0;
            for size in &sizes {
                add(&mut index, next..next + size);
                next += size;
            }
            let merge_all = |index: &mut KeyIndex, writes| {
                while let Some(mut merge) = index.merge(0, writes) {
                    while !merge.step(|_| true, &mut 777) {}
                    index.put(merge);
                }
                assert_eq!(index.runs.iter().map(|run| run.entries.len()).sum::<usize>(), next as usize);
            };
            merge_all(&mut index, 0);
            assert!(index.runs.len() <= 2 + next.ilog2_or_zero() as usize, "{} runs", index.runs.len());
            if sizes.len() % 2 == 0 {
                merge_all(&mut index, next as usize);
                assert!(index.runs.len() <= 1, "{} runs", index.runs.len());
            }
            for row in 0..next {
                assert!(
                    index.probe(hash(u64::from(row) / 2)).any(|found| found == row),
                    "{row} of {sizes:?}"
                );
            }
            assert!(index.probe(hash(1 << 40)).count() <= 1);
            let hashes: Vec<u64> = (0..u64::from(next) + 100).map(hash).collect();
            let mut all = Vec::new();
            index.probe_all(&hashes, |_, _| {}, &mut all);
            let one_by_one =
                (0_u32..).zip(&hashes).flat_map(|(n, hash)| index.probe(*hash).map(move |row| (row, n)));
            let mut one_by_one: Vec<(GlobalRow, u32)> = one_by_one.collect();
            all.sort_unstable();
            one_by_one.sort_unstable();
            assert_eq!(all, one_by_one);
        }
    }

    #[test]
    fn a_swept_run_has_no_entry_of_a_retired_batch() {
        let mut index = KeyIndex::default();
        let rows = |batch: u32| (0..5000).map(move |row| batch << 16 | row);
        for batch in 0..40 {
            let values = rows(batch).map(|row| (hash(u64::from(row)), split(row).1));
            index.add(BatchKeys::of(values), batch as usize, 0);
        }
        let is_kept = |row: GlobalRow| split(row).0.is_multiple_of(2);
        let mut sweep = index.sweep(20).unwrap();
        assert!(!sweep.step(is_kept, &mut 1));
        // The result of a sweep is discarded if the run that it read has been replaced.
        let mut merge = index.merge(0, 0).unwrap();
        while !merge.step(|_| true, &mut 100) {}
        let gone = index.sweep(20).unwrap();
        index.put(merge);
        let before = index.runs.len();
        index.put(gone);
        assert_eq!((index.runs.len(), index.rows().count()), (before, 40 * 5000));
        assert_eq!(index.clean(), Some(0));
        while let Some(mut sweep) = index.sweep(20) {
            while !sweep.step(is_kept, &mut 4096) {}
            index.put(sweep);
        }
        assert_eq!(index.clean(), Some(20));
        let mut left: Vec<GlobalRow> = index.rows().collect();
        left.sort_unstable();
        assert!(left.into_iter().eq((0..40).step_by(2).flat_map(rows)));
        for row in (0..40).flat_map(rows) {
            assert_eq!(index.probe(hash(u64::from(row))).any(|found| found == row), is_kept(row));
        }
    }

    trait OrZero {
        fn ilog2_or_zero(self) -> u32;
    }
    impl OrZero for u32 {
        fn ilog2_or_zero(self) -> u32 {
            self.checked_ilog2().unwrap_or(0)
        }
    }
}
