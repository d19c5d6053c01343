//! The values of one case, before they go into columns.

use smallvec::SmallVec;

use crate::catalog::{Catalog, FieldId};
use crate::error::Error;
use crate::value::Value;

/// The value sets of one case: for each field of a catalogue, its values.
///
/// Reused from case to case, so that reading a case allocates next to nothing.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    fields: Vec<SmallVec<[Value<'a>; 1]>>,
    faults: Vec<Error>,
}

impl<'a> Row<'a> {
    /// A row without values.
    pub(crate) fn new(catalog: &Catalog) -> Self {
        Self { fields: vec![SmallVec::new(); catalog.fields().len()], faults: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.fields.iter_mut().for_each(SmallVec::clear);
        self.faults.clear();
    }

    pub(crate) fn push(&mut self, field: FieldId, value: Value<'a>) {
        if let Some(values) = self.fields.get_mut(field.index()) {
            values.push(value);
        }
    }

    /// The value set of a field, in the order of the document, repetitions kept.
    pub(crate) fn values(&self, field: FieldId) -> &[Value<'a>] {
        self.fields.get(field.index()).map_or(&[], SmallVec::as_slice)
    }

    /// The `id`, which every sound case has.
    pub(crate) fn id(&self) -> &str {
        match self.values(FieldId::ID).first() {
            Some(Value::String(id)) => id,
            _ => "",
        }
    }

    /// Makes a field absent.
    pub(crate) fn remove(&mut self, field: FieldId) {
        if let Some(values) = self.fields.get_mut(field.index()) {
            values.clear();
        }
    }

    /// Notes a field value that was refused.
    pub(crate) fn fault(&mut self, fault: Error) {
        self.faults.push(fault);
    }

    pub(crate) fn faults(&self) -> &[Error] {
        &self.faults
    }

    pub(crate) fn take_faults(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.faults)
    }
}
