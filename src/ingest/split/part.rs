//! Buffers the start of a document whose end is in a later chunk.

use super::bound::too_large;
use crate::error::Error;
use crate::json::trim;

/// The buffered start of an unfinished document, without leading whitespace. Trailing whitespace is buffered only up to the limit.
pub(super) struct Part {
    held: Vec<u8>,
    /// The maximum length of a document that is passed on, in bytes.
    limit: usize,
    /// True while the rest of a document that exceeds the limit is skipped.
    overlong: bool,
    /// The name of the document in error messages.
    name: &'static str,
}

impl Part {
    /// Returns an empty part.
    pub(super) fn new(limit: usize, name: &'static str) -> Self {
        Self { held: Vec::new(), limit, overlong: false, name }
    }

    /// Returns true if no byte of the document has been buffered or skipped.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && !self.overlong
    }

    /// Buffers the next bytes of the document.
    pub(super) fn hold(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.held.len());
        let (more, beyond) = bytes.split_at(room.min(bytes.len()));
        if self.overlong || !trim(beyond).is_empty() {
            self.overlong = true;
            self.held.clear();
        } else {
            self.held.extend_from_slice(more);
        }
    }

    /// Returns the complete document, without the whitespace around it. `last` is the end of the document.
    ///
    /// # Errors
    /// Returns an error if the document is longer than the limit.
    pub(super) fn ended_by<'p>(&'p mut self, last: &'p [u8]) -> Result<&'p [u8], Error> {
        let is_whole = self.is_empty();
        if !is_whole {
            self.hold(last);
        }
        let document = trim(if is_whole { last } else { &self.held });
        if std::mem::take(&mut self.overlong) || document.len() > self.limit {
            return Err(too_large(self.name, self.limit));
        }
        Ok(document)
    }

    /// Clears the buffer before the next document.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }
}
