//! From the codes of a string column to the rows that have them.

use super::LANES;
use super::slice::{Move, Slice};

/// The rows of each code of a column.
///
/// A code that many rows have keeps a bit for each row, any other a list of its rows; one that
/// every row has keeps nothing. So a code costs at most the lesser of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postings {
    rows: usize,
    /// By code: how many rows have it, and where its words start in `words`, or its rows in `lists`.
    codes: Slice<[u32; 2]>,
    words: Slice<u64>,
    lists: Slice<u16>,
}

/// The rows of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posting<'p> {
    /// Every row.
    All,
    /// The rows whose bit is set; bits behind the last row are zero.
    Words(&'p [u64]),
    /// These rows, ascending.
    List(&'p [u16]),
}

/// A code that at least one row in this many has keeps bits: 16 bits a listed row are then more than a bit a row.
///
/// The bound is lower than that of least memory, since bitmaps are also faster to combine
/// (`benches/evaluate.rs`).
const DENSE_FRACTION: usize = 64;

impl Postings {
    /// The postings of `distinct` codes, from the code of each row that has one, in ascending order of rows.
    ///
    /// `occurrences` is walked twice.
    pub(crate) fn new<I: Iterator<Item = (u32, u32)>>(
        rows: usize,
        distinct: usize,
        occurrences: impl Fn() -> I,
    ) -> Self {
        let mut counts = vec![0_u32; distinct];
        for (_, code) in occurrences() {
            if let Some(count) = counts.get_mut(code as usize) {
                // There are no more rows than that.
                *count = count.wrapping_add(1);
            }
        }
        let dense_from = rows.div_ceil(DENSE_FRACTION);
        let words_each = rows.div_ceil(LANES);
        let mut starts = Vec::with_capacity(distinct);
        let (mut words, mut lists) = (0_usize, 0_usize);
        for count in &counts {
            let count = *count as usize;
            let start = if count == rows {
                0
            } else if count >= dense_from {
                let start = words;
                words = words.saturating_add(words_each);
                start
            } else {
                let start = lists;
                lists = lists.saturating_add(count);
                start
            };
            starts.push(u32::try_from(start).unwrap_or(u32::MAX));
        }
        let mut words = vec![0_u64; words];
        let mut lists = vec![0_u16; lists];
        // By code: how many rows it has, and where the next of them goes.
        let mut next: Vec<(u32, u32)> = counts.iter().copied().zip(starts.iter().copied()).collect();
        for (row, code) in occurrences() {
            let Some((count, start)) = next.get_mut(code as usize) else { continue };
            let (count, row) = (*count as usize, row as usize);
            if count < dense_from {
                if let (Some(slot), Ok(row)) = (lists.get_mut(*start as usize), u16::try_from(row)) {
                    *slot = row;
                    *start = start.wrapping_add(1);
                }
            } else if count != rows
                && let Some(word) = words.get_mut((*start as usize).wrapping_add(row / LANES))
            {
                *word |= 1 << (row % LANES);
            }
        }
        let codes = counts.into_iter().zip(starts).map(|(count, start)| [count, start]).collect();
        Self { rows, codes, words: words.into(), lists: lists.into() }
    }

    /// As [`new`](Self::new) where a row may have several codes, and one more than once.
    pub(crate) fn of_many<I: Iterator<Item = (u32, u32)>>(
        rows: usize,
        distinct: usize,
        occurrences: impl Fn() -> I,
    ) -> Self {
        Self::new(rows, distinct, || {
            let mut last_rows = vec![u32::MAX; distinct];
            occurrences().filter(move |(row, code)| {
                let last = last_rows.get_mut(*code as usize);
                last.is_some_and(|last| std::mem::replace(last, *row) != *row)
            })
        })
    }

    /// The rows of a code; none for a code that does not exist.
    #[inline]
    pub(crate) fn get(&self, code: u32) -> Posting<'_> {
        let Some([count, start]) = self.codes.get(code as usize) else { return Posting::List(&[]) };
        let (count, start) = (*count as usize, *start as usize);
        if count == self.rows {
            Posting::All
        } else if is_dense(count, self.rows) {
            let end = start.saturating_add(self.rows.div_ceil(LANES));
            Posting::Words(self.words.get(start..end).unwrap_or_default())
        } else {
            Posting::List(self.lists.get(start..start.saturating_add(count)).unwrap_or_default())
        }
    }

    /// How many rows have the code.
    #[inline]
    pub(crate) fn count(&self, code: u32) -> usize {
        self.codes.get(code as usize).map_or(0, |[count, _]| *count as usize)
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

fn is_dense(count: usize, rows: usize) -> bool {
    count.saturating_mul(DENSE_FRACTION) >= rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_each_code_come_back_whatever_their_number() {
        for rows in [1_usize, 63, 64, 65, 1000, 65_536] {
            // Code 0 in every row, 1 in every other, 2 in every 500th, 3 in none; code 1 twice in some.
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
            let postings = Postings::of_many(rows, 4, || all.iter().copied());
            for code in 0..5 {
                let mut expected: Vec<usize> =
                    all.iter().filter(|(_, other)| *other == code).map(|(row, _)| *row as usize).collect();
                expected.dedup();
                let found: Vec<usize> = match postings.get(code) {
                    Posting::All => (0..rows).collect(),
                    Posting::List(list) => list.iter().map(|row| usize::from(*row)).collect(),
                    Posting::Words(words) => {
                        (0..rows).filter(|row| words[row / 64] >> (row % 64) & 1 == 1).collect()
                    }
                };
                assert_eq!(found, expected, "code {code} of {rows} rows");
                assert_eq!(postings.count(code), expected.len());
            }
        }
    }
}
