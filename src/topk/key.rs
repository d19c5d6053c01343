//! Sort keys: the order of rows by value, where absent values come last in both directions. Also the first and the last key that
//! the rows of a batch can have.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "steps among at most 2^50 rows wanted, and codes of a dictionary"
)]

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::batch::{Batch, FewRows};
use crate::catalog::{Field, FieldId};
use crate::column::{Codes, Column, ColumnData, ColumnLayout, Dictionary, Ordinals, Selection, Sorted};
use crate::filter::order::{SortKey, SortValue};
use crate::value::Value;

/// The sort order of a page, by insertion or by a field, and the position after which the page begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SortBy<'c> {
    /// The order in which the cases were first inserted. If `after` is set, the page begins after the case with this
    /// insertion-order number.
    Place {
        after: Option<u64>,
    },
    Field {
        field: &'c Field,
        id: FieldId,
        descending: bool,
        ties: Ties,
        after: Option<After<'c>>,
    },
}

/// The order of rows with equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ties {
    /// Ascending by id.
    ById,
    /// Any order. For each key, the search returns as many rows with this key as the page has. If rows outside the page also have
    /// the first or the last key of the page, the search returns any of the rows with this key. So it need not visit all rows with
    /// equal keys. The caller searches again for the rows with this key, and sorts all rows by further fields.
    Any,
}

/// A position in the order of a field. Without an id, it is after all rows with this key. With an id, it is after the row with this
/// key and this id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After<'c> {
    key: Key<'c>,
    id: Option<&'c str>,
}

impl<'c> SortBy<'c> {
    /// Returns the order by a field, or the insertion order.
    pub(crate) fn new(order: Option<SortKey>, fields: &'c [Field], ties: Ties) -> Self {
        match order.and_then(|order| Some((order, fields.get(order.field.index())?))) {
            Some((SortKey { field: id, descending }, field)) => {
                Self::Field { field, id, descending, ties, after: None }
            }
            None => Self::Place { after: None },
        }
    }

    /// Sets the position after which the page begins. Without an id, the page begins after all rows with this value. With an id, it
    /// begins after the row with this value and this id. Does nothing for the insertion order.
    pub(crate) fn behind(self, value: &'c SortValue, id: Option<&'c str>) -> Self {
        match self {
            Self::Place { .. } => self,
            Self::Field { field, id: field_id, descending, ties, .. } => {
                let after = Some(After { key: Key::of_value(value, field), id });
                Self::Field { field, id: field_id, descending, ties, after }
            }
        }
    }

    pub(super) fn is_descending(self) -> bool {
        matches!(self, Self::Field { descending: true, .. })
    }

    /// Returns true if rows with equal keys are sorted by id.
    pub(super) fn sorts_ids(self) -> bool {
        matches!(self, Self::Field { ties: Ties::ById, .. })
    }

    /// Returns true if rows with equal keys may be in any order.
    pub(super) fn leaves_ties(self) -> bool {
        matches!(self, Self::Field { ties: Ties::Any, .. })
    }

    /// Returns true if the page begins after a position.
    pub(crate) fn has_position(self) -> bool {
        matches!(self, Self::Place { after: Some(_) } | Self::Field { after: Some(_), .. })
    }

    /// Returns the key of the position after which the page begins. `None` for the insertion order.
    pub(super) fn position_key(self) -> Option<Key<'c>> {
        match self {
            Self::Field { after, .. } => after.map(|after| after.key),
            Self::Place { .. } => None,
        }
    }

    /// Returns true if the page begins after all rows with this key.
    pub(super) fn is_behind_key(self, key: &Key<'_>) -> bool {
        match self {
            Self::Place { after: None } | Self::Field { after: None, .. } => false,
            Self::Place { after: Some(after) } => matches!(key, Key::Place(place) if *place <= after),
            Self::Field { descending, after: Some(after), .. } => match key.compare(&after.key, descending) {
                Ordering::Less => true,
                Ordering::Equal => after.id.is_none(),
                Ordering::Greater => false,
            },
        }
    }

    /// Returns the id after which the page begins, if it begins after a row with this key.
    #[inline]
    pub(super) fn id_before(self, key: &Key<'_>) -> Option<&'c str> {
        match self {
            Self::Field { after: Some(After { key: own, id: Some(id) }), .. } if own == *key => Some(id),
            _ => None,
        }
    }
}

/// The sort key of a row. In ascending order, the smallest key comes first. `Absent` always comes last.
///
/// All keys of one search are of the same variant or `Absent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key<'b> {
    /// The insertion-order number of a row.
    Place(u64),
    /// The ordinal of a value of an ordered type: a number, an integer, a decimal or a timestamp.
    Ordinal(i64),
    Boolean(bool),
    /// The index of the string among the known values of the field, and the string. For a string that is not a known value, the
    /// index is `usize::MAX`, so it comes after all known values.
    String(usize, &'b str),
    Absent,
}

impl<'b> Key<'b> {
    /// Returns the key of a value of the field.
    pub(crate) fn of_value(value: &'b SortValue, field: &Field) -> Self {
        match value {
            SortValue::Absent => Key::Absent,
            SortValue::Ordinal(ordinal) => Key::Ordinal(*ordinal),
            SortValue::Boolean(boolean) => Key::Boolean(*boolean),
            SortValue::Text(text) => Key::String(field.known_rank(text).unwrap_or(usize::MAX), text),
        }
    }

    /// Returns the key of a row in a single-valued field. Faster than [`Keys`] for a single row of a batch.
    pub(crate) fn of_row(batch: &'b Batch, row: usize, field: &Field, id: FieldId) -> Self {
        let Some(column) = batch.column(id) else { return Key::Absent };
        match &column.layout {
            ColumnLayout::Single(present) if present.contains(row) => {}
            _ => return Key::Absent,
        }
        match &column.data {
            ColumnData::Strings { codes, dictionary, .. } => {
                let text = dictionary.get(codes.get(row));
                Key::String(field.known_rank(text).unwrap_or(usize::MAX), text)
            }
            ColumnData::Ordered { values, .. } => ordinal_key(values, row),
            ColumnData::Booleans { values, .. } => Key::Boolean(values.get(row)),
        }
    }

    /// Returns the value of a row that has this key. An insertion-order number has no value.
    pub(crate) fn value(&self) -> SortValue {
        match self {
            Key::Absent | Key::Place(_) => SortValue::Absent,
            Key::Ordinal(ordinal) => SortValue::Ordinal(*ordinal),
            Key::Boolean(boolean) => SortValue::Boolean(*boolean),
            Key::String(_, text) => SortValue::Text((*text).into()),
        }
    }

    pub(crate) fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let ascending = match (self, other) {
            (Key::Absent, Key::Absent) => return Ordering::Equal,
            (Key::Absent, _) => return Ordering::Greater,
            (_, Key::Absent) => return Ordering::Less,
            (Key::Place(a), Key::Place(b)) => a.cmp(b),
            (Key::Ordinal(a), Key::Ordinal(b)) => a.cmp(b),
            (Key::Boolean(a), Key::Boolean(b)) => a.cmp(b),
            (Key::String(rank_a, a), Key::String(rank_b, b)) => rank_a.cmp(rank_b).then_with(|| a.cmp(b)),
            _ => Ordering::Equal,
        };
        if descending { ascending.reverse() } else { ascending }
    }

    /// Returns a number that sorts like the key: if a number is smaller, its key comes first. Different keys can have the same
    /// number.
    pub(super) fn rank(&self, descending: bool) -> u64 {
        let unsigned = |ordinal: i64| ordinal.cast_unsigned() ^ (1 << 63);
        let ascending = match self {
            Key::Absent => return u64::MAX,
            Key::Place(place) => *place,
            Key::Ordinal(ordinal) => unsigned(*ordinal),
            Key::Boolean(boolean) => u64::from(*boolean),
            // The rank of a string that is not a known value contains only its first six bytes.
            Key::String(usize::MAX, text) => {
                let text = text.as_bytes().iter().copied().chain(std::iter::repeat(0)).take(6);
                text.fold(u64::from(u16::MAX), |rank, byte| rank << 8 | u64::from(byte))
            }
            Key::String(known, _) => u64::try_from(*known).unwrap_or(u64::MAX).min(0xfffe) << 48,
        };
        if descending { !ascending } else { ascending }
    }
}

/// The sort keys of the rows of one batch.
pub(super) struct Keys<'b> {
    batch: &'b Batch,
    pub(super) column: Option<&'b Column>,
    /// For each code of a string column: the index of its string among the known values of the field. Empty if the field has no
    /// known values.
    ranks: Vec<usize>,
}

impl<'b> Keys<'b> {
    pub(super) fn new(batch: &'b Batch, by: SortBy<'_>) -> Self {
        let SortBy::Field { field, id, .. } = by else {
            return Self { batch, column: None, ranks: Vec::new() };
        };
        let column = batch.column(id);
        let ranks = match column.map(|column| &column.data) {
            Some(ColumnData::Strings { dictionary, .. }) if field.known_values().len() > 0 => (0..dictionary
                .len())
                .map(|code| field.known_rank(dictionary.get(code)).unwrap_or(usize::MAX))
                .collect(),
            _ => Vec::new(),
        };
        Self { batch, column, ranks }
    }

    /// Returns the key of the rows with this string code.
    pub(super) fn of_code(&self, code: usize) -> Key<'b> {
        match self.column.map(|column| &column.data) {
            Some(ColumnData::Strings { dictionary, .. }) => self.string_key(dictionary, code),
            _ => Key::Absent,
        }
    }

    fn string_key(&self, dictionary: &'b Dictionary, code: usize) -> Key<'b> {
        // If the field has no known values, `ranks` is empty.
        Key::String(self.ranks.get(code).copied().unwrap_or(usize::MAX), dictionary.get(code))
    }

    /// Returns the dictionary, the codes and the rows with a value, if the codes of the column are in the order of its keys.
    /// Returns `None` for columns that contain no strings, and for fields with known values.
    pub(super) fn strings_in_order(&self) -> Option<(&'b Dictionary, &'b Codes, &'b Selection)> {
        let column = self.column?;
        match (&column.data, &column.layout) {
            (ColumnData::Strings { dictionary, codes, .. }, ColumnLayout::Single(present))
                if self.ranks.is_empty() =>
            {
                Some((dictionary, codes, present))
            }
            _ => None,
        }
    }

    /// Returns all codes of a string column with their keys. Returns an empty iterator for other columns.
    pub(super) fn codes(&self) -> impl Iterator<Item = (Key<'b>, u32)> {
        let codes = match self.column.map(|column| &column.data) {
            Some(ColumnData::Strings { dictionary, .. }) => 0..dictionary.len(),
            _ => 0..0,
        };
        (0..).zip(codes).map(|(code, at)| (self.of_code(at), code))
    }

    /// Returns the key of the row at index `step` of the sort order. If `by` has a position, counting starts after it. Returns
    /// `Absent` if fewer rows have a value. Returns `None` if the batch does not keep its rows sorted.
    pub(super) fn at_step(&self, step: usize, by: SortBy<'_>) -> Option<Key<'b>> {
        let column = self.column?;
        let ColumnData::Ordered { sorted, .. } = &column.data else { return None };
        let sorted = Sorted::new(sorted, column)?;
        let len = sorted.len();
        let key_at = |step: usize| {
            let place = if by.is_descending() { len.checked_sub(step + 1) } else { Some(step) };
            let row = place.and_then(|place| sorted.get(place));
            row.map_or(Key::Absent, |row| self.key_of_present(row, by))
        };
        let start = match by.has_position() {
            true => first_step(len, |step| !by.is_behind_key(&key_at(step))),
            false => 0,
        };
        Some(key_at(start + step))
    }

    pub(super) fn key(&self, row: usize, by: SortBy<'_>) -> Key<'b> {
        let is_present = |column: &Column| match &column.layout {
            ColumnLayout::Single(present) => present.contains(row),
            ColumnLayout::Many(_) => false,
        };
        match by {
            SortBy::Field { .. } if !self.column.is_some_and(is_present) => Key::Absent,
            _ => self.key_of_present(row, by),
        }
    }

    /// Returns the ordinals of the rows. Returns `None` unless the rows are sorted by a field of an ordered type.
    pub(super) fn ordinals(&self, by: SortBy<'_>) -> Option<&'b Ordinals> {
        match (by, &self.column?.data) {
            (SortBy::Field { .. }, ColumnData::Ordered { values, .. }) => Some(values),
            _ => None,
        }
    }

    /// Returns the key of a row that has a value in the sort field.
    pub(super) fn key_of_present(&self, row: usize, by: SortBy<'_>) -> Key<'b> {
        if let SortBy::Place { .. } = by {
            return Key::Place(self.batch.place(row));
        }
        let Some(column) = self.column else { return Key::Absent };
        match &column.data {
            ColumnData::Strings { codes, .. } => self.of_code(codes.get(row)),
            ColumnData::Ordered { values, .. } => ordinal_key(values, row),
            ColumnData::Booleans { values, .. } => Key::Boolean(values.get(row)),
        }
    }
}

/// Returns the first index in `0..len` that passes `test`, or `len` if no index passes. If an index passes, all greater indexes
/// must pass, too. For a result n, calls `test` O(log n) times.
pub(super) fn first_step(len: usize, test: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, 0_usize);
    while high < len && !test(high) {
        low = high + 1;
        high = high * 2 + 1;
    }
    let mut high = high.min(len);
    while low < high {
        let middle = low.midpoint(high);
        if test(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Returns the key of a row that has a value, from the ordinals of its column.
#[inline]
pub(super) fn ordinal_key<'b>(values: &Ordinals, row: usize) -> Key<'b> {
    Key::Ordinal(values.get(row))
}

/// Returns the first and the last key that rows of the batch can have, according to its zone map or dictionary. The keys of the
/// selected rows may have a narrower range.
pub(super) fn key_range<'b>(batch: &'b Batch, by: SortBy<'_>) -> (Key<'b>, Key<'b>) {
    let (field, id, descending) = match by {
        SortBy::Place { .. } => {
            let ends = batch.place_range();
            return ends.map_or((Key::Absent, Key::Absent), |(a, b)| (Key::Place(a), Key::Place(b)));
        }
        SortBy::Field { field, id, descending, .. } => (field, id, descending),
    };
    if let Some(rows) = batch.few_rows() {
        return few_keys_range(rows, field, id, descending);
    }
    let Some(column) = batch.column(id) else { return (Key::Absent, Key::Absent) };
    let ends = match &column.data {
        ColumnData::Strings { dictionary, .. } => {
            let keys = Keys::new(batch, by);
            let key = |code| keys.string_key(dictionary, code);
            let compare = |a: &Key<'_>, b: &Key<'_>| a.compare(b, false);
            if keys.ranks.is_empty() {
                dictionary.len().checked_sub(1).map(|last| (key(0), key(last)))
            } else {
                let all = (0..dictionary.len()).map(key);
                all.clone().min_by(compare).zip(all.max_by(compare))
            }
        }
        ColumnData::Ordered { zone, .. } => zone.map(|(low, high)| (Key::Ordinal(low), Key::Ordinal(high))),
        ColumnData::Booleans { .. } => Some((Key::Boolean(false), Key::Boolean(true))),
    };
    let Some((low, high)) = ends else { return (Key::Absent, Key::Absent) };
    let (first, last) = if descending { (high, low) } else { (low, high) };
    let all_present = matches!(&column.layout, ColumnLayout::Single(Selection::All));
    (first, if all_present { last } else { Key::Absent })
}

/// Returns the [key range](key_range) of a batch of at most 64 buffered rows. Does not decode a column, because such a batch can
/// usually be excluded by this range alone.
pub(super) fn few_keys_range<'b>(
    rows: FewRows<'b>,
    field: &Field,
    id: FieldId,
    descending: bool,
) -> (Key<'b>, Key<'b>) {
    let key = |row| match rows.row(row).and_then(|row| row.values(id).next()) {
        Some(Value::Boolean(boolean)) => Key::Boolean(boolean),
        Some(Value::String(Cow::Borrowed(text))) => {
            Key::String(field.known_rank(text).unwrap_or(usize::MAX), text)
        }
        Some(ordered) => ordered.ordinal().map_or(Key::Absent, |(_, ordinal)| Key::Ordinal(ordinal)),
        None => Key::Absent,
    };
    let compare = |a: &Key<'_>, b: &Key<'_>| a.compare(b, descending);
    let keys = (0..rows.len()).map(key);
    keys.clone().min_by(compare).zip(keys.max_by(compare)).unwrap_or((Key::Absent, Key::Absent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesser_rank_is_that_of_a_key_that_comes_first() {
        let ordinals = [i64::MIN, -1, 0, 1, i64::MAX].map(Key::Ordinal);
        let texts = ["", "\0", "a", "a\0", "abcdef", "abcdefg", "abcdeg", "é", "😀"];
        let known = [0, 1, 65_533, 65_534, 65_535, 65_536, 1 << 40];
        let strings = known.map(|rank| Key::String(rank, "x")).into_iter();
        let sorts: [Vec<Key<'_>>; 4] = [
            ordinals.into(),
            [0, 1, u64::MAX].map(Key::Place).into(),
            [false, true].map(Key::Boolean).into(),
            strings.chain(texts.map(|text| Key::String(usize::MAX, text))).collect(),
        ];
        for mut keys in sorts {
            keys.push(Key::Absent);
            for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
                for descending in [false, true] {
                    let ranks = a.rank(descending).cmp(&b.rank(descending));
                    assert!(ranks.is_eq() || ranks == a.compare(b, descending), "{a:?}, {b:?}, {descending}");
                }
            }
        }
    }
}
