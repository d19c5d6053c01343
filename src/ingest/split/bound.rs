//! The error for a document that is longer than the limit.

use crate::error::{Error, ErrorKind};

/// The maximum length of the whitespace around a document on its line, in bytes.
pub(super) const SPACE_BYTES: usize = 4096;

/// Returns the error for a document that is longer than `limit`, which includes [`SPACE_BYTES`].
pub(super) fn too_large(found: &str, limit: usize) -> Error {
    let limit = limit.saturating_sub(SPACE_BYTES);
    Error::new(ErrorKind::DocumentTooLarge, 0, found, format!("a document of at most {limit} bytes"))
}
