//! The rows of a leaf, as bits that are made, or one by one.

use std::ops::Range;

use super::kernels::{
    Combine, Pair, {self},
};
use super::plan::{Source, ValueTest};
use super::ranges::parts as parts_of;
use super::rows::has_bit;
use crate::column::{
    Before, Codes, Column, Data, LANES, Layout, Ordinals, Selection, Sorted, SortedRows, flip_rows,
};
use crate::index::split;
use crate::predicate::in_ranges;

/// The places of a row's values.
fn values_of(column: &Column, row: usize) -> Range<usize> {
    match &column.layout {
        Layout::Single(present) if present.contains(row) => row..row.saturating_add(1),
        Layout::Single(_) => 0..0,
        Layout::Many(ends) => {
            let end = |row: usize| ends.get(row).map_or(0, |end| *end as usize);
            row.checked_sub(1).map_or(0, end)..end(row)
        }
    }
}

/// Whether a row is among those of a source.
pub(super) fn passes(source: &Source<'_>, row: usize) -> bool {
    match source {
        Source::Kept(words) => has_bit(words, row),
        Source::Dense(each) => each.iter().all(|words| has_bit(words, row)),
        Source::Asked(bits) => has_bit(&[*bits], row),
        Source::Present(column) => !values_of(column, row).is_empty(),
        Source::Listed(keys) => keys.binary_search_by_key(&row, |key| usize::from(split(*key).1)).is_ok(),
        Source::AnyPosting(column, _, wanted) => {
            codes_of(column, row).any(|code| wanted.binary_search(&code).is_ok())
        }
        Source::EachPosting(column, _, wanted) => {
            wanted.iter().all(|wanted| codes_of(column, row).any(|code| code == *wanted))
        }
        Source::Sorted { column, ranges, .. } => match &column.data {
            Data::Ordered { values, .. } => {
                values_of(column, row).any(|at| values.get(at).is_some_and(|value| in_ranges(ranges, value)))
            }
            _ => false,
        },
        Source::Scan(column, tests) => {
            tests.iter().all(|test| values_of(column, row).any(|at| value_passes(&column.data, at, test)))
        }
    }
}

/// The codes of a row's strings.
pub(super) fn codes_of(column: &Column, row: usize) -> impl Iterator<Item = u32> {
    let values = match &column.data {
        Data::Strings { .. } => values_of(column, row),
        _ => 0..0,
    };
    values.filter_map(|at| match &column.data {
        Data::Strings { codes, .. } => u32::try_from(codes.get(at)).ok(),
        _ => None,
    })
}

/// Whether the value at a place of a column passes the test.
fn value_passes(data: &Data, at: usize, test: &ValueTest<'_>) -> bool {
    match (data, test) {
        (_, ValueTest::Present) => true,
        (Data::Strings { codes, .. }, ValueTest::Code(code)) => codes.get(at) == *code as usize,
        (Data::Strings { codes, .. }, ValueTest::Codes(set)) => {
            let code = codes.get(at);
            set.get(code / LANES).is_some_and(|word| word >> (code % LANES) & 1 == 1)
        }
        (Data::Ordered { values, .. }, ValueTest::Ranges(ranges)) => {
            values.get(at).is_some_and(|value| in_ranges(ranges, value))
        }
        (Data::Booleans { values, .. }, ValueTest::Boolean(wanted)) => values.get(at) == *wanted,
        _ => false,
    }
}

/// The rows of a source, in any order, where they are listed and few.
pub(super) fn listed<'p>(source: &Source<'p>) -> Option<&'p [u16]> {
    match source {
        Source::Sorted { sorted: Sorted::Listed(sorted), parts, is_exact: true, .. } => sorted.listed(parts),
        _ => None,
    }
}

/// Keeps those of some rows that are among those of a source, or with `negated` the others.
pub(super) fn retain(source: &Source<'_>, negated: bool, rows: &mut Vec<u16>) {
    // The misses of the cache of all rows then overlap.
    rows.iter().for_each(|row| prefetch(source, usize::from(*row)));
    // A loop of its own for what rows are asked most.
    match source {
        Source::Sorted {
            column: Column { layout: Layout::Single(present), data: Data::Ordered { values, .. }, .. },
            ranges: [(low, high)],
            ..
        } => {
            let range = *low..=*high;
            let passes = |row: usize| values.get(row).is_some_and(|value| range.contains(&value));
            return kernels::retain(rows, |row| (passes(row) && present.contains(row)) != negated);
        }
        Source::AnyPosting(
            Column { layout: Layout::Single(present), data: Data::Strings { codes, .. }, .. },
            _,
            wanted,
        ) => {
            let passes = |row: usize| {
                u32::try_from(codes.get(row)).is_ok_and(|code| wanted.binary_search(&code).is_ok())
            };
            return kernels::retain(rows, |row| (passes(row) && present.contains(row)) != negated);
        }
        _ => {}
    }
    kernels::retain(rows, |row| passes(source, row) != negated);
}

/// Has the processor fetch what the bits of a source are made of.
pub(super) fn announce(source: &Source<'_>) {
    match source {
        Source::Sorted { sorted: Sorted::Listed(sorted), parts, .. } => {
            for (before, list) in parts.iter().flat_map(|part| sorted.pieces(part.clone())) {
                if let Before::Words(words) = before {
                    kernels::announce(words);
                }
                kernels::announce(list);
            }
        }
        Source::Scan(Column { data: Data::Strings { codes: Codes::U8(codes), .. }, .. }, _) => {
            kernels::announce(codes);
        }
        _ => {}
    }
}

/// Has the processor fetch the value by which [`passes`] tells of a row.
#[inline]
pub(super) fn prefetch(source: &Source<'_>, row: usize) {
    let column = match source {
        Source::AnyPosting(column, ..)
        | Source::EachPosting(column, ..)
        | Source::Sorted { column, .. }
        | Source::Scan(column, _) => column,
        Source::Kept(words) => return kernels::prefetch(words, row / LANES),
        Source::Dense(each) => return each.iter().for_each(|words| kernels::prefetch(words, row / LANES)),
        Source::Asked(_) | Source::Present(_) | Source::Listed(_) => return,
    };
    prefetch_values(column, row);
}

/// Has the processor fetch the values of a row, or where they stand.
#[inline]
pub(super) fn prefetch_values(column: &Column, row: usize) {
    if let Layout::Single(Selection::Bitmap(present)) = &column.layout {
        kernels::prefetch(present.words(), row / LANES);
    }
    match (&column.layout, &column.data) {
        (Layout::Many(ends), _) => kernels::prefetch(ends, row),
        (_, Data::Strings { codes, .. }) => prefetch_code(codes, row),
        (_, Data::Ordered { values: Ordinals::Wide(values), .. }) => kernels::prefetch(values, row),
        (_, Data::Ordered { values: Ordinals::Steps { steps, .. }, .. }) => kernels::prefetch(steps, row),
        (_, Data::Booleans { .. }) => {}
    }
}

/// Has the processor fetch one of many codes.
#[inline]
pub(super) fn prefetch_code(codes: &Codes, at: usize) {
    match codes {
        Codes::U8(codes) => kernels::prefetch(codes, at),
        Codes::U16(codes) => kernels::prefetch(codes, at),
        Codes::U32(codes) => kernels::prefetch(codes, at),
    }
}

/// Writes the bits of a part of sorted rows; those behind the last row mean nothing.
fn write_part(sorted: &SortedRows, part: Range<usize>, words: &mut [u64]) {
    let [(until, list), (from, other)] = sorted.pieces(part);
    match (until, from) {
        (Before::Words(until), Before::NoRow) => {
            words.iter_mut().zip(until).for_each(|(word, until)| *word = *until);
        }
        (Before::Words(until), Before::Words(from)) => {
            kernels::combine_into(Combine::AndNot, words, until, from);
        }
        (Before::EveryRow, Before::Words(from)) => {
            words.iter_mut().zip(from).for_each(|(word, from)| *word = !from);
        }
        (Before::EveryRow, Before::NoRow) => words.fill(u64::MAX),
        (Before::NoRow, _) | (_, Before::EveryRow) => words.fill(0),
    }
    flip_rows(words, list);
    flip_rows(words, other);
}

/// How many of `rows` rows are among those of a source and have their bit set, where that is known without making the bits of
/// a batch.
pub(super) fn count_beside(source: &Source<'_>, words: &[u64], rows: usize) -> Option<usize> {
    match source {
        Source::Sorted { column, sorted, parts, is_exact, ranges } => {
            let exact = (!is_exact).then(|| parts_of(column, *sorted, ranges));
            let parts = exact.as_ref().unwrap_or(parts);
            Some(parts.iter().map(|part| count_sorted(*sorted, part.clone(), words, rows)).sum())
        }
        Source::Scan(
            Column {
                layout: Layout::Single(present),
                data: Data::Strings { codes: Codes::U8(codes), .. },
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

/// How many rows have a code in the set and their bit set.
fn count_codes(codes: &[u8], set: &[u64], present: &Selection, words: &[u64]) -> usize {
    /// Words that are made at a time: they stay in the nearest cache.
    const PIECE: usize = 256;
    let bytes = byte_set(set);
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
    let pieces = codes.chunks(PIECE.saturating_mul(LANES)).zip(words.chunks(PIECE));
    match present {
        Selection::None => 0,
        Selection::All => pieces.map(|(codes, words)| count(codes, words, None)).sum(),
        Selection::Bitmap(present) => pieces
            .zip(present.words().chunks(PIECE))
            .map(|((codes, words), present)| count(codes, words, Some(present)))
            .sum(),
    }
}

fn byte_set(set: &[u64]) -> kernels::ByteSet {
    let mut bytes = kernels::ByteSet::default();
    bytes.iter_mut().zip(set).for_each(|(byte, word)| *byte = *word);
    bytes
}

/// How many of `rows` rows are in a part of those sorted by value and have their bit set: counted in the bitmaps that are kept of
/// sorted rows, and put right by the rows beside them.
pub(super) fn count_sorted(sorted: Sorted<'_>, part: Range<usize>, words: &[u64], rows: usize) -> usize {
    let Sorted::Listed(sorted) = sorted else { return kernels::count_range(words, part) };
    let [(until, list), (from, other)] = sorted.pieces(part);
    let mut count = match (until, from) {
        // No row behind the last is in the bitmaps of sorted rows.
        (Before::Words(until), Before::Words(from)) => kernels::count_between(words, until, from),
        (Before::Words(until), Before::NoRow) => kernels::count_both(words, until),
        (Before::EveryRow, Before::Words(from)) => {
            kernels::count_pair(Pair { how: Combine::AndNot, one: words, other: from }, rows)
        }
        (Before::EveryRow, Before::NoRow) => kernels::count_pair(Pair::of(words), rows),
        (Before::NoRow, _) | (_, Before::EveryRow) => 0,
    };
    for list in [list, other] {
        let Some(first) = list.first() else { continue };
        let turned = list.iter().filter(|row| has_bit(words, usize::from(**row))).count();
        // All of a list lie on the same side of where a bitmap ends: either none was counted, or all whose bit is set.
        let is_counted = until.contains(*first) && !from.contains(*first);
        count = if is_counted { count.saturating_sub(turned) } else { count.saturating_add(turned) };
    }
    count
}

/// Writes the bits of those of `rows` rows that are among those of a source over what the words held.
pub(super) fn write(source: &Source<'_>, rows: usize, words: &mut [u64]) {
    match source {
        Source::Asked(bits) => {
            words.fill(0);
            if let Some(first) = words.first_mut() {
                *first = *bits;
            }
        }
        Source::Present(column) => write_passing(column, &ValueTest::Present, words),
        Source::Sorted { column, sorted: all @ Sorted::Listed(sorted), parts, is_exact, ranges } => {
            let exact = (!is_exact).then(|| parts_of(column, *all, ranges));
            let parts = exact.as_ref().unwrap_or(parts);
            match parts.as_slice() {
                [part] => write_part(sorted, part.clone(), words),
                parts => {
                    words.fill(0);
                    let mut more = vec![0; words.len()];
                    for part in parts {
                        write_part(sorted, part.clone(), &mut more);
                        kernels::combine(Combine::Or, words, &more);
                    }
                }
            }
        }
        Source::Scan(column, tests) => {
            for (number, test) in tests.iter().enumerate() {
                if number == 0 {
                    write_passing(column, test, words);
                } else {
                    let mut more = vec![0; words.len()];
                    write_passing(column, test, &mut more);
                    kernels::combine(Combine::And, words, &more);
                }
            }
        }
        other => {
            words.fill(0);
            for (word, first) in words.iter_mut().zip((0..rows).step_by(LANES)) {
                let lanes = first..rows.min(first.saturating_add(LANES));
                *word = lanes.rev().fold(0, |word, row| word << 1 | u64::from(passes(other, row)));
            }
        }
    }
}

/// Writes the bits of the rows that have a value which passes the test, by reading the column.
fn write_passing(column: &Column, test: &ValueTest<'_>, words: &mut [u64]) {
    words.fill(0);
    match &column.layout {
        Layout::Single(present) => {
            write_values(&column.data, test, words);
            match present {
                Selection::All => {}
                Selection::None => words.fill(0),
                Selection::Bitmap(present) => {
                    kernels::combine(kernels::Combine::And, words, present.words());
                }
            }
        }
        Layout::Many(ends) => match test {
            ValueTest::Present => kernels::non_empty(ends, words),
            _ => {
                let mut values = vec![0; column.values_len().div_ceil(LANES)];
                write_values(&column.data, test, &mut values);
                kernels::any_of_row(&values, ends, words);
            }
        },
    }
}

/// Up to this many ranges, one pass for each is faster than a search for each value.
const FEW_RANGES: usize = 4;

/// A bit for each value, of meaning only where the row is present; the words must be zero.
fn write_values(data: &Data, test: &ValueTest<'_>, words: &mut [u64]) {
    match (data, test) {
        (_, ValueTest::Present) => words.fill(u64::MAX),
        (Data::Strings { codes, .. }, ValueTest::Code(code)) => match codes {
            // A code that does not fit the width of the column's codes is none of them.
            Codes::U8(codes) => {
                if let Ok(code) = u8::try_from(*code) {
                    kernels::equal(codes, code, words);
                }
            }
            Codes::U16(codes) => {
                if let Ok(code) = u16::try_from(*code) {
                    kernels::equal(codes, code, words);
                }
            }
            Codes::U32(codes) => kernels::equal(codes, *code, words),
        },
        (Data::Strings { codes, .. }, ValueTest::Codes(set)) => match codes {
            Codes::U8(codes) => kernels::in_byte_set(codes, &byte_set(set), words),
            Codes::U16(codes) => kernels::in_set(codes, set, words),
            Codes::U32(codes) => kernels::in_set(codes, set, words),
        },
        (Data::Ordered { values, .. }, ValueTest::Ranges(ranges)) => {
            let values = values.to_wide();
            if ranges.len() <= FEW_RANGES {
                ranges.iter().for_each(|(low, high)| kernels::in_range(&values, *low, *high, words));
            } else {
                kernels::in_ranges(&values, ranges, words);
            }
        }
        (Data::Booleans { values, .. }, ValueTest::Boolean(wanted)) => {
            for (word, bits) in words.iter_mut().zip(values.words()) {
                *word = if *wanted { *bits } else { !*bits };
            }
        }
        _ => debug_assert!(false, "a test of the column's type"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Bitmap;

    #[test]
    fn codes_are_counted_beside_bits_in_every_piece() {
        for rows in [1_usize, 64, 16_383, 16_384, 16_385, 40_000] {
            let codes: Vec<u8> = (0..rows).map(|row| (row * 7919 % 200) as u8).collect();
            // Bits behind the last row mean nothing.
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
    fn sorted_rows_are_counted_beside_bits_whatever_lies_between_the_fences() {
        for (rows, every) in [(9_000_usize, 1_usize), (9_000, 2), (2_048, 1), (700, 3)] {
            let order: Vec<u16> = (0..rows).map(|row| row * 4_001 % rows).map(|row| row as u16).collect();
            let order: Vec<u16> = order.into_iter().filter(|row| usize::from(*row) % every == 0).collect();
            let sorted = SortedRows::new(order.clone(), rows, |row| row as i64);
            // Bits behind the last row mean nothing.
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
