//! Kernels: loops over columns and bitmaps that the compiler can vectorize. A kernel reads slices and writes words that the caller
//! provides.
//!
//! A kernel that tests `n` values writes a bitmap of `n.div_ceil(64)` words. Bit `i % 64` of word `i / 64` is set if value `i`
//! passes the test. It sets no bit after the last value.
//!
//! `equal`, `in_set`, `in_range` and `in_ranges` only set bits and never clear bits. So their words must be zero at first, or hold
//! the result of another test. `any_of_row`, `non_empty` and `in_byte_set` overwrite their words.

#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "every index and shift is bounded by the length of a chunk"
)]

mod portable;
mod simd;

pub(crate) use portable::{Combine, Uniform};
pub(crate) use simd::{
    ByteSet, combine, combine_into, combine_three, count_between, count_both, count_ones, has_byte_sets,
    in_byte_set, prefetch,
};

use wide::u32x4;

/// The number of rows in one word of a bitmap.
pub(crate) const LANES: usize = 64;

/// Two bitmaps over the rows of a batch, and the operation that combines them. The bits after the last row may have any value.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'w> {
    pub(crate) how: Combine,
    pub(crate) one: &'w [u64],
    pub(crate) other: &'w [u64],
}

impl<'w> Pair<'w> {
    /// Creates a pair whose combination is `words`: both bitmaps are `words`, combined by AND.
    pub(crate) fn of(words: &'w [u64]) -> Self {
        Self { how: Combine::And, one: words, other: words }
    }

    /// Returns the bitmap if the pair is one bitmap combined with itself, as [`of`](Self::of) creates it.
    pub(crate) fn single(self) -> Option<&'w [u64]> {
        (self.how == Combine::And && std::ptr::eq(self.one, self.other)).then_some(self.one)
    }
}

/// Combines the bitmaps of `pair` and counts the set bits of the first `rows` rows.
pub(crate) fn count_pair(pair: Pair<'_>, rows: usize) -> usize {
    let whole = rows / LANES;
    match (pair.how, pair.one.split_at_checked(whole), pair.other.split_at_checked(whole)) {
        (Combine::And, Some((one, last)), Some((other, other_last))) => {
            let is_single = pair.single().is_some();
            let count = if is_single { count_ones(one) } else { count_both(one, other) };
            let last = last.first().zip(other_last.first()).map_or(0, |(one, other)| one & other);
            count + (last & !(u64::MAX << (rows % LANES))).count_ones() as usize
        }
        _ => count_pairs(pair, Combine::And, pair, rows),
    }
}

/// Combines the bitmaps of each pair, combines the two results by `how`, and counts the set bits of the first `rows` rows.
pub(crate) fn count_pairs(one: Pair<'_>, how: Combine, other: Pair<'_>, rows: usize) -> usize {
    let [one_turned, other_turned, all_turned] = how.turned_by();
    let turned = |pair: Pair<'_>, turned_again: u64| {
        let [first, second, both] = pair.how.turned_by();
        [first, second, both ^ turned_again]
    };
    let masks = [turned(one, one_turned), turned(other, other_turned)];
    let sets = [one.one, one.other, other.one, other.other];
    let whole = rows / LANES;
    let mut count = simd::count_four(sets.map(|set| set.get(..whole).unwrap_or_default()), &masks);
    if rows > whole * LANES {
        let last = sets.map(|set| set.get(whole).copied().unwrap_or(0));
        count += (portable::join_four(last, &masks) & !(u64::MAX << (rows % LANES))).count_ones() as usize;
    }
    if all_turned == 0 { count } else { rows - count }
}

/// Prefetches the first four cache lines of every 4 KiB of `values`, which the caller will read from front to back.
///
/// After the processor has seen reads of the first lines of a page, it prefetches the rest of the page without help.
pub(crate) fn prefetch_start<T>(values: &[T]) {
    const PAGE: usize = 4096;
    const LINE: usize = 64;
    const LINES: usize = 4;
    let each = size_of::<T>().max(1);
    for page in values.chunks((PAGE / each).max(1)) {
        (0..LINES).for_each(|line| prefetch(page, line * LINE / each));
    }
}

/// Sets the bit of each value that passes `test`. Clears no bit.
fn pack<T: Copy>(values: &[T], words: &mut [u64], test: impl Fn(T) -> bool) {
    for (word, lanes) in words.iter_mut().zip(values.chunks(LANES)) {
        let mut bits = 0;
        for (lane, value) in lanes.iter().enumerate() {
            bits |= u64::from(test(*value)) << lane;
        }
        *word |= bits;
    }
}

/// Retains the rows that pass `test`, in their order. The loop has no branch, so its time does not depend on the share of rows that
/// pass.
#[inline(always)]
pub(crate) fn retain(rows: &mut Vec<u16>, test: impl Fn(usize) -> bool) {
    let mut kept = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        rows[kept] = row;
        kept += usize::from(test(usize::from(row)));
    }
    rows.truncate(kept);
}

/// Sets the bit of each code that equals `code`.
pub(crate) fn equal<T: Copy + PartialEq>(codes: &[T], code: T, words: &mut [u64]) {
    pack(codes, words, |value| value == code);
}

/// Returns a mask of the numbers that equal `number`: bit `i` is set if `numbers[i] == number`.
pub(crate) fn equal_numbers(numbers: &[u32; LANES], number: u32) -> u64 {
    let (chunks, _) = numbers.as_chunks();
    chunks.iter().rev().fold(0, |word, chunk: &[u32; 4]| {
        word << 4 | u64::from(u32x4::new(*chunk).simd_eq(u32x4::splat(number)).to_bitmask())
    })
}

/// Sets the bit of each code that is in `set`, a bitmap over codes. Codes after the last bit of `set` are not in it.
pub(crate) fn in_set<T: Copy + Into<u32>>(codes: &[T], set: &[u64], words: &mut [u64]) {
    pack(codes, words, |code| {
        let code = code.into() as usize;
        set.get(code / LANES).is_some_and(|word| word >> (code % LANES) & 1 == 1)
    });
}

/// Creates a [`ByteSet`] from the first four words of `set`, a bitmap over codes. Missing words are zero.
pub(crate) fn byte_set(set: &[u64]) -> ByteSet {
    let mut bytes = ByteSet::default();
    bytes.iter_mut().zip(set).for_each(|(byte, word)| *byte = *word);
    bytes
}

/// Sets the bit of each value in `low..=high`.
pub(crate) fn in_range<T: Copy + PartialOrd>(values: &[T], low: T, high: T, words: &mut [u64]) {
    pack(values, words, |value| low <= value && value <= high);
}

/// Sets the bit of each value that is in one of `ranges`. The ranges are closed, ascending and disjoint.
pub(crate) fn in_ranges<T: Copy + PartialOrd>(values: &[T], ranges: &[(T, T)], words: &mut [u64]) {
    pack(values, words, |value| {
        let behind = ranges.partition_point(|(low, _)| *low <= value);
        behind > 0 && value <= ranges[behind - 1].1
    });
}

/// Sets the bit of each row that has at least one selected value, and clears the bit of every other row. Value `i` is selected if
/// bit `i` of `bits` is set.
///
/// `ends` contains the end index of the values of each row. Row `r` has the values `ends[r - 1]..ends[r]`. The values of row 0
/// start at index 0.
pub(crate) fn any_of_row(bits: &[u64], ends: &[u32], words: &mut [u64]) {
    let mut start = 0;
    for (word, ends) in words.iter_mut().zip(ends.chunks(LANES)) {
        let mut rows = 0;
        for (lane, end) in ends.iter().enumerate() {
            let end = *end as usize;
            rows |= u64::from(any_bit(bits, start, end)) << lane;
            start = end;
        }
        *word = rows;
    }
}

/// Returns true if any bit in `start..end` is set.
fn any_bit(bits: &[u64], start: usize, end: usize) -> bool {
    if start >= end {
        return false;
    }
    let (first, last) = (start / LANES, (end - 1) / LANES);
    let head = u64::MAX << (start % LANES);
    let tail = u64::MAX >> (LANES - 1 - (end - 1) % LANES);
    if first == last {
        return bits[first] & head & tail != 0;
    }
    bits[first] & head != 0 || bits[first + 1..last].iter().any(|word| *word != 0) || bits[last] & tail != 0
}

/// Sets the bit of each row that has a value, and clears the bit of every other row. `ends` has the same contents as for
/// [`any_of_row`].
pub(crate) fn non_empty(ends: &[u32], words: &mut [u64]) {
    let mut start = 0;
    for (word, ends) in words.iter_mut().zip(ends.chunks(LANES)) {
        let mut rows = 0;
        for (lane, end) in ends.iter().enumerate() {
            rows |= u64::from(*end > start) << lane;
            start = *end;
        }
        *word = rows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [usize; 8] = [0, 1, 63, 64, 65, 65_535, 65_536, 65_537];

    fn bits(words: &[u64], len: usize) -> Vec<bool> {
        (0..len).map(|at| words[at / 64] >> (at % 64) & 1 == 1).collect()
    }

    #[test]
    fn numbers_are_compared_each_in_its_place() {
        let mut numbers = [7; LANES];
        for at in 0..LANES {
            numbers[at] = 1 << 31 | at as u32;
            assert_eq!(equal_numbers(&numbers, 1 << 31 | at as u32), 1 << at);
            assert_eq!(equal_numbers(&numbers, 7), u64::MAX.checked_shl(at as u32 + 1).unwrap_or(0));
        }
    }

    #[test]
    fn lanes_agree_with_a_plain_loop_at_every_length() {
        for len in LENGTHS {
            let values: Vec<u16> = (0..len).map(|at| (at * 7919 % 300) as u16).collect();
            let mut words = vec![0; len.div_ceil(64)];
            equal(&values, 7, &mut words);
            assert_eq!(bits(&words, len), values.iter().map(|v| *v == 7).collect::<Vec<_>>());
            words.fill(0);
            in_set(&values, &[0b1010, 1], &mut words);
            assert_eq!(bits(&words, len), values.iter().map(|v| [1, 3, 64].contains(v)).collect::<Vec<_>>());
            words.fill(0);
            in_range(&values, 10, 20, &mut words);
            in_range(&values, 100, 200, &mut words);
            let in_either = |v: &u16| (10..=20).contains(v) || (100..=200).contains(v);
            assert_eq!(bits(&words, len), values.iter().map(in_either).collect::<Vec<_>>());
            words.fill(0);
            in_ranges(&values, &[(10, 20), (100, 200)], &mut words);
            assert_eq!(bits(&words, len), values.iter().map(in_either).collect::<Vec<_>>());
        }
    }

    #[test]
    fn pairs_are_counted_as_they_come_to_row_by_row() {
        let hows = [Combine::And, Combine::AndNot, Combine::Or, Combine::OrNot];
        let join = |how: Combine, a: bool, b: bool| match how {
            Combine::And => a && b,
            Combine::AndNot => a && !b,
            Combine::Or => a || b,
            Combine::OrNot => a || !b,
        };
        for rows in [1_usize, 63, 64, 65, 200, 1000] {
            // Some bits after the last row are set, too.
            let sets: Vec<Vec<u64>> = (1..5_u64)
                .map(|seed| {
                    let word = |at: u64| {
                        (at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(seed as u32 * 9)
                    };
                    (0..rows.div_ceil(64) as u64).map(word).collect()
                })
                .collect();
            let [a, b, c, d] = [0, 1, 2, 3].map(|set: usize| bits(&sets[set], rows));
            for (first, second, how) in
                hows.iter().flat_map(|f| hows.iter().flat_map(|s| hows.map(|how| (*f, *s, how))))
            {
                let one = Pair { how: first, one: &sets[0], other: &sets[1] };
                let other = Pair { how: second, one: &sets[2], other: &sets[3] };
                let passes =
                    |row: &usize| join(how, join(first, a[*row], b[*row]), join(second, c[*row], d[*row]));
                assert_eq!(count_pairs(one, how, other, rows), (0..rows).filter(passes).count());
                let passes = |row: &usize| join(first, a[*row], b[*row]);
                assert_eq!(count_pair(one, rows), (0..rows).filter(passes).count());
                let passes = |row: &usize| join(how, a[*row], join(second, c[*row], d[*row]));
                assert_eq!(
                    count_pairs(Pair::of(&sets[0]), how, other, rows),
                    (0..rows).filter(passes).count()
                );
            }
        }
    }

    #[test]
    fn rows_have_the_bits_of_their_values() {
        for len in LENGTHS {
            let mut ends = Vec::new();
            let mut values = Vec::new();
            for row in 0..len {
                for at in 0..(row * 31 % 7) * (row % 3) * if row % 1000 == 0 { 40 } else { 1 } {
                    values.push((row + at) % 11 == 0);
                }
                ends.push(values.len() as u32);
            }
            let mut packed = vec![0_u64; values.len().div_ceil(64)];
            for at in (0..values.len()).filter(|at| values[*at]) {
                packed[at / 64] |= 1 << (at % 64);
            }
            let ranges: Vec<(usize, usize)> = (0..len)
                .map(|row| (if row == 0 { 0 } else { ends[row - 1] as usize }, ends[row] as usize))
                .collect();
            let mut words = vec![0; len.div_ceil(64)];
            any_of_row(&packed, &ends, &mut words);
            assert_eq!(
                bits(&words, len),
                ranges.iter().map(|(a, b)| values[*a..*b].contains(&true)).collect::<Vec<_>>()
            );
            non_empty(&ends, &mut words);
            assert_eq!(bits(&words, len), ranges.iter().map(|(a, b)| a < b).collect::<Vec<_>>());
        }
    }
}
