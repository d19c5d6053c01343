//! The arrays of objects of a catalogue. The operators `$elem` and `has` test the elements of these arrays.
//!
//! # Names
//!
//! A path names an array if it leads to an array of objects, and at least one visible field lies below this array. The name of an
//! array is its path without `[]`, such as `caseReview.checklistState.checklist`. Fields are named in the same way. An array of
//! scalars, such as `tags`, is not an array of objects. Each of its values is an element, so an ordinary criterion already tests
//! single elements.
//!
//! # Elements
//!
//! | in a document | elements |
//! |---|---|
//! | an array | the elements of the array in order, including `null` |
//! | `null` or absent | no elements |
//! | an array of arrays, `legs[][].bank` | the elements of the inner arrays, as if these were one array |
//! | an array below an array, `legs[].fees[].amount` | for `legs.fees`: elements of all `fees`; each is in one element of `legs` |
//!
//! An element that is `null` has no values. Any other element that is not an object is a value of the wrong type. A single object
//! instead of an array also has the wrong type. A strict import rejects the document. A lenient import treats all fields below the
//! value as absent.
//!
//! # Levels
//!
//! The arrays of objects around a field, from the outermost to the innermost, are its *levels* 1, 2 and so on.
//! `legs[].fees[].amount` has two levels, and `legs[].tags[]` has one level.

use super::field::Field;
use super::id::FieldId;

/// The id of an array of objects in its catalogue. An outer array has a smaller id than the arrays inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ArrayId(pub(super) u32);

impl ArrayId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An array of objects, identified by a field and a level. It has the same meaning in a catalogue and in all catalogues that were
/// narrowed, grown or extended from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ElementArray {
    /// The first visible field below the array.
    pub(crate) field: FieldId,
    /// The level of the array. The outermost array has level 1.
    pub(crate) level: u16,
}

/// The arrays of objects of a catalogue.
#[derive(Default)]
pub(super) struct Arrays {
    /// The arrays by [`ArrayId`].
    pub(super) list: Vec<NamedArray>,
    /// For each field: the arrays around it, from the outermost to the innermost.
    of_fields: Vec<Box<[ArrayId]>>,
}

pub(super) struct NamedArray {
    pub(super) array: ElementArray,
    /// The length of the name of the array, in bytes. The name is the start of the name of `array.field`.
    pub(super) name_bytes: usize,
    /// The visible fields below the array.
    pub(super) fields: Vec<FieldId>,
}

impl Arrays {
    /// Adds a field that is not visible.
    pub(super) fn skip(&mut self) {
        self.of_fields.push(Box::default());
    }

    /// Adds the next field of the catalogue, and the arrays around it that are not yet in the list.
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

    pub(super) fn get(&self, id: ArrayId) -> Option<&NamedArray> {
        self.list.get(id.index())
    }

    pub(super) fn of_field(&self, field: FieldId) -> &[ArrayId] {
        self.of_fields.get(field.index()).map_or(&[], |around| around)
    }

    pub(super) fn of(&self, array: ElementArray) -> Option<&NamedArray> {
        self.get(*self.of_field(array.field).get(usize::from(array.level).checked_sub(1)?)?)
    }
}
