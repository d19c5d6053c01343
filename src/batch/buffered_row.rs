//! Buffered rows: cases that have not been sealed into columns yet. Each case is stored in a few allocations.
//!
//! A head is a batch that buffers the most recent single writes.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "values of one case at the indexes that were counted for them, bytes of its document, which is shorter than 4 GiB, \
              and rows of heads in memory"
)]

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::document::Document;
use super::elements::Event;
use super::owned_row::OwnedRow;
use super::row::Row;
use crate::catalog::{ArrayId, FieldId};
use crate::column::ColumnBuilder;
use crate::value::{OrderedType, Value};

/// A case with its values and its document, both owned: it does not borrow from the text that it was read from.
#[derive(Debug)]
pub(crate) struct BufferedRow {
    /// The string values, concatenated. The document follows them, if its text is not stored elsewhere.
    text: Box<str>,
    /// The start of the document in `text`.
    document_start: u32,
    /// The document number and the size in bytes of the document, if it is stored outside the engine.
    document: Option<(u64, usize)>,
    /// The values, grouped by field number. The values of one field are in document order.
    values: Box<[Scalar]>,
    /// For each field number: the end of the field's values in `values`. Fields after the end of this list have no values.
    ends: Box<[u32]>,
    /// The elements of arrays of objects, in document order. Each has its place: the number of values and elements before it.
    elements: Box<[(ArrayId, u32)]>,
    /// The place of each of `values`. Empty if there are no elements.
    places: Box<[u32]>,
    /// The insertion-order number of the case.
    pub(crate) place: u64,
}

/// A value of a buffered row. A string is stored as its start and end in `text`. A value of an ordered type, such as a decimal, is
/// stored as its ordinal.
#[derive(Clone, Copy, Debug)]
enum Scalar {
    String(u32, u32),
    Ordered(OrderedType, i64),
    Boolean(bool),
}

impl BufferedRow {
    /// Copies a row, with its insertion-order number. The total size of its strings fits a `u32`, because its document is shorter
    /// than 4 GiB.
    pub(crate) fn new(row: &Row<'_>, document: Document<'_>, order: u64) -> Self {
        let fields = row.iter().map(|(field, _)| field.index() + 1).max();
        // The list `ends` has one entry per field, which has three meanings, one after the other. First it is the number of the
        // field's values. Then it is the index at which the next value of the field is written. At last it is the end index of the
        // field's values.
        let mut ends = vec![0_u32; fields.unwrap_or(0)].into_boxed_slice();
        let mut bytes = 0_usize;
        for (field, value) in row.iter() {
            ends[field.index()] += 1;
            if let Value::String(string) = value {
                bytes += string.len();
            }
        }
        let mut next = 0_u32;
        for end in &mut ends {
            next += std::mem::replace(end, next);
        }
        let document_bytes = match document {
            Document::Text(document) => document.len(),
            Document::Number { .. } => 0,
        };
        let mut text = String::with_capacity(bytes + document_bytes);
        let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let mut values = vec![Scalar::Boolean(false); row.iter().len()];
        let mut elements = Vec::with_capacity(row.elements().len());
        let mut places = vec![0_u32; if row.elements().is_empty() { 0 } else { values.len() }];
        let mut place = 0_u32;
        row.for_each(|event| {
            let own = place;
            place = place.saturating_add(1);
            let (field, value) = match event {
                Event::Value(field, value) => (field, value),
                Event::Element(array) => return elements.push((array, own)),
            };
            let scalar = match (value, value.ordinal()) {
                (Value::String(string), _) => {
                    let start = length(&text);
                    text.push_str(string);
                    Scalar::String(start, length(&text))
                }
                (_, Some((kind, ordinal))) => Scalar::Ordered(kind, ordinal),
                (value, None) => Scalar::Boolean(*value == Value::Boolean(true)),
            };
            let next = &mut ends[field.index()];
            values[*next as usize] = scalar;
            if let Some(slot) = places.get_mut(*next as usize) {
                *slot = own;
            }
            *next += 1;
        });
        let document_start = length(&text);
        let document = match document {
            Document::Text(document) => {
                text.push_str(document);
                None
            }
            Document::Number { number, size_bytes } => Some((number, size_bytes)),
        };
        Self {
            text: text.into(),
            document_start,
            document,
            values: values.into(),
            ends,
            elements: elements.into(),
            places: places.into(),
            place: order,
        }
    }

    /// Adds all values to `columns`, at row `row`. The columns are indexed by field number.
    pub(super) fn fill(&self, columns: &mut [Option<ColumnBuilder>], row: usize) {
        for (field, column) in columns.iter_mut().enumerate() {
            if let Some(column) = column {
                self.fill_column(field, column, row);
            }
        }
    }

    /// Adds the values of the field with this number to its column, as row number `row`.
    pub(super) fn fill_column(&self, field: usize, column: &mut ColumnBuilder, row: usize) {
        let range = self.range(field);
        let values = self.values[range.clone()].iter();
        if self.elements.is_empty() || !column.has_elements() {
            return values.for_each(|scalar| column.push(row, &self.value(scalar)));
        }
        let mut elements = self.elements.iter().peekable();
        for (scalar, place) in values.zip(&self.places[range]) {
            while let Some((array, _)) = elements.next_if(|(_, start)| start < place) {
                column.begin_element(row, *array);
            }
            column.push(row, &self.value(scalar));
        }
        elements.for_each(|(array, _)| column.begin_element(row, *array));
    }

    /// Returns the indexes of the values of the field with this number.
    #[inline]
    fn range(&self, field: usize) -> std::ops::Range<usize> {
        match self.ends.get(field) {
            Some(end) => {
                let start = if field == 0 { 0 } else { self.ends[field - 1] };
                start as usize..*end as usize
            }
            // The list ends with the last field that has values.
            None => 0..0,
        }
    }

    /// Returns the values of a field in document order.
    #[inline]
    pub(crate) fn values(&self, field: FieldId) -> impl Iterator<Item = Value<'_>> + Clone {
        let values = &self.values[self.range(field.index())];
        values.iter().map(|scalar| self.value(scalar))
    }

    /// Copies the values of `fields`, and the starts of all array elements, to `own`. The order is that of the document. But if the
    /// row has no array elements, the order is that of `fields`. `fields` must be in ascending order.
    pub(super) fn copy_with_elements(&self, fields: &[FieldId], own: &mut OwnedRow) {
        if self.elements.is_empty() {
            for field in fields {
                self.values(*field).for_each(|value| own.push(*field, &value));
            }
            return;
        }
        let mut values: Vec<(u32, FieldId, &Scalar)> = Vec::new();
        for field in fields {
            let range = self.range(field.index());
            let places = self.places[range.clone()].iter();
            values.extend(
                self.values[range].iter().zip(places).map(|(scalar, place)| (*place, *field, scalar)),
            );
        }
        values.sort_unstable_by_key(|(place, ..)| *place);
        let mut elements = self.elements.iter().peekable();
        for (place, field, scalar) in values {
            while let Some((array, _)) = elements.next_if(|(_, start)| *start < place) {
                own.begin_element(*array);
            }
            own.push(field, &self.value(scalar));
        }
        elements.for_each(|(array, _)| own.begin_element(*array));
    }

    #[inline]
    fn value(&self, scalar: &Scalar) -> Value<'_> {
        match scalar {
            Scalar::String(start, end) => {
                Value::String(Cow::Borrowed(&self.text[*start as usize..*end as usize]))
            }
            Scalar::Ordered(kind, ordinal) => kind.value(*ordinal),
            Scalar::Boolean(boolean) => Value::Boolean(*boolean),
        }
    }

    /// Returns the `id`, which every valid case has.
    pub(crate) fn id(&self) -> &str {
        match self.values(FieldId::ID).next() {
            Some(Value::String(Cow::Borrowed(id))) => id,
            _ => "",
        }
    }

    pub(crate) fn document(&self) -> Document<'_> {
        match self.document {
            Some((number, size_bytes)) => Document::Number { number, size_bytes },
            None => Document::Text(&self.text[self.document_start as usize..]),
        }
    }

    /// Returns the document number, if the document is stored outside the engine.
    pub(crate) fn document_number(&self) -> Option<u64> {
        self.document.map(|(number, _)| number)
    }

    /// Adds `by` to the document number.
    #[cfg(feature = "store")]
    pub(crate) fn shift_document_number(&mut self, by: u64) {
        if let Some((number, _)) = &mut self.document {
            *number = number.saturating_add(by);
        }
    }

    /// Returns the size of the values in bytes.
    pub(crate) fn values_bytes(&self) -> usize {
        size_of_val::<[Scalar]>(&self.values)
            + size_of_val::<[u32]>(&self.ends)
            + size_of_val::<[(ArrayId, u32)]>(&self.elements)
            + size_of_val::<[u32]>(&self.places)
            + self.document_start as usize
    }
}

/// The rows of one or several heads. Joining shares the rows of each head. It neither copies nor reads them, because they are
/// scattered in memory.
#[derive(Clone, Debug)]
pub(crate) struct BufferedRows(Arc<[HeadRows]>);

/// The rows of one head.
#[derive(Clone, Debug)]
struct HeadRows {
    rows: Arc<[Arc<BufferedRow>]>,
    /// The number of rows of this head and of all heads before it in the list.
    end: usize,
    /// The total size in bytes of the rows' values and of their documents, computed on first use.
    bytes: Arc<OnceLock<(usize, usize)>>,
}

impl HeadRows {
    fn bytes(&self) -> (usize, usize) {
        *self.bytes.get_or_init(|| {
            let bytes = |row: &Arc<BufferedRow>| (row.values_bytes(), row.document().size_bytes());
            self.rows.iter().map(bytes).fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1))
        })
    }
}

impl BufferedRows {
    /// Creates the list of the rows of one head.
    pub(crate) fn new(rows: Vec<Arc<BufferedRow>>) -> Self {
        let end = rows.len();
        Self(Arc::new([HeadRows { rows: rows.into(), end, bytes: Arc::default() }]))
    }

    /// Returns the rows of `self` followed by the rows of `behind`.
    pub(crate) fn joined(&self, behind: &Self) -> Self {
        let first = self.len();
        let moved = behind.0.iter().map(|head| HeadRows { end: first + head.end, ..head.clone() });
        Self(self.0.iter().cloned().chain(moved).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.last().map_or(0, |head| head.end)
    }

    pub(crate) fn get(&self, row: usize) -> Option<&BufferedRow> {
        let at = self.0.partition_point(|head| head.end <= row);
        let head = self.0.get(at)?;
        Some(&head.rows[row + head.rows.len() - head.end])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &BufferedRow> {
        self.0.iter().flat_map(|head| head.rows.iter()).map(|row| &**row)
    }

    /// Returns the rows, if all of them belong to one head, that is, to one batch of single writes.
    pub(crate) fn single(&self) -> Option<&[Arc<BufferedRow>]> {
        match &*self.0 {
            [head] => Some(&head.rows),
            _ => None,
        }
    }

    /// Returns the total size of the values in bytes.
    pub(crate) fn values_bytes(&self) -> usize {
        self.0.iter().map(|head| head.bytes().0).sum()
    }

    /// Returns the total size in bytes of the documents, including documents that are stored outside the engine.
    pub(crate) fn document_bytes(&self) -> usize {
        self.0.iter().map(|head| head.bytes().1).sum()
    }
}
