//! The rules that every reader applies to a case: its maximum size, its `id` and its defaults.

use std::borrow::Cow;

use super::ordered_form::OrderedForm;
use crate::batch::{MAX_DOCUMENT_BYTES, Row};
use crate::catalog::{Catalog, Field, FieldId, FieldType, IdType};
use crate::error::{Error, ErrorKind, Found, quote};
use crate::limits::Limits;
use crate::value::{Value, canonical_id};

/// The maximum length of an `id` in UTF-8, in bytes.
pub(crate) const MAX_ID_BYTES: usize = 1024;

/// Completes a row after its last value has been read. Removes the values of the fields in `rejected`, which have an invalid value.
/// Then adds the defaults of absent fields.
///
/// # Errors
/// Returns an error if the row has no valid `id`. The position of the error is `id_offset` if the `id` has a value.
pub(crate) fn complete(
    row: &mut Row<'_>,
    rejected: &[FieldId],
    id_offset: usize,
    catalog: &Catalog,
) -> Result<(), Error> {
    if !rejected.is_empty() {
        row.remove(rejected);
    }
    check_id(row, id_offset, catalog)?;
    add_defaults(row, catalog);
    Ok(())
}

/// Adds the defaults of the fields that a row does not have. The row may be without an `id`.
pub(crate) fn add_defaults(row: &mut Row<'_>, catalog: &Catalog) {
    row.begin_defaults();
    for (field, default) in catalog.defaults() {
        if !row.has(*field) {
            row.push(*field, default.clone());
        }
    }
}

/// Returns the maximum size of a case, in bytes. It is the host's limit, but at most [`MAX_DOCUMENT_BYTES`], so that offsets into
/// the documents of a batch fit a `u32`.
pub(crate) fn case_limit(limits: &Limits) -> usize {
    limits.document_bytes.min(MAX_DOCUMENT_BYTES)
}

/// Checks the `id`. If the `id` has the wrong type, the reader has already recorded this as a fault.
fn check_id(row: &Row<'_>, offset: usize, catalog: &Catalog) -> Result<(), Error> {
    match row.values(FieldId::ID).next() {
        Some(Value::String(id)) => check_identity(Some(id.len()), offset, catalog),
        Some(_) => Ok(()),
        None => match row.faults().iter().find(|fault| fault.kind == ErrorKind::BadId) {
            Some(fault) => Err(bad_id(fault.offset, fault.found.clone(), catalog)),
            None => check_identity(None, 0, catalog),
        },
    }
}

/// Checks the length of an `id` at `offset`, in bytes. `len` is `None` if the document has no `id`.
pub(super) fn check_identity(len: Option<usize>, offset: usize, catalog: &Catalog) -> Result<(), Error> {
    let name = || quote(catalog.id_name());
    match len {
        Some(0) => Err(bad_id(offset, format!("an empty {}", name()), catalog)),
        Some(len) if len > MAX_ID_BYTES => {
            Err(bad_id(offset, format!("an {} of {len} bytes", name()), catalog))
        }
        Some(_) => Ok(()),
        None => Err(bad_id(0, format!("no {}", name()), catalog)),
    }
}

fn bad_id(offset: usize, found: impl Into<Found>, catalog: &Catalog) -> Error {
    Error::new(ErrorKind::BadId, offset, found, catalog.id_type().expected())
}

/// Returns the canonical form of an id, by which documents are found. If the text is not an id of the catalogue's type, returns the
/// text unchanged. No document has such an id.
pub(crate) fn stored_id<'t>(catalog: &Catalog, text: &'t str) -> Cow<'t, str> {
    canonical_id(catalog.id_type(), text).unwrap_or(Cow::Borrowed(text))
}

/// Converts the text of an id in a document to a value in canonical form. Returns `None` if the text is not an id of the type.
pub(super) fn id_of<'a>(id_type: IdType, text: Cow<'a, str>) -> Option<Value<'a>> {
    match text {
        Cow::Borrowed(text) => canonical_id(id_type, text).map(Value::String),
        Cow::Owned(text) => canonical_id(id_type, &text).map(|id| Value::String(Cow::Owned(id.into_owned()))),
    }
}

/// Returns the name of the type or form of a field's values, for error messages.
pub(crate) fn expected_value(field: &Field) -> &'static str {
    match (OrderedForm::of(field), field.field_type()) {
        _ if field.id_type() != IdType::String => field.id_type().expected(),
        (Some(form), _) => form.expected(),
        (None, FieldType::Boolean) => "a boolean",
        (None, _) => "a string",
    }
}
