//! Positions in a file, for messages only. A real file is too short for a count to saturate.

use crate::json::trim_start;

/// A position in a file.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// The number of bytes since the first non-whitespace byte.
    pub(super) offset: usize,
    /// The line, counted from 1.
    pub(super) line: u64,
}

impl Position {
    /// Advances past these bytes.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        self.offset = self.offset.saturating_add(bytes.len());
        self.line = self.line.saturating_add(memchr::memchr_iter(b'\n', bytes).count() as u64);
    }

    /// Advances past the leading whitespace of these bytes, and returns the rest.
    pub(super) fn pass_space<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let rest = trim_start(bytes);
        self.pass(bytes.get(..bytes.len().saturating_sub(rest.len())).unwrap_or_default());
        rest
    }
}
