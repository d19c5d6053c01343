//! Functions on a set of rows that is stored as a bitmap: row `r` is bit `r % 64` of word `r / 64`.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "bits and rows of a batch, which are at most 65,536, and a word that is not zero minus one"
)]

use std::ops::Range;

use super::LANES;
use crate::kernels;

/// The maximum number of rows of a batch. A row number fits a `u16`.
pub(crate) const MAX_ROWS: usize = 1 << 16;
/// The number of words of the bitmap of a full batch. A bitmap of this length has a bit for every `u16`.
const FULL: usize = MAX_ROWS / LANES;
/// The number of words that [`nth`] counts at once.
const SPAN: usize = 32;

/// Returns true if the bit of `row` is set. Returns false for rows after the last word.
#[inline]
pub(crate) fn has_bit(words: &[u64], row: usize) -> bool {
    words.get(row / LANES).is_some_and(|word| word >> (row % LANES) & 1 == 1)
}

/// Returns a mask of the bits of one word that belong to rows less than `row`. `first` is the row of the word's lowest bit.
#[inline]
fn bits_below(first: usize, row: usize) -> u64 {
    match row.checked_sub(first) {
        None => 0,
        Some(bits) if bits < LANES => (1 << bits) - 1,
        Some(_) => u64::MAX,
    }
}

/// Returns the number of set bits that belong to rows less than `row`.
pub(super) fn count_below(words: &[u64], row: usize) -> usize {
    match words.split_at_checked(row / LANES) {
        Some((whole, rest)) => {
            let last = rest.first().map_or(0, |word| word & bits_below(0, row % LANES));
            kernels::count_ones(whole) + last.count_ones() as usize
        }
        None => kernels::count_ones(words),
    }
}

/// Returns the row of the set bit at index `number`, counting set bits from 0. Returns `None` if fewer bits are set.
pub(super) fn nth(words: &[u64], mut number: usize) -> Option<usize> {
    for (first, span) in (0..).step_by(SPAN * LANES).zip(words.chunks(SPAN)) {
        match number.checked_sub(kernels::count_ones(span)) {
            Some(left) => number = left,
            None => return Some(first + nth_in_span(span, number)?),
        }
    }
    None
}

/// Does the work of [`nth`] within one span, word by word.
fn nth_in_span(words: &[u64], mut number: usize) -> Option<usize> {
    for (first, word) in (0..).step_by(LANES).zip(words) {
        match number.checked_sub(word.count_ones() as usize) {
            Some(left) => number = left,
            None => return Some(usize::saturating_add(first, ones_of_word(*word).nth(number)?)),
        }
    }
    None
}

/// Returns the indexes of the set bits of a word, in ascending order.
#[inline(always)]
pub(crate) fn ones_of_word(word: u64) -> impl Iterator<Item = usize> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(bit)
    })
}

/// Returns the rows whose bit is set, in ascending order.
pub(super) fn ones(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    (0_usize..)
        .step_by(LANES)
        .zip(words)
        .flat_map(|(first, word)| ones_of_word(word).map(move |bit| first + bit))
}

/// Replaces the contents of `list` by the rows whose bit is set. `words` must have at most 65,536 bits.
pub(crate) fn list_bits(words: &[u64], list: &mut Vec<u16>) {
    list.clear();
    for (first, word) in (0_usize..).step_by(LANES).zip(words) {
        push_bits(first, *word, list);
    }
}

/// Appends to `list` those rows of `range` whose bit is set.
pub(super) fn list_within(words: &[u64], range: Range<usize>, list: &mut Vec<u16>) {
    let places = range.start / LANES..range.end.div_ceil(LANES);
    let firsts = (0..).step_by(LANES).skip(places.start);
    for (first, word) in firsts.zip(words.get(places).unwrap_or_default()) {
        push_bits(first, word & bits_below(first, range.end) & !bits_below(first, range.start), list);
    }
}

/// Appends to `list` the rows whose bit is set in `word`. `first` is the row of the word's lowest bit.
#[inline]
fn push_bits(first: usize, word: u64, list: &mut Vec<u16>) {
    let mut rest = word;
    while rest != 0 {
        #[expect(clippy::cast_possible_truncation, reason = "a row of a batch")]
        list.push((first | rest.trailing_zeros() as usize) as u16);
        rest &= rest - 1;
    }
}

/// Sets the bits of all `rows` rows of the bitmap `words`. Clears the bits after the last row.
pub(super) fn fill(words: &mut [u64], rows: usize) {
    words.fill(u64::MAX);
    clear_tail(words, rows);
}

/// Clears the bits after the last row of `words`, a bitmap of `rows` rows.
pub(crate) fn clear_tail(words: &mut [u64], rows: usize) {
    let used = rows % LANES;
    if used > 0
        && let Some(last) = words.last_mut()
    {
        *last &= (1 << used) - 1;
    }
}

/// Sets the bits of `rows`, which may be in any order.
pub(crate) fn set_rows(words: &mut [u64], rows: &[u16]) {
    update_rows(words, rows, |word, bit| word | bit);
}

/// Clears the bits of `rows`, which may be in any order.
pub(super) fn clear_rows(words: &mut [u64], rows: &[u16]) {
    update_rows(words, rows, |word, bit| word & !bit);
}

/// Inverts the bits of `rows`, which may be in any order but must not contain duplicates.
pub(crate) fn flip_rows(words: &mut [u64], rows: &[u16]) {
    update_rows(words, rows, |word, bit| word ^ bit);
}

#[inline(always)]
fn update_rows(words: &mut [u64], rows: &[u16], update: impl Fn(u64, u64) -> u64) {
    let one = |word: Option<&mut u64>, row: u16| {
        if let Some(word) = word {
            *word = update(*word, 1 << (row & 63));
        }
    };
    let place = |row: u16| usize::from(row >> 6);
    // For a slice of exactly this length, the compiler knows that every row has a word, and removes the bounds check.
    match <&mut [u64; FULL]>::try_from(&mut *words) {
        Ok(words) => update_each(rows, |row| one(words.get_mut(place(row)), row)),
        Err(_) => update_each(rows, |row| one(words.get_mut(place(row)), row)),
    }
}

/// Calls `update` for each row. Takes the rows in turn from four parts of the list.
///
/// Adjacent rows of a list often share a word. An update must wait until the previous update of the same word has been written.
/// Rows from different parts seldom share a word.
#[inline(always)]
fn update_each(rows: &[u16], mut update: impl FnMut(u16)) {
    let quarter = rows.len() / 4;
    let (first, rest) = rows.split_at(quarter);
    let (second, rest) = rest.split_at(quarter);
    let (third, rest) = rest.split_at(quarter);
    let (fourth, rest) = rest.split_at(quarter);
    for (((first, second), third), fourth) in first.iter().zip(second).zip(third).zip(fourth) {
        update(*first);
        update(*second);
        update(*third);
        update(*fourth);
    }
    rest.iter().for_each(|row| update(*row));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_set_cleared_and_inverted_one_by_one() {
        for words in [1, 3, FULL] {
            // The list has several rows in one word, and some rows in the last word.
            let all: Vec<u16> = [0, 1, 5, 63, 62, 40]
                .into_iter()
                .chain((words * LANES - 7..words * LANES).map(|row| row as u16))
                .collect();
            for len in 0..=all.len() {
                let rows = &all[..len];
                let before: Vec<u64> =
                    (0..words as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
                let (mut set, mut cleared, mut inverted) = (before.clone(), before.clone(), before.clone());
                set_rows(&mut set, rows);
                clear_rows(&mut cleared, rows);
                flip_rows(&mut inverted, rows);
                let mut distinct = rows.to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                for row in 0..words * LANES {
                    let is_in = distinct.contains(&(row as u16));
                    let was = has_bit(&before, row);
                    assert_eq!(has_bit(&set, row), was || is_in, "row {row} of {len} in {words} words");
                    assert_eq!(has_bit(&cleared, row), was && !is_in, "row {row} of {len} in {words} words");
                    if distinct.len() == len {
                        assert_eq!(
                            has_bit(&inverted, row),
                            was != is_in,
                            "row {row} of {len} in {words} words"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_sought_across_spans() {
        let rows = 2 * SPAN * LANES + 65;
        for step in [1, 2, 63, 64, 100, SPAN * LANES, SPAN * LANES + 1] {
            let set: Vec<u16> = (0..rows as u16).filter(|row| usize::from(*row) % step == step - 1).collect();
            let mut words = vec![0; rows.div_ceil(LANES)];
            set_rows(&mut words, &set);
            for number in 0..=set.len() {
                assert_eq!(nth(&words, number), set.get(number).map(|row| usize::from(*row)));
            }
        }
    }
}
