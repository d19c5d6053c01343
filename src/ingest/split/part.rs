//! The part of a document that arrived before the chunk in which it ends.

use super::bound::too_large;
use crate::error::Error;
use crate::json::trim;

/// The start of a document under way, without space in front; space behind it only as far as the limit.
pub(super) struct Part {
    held: Vec<u8>,
    /// The longest document that is handed on.
    limit: usize,
    /// The rest of a document that is too long is passed over.
    overlong: bool,
    /// What the document is to be called in an error.
    name: &'static str,
}

impl Part {
    /// A part of nothing yet.
    pub(super) fn new(limit: usize, name: &'static str) -> Self {
        Self { held: Vec::new(), limit, overlong: false, name }
    }

    /// Whether nothing of a document is held or was passed over.
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

    /// The whole document, which ends with `last`, without the space around it.
    ///
    /// # Errors
    /// When it is too long.
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

    /// Begins the next document.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }
}
