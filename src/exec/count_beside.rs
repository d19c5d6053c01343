//! Counts the rows that are both in an access path and in a bitmap. Does not build a bitmap of the access path.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of rows of one batch; the rows that are subtracted were counted before"
)]

use std::ops::Range;

use super::access_path::AccessPath;
use super::value_test::ValueTest;
use crate::column::{Codes, Column, ColumnData, ColumnLayout, Sorted};
use crate::kernels::{self, Combine, Pair};
use crate::rows::{LANES, RowSet, Selection, count_range, has_bit};

/// Returns the number of rows of a path whose bit in `words` is set. Returns `None` if the count needs a bitmap of the path.
/// `rows` is the number of rows of the batch.
pub(super) fn count_beside(path: &AccessPath<'_>, words: &[u64], rows: usize) -> Option<usize> {
    match path {
        AccessPath::Sorted { sorted, parts, .. } => {
            Some(parts.iter().map(|part| count_sorted(*sorted, part.clone(), words, rows)).sum())
        }
        AccessPath::Scan(
            Column {
                layout: ColumnLayout::Single(present),
                data: ColumnData::Strings { codes: Codes::U8(codes), .. },
                ..
            },
            tests,
        ) => match tests.as_slice() {
            [ValueTest::Codes(set)] => Some(count_codes(codes, set, present, words)),
            _ => None,
        },
        _ => None,
    }
}

/// Counts the rows that have a value, whose code is in `set`, and whose bit in `words` is set.
fn count_codes(codes: &[u8], set: &[u64], present: &Selection, words: &[u64]) -> usize {
    /// The number of words that are computed at a time, so that they stay in the L1 cache.
    const PIECE: usize = 256;
    let bytes = kernels::byte_set(set);
    let mut room = [0; PIECE];
    let mut count = |codes: &[u8], words: &[u64], present: Option<&[u64]>| {
        let made = room.get_mut(..codes.len().div_ceil(LANES)).unwrap_or_default();
        kernels::in_byte_set(codes, &bytes, made);
        let pair = Pair { how: Combine::And, one: made, other: words };
        match present {
            None => kernels::count_pair(pair, codes.len()),
            Some(present) => kernels::count_pairs(pair, Combine::And, Pair::of(present), codes.len()),
        }
    };
    let pieces = codes.chunks(PIECE * LANES).zip(words.chunks(PIECE));
    match present {
        Selection::None => 0,
        Selection::All => pieces.map(|(codes, words)| count(codes, words, None)).sum(),
        Selection::Bitmap(present) => pieces
            .zip(present.words().chunks(PIECE))
            .map(|((codes, words), present)| count(codes, words, Some(present)))
            .sum(),
    }
}

/// Counts the rows that are in `part` of the sorted rows, and whose bit in `words` is set.
///
/// A prefix bitmap contains the sorted rows before a *fence*, which is a position in the sorted rows. Uses the prefix bitmaps of
/// two fences: the fence nearest to the start of the part, and the fence nearest to its end. The rows between the first fence and
/// the start of the part are tested one by one. So are the rows between the second fence and the end of the part. The count is then
/// corrected by the number of these rows whose bit is set. `rows` is the number of rows of the batch.
pub(crate) fn count_sorted(sorted: Sorted<'_>, part: Range<usize>, words: &[u64], rows: usize) -> usize {
    let Sorted::Listed(sorted) = sorted else { return count_range(words, part) };
    let [(until, list), (from, other)] = sorted.pieces(part);
    let mut count = match (&until, &from) {
        // In prefix bitmaps, no bit after the last row is set.
        (RowSet::Bitmap(until), RowSet::Bitmap(from)) => kernels::count_between(words, until, from),
        (RowSet::Bitmap(until), RowSet::None) => kernels::count_both(words, until),
        (RowSet::All, RowSet::Bitmap(from)) => {
            kernels::count_pair(Pair { how: Combine::AndNot, one: words, other: from }, rows)
        }
        (RowSet::All, RowSet::None) => kernels::count_pair(Pair::of(words), rows),
        _ => 0,
    };
    for list in [list, other] {
        let Some(first) = list.first() else { continue };
        let listed = list.iter().filter(|row| has_bit(words, usize::from(**row))).count();
        // A prefix bitmap contains either all rows of a list or none of them. So the count so far includes all rows of the list
        // whose bit is set, or no row of the list.
        let is_counted = until.contains(usize::from(*first)) && !from.contains(usize::from(*first));
        count = if is_counted { count - listed } else { count + listed };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::SortedRows;
    use crate::rows::Bitmap;

    #[test]
    fn codes_are_counted_beside_bits_in_every_piece() {
        for rows in [1_usize, 64, 16_383, 16_384, 16_385, 40_000] {
            let codes: Vec<u8> = (0..rows).map(|row| (row * 7919 % 200) as u8).collect();
            // Bits after the last row have no meaning.
            let words: Vec<u64> =
                (1..=rows.div_ceil(LANES) as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let set = [0x8000_0000_ffff_0f01, u64::MAX, 0, 0x55];
            let some = Selection::from_bitmap(Bitmap::filled_by(rows, |words| {
                (0..rows).filter(|row| row % 1_000 < 700).for_each(|row| words[row / 64] |= 1 << (row % 64));
            }));
            for present in [Selection::All, Selection::None, some] {
                let passes = |row: &usize| {
                    let code = usize::from(codes[*row]);
                    set[code / 64] >> (code % 64) & 1 == 1 && has_bit(&words, *row) && present.contains(*row)
                };
                let expected = (0..rows).filter(passes).count();
                assert_eq!(count_codes(&codes, &set, &present, &words), expected, "{rows} rows, {present:?}");
            }
        }
    }

    #[test]
    fn sorted_rows_are_counted_at_every_distance_from_a_fence() {
        for (rows, every) in [(9_000_usize, 1_usize), (9_000, 2), (2_048, 1), (700, 3)] {
            let order: Vec<u16> = (0..rows).map(|row| row * 4_001 % rows).map(|row| row as u16).collect();
            let order: Vec<u16> = order.into_iter().filter(|row| usize::from(*row) % every == 0).collect();
            let sorted = SortedRows::new(order.clone(), rows, |row| row as i64);
            // Bits after the last row have no meaning.
            let words: Vec<u64> = (0..rows.div_ceil(LANES) as u64)
                .map(|at| if at % 5 == 0 { u64::MAX } else { at.wrapping_mul(0x9e37_79b9_7f4a_7c15) })
                .collect();
            let len = order.len();
            let ends =
                [0, 1, 500, 1_023, 1_024, 1_025, 2_047, 2_048, 2_049, 4_000, 6_200, len / 2, len - 1, len];
            for start in ends.iter().copied().filter(|start| *start <= len) {
                for end in ends.iter().copied().filter(|end| (start..=len).contains(end)) {
                    let has = |row: &&u16| has_bit(&words, usize::from(**row));
                    let expected = order[start..end].iter().filter(has).count();
                    let found = count_sorted(Sorted::Listed(&sorted), start..end, &words, rows);
                    assert_eq!(found, expected, "{start}..{end} of {len} in {rows}");
                }
            }
        }
    }
}
