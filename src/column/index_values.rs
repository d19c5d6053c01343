//! From the values of a column to the indexes that it keeps: postings, sorted rows, zone maps and the rows of booleans.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "fewer than 2^32 strings in a batch, and a place that the layout names is that of a value"
)]

use std::ops::RangeInclusive;

use super::dictionary::{Codes, Dictionary};
use super::ordinals::Ordinals;
use super::postings::Postings;
use super::radix::sort_from_bit;
use super::sealed::{ColumnData, ColumnLayout};
use super::sorted_rows::SortedRows;
use crate::rows::{Bitmap, LANES, MAX_ROWS, Selection};
use crate::value::{OrderedType, OrdinalRange};

pub(super) fn strings(
    rows: usize,
    layout: &ColumnLayout,
    dictionary: Dictionary,
    codes: Codes,
) -> ColumnData {
    let wanted = are_postings_wanted(rows, codes.len(), dictionary.len());
    let postings = wanted.then(|| postings(rows, layout, &dictionary, &codes));
    ColumnData::Strings { dictionary, codes, postings }
}

/// `order` is that of [`sorted`], where it is known.
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

/// The values of a column, whose least and greatest are those of the zone, in the narrowest form.
pub(super) fn ordinals(values: Vec<i64>, layout: &ColumnLayout, zone: Option<OrdinalRange>) -> Ordinals {
    Ordinals::new(values, zone.map(|(least, _)| least), |at| counts(layout, at))
}

pub(super) fn booleans(rows: usize, layout: &ColumnLayout, values: &[bool]) -> ColumnData {
    let values = pack(values);
    let holders = Box::new(holders(rows, layout, &values));
    ColumnData::Booleans { values, holders }
}

/// Hands over each value with its place, but for those that only fill one.
#[inline(always)]
fn each_value<S>(values: &[S], layout: &ColumnLayout, mut take: impl FnMut(usize, &S)) {
    match layout {
        ColumnLayout::Single(Selection::All) | ColumnLayout::Many(_) => {
            values.iter().enumerate().for_each(|(at, value)| take(at, value));
        }
        ColumnLayout::Single(present) => present.iter(values.len()).for_each(|at| take(at, &values[at])),
    }
}

/// True when the value at a place is that of a row, and no filler.
fn counts(layout: &ColumnLayout, at: usize) -> bool {
    match layout {
        ColumnLayout::Single(present) => present.contains(at),
        ColumnLayout::Many(_) => true,
    }
}

/// A column with fewer rows than this for each of its strings gets no postings; a scan of its codes
/// costs little more than finding the few rows of one, and the postings would cost more than the codes.
const ROWS_PER_STRING: usize = 16;
/// A column with so few strings gets postings however few its rows are.
const FEW_STRINGS: usize = 64;
/// The most strings of a full batch that have postings.
const MOST_STRINGS: usize = MAX_ROWS / ROWS_PER_STRING;

/// True when a column of `values` values is to have postings.
///
/// A small batch has them for as many strings as a full one would, unless most of its strings occur once: the index over all
/// batches drops a field if one batch has no postings.
pub(super) fn are_postings_wanted(rows: usize, values: usize, strings: usize) -> bool {
    let are_few = strings <= FEW_STRINGS || strings * ROWS_PER_STRING <= rows;
    are_few || (strings <= MOST_STRINGS && strings * 2 <= values)
}

/// The postings of a column.
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

/// Returns the [postings](postings) of a column, made row by row.
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

/// A loop of its own for each layout and width: opening a store spends most of its time here.
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

/// The rows that have `false` among their values, and those that have `true`.
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

/// The rows of a single-valued column that have a value, ascending by it, then by row; `None` when all
/// have one and are stored so.
///
/// `order` has those rows in a few ascending runs.
fn sorted(values: &[i64], layout: &ColumnLayout, order: Vec<u16>) -> Option<SortedRows> {
    if let ColumnLayout::Many(_) = layout {
        return None;
    }
    // Values beside their rows: comparing them then looks nothing up.
    let mut keyed: Vec<(i64, u16)> = order.into_iter().map(|row| (values[usize::from(row)], row)).collect();
    // This sort merges runs that it finds.
    keyed.sort();
    sorted_rows(values, keyed.into_iter().map(|(_, row)| row).collect())
}

/// Returns the [sorted rows](sorted) of values in any order, all of them in `range`.
fn sorted_from(values: &[i64], layout: &ColumnLayout, range: RangeInclusive<i64>) -> Option<SortedRows> {
    if let ColumnLayout::Many(_) = layout {
        return None;
    }
    let (low, high) = range.into_inner();
    // A word has the distance from the least value and, in its lowest bits, the row. It has no room for the lowest bits of long
    // distances.
    let distance = |ordinal: i64| ordinal.wrapping_sub(low).cast_unsigned();
    let shift = ROW_BITS.saturating_sub(distance(high).leading_zeros());
    let mut words: Vec<u64> = Vec::with_capacity(values.len());
    each_value(values, layout, |row, value| {
        // A batch has no more rows than that.
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

/// Makes sorted rows of rows in order, unless all are stored so.
fn sorted_rows(values: &[i64], rows: Vec<u16>) -> Option<SortedRows> {
    let is_stored_so = rows.len() == values.len() && rows.is_sorted();
    (!is_stored_so).then(|| SortedRows::new(rows, values.len(), |row| values[row]))
}

/// Bits of a row's number.
const ROW_BITS: u32 = u16::BITS;

pub(super) fn pack(bits: &[bool]) -> Bitmap {
    Bitmap::filled_by(bits.len(), |words| {
        for (word, bits) in words.iter_mut().zip(bits.chunks(LANES)) {
            *word = bits.iter().rev().fold(0, |word, bit| word << 1 | u64::from(*bit));
        }
    })
}

/// The least and greatest of the values.
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
