//! Reads the text between the end of an array and the end of the search answer that contains the array.

use super::detect_layout::{may_go_on, utf8_prefix};
use super::nesting::Nesting;
use super::piece::FileFault;
use super::position::Position;
use crate::error::{Error, ErrorKind, quote};
use crate::json::{Reader, Result, trim};

/// A reader of the text between the end of an array and the end of its search answer. After a plain array, there is no such text.
/// The reader buffers this text until the answer ends, and then checks it.
pub(super) struct Trailer {
    /// The number of objects around the array.
    objects: usize,
    /// The number of objects around the array that have not been closed yet.
    open: usize,
    nesting: Nesting,
    /// The position directly after the array.
    start: Position,
    /// The position of the first byte of `held`.
    held_from: Position,
    /// The position after the last byte read.
    end: Position,
    /// The buffered text after the array, without leading whitespace. Trailing whitespace is buffered only up to the limit.
    held: Vec<u8>,
    limit: usize,
}

impl Trailer {
    pub(super) fn new(objects: usize, start: Position, limit: usize) -> Self {
        let nesting = Nesting::default();
        Self { objects, open: objects, nesting, start, held_from: start, end: start, held: Vec::new(), limit }
    }

    /// Adds the next bytes. If the end of the text is in `bytes`, returns the bytes after the text, and their position.
    ///
    /// # Errors
    /// Returns an error if the text is malformed or longer than the limit.
    pub(super) fn push<'b>(
        &mut self,
        mut bytes: &'b [u8],
    ) -> std::result::Result<Option<(&'b [u8], Position)>, FileFault> {
        if self.open == 0 {
            return Ok(Some((bytes, self.end)));
        }
        if self.held.is_empty() {
            bytes = self.end.pass_space(bytes);
            self.held_from = self.end;
        }
        let end = self.nesting.end_of_objects(bytes, &mut self.open).map(|bracket| bracket.saturating_add(1));
        let (bytes, after) = bytes.split_at(end.unwrap_or(bytes.len()).min(bytes.len()));
        self.end.pass(bytes);
        let room = self.limit.saturating_sub(self.held.len());
        let (more, beyond) = bytes.split_at(room.min(bytes.len()));
        self.held.extend_from_slice(more);
        if !trim(beyond).is_empty() {
            self.check(false)?;
        }
        if end.is_none() {
            return Ok(None);
        }
        self.check(true)?;
        Ok(Some((after, self.end)))
    }

    /// Handles the end of the file.
    ///
    /// # Errors
    /// Returns an error if the text is malformed.
    pub(super) fn finish(self) -> std::result::Result<(), FileFault> {
        if self.open == 0 { Ok(()) } else { self.check(true) }
    }

    /// Checks the buffered text. If `is_all` is false, the text exceeds the limit, which is also an error.
    fn check(&self, is_all: bool) -> std::result::Result<(), FileFault> {
        let (text, goes_on) = utf8_prefix(&self.held, is_all);
        if text.len() < self.held.len() && !goes_on {
            let Position { offset, line } = self.start;
            let error = Error::new(ErrorKind::NotUtf8, offset, "bytes that are not UTF-8", "UTF-8");
            return Err(FileFault { line, error });
        }
        match self.read(&mut Reader::new(text)) {
            Err(error) if is_all || !may_go_on(&error, text) => Err(self.fault(*error)),
            Ok(()) if is_all => Ok(()),
            _ => {
                let found = format!("more than {} bytes after the array", self.limit);
                let expected = format!("at most {} bytes until the end of its search answer", self.limit);
                Err(self.fault(Error::new(ErrorKind::DocumentTooLarge, 0, found, expected)))
            }
        }
    }

    fn read(&self, reader: &mut Reader<'_>) -> Result<()> {
        // If there were a second array, its cases would be lost.
        for name in ["items", "list"].into_iter().take(self.objects) {
            while let Some((key, at)) = reader.next_key(false)? {
                if key == name {
                    let error = Error::new(ErrorKind::DuplicateKey, at, quote(name), "each key at most once");
                    return Err(error.into());
                }
                reader.skip_value()?;
            }
        }
        reader.end()
    }

    /// Returns a fault of the file. `error.offset` is an offset in the buffered text.
    fn fault(&self, mut error: Error) -> FileFault {
        let mut position = self.held_from;
        match self.held.get(..error.offset) {
            Some(before) if error.offset < self.held.len() => position.pass(before),
            _ => position = self.end,
        }
        error.offset = position.offset;
        FileFault { line: position.line, error }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }
}
