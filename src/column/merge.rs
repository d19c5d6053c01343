//! Merges the columns of several batches into one column. Dictionaries and sorted rows are merged instead of computed again.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "picks name rows of the batches that they were made for, columns have the rows of their batches, and codes are \
              those of their dictionaries"
)]

use std::ops::Range;

use super::dictionary::{Codes, Dictionary};
use super::elements::Elements;
use super::index_values::{booleans, ordered, pack, strings};
use super::order::ascending;
use super::sealed::{Column, ColumnData, ColumnLayout};
use super::sorted::Sorted;
use crate::catalog::Field;
use crate::rows::Selection;
use crate::value::{OrderedType, ValueClass};

/// The rows of several batches that a merge copies, in the order of the merged batch.
pub(crate) struct Picks {
    /// For each merged row: the index of the batch from which it is copied, and its row in that batch.
    rows: Vec<(u16, u16)>,
    /// For each batch and each of its rows: the merged row, or `None` if the row is not copied.
    targets: Vec<Vec<Option<u16>>>,
}

impl Picks {
    /// Creates picks from at most 65,536 rows, without duplicates. `sizes` contains the number of rows of each batch.
    pub(crate) fn new(rows: Vec<(u16, u16)>, sizes: impl IntoIterator<Item = usize>) -> Self {
        let mut targets: Vec<Vec<Option<u16>>> = sizes.into_iter().map(|size| vec![None; size]).collect();
        for (to, (batch, row)) in (0..=u16::MAX).zip(&rows) {
            targets[usize::from(*batch)][usize::from(*row)] = Some(to);
        }
        Self { rows, targets }
    }

    pub(crate) fn rows(&self) -> &[(u16, u16)] {
        &self.rows
    }
}

impl Column {
    /// Creates the column of `field` in the merged batch from the picked rows. `columns` contains the column of each batch, or
    /// `None` if the batch has no column of the field.
    ///
    /// # Complexity
    /// Linear in rows and values, plus the time to merge the sorted strings and rows of the batches.
    pub(crate) fn merged(field: &Field, columns: &[Option<&Self>], picks: &Picks) -> Self {
        let sources = MergeInput { columns, picks, is_many: field.is_many() };
        let rows = picks.rows.len();
        let layout = sources.layout();
        let data = match ValueClass::of_field(field.field_type()) {
            ValueClass::Strings => {
                let (dictionary, codes) = sources.strings(&layout);
                strings(rows, field.is_searchable(), &layout, dictionary, codes)
            }
            ValueClass::Ordered(kind) => sources.ordered(kind, &layout),
            ValueClass::Booleans => {
                let values = sources.gather(&layout, false, |_, data, at| match data {
                    ColumnData::Booleans { values, .. } => values.get(at),
                    _ => false,
                });
                booleans(rows, &layout, &values)
            }
        };
        Self { rows, layout, data, elements: sources.elements(field.levels()) }
    }
}

/// The input of a merge: the columns of a field in several batches, and the rows to copy.
struct MergeInput<'s> {
    columns: &'s [Option<&'s Column>],
    picks: &'s Picks,
    is_many: bool,
}

impl<'s> MergeInput<'s> {
    /// Returns for each merged row the index of its batch, the column of that batch, and the range of its values there.
    fn rows(&self) -> impl Iterator<Item = (usize, Option<&'s Column>, Range<usize>)> {
        self.picks.rows.iter().map(|(batch, row)| {
            let batch = usize::from(*batch);
            let column = self.columns[batch];
            (batch, column, column.map_or(0..0, |column| column.places(usize::from(*row))))
        })
    }

    /// Returns the layout of the merged column.
    fn layout(&self) -> ColumnLayout {
        if self.is_many {
            let ends = self.rows().scan(0_usize, |end, (.., places)| {
                *end += places.len();
                Some(u32::try_from(*end).unwrap_or(u32::MAX))
            });
            ColumnLayout::many(ends.collect())
        } else {
            let present: Vec<bool> = self.rows().map(|(.., places)| !places.is_empty()).collect();
            ColumnLayout::Single(Selection::from_bitmap(pack(&present)))
        }
    }

    /// Returns the elements of arrays of objects that the merged values belong to. `levels` is the number of arrays around the
    /// field.
    fn elements(&self, levels: usize) -> Option<Box<Elements>> {
        if self.columns.iter().flatten().all(|column| column.elements.is_none()) {
            return None;
        }
        let mut ends: Vec<Vec<u32>> = vec![Vec::new(); levels + 1];
        let mut totals = vec![0_usize; levels + 1];
        for (batch, row) in &self.picks.rows {
            let row = usize::from(*row);
            let mut range = row..row + 1;
            let column = self.columns[usize::from(*batch)];
            for ((level, ends), total) in ends.iter_mut().enumerate().zip(&mut totals) {
                let below = |range| column.map_or(0..0, |column| column.below(level, range));
                // Each row or element has an entry, even if it contains nothing.
                for each in range.clone() {
                    *total += below(each..each + 1).len();
                    ends.push(u32::try_from(*total).unwrap_or(u32::MAX));
                }
                range = below(range);
            }
        }
        Elements::new(ends)
    }

    /// Returns the values of all merged rows. `get` reads a value, given the index of the batch, the data of the column, and the
    /// index of the value. `absent` is the filler.
    fn gather<T: Copy>(
        &self,
        layout: &ColumnLayout,
        absent: T,
        get: impl Fn(usize, &ColumnData, usize) -> T,
    ) -> Vec<T> {
        let mut values = Vec::with_capacity(self.picks.rows.len());
        if matches!(layout, ColumnLayout::Single(Selection::None)) {
            return values;
        }
        for (batch, column, places) in self.rows() {
            match column {
                Some(column) if !places.is_empty() => {
                    values.extend(places.map(|at| get(batch, &column.data, at)));
                }
                _ if self.is_many => {}
                _ => values.push(absent),
            }
        }
        values
    }

    /// Returns the merged data of a column of the ordered type `kind`.
    fn ordered(&self, kind: OrderedType, layout: &ColumnLayout) -> ColumnData {
        let values = self.gather(layout, 0, |_, data, at| match data {
            ColumnData::Ordered { values, .. } => values.get(at),
            _ => 0,
        });
        ordered(kind, values, layout, Some(self.order()))
    }

    /// Returns the merged dictionary, and the code of each value.
    fn strings(&self, layout: &ColumnLayout) -> (Dictionary, Codes) {
        /// The new code of a string that does not occur in a picked row.
        const UNUSED: u32 = u32::MAX;
        let dictionaries: Vec<Option<(&Dictionary, &Codes)>> = self
            .columns
            .iter()
            .map(|column| match column.map(|column| &column.data) {
                Some(ColumnData::Strings { dictionary, codes, .. }) => Some((dictionary, codes)),
                _ => None,
            })
            .collect();
        // For each batch and each code: the code in the merged dictionary. Until the dictionary is merged, 0 marks the codes that
        // occur in a picked row.
        let mut new_codes: Vec<Vec<u32>> = dictionaries
            .iter()
            .map(|strings| vec![UNUSED; strings.map_or(0, |(dictionary, _)| dictionary.len())])
            .collect();
        for (batch, _, places) in self.rows() {
            let Some((_, codes)) = dictionaries[batch] else { continue };
            for at in places {
                new_codes[batch][codes.get(at)] = 0;
            }
        }
        let mut strings: Vec<(&str, usize, usize)> = Vec::new();
        for (batch, (own, seen)) in dictionaries.iter().zip(&new_codes).enumerate() {
            let Some((dictionary, _)) = own else { continue };
            let seen = seen.iter().enumerate().filter(|(_, code)| **code != UNUSED);
            strings.extend(seen.map(|(code, _)| (dictionary.get(code), batch, code)));
        }
        // The strings of each batch are ascending, and this sort merges ascending sequences.
        let count = u32::try_from(strings.len()).unwrap_or(u32::MAX);
        let order = ascending(count, |at| strings[at as usize].0.as_bytes());
        let mut distinct: Vec<&str> = Vec::with_capacity(strings.len());
        for ranked in order {
            let (text, batch, old) = strings[ranked.number as usize];
            if !ranked.is_repeated {
                distinct.push(text);
            }
            // The first string is never marked as repeated, so `distinct` is not empty.
            new_codes[batch][old] = u32::try_from(distinct.len() - 1).unwrap_or(UNUSED);
        }
        let size_bytes = distinct.iter().map(|text| text.len()).sum();
        let dictionary = Dictionary::from_ascending(size_bytes, distinct.into_iter());
        let codes = self.gather(layout, 0, |batch, data, at| match data {
            ColumnData::Strings { codes, .. } => new_codes[batch][codes.get(at)],
            _ => 0,
        });
        let codes = Codes::new(codes.into_iter(), dictionary.len());
        (dictionary, codes)
    }

    /// Returns the merged rows that have a value, batch by batch. Within each batch, the rows are in order of value.
    fn order(&self) -> Vec<u16> {
        let mut order = Vec::with_capacity(self.picks.rows.len());
        for (column, targets) in self.columns.iter().zip(&self.picks.targets) {
            let Some(column) = column else { continue };
            let ColumnData::Ordered { sorted, .. } = &column.data else { continue };
            let Some(sorted) = Sorted::new(sorted, column) else { continue };
            let rows = (0..sorted.len()).filter_map(|at| sorted.get(at));
            order.extend(rows.filter_map(|row| targets[row]));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::super::builder::ColumnBuilder;
    use super::*;
    use crate::catalog::{Catalog, FieldType};
    use crate::value::{Decimal, Number, Timestamp, Value};

    /// Returns a value of the type `kind`. Different `number`s often give equal values.
    fn value(kind: FieldType, number: u8) -> Value<'static> {
        match kind {
            FieldType::String => {
                Value::String(Cow::Owned(["", "a", "ab", "é", "😀"].concat().repeat(usize::from(number % 5))))
            }
            FieldType::Number => Value::Number(Number::new(f64::from(number) - 2.5).unwrap()),
            FieldType::Integer => Value::Integer(i64::from(number % 16) << 58),
            FieldType::Decimal { scale } => {
                Value::Decimal(Decimal::new(i64::from(number % 16) << 58, scale).unwrap())
            }
            FieldType::Timestamp => Value::Timestamp(Timestamp::from_millis(i64::from(number) * 999)),
            FieldType::Boolean => Value::Boolean(number.is_multiple_of(2)),
        }
    }

    fn column<'v>(field: &Field, rows: impl Iterator<Item = Vec<Value<'v>>>) -> Column {
        let mut builder = ColumnBuilder::new(field, 0);
        let mut len = 0;
        for values in rows {
            values.iter().for_each(|value| builder.push(len, value));
            len += 1;
        }
        builder.seal(len)
    }

    proptest! {
        #[test]
        fn merged_columns_are_those_that_would_be_built_of_the_rows(
            batches in proptest::collection::vec(
                proptest::option::weighted(0.9, proptest::collection::vec(proptest::collection::vec(0..12_u8, 0..3), 0..40)),
                1..6,
            ),
            ascending in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let catalog = Catalog::cases();
            // A random selection of all rows, in stored order or in random order.
            let mut rows: Vec<(u16, u16)> = Vec::new();
            for (batch, own) in batches.iter().enumerate() {
                rows.extend((0..own.as_ref().map_or(3, Vec::len)).map(|row| (batch as u16, row as u16)));
            }
            let mixed = |row: &(u16, u16)| (u64::from(row.0) << 16 | u64::from(row.1)).wrapping_mul(seed | 1);
            rows.retain(|row| mixed(row) >> 62 != 0);
            if !ascending {
                rows.sort_by_key(mixed);
            }
            let sizes = batches.iter().map(|rows| rows.as_ref().map_or(3, Vec::len));
            let picks = Picks::new(rows.clone(), sizes);
            for id in catalog.field_ids() {
                let field = catalog.field(id);
                let most = if field.is_many() { usize::MAX } else { 1 };
                let values = |numbers: &Vec<u8>| -> Vec<Value<'static>> {
                    numbers.iter().take(most).map(|number| value(field.field_type(), *number)).collect()
                };
                let columns: Vec<Option<Column>> = batches
                    .iter()
                    .map(|rows| rows.as_ref().map(|rows| column(field, rows.iter().map(values))))
                    .collect();
                let columns: Vec<Option<&Column>> = columns.iter().map(Option::as_ref).collect();
                let merged = Column::merged(field, &columns, &picks);
                prop_assert_eq!(merged.validate(), Ok(()));
                let picked = rows.iter().map(|(batch, row)| match &batches[usize::from(*batch)] {
                    Some(rows) => values(&rows[usize::from(*row)]),
                    None => Vec::new(),
                });
                let built = column(field, picked);
                prop_assert_eq!(&merged.layout, &built.layout);
                for row in 0..rows.len() {
                    prop_assert!(merged.values(row).eq(built.values(row)));
                }
                // `validate` has verified that the indexes agree with the values, so the indexes of both columns are equal. Their
                // sizes must also be equal.
                prop_assert_eq!(merged.index_bytes(), built.index_bytes());
                prop_assert_eq!(merged.data_bytes(), built.data_bytes());
            }
        }
    }
}
