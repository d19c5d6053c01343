//! Memory for an answer, which is asked for before the records are read that it is made of.

use super::error::DomainError;

/// The room of one answer.
///
/// The records that an answer is made of are in memory together with the answer: their text, what is parsed of it, and the new
/// text. An operation therefore takes a multiple of their size, which is known before they are read.
pub(crate) struct Room<'r> {
    bytes: usize,
    has_room: &'r mut dyn FnMut(usize) -> bool,
}

impl<'r> Room<'r> {
    /// Returns the room that `has_room` gives: it is called with the bytes that are taken in all, and returns false if there is no
    /// room for them.
    pub(crate) fn new(has_room: &'r mut dyn FnMut(usize) -> bool) -> Self {
        Self { bytes: 0, has_room }
    }

    /// Takes room for `bytes` more.
    ///
    /// # Errors
    /// [`Busy`](super::DomainErrorKind::Busy) when there is none.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), DomainError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if (self.has_room)(self.bytes) { Ok(()) } else { Err(DomainError::no_room()) }
    }
}
