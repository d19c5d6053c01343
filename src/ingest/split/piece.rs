//! The output of a splitter: documents, and faults of the file.

use crate::error::Error;

/// One document of a file: its bytes, or the error that prevented reading them.
pub(crate) struct Piece<'a> {
    /// The line at which the document starts, counted from 1.
    pub(crate) line: u64,
    /// The document, possibly with whitespace around it.
    pub(crate) bytes: Result<&'a [u8], Error>,
}

/// A fault that affects the file and not only one document in it.
#[derive(Debug)]
pub(crate) struct FileFault {
    pub(crate) line: u64,
    pub(crate) error: Error,
}

/// A receiver of pieces. If it returns an error, the splitter stops.
pub(crate) trait Sink<E>: FnMut(Piece<'_>) -> Result<(), E> {}

impl<E, F: FnMut(Piece<'_>) -> Result<(), E>> Sink<E> for F {}
