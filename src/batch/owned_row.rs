//! A copy of the values of one document, stored by field so that many filters can test them.

use std::ops::Range;

use super::elements::Event;
use super::row::Row;
use super::text_key::TextKey;
use crate::catalog::{ArrayId, FieldId};
use crate::value::{OrderedType, Value};

/// The values of one document, by field.
///
/// Unlike a [`Row`], it borrows nothing, and finds the values of a field without searching through all values.
///
/// Each value and each element of an array of objects has a *place*: the number of values and elements before it in the document. A
/// value or an inner element below an array belongs to one element of this array: the last element that begins before the value or
/// inner element.
///
/// Invariant after it has been [sorted](Self::sort): `starts` has one entry more than the catalogue has fields. The values of field
/// `f` are `values[starts[f]..starts[f + 1]]`, in document order.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnedRow {
    /// All strings, concatenated.
    texts: String,
    values: Vec<(FieldId, u32, Stored)>,
    starts: Vec<u32>,
    /// The elements of arrays of objects with their places. After sorting, they are ordered by array and then by place.
    elements: Vec<(ArrayId, u32)>,
    /// The number of values and elements.
    places: u32,
}

/// The maximum number of values for which memory is reserved.
#[cfg(feature = "serde")]
const USUAL_VALUES: usize = 64;
/// The memory, in bytes, that is reserved for the text of each value.
#[cfg(feature = "serde")]
const USUAL_TEXT_BYTES: usize = 16;

/// One value of the document.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stored {
    /// A string: the start and the end of its range in `texts`, and its key.
    String(u32, u32, TextKey),
    Ordered(OrderedType, i64),
    Boolean(bool),
}

impl OwnedRow {
    /// Creates an owned copy of the values of `row`, sorted by field. The catalogue has `fields` fields.
    pub(crate) fn of(row: &Row<'_>, fields: usize) -> Self {
        let mut own = Self::default();
        row.for_each(|event| match event {
            Event::Value(field, value) => own.push(field, value),
            Event::Element(array) => own.begin_element(array),
        });
        own.sort(fields);
        own
    }

    /// Replaces the contents of this row by values of `row`, and reuses its memory. Copies only the values of fields for which
    /// `wanted` returns true. The indexes of these fields must be less than `fields`. Copies the elements of arrays of objects only
    /// if `has_elements` is true.
    pub(crate) fn refill(
        &mut self,
        row: &Row<'_>,
        wanted: impl Fn(FieldId) -> bool,
        fields: usize,
        has_elements: bool,
    ) {
        self.clear();
        if has_elements {
            row.for_each(|event| match event {
                Event::Value(field, value) if wanted(field) => self.push(field, value),
                Event::Value(..) => {}
                Event::Element(array) => self.begin_element(array),
            });
        } else {
            for (field, value) in row.iter().filter(|(field, _)| wanted(*field)) {
                self.push(field, value);
            }
        }
        self.sort(fields);
    }

    /// Removes all values and elements, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.values.clear();
        self.elements.clear();
        self.places = 0;
    }

    /// Returns an empty row, with memory for the values of a typical document. `fields` is the number of fields of the catalogue.
    /// Growing the memory step by step takes longer than all other work on a small document.
    #[cfg(feature = "serde")]
    pub(crate) fn with_memory_for(fields: usize) -> Self {
        let values = fields.saturating_add(fields / 4).clamp(4, USUAL_VALUES);
        Self {
            texts: String::with_capacity(values.saturating_mul(USUAL_TEXT_BYTES)),
            values: Vec::with_capacity(values),
            starts: Vec::new(),
            ..Self::default()
        }
    }

    /// Returns a row that borrows the values of this row. They are ordered by field, or in document order if the row has elements
    /// of arrays of objects.
    pub(crate) fn to_row(&self) -> Row<'_> {
        let mut row = Row::default();
        if self.elements.is_empty() {
            for (field, _, stored) in &self.values {
                row.push(*field, self.value(*stored));
            }
        } else {
            let mut values: Vec<_> = self.values.iter().collect();
            values.sort_unstable_by_key(|(_, place, _)| *place);
            let mut elements = self.elements.clone();
            elements.sort_unstable_by_key(|(_, place)| *place);
            let mut elements = elements.into_iter().peekable();
            for (field, place, stored) in values {
                while let Some((array, _)) = elements.next_if(|(_, start)| start < place) {
                    row.begin_element(array);
                }
                row.push(*field, self.value(*stored));
            }
            elements.for_each(|(array, _)| row.begin_element(array));
        }
        row.begin_defaults();
        row
    }

    /// Returns the `id`, which every valid document has.
    pub(crate) fn id(&self) -> &str {
        let first = self.values.first().filter(|(field, ..)| *field == FieldId::ID);
        match first.map(|(.., stored)| *stored) {
            Some(Stored::String(start, end, _)) => self.text(start, end),
            _ => "",
        }
    }

    pub(crate) fn push(&mut self, field: FieldId, value: &Value<'_>) {
        let stored = match (value, value.ordinal()) {
            (_, Some((kind, ordinal))) => Stored::Ordered(kind, ordinal),
            (Value::String(text), _) => return self.push_text(field, text),
            (Value::Boolean(boolean), _) => Stored::Boolean(*boolean),
            _ => return,
        };
        self.push_stored(field, stored);
    }

    /// Returns true if both rows have the same values and elements. May return false for equal rows if their values were added in
    /// another order. Both rows must be sorted.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let has_elements = !self.elements.is_empty();
        let is_same = |((field, place, stored), (own, at, other)): (
            &(FieldId, u32, Stored),
            &(FieldId, u32, Stored),
        )| { field == own && stored == other && (place == at || !has_elements) };
        self.values.len() == other.values.len()
            && self.texts == other.texts
            && self.elements == other.elements
            && self.values.iter().zip(&other.values).all(is_same)
    }

    fn push_stored(&mut self, field: FieldId, stored: Stored) {
        self.values.push((field, self.places, stored));
        self.places = self.places.saturating_add(1);
    }

    /// Begins an element of an array of objects.
    pub(crate) fn begin_element(&mut self, array: ArrayId) {
        self.elements.push((array, self.places));
        self.places = self.places.saturating_add(1);
    }

    pub(crate) fn push_text(&mut self, field: FieldId, text: &str) {
        let start = offset(self.texts.len());
        self.texts.push_str(text);
        self.push_stored(field, Stored::String(start, offset(self.texts.len()), TextKey::of(text)));
    }

    /// Returns true if the document has a value of the field. Searches through all values.
    #[cfg(feature = "serde")]
    pub(crate) fn has(&self, field: FieldId) -> bool {
        self.values.iter().any(|(other, ..)| *other == field)
    }

    /// Sorts the values by field, for a catalogue of `fields` fields.
    pub(crate) fn sort(&mut self, fields: usize) {
        self.values.sort_by_key(|(field, ..)| *field);
        self.elements.sort_by_key(|(array, _)| *array);
        self.starts.clear();
        self.starts.reserve(fields.saturating_add(1));
        let mut at = 0;
        for field in 0..=fields {
            while self.values.get(at).is_some_and(|(own, ..)| own.index() < field) {
                at = at.saturating_add(1);
            }
            self.starts.push(offset(at));
        }
    }

    /// Returns the values of a field in document order, with repetitions. The values of the row
    /// must be sorted by field.
    #[inline]
    pub(crate) fn values(&self, field: FieldId) -> impl Iterator<Item = Value<'_>> + Clone {
        self.stored(field).iter().map(|(.., stored)| self.value(*stored))
    }

    /// Returns the keys of the strings of a field in document order, with repetitions. The row must be sorted.
    #[inline]
    pub(crate) fn text_keys(&self, field: FieldId) -> impl Iterator<Item = TextKey> {
        self.stored(field).iter().filter_map(|(.., stored)| match stored {
            Stored::String(_, _, key) => Some(*key),
            Stored::Ordered(..) | Stored::Boolean(_) => None,
        })
    }

    /// Returns the ordinals of a field of an ordered type in document order, with repetitions. The row must be sorted.
    #[inline]
    pub(crate) fn ordinals(&self, field: FieldId) -> impl Iterator<Item = i64> {
        self.stored(field).iter().filter_map(|(.., stored)| match stored {
            Stored::Ordered(_, ordinal) => Some(*ordinal),
            Stored::String(..) | Stored::Boolean(_) => None,
        })
    }

    #[inline]
    fn stored(&self, field: FieldId) -> &[(FieldId, u32, Stored)] {
        let start = |field: usize| self.starts.get(field).map_or(0, |start| *start as usize);
        let range = start(field.index())..start(field.index().saturating_add(1));
        self.values.get(range).unwrap_or_default()
    }

    /// Returns the values of a field that have a place in the range `places`. The row must be sorted.
    pub(crate) fn values_within(
        &self,
        field: FieldId,
        places: &Range<u32>,
    ) -> impl Iterator<Item = Value<'_>> + Clone {
        let own = self.stored(field);
        let before = |place: u32| own.partition_point(|(_, other, _)| *other < place);
        let within = own.get(before(places.start)..before(places.end)).unwrap_or_default();
        within.iter().map(|(.., stored)| self.value(*stored))
    }

    /// Returns the range of all places.
    pub(crate) fn places(&self) -> Range<u32> {
        0..self.places
    }

    /// Returns, for each element of `array` that begins in `places`, the range of the element's places. The row must be sorted.
    pub(crate) fn elements_within(
        &self,
        array: ArrayId,
        places: &Range<u32>,
    ) -> impl Iterator<Item = Range<u32>> {
        let before = |place: u32| self.elements.partition_point(|element| *element < (array, place));
        let within = self.elements.get(before(places.start)..before(places.end)).unwrap_or_default();
        let ends = within.iter().skip(1).map(|(_, place)| *place).chain([places.end]);
        within.iter().zip(ends).map(|((_, start), end)| *start..end)
    }

    #[inline]
    fn text(&self, start: u32, end: u32) -> &str {
        let range: Range<usize> = start as usize..end as usize;
        self.texts.get(range).unwrap_or_default()
    }

    #[inline]
    fn value(&self, stored: Stored) -> Value<'_> {
        match stored {
            Stored::String(start, end, _) => self.text(start, end).into(),
            Stored::Ordered(kind, ordinal) => kind.value(ordinal),
            Stored::Boolean(boolean) => Value::Boolean(boolean),
        }
    }
}

/// Converts an offset or a count to `u32`. Both fit, because a document is shorter than 4 GiB, and each value takes at least one
/// byte.
fn offset(at: usize) -> u32 {
    debug_assert!(u32::try_from(at).is_ok(), "documents are smaller than 4 GiB");
    u32::try_from(at).unwrap_or(u32::MAX)
}
