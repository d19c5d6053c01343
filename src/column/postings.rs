//! Postings: map each code of a string column to the rows that have the code.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "rows of one batch, codes below `distinct`, and offsets into memory that `Memory` lays out for as many rows as \
              were counted"
)]

use std::ops::Range;

use smallvec::SmallVec;
use wide::u8x16;

use crate::rows::{LANES, MAX_ROWS, RowSet, Selection, ones_of_word};
use crate::slice::{Move, Slice};

/// The rows of each code of a string column. The form depends on how many rows have the code:
///
/// - many rows: a bitmap;
/// - few rows: a list of the rows;
/// - all rows: nothing is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postings {
    rows: usize,
    /// For each code: the number of its rows, and a start index. The index is that of the code's first word in `words` or of its
    /// first row in `lists`.
    codes: Slice<[u32; 2]>,
    words: Slice<u64>,
    lists: Slice<u16>,
}

/// The rows of a code are stored as a bitmap if at least 1/`DENSE_FRACTION` of the rows of the batch have the code.
///
/// A list takes 16 bits for each row with the code. A bitmap takes one bit for each row of the batch. So a fraction of 1/16 would
/// take the least memory. But bitmaps are faster to combine (`benches/evaluate.rs`).
const DENSE_FRACTION: usize = 64;

impl Postings {
    /// Creates the postings of a column. `distinct` is the number of codes, and `rows` is the number of rows of the batch.
    /// `occurrences` is called twice. Both calls return the same pairs of a row and a code, without duplicates and in ascending
    /// order of rows.
    pub(crate) fn new<I: Iterator<Item = (u32, u32)>>(
        rows: usize,
        distinct: usize,
        occurrences: impl Fn() -> I,
    ) -> Self {
        let mut counts = vec![0_u32; distinct];
        occurrences().for_each(|(_, code)| counts[code as usize] += 1);
        let dense_from = rows.div_ceil(DENSE_FRACTION);
        let Memory { codes, mut words, mut lists } = Memory::of(rows, &counts);
        // For each code: the number of its rows, and the index of the next write position in `lists`, or of the first word in
        // `words`.
        let mut next = codes.clone();
        occurrences().for_each(|(row, code)| {
            let [count, start] = &mut next[code as usize];
            let (count, row) = (*count as usize, row as usize);
            if count < dense_from {
                lists[*start as usize] = row_number(row);
                *start += 1;
            } else if count != rows {
                words[*start as usize + row / LANES] |= 1 << (row % LANES);
            }
        });
        Self { rows, codes: codes.into(), words: words.into(), lists: lists.into() }
    }

    /// Creates the postings of a single-valued column with one-byte codes. Processes 64 rows at a time. `distinct` is the number of
    /// codes, and `present` selects the rows with a value.
    pub(crate) fn of_bytes(distinct: usize, values: &[u8], present: &Selection) -> Self {
        let rows = values.len();
        // Returns for each group of 64 rows: its index, its codes, and a word. A bit of the word is set if its row exists and has a
        // value.
        let (chunks, rest) = values.as_chunks::<LANES>();
        let mut last = [0; LANES];
        for (slot, value) in last.iter_mut().zip(rest) {
            *slot = *value;
        }
        let of_last = (1_u64 << rest.len()) - 1;
        let chunks = || {
            chunks.iter().chain((!rest.is_empty()).then_some(&last)).enumerate().map(|(at, chunk)| {
                let there = if at < rows / LANES { u64::MAX } else { of_last };
                (at, chunk, present.word(at) & there)
            })
        };

        let mut counts = [0_u32; 1 << u8::BITS];
        for (_, chunk, word) in chunks() {
            if word == u64::MAX {
                chunk.iter().for_each(|code| counts[usize::from(*code)] += 1);
            } else {
                ones_of_word(word).for_each(|row| counts[usize::from(chunk[row])] += 1);
            }
        }
        let counts = &counts[..distinct];
        let Memory { codes, mut words, mut lists } = Memory::of(rows, counts);
        // The codes whose rows are stored as bitmaps, each with the index of its first word. For every other code, `next` contains
        // the index in `lists` at which the code's next row is written.
        let mut dense: SmallVec<[(u8, usize); DENSE_FRACTION]> = SmallVec::new();
        let mut next = codes.clone();
        for (code, [count, start]) in (0..=u8::MAX).zip(&codes) {
            let count = *count as usize;
            if count > 0 && count != rows && is_dense(count, rows) {
                dense.push((code, *start as usize));
            }
        }
        if counts.iter().any(|count| *count as usize == rows) {
            // If every row has the same code, no rows are stored: the other codes have no rows.
            return Self { rows, codes: codes.into(), words: words.into(), lists: lists.into() };
        }
        for (at, chunk, word) in chunks() {
            let mut rest = word;
            for (code, start) in &dense {
                let own = equal_bytes(chunk, *code) & word;
                words[start + at] = own;
                rest &= !own;
            }
            for row in ones_of_word(rest) {
                let [_, next] = &mut next[usize::from(chunk[row])];
                lists[*next as usize] = row_number(at * LANES + row);
                *next += 1;
            }
        }
        Self { rows, codes: codes.into(), words: words.into(), lists: lists.into() }
    }

    /// Creates the postings of a multi-valued column. A row may have the same value more than once. `distinct` is the number of
    /// codes. `ends` contains the end index of the values of each row. `code` returns the code of a value.
    pub(crate) fn of_many<C>(distinct: usize, ends: &[u32], values: &[C], code: impl Fn(&C) -> u32) -> Self {
        let mut last_rows = vec![u32::MAX; distinct];
        let occurrences = rows_of_values(ends, values.len()).into_iter().zip(values.iter().map(code));
        let occurrences: Vec<(u32, u32)> = occurrences
            .filter(|(row, code)| std::mem::replace(&mut last_rows[*code as usize], *row) != *row)
            .collect();
        Self::new(ends.len(), distinct, || occurrences.iter().copied())
    }

    /// Returns the rows that have `code`.
    #[inline]
    pub(crate) fn get(&self, code: u32) -> RowSet<'_> {
        let (count, start) = self.entry(code);
        if count == self.rows {
            RowSet::All
        } else if is_dense(count, self.rows) {
            RowSet::bits(&self.words[self.words_from(start)])
        } else {
            RowSet::listed(&self.lists[start..start + count])
        }
    }

    /// Returns the bitmap of `code` without copying it. Returns `None` if the rows of `code` are not stored as a bitmap.
    pub(crate) fn words(&self, code: u32) -> Option<Slice<u64>> {
        match self.get(code) {
            RowSet::Bitmap(_) => self.words.part(self.words_from(self.entry(code).1)),
            _ => None,
        }
    }

    /// Returns the number of rows of `code`, and its start index. This is the index of its first word in `words`, or of its first
    /// row in `lists`.
    #[inline]
    fn entry(&self, code: u32) -> (usize, usize) {
        let [count, start] = self.codes[code as usize];
        (count as usize, start as usize)
    }

    /// Returns the index range in `words` of the bitmap that starts at `start`.
    fn words_from(&self, start: usize) -> Range<usize> {
        start..start + self.rows.div_ceil(LANES)
    }

    /// Returns the number of rows that have `code`.
    #[inline]
    pub(crate) fn count(&self, code: u32) -> usize {
        self.entry(code).0
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(&mut self.words);
        all.push(&mut self.lists);
        all.push(&mut self.codes);
    }

    pub(crate) fn size_bytes(&self) -> usize {
        [
            size_of_val::<[[u32; 2]]>(&self.codes),
            size_of_val::<[u64]>(&self.words),
            size_of_val::<[u16]>(&self.lists),
        ]
        .iter()
        .sum()
    }
}

/// Converts a row number to 16 bits.
#[expect(clippy::cast_possible_truncation, reason = "a batch has at most 65,536 rows")]
fn row_number(row: usize) -> u16 {
    debug_assert!(row < MAX_ROWS, "a row of one batch");
    row as u16
}

/// Returns true if the rows of a code are stored as a bitmap. `count` is the number of rows that have the code.
fn is_dense(count: usize, rows: usize) -> bool {
    count * DENSE_FRACTION >= rows
}

/// Returns the row of each value. `ends` contains the end index of the values of each row. `values` is the number of values.
fn rows_of_values(ends: &[u32], values: usize) -> Vec<u32> {
    /// The number of entries that are written for each row, even if the row has fewer values. A loop over the exact number of
    /// values would need a branch, which the processor would often mispredict.
    const AT_ONCE: usize = 4;
    let mut rows = vec![0; values + AT_ONCE];
    let mut start = 0;
    for (row, end) in (0..).zip(ends) {
        let end = *end as usize;
        rows[start..start + AT_ONCE].copy_from_slice(&[row; AT_ONCE]);
        if end > start + AT_ONCE {
            rows[start + AT_ONCE..end].fill(row);
        }
        start = end;
    }
    rows.truncate(values);
    rows
}

/// Zeroed buffers that the bitmaps and row lists of all codes share.
struct Memory {
    /// For each code: the number of its rows, and its start index in `words` or `lists`.
    codes: Vec<[u32; 2]>,
    words: Vec<u64>,
    lists: Vec<u16>,
}

impl Memory {
    /// Allocates buffers for codes in a batch of `rows` rows. `counts` contains the number of rows of each code.
    fn of(rows: usize, counts: &[u32]) -> Self {
        let (mut words, mut lists) = (0_usize, 0_usize);
        let place = |count: &u32| {
            let rows_of_code = *count as usize;
            let start = if rows_of_code == rows {
                0
            } else if is_dense(rows_of_code, rows) {
                let start = words;
                words += rows.div_ceil(LANES);
                start
            } else {
                let start = lists;
                lists += rows_of_code;
                start
            };
            [*count, u32::try_from(start).unwrap_or(u32::MAX)]
        };
        let codes = counts.iter().map(place).collect();
        Self { codes, words: vec![0; words], lists: vec![0; lists] }
    }
}

/// Returns a mask of the bytes that equal `byte`: bit `i` is set if `bytes[i] == byte`.
#[inline(always)]
fn equal_bytes(bytes: &[u8; LANES], byte: u8) -> u64 {
    let (chunks, _) = bytes.as_chunks();
    chunks.iter().rev().fold(0, |word, chunk: &[u8; 16]| {
        word << 16 | u64::from(u8x16::new(*chunk).simd_eq(u8x16::splat(byte)).to_bitmask())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Bitmap;

    /// Returns test columns. Each consists of the number of distinct codes, the code of each row, and the rows that have a value.
    fn columns_of_bytes() -> Vec<(usize, Vec<u8>, Selection)> {
        let mut columns = Vec::new();
        for rows in [0_usize, 1, 63, 64, 65, 127, 1000, 65_536] {
            for distinct in [1_usize, 2, 5, 70, 256] {
                // Most rows have one of the first codes. The last codes are rare.
                let code = |row: usize| {
                    let random = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                    let spread = if random.is_multiple_of(8) { distinct } else { distinct.div_ceil(8) };
                    (random / 8 % spread) as u8
                };
                let codes: Vec<u8> = (0..rows).map(code).collect();
                let some = |keep: fn(usize) -> bool| {
                    Selection::from_bitmap(Bitmap::filled_by(rows, |words| {
                        (0..rows).filter(|row| keep(*row)).for_each(|row| words[row / 64] |= 1 << (row % 64));
                    }))
                };
                for present in [
                    Selection::All,
                    Selection::None,
                    some(|row| row % 3 != 0),
                    some(|row| row % 700 == 5),
                    some(|row| row >= 64),
                ] {
                    columns.push((distinct, codes.clone(), present));
                }
            }
        }
        columns
    }

    #[test]
    fn sixty_four_rows_at_a_time_give_the_postings_of_one_row_after_the_other() {
        for (distinct, codes, present) in columns_of_bytes() {
            let plain = Postings::new(codes.len(), distinct, || {
                let rows = (0_u32..).zip(&codes).filter(|(row, _)| present.contains(*row as usize));
                rows.map(|(row, code)| (row, u32::from(*code)))
            });
            assert_eq!(
                Postings::of_bytes(distinct, &codes, &present),
                plain,
                "{} of {distinct}",
                codes.len()
            );
        }
    }

    #[test]
    fn rows_of_codes_of_every_frequency_come_back() {
        for rows in [1_usize, 63, 64, 65, 1000, 65_536] {
            // Every row has code 0. Every second row has code 1, twice. Every 500th row has code 2. Code 3 does not occur.
            let all: Vec<(u32, u32)> = (0..rows as u32)
                .flat_map(|row| {
                    let mut codes = vec![(row, 0)];
                    if row % 2 == 0 {
                        codes.extend([(row, 1), (row, 1)]);
                    }
                    if row % 500 == 0 {
                        codes.push((row, 2));
                    }
                    codes
                })
                .collect();
            let mut ends = vec![0; rows];
            for (count, (row, _)) in (1..).zip(&all) {
                ends[*row as usize] = count;
            }
            let postings = Postings::of_many(4, &ends, &all, |(_, code)| *code);
            for code in 0..4 {
                let mut expected: Vec<usize> =
                    all.iter().filter(|(_, other)| *other == code).map(|(row, _)| *row as usize).collect();
                expected.dedup();
                let found: Vec<usize> = postings.get(code).iter(rows).collect();
                assert_eq!(found, expected, "code {code} of {rows} rows");
                assert_eq!(postings.count(code), expected.len());
            }
        }
    }
}
