//! Parting a file into its documents, whichever of the three layouts it has.

mod elements;
mod layout;
mod rest;

use elements::Elements;
use layout::{Head, Start};
use rest::Rest;

use super::read::case_limit;
use crate::error::{Error, ErrorKind};
use crate::json::{trim, trim_start};
use crate::limits::Limits;

/// The bytes of one document, or of what stands in its place.
pub(crate) struct Piece<'a> {
    /// The line where it starts, counted from 1.
    pub(crate) line: u64,
    /// The document, which may have space around it.
    pub(crate) bytes: Result<&'a [u8], Error>,
}

/// A fault of the file rather than of one document in it.
#[derive(Debug)]
pub(crate) struct FileFault {
    pub(crate) line: u64,
    pub(crate) error: Error,
}

/// Parts a file that arrives in chunks of any size.
///
/// NDJSON is handed on line by line, and the array of a JSON array or a search answer element by element, as they arrive. Which
/// of the three a file is, its first line tells; of a line that is too long for a case, its beginning; and where that line is
/// only the beginning of an object, what follows.
///
/// What is held is never longer than `limit`, and one byte: a document that has not ended, or what stands before the array of an
/// answer, or behind it.
pub(crate) struct Splitter {
    layout: Layout,
    /// What arrived and was not handed on: the start of a line, or of an object whose layout is not told yet.
    held: Vec<u8>,
    /// Where `held` starts, or what is still to come, unless another part counts.
    place: Place,
    /// The longest document that is handed on, with some space around it.
    limit: usize,
    /// The rest of a line that is too long is passed over.
    overlong: bool,
}

enum Layout {
    /// So many bytes of a byte-order mark, and nothing else, were seen.
    Mark(usize),
    /// Nothing but space was seen.
    Unknown,
    /// An object was seen to begin, in a line that did not end yet.
    Begun,
    /// An object that its first line only begins, or a search answer: lines, or not yet at its array. It is looked at when this
    /// many bytes of it are held.
    Laid { look: usize },
    /// A document a line.
    Lines,
    /// The elements of an array.
    Elements(Elements),
    /// Behind the array.
    Rest(Rest),
}

/// What takes the pieces; its error ends the splitting.
pub(crate) trait Sink<E>: FnMut(Piece<'_>) -> Result<(), E> {}
impl<E, F: FnMut(Piece<'_>) -> Result<(), E>> Sink<E> for F {}

/// A place in a file.
#[derive(Clone, Copy)]
struct Place {
    /// In bytes from the first that is no space.
    offset: usize,
    /// Counted from 1.
    line: u64,
}

impl Place {
    /// Goes on behind these bytes.
    fn pass(&mut self, bytes: &[u8]) {
        self.offset = self.offset.saturating_add(bytes.len());
        self.line = self.line.saturating_add(memchr::memchr_iter(b'\n', bytes).count() as u64);
    }

    /// Goes on behind the space that these bytes begin with; gives the others.
    fn pass_space<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let rest = trim_start(bytes);
        self.pass(bytes.get(..bytes.len().saturating_sub(rest.len())).unwrap_or_default());
        rest
    }
}

/// What some programs put before a text to say that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A line may have so much space around its document.
const SPACE_BYTES: usize = 4096;

impl Splitter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let limit = case_limit(limits).saturating_add(SPACE_BYTES);
        let place = Place { offset: 0, line: 1 };
        Self { layout: Layout::Mark(0), held: Vec::new(), place, limit, overlong: false }
    }

    /// Takes the next bytes of the file.
    ///
    /// # Complexity
    /// Linear in the file, whatever the sizes of its chunks.
    pub(crate) fn push<E: From<FileFault>>(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl Sink<E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            match &mut self.layout {
                Layout::Lines => return self.lines(bytes, sink),
                Layout::Elements(elements) => match elements.push(bytes, sink)? {
                    Some(behind) => {
                        bytes = behind;
                        self.layout = Layout::Rest(elements.rest());
                    }
                    None => return Ok(()),
                },
                Layout::Rest(rest) => return rest.push(bytes).map_err(E::from),
                Layout::Mark(seen) => match BYTE_ORDER_MARK.get(*seen) {
                    Some(byte) if bytes.first() == Some(byte) => {
                        *seen = seen.saturating_add(1);
                        bytes = bytes.get(1..).unwrap_or_default();
                    }
                    Some(_) => {
                        let seen = *seen;
                        self.end_mark(seen, sink)?;
                    }
                    None => self.layout = Layout::Unknown,
                },
                Layout::Unknown => {
                    bytes = self.place.pass_space(bytes);
                    self.place.offset = 0;
                    match bytes.split_first() {
                        None => {}
                        Some((b'[', elements)) => {
                            self.begin(&Start { offset: 1, objects: 0 }, b"[");
                            bytes = elements;
                        }
                        Some((b'{', _)) => self.layout = Layout::Begun,
                        Some(_) => self.layout = Layout::Lines,
                    }
                }
                Layout::Begun | Layout::Laid { .. } => bytes = self.look(bytes, sink)?,
            }
        }
        Ok(())
    }

    /// Sees whether these bytes and what is held tell the layout of an object; gives those that are still to be taken.
    fn look<'b, E: From<FileFault>>(
        &mut self,
        bytes: &'b [u8],
        sink: &mut impl Sink<E>,
    ) -> Result<&'b [u8], E> {
        let most = self.limit.saturating_add(1);
        let enough = match self.layout {
            Layout::Laid { look } => look.min(most),
            _ => most,
        };
        let is_first_line = matches!(self.layout, Layout::Begun);
        let more = bytes.get(..enough.saturating_sub(self.held.len())).unwrap_or(bytes);
        let line_end = memchr::memchr(b'\n', more).filter(|_| is_first_line);
        let len = line_end.map_or(more.len(), |end| end.saturating_add(1));
        let (more, behind) = bytes.split_at(len.min(bytes.len()));
        // Most often the first chunk tells.
        if self.held.is_empty() {
            if let Some(taken) = self.tell(more, false, sink)? {
                return Ok(bytes.get(taken..).unwrap_or_default());
            }
            self.held.extend_from_slice(more);
            return Ok(behind);
        }
        self.held.extend_from_slice(more);
        if line_end.is_some() || self.held.len() >= enough {
            let held = std::mem::take(&mut self.held);
            match self.tell(&held, false, sink)? {
                Some(taken) => self.push(held.get(taken..).unwrap_or_default(), sink)?,
                None => self.held = held,
            }
        }
        Ok(behind)
    }

    /// Tells the layout of an object that starts so; gives how many of the bytes are taken with that, or `None` when more
    /// are needed to tell.
    fn tell<E: From<FileFault>>(
        &mut self,
        bytes: &[u8],
        at_end: bool,
        sink: &mut impl Sink<E>,
    ) -> Result<Option<usize>, E> {
        let line_end = memchr::memchr(b'\n', bytes);
        let line = bytes.get(..line_end.unwrap_or(bytes.len())).unwrap_or_default();
        if let Layout::Begun = self.layout {
            if line_end.is_none() && !at_end && bytes.len() <= self.limit {
                return Ok(None);
            }
            if layout::is_document(line, self.limit) {
                self.layout = Layout::Lines;
                return Ok(Some(0));
            }
        }
        let is_too_long = bytes.len() > self.limit;
        let start = bytes.get(..self.limit).unwrap_or(bytes);
        match layout::head(start, at_end && !is_too_long) {
            Head::Array(start) => {
                self.begin(&start, bytes);
                Ok(Some(start.offset))
            }
            Head::Lines { until } => {
                self.layout = Layout::Lines;
                let next_line = line.len().saturating_add(1);
                let next = trim_start(bytes.get(next_line..).unwrap_or_default());
                if until <= bytes.len().saturating_sub(next.len()) {
                    return Ok(Some(0));
                }
                // What reads on in the next line was not cut off by mistake.
                let found = "the end of the line";
                let expected = "a whole document on each line, or an array of documents";
                let error = Error::new(ErrorKind::Syntax, trim(line).len(), found, expected);
                sink(Piece { line: self.place.line, bytes: Err(error) })?;
                self.place.line = self.place.line.saturating_add(1);
                Ok(Some(next_line))
            }
            Head::Open if is_too_long => {
                let found = format!(
                    "an object over several lines, without `items` in its first {} bytes",
                    self.limit
                );
                let expected = "a document on each line, or a search answer whose `items` stand sooner";
                let error = Error::new(ErrorKind::CaseTooLarge, self.limit, found, expected);
                Err(FileFault { line: self.place.line, error }.into())
            }
            Head::Open => {
                self.layout = Layout::Laid { look: bytes.len().saturating_mul(2) };
                Ok(None)
            }
        }
    }

    /// The array of documents begins in these bytes.
    fn begin(&mut self, start: &Start, bytes: &[u8]) {
        self.place.pass(bytes.get(..start.offset).unwrap_or_default());
        self.layout = Layout::Elements(Elements::new(start.objects, self.place, self.limit));
    }

    /// The first bytes were no byte-order mark after all.
    fn end_mark<E: From<FileFault>>(&mut self, seen: usize, sink: &mut impl Sink<E>) -> Result<(), E> {
        self.layout = Layout::Unknown;
        self.push(BYTE_ORDER_MARK.get(..seen).unwrap_or_default(), sink)
    }

    /// Hands on every line that ends in `bytes`, and holds the rest.
    fn lines<E>(&mut self, mut bytes: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.held.is_empty() && !self.overlong {
                self.hand_on(line, sink)?;
            } else {
                self.hold(line);
                let held = std::mem::take(&mut self.held);
                self.hand_on(&held, sink)?;
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

    fn hand_on<E>(&mut self, line: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        let number = self.place.line;
        self.place.line = number.saturating_add(1);
        if std::mem::take(&mut self.overlong) || line.len() > self.limit {
            return sink(Piece { line: number, bytes: Err(too_large("a longer line", self.limit)) });
        }
        if trim(line).is_empty() {
            return Ok(());
        }
        sink(Piece { line: number, bytes: Ok(line) })
    }

    /// The file ends here.
    pub(crate) fn finish<E: From<FileFault>>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        if let Layout::Mark(seen) = self.layout
            && seen < BYTE_ORDER_MARK.len()
        {
            self.end_mark(seen, sink)?;
        }
        if let Layout::Begun | Layout::Laid { .. } = self.layout {
            let held = std::mem::take(&mut self.held);
            let taken = self.tell(&held, true, sink)?.unwrap_or_default();
            self.push(held.get(taken..).unwrap_or_default(), sink)?;
        }
        match self.layout {
            Layout::Elements(elements) => elements.finish(sink),
            Layout::Rest(rest) => rest.finish().map_err(E::from),
            _ => {
                let held = std::mem::take(&mut self.held);
                self.hand_on(&held, sink)
            }
        }
    }
}

#[cfg(test)]
impl Splitter {
    fn held_bytes(&self) -> usize {
        let more = match &self.layout {
            Layout::Elements(elements) => elements.held(),
            Layout::Rest(rest) => rest.held(),
            _ => &[],
        };
        self.held.len().saturating_add(more.len())
    }
}

/// The error of a document that is longer than `limit`.
fn too_large(found: &str, limit: usize) -> Error {
    let limit = limit.saturating_sub(SPACE_BYTES);
    Error::new(ErrorKind::CaseTooLarge, 0, found, format!("a case of at most {limit} bytes"))
}

#[cfg(test)]
mod tests;
