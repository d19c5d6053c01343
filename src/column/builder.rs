//! Columns being filled, a row at a time.

use std::borrow::Cow;
use std::mem::take;
use std::ops::RangeInclusive;

use super::interner::DictionaryBuilder;
use super::{
    Bitmap, Codes, Column, Data, Dictionary, LANES, Layout, Ordinals, Postings, Selection, SortedRows,
    set_rows, sort_from_bit,
};
use crate::catalog::{Field, FieldType};
use crate::value::{OrderedType, OrdinalRange, Value};

/// A column to which values are added, row by row.
///
/// Rows without a value cost nothing, but for room that was asked for.
pub(crate) struct ColumnBuilder {
    many: bool,
    /// The row of each value, ascending. It is noted with every one, since a branch for rows without any would not be foreseen.
    rows: Vec<u16>,
    values: Values,
}

enum Values {
    Strings { dictionary: DictionaryBuilder, codes: Vec<u32> },
    Ordered(OrderedType, Vec<i64>),
    Booleans(Vec<bool>),
}

impl Values {
    fn new(kind: FieldType, rows: usize) -> Self {
        match kind {
            FieldType::String => Self::Strings {
                dictionary: DictionaryBuilder::expecting(rows),
                codes: Vec::with_capacity(rows),
            },
            FieldType::Number => Self::Ordered(OrderedType::Number, Vec::with_capacity(rows)),
            FieldType::Timestamp => Self::Ordered(OrderedType::Timestamp, Vec::with_capacity(rows)),
            FieldType::Boolean => Self::Booleans(Vec::with_capacity(rows)),
        }
    }

    /// Makes room for so many values in all.
    fn reserve(&mut self, len: usize) {
        match self {
            Self::Strings { dictionary, codes } => {
                dictionary.reserve(len);
                codes.reserve(len.saturating_sub(codes.len()));
            }
            Self::Ordered(_, values) => values.reserve(len.saturating_sub(values.len())),
            Self::Booleans(values) => values.reserve(len.saturating_sub(values.len())),
        }
    }

    /// Adds a value; false when it is of another type, which a row of this catalogue never holds.
    #[inline(always)]
    fn push(&mut self, value: &Value<'_>) -> bool {
        match (value, self) {
            (Value::String(text), Self::Strings { dictionary, codes }) => codes.push(dictionary.code(text)),
            (Value::Number(number), Self::Ordered(OrderedType::Number, values)) => {
                values.push(number.ordinal());
            }
            (Value::Timestamp(instant), Self::Ordered(OrderedType::Timestamp, values)) => {
                values.push(instant.as_millis());
            }
            (Value::Boolean(boolean), Self::Booleans(values)) => values.push(*boolean),
            _ => {
                debug_assert!(false, "a value of its field's type");
                return false;
            }
        }
        true
    }
}

impl ColumnBuilder {
    /// With room for so many rows.
    pub(crate) fn new(field: &Field, rows: usize) -> Self {
        Self {
            many: field.is_many(),
            rows: Vec::with_capacity(rows),
            values: Values::new(field.kind(), rows),
        }
    }

    /// Whether any row has a value so far.
    pub(crate) fn has_values(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Makes room for so many rows in all, each with a value or more.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows.saturating_sub(self.rows.len()));
        self.values.reserve(rows);
    }

    /// Adds a value of a row, none of a later row being there; a second one of a field with one value
    /// counts for nothing.
    // A call would save and restore more registers than pushing most values uses.
    #[inline(always)]
    pub(crate) fn push(&mut self, row: usize, value: &Value<'_>) {
        let row = u16::try_from(row).unwrap_or(u16::MAX);
        if self.rows.last() == Some(&row) && !self.many {
            return;
        }
        if self.values.push(value) {
            self.rows.push(row);
        }
    }

    /// The string of a row that was added, of a string column each row of which has just one.
    pub(crate) fn string(&self, row: usize) -> Option<&str> {
        match &self.values {
            Values::Strings { dictionary, codes } => codes.get(row).map(|code| dictionary.get(*code)),
            _ => None,
        }
    }

    /// The column of so many rows; the builder is empty afterwards, and keeps what memory the column does not need.
    pub(crate) fn seal(&mut self, rows: usize) -> Column {
        let layout = if self.rows.is_empty() {
            Layout::Single(Selection::None)
        } else if self.many {
            Layout::many(ends(rows, &self.rows))
        } else if self.rows.len() == rows {
            Layout::Single(Selection::All)
        } else {
            let present = Bitmap::filled_by(rows, |words| set_rows(words, &self.rows));
            Layout::Single(Selection::from_bitmap(present))
        };
        // Rows without a value keep the place of one.
        let apart = match &layout {
            Layout::Single(Selection::Bitmap(_)) => Some(self.rows.as_slice()),
            _ => None,
        };
        let data = match &mut self.values {
            Values::Strings { dictionary, codes } => {
                let (sealed, ranks) = dictionary.seal(&placed(rows, apart, codes));
                dictionary.clear();
                codes.clear();
                strings(rows, &layout, sealed, ranks)
            }
            Values::Ordered(kind, values) => ordered(*kind, owned(rows, apart, values), &layout, None),
            Values::Booleans(values) => {
                let data = booleans(rows, &layout, &placed(rows, apart, values));
                values.clear();
                data
            }
        };
        self.rows.clear();
        Column { rows, layout, data }
    }
}

/// The offset behind the last value of each of so many rows, from the row of each value, ascending.
fn ends(rows: usize, rows_of_values: &[u16]) -> Vec<u32> {
    let mut ends = vec![0; rows];
    for (end, row) in (1..).zip(rows_of_values) {
        if let Some(slot) = ends.get_mut(usize::from(*row)) {
            *slot = end;
        }
    }
    // A row without values ends where the one before it does.
    let mut last = 0;
    for end in &mut ends {
        last = last.max(*end);
        *end = last;
    }
    ends
}

/// The values, each at the place of its row where these are given.
fn placed<'v, S: Copy + Default>(rows: usize, places: Option<&[u16]>, values: &'v [S]) -> Cow<'v, [S]> {
    let Some(places) = places else { return Cow::Borrowed(values) };
    let mut placed = vec![S::default(); rows];
    for (row, value) in places.iter().zip(values) {
        if let Some(slot) = placed.get_mut(usize::from(*row)) {
            *slot = *value;
        }
    }
    Cow::Owned(placed)
}

/// As [`placed`]; of the values none is left.
fn owned<S: Copy + Default>(rows: usize, places: Option<&[u16]>, values: &mut Vec<S>) -> Vec<S> {
    match placed(rows, places, values) {
        Cow::Owned(placed) => {
            values.clear();
            placed
        }
        Cow::Borrowed(_) => take(values),
    }
}

pub(super) fn strings(rows: usize, layout: &Layout, dictionary: Dictionary, codes: Codes) -> Data {
    let wanted = are_postings_wanted(rows, codes.len(), dictionary.len());
    let postings = wanted.then(|| postings(rows, layout, &dictionary, &codes));
    Data::Strings { dictionary, codes, postings }
}

/// `order` is that of [`sorted`], where it is known.
pub(super) fn ordered(kind: OrderedType, values: Vec<i64>, layout: &Layout, order: Option<Vec<u16>>) -> Data {
    let zone = zone(&values, layout);
    let sorted = match (order, zone) {
        (None, Some((low, high))) => sorted_from(&values, layout, low..=high),
        (order, _) => sorted(&values, layout, order.unwrap_or_default()),
    };
    Data::Ordered { kind, values: ordinals(values, layout, zone), zone, sorted }
}

/// The values of a column, whose least and greatest are those of the zone, in the narrowest form.
pub(super) fn ordinals(values: Vec<i64>, layout: &Layout, zone: Option<OrdinalRange>) -> Ordinals {
    Ordinals::new(values, zone.map(|(least, _)| least), |at| counts(layout, at))
}

pub(super) fn booleans(rows: usize, layout: &Layout, values: &[bool]) -> Data {
    let values = pack(values);
    let holders = Box::new(holders(rows, layout, &values));
    Data::Booleans { values, holders }
}

/// Hands over each value with its place, but for those that only fill one.
#[inline(always)]
fn each_value<S>(values: &[S], layout: &Layout, mut take: impl FnMut(usize, &S)) {
    match layout {
        Layout::Single(Selection::All) | Layout::Many(_) => {
            values.iter().enumerate().for_each(|(at, value)| take(at, value));
        }
        Layout::Single(present) => present.iter(values.len()).for_each(|at| {
            if let Some(value) = values.get(at) {
                take(at, value);
            }
        }),
    }
}

/// Whether there is a value at this place, not just something to fill it.
fn counts(layout: &Layout, at: usize) -> bool {
    match layout {
        Layout::Single(present) => present.contains(at),
        Layout::Many(_) => true,
    }
}

/// A column with fewer rows than this for each of its strings gets no postings; a scan of its codes
/// costs little more than finding the few rows of one, and the postings would cost more than the codes.
const ROWS_PER_STRING: usize = 16;
/// A column with so few strings gets postings however few its rows are.
const FEW_STRINGS: usize = 64;
/// So many strings have postings in a full batch at most.
const MOST_STRINGS: usize = MAX_COLUMN_ROWS / ROWS_PER_STRING;
const MAX_COLUMN_ROWS: usize = 1 << 16;

/// Whether a column of `values` values is to have postings.
///
/// What a full batch would have them for, a small one has them for as well, unless most of its strings
/// occur once: for one batch without them the directory gives up the field.
pub(super) fn are_postings_wanted(rows: usize, values: usize, strings: usize) -> bool {
    let are_few = strings <= FEW_STRINGS || strings.saturating_mul(ROWS_PER_STRING) <= rows;
    are_few || (strings <= MOST_STRINGS && strings.saturating_mul(2) <= values)
}

/// The postings of a column.
pub(super) fn postings(rows: usize, layout: &Layout, dictionary: &Dictionary, codes: &Codes) -> Postings {
    match (codes, layout) {
        (Codes::U8(codes), Layout::Single(present)) if codes.len() == rows => {
            Postings::of_bytes(dictionary.len(), codes, present)
        }
        _ => plain_postings(rows, layout, dictionary, codes),
    }
}

/// As [`postings`], row by row.
pub(super) fn plain_postings(
    rows: usize,
    layout: &Layout,
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
    layout: &Layout,
    distinct: usize,
    codes: &[C],
    code: impl Fn(&C) -> u32 + Copy,
) -> Postings {
    match layout {
        Layout::Single(Selection::None) => Postings::new(rows, distinct, std::iter::empty),
        Layout::Single(Selection::All) => {
            Postings::new(rows, distinct, || (0_u32..).zip(codes.iter().map(code)))
        }
        Layout::Single(Selection::Bitmap(present)) => Postings::new(rows, distinct, || {
            let rows = present.ones_iter();
            rows.filter_map(|row| Some((u32::try_from(row).ok()?, code(codes.get(row)?))))
        }),
        Layout::Many(ends) => Postings::of_many(distinct, ends, codes, code),
    }
}

/// The rows that have `false` among their values, and those that have `true`.
pub(super) fn holders(rows: usize, layout: &Layout, values: &Bitmap) -> [Selection; 2] {
    let bitmaps = match layout {
        Layout::Single(present) => [0, u64::MAX].map(|wanted| {
            Bitmap::filled_by(rows, |words| {
                for (at, (word, values)) in words.iter_mut().zip(values.words()).enumerate() {
                    *word = !(values ^ wanted) & present.word(at);
                }
            })
        }),
        Layout::Many(ends) => [false, true].map(|wanted| {
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
/// `order` has those rows in a few ascending runs, one behind the other.
fn sorted(values: &[i64], layout: &Layout, order: Vec<u16>) -> Option<SortedRows> {
    if let Layout::Many(_) = layout {
        return None;
    }
    // Values beside their rows: comparing them then looks nothing up.
    let keyed = order.into_iter().filter_map(|row| Some((*values.get(usize::from(row))?, row)));
    let mut keyed: Vec<(i64, u16)> = keyed.collect();
    // This sort merges runs that it finds.
    keyed.sort();
    sorted_rows(values, keyed.into_iter().map(|(_, row)| row).collect())
}

/// As [`sorted`], of values in any order that lie in `range`.
fn sorted_from(values: &[i64], layout: &Layout, range: RangeInclusive<i64>) -> Option<SortedRows> {
    if let Layout::Many(_) = layout {
        return None;
    }
    let (low, high) = range.into_inner();
    // The distance from the least value and the row behind it are one word; of long distances the
    // lowest bits have no room in it.
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
                (values.get(usize::from(row)), row)
            });
        }
    }
    sorted_rows(values, words.iter().map(row_of).collect())
}

/// Of these rows, in order, of a column of these values.
fn sorted_rows(values: &[i64], rows: Vec<u16>) -> Option<SortedRows> {
    let is_stored_so = rows.len() == values.len() && rows.is_sorted();
    (!is_stored_so).then(|| SortedRows::new(rows, values.len(), |row| values.get(row).copied().unwrap_or(0)))
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
fn zone(values: &[i64], layout: &Layout) -> Option<OrdinalRange> {
    let mut zone = None;
    each_value(values, layout, |_, value| {
        zone = Some(match zone {
            None => (*value, *value),
            Some((low, high)) => ((*value).min(low), (*value).max(high)),
        });
    });
    zone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Timestamp;

    #[test]
    fn rows_without_a_value_are_told_from_those_with_one() {
        let field = Field::new("f", FieldType::Timestamp);
        // Rows with a value: none, all, and those at which something may go wrong.
        let shapes: [(usize, &dyn Fn(usize) -> bool); 9] = [
            (300, &|_| false),
            (300, &|_| true),
            (300, &|row| row == 0),
            (300, &|row| row == 299),
            (300, &|row| row % 64 == 63),
            (300, &|row| row % 64 == 0),
            (300, &|row| !(60..200).contains(&row)),
            (256, &|row| row % 3 != 0),
            (1, &|_| true),
        ];
        for (number, (rows, has_value)) in shapes.into_iter().enumerate() {
            let mut builder = ColumnBuilder::new(&field, 0);
            // A builder is used again after sealing.
            for _ in 0..2 {
                for row in (0..rows).filter(|row| has_value(*row)) {
                    let value = |millis| Value::Timestamp(Timestamp::from_millis(millis));
                    builder.push(row, &value(row as i64));
                    builder.push(row, &value(-1));
                }
                let column = builder.seal(rows);
                assert_eq!(column.validate(), Ok(()), "{number}");
                for row in 0..rows {
                    let expected = has_value(row).then_some(row as i64);
                    let values: Vec<Value<'_>> = column.values(row).collect();
                    let own = expected.map(|millis| Value::Timestamp(Timestamp::from_millis(millis)));
                    assert_eq!(values, own.into_iter().collect::<Vec<_>>(), "{number}, row {row}");
                }
                let is_bitmap = matches!(column.layout, Layout::Single(Selection::Bitmap(_)));
                assert_eq!(is_bitmap, number > 1 && rows > 1, "{number}");
            }
        }
    }

    #[test]
    fn rows_have_any_number_of_values() {
        let catalog = crate::catalog::Catalog::cases();
        let tags = catalog.find("tags").map(|id| catalog.field(id)).unwrap();
        let texts = ["a", "b", "c", "d", "e", "f"];
        for counts in [&[0, 1, 0, 4, 5, 0, 0, 9, 2, 0][..], &[0, 3], &[3, 0], &[1], &[5], &[0, 0, 0]] {
            let mut builder = ColumnBuilder::new(tags, 0);
            // A builder is used again after sealing.
            for rows in [counts.len(), 300, 1] {
                let own =
                    |row: usize| (0..counts[row % counts.len()]).map(move |at| texts[(row + at * at) % 6]);
                for row in 0..rows {
                    own(row).for_each(|text| builder.push(row, &Value::String(Cow::Borrowed(text))));
                }
                let column = builder.seal(rows);
                assert_eq!(column.validate(), Ok(()), "{counts:?}");
                for row in 0..rows {
                    let expected = own(row).map(|text| Value::String(Cow::Borrowed(text)));
                    assert!(column.values(row).eq(expected), "{counts:?}, row {row}");
                }
                let Data::Strings { dictionary, postings: Some(postings), .. } = &column.data else {
                    assert!((0..rows).all(|row| own(row).count() == 0), "{counts:?}");
                    continue;
                };
                for (code, text) in (0_u32..).zip((0..dictionary.len()).map(|code| dictionary.get(code))) {
                    let expected: Vec<usize> = (0..rows).filter(|row| own(*row).any(|o| o == text)).collect();
                    let found = postings.get(code).rows(rows);
                    assert_eq!(found, expected, "{text} of {rows} rows, {counts:?}");
                }
            }
        }
    }
}
