//! Splits an array into its elements. Each element is passed on at its end.

use super::nesting::Nesting;
use super::part::Part;
use super::piece::{FileFault, Piece, Sink};
use super::position::Position;
use super::trailer::Trailer;
use crate::error::{Error, ErrorKind, quote};

/// A splitter of an array into its elements. It accepts input in chunks of any size.
///
/// An element ends at a comma or closing bracket that is outside the element's own brackets and strings. So a malformed document
/// does not affect later documents.
pub(super) struct ArrayElements {
    /// The number of objects around the array.
    objects: usize,
    /// The position of the next byte.
    position: Position,
    /// The line of the first non-whitespace byte of the unfinished element. `None` if no element has started.
    line: Option<u64>,
    is_first: bool,
    nesting: Nesting,
    /// The buffered start of the unfinished element.
    part: Part,
    /// The maximum length of an element that is passed on, in bytes.
    limit: usize,
}

impl ArrayElements {
    pub(super) fn new(objects: usize, position: Position, limit: usize) -> Self {
        Self {
            objects,
            position,
            line: None,
            is_first: true,
            nesting: Nesting::default(),
            part: Part::new(limit, "a longer element"),
            limit,
        }
    }

    /// Passes on every element whose end is in `bytes`, and buffers the rest. If the array ends, returns the bytes after it.
    pub(super) fn push<'b, E>(
        &mut self,
        mut bytes: &'b [u8],
        sink: &mut impl Sink<E>,
    ) -> Result<Option<&'b [u8]>, E> {
        loop {
            let line = match self.line {
                Some(line) => line,
                None => {
                    bytes = self.position.pass_space(bytes);
                    self.position.line
                }
            };
            let end = self.nesting.end_of_element(bytes);
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()).min(bytes.len()));
            self.position.pass(part);
            let Some((mark, after)) = rest.split_first() else {
                if !part.is_empty() {
                    self.line = Some(line);
                    self.part.hold(part);
                }
                return Ok(None);
            };
            self.line = None;
            self.pass_on(line, part, Some(*mark), sink)?;
            self.position.offset = self.position.offset.saturating_add(1);
            if *mark == b']' {
                return Ok(Some(after));
            }
            bytes = after;
        }
    }

    /// Returns the reader of the text between the end of the array and the end of its search answer.
    pub(super) fn trailer(&self) -> Trailer {
        Trailer::new(self.objects, self.position, self.limit)
    }

    /// Passes on an element that starts at `line` and ends with `part`. `mark` is the byte after the element, or `None` at the end
    /// of the file.
    fn pass_on<E>(
        &mut self,
        line: u64,
        part: &[u8],
        mark: Option<u8>,
        sink: &mut impl Sink<E>,
    ) -> Result<(), E> {
        let is_first = std::mem::take(&mut self.is_first);
        let bytes = match (self.part.ended_by(part), mark) {
            (Ok([]), Some(b']')) if is_first => return Ok(()),
            (Ok([]), Some(mark)) => {
                let mark = quote(char::from(mark).encode_utf8(&mut [0; 4]));
                Err(Error::new(ErrorKind::Syntax, 0, mark, "a JSON value"))
            }
            (bytes, _) => bytes,
        };
        sink(Piece { line, bytes })?;
        self.part.clear();
        Ok(())
    }

    /// Handles the end of the file inside the array, which is a fault.
    pub(super) fn finish<E: From<FileFault>>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        let line = self.line.unwrap_or(self.position.line);
        self.pass_on(line, &[], None, sink)?;
        let Position { offset, line } = self.position;
        let error = Error::new(ErrorKind::Syntax, offset, "the end of the text", "`]` after the documents");
        Err(FileFault { line, error }.into())
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        self.part.held()
    }
}
