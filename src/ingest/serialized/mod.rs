//! Reads a document from a Rust value that implements `Serialize`, without writing it as text.
//!
//! The result is the same as that of [`read_case`](super::read_case) on the JSON that `serde_json` writes for the value.

mod compound;
mod key;
mod reader;
#[cfg(test)]
mod tests;
mod value;

use serde::Serialize;

use self::reader::{ReadError, ValueReader};
use crate::batch::OwnedRow;
use crate::catalog::Catalog;
use crate::error::Errors;
use crate::limits::Limits;

/// Reads a document from `value`. Absent fields get their default.
///
/// # Errors
/// Returns at most ten of the errors that a strict import would report. They have paths, but no offsets.
pub(crate) fn read_serialized<T: Serialize + ?Sized>(
    value: &T,
    catalog: &Catalog,
    limits: &Limits,
) -> Result<OwnedRow, Errors> {
    let mut reader = ValueReader::new(catalog, limits);
    if let Err(ReadError(error)) = value.serialize(&mut reader) {
        return Err((*error).into());
    }
    reader.finish()
}
