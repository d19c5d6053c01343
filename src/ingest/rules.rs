//! Rules that every reader applies to a case: its maximum size, its `id` and its defaults.

use std::borrow::Cow;

use super::ordered_form::OrderedForm;
use crate::batch::{MAX_DOCUMENT_BYTES, Row};
use crate::catalog::{Catalog, Field, FieldId, FieldType};
use crate::error::{Error, ErrorKind, Found};
use crate::limits::Limits;
use crate::value::Value;

/// The maximum length of an `id`, in bytes of UTF-8.
const MAX_ID_BYTES: usize = 1024;

/// Completes a row after its last value: fields with a rejected value become absent, and absent fields get their default.
///
/// # Errors
/// Returns an error if the row has no usable `id`. The position of the error is `id_offset` if the `id` has a value.
pub(crate) fn complete(
    row: &mut Row<'_>,
    rejected: &[FieldId],
    id_offset: usize,
    catalog: &Catalog,
) -> Result<(), Error> {
    if !rejected.is_empty() {
        row.remove(rejected);
    }
    check_id(row, id_offset)?;
    row.begin_defaults();
    for (field, default) in catalog.defaults() {
        if !row.has(*field) {
            row.push(*field, Value::String(Cow::Owned(default.to_string())));
        }
    }
    Ok(())
}

/// Returns the maximum size of a case in bytes: the host's limit, or the largest offset in a batch if that is smaller.
pub(crate) fn case_limit(limits: &Limits) -> usize {
    limits.document_bytes.min(MAX_DOCUMENT_BYTES)
}

/// Checks the `id`. The reader has already recorded an `id` of a wrong type as a fault.
fn check_id(row: &Row<'_>, offset: usize) -> Result<(), Error> {
    match row.values(FieldId::ID).next() {
        Some(Value::String(id)) => check_identity(Some(id.len()), offset),
        Some(_) => Ok(()),
        None => match row.faults().iter().find(|fault| fault.kind == ErrorKind::BadId) {
            Some(fault) => Err(bad_id(fault.offset, fault.found.clone())),
            None => check_identity(None, 0),
        },
    }
}

/// Checks the length in bytes of an `id` at `offset`; `None` if the document has none.
pub(super) fn check_identity(len: Option<usize>, offset: usize) -> Result<(), Error> {
    match len {
        Some(0) => Err(bad_id(offset, "an empty `id`")),
        Some(len) if len > MAX_ID_BYTES => Err(bad_id(offset, format!("an `id` of {len} bytes"))),
        Some(_) => Ok(()),
        None => Err(bad_id(0, "no `id`")),
    }
}

fn bad_id(offset: usize, found: impl Into<Found>) -> Error {
    Error::new(ErrorKind::BadId, offset, found, format!("a string of 1 to {MAX_ID_BYTES} bytes"))
}

/// Returns the name of the JSON type of a field's values, for errors.
pub(crate) fn expected_value(field: &Field) -> &'static str {
    match (OrderedForm::of(field), field.field_type()) {
        (Some(form), _) => form.expected(),
        (None, FieldType::Boolean) => "a boolean",
        (None, _) => "a string",
    }
}
