//! Rules that every reader applies to a case: its maximum size, its `id` and its defaults.

use std::borrow::Cow;

use super::ordered_form::OrderedForm;
use crate::batch::{MAX_DOCUMENT_BYTES, Row};
use crate::catalog::{Catalog, Field, FieldId, FieldType};
use crate::error::{Error, ErrorKind};
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
    let bad = |offset, found: String| {
        let expected = format!("a string of 1 to {MAX_ID_BYTES} bytes");
        Err(Error::new(ErrorKind::BadId, offset, found, expected))
    };
    match row.values(FieldId::ID).next() {
        Some(Value::String(id)) if id.is_empty() => bad(offset, "an empty `id`".to_owned()),
        Some(Value::String(id)) if id.len() > MAX_ID_BYTES => {
            bad(offset, format!("an `id` of {} bytes", id.len()))
        }
        Some(_) => Ok(()),
        None => match row.faults().iter().find(|fault| fault.kind == ErrorKind::BadId) {
            Some(fault) => bad(fault.offset, fault.found.clone()),
            None => bad(0, "no `id`".to_owned()),
        },
    }
}

/// Returns the name of the JSON type of a field's values, for errors.
pub(crate) fn expected_value(field: &Field) -> &'static str {
    match (OrderedForm::of(field), field.field_type()) {
        (Some(form), _) => form.expected(),
        (None, FieldType::Boolean) => "a boolean",
        (None, _) => "a string",
    }
}
