//! Functions on a range of rows in a bitmap. They set, clear and count bits word by word.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a range that is not empty has a last row, and is within the words by the contract of each function"
)]

use std::ops::Range;

use super::LANES;
use crate::kernels;

/// Sets the bits of the rows in `rows`. All of the rows must be within `words`.
pub(super) fn set_range(words: &mut [u64], rows: Range<usize>) {
    update(words, rows, |word, bits| word | bits);
}

/// Clears the bits of the rows in `rows`. All of the rows must be within `words`.
pub(super) fn clear_range(words: &mut [u64], rows: Range<usize>) {
    update(words, rows, |word, bits| word & !bits);
}

/// Returns two masks: the bits of the range in its first word, and in its last word. The range must not be empty.
fn ends(rows: &Range<usize>) -> (u64, u64) {
    (u64::MAX << (rows.start % LANES), u64::MAX >> (LANES - 1 - (rows.end - 1) % LANES))
}

#[inline(always)]
fn update(words: &mut [u64], rows: Range<usize>, update: impl Fn(u64, u64) -> u64) {
    if rows.is_empty() {
        return;
    }
    let (first, last) = (rows.start / LANES, (rows.end - 1) / LANES);
    let (head, tail) = ends(&rows);
    if first == last {
        words[first] = update(words[first], head & tail);
    } else {
        words[first] = update(words[first], head);
        words[first + 1..last].iter_mut().for_each(|word| *word = update(*word, u64::MAX));
        words[last] = update(words[last], tail);
    }
}

/// Counts the set bits of the rows in `rows`. All of the rows must be within `words`.
pub(crate) fn count_range(words: &[u64], rows: Range<usize>) -> usize {
    if rows.is_empty() {
        return 0;
    }
    let (first, last) = (rows.start / LANES, (rows.end - 1) / LANES);
    let (head, tail) = ends(&rows);
    let count = |word: u64| word.count_ones() as usize;
    if first == last {
        return count(words[first] & head & tail);
    }
    count(words[first] & head) + kernels::count_ones(&words[first + 1..last]) + count(words[last] & tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_set_cleared_and_counted_and_nothing_beside_it() {
        let words: Vec<u64> = (0..5_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let bits = |words: &[u64]| -> Vec<bool> {
            (0..320).map(|at| words[at / 64] >> (at % 64) & 1 == 1).collect()
        };
        let before = bits(&words);
        for start in 0..=320 {
            for end in start..=320 {
                let expected = before[start..end].iter().filter(|bit| **bit).count();
                assert_eq!(count_range(&words, start..end), expected, "{start}..{end}");
                let (mut set, mut cleared) = (words.clone(), words.clone());
                set_range(&mut set, start..end);
                clear_range(&mut cleared, start..end);
                let is_in = |at: usize| (start..end).contains(&at);
                assert!(bits(&set).into_iter().enumerate().all(|(at, bit)| bit == (before[at] || is_in(at))));
                assert!(
                    bits(&cleared).into_iter().enumerate().all(|(at, bit)| bit == (before[at] && !is_in(at)))
                );
            }
        }
    }
}
