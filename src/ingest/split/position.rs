//! Counts bytes and lines of a file, for error messages. The counts saturate, but no real file is that long.

use crate::json::trim_start;

/// A position in a file.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// The number of bytes since the first byte of the file that is not whitespace.
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

    /// Advances past the leading whitespace of these bytes. Returns the bytes after the whitespace.
    pub(super) fn pass_space<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let rest = trim_start(bytes);
        self.pass(bytes.get(..bytes.len().saturating_sub(rest.len())).unwrap_or_default());
        rest
    }
}
