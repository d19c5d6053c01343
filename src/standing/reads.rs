//! The fields that filters read from a case.

use crate::catalog::FieldId;
use crate::filter::Filter;

/// The fields that filters read from a case, and whether they read the elements of arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    /// Ascending and without repetitions, after [`settle`](Self::settle).
    pub(super) fields: Vec<FieldId>,
    pub(super) has_elements: bool,
}

impl Reads {
    pub(super) fn add(&mut self, fields: &[FieldId]) {
        self.fields.extend_from_slice(fields);
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        self.add(&other.fields);
        self.has_elements |= other.has_elements;
    }

    pub(super) fn add_filter(&mut self, filter: &Filter) {
        self.fields.extend(filter.predicate().fields());
        self.has_elements |= filter.predicate().has_elements();
    }

    /// Sorts the fields, and removes repetitions.
    pub(super) fn settle(&mut self) {
        self.fields.sort_unstable();
        self.fields.dedup();
    }

    /// Returns the heap memory in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.fields.capacity().saturating_mul(size_of::<FieldId>())
    }
}
