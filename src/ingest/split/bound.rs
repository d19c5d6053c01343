//! How much of a file is held.

use crate::error::{Error, ErrorKind};

/// A line may have so much space around its document.
pub(super) const SPACE_BYTES: usize = 4096;

/// The error of a document that is longer than `limit`.
pub(super) fn too_large(found: &str, limit: usize) -> Error {
    let limit = limit.saturating_sub(SPACE_BYTES);
    Error::new(ErrorKind::CaseTooLarge, 0, found, format!("a case of at most {limit} bytes"))
}
