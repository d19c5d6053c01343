//! The memory budget of one answer (`Room`). It is checked before the records of the answer are read. In ARCHITECTURE.md, *room* is
//! a term for a part of the source. Here, *room* means memory.

use super::error::DomainError;

/// The memory budget of one answer.
///
/// While an operation computes an answer, the text of the records, their parsed values and the answer are in memory together. So
/// the operation reserves a multiple of the size of the records. The size is known before the records are read.
pub(crate) struct Room<'r> {
    bytes: usize,
    has_room: &'r mut dyn FnMut(usize) -> bool,
}

impl<'r> Room<'r> {
    /// Creates a budget with no reserved bytes. `has_room` is called with the total number of reserved bytes. It returns false if
    /// this number is too large.
    pub(crate) fn new(has_room: &'r mut dyn FnMut(usize) -> bool) -> Self {
        Self { bytes: 0, has_room }
    }

    /// Reserves `bytes` additional bytes.
    ///
    /// # Errors
    /// Returns [`Busy`](super::DomainErrorKind::Busy) if the reserved bytes exceed the budget.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), DomainError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if (self.has_room)(self.bytes) { Ok(()) } else { Err(DomainError::no_room()) }
    }
}
