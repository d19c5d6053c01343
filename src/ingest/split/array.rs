//! The elements of an array, each handed on as soon as it ends.

use super::nesting::Nesting;
use super::part::Part;
use super::piece::{FileFault, Piece, Sink};
use super::position::Position;
use super::trailer::Trailer;
use crate::error::{Error, ErrorKind, quote};

/// Parts an array that arrives in chunks of any size.
///
/// An element ends at the comma or bracket that its own brackets and strings do not hold, so that
/// one malformed document does not take the next ones with it.
pub(super) struct ArrayElements {
    /// How many objects the array lies in.
    objects: usize,
    /// Where the next byte lies.
    position: Position,
    /// The line of the first byte of the element under way that is no space, once there is one.
    line: Option<u64>,
    is_first: bool,
    nesting: Nesting,
    /// The element under way.
    part: Part,
    /// The longest element that is handed on.
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

    /// Hands on every element that ends in `bytes`, and holds the rest; what stands behind the array, once that ends.
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
            let Some((mark, behind)) = rest.split_first() else {
                if !part.is_empty() {
                    self.line = Some(line);
                    self.part.hold(part);
                }
                return Ok(None);
            };
            self.line = None;
            self.hand_on(line, part, Some(*mark), sink)?;
            self.position.offset = self.position.offset.saturating_add(1);
            if *mark == b']' {
                return Ok(Some(behind));
            }
            bytes = behind;
        }
    }

    /// What is to stand behind the array.
    pub(super) fn rest(&self) -> Trailer {
        Trailer::new(self.objects, self.position, self.limit)
    }

    /// Hands on an element, which starts in that line and ends with `part`, before `mark` or the end of the file.
    fn hand_on<E>(
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

    /// The file ends here, within the array.
    pub(super) fn finish<E: From<FileFault>>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        let line = self.line.unwrap_or(self.position.line);
        self.hand_on(line, &[], None, sink)?;
        let Position { offset, line } = self.position;
        let error = Error::new(ErrorKind::Syntax, offset, "the end of the text", "`]` behind the cases");
        Err(FileFault { line, error }.into())
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        self.part.held()
    }
}
