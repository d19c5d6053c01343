//! Splits a text into consecutive documents, each of which may have several lines. Passes each document on when its end is read.

use super::nesting::Nesting;
use super::part::Part;
use super::piece::{Piece, Sink};
use super::position::Position;

/// A splitter of a text into documents, each of which may have several lines. It accepts input in chunks of any size.
///
/// A document starts with an opening bracket and ends with the matching closing bracket. Line ends in a document have no effect. Any
/// other text between two documents is passed on as a document of its own. It ends at the next opening bracket or at the end of its
/// line.
pub(super) struct Documents {
    /// The position of the next byte.
    position: Position,
    /// The unfinished document. `None` if no document has started.
    begun: Option<Begun>,
    nesting: Nesting,
    part: Part,
}

#[derive(Clone, Copy)]
struct Begun {
    /// The line of the first byte of the document.
    line: u64,
    /// True if the document does not start with a bracket.
    is_stray: bool,
}

impl Documents {
    pub(super) fn new(position: Position, limit: usize) -> Self {
        let part = Part::new(limit, "a longer document");
        Self { position, begun: None, nesting: Nesting::default(), part }
    }

    /// Passes on every document whose end is in `bytes`, and buffers the rest.
    pub(super) fn push<E>(&mut self, mut bytes: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        loop {
            let begun = match self.begun {
                Some(begun) => begun,
                None => {
                    bytes = self.position.pass_space(bytes);
                    let Some(first) = bytes.first() else { return Ok(()) };
                    Begun { line: self.position.line, is_stray: !is_opening(*first) }
                }
            };
            let end = if begun.is_stray {
                bytes.iter().position(|byte| *byte == b'\n' || is_opening(*byte))
            } else {
                self.nesting.end_of_value(bytes).map(|bracket| bracket.saturating_add(1))
            };
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()).min(bytes.len()));
            self.position.pass(part);
            if end.is_none() {
                self.begun = Some(begun);
                self.part.hold(part);
                return Ok(());
            }
            self.pass_on(begun, part, sink)?;
            bytes = rest;
        }
    }

    fn pass_on<E>(&mut self, begun: Begun, last: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        self.begun = None;
        sink(Piece { line: begun.line, bytes: self.part.ended_by(last) })?;
        self.part.clear();
        Ok(())
    }

    /// Handles the end of the file.
    pub(super) fn finish<E>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        match self.begun {
            Some(begun) => self.pass_on(begun, &[], sink),
            None => Ok(()),
        }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        self.part.held()
    }
}

fn is_opening(byte: u8) -> bool {
    matches!(byte, b'{' | b'[')
}
