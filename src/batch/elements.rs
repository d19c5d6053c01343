//! Iterates over the values and the elements of arrays of objects of one document, in document order.

use super::row::Row;
use crate::catalog::{ArrayId, FieldId};
use crate::value::Value;

/// A value of a document, or the start of an element of an array of objects.
#[derive(Clone, Copy)]
pub(crate) enum Event<'r, 'a> {
    Value(FieldId, &'r Value<'a>),
    Element(ArrayId),
}

impl<'a> Row<'a> {
    /// Calls `take` for each value and each start of an element, in document order. The *place* of a value or element in the
    /// document is the number of calls before its call.
    #[inline]
    pub(crate) fn for_each<'r>(&'r self, mut take: impl FnMut(Event<'r, 'a>)) {
        let mut elements = self.elements().iter().peekable();
        for (at, (field, value)) in self.iter().enumerate() {
            while let Some((array, _)) = elements.next_if(|(_, start)| *start as usize <= at) {
                take(Event::Element(*array));
            }
            take(Event::Value(field, value));
        }
        elements.for_each(|(array, _)| take(Event::Element(*array)));
    }
}
