//! One stored case: a buffered row, or a row of a batch. Its values are copied to an [`OwnedRow`], so that filters can test the
//! case without the columns of a batch.

use std::ops::Range;

use smallvec::SmallVec;

use super::buffered_row::BufferedRow;
use super::owned_row::OwnedRow;
use super::sealed::Batch;
use crate::catalog::{ArrayId, Catalog, FieldId};
use crate::column::Column;
use crate::value::Value;

/// A stored case.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CaseRow<'b> {
    Buffered(&'b BufferedRow),
    /// A row of a batch whose columns are sealed, or are read from a store.
    Stored(&'b Batch, usize),
}

/// The position of a value or an element in a document. It has two numbers for each array around the value or element, from the
/// outermost to the innermost: the index of the array in the catalogue, and the number of the element in the batch. In the order of
/// positions, an element comes before its values, and its values come before its inner elements.
type Position = SmallVec<[u32; 8]>;

impl<'b> CaseRow<'b> {
    /// Returns the case in a row of a batch.
    pub(crate) fn of(batch: &'b Batch, row: usize) -> Self {
        batch.buffered_row(row).map_or(Self::Stored(batch, row), Self::Buffered)
    }

    /// Returns the `id`, which every case has.
    pub(crate) fn id(&self) -> &'b str {
        match self {
            Self::Buffered(row) => row.id(),
            Self::Stored(batch, row) => batch.id(*row),
        }
    }

    /// Replaces the values of `own` by the values of `fields` in this case. `fields` must be in ascending order. Elements of arrays
    /// of objects are copied only if `has_elements` is true. Unwinds if the column of a field must be read from a store and cannot
    /// be read.
    pub(crate) fn read(&self, own: &mut OwnedRow, catalog: &Catalog, fields: &[FieldId], has_elements: bool) {
        own.clear();
        match self {
            Self::Buffered(row) if has_elements => row.copy_with_elements(fields, own),
            Self::Buffered(row) => {
                for field in fields {
                    row.values(*field).for_each(|value| own.push(*field, &value));
                }
            }
            Self::Stored(batch, row) => {
                let columns = fields.iter().filter_map(|field| Some((*field, batch.column(*field)?)));
                if has_elements {
                    copy_with_elements(columns, *row, catalog, own);
                } else {
                    for (field, column) in columns {
                        column.values(*row).for_each(|value| own.push(field, &value));
                    }
                }
            }
        }
        own.sort(catalog.fields().len());
    }
}

/// Copies the values of a row from `columns`, and the elements of the arrays around the fields of these columns.
fn copy_with_elements<'b>(
    columns: impl Iterator<Item = (FieldId, &'b Column)>,
    row: usize,
    catalog: &Catalog,
    own: &mut OwnedRow,
) {
    let mut elements: Vec<(Position, Item<'b>)> = Vec::new();
    let mut values: Vec<(Position, Item<'b>)> = Vec::new();
    let mut known: Vec<ArrayId> = Vec::new();
    for (field, column) in columns {
        let arrays = catalog.arrays_around(field);
        let mut open: Vec<(Position, Range<usize>)> = vec![(Position::new(), row..row.saturating_add(1))];
        for (level, array) in arrays.iter().enumerate() {
            // The columns of all fields below an array have the same elements of the array.
            let is_new = !known.contains(array);
            let mut inner = Vec::new();
            for (position, outer) in open {
                for element in column.below(level, outer) {
                    let mut position = position.clone();
                    position.extend([number(array.index()), number(element)]);
                    if is_new {
                        elements.push((position.clone(), Item::Element(*array)));
                    }
                    inner.push((position, element..element.saturating_add(1)));
                }
            }
            if is_new {
                known.push(*array);
            }
            open = inner;
        }
        let all = column.places(row);
        for (position, element) in open {
            let within = if arrays.is_empty() { all.clone() } else { column.below(arrays.len(), element) };
            for at in within.start.max(all.start)..within.end.min(all.end) {
                values.push((position.clone(), Item::Value(field, column.value(at))));
            }
        }
    }
    // The sort is stable, so elements come before values with the same position.
    elements.append(&mut values);
    elements.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (_, item) in elements {
        match item {
            Item::Element(array) => own.begin_element(array),
            Item::Value(field, value) => own.push(field, &value),
        }
    }
}

enum Item<'b> {
    Element(ArrayId),
    Value(FieldId, Value<'b>),
}

/// Converts the index of an array or an element to `u32`. Both fit, because a batch has fewer than 2^32 elements.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::batch::{BatchBuilder, Document, Keep, Row};
    use crate::catalog::{Field, FieldType};
    use crate::filter::{Filter, PreparedFilter};
    use crate::ingest::read_case;
    use crate::limits::Limits;

    const DOCUMENTS: &[&str] = &[
        r#"{"id":"1"}"#,
        r#"{"id":"2","name":"n","tags":["b","a","b"],"legs":[{"bank":"x","fees":[{"kind":"k","amount":1},{"amount":2}]},{"bank":"y"}]}"#,
        r#"{"id":"3","legs":[{},{"fees":[{},{"kind":"k"}],"marks":["m","n"]},{"bank":"x","marks":["o"]}],"grid":[[{"x":1},{"y":2}],[{"x":3,"y":4}]]}"#,
        r#"{"id":"4","grid":[[{"x":1,"y":2}],[]],"legs":[],"name":"m"}"#,
    ];

    const FILTERS: &[&str] = &[
        "name = n",
        "tags all (a, b)",
        "legs has (bank = x and fees.amount = 2)",
        "legs has (bank is absent and marks = m)",
        "legs has (marks = o and bank = x)",
        "legs.fees has (kind = k and amount = 1)",
        "legs.fees has (kind is absent and amount is absent)",
        "legs has (fees has (kind = k and amount is absent) and marks = n)",
        "not legs has (bank is present)",
        "grid has (x = 1 and y is absent)",
        "grid has (x = 1 and y = 2)",
        "grid has (x = 3 and y = 4) and tags is absent",
    ];

    #[test]
    fn filters_select_the_same_cases_from_rows_and_columns() {
        let catalog = Catalog::new([
            Field::new("name", FieldType::String),
            Field::new("tags[]", FieldType::String),
            Field::new("legs[].bank", FieldType::String),
            Field::new("legs[].marks[]", FieldType::String),
            Field::new("legs[].fees[].kind", FieldType::String),
            Field::new("legs[].fees[].amount", FieldType::Number),
            Field::new("grid[][].x", FieldType::Number),
            Field::new("grid[][].y", FieldType::Number),
        ])
        .unwrap()
        .extended();
        let mut builder = BatchBuilder::new(&catalog, Keep::Nothing, 0);
        let mut rows = Vec::new();
        for document in DOCUMENTS {
            let mut row = Row::default();
            read_case(document, &catalog, &Limits::default(), &mut row).unwrap();
            builder.push(&row, Document::Text(document), 0);
            rows.push(Arc::new(BufferedRow::new(&row, Document::Text(document), 0)));
        }
        let lazy = Batch::lazy(&catalog, Keep::Text, rows.clone());
        let sealed = builder.seal();
        let all: Vec<FieldId> = catalog.field_ids().collect();
        let mut own = OwnedRow::default();
        let mut found = 0;
        for (number, document) in DOCUMENTS.iter().enumerate() {
            let of_lazy = CaseRow::of(&lazy, number);
            assert!(matches!(of_lazy, CaseRow::Buffered(_)));
            for case in [of_lazy, CaseRow::Buffered(&rows[number]), CaseRow::of(&sealed, number)] {
                assert_eq!(case.id(), rows[number].id());
                for text in FILTERS {
                    let filter = Filter::compile_text(&catalog, text).unwrap();
                    let mut tested = filter.predicate().fields();
                    tested.sort_unstable();
                    tested.dedup();
                    let expected = crate::reference::matches(&filter, document).unwrap();
                    for fields in [&tested, &all] {
                        for has_elements in [true, filter.predicate().has_elements()] {
                            case.read(&mut own, &catalog, fields, has_elements);
                            let selected = PreparedFilter::new(&filter).selects(&own, &catalog);
                            assert_eq!(selected, expected, "{text} {document} {case:?}");
                            found += usize::from(selected);
                        }
                    }
                }
            }
        }
        assert!(found > 30, "{found}");
    }
}
