//! The runs of the key index: sorted arrays of entries, which are searched by hash, and merged pairwise in steps.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indexes of entries and of buckets, of which there is a fence for each and one more; a budget is positive before it \
              is lowered"
)]

use std::ops::Range;
use std::sync::Arc;

use super::global_row::GlobalRow;
use crate::rows::LANES;

/// A sorted array of 64-bit entries, with fences that divide it into buckets. The upper 32 bits of an entry are the upper half of
/// a hash, the lower 32 bits are the row.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) entries: Box<[u64]>,
    /// The start of the entries of each bucket, and the end of the last bucket.
    pub(super) fences: Box<[u32]>,
    /// The length of a bucket index, in bits. The index of an entry's bucket consists of the entry's upper bits.
    bits: u32,
    /// A count of retirements. If it is `n`, the first `n` retired batches have no entry in this run.
    pub(super) clean: u64,
}

/// A merge of two neighbouring runs, or a sweep of a single run. A merge and a sweep both drop the entries of retired batches,
/// and are done in steps.
#[derive(Debug)]
pub(super) struct RunMerge {
    pub(super) older: Arc<Run>,
    /// The newer run. `None` for a sweep.
    pub(super) newer: Option<Arc<Run>>,
    /// The indexes of the next entries of `older` and `newer`.
    next: [usize; 2],
    pub(super) builder: RunBuilder,
}

/// A builder of runs, to which entries are added in ascending order.
#[derive(Debug)]
pub(super) struct RunBuilder {
    entries: Vec<u64>,
    fences: Vec<u32>,
    /// The count of fences that have been set.
    fenced: usize,
    bits: u32,
    clean: u64,
}

/// The maximum average count of entries per bucket. The minimum is about half of it. Eight entries fill one cache line.
const BUCKET: usize = 8;

impl RunBuilder {
    /// Creates a builder for at most `entries` entries.
    fn new(entries: usize, clean: u64) -> Self {
        let buckets = (entries / BUCKET).next_power_of_two().clamp(1, 1 << 28);
        let bits = buckets.trailing_zeros();
        let fences = vec![0; buckets + 1];
        Self { entries: Vec::with_capacity(entries), fences, fenced: 0, bits, clean }
    }

    #[inline]
    fn push(&mut self, entry: u64) {
        self.fence(bucket(entry, self.bits));
        self.entries.push(entry);
    }

    /// Sets the start of `bucket` to the current count of entries. Earlier buckets whose start is not set get the same start. All
    /// later entries belong to `bucket` or to a later bucket.
    #[inline]
    fn fence(&mut self, bucket: usize) {
        // The number of entries fits, because the rows of the entries are distinct and have 32 bits.
        let start = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        while self.fenced <= bucket {
            self.fences[self.fenced] = start;
            self.fenced += 1;
        }
    }

    pub(super) fn finish(mut self) -> Run {
        self.fence(self.fences.len() - 1);
        let Self { entries, fences, bits, clean, .. } = self;
        Run { entries: entries.into(), fences: fences.into(), bits, clean }
    }
}

impl RunMerge {
    /// Creates a merge of `older` and `newer`, or a sweep of `older`. `retired` is the count of batches retired so far.
    pub(super) fn new(older: &Arc<Run>, newer: Option<&Arc<Run>>, retired: u64) -> Self {
        let entries = older.entries.len() + newer.map_or(0, |run| run.entries.len());
        let builder = RunBuilder::new(entries, retired);
        Self { older: Arc::clone(older), newer: newer.cloned(), next: [0; 2], builder }
    }

    /// Moves at most `budget` entries, and subtracts their count from `budget`. Returns true when no entry is left. Drops entries
    /// of rows for which `is_kept` returns false.
    pub(super) fn step(&mut self, is_kept: impl Fn(GlobalRow) -> bool, budget: &mut usize) -> bool {
        let older = &*self.older.entries;
        let newer = self.newer.as_ref().map_or(&[][..], |run| &run.entries);
        let [mut a, mut b] = self.next;
        let is_done = loop {
            let (own, other) = (older.get(a), newer.get(b));
            if own.is_none() && other.is_none() {
                break true;
            }
            if *budget == 0 {
                break false;
            }
            *budget -= 1;
            // The order of two hashes is unpredictable, so the loop does not branch on it.
            let is_newer = match (own, other) {
                (Some(own), Some(other)) => other < own,
                (own, _) => own.is_none(),
            };
            a += usize::from(!is_newer);
            b += usize::from(is_newer);
            let entry = std::hint::select_unpredictable(is_newer, other, own).copied().unwrap_or_default();
            #[expect(clippy::cast_possible_truncation, reason = "the row is the lower half")]
            if is_kept(entry as u32) {
                self.builder.push(entry);
            }
        };
        self.next = [a, b];
        is_done
    }
}

impl Run {
    /// Creates a run of ascending entries. No entry belongs to one of the first `clean` batches that were retired.
    pub(super) fn new(entries: &[u64], clean: u64) -> Self {
        let mut builder = RunBuilder::new(entries.len(), clean);
        entries.iter().for_each(|entry| builder.push(*entry));
        builder.finish()
    }

    /// Returns the index range of the entries in the bucket of a hash.
    #[inline]
    pub(super) fn bucket(&self, hash: u64) -> Range<u32> {
        let at = bucket(hash, self.bits);
        self.fences[at]..self.fences[at + 1]
    }

    fn entries(&self, places: Range<u32>) -> &[u64] {
        &self.entries[places.start as usize..places.end as usize]
    }

    /// Returns the rows whose value may have the hash. Compares only the upper halves of the hashes.
    pub(super) fn probe(&self, hash: u64) -> impl Iterator<Item = GlobalRow> {
        let upper = hash >> 32;
        #[expect(clippy::cast_possible_truncation, reason = "the row is the lower half")]
        self.entries(self.bucket(hash))
            .iter()
            .filter(move |entry| **entry >> 32 == upper)
            .map(|entry| *entry as u32)
    }

    /// Appends to `found` the rows of the entries in the index range `places` that have the hash, each row with `number`.
    #[inline]
    pub(super) fn find(&self, places: Range<u32>, hash: u64, number: u32, found: &mut Vec<(GlobalRow, u32)>) {
        let upper = hash >> 32;
        for entries in self.entries(places).chunks(LANES) {
            // The position of a match is unpredictable, so the loop does not branch on each entry.
            let bit = |(at, entry): (usize, &u64)| u64::from(*entry >> 32 == upper) << at;
            let mut bits = entries.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit);
            while bits != 0 {
                #[expect(clippy::cast_possible_truncation, reason = "the row is the lower half")]
                found.push((entries[bits.trailing_zeros() as usize] as u32, number));
                bits &= bits - 1;
            }
        }
    }
}

/// Returns the bucket of an entry or a hash: its upper `bits` bits.
fn bucket(entry: u64, bits: u32) -> usize {
    // If `bits` is 0, the value must be shifted by 64, which a single shift does not allow. So the shift has two steps.
    (entry >> 1 >> (63 - bits)) as usize
}
