//! Computes the element columns of a table, which `$elem` needs. They contain element numbers: the positions of elements in arrays
//! of objects.
//!
//! A list column has no entry for an element without a value, so it does not show which element a value belongs to. An element
//! column shows this. The elements of an array are numbered from 1 in each document, in document order. The element numbers of an
//! inner array (`legs[].fees[]`) do not begin again at 1 in each outer element.
//!
//! Each element column is a list. There are three forms:
//!
//! | one entry for each | numbered array | the entry |
//! |---|---|---|
//! | value of a field | an array around the field | the number of the element that contains the value |
//! | element of an array | the same array | the number of the element, so the list is 1, 2, … |
//! | element of an array | an array around it | the number of the outer element that contains the element |
//!
//! ```text
//! legs[].bank and legs[].fees[].amount of {"legs":[{"fees":[{"amount":5},{}]},{"bank":"x","fees":[{"amount":7}]}]}
//! legs_bank                   x          legs_fees_amount               5, 7
//! legs_bank_element           2          legs_fees_amount_element       1, 3         numbers of legs.fees
//! legs_element                1, 2       legs_fees_amount_element_1     1, 2         numbers of legs
//! legs_fees_element           1, 2, 3    legs_fees_element_1            1, 1, 2      numbers of legs
//! ```

use std::collections::BTreeMap;

use crate::batch::{Event, Row};
use crate::catalog::{ArrayId, Catalog, ElementArray, FieldId};

/// The content of an element column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ElementNumbers {
    /// The array whose elements are numbered.
    pub(super) array: ArrayId,
    pub(super) of: Numbered,
}

/// The items that have an entry in an element column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Numbered {
    /// The elements of an array: the numbered array itself, or an array below it.
    Elements(ArrayId),
    /// The values of a field below the array.
    Values(FieldId),
}

impl ElementNumbers {
    /// Returns the element columns of all arrays of a catalogue, in the order in which they occur in a table.
    pub(super) fn all(catalog: &Catalog) -> Vec<Self> {
        let mut all = Vec::new();
        for (id, array) in catalog.arrays() {
            all.push(Self { array: id, of: Numbered::Elements(id) });
            let outer = outer_arrays(catalog, array).iter();
            all.extend(outer.map(|outer| Self { array: *outer, of: Numbered::Elements(id) }));
            let fields = catalog.fields_of_array(array).iter();
            all.extend(fields.map(|field| Self { array: id, of: Numbered::Values(*field) }));
        }
        all
    }

    /// Returns true if `$elem` needs the column to test the chosen arrays: those for which `is_chosen` returns true.
    pub(super) fn is_needed(&self, is_chosen: impl Fn(ArrayId) -> bool) -> bool {
        let is_inner = |inner| inner == self.array || is_chosen(inner);
        is_chosen(self.array)
            && match self.of {
                Numbered::Elements(inner) => is_inner(inner),
                Numbered::Values(_) => true,
            }
    }

    /// Returns the suffix of the name of the column. The suffix is `_element`. If the column has the element numbers of an outer
    /// array, the level of this array is added, as in `_element_1`.
    pub(super) fn suffix(&self, catalog: &Catalog) -> String {
        let innermost = match self.of {
            Numbered::Elements(array) => Some(array),
            Numbered::Values(field) => catalog.arrays_around(field).last().copied(),
        };
        if innermost == Some(self.array) {
            return "_element".to_owned();
        }
        let around = match self.of {
            Numbered::Elements(array) => {
                catalog.array(array).map_or(&[][..], |array| outer_arrays(catalog, array))
            }
            Numbered::Values(field) => catalog.arrays_around(field),
        };
        let level = around.iter().position(|outer| *outer == self.array).unwrap_or(0).saturating_add(1);
        format!("_element_{level}")
    }
}

/// Returns the arrays around an array, from the outermost on.
fn outer_arrays(catalog: &Catalog, array: ElementArray) -> &[ArrayId] {
    let around = catalog.arrays_around(array.field);
    around.get(..usize::from(array.level).saturating_sub(1)).unwrap_or_default()
}

/// Returns the lists of these element columns for a document, in the same order.
pub(super) fn number_elements(columns: &[ElementNumbers], row: &Row<'_>, catalog: &Catalog) -> Vec<Vec<i64>> {
    let mut lists = vec![Vec::new(); columns.len()];
    if columns.is_empty() {
        return lists;
    }
    // For each field and each array: the columns that have an entry for its values or elements.
    let mut slots: BTreeMap<Numbered, Vec<usize>> = BTreeMap::new();
    for (at, column) in columns.iter().enumerate() {
        slots.entry(column.of).or_default().push(at);
    }
    let mut begun = Begun { counts: vec![0; catalog.arrays().count()] };
    let mut push = |begun: &Begun, of: Numbered| {
        for at in slots.get(&of).into_iter().flatten() {
            if let (Some(list), Some(column)) = (lists.get_mut(*at), columns.get(*at)) {
                list.push(begun.number(column.array));
            }
        }
    };
    row.for_each(|event| match event {
        Event::Element(array) => {
            let around = catalog.array(array).map_or(&[][..], |array| outer_arrays(catalog, array));
            begun.fill(around, |begun, missing| push(begun, Numbered::Elements(missing)));
            begun.begin(array);
            push(&begun, Numbered::Elements(array));
        }
        Event::Value(field, _) => {
            let around = catalog.arrays_around(field);
            begun.fill(around, |begun, missing| push(begun, Numbered::Elements(missing)));
            push(&begun, Numbered::Values(field));
        }
    });
    lists
}

/// For each array: the count of its elements that have begun in the document.
struct Begun {
    counts: Vec<i64>,
}

impl Begun {
    /// Returns the number of the element that was begun last.
    fn number(&self, array: ArrayId) -> i64 {
        self.counts.get(array.index()).copied().unwrap_or(0)
    }

    fn begin(&mut self, array: ArrayId) {
        if let Some(count) = self.counts.get_mut(array.index()) {
            *count = count.saturating_add(1);
        }
    }

    /// Begins an element of each array in `arrays` that has no element yet. This is only a safeguard: the code that reads documents
    /// begins the elements of outer arrays first.
    fn fill(&mut self, arrays: &[ArrayId], mut begin: impl FnMut(&Self, ArrayId)) {
        for array in arrays {
            if self.number(*array) == 0 {
                self.begin(*array);
                begin(self, *array);
            }
        }
    }
}
