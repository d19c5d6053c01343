//! The elements of an array, each handed on as soon as it ends.

use super::rest::Rest;
use super::{FileFault, Piece, Place, Sink, too_large};
use crate::error::{Error, ErrorKind, quote};
use crate::json::{plain_len, trim};

/// Parts an array that arrives in chunks of any size.
///
/// An element ends at the comma or bracket that its own brackets and strings do not hold, so that
/// one malformed document does not take the next ones with it.
pub(super) struct Elements {
    /// How many objects the array lies in.
    objects: usize,
    /// Where the next byte lies.
    place: Place,
    /// The line of the first byte of the element under way that is no space, once there is one.
    line: Option<u64>,
    is_first: bool,
    nesting: Nesting,
    /// The start of the element under way, without space in front; space behind it only as far as the limit.
    held: Vec<u8>,
    /// The longest element that is handed on.
    limit: usize,
    /// The rest of an element that is too long is passed over.
    overlong: bool,
}

impl Elements {
    pub(super) fn new(objects: usize, place: Place, limit: usize) -> Self {
        Self {
            objects,
            place,
            line: None,
            is_first: true,
            nesting: Nesting::default(),
            held: Vec::new(),
            limit,
            overlong: false,
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
                    bytes = self.place.pass_space(bytes);
                    self.place.line
                }
            };
            let end = self.nesting.end_of_element(bytes);
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()).min(bytes.len()));
            self.place.pass(part);
            let Some((mark, behind)) = rest.split_first() else {
                if !part.is_empty() {
                    self.line = Some(line);
                    self.hold(part);
                }
                return Ok(None);
            };
            self.line = None;
            self.hand_on(line, part, Some(*mark), sink)?;
            self.place.offset = self.place.offset.saturating_add(1);
            if *mark == b']' {
                return Ok(Some(behind));
            }
            bytes = behind;
        }
    }

    /// What is to stand behind the array.
    pub(super) fn rest(&self) -> Rest {
        Rest::new(self.objects, self.place, self.limit)
    }

    fn hold(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.held.len());
        let (more, beyond) = bytes.split_at(room.min(bytes.len()));
        if self.overlong || !trim(beyond).is_empty() {
            self.overlong = true;
            self.held.clear();
        } else {
            self.held.extend_from_slice(more);
        }
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
        let is_whole = self.held.is_empty() && !self.overlong;
        if !is_whole {
            self.hold(part);
        }
        let document = trim(if is_whole { part } else { &self.held });
        let bytes = if std::mem::take(&mut self.overlong) || document.len() > self.limit {
            Err(too_large("a longer element", self.limit))
        } else {
            match mark {
                Some(mark) if document.is_empty() => {
                    if is_first && mark == b']' {
                        return Ok(());
                    }
                    let mark = quote(char::from(mark).encode_utf8(&mut [0; 4]));
                    Err(Error::new(ErrorKind::Syntax, 0, mark, "a JSON value"))
                }
                _ => Ok(document),
            }
        };
        sink(Piece { line, bytes })?;
        self.held.clear();
        Ok(())
    }

    /// The file ends here, within the array.
    pub(super) fn finish<E: From<FileFault>>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        let line = self.line.unwrap_or(self.place.line);
        self.hand_on(line, &[], None, sink)?;
        let Place { offset, line } = self.place;
        let error = Error::new(ErrorKind::Syntax, offset, "the end of the text", "`]` behind the cases");
        Err(FileFault { line, error }.into())
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }
}

/// What is open where the next byte lies.
#[derive(Default)]
struct Nesting {
    /// How many brackets.
    depth: usize,
    within: Within,
}

#[derive(Clone, Copy, Default)]
enum Within {
    #[default]
    Brackets,
    String,
    /// In a string, behind a backslash.
    Escape,
}

impl Nesting {
    /// Where the element ends that these bytes go on with, if it does: at a comma or bracket outside of it.
    fn end_of_element(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0_usize;
        loop {
            match self.within {
                Within::Brackets => {
                    let byte = bytes.get(at)?;
                    match byte {
                        b'"' => self.within = Within::String,
                        b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                        b']' | b',' if self.depth == 0 => return Some(at),
                        b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                }
                Within::String => {
                    at = at.saturating_add(plain_len(bytes.get(at..).unwrap_or_default()));
                    match bytes.get(at)? {
                        // No string may span lines: one that has no end there ends with its line.
                        b'"' | b'\n' => self.within = Within::Brackets,
                        b'\\' => self.within = Within::Escape,
                        _ => {}
                    }
                }
                Within::Escape => {
                    bytes.get(at)?;
                    self.within = Within::String;
                }
            }
            at = at.saturating_add(1);
        }
    }
}
