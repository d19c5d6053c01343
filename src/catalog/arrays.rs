//! The arrays of objects of a catalogue, whose elements `$elem` and `has` test.
//!
//! # Which arrays there are
//!
//! A path names an array if it leads to an array of objects that at least one visible field lies below. The name of an array is its path
//! without `[]`, as for fields: `caseReview.checklistState.checklist`. An array of scalars, such as `tags`, is not one of them: each of
//! its values is an element, so an ordinary criterion tests single elements already.
//!
//! # Elements
//!
//! | in a document | elements |
//! |---|---|
//! | an array | its members, in order, `null` too |
//! | `null` or absent | none |
//! | an array of arrays, `legs[][].bank` | the members of the inner arrays, as if these were one array |
//! | an array below an array, `legs[].fees[].amount` | for `legs.fees`: all members of all `fees`; each is an element of one element of `legs` |
//!
//! An element that is `null` has no values. Any other element that is not an object is a value of the wrong type, as ever: a strict
//! import refuses the document, and a lenient one takes all fields below it for absent. So is a single object instead of an array.
//!
//! # Levels
//!
//! The arrays of objects around a field, from the outermost on, are its *levels* 1, 2 and so on. `legs[].fees[].amount` has two,
//! `legs[].tags[]` has one.

use super::catalogue::Catalog;
use super::field::Field;
use super::id::FieldId;

/// The number of an array of objects in its catalogue. An array around others has a smaller number than these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ArrayId(pub(super) u32);

impl ArrayId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An array of objects, in a form that has the same meaning in all narrowed and grown catalogues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ElementArray {
    /// The first visible field below the array.
    pub(crate) field: FieldId,
    /// The number of arrays of objects from the outermost to this one.
    pub(crate) level: u16,
}

/// The arrays of objects of a catalogue.
#[derive(Default)]
pub(super) struct Arrays {
    /// The arrays by [`ArrayId`].
    list: Vec<NamedArray>,
    /// For each field: the arrays around it, from the outermost on.
    of_fields: Vec<Box<[ArrayId]>>,
}

struct NamedArray {
    array: ElementArray,
    /// The length of its name, which is the start of the name of `array.field`.
    name_bytes: usize,
    /// The visible fields below.
    fields: Vec<FieldId>,
}

impl Arrays {
    /// Adds a field that is not visible.
    pub(super) fn skip(&mut self) {
        self.of_fields.push(Box::default());
    }

    /// Adds the next field of the catalogue, and the new ones among the arrays around it.
    pub(super) fn push(&mut self, field: &Field, id: FieldId, around: Box<[ArrayId]>) {
        let mut segments = field.path().split('.');
        let mut name_bytes = 0_usize;
        for (number, level) in around.iter().zip(1..=u16::MAX) {
            for segment in segments.by_ref() {
                let key = segment.trim_end_matches("[]");
                let dot = usize::from(name_bytes > 0);
                name_bytes = name_bytes.saturating_add(dot).saturating_add(key.len());
                if key.len() < segment.len() {
                    break;
                }
            }
            if number.index() == self.list.len() {
                let array = ElementArray { field: id, level };
                self.list.push(NamedArray { array, name_bytes, fields: Vec::new() });
            }
            if let Some(array) = self.list.get_mut(number.index()) {
                array.fields.push(id);
            }
        }
        self.of_fields.push(around);
    }

    fn get(&self, id: ArrayId) -> Option<&NamedArray> {
        self.list.get(id.index())
    }

    fn of_field(&self, field: FieldId) -> &[ArrayId] {
        self.of_fields.get(field.index()).map_or(&[], |around| around)
    }

    fn of(&self, array: ElementArray) -> Option<&NamedArray> {
        self.get(*self.of_field(array.field).get(usize::from(array.level).checked_sub(1)?)?)
    }
}

impl Catalog {
    /// Finds an array of objects by its path without `[]`.
    pub(crate) fn find_array(&self, name: &str) -> Option<ElementArray> {
        let found = self.inner.arrays.list.iter().find(|array| {
            array.name_bytes == name.len() && self.field(array.array.field).name().starts_with(name)
        });
        found.map(|found| found.array)
    }

    /// Returns the arrays of objects around a field, from the outermost on. A field that is not visible has none.
    pub(crate) fn arrays_around(&self, field: FieldId) -> &[ArrayId] {
        self.inner.arrays.of_field(field)
    }

    /// Returns the number of an array.
    pub(crate) fn array_id(&self, array: ElementArray) -> Option<ArrayId> {
        self.arrays_around(array.field).get(usize::from(array.level).checked_sub(1)?).copied()
    }

    /// Returns the same array with the first field of this catalogue that lies below it.
    pub(crate) fn same_array(&self, array: ElementArray) -> ElementArray {
        self.inner.arrays.of(array).map_or(array, |found| found.array)
    }

    /// Returns the path of an array without `[]`.
    pub(crate) fn array_name(&self, array: ElementArray) -> &str {
        self.inner.arrays.of(array).map_or("", |found| self.name_of(found))
    }

    /// Returns the visible fields below an array, in the order of the catalogue.
    pub(crate) fn fields_of_array(&self, array: ElementArray) -> &[FieldId] {
        self.inner.arrays.of(array).map_or(&[], |found| &found.fields)
    }

    /// Returns the visible fields below the array with a number.
    pub(crate) fn fields_of_array_id(&self, id: ArrayId) -> &[FieldId] {
        self.inner.arrays.get(id).map_or(&[], |found| &found.fields)
    }

    /// Returns the names of all arrays of objects.
    pub(crate) fn array_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.inner.arrays.list.iter().map(|array| self.name_of(array))
    }

    fn name_of(&self, array: &NamedArray) -> &str {
        self.field(array.array.field).name().get(..array.name_bytes).unwrap_or_default()
    }

    /// Returns true if the field lies below the array.
    pub(crate) fn is_below(&self, field: FieldId, array: ElementArray) -> bool {
        self.array_id(array).is_some_and(|array| self.arrays_around(field).contains(&array))
    }

    /// Returns true if the array `inner` lies below the array `outer`.
    pub(crate) fn is_array_below(&self, inner: ElementArray, outer: ElementArray) -> bool {
        inner.level > outer.level && self.is_below(inner.field, outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::FieldType;

    #[test]
    fn arrays_of_objects_are_found_by_their_paths() {
        let catalog = Catalog::new([
            Field::new("tags[]", FieldType::String),
            Field::new("legs[].bank", FieldType::String),
            Field::new("legs[].fees[].amount", FieldType::Number),
            Field::new("legs[].fees[].kinds[]", FieldType::String),
            Field::new("grid[][].x", FieldType::Number),
        ])
        .unwrap();
        assert_eq!(catalog.array_names().collect::<Vec<_>>(), ["legs", "legs.fees", "grid"]);
        let legs = catalog.find_array("legs").unwrap();
        let fees = catalog.find_array("legs.fees").unwrap();
        let field = |name| catalog.find(name).unwrap();
        assert_eq!((legs.level, fees.level), (1, 2));
        assert_eq!((legs.field, fees.field), (field("legs.bank"), field("legs.fees.amount")));
        assert!(catalog.is_array_below(fees, legs) && !catalog.is_array_below(legs, fees));
        assert!(!catalog.is_array_below(legs, legs));
        assert!(catalog.is_below(field("legs.fees.kinds"), legs) && !catalog.is_below(field("tags"), legs));
        assert!(!catalog.is_below(field("legs.bank"), fees));
        assert_eq!(catalog.arrays_around(field("legs.fees.kinds")).len(), 2);
        for name in ["tags", "legs.fees.kinds", "leg", "", "legs[]"] {
            assert_eq!(catalog.find_array(name), None, "{name}");
        }
        let narrow = catalog.allow(["legs.fees.kinds"]).unwrap();
        let narrowed = narrow.find_array("legs").unwrap();
        assert_eq!(narrowed.field, field("legs.fees.kinds"));
        assert_eq!(catalog.same_array(narrowed), legs);
        assert_eq!(catalog.array_name(narrowed), "legs");
    }
}
