//! The rows of a column in the order of their values.

use std::ops::Range;

use smallvec::SmallVec;

use super::bitmap::set_rows;
use super::samples::Samples;
use super::slice::{Move, Slice};
use super::{Column, LANES, Layout};

/// Rows ascending by value, then by row, and bitmaps of the first so many of them.
///
/// With the bitmaps, the rows of any range of values are two of them and at most [`FENCE`] rows to
/// put right, after the cumulative bitmaps of BinDex (Li et al., SIGMOD 2020). Four bytes a row beside the
/// two of the rows themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortedRows {
    rows: Slice<u16>,
    /// The ordinal of the value of every so many rows, from the first one on.
    samples: Samples,
    /// For each fence: the bits of the rows before it.
    prefixes: Slice<u64>,
    /// How many rows the batch has, with a value or not.
    batch_rows: usize,
}

/// The rows before a place among sorted rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Before<'s> {
    NoRow,
    /// Those whose bit is set.
    Words(&'s [u64]),
    /// Every row of the batch.
    EveryRow,
}

impl Before<'_> {
    pub(crate) fn contains(self, row: u16) -> bool {
        match self {
            Self::NoRow => false,
            Self::Words(words) => {
                let row = usize::from(row);
                words.get(row / LANES).is_some_and(|word| word >> (row % LANES) & 1 == 1)
            }
            Self::EveryRow => true,
        }
    }
}

/// Sorted rows between two bitmaps: 2,048 make 32 bitmaps, of a bit a row each, in a full batch.
const FENCE: usize = 1 << 11;
/// Sorted rows for each of the samples, which lie side by side: a value looked up among them costs few misses of
/// the cache, where one among the rows costs two at each step.
const SAMPLE: usize = 1 << 6;

impl SortedRows {
    /// Of these rows in a batch of `batch_rows`, by their ordinals.
    pub(crate) fn new(rows: Vec<u16>, batch_rows: usize, ordinal: impl Fn(usize) -> i64) -> Self {
        let words = batch_rows.div_ceil(LANES);
        let mut prefix = vec![0; words];
        let mut prefixes = Vec::new();
        for chunk in rows.chunks(FENCE) {
            set_rows(&mut prefix, chunk);
            prefixes.extend_from_slice(&prefix);
        }
        let samples = rows.iter().step_by(SAMPLE).map(|row| ordinal(usize::from(*row))).collect();
        Self { rows: rows.into(), samples: Samples::new(samples), prefixes: prefixes.into(), batch_rows }
    }

    pub(crate) fn rows(&self) -> &[u16] {
        &self.rows
    }

    /// How many rows are before each fence but the first, and their bitmap.
    pub(crate) fn fences(&self) -> impl Iterator<Item = (usize, &[u64])> {
        let len = self.rows.len();
        let places = (1_usize..).map(move |number| number.saturating_mul(FENCE).min(len));
        places.zip(self.prefixes.chunks_exact(self.words().max(1)))
    }

    /// Words of a bitmap of the batch.
    fn words(&self) -> usize {
        self.batch_rows.div_ceil(LANES)
    }

    /// The nearest fence to a place among the rows, and the rows before it.
    ///
    /// A fence stands before the first row, behind every so many, and behind the last.
    fn fence(&self, place: usize) -> (usize, Before<'_>) {
        let len = self.rows.len();
        let whole = place.saturating_add(FENCE / 2) / FENCE;
        let at = whole.saturating_mul(FENCE);
        let (fence, number) = if at <= len && at.abs_diff(place) <= len.abs_diff(place) {
            (at, whole)
        } else {
            (len, len.div_ceil(FENCE))
        };
        let before = match number.checked_sub(1) {
            None => Before::NoRow,
            Some(_) if fence == self.batch_rows => Before::EveryRow,
            Some(number) => {
                let start = number.saturating_mul(self.words());
                Before::Words(
                    self.prefixes.get(start..start.saturating_add(self.words())).unwrap_or_default(),
                )
            }
        };
        (fence, before)
    }

    /// What gives the rows at these places: those before the first fence and not before the second, with those of both
    /// lists turned over.
    pub(crate) fn pieces(&self, part: Range<usize>) -> [(Before<'_>, &[u16]); 2] {
        let rows = |places: Range<usize>| self.rows.get(places).unwrap_or_default();
        if part.len() <= Self::LISTED {
            return [(Before::NoRow, rows(part)), (Before::NoRow, &[])];
        }
        [part.end, part.start].map(|end| {
            let (fence, before) = self.fence(end);
            (before, rows(fence.min(end)..fence.max(end)))
        })
    }

    /// Of parts up to this long, the rows are listed.
    pub(crate) const LISTED: usize = FENCE / 2;

    /// The rows of these parts by themselves, in the order of their values, where no bitmap has a part in them.
    pub(crate) fn listed(&self, parts: &[Range<usize>]) -> Option<&[u16]> {
        match parts {
            [part] if part.len() <= Self::LISTED => self.rows.get(part.clone()),
            _ => None,
        }
    }

    /// How many rows there are in the lists of the pieces of these parts.
    pub(crate) fn touched(&self, parts: &[Range<usize>]) -> usize {
        parts.iter().flat_map(|part| self.pieces(part.clone())).map(|(_, list)| list.len()).sum()
    }

    /// By how many rows [`near`](Self::near) is wrong at most.
    pub(crate) const NEAR: usize = 2 * SAMPLE;

    /// Where the rows are, nearly, whose ordinals lie in a closed range; only samples are read. `zone` is that of all rows.
    pub(crate) fn near(&self, (low, high): (i64, i64), zone: (i64, i64)) -> Range<usize> {
        let place = |samples: usize| match samples {
            0 => 0,
            // Behind the last sample that passed, and not behind the one after it.
            passed => passed.saturating_mul(SAMPLE).saturating_sub(SAMPLE / 2).min(self.rows.len()),
        };
        let start = if low <= zone.0 { 0 } else { place(self.samples.below(low)) };
        let end = match behind(high) {
            Some(bound) if high < zone.1 => place(self.samples.below(bound)),
            _ => self.rows.len(),
        };
        start..end.max(start)
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(&mut self.prefixes);
        all.push(&mut self.rows);
        self.samples.slices(all);
    }

    pub(crate) fn size_bytes(&self) -> usize {
        let rows = size_of_val::<[u16]>(&self.rows);
        let prefixes = size_of_val::<[u64]>(&self.prefixes);
        rows.saturating_add(prefixes).saturating_add(self.samples.size_bytes())
    }
}

/// The rows of a single-valued column of numbers or timestamps that have a value, ascending by it, then by row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sorted<'c> {
    /// This many rows in the order in which they are stored, all of which have a value.
    AsStored(usize),
    Listed(&'c SortedRows),
}

impl<'c> Sorted<'c> {
    /// Of a column and its sorted rows; `None` where rows may have many values.
    pub(crate) fn new(list: &'c Option<SortedRows>, column: &Column) -> Option<Self> {
        match (list, &column.layout) {
            (_, Layout::Many(_)) => None,
            (Some(list), _) => Some(Self::Listed(list)),
            (None, Layout::Single(_)) => Some(Self::AsStored(column.values_len())),
        }
    }

    pub(crate) fn len(self) -> usize {
        match self {
            Self::AsStored(rows) => rows,
            Self::Listed(list) => list.rows.len(),
        }
    }

    /// The row at a place.
    pub(crate) fn get(self, at: usize) -> Option<usize> {
        match self {
            Self::AsStored(rows) => (at < rows).then_some(at),
            Self::Listed(list) => list.rows.get(at).map(|row| usize::from(*row)),
        }
    }

    /// The places of the rows so many steps from the first on, or from the last one back.
    pub(crate) fn places(self, steps: Range<usize>, descending: bool) -> Range<usize> {
        let len = self.len();
        let steps = steps.start.min(len)..steps.end.min(len);
        if descending { len.saturating_sub(steps.end)..len.saturating_sub(steps.start) } else { steps }
    }

    /// The parts whose ordinals lie in these closed ranges, which are ascending and disjoint; none is empty. `zone` are the
    /// least and the greatest ordinal.
    pub(crate) fn parts(
        self,
        ranges: impl Iterator<Item = (i64, i64)>,
        zone: (i64, i64),
        ordinal: impl Fn(usize) -> i64,
    ) -> SmallVec<[Range<usize>; 2]> {
        let mut parts: SmallVec<[Range<usize>; 2]> = SmallVec::new();
        for (low, high) in ranges {
            let from = parts.last().map_or(0, |part: &Range<usize>| part.end);
            let start = if low <= zone.0 { from } else { self.first_from(from, &ordinal, low) };
            let end = match behind(high) {
                Some(bound) if high < zone.1 => self.first_from(start, &ordinal, bound),
                _ => self.len(),
            };
            if start < end {
                parts.push(start..end);
            }
        }
        parts
    }

    /// The first place in `from..` whose row has an ordinal that is not less than `bound`.
    fn first_from(self, from: usize, ordinal: impl Fn(usize) -> i64, bound: i64) -> usize {
        let passes = |at| self.get(at).is_some_and(|row| ordinal(row) < bound);
        let (mut low, mut high) = (from, self.len());
        if let Self::Listed(list) = self {
            let first = from.div_ceil(SAMPLE);
            let near = list.samples.get(first).is_none_or(|sample| sample >= bound);
            let behind = if near { first } else { list.samples.below(bound) };
            high = behind.saturating_mul(SAMPLE).min(high);
            if near {
                // The end of a range seldom lies far behind its start, where one sample does not part them.
                let mut step = 1;
                while let next = low.saturating_add(step)
                    && next <= high
                    && passes(next.saturating_sub(1))
                {
                    low = next;
                    step = step.saturating_mul(2);
                }
                high = low.saturating_add(step).saturating_sub(1).min(high);
            } else {
                low = low.max(behind.saturating_sub(1).saturating_mul(SAMPLE));
            }
        }
        while low < high {
            let middle = low.midpoint(high);
            if passes(middle) {
                low = middle.saturating_add(1);
            } else {
                high = middle;
            }
        }
        low
    }
}

/// The least number that is greater.
fn behind(number: i64) -> Option<i64> {
    number.checked_add(1)
}

/// Sorted rows are the present ones, ascending by value, then by row.
pub(super) fn is_exact(
    sorted: Option<Sorted<'_>>,
    present: impl Iterator<Item = usize>,
    ordinal: impl Fn(usize) -> i64,
) -> Result<(), String> {
    let Some(sorted) = sorted else { return Ok(()) };
    let order: Vec<usize> = (0..sorted.len()).filter_map(|at| sorted.get(at)).collect();
    let keyed = |row: &usize| (ordinal(*row), *row);
    let mut rows = order.clone();
    rows.sort_unstable();
    if !(order.is_sorted_by(|a, b| keyed(a) < keyed(b)) && rows.into_iter().eq(present)) {
        return Err("sorted rows that are not the rows in order".into());
    }
    match sorted {
        Sorted::Listed(list) if *list != SortedRows::new(list.rows.to_vec(), list.batch_rows, ordinal) => {
            Err("bitmaps or samples of sorted rows that are not theirs".into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::flip_rows;
    use super::*;

    #[test]
    fn the_rows_of_any_range_are_written_whatever_lies_between_the_fences() {
        for (batch, every) in [(65_536_usize, 1_usize), (65_536, 3), (40_000, 2), (FENCE, 1), (100, 1)] {
            // Some order of some rows.
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
                    let bits = |before: Before<'_>| match before {
                        Before::NoRow => vec![0; batch.div_ceil(LANES)],
                        Before::Words(words) => words.to_vec(),
                        Before::EveryRow => {
                            let mut words = vec![0; batch.div_ceil(LANES)];
                            (0..batch).for_each(|row| words[row / LANES] |= 1 << (row % LANES));
                            words
                        }
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

    #[test]
    fn the_parts_of_ranges_are_those_of_their_values_however_these_are_spread() {
        let spreads: [fn(i64) -> i64; 6] = [
            |n| n,
            |n| n / 700,
            |n| 1_i64 << (n % 63),
            |n| if n % 1000 == 0 { i64::MAX - n } else { i64::MIN + n },
            |n| (n - 2500).pow(5),
            |_| 7,
        ];
        for spread in spreads {
            for rows in [1_usize, 255, 256, 257, 5000] {
                let value = |row: usize| spread((row * 7919 % 5003) as i64);
                let mut order: Vec<u16> = (0..rows as u16).collect();
                order.sort_by_key(|row| (value(usize::from(*row)), *row));
                let values: Vec<i64> = order.iter().map(|row| value(usize::from(*row))).collect();
                let zone = (values[0], values[rows - 1]);
                let list = SortedRows::new(order, rows, value);
                let mut ends: Vec<i64> = values.iter().step_by(rows.div_ceil(40)).copied().collect();
                ends.extend(
                    ends.clone().iter().flat_map(|end| [end.saturating_sub(1), end.saturating_add(1)]),
                );
                ends.extend([i64::MIN, 0, 1, i64::MAX]);
                for low in &ends {
                    for high in ends.iter().filter(|high| *high >= low) {
                        let part = values.partition_point(|value| value < low)
                            ..values.partition_point(|value| value <= high);
                        let found = Sorted::Listed(&list).parts([(*low, *high)].into_iter(), zone, value);
                        let expected: &[Range<usize>] =
                            if part.is_empty() { &[] } else { std::slice::from_ref(&part) };
                        assert_eq!(&*found, expected, "{low}..={high}");
                        // A second range is sought from the end of the first.
                        for from in ends.iter().step_by(5).filter(|from| *from > high) {
                            for to in [*from, i64::MAX] {
                                let behind = values.partition_point(|value| value < from)
                                    ..values.partition_point(|value| *value <= to);
                                let mut both = vec![part.clone(), behind];
                                both.retain(|part| !part.is_empty());
                                let ranges = [(*low, *high), (*from, to)];
                                assert_eq!(
                                    *Sorted::Listed(&list).parts(ranges.into_iter(), zone, value),
                                    *both,
                                    "{ranges:?}"
                                );
                            }
                        }
                        let near = list.near((*low, *high), zone);
                        let ends = [(near.start, part.start), (near.end, part.end.max(part.start))];
                        for (near, exact) in ends {
                            assert!(near.abs_diff(exact) <= SAMPLE, "{low}..={high}");
                        }
                    }
                }
            }
        }
    }
}
