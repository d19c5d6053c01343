//! Splits a file into lines. Each line is a document (NDJSON).

use super::bound::too_large;
use super::piece::{Piece, Sink};
use crate::ingest::envelope::expected_case;
use crate::json::trim;

/// A splitter of a file into lines. It accepts input in chunks of any size.
pub(super) struct Lines {
    /// The buffered start of the unfinished line.
    held: Vec<u8>,
    /// The number of the unfinished line, counted from 1.
    line: u64,
    /// The maximum length of a line that is passed on, in bytes.
    limit: usize,
    /// True while the rest of an overlong line is skipped.
    overlong: bool,
    /// If the first line is longer than the limit: the name of the member that seems to contain cases.
    envelope: Option<&'static str>,
}

impl Lines {
    pub(super) fn new(line: u64, limit: usize) -> Self {
        Self { held: Vec::new(), line, limit, overlong: false, envelope: None }
    }

    /// For a first line that is longer than the limit: sets the name of the member of this line that seems to contain cases.
    pub(super) fn with_envelope(self, envelope: Option<&'static str>) -> Self {
        Self { envelope, ..self }
    }

    /// Passes on every line whose end is in `bytes`, and buffers the rest.
    pub(super) fn push<E>(&mut self, mut bytes: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.held.is_empty() && !self.overlong {
                self.pass_on(line, sink)?;
            } else {
                self.hold(line);
                let held = std::mem::take(&mut self.held);
                self.pass_on(&held, sink)?;
            }
        }
        self.hold(bytes);
        Ok(())
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.held.len().saturating_add(bytes.len()) > self.limit {
            self.overlong = true;
            self.held.clear();
        } else if !self.overlong {
            self.held.extend_from_slice(bytes);
        }
    }

    fn pass_on<E>(&mut self, line: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        let number = self.line;
        self.line = number.saturating_add(1);
        let envelope = self.envelope.take();
        if std::mem::take(&mut self.overlong) || line.len() > self.limit {
            let mut error = too_large("a longer line", self.limit);
            if let Some(name) = envelope {
                error.expected = expected_case(name);
            }
            return sink(Piece { line: number, bytes: Err(error) });
        }
        if trim(line).is_empty() {
            return Ok(());
        }
        sink(Piece { line: number, bytes: Ok(line) })
    }

    /// Passes on the last line, if it has no line feed at its end.
    pub(super) fn finish<E>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        let held = std::mem::take(&mut self.held);
        self.pass_on(&held, sink)
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }
}
