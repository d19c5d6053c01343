//! Stores the rows of a column sorted by value, with bitmaps that speed up range tests.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indexes of sorted rows of one batch, at most 65,536, a bitmap for each fence, and sizes in memory"
)]

use std::ops::Range;

use super::fence_keys::FenceKeys;
use crate::rows::{LANES, RowSet, set_rows};
use crate::slice::{Move, Slice};

/// The rows of a column that have a value, sorted by value and then by row, with bitmaps of prefixes of the sorted rows.
///
/// A prefix ends at a fence. There is a fence before the first sorted row, after every [`FENCE`] sorted rows, and after the last
/// sorted row. To get the rows of a range of values, one bitmap is subtracted from another. Then the bits of at most [`FENCE`] rows
/// are inverted; see [`pieces`](Self::pieces). The bitmaps are the cumulative bitmaps of BinDex (Li et al., SIGMOD 2020). They take
/// four bytes per row, and the sorted rows take two bytes per row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortedRows {
    pub(super) rows: Slice<u16>,
    /// The fence keys: the ordinal of every [`KEY_STEP`]th sorted row.
    pub(super) keys: FenceKeys,
    /// For each fence except the first: the bitmap of the sorted rows before the fence.
    prefixes: Slice<u64>,
    /// The number of all rows of the batch, including rows without a value.
    pub(super) batch_rows: usize,
}

/// The number of sorted rows between two fences. One bitmap (one bit per row) is stored for each fence except the first, so a full
/// batch has 32 bitmaps.
const FENCE: usize = 1 << 11;
/// The number of sorted rows per fence key. Fence keys are contiguous in memory, so a search among them causes few cache misses.
/// Each step of a search among the sorted rows causes two cache misses.
pub(super) const KEY_STEP: usize = 1 << 6;

impl SortedRows {
    /// Creates sorted rows from `rows`, which are sorted by value and then by row. The batch has `batch_rows` rows, and `ordinal`
    /// returns the value of a row.
    pub(crate) fn new(rows: Vec<u16>, batch_rows: usize, ordinal: impl Fn(usize) -> i64) -> Self {
        let words = batch_rows.div_ceil(LANES);
        let mut prefix = vec![0; words];
        let mut prefixes = Vec::new();
        for chunk in rows.chunks(FENCE) {
            set_rows(&mut prefix, chunk);
            prefixes.extend_from_slice(&prefix);
        }
        let keys = rows.iter().step_by(KEY_STEP).map(|row| ordinal(usize::from(*row))).collect();
        Self { rows: rows.into(), keys: FenceKeys::new(keys), prefixes: prefixes.into(), batch_rows }
    }

    pub(crate) fn rows(&self) -> &[u16] {
        &self.rows
    }

    /// Returns, for each fence except the first, the number of sorted rows before the fence and the bitmap of these rows.
    pub(crate) fn fences(&self) -> impl Iterator<Item = (usize, &[u64])> {
        let len = self.rows.len();
        let places = (1_usize..).map(move |number| (number * FENCE).min(len));
        places.zip(self.prefixes.chunks_exact(self.words().max(1)))
    }

    /// Returns the length of a bitmap of the batch, in words.
    fn words(&self) -> usize {
        self.batch_rows.div_ceil(LANES)
    }

    /// Finds the fence that is nearest to the index `place` in the sorted rows. Returns the number of sorted rows before this
    /// fence, and the set of these rows.
    fn fence(&self, place: usize) -> (usize, RowSet<'_>) {
        let len = self.rows.len();
        let whole = (place + FENCE / 2) / FENCE;
        let at = whole * FENCE;
        let (fence, number) = if at <= len && at.abs_diff(place) <= len.abs_diff(place) {
            (at, whole)
        } else {
            (len, len.div_ceil(FENCE))
        };
        let before = match number.checked_sub(1) {
            None => RowSet::None,
            Some(_) if fence == self.batch_rows => RowSet::All,
            Some(number) => {
                let start = number * self.words();
                RowSet::bits(&self.prefixes[start..start + self.words()])
            }
        };
        (fence, before)
    }

    /// Returns the rows of `part`, an index range of the sorted rows, as two pieces. Each piece is a set of rows and a list of
    /// rows. To get the rows of `part`, subtract the second set from the first, then invert the bit of each listed row.
    ///
    /// The first set contains the sorted rows before the fence that is nearest to the end of `part`. The second set contains the
    /// sorted rows before the fence that is nearest to the start of `part`. If `part` is short, both sets are empty, and the first
    /// list contains the rows of `part`.
    pub(crate) fn pieces(&self, part: Range<usize>) -> [(RowSet<'_>, &[u16]); 2] {
        let rows = |places: Range<usize>| &self.rows[places];
        if part.len() <= Self::LISTED {
            return [(RowSet::None, rows(part)), (RowSet::None, &[])];
        }
        [part.end, part.start].map(|end| {
            let (fence, before) = self.fence(end);
            (before, rows(fence.min(end)..fence.max(end)))
        })
    }

    /// Up to this length, the rows of an index range are returned as a list. The rows of a longer range are returned as the
    /// difference of two bitmaps.
    pub(crate) const LISTED: usize = FENCE / 2;

    /// Returns the rows of `parts` in order of value. Returns `None` unless `parts` is exactly one index range of at most
    /// [`LISTED`](Self::LISTED) rows.
    pub(crate) fn listed(&self, parts: &[Range<usize>]) -> Option<&[u16]> {
        match parts {
            [part] if part.len() <= Self::LISTED => Some(&self.rows[part.clone()]),
            _ => None,
        }
    }

    /// Returns the total length of the lists that [`pieces`](Self::pieces) returns for all `parts`.
    pub(crate) fn touched(&self, parts: &[Range<usize>]) -> usize {
        parts.iter().flat_map(|part| self.pieces(part.clone())).map(|(_, list)| list.len()).sum()
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(&mut self.prefixes);
        all.push(&mut self.rows);
        self.keys.slices(all);
    }

    pub(crate) fn size_bytes(&self) -> usize {
        let rows = size_of_val::<[u16]>(&self.rows);
        let prefixes = size_of_val::<[u64]>(&self.prefixes);
        rows + prefixes + self.keys.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::flip_rows;

    #[test]
    fn rows_of_any_range_are_written_at_every_distance_from_a_fence() {
        for (batch, every) in [(65_536_usize, 1_usize), (65_536, 3), (40_000, 2), (FENCE, 1), (100, 1)] {
            // Some of the rows, in pseudo-random order.
            let rows: Vec<u16> = (0..batch)
                .step_by(every)
                .map(|row| (row * 40_503 % batch.next_power_of_two()) as u16)
                .collect();
            let rows: Vec<u16> = rows.into_iter().filter(|row| usize::from(*row) < batch).collect();
            let sorted = SortedRows::new(rows.clone(), batch, |row| row as i64);
            let len = rows.len();
            let ends = [
                0,
                1,
                63,
                4095,
                4096,
                4097,
                5000,
                8191,
                8192,
                8193,
                12_287,
                12_289,
                20_000,
                len / 2,
                len.saturating_sub(1),
                len,
            ];
            for start in ends.iter().copied().filter(|start| *start <= len) {
                for end in ends.iter().copied().filter(|end| (start..=len).contains(end)) {
                    let bits = |before: RowSet<'_>| {
                        let mut words = vec![7; batch.div_ceil(LANES)];
                        before.write(&mut words, batch);
                        words
                    };
                    let [(until, list), (from, other)] = sorted.pieces(start..end);
                    let mut words = bits(until);
                    words.iter_mut().zip(bits(from)).for_each(|(word, from)| *word &= !from);
                    for list in [list, other] {
                        assert!(list.len() <= FENCE / 2);
                        flip_rows(&mut words, list);
                    }
                    let mut expected = vec![0; batch.div_ceil(LANES)];
                    set_rows(&mut expected, &rows[start..end]);
                    assert!(words == expected, "{start}..{end} of {len} in {batch}");
                }
            }
        }
    }
}
