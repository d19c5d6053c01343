//! Rules that hold for a case whichever reader read it: its size, its `id`, its defaults.

use std::borrow::Cow;

use super::ordered_form::OrderedForm;
use crate::batch::{MAX_DOCUMENT_BYTES, Row};
use crate::catalog::{Catalog, Field, FieldId, FieldType};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::value::Value;

/// The longest `id`, in bytes of UTF-8.
const MAX_ID_BYTES: usize = 1024;

/// Ends a row whose values are all in: fields of which one was refused become absent, absent fields
/// that have a default get it.
///
/// # Errors
/// When there is no usable `id`; its value, where there is one, stands at `id_offset`.
pub(crate) fn complete(
    row: &mut Row<'_>,
    refused: &[FieldId],
    id_offset: usize,
    catalog: &Catalog,
) -> Result<(), Error> {
    if !refused.is_empty() {
        row.remove(refused);
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

/// The largest case: what the host allows, up to what offsets in a batch can hold.
pub(crate) fn case_limit(limits: &Limits) -> usize {
    limits.case_bytes.min(MAX_DOCUMENT_BYTES)
}

/// A case must have a usable `id`; a wrong type was noted as a fault of the field.
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

/// What a document may hold as a value of the field.
pub(crate) fn expected_value(field: &Field) -> &'static str {
    match (OrderedForm::of(field), field.kind()) {
        (Some(form), _) => form.expected(),
        (None, FieldType::Boolean) => "a boolean",
        (None, _) => "a string",
    }
}
