//! Computes the indexes of a column from its values: postings, sorted rows, zone maps, and the rows of `false` and of `true`.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "fewer than 2^32 strings in a batch, and every index that the layout has is that of a value"
)]

use std::ops::RangeInclusive;

use super::dictionary::{Codes, Dictionary, span};
use super::ordinals::Ordinals;
use super::postings::Postings;
use super::radix::sort_from_bit;
use super::sealed::{ColumnData, ColumnLayout};
use super::search_index::{FEWEST_STRINGS, SearchIndex};
use super::sorted_rows::SortedRows;
use crate::rows::{Bitmap, LANES, MAX_ROWS, Selection};
use crate::value::{OrderedType, OrdinalRange};

/// Creates the data of a string column.
pub(super) fn strings(
    rows: usize,
    is_searchable: bool,
    layout: &ColumnLayout,
    dictionary: Dictionary,
    codes: Codes,
) -> ColumnData {
    let wanted = are_postings_wanted(rows, codes.len(), dictionary.len());
    let postings = wanted.then(|| postings(rows, layout, &dictionary, &codes));
    let is_indexed = is_searchable && dictionary.len() >= FEWEST_STRINGS;
    let search = is_indexed.then(|| search(rows, layout, &dictionary, &codes, postings.is_some()));
    ColumnData::Strings { dictionary, codes, postings, search: search.map(Box::new) }
}

/// Creates the search index of a column.
pub(super) fn search(
    rows: usize,
    layout: &ColumnLayout,
    dictionary: &Dictionary,
    codes: &Codes,
    has_postings: bool,
) -> SearchIndex {
    let row_codes = (!has_postings).then(|| row_codes(rows, layout, dictionary.len(), codes));
    SearchIndex::new(dictionary, row_codes)
}

/// Returns the pairs of a row and one of its codes, without repetitions, in ascending order of rows.
fn row_codes(rows: usize, layout: &ColumnLayout, distinct: usize, codes: &Codes) -> Vec<(u16, u32)> {
    // Every row number of a batch fits 16 bits, and every code 32 bits.
    let pair = |row: usize, at: usize| Some((u16::try_from(row).ok()?, u32::try_from(codes.get(at)).ok()?));
    match layout {
        ColumnLayout::Single(present) => {
            let mut pairs = Vec::with_capacity(rows);
            pairs.extend(present.iter(rows).filter_map(|row| pair(row, row)));
            pairs
        }
        ColumnLayout::Many(ends) => {
            let mut last_rows = vec![usize::MAX; distinct];
            let mut pairs = Vec::with_capacity(codes.len());
            for row in 0..rows {
                for at in span(ends, row) {
                    if std::mem::replace(&mut last_rows[codes.get(at)], row) != row {
                        pairs.extend(pair(row, at));
                    }
                }
            }
            pairs
        }
    }
}

/// Creates the data of a column of the ordered type `kind`. `order` is passed on to [`sorted`]; if it is `None`, this function
/// sorts all rows that have a value.
pub(super) fn ordered(
    kind: OrderedType,
    values: Vec<i64>,
    layout: &ColumnLayout,
    order: Option<Vec<u16>>,
) -> ColumnData {
    let zone = zone(&values, layout);
    let sorted = match (order, zone) {
        (None, Some((low, high))) => sorted_from(&values, layout, low..=high),
        (order, _) => sorted(&values, layout, order.unwrap_or_default()),
    };
    ColumnData::Ordered { kind, values: ordinals(values, layout, zone), zone, sorted }
}

/// Encodes the values of a column in the narrowest form. `zone` is the smallest and the greatest value.
pub(super) fn ordinals(values: Vec<i64>, layout: &ColumnLayout, zone: Option<OrdinalRange>) -> Ordinals {
    Ordinals::new(values, zone.map(|(least, _)| least), |at| counts(layout, at))
}

/// Creates the data of a boolean column.
pub(super) fn booleans(rows: usize, layout: &ColumnLayout, values: &[bool]) -> ColumnData {
    let values = pack(values);
    let holders = Box::new(holders(rows, layout, &values));
    ColumnData::Booleans { values, holders }
}

/// Calls `take` with the index of each value and the value itself. Skips fillers.
#[inline(always)]
fn each_value<S>(values: &[S], layout: &ColumnLayout, mut take: impl FnMut(usize, &S)) {
    match layout {
        ColumnLayout::Single(Selection::All) | ColumnLayout::Many(_) => {
            values.iter().enumerate().for_each(|(at, value)| take(at, value));
        }
        ColumnLayout::Single(present) => present.iter(values.len()).for_each(|at| take(at, &values[at])),
    }
}

/// Returns true if the value at index `at` is a value of a row, and not a filler.
fn counts(layout: &ColumnLayout, at: usize) -> bool {
    match layout {
        ColumnLayout::Single(present) => present.contains(at),
        ColumnLayout::Many(_) => true,
    }
}

/// The minimum average number of rows per distinct string for which a column gets postings.
///
/// With fewer rows per string, scanning the codes is nearly as fast as using postings, and postings take more memory than the
/// codes.
const ROWS_PER_STRING: usize = 16;
/// A column with at most this number of distinct strings always gets postings, even if it has few rows.
const FEW_STRINGS: usize = 64;
/// A full batch with more distinct strings than this gets no postings, because it has fewer than [`ROWS_PER_STRING`] rows per
/// string.
const MOST_STRINGS: usize = MAX_ROWS / ROWS_PER_STRING;

/// Returns true if a column with these numbers of rows, values and distinct strings gets postings.
///
/// If each string occurs at least twice on average, a column with up to [`MOST_STRINGS`] strings gets postings, even in a small
/// batch. The reason: if one batch has no postings for a field, the index over all batches drops the field.
pub(super) fn are_postings_wanted(rows: usize, values: usize, strings: usize) -> bool {
    let are_few = strings <= FEW_STRINGS || strings * ROWS_PER_STRING <= rows;
    are_few || (strings <= MOST_STRINGS && strings * 2 <= values)
}

/// Creates the postings of a column.
pub(super) fn postings(
    rows: usize,
    layout: &ColumnLayout,
    dictionary: &Dictionary,
    codes: &Codes,
) -> Postings {
    match (codes, layout) {
        (Codes::U8(codes), ColumnLayout::Single(present)) if codes.len() == rows => {
            Postings::of_bytes(dictionary.len(), codes, present)
        }
        _ => plain_postings(rows, layout, dictionary, codes),
    }
}

/// Creates the postings of a column row by row. Supports every layout and every width of the codes.
pub(super) fn plain_postings(
    rows: usize,
    layout: &ColumnLayout,
    dictionary: &Dictionary,
    codes: &Codes,
) -> Postings {
    let distinct = dictionary.len();
    match codes {
        Codes::U8(codes) => postings_of(rows, layout, distinct, codes, |code| u32::from(*code)),
        Codes::U16(codes) => postings_of(rows, layout, distinct, codes, |code| u32::from(*code)),
        Codes::U32(codes) => postings_of(rows, layout, distinct, codes, |code| *code),
    }
}

/// Creates postings. Each combination of layout and code width has a loop of its own. Opening a store spends most of its time in
/// these loops.
fn postings_of<C>(
    rows: usize,
    layout: &ColumnLayout,
    distinct: usize,
    codes: &[C],
    code: impl Fn(&C) -> u32 + Copy,
) -> Postings {
    match layout {
        ColumnLayout::Single(Selection::None) => Postings::new(rows, distinct, std::iter::empty),
        ColumnLayout::Single(Selection::All) => {
            Postings::new(rows, distinct, || (0_u32..).zip(codes.iter().map(code)))
        }
        ColumnLayout::Single(Selection::Bitmap(present)) => Postings::new(rows, distinct, || {
            let rows = present.ones_iter();
            rows.filter_map(|row| Some((u32::try_from(row).ok()?, code(&codes[row]))))
        }),
        ColumnLayout::Many(ends) => Postings::of_many(distinct, ends, codes, code),
    }
}

/// Returns two sets of rows: the rows that have `false` among their values, and the rows that have `true`.
pub(super) fn holders(rows: usize, layout: &ColumnLayout, values: &Bitmap) -> [Selection; 2] {
    let bitmaps = match layout {
        ColumnLayout::Single(present) => [0, u64::MAX].map(|wanted| {
            Bitmap::filled_by(rows, |words| {
                for (at, (word, values)) in words.iter_mut().zip(values.words()).enumerate() {
                    *word = !(values ^ wanted) & present.word(at);
                }
            })
        }),
        ColumnLayout::Many(ends) => [false, true].map(|wanted| {
            let mut start = 0;
            let has_it = ends.iter().map(|end| {
                let end = *end as usize;
                (std::mem::replace(&mut start, end)..end).any(|at| values.get(at) == wanted)
            });
            pack(&has_it.collect::<Vec<bool>>())
        }),
    };
    bitmaps.map(Selection::from_bitmap)
}

/// Returns the rows of a single-valued column that have a value, sorted by value and then by row. Returns `None` if the column is
/// multi-valued, or if no row has a value. Also returns `None` if every row has a value and the rows are already in this order.
///
/// `order` contains the rows with a value. The sort is fast if `order` consists of few sequences that are already sorted by value.
fn sorted(values: &[i64], layout: &ColumnLayout, order: Vec<u16>) -> Option<SortedRows> {
    if let ColumnLayout::Many(_) = layout {
        return None;
    }
    // Each row is stored next to its value, so that a comparison does not need to look up the value.
    let mut keyed: Vec<(i64, u16)> = order.into_iter().map(|row| (values[usize::from(row)], row)).collect();
    // The standard sort finds ascending sequences and merges them.
    keyed.sort();
    sorted_rows(values, keyed.into_iter().map(|(_, row)| row).collect())
}

/// Computes the same [sorted rows](sorted) for `values` in any order. All values except fillers must be in `range`.
fn sorted_from(values: &[i64], layout: &ColumnLayout, range: RangeInclusive<i64>) -> Option<SortedRows> {
    if let ColumnLayout::Many(_) = layout {
        return None;
    }
    let (low, high) = range.into_inner();
    // The lowest bits of a word contain the row. The other bits contain the distance of the value from the smallest value. If the
    // distance is too long, its lowest bits are left out.
    let distance = |ordinal: i64| ordinal.wrapping_sub(low).cast_unsigned();
    let shift = ROW_BITS.saturating_sub(distance(high).leading_zeros());
    let mut words: Vec<u64> = Vec::with_capacity(values.len());
    each_value(values, layout, |row, value| {
        // Every row number of a batch fits 16 bits.
        words.extend(u16::try_from(row).map(|row| distance(*value) >> shift << ROW_BITS | u64::from(row)));
    });
    sort_from_bit(&mut words, ROW_BITS);
    #[expect(clippy::cast_possible_truncation, reason = "the row is the lowest bits")]
    let row_of = |word: &u64| *word as u16;
    if shift > 0 {
        for run in words.chunk_by_mut(|a, b| a >> ROW_BITS == b >> ROW_BITS).filter(|run| run.len() > 1) {
            run.sort_unstable_by_key(|word| {
                let row = row_of(word);
                (values[usize::from(row)], row)
            });
        }
    }
    sorted_rows(values, words.iter().map(row_of).collect())
}

/// Creates sorted rows from rows in order of value. Returns `None` if there are no values, or if every row has a value and the rows
/// are already stored in this order.
fn sorted_rows(values: &[i64], rows: Vec<u16>) -> Option<SortedRows> {
    let is_stored_so = rows.len() == values.len() && rows.is_sorted();
    (!is_stored_so).then(|| SortedRows::new(rows, values.len(), |row| values[row]))
}

/// The number of bits of a row number.
const ROW_BITS: u32 = u16::BITS;

/// Converts booleans to a bitmap.
pub(super) fn pack(bits: &[bool]) -> Bitmap {
    Bitmap::filled_by(bits.len(), |words| {
        for (word, bits) in words.iter_mut().zip(bits.chunks(LANES)) {
            *word = bits.iter().rev().fold(0, |word, bit| word << 1 | u64::from(*bit));
        }
    })
}

/// Returns the smallest and the greatest value. Returns `None` if there are no values.
fn zone(values: &[i64], layout: &ColumnLayout) -> Option<OrdinalRange> {
    let mut zone = None;
    each_value(values, layout, |_, value| {
        zone = Some(match zone {
            None => (*value, *value),
            Some((low, high)) => ((*value).min(low), (*value).max(high)),
        });
    });
    zone
}
