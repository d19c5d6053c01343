//! The memory budget of one answer, checked before the records of the answer are read.

use super::error::DomainError;

/// The memory budget of one answer.
///
/// The records of an answer are in memory together with it: their text, their parsed values, and the new text. So an operation reserves a
/// multiple of the size of the records, which is known before they are read.
pub(crate) struct Room<'r> {
    bytes: usize,
    has_room: &'r mut dyn FnMut(usize) -> bool,
}

impl<'r> Room<'r> {
    /// Creates a budget with no reserved bytes. `has_room` is called with the total number of reserved bytes, and returns false if that is
    /// too much.
    pub(crate) fn new(has_room: &'r mut dyn FnMut(usize) -> bool) -> Self {
        Self { bytes: 0, has_room }
    }

    /// Reserves `bytes` more.
    ///
    /// # Errors
    /// Returns [`Busy`](super::DomainErrorKind::Busy) if they exceed the budget.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), DomainError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if (self.has_room)(self.bytes) { Ok(()) } else { Err(DomainError::no_room()) }
    }
}
