//! Splits a file of cases into documents, after detecting its layout: one document per line, documents over several lines, arrays
//! or search answers.

mod array;
mod bound;
mod detect_layout;
mod documents;
mod faults;
mod lines;
mod nesting;
mod part;
mod piece;
mod position;
mod start;
mod trailer;

use array::ArrayElements;
use bound::SPACE_BYTES;
use detect_layout::{Head, Start};
use documents::Documents;
use lines::Lines;
use position::Position;
use trailer::Trailer;

use super::rules::case_limit;
use crate::error::{Error, ErrorKind};
use crate::json::{trim, trim_start};
use crate::limits::Limits;

pub(crate) use piece::{FileFault, Piece, Sink};
pub use start::check_text;

/// A splitter of files into documents. It accepts input in chunks of any size.
///
/// A file has one of three layouts. The first line of the file determines the layout. If the first line exceeds the maximum length
/// of a document, only its start is used. If the first line ends inside an object, the rest of the object determines the layout.
/// The layouts are:
///
/// - NDJSON: each line is a document. It is passed on at the end of the line.
/// - Documents over several lines, one after another. Each is passed on at its end.
/// - JSON arrays and search answers, one after another. Each element is passed on at its end.
///
/// The splitter buffers at most `limit + 1` bytes. This is an unfinished document, or the text before or after the array of a
/// search answer.
pub(crate) struct Splitter {
    layout: Layout,
    /// The start of an object whose layout has not been detected yet.
    held: Vec<u8>,
    /// The position of `held`, or of the next byte if `held` is empty. Some layouts count their own position.
    position: Position,
    /// The maximum length of a document that is passed on, including the whitespace around it, in bytes.
    limit: usize,
    /// The name of the member that contains the id of a document.
    id: Box<str>,
}

enum Layout {
    /// The first bytes of the file, and how many of them have arrived. [`start::check`] needs a fixed number of bytes.
    Start([u8; start::LONGEST], usize),
    /// There has been only whitespace so far.
    Unknown,
    /// The first line, which starts with `{` and has not ended yet.
    FirstLine,
    /// An object that does not end in the first line. It is a search answer or a document. When `look` bytes of it are buffered,
    /// the splitter tries again to detect the layout.
    Object { look: usize },
    /// Each line is a document.
    Lines(Lines),
    /// Documents over several lines.
    Documents(Documents),
    /// The elements of an array.
    ArrayElements(ArrayElements),
    /// The text between the end of an array and the end of its search answer.
    Trailer(Trailer),
    /// The whitespace after an array or a search answer.
    AfterArray,
    /// An object after an array or a search answer. When `look` bytes of it are buffered, the splitter tries again to detect the
    /// layout.
    NextObject { look: usize },
}

/// The number of bytes that are buffered before the splitter first looks for `list.items`. It applies to an object that follows an
/// array or a search answer.
const FIRST_LOOK: usize = 64;

impl Splitter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let limit = case_limit(limits).saturating_add(SPACE_BYTES);
        let position = Position { offset: 0, line: 1 };
        let layout = Layout::Start(Default::default(), 0);
        Self { layout, held: Vec::new(), position, limit, id: "id".into() }
    }

    /// Sets the name of the member that contains the id of a document.
    pub(crate) fn with_id(self, name: &str) -> Self {
        Self { id: name.into(), ..self }
    }

    /// Adds the next bytes of the file.
    ///
    /// # Complexity
    /// Linear in the size of the file, for chunks of any size.
    pub(crate) fn push<E: From<FileFault>>(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl Sink<E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            match &mut self.layout {
                Layout::Lines(lines) => return lines.push(bytes, sink),
                Layout::ArrayElements(elements) => match elements.push(bytes, sink)? {
                    Some(after) => {
                        bytes = after;
                        self.layout = Layout::Trailer(elements.trailer());
                    }
                    None => return Ok(()),
                },
                Layout::Documents(documents) => return documents.push(bytes, sink),
                Layout::Trailer(trailer) => match trailer.push(bytes)? {
                    Some((after, position)) => {
                        bytes = after;
                        self.position = position;
                        self.layout = Layout::AfterArray;
                    }
                    None => return Ok(()),
                },
                Layout::Start(seen, len) => match bytes.split_first_chunk::<{ start::LONGEST }>() {
                    Some((first, _)) if *len == 0 => {
                        bytes = bytes.get(self.begin_file(first)?..).unwrap_or_default();
                    }
                    _ => match (seen.get_mut(*len), bytes.split_first()) {
                        (Some(position), Some((byte, rest))) => {
                            *position = *byte;
                            *len = len.saturating_add(1);
                            bytes = rest;
                        }
                        _ => {
                            let seen = *seen;
                            let mark = self.begin_file(&seen)?;
                            self.push(seen.get(mark..).unwrap_or_default(), sink)?;
                        }
                    },
                },
                Layout::Unknown => {
                    bytes = self.position.pass_space(bytes);
                    self.position.offset = 0;
                    match bytes.split_first() {
                        None => {}
                        Some((b'[', elements)) => {
                            self.begin(&Start { offset: 1, objects: 0 }, b"[");
                            bytes = elements;
                        }
                        Some((b'{', _)) => self.layout = Layout::FirstLine,
                        Some(_) => self.layout = Layout::Lines(self.lines()),
                    }
                }
                Layout::AfterArray => {
                    bytes = self.position.pass_space(bytes);
                    match bytes.split_first() {
                        None => {}
                        Some((b'[', elements)) => {
                            self.begin(&Start { offset: 1, objects: 0 }, b"[");
                            bytes = elements;
                        }
                        Some((b'{', _)) => self.layout = Layout::NextObject { look: FIRST_LOOK },
                        Some((byte, _)) => return Err(faults::stray(*byte, self.position).into()),
                    }
                }
                Layout::FirstLine | Layout::Object { .. } | Layout::NextObject { .. } => {
                    bytes = self.hold_object(bytes, sink)?;
                }
            }
        }
        Ok(())
    }

    /// Detects the layout of an object from the buffered bytes and `bytes`. Returns the bytes that have not been consumed yet.
    fn hold_object<'b, E: From<FileFault>>(
        &mut self,
        bytes: &'b [u8],
        sink: &mut impl Sink<E>,
    ) -> Result<&'b [u8], E> {
        let most = self.limit.saturating_add(1);
        let enough = match self.layout {
            Layout::Object { look } | Layout::NextObject { look } => look.min(most),
            _ => most,
        };
        let is_first_line = matches!(self.layout, Layout::FirstLine);
        let more = bytes.get(..enough.saturating_sub(self.held.len())).unwrap_or(bytes);
        let line_end = memchr::memchr(b'\n', more).filter(|_| is_first_line);
        let len = line_end.map_or(more.len(), |end| end.saturating_add(1));
        let (more, after) = bytes.split_at(len.min(bytes.len()));
        // Usually, the first chunk is enough to detect the layout.
        if self.held.is_empty() {
            if let Some(taken) = self.detect(more, false, sink)? {
                return Ok(bytes.get(taken..).unwrap_or_default());
            }
            self.held.extend_from_slice(more);
            return Ok(after);
        }
        self.held.extend_from_slice(more);
        if line_end.is_some() || self.held.len() >= enough {
            let held = std::mem::take(&mut self.held);
            match self.detect(&held, false, sink)? {
                Some(taken) => self.push(held.get(taken..).unwrap_or_default(), sink)?,
                None => self.held = held,
            }
        }
        Ok(after)
    }

    /// Detects the layout of an object that starts with `bytes`. Returns the number of consumed bytes, or `None` if more bytes are
    /// needed.
    fn detect<E: From<FileFault>>(
        &mut self,
        bytes: &[u8],
        at_end: bool,
        sink: &mut impl Sink<E>,
    ) -> Result<Option<usize>, E> {
        let line_end = memchr::memchr(b'\n', bytes);
        let line = bytes.get(..line_end.unwrap_or(bytes.len())).unwrap_or_default();
        if let Layout::FirstLine = self.layout {
            if line_end.is_none() && !at_end && bytes.len() <= self.limit {
                return Ok(None);
            }
            if detect_layout::is_document(line, self.limit, &self.id) {
                let envelope = line.get(..self.limit).filter(|start| start.len() < line.len());
                let envelope = envelope.and_then(detect_layout::envelope);
                self.layout = Layout::Lines(self.lines().with_envelope(envelope));
                return Ok(Some(0));
            }
        }
        let is_too_long = bytes.len() > self.limit;
        let start = bytes.get(..self.limit).unwrap_or(bytes);
        let head = detect_layout::head(start, at_end && !is_too_long);
        let is_next = matches!(self.layout, Layout::NextObject { .. });
        match head {
            Head::Array(start) => {
                self.begin(&start, bytes);
                Ok(Some(start.offset))
            }
            Head::Open { .. } if !is_too_long => {
                let look = bytes.len().saturating_mul(2);
                self.layout = if is_next { Layout::NextObject { look } } else { Layout::Object { look } };
                Ok(None)
            }
            Head::Whole { .. } | Head::Faulty { .. } if is_next => {
                Err(faults::no_answer(self.position).into())
            }
            Head::Whole { end: at } | Head::Faulty { at } | Head::Open { at } => {
                let next_line = line.len().saturating_add(1);
                let next = trim_start(bytes.get(next_line..).unwrap_or_default());
                let reads_on = at > bytes.len().saturating_sub(next.len());
                // If the first line was cut off, the parser also continues in the next line, although that line is a separate
                // document.
                let is_broken_off = reads_on && next.starts_with(b"{") && !matches!(head, Head::Whole { .. });
                if let Head::Open { .. } = head
                    && (is_next || is_broken_off || !reads_on || !detect_layout::has_id(start, &self.id))
                {
                    let envelope = detect_layout::envelope(start);
                    return Err(faults::no_items(self.position.line, self.limit, envelope).into());
                }
                if is_broken_off {
                    let (found, expected) = ("the end of the line", "the rest of the document");
                    let error = Error::new(ErrorKind::Syntax, trim(line).len(), found, expected);
                    sink(Piece { line: self.position.line, bytes: Err(error) })?;
                    self.position.line = self.position.line.saturating_add(1);
                    self.layout = Layout::Lines(self.lines());
                    return Ok(Some(next_line));
                }
                self.layout = match reads_on {
                    true => Layout::Documents(Documents::new(self.position, self.limit)),
                    false => Layout::Lines(self.lines()),
                };
                Ok(Some(0))
            }
        }
    }

    /// Starts reading the array of documents at `start` in `bytes`.
    fn begin(&mut self, start: &Start, bytes: &[u8]) {
        self.position.pass(bytes.get(..start.offset).unwrap_or_default());
        self.layout = Layout::ArrayElements(ArrayElements::new(start.objects, self.position, self.limit));
    }

    /// Returns a splitter of lines that starts at the current position.
    fn lines(&self) -> Lines {
        Lines::new(self.position.line, self.limit)
    }

    /// Checks the first bytes of the file. Returns the length of their byte-order mark, or 0 if there is none.
    fn begin_file(&mut self, start: &[u8]) -> Result<usize, FileFault> {
        self.layout = Layout::Unknown;
        start::check(start).map_err(|error| FileFault { line: self.position.line, error })?;
        Ok(start::mark_len(start))
    }

    /// Handles the end of the file.
    pub(crate) fn finish<E: From<FileFault>>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        if let Layout::Start(seen, len) = self.layout {
            let seen = seen.get(..len).unwrap_or_default();
            let mark = self.begin_file(seen)?;
            self.push(seen.get(mark..).unwrap_or_default(), sink)?;
        }
        // Detecting an answer consumes only its head. The rest of the buffered bytes may contain the end of the answer and the
        // start of the next answer.
        while let Layout::FirstLine | Layout::Object { .. } | Layout::NextObject { .. } = self.layout {
            let held = std::mem::take(&mut self.held);
            let Some(taken) = self.detect(&held, true, sink)? else { break };
            self.push(held.get(taken..).unwrap_or_default(), sink)?;
        }
        match self.layout {
            Layout::ArrayElements(elements) => elements.finish(sink),
            Layout::Documents(documents) => documents.finish(sink),
            Layout::Trailer(trailer) => trailer.finish().map_err(E::from),
            Layout::Lines(lines) => lines.finish(sink),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
impl Splitter {
    fn held_bytes(&self) -> usize {
        let more = match &self.layout {
            Layout::ArrayElements(elements) => elements.held(),
            Layout::Documents(documents) => documents.held(),
            Layout::Lines(lines) => lines.held(),
            Layout::Trailer(trailer) => trailer.held(),
            _ => &[],
        };
        self.held.len().saturating_add(more.len())
    }
}

#[cfg(test)]
mod tests;
