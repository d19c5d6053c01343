//! The memory budget of one answer, checked before the records of the answer are read.

use super::error::DomainError;

/// The memory budget of one answer.
///
/// The records of an answer are in memory together with it: their text, their parsed values, and the new text. So an operation
/// takes a multiple of the size of the records, which is known before they are read.
pub(crate) struct Room<'r> {
    bytes: usize,
    has_room: &'r mut dyn FnMut(usize) -> bool,
}

impl<'r> Room<'r> {
    /// Returns an empty budget. `has_room` is called with the total of bytes taken, and returns false if that is too much.
    pub(crate) fn new(has_room: &'r mut dyn FnMut(usize) -> bool) -> Self {
        Self { bytes: 0, has_room }
    }

    /// Takes `bytes` more.
    ///
    /// # Errors
    /// [`Busy`](super::DomainErrorKind::Busy) if there is no room for them.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), DomainError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if (self.has_room)(self.bytes) { Ok(()) } else { Err(DomainError::no_room()) }
    }
}
