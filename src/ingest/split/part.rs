//! The start of a document, which arrived before the chunk that ends it.

use super::bound::too_large;
use crate::error::Error;
use crate::json::trim;

/// The start of an unfinished document, without leading whitespace. Trailing whitespace is held only up to the limit.
pub(super) struct Part {
    held: Vec<u8>,
    /// The maximum length of a document that is passed on, in bytes.
    limit: usize,
    /// True while the rest of an overlong document is skipped.
    overlong: bool,
    /// The name of the document in errors.
    name: &'static str,
}

impl Part {
    /// Returns an empty part.
    pub(super) fn new(limit: usize, name: &'static str) -> Self {
        Self { held: Vec::new(), limit, overlong: false, name }
    }

    /// Returns true if no byte of a document is held or was skipped.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && !self.overlong
    }

    /// Keeps the next bytes of the document.
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

    /// Returns the whole document, which ends with `last`, without whitespace around it.
    ///
    /// # Errors
    /// Returns an error if the document is too long.
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

    /// Starts the next document.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }
}
