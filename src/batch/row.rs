//! The values of one case while it is being read, before they are added to columns. Also the errors and remarks about these values.

use std::borrow::Cow;
use std::sync::Arc;

use crate::catalog::{ArrayId, FieldId, Stray};
use crate::error::{Error, ErrorKind, REPORTED_ERRORS};
use crate::value::Value;

/// The values of one case with their fields, in document order.
///
/// One row is reused for many cases, so that reading a case allocates almost no memory.
#[derive(Debug, Default)]
pub(crate) struct Row<'a> {
    values: Vec<(FieldId, Value<'a>)>,
    /// The start of each element of an array of objects: the array, and the number of values before it. In document order.
    elements: Vec<(ArrayId, u32)>,
    /// The number of values that come from the document. Default values follow them.
    own: usize,
    faults: Vec<Error>,
    remarks: Vec<Remark<'a>>,
}

/// A *remark*: a warning to the author of a case. Perhaps a value or a member was read in another way than it was meant. A remark
/// is not an error. The string in a variant is the value as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remark<'a> {
    /// A timestamp without a UTC offset, which was read as UTC.
    NoZone(FieldId, Cow<'a, str>),
    /// A number that was rounded, because a double cannot represent it exactly.
    Rounded(FieldId, Cow<'a, str>),
    /// A number that was read as Unix milliseconds, but is probably a year, a date or seconds.
    Mistaken(FieldId, Cow<'a, str>),
    /// A member that is not a field, but looks like a field.
    Stray(Arc<Stray>),
}

impl Remark<'_> {
    /// Returns the field of the value, if the remark is about a field.
    pub(crate) fn field(&self) -> Option<FieldId> {
        match self {
            Self::NoZone(field, _) | Self::Rounded(field, _) | Self::Mistaken(field, _) => Some(*field),
            Self::Stray(_) => None,
        }
    }

    /// Returns true if both remarks are of the same kind, about the same field or member.
    pub(crate) fn is_like(&self, other: &Remark<'_>) -> bool {
        match (self, other) {
            (Self::NoZone(own, _), Remark::NoZone(other, _))
            | (Self::Rounded(own, _), Remark::Rounded(other, _))
            | (Self::Mistaken(own, _), Remark::Mistaken(other, _)) => own == other,
            (Self::Stray(own), Remark::Stray(other)) => own.path == other.path,
            _ => false,
        }
    }
}

/// The number of values for which a row reserves memory at the start. Few cases have more values. For such a case, the memory grows
/// later.
const USUAL_VALUES: usize = 64;

impl<'a> Row<'a> {
    /// Clears the row and returns it with another lifetime, for a case in another text. Keeps the memory of the row.
    pub(crate) fn recycle<'b>(mut self) -> Row<'b> {
        self.clear();
        // Collecting into a vector of the same layout reuses the memory of the source vector.
        let values = self.values.into_iter().map_while(|_| None).collect();
        let remarks = self.remarks.into_iter().map_while(|_| None).collect();
        Row { values, elements: self.elements, own: 0, faults: self.faults, remarks }
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.elements.clear();
        self.faults.clear();
        self.remarks.clear();
    }

    /// Adds a remark, unless the row already has the same remark about the same field or member.
    pub(crate) fn remark(&mut self, remark: Remark<'a>) {
        if !self.remarks.iter().any(|made| made.is_like(&remark)) {
            self.remarks.push(remark);
        }
    }

    /// Returns the remarks on the values of the row.
    pub(crate) fn remarks(&self) -> &[Remark<'a>] {
        &self.remarks
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, field: FieldId, value: Value<'a>) {
        if self.values.len() == self.values.capacity() {
            self.values.reserve(USUAL_VALUES);
        }
        self.values.push((field, value));
    }

    /// Begins an element of an array of objects. This element contains the values and elements below the array that are added
    /// before the next element of the array begins.
    #[inline(always)]
    pub(crate) fn begin_element(&mut self, array: ArrayId) {
        // A document is shorter than 4 GiB.
        self.elements.push((array, u32::try_from(self.values.len()).unwrap_or(u32::MAX)));
    }

    /// Returns the start of each element of an array of objects, in document order. A start is the array of the element, and the
    /// number of values before the element.
    pub(crate) fn elements(&self) -> &[(ArrayId, u32)] {
        &self.elements
    }

    /// Marks all values that are pushed after this call as default values, which do not come from the document.
    pub(crate) fn begin_defaults(&mut self) {
        self.own = self.values.len();
    }

    /// Returns true if the document itself has a value of the field. Ignores default values.
    pub(crate) fn has_own(&self, field: FieldId) -> bool {
        self.iter_own().any(|(other, _)| other == field)
    }

    /// Returns true if the row has a value of the field, including default values. Searches from the end.
    pub(crate) fn has(&self, field: FieldId) -> bool {
        self.values.iter().rev().any(|(other, _)| *other == field)
    }

    /// Returns all values with their fields: the values of the document in document order, then default values.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (FieldId, &Value<'a>)> {
        self.values.iter().map(|(field, value)| (*field, value))
    }

    /// Returns the values of the document itself with their fields, in document order. Ignores default values.
    pub(crate) fn iter_own(&self) -> impl ExactSizeIterator<Item = (FieldId, &Value<'a>)> {
        self.iter().take(self.own)
    }

    /// Returns the values of a field in document order, with repetitions.
    pub(crate) fn values(&self, field: FieldId) -> impl Iterator<Item = &Value<'a>> + Clone {
        self.values.iter().filter(move |(other, _)| *other == field).map(|(_, value)| value)
    }

    /// Returns the `id`, which every valid case has.
    pub(crate) fn id(&self) -> &str {
        match self.values(FieldId::ID).next() {
            Some(Value::String(id)) => id,
            _ => "",
        }
    }

    /// Removes the values and remarks of `fields`.
    pub(crate) fn remove(&mut self, fields: &[FieldId]) {
        let mut values = self.values.iter();
        let (mut before, mut left) = (0_usize, 0_u32);
        for (_, start) in &mut self.elements {
            let own = values.by_ref().take((*start as usize).saturating_sub(before));
            left =
                own.filter(|(field, _)| !fields.contains(field)).fold(left, |left, _| left.saturating_add(1));
            before = *start as usize;
            *start = left;
        }
        self.values.retain(|(field, _)| !fields.contains(field));
        self.remarks.retain(|remark| remark.field().is_none_or(|field| !fields.contains(&field)));
    }

    /// Records the error of a rejected field value. Keeps the first ten errors, and all errors of `id`, because an invalid `id`
    /// rejects the case.
    pub(crate) fn fault(&mut self, fault: Error) {
        if self.faults.len() < REPORTED_ERRORS || fault.kind == ErrorKind::BadId {
            self.faults.push(fault);
        }
    }

    pub(crate) fn faults(&self) -> &[Error] {
        &self.faults
    }

    pub(crate) fn take_faults(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.faults)
    }
}
