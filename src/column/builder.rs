//! Columns being filled, a row at a time.

use super::dictionary::DictionaryBuilder;
use super::{Bitmap, Codes, Column, Data, Dictionary, Layout, Millis, Postings, Selection, SortedRows};
use crate::catalog::{Field, FieldType};
use crate::value::{Number, Timestamp, Value};

/// A column to which rows are added.
pub(crate) struct ColumnBuilder {
    kind: FieldType,
    many: bool,
    /// Of a single-valued field: the rows that have a value.
    present: Vec<bool>,
    /// Of a many-valued field: the offset behind the last value of each row.
    ends: Vec<u32>,
    values: Values,
}

enum Values {
    Strings { dictionary: DictionaryBuilder, codes: Vec<u32> },
    Numbers(Vec<f64>),
    Timestamps(Vec<i64>),
    Booleans(Vec<bool>),
}

impl Values {
    fn new(kind: FieldType, rows: usize) -> Self {
        match kind {
            FieldType::String => Self::Strings {
                dictionary: DictionaryBuilder::expecting(rows),
                codes: Vec::with_capacity(rows),
            },
            FieldType::Number => Self::Numbers(Vec::with_capacity(rows)),
            FieldType::Timestamp => Self::Timestamps(Vec::with_capacity(rows)),
            FieldType::Boolean => Self::Booleans(Vec::with_capacity(rows)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Strings { codes, .. } => codes.len(),
            Self::Numbers(values) => values.len(),
            Self::Timestamps(values) => values.len(),
            Self::Booleans(values) => values.len(),
        }
    }

    /// Adds a value; one of another type, which a row of this catalogue never holds, adds nothing.
    fn push(&mut self, value: &Value<'_>) {
        match (self, value) {
            (Self::Strings { dictionary, codes }, Value::String(text)) => codes.push(dictionary.code(text)),
            (Self::Numbers(values), Value::Number(number)) => values.push(number.get()),
            (Self::Timestamps(values), Value::Timestamp(timestamp)) => values.push(timestamp.as_millis()),
            (Self::Booleans(values), Value::Boolean(boolean)) => values.push(*boolean),
            _ => debug_assert!(false, "a value of its field's type"),
        }
    }

    /// Fills the place of an absent value.
    fn push_absent(&mut self) {
        match self {
            Self::Strings { codes, .. } => codes.push(0),
            Self::Numbers(values) => values.push(0.0),
            Self::Timestamps(values) => values.push(0),
            Self::Booleans(values) => values.push(false),
        }
    }
}

impl ColumnBuilder {
    /// With room for so many rows.
    pub(crate) fn new(field: &Field, rows: usize) -> Self {
        let many = field.is_many();
        Self {
            kind: field.kind(),
            many,
            present: Vec::with_capacity(if many { 0 } else { rows }),
            ends: Vec::with_capacity(if many { rows } else { 0 }),
            values: Values::new(field.kind(), rows),
        }
    }

    /// Adds a value of the row being filled; a second one of a field with one value counts for nothing.
    pub(crate) fn push(&mut self, value: &Value<'_>) {
        if self.many || self.values.len() == self.present.len() {
            self.values.push(value);
        }
    }

    /// Ends the row being filled.
    pub(crate) fn end_row(&mut self) {
        if self.many {
            self.ends.push(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        } else {
            let is_present = self.values.len() > self.present.len();
            if !is_present {
                self.values.push_absent();
            }
            self.present.push(is_present);
        }
    }

    /// The string of a row that was added, of a single-valued string column.
    pub(crate) fn string(&self, row: usize) -> Option<&str> {
        match &self.values {
            Values::Strings { dictionary, codes } => codes.get(row).map(|code| dictionary.get(*code)),
            _ => None,
        }
    }

    /// The column; the builder is as new afterwards.
    pub(crate) fn seal(&mut self) -> Column {
        let values = std::mem::replace(&mut self.values, Values::new(self.kind, 0));
        let present = std::mem::take(&mut self.present);
        let ends = std::mem::take(&mut self.ends);
        let rows = if self.many { ends.len() } else { present.len() };
        let layout = if self.many {
            Layout::Many(ends.into())
        } else {
            Layout::Single(Selection::from_bitmap(pack(&present)))
        };
        let values = match &layout {
            Layout::Single(Selection::None) => Values::new(self.kind, 0),
            _ => values,
        };
        let data = match values {
            Values::Strings { dictionary, codes } => {
                let (dictionary, codes) = dictionary.seal(&codes);
                strings(rows, &layout, dictionary, codes)
            }
            Values::Numbers(values) => numbers(values, &layout, None),
            Values::Timestamps(values) => timestamps(values, &layout, None),
            Values::Booleans(values) => booleans(rows, &layout, &values),
        };
        Column { rows, layout, data }
    }
}

pub(super) fn strings(rows: usize, layout: &Layout, dictionary: Dictionary, codes: Codes) -> Data {
    let wanted = are_postings_wanted(rows, codes.len(), dictionary.len());
    let postings = wanted.then(|| postings(rows, layout, &dictionary, &codes));
    Data::Strings { dictionary, codes, postings }
}

/// `order` is that of [`sorted`].
pub(super) fn numbers(values: Vec<f64>, layout: &Layout, order: Option<Vec<u16>>) -> Data {
    let zone = zone(&values, layout, |value| Number::new(*value));
    let sorted = sorted(&values, layout, order, |value| number_ordinal(*value));
    Data::Numbers { values: values.into(), zone, sorted }
}

/// `order` is that of [`sorted`].
pub(super) fn timestamps(values: Vec<i64>, layout: &Layout, order: Option<Vec<u16>>) -> Data {
    let zone = zone(&values, layout, |millis| Some(Timestamp::from_millis(*millis)));
    let sorted = sorted(&values, layout, order, |millis| *millis);
    Data::Timestamps { values: Millis::new(values, |at| counts(layout, at)), zone, sorted }
}

pub(super) fn booleans(rows: usize, layout: &Layout, values: &[bool]) -> Data {
    let values = pack(values);
    let holders = Box::new(holders(rows, layout, &values));
    Data::Booleans { values, holders }
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
    #[expect(clippy::cast_possible_truncation, reason = "rows and codes of a batch fit 32 bits")]
    let occurrences: Vec<(u32, u32)> = {
        let single = match layout {
            Layout::Single(present) => Some((0..codes.len()).filter(|row| present.contains(*row))),
            Layout::Many(_) => None,
        };
        let ends: &[u32] = match layout {
            Layout::Many(ends) => ends,
            Layout::Single(_) => &[],
        };
        let mut start = 0;
        let many = ends.iter().enumerate().flat_map(move |(row, end)| {
            let values = start..*end as usize;
            start = *end as usize;
            values.map(move |at| (row, at))
        });
        let pairs = single.into_iter().flatten().map(|row| (row, row)).chain(many);
        pairs.map(|(row, at)| (row as u32, codes.get(at) as u32)).collect()
    };
    Postings::new(rows, dictionary.len(), || occurrences.iter().copied())
}

/// The rows that have `false` among their values, and those that have `true`.
pub(super) fn holders(rows: usize, layout: &Layout, values: &Bitmap) -> [Selection; 2] {
    [false, true].map(|wanted| {
        let mut start = 0;
        let has_it: Vec<bool> = (0..rows)
            .map(|row| match layout {
                Layout::Single(present) => present.contains(row) && values.get(row) == wanted,
                Layout::Many(ends) => {
                    let end = ends.get(row).map_or(start, |end| *end as usize);
                    (std::mem::replace(&mut start, end)..end).any(|at| values.get(at) == wanted)
                }
            })
            .collect();
        Selection::from_bitmap(pack(&has_it))
    })
}

/// That of a finite number.
pub(super) fn number_ordinal(value: f64) -> i64 {
    Number::new(value).map_or(0, Number::ordinal)
}

/// The rows of a single-valued column that have a value, ascending by it, then by row; `None` when all
/// have one and are stored so.
///
/// `order` has those rows in a few ascending runs, one behind the other; without it they are sorted.
fn sorted<S>(
    values: &[S],
    layout: &Layout,
    order: Option<Vec<u16>>,
    ordinal: impl Fn(&S) -> i64,
) -> Option<SortedRows> {
    if let Layout::Many(_) = layout {
        return None;
    }
    // Values beside their rows: comparing them then looks nothing up.
    let mut keyed: Vec<(i64, u16)> = Vec::with_capacity(values.len());
    match order {
        None => {
            let rows = (0..=u16::MAX).zip(values).filter(|(row, _)| counts(layout, usize::from(*row)));
            keyed.extend(rows.map(|(row, value)| (ordinal(value), row)));
            if !keyed.is_sorted() {
                keyed.sort_unstable();
            }
        }
        Some(order) => {
            keyed.extend(
                order.into_iter().filter_map(|row| Some((ordinal(values.get(usize::from(row))?), row))),
            );
            // This sort merges runs that it finds.
            keyed.sort();
        }
    }
    let is_stored_so = keyed.len() == values.len() && keyed.is_sorted_by_key(|(_, row)| *row);
    (!is_stored_so).then(|| {
        let rows = keyed.into_iter().map(|(_, row)| row).collect();
        SortedRows::new(rows, values.len(), |row| values.get(row).map_or(0, &ordinal))
    })
}

pub(super) fn pack(bits: &[bool]) -> Bitmap {
    Bitmap::filled_by(bits.len(), |words| {
        for (word, bits) in words.iter_mut().zip(bits.chunks(super::LANES)) {
            *word = bits.iter().rev().fold(0, |word, bit| word << 1 | u64::from(*bit));
        }
    })
}

/// The least and greatest of the values.
fn zone<S, T: Ord + Copy>(
    values: &[S],
    layout: &Layout,
    convert: impl Fn(&S) -> Option<T>,
) -> Option<(T, T)> {
    let values = values.iter().enumerate().filter(|(at, _)| counts(layout, *at));
    values.filter_map(|(_, value)| convert(value)).fold(None, |zone, value| match zone {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}
