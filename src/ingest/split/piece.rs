//! The output of a splitter: documents, and faults of the file.

use crate::error::Error;

/// The bytes of one document, or an error instead of it.
pub(crate) struct Piece<'a> {
    /// The line at which the document starts, counted from 1.
    pub(crate) line: u64,
    /// The document, with whitespace around it.
    pub(crate) bytes: Result<&'a [u8], Error>,
}

/// A fault of the file rather than of one document in it.
#[derive(Debug)]
pub(crate) struct FileFault {
    pub(crate) line: u64,
    pub(crate) error: Error,
}

/// A receiver of pieces. Its error ends the splitting.
pub(crate) trait Sink<E>: FnMut(Piece<'_>) -> Result<(), E> {}

impl<E, F: FnMut(Piece<'_>) -> Result<(), E>> Sink<E> for F {}
