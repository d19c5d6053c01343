//! From the values of a key-like field to the rows that have them, in all batches at once.

use std::ops::Range;

use smallvec::SmallVec;

use crate::column::sort_from_bit;

/// A row of some batch of a snapshot: the batch's number in the upper half, the row's in the lower.
pub(crate) type GlobalRow = u32;

/// The hashes of a field's values, each with its row; values that share a hash are told apart by the caller.
///
/// Entries lie in runs, as they were added; runs of like size are merged, so that there are few.
/// 8 bytes a value and half a byte of fences.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyIndex {
    runs: Vec<std::sync::Arc<Run>>,
}

/// Sorted entries: the upper half of a hash in the upper half, the row in the lower.
#[derive(Debug)]
struct Run {
    entries: Box<[u64]>,
    /// Where the entries start whose hash has these upper bits; one more than there are buckets.
    fences: Box<[u32]>,
    /// How many upper bits of an entry choose its bucket.
    bits: u32,
}

/// How many loads are started before the first is waited for.
const TOGETHER: usize = 32;

/// Entries of one bucket on average: a cache line of them.
const BUCKET: usize = 8;

impl Run {
    /// Of ascending entries.
    fn new(entries: Vec<u64>) -> Self {
        let buckets = (entries.len() / BUCKET).next_power_of_two().clamp(1, 1 << 28);
        let bits = buckets.trailing_zeros();
        let mut fences = vec![0_u32; buckets.saturating_add(1)];
        for entry in &entries {
            if let Some(count) = fences.get_mut(bucket(*entry, bits).saturating_add(1)) {
                *count = count.saturating_add(1);
            }
        }
        let mut sum = 0_u32;
        for fence in &mut fences {
            sum = sum.saturating_add(*fence);
            *fence = sum;
        }
        Self { entries: entries.into(), fences: fences.into(), bits }
    }

    /// The entries of a hash's bucket.
    #[inline]
    fn bucket(&self, hash: u64) -> Range<u32> {
        let at = bucket(hash, self.bits);
        match self.fences.get(at..at.saturating_add(2)) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        }
    }

    /// The rows of those among these entries that have the hash.
    #[inline]
    fn rows(&self, entries: Range<u32>, hash: u64) -> impl Iterator<Item = GlobalRow> {
        let entries = self.entries.get(entries.start as usize..entries.end as usize).unwrap_or_default();
        let upper = hash >> 32;
        #[expect(clippy::cast_possible_truncation, reason = "the row is the lower half")]
        entries.iter().filter(move |entry| **entry >> 32 == upper).map(|entry| *entry as u32)
    }

    fn probe(&self, hash: u64) -> impl Iterator<Item = GlobalRow> {
        self.rows(self.bucket(hash), hash)
    }
}

/// Two ascending lists as one.
fn merged(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut all = Vec::with_capacity(a.len().saturating_add(b.len()));
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

fn bucket(entry: u64, bits: u32) -> usize {
    // A shift by all 64 bits, for a single bucket, leaves nothing.
    entry.checked_shr(64_u32.saturating_sub(bits)).map_or(0, |bucket| usize::try_from(bucket).unwrap_or(0))
}

impl KeyIndex {
    /// Adds values by hash and row, rows ascending.
    pub(crate) fn add(&mut self, values: impl Iterator<Item = (u64, GlobalRow)>) {
        let mut entries: Vec<u64> = values.map(|(hash, row)| (hash >> 32 << 32) | u64::from(row)).collect();
        sort_from_bit(&mut entries, 32);
        // Merging only with runs no larger than what is there keeps the work of all additions together
        // at a logarithm of their number for each entry.
        while let Some(last) = self.runs.pop_if(|run| run.entries.len() <= entries.len().saturating_mul(2)) {
            entries = merged(&last.entries, &entries);
        }
        if !entries.is_empty() {
            self.runs.push(std::sync::Arc::new(Run::new(entries)));
        }
    }

    /// Drops the values of other rows.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(GlobalRow) -> bool) {
        #[expect(clippy::cast_possible_truncation, reason = "the row is the lower half")]
        let is_kept = |entry: &u64| is_kept(*entry as u32);
        let runs = std::mem::take(&mut self.runs).into_iter().filter_map(|run| {
            if run.entries.iter().all(is_kept) {
                return Some(run);
            }
            let entries: Vec<u64> = run.entries.iter().copied().filter(is_kept).collect();
            (!entries.is_empty()).then(|| std::sync::Arc::new(Run::new(entries)))
        });
        self.runs = runs.collect();
    }

    /// The rows whose value may have this hash.
    pub(crate) fn probe(&self, hash: u64) -> impl Iterator<Item = GlobalRow> {
        self.runs.iter().flat_map(move |run| run.probe(hash))
    }

    /// As [`probe`](Self::probe), of many hashes: each row is added with the number of its hash.
    ///
    /// Loops do one load each, so that those of many hashes overlap; `announce` is told early which entries will be
    /// read.
    pub(crate) fn probe_all(
        &self,
        hashes: &[u64],
        announce: impl Fn(&[u64], usize),
        found: &mut Vec<(GlobalRow, u32)>,
    ) {
        let mut buckets: SmallVec<[Range<u32>; TOGETHER]> = SmallVec::new();
        for run in &self.runs {
            for (part, hashes) in (0_u32..).step_by(TOGETHER).zip(hashes.chunks(TOGETHER)) {
                buckets.clear();
                buckets.extend(hashes.iter().map(|hash| run.bucket(*hash)));
                buckets.iter().for_each(|bucket| announce(&run.entries, bucket.start as usize));
                for ((number, hash), bucket) in (part..).zip(hashes).zip(&buckets) {
                    found.extend(run.rows(bucket.clone(), *hash).map(|row| (row, number)));
                }
            }
        }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        let run = |run: &std::sync::Arc<Run>| {
            size_of_val::<[u64]>(&run.entries).saturating_add(size_of_val::<[u32]>(&run.fences))
        };
        self.runs.iter().map(run).sum()
    }
}

/// The batch and row of a global row.
#[inline]
pub(crate) fn split(row: GlobalRow) -> (usize, u16) {
    #[expect(clippy::cast_possible_truncation, reason = "the row in its batch is the lower half")]
    ((row >> 16) as usize, row as u16)
}

/// The global row of a row in a batch; `None` beyond 65,536 batches.
#[inline]
pub(crate) fn join(batch: usize, row: usize) -> Option<GlobalRow> {
    let batch = u16::try_from(batch).ok()?;
    let row = u16::try_from(row).ok()?;
    Some(u32::from(batch) << 16 | u32::from(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(value: u64) -> u64 {
        value.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn every_value_added_is_found_whatever_the_runs() {
        for sizes in [vec![0], vec![1], vec![10_000], vec![1; 300], vec![5000, 3, 4, 2000, 1, 1, 1, 7]] {
            let mut index = KeyIndex::default();
            let mut next = 0;
            for size in &sizes {
                index.add((next..next + size).map(|row| (hash(u64::from(row) / 2), row)));
                next += size;
            }
            assert_eq!(index.runs.iter().map(|run| run.entries.len()).sum::<usize>(), next as usize);
            assert!(index.runs.len() <= 2 + next.ilog2_or_zero() as usize, "{} runs", index.runs.len());
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

    trait OrZero {
        fn ilog2_or_zero(self) -> u32;
    }
    impl OrZero for u32 {
        fn ilog2_or_zero(self) -> u32 {
            self.checked_ilog2().unwrap_or(0)
        }
    }
}
