//! The values of one case, before they go into columns.

use std::borrow::Cow;
use std::sync::Arc;

use crate::catalog::{FieldId, Stray};
use crate::error::{Error, ErrorKind, REPORTED_ERRORS};
use crate::value::Value;

/// The values of one case, each with its field, in the order of its document.
///
/// Reused from case to case, so that reading a case allocates next to nothing.
#[derive(Debug, Default)]
pub(crate) struct Row<'a> {
    values: Vec<(FieldId, Value<'a>)>,
    /// The number of values of the document; defaults come after them.
    own: usize,
    faults: Vec<Error>,
    remarks: Vec<Remark<'a>>,
}

/// A remark on how a value of a case was read, which its author may not expect. It is not a fault. The text is that of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remark<'a> {
    /// A timestamp without an offset counts as UTC.
    NoZone(FieldId, Cow<'a, str>),
    /// A number that is another one as a double.
    Rounded(FieldId, Cow<'a, str>),
    /// Unix milliseconds that look like something else.
    Mistaken(FieldId, Cow<'a, str>),
    /// A member that is no field, but looks like one.
    Stray(Arc<Stray>),
}

impl Remark<'_> {
    /// Returns the field of the value that it is about, if any.
    pub(crate) fn field(&self) -> Option<FieldId> {
        match self {
            Self::NoZone(field, _) | Self::Rounded(field, _) | Self::Mistaken(field, _) => Some(*field),
            Self::Stray(_) => None,
        }
    }

    /// True when both say the same of the same field or member.
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

/// Cases seldom have more values than this.
const USUAL_VALUES: usize = 64;

impl<'a> Row<'a> {
    /// Returns an empty row with the memory of this one, for a case of another text.
    pub(crate) fn recycle<'b>(mut self) -> Row<'b> {
        self.clear();
        // Collecting from a vector of the same layout keeps its memory.
        let values = self.values.into_iter().map_while(|_| None).collect();
        let remarks = self.remarks.into_iter().map_while(|_| None).collect();
        Row { values, own: 0, faults: self.faults, remarks }
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.faults.clear();
        self.remarks.clear();
    }

    /// Makes a remark, once for each field or member.
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

    /// Marks values pushed from now on as defaults, which the document does not have.
    pub(crate) fn begin_defaults(&mut self) {
        self.own = self.values.len();
    }

    /// True when the document itself has a value of the field.
    pub(crate) fn has_own(&self, field: FieldId) -> bool {
        self.values.iter().take(self.own).any(|(other, _)| *other == field)
    }

    /// True when there is a value of the field; searches from the end.
    pub(crate) fn has(&self, field: FieldId) -> bool {
        self.values.iter().rev().any(|(other, _)| *other == field)
    }

    /// Returns all values in the order of the document.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (FieldId, &Value<'a>)> {
        self.values.iter().map(|(field, value)| (*field, value))
    }

    /// Returns the values of a field in the order of the document, with repetitions.
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

    /// Makes fields absent.
    pub(crate) fn remove(&mut self, fields: &[FieldId]) {
        self.values.retain(|(field, _)| !fields.contains(field));
        self.remarks.retain(|remark| remark.field().is_none_or(|field| !fields.contains(&field)));
    }

    /// Notes a field value that was rejected: the first ten, and any `id`, since that rejects the case.
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
