//! Builds a column: collects values row by row, then seals them into a [`Column`].
#![expect(
    clippy::indexing_slicing,
    reason = "every row with a value is less than the number of rows with which the column is sealed"
)]

use std::borrow::Cow;
use std::mem::take;

#[cfg(feature = "store")]
use super::elements::Elements;
use super::elements::ElementsBuilder;
use super::index_values::{booleans, ordered, strings};
use super::interner::DictionaryBuilder;
use super::sealed::{Column, ColumnLayout};
use crate::catalog::{ArrayId, Field};
use crate::rows::{Bitmap, Selection, set_rows};
use crate::value::{OrderedType, Value, ValueClass};

/// A builder of a [`Column`]. Values are added in ascending order of rows.
///
/// A row without a value takes no memory beyond the memory that was reserved.
pub(crate) struct ColumnBuilder {
    many: bool,
    is_searchable: bool,
    /// The row number of each value, in ascending order. The row numbers are stored even if every row has exactly one value. To
    /// omit them, the builder would have to test for rows without a value. The processor would often mispredict the branch of this
    /// test.
    rows: Vec<u16>,
    values: BuilderValues,
    elements: ElementsBuilder,
}

/// The values that have been added, in a form that depends on the type of the field.
enum BuilderValues {
    Strings { dictionary: DictionaryBuilder, codes: Vec<u32> },
    Ordered(OrderedType, Vec<i64>),
    Booleans(Vec<bool>),
}

impl BuilderValues {
    fn new(class: ValueClass, rows: usize) -> Self {
        match class {
            ValueClass::Strings => Self::Strings {
                dictionary: DictionaryBuilder::expecting(rows),
                codes: Vec::with_capacity(rows),
            },
            ValueClass::Ordered(kind) => Self::Ordered(kind, Vec::with_capacity(rows)),
            ValueClass::Booleans => Self::Booleans(Vec::with_capacity(rows)),
        }
    }

    /// Reserves memory, so that `len` values in total fit without reallocation.
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

    /// Adds a value. Returns false if the type of the value differs from the type of the column. This never happens for rows of the
    /// same catalogue.
    #[inline(always)]
    fn push(&mut self, value: &Value<'_>) -> bool {
        match (self, value, value.ordinal()) {
            (Self::Strings { dictionary, codes }, Value::String(text), _) => {
                codes.push(dictionary.code(text));
            }
            (Self::Ordered(kind, values), _, Some((own, ordinal))) if own == *kind => values.push(ordinal),
            (Self::Booleans(values), Value::Boolean(boolean), _) => values.push(*boolean),
            _ => {
                debug_assert!(false, "a value of its field's type");
                return false;
            }
        }
        true
    }
}

impl ColumnBuilder {
    /// Creates an empty builder with memory for `rows` rows.
    pub(crate) fn new(field: &Field, rows: usize) -> Self {
        Self {
            many: field.is_many(),
            is_searchable: field.is_searchable(),
            rows: Vec::with_capacity(rows),
            values: BuilderValues::new(ValueClass::of_field(field.field_type()), rows),
            elements: ElementsBuilder::default(),
        }
    }

    /// Returns a builder that also notes, for each value, the array element that contains the value. `arrays` contains the arrays
    /// of objects around the field, from the outermost to the innermost.
    pub(crate) fn within(self, arrays: &[ArrayId]) -> Self {
        Self { elements: ElementsBuilder::new(arrays), ..self }
    }

    /// Returns true if the builder notes which elements of arrays of objects the values belong to.
    pub(crate) fn has_elements(&self) -> bool {
        self.elements.is_wanted()
    }

    /// Notes the array element that contains a value of a row, without adding the value itself.
    #[cfg(feature = "store")]
    pub(crate) fn note_value(&mut self, row: usize) {
        self.elements.push_value(row);
    }

    /// Returns the noted elements for a column of `rows` rows.
    #[cfg(feature = "store")]
    pub(crate) fn seal_elements(&mut self, rows: usize) -> Option<Box<Elements>> {
        self.elements.seal(rows)
    }

    /// Begins an element of an array of objects in a row. Values that are added before the next element of the array belong to this
    /// element.
    pub(crate) fn begin_element(&mut self, row: usize, array: ArrayId) {
        self.elements.begin(row, array);
    }

    /// Returns true if at least one value has been added.
    pub(crate) fn has_values(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Reserves memory for a total of `rows` rows, with one value per row.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows.saturating_sub(self.rows.len()));
        self.values.reserve(rows);
    }

    /// Adds a value of `row`. The caller must add the values in ascending order of rows. If the field is single-valued, further
    /// values of the same row are ignored.
    // Inlined, because a call would save and restore more registers than most pushes use.
    #[inline(always)]
    pub(crate) fn push(&mut self, row: usize, value: &Value<'_>) {
        let row = u16::try_from(row).unwrap_or(u16::MAX);
        if self.rows.last() == Some(&row) && !self.many {
            return;
        }
        if self.values.push(value) {
            self.rows.push(row);
            if self.elements.is_wanted() {
                self.elements.push_value(usize::from(row));
            }
        }
    }

    /// Returns the string of a row. Returns `None` if the column is not a string column. The row must have been added, and each row
    /// so far must have exactly one value.
    pub(crate) fn string(&self, row: usize) -> Option<&str> {
        match &self.values {
            BuilderValues::Strings { dictionary, codes } => Some(dictionary.get(codes[row])),
            _ => None,
        }
    }

    /// Creates a column of `rows` rows, and empties the builder. The builder keeps the memory that it does not pass to the column.
    pub(crate) fn seal(&mut self, rows: usize) -> Column {
        let layout = if self.rows.is_empty() {
            ColumnLayout::Single(Selection::None)
        } else if self.many {
            ColumnLayout::many(ends(rows, &self.rows))
        } else if self.rows.len() == rows {
            ColumnLayout::Single(Selection::All)
        } else {
            let present = Bitmap::filled_by(rows, |words| set_rows(words, &self.rows));
            ColumnLayout::Single(Selection::from_bitmap(present))
        };
        // If only some rows have a value, the other rows get fillers.
        let apart = match &layout {
            ColumnLayout::Single(Selection::Bitmap(_)) => Some(self.rows.as_slice()),
            _ => None,
        };
        let data = match &mut self.values {
            BuilderValues::Strings { dictionary, codes } => {
                let (sealed, ranks) = dictionary.seal(&placed(rows, apart, codes));
                dictionary.clear();
                codes.clear();
                strings(rows, self.is_searchable, &layout, sealed, ranks)
            }
            BuilderValues::Ordered(kind, values) => ordered(*kind, owned(rows, apart, values), &layout, None),
            BuilderValues::Booleans(values) => {
                let data = booleans(rows, &layout, &placed(rows, apart, values));
                values.clear();
                data
            }
        };
        self.rows.clear();
        Column { rows, layout, data, elements: self.elements.seal(rows) }
    }
}

/// Returns, for each of `rows` rows, the end index of its values. `rows_of_values` contains the row of each value, in ascending
/// order.
fn ends(rows: usize, rows_of_values: &[u16]) -> Vec<u32> {
    let mut ends = vec![0; rows];
    for (end, row) in (1..).zip(rows_of_values) {
        ends[usize::from(*row)] = end;
    }
    // A row without values has the same end index as the previous row.
    let mut last = 0;
    for end in &mut ends {
        last = last.max(*end);
        *end = last;
    }
    ends
}

/// Returns `values` with fillers added for the rows without a value. `places` contains the row of each value. If `places` is
/// `None`, every row has a value, and `values` is returned unchanged.
fn placed<'v, S: Copy + Default>(rows: usize, places: Option<&[u16]>, values: &'v [S]) -> Cow<'v, [S]> {
    let Some(places) = places else { return Cow::Borrowed(values) };
    let mut placed = vec![S::default(); rows];
    for (row, value) in places.iter().zip(values) {
        placed[usize::from(*row)] = *value;
    }
    Cow::Owned(placed)
}

/// Moves `values` into a vector with fillers, as [`placed`] does, and leaves `values` empty. Copies nothing if every row has a
/// value.
fn owned<S: Copy + Default>(rows: usize, places: Option<&[u16]>, values: &mut Vec<S>) -> Vec<S> {
    match placed(rows, places, values) {
        Cow::Owned(placed) => {
            values.clear();
            placed
        }
        Cow::Borrowed(_) => take(values),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sealed::ColumnData;
    use super::*;
    use crate::catalog::FieldType;
    use crate::value::Timestamp;

    #[test]
    fn rows_without_a_value_are_told_from_those_with_one() {
        let field = Field::new("f", FieldType::Timestamp);
        // Rows that have a value: no row, all rows, and edge cases.
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
            // The second round reuses the builder that was sealed in the first round.
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
                let is_bitmap = matches!(column.layout, ColumnLayout::Single(Selection::Bitmap(_)));
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
            // Each round after the first reuses the sealed builder.
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
                let ColumnData::Strings { dictionary, postings: Some(postings), .. } = &column.data else {
                    assert!((0..rows).all(|row| own(row).count() == 0), "{counts:?}");
                    continue;
                };
                for (code, text) in (0_u32..).zip((0..dictionary.len()).map(|code| dictionary.get(code))) {
                    let expected: Vec<usize> = (0..rows).filter(|row| own(*row).any(|o| o == text)).collect();
                    let found = postings.get(code).iter(rows).collect::<Vec<_>>();
                    assert_eq!(found, expected, "{text} of {rows} rows, {counts:?}");
                }
            }
        }
    }
}
