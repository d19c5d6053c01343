//! Parting a file into its documents, whichever of the layouts it has.

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

/// Parts a file that arrives in chunks of any size.
///
/// A file has one of three layouts, which its first line tells; of a line that is too long for a case, its beginning; and where that
/// line is only the beginning of an object, what follows:
///
/// - NDJSON: a document on each line, handed on line by line.
/// - Documents over several lines, one after another, each handed on as it ends.
/// - JSON arrays and search answers, one after another, of which the elements are handed on as they end.
///
/// What is held is never longer than `limit`, and one byte: a document that has not ended, or what stands before the array of an
/// answer, or behind it.
pub(crate) struct Splitter {
    layout: Layout,
    /// The start of an object whose layout is not told yet.
    held: Vec<u8>,
    /// Where `held` starts, or what is still to come, unless another part counts.
    position: Position,
    /// The longest document that is handed on, with some space around it.
    limit: usize,
}

enum Layout {
    /// The first bytes, as many as that, before anything is told by them.
    Start([u8; start::LONGEST], usize),
    /// Nothing but space was seen.
    Unknown,
    /// An object was seen to begin, in a line that did not end yet.
    Begun,
    /// An object that its first line only begins, or a search answer: documents, or not yet at its array. It is looked at when this
    /// many bytes of it are held.
    Laid { look: usize },
    /// A document a line.
    Lines(Lines),
    /// Documents over several lines.
    Documents(Documents),
    /// The elements of an array.
    ArrayElements(ArrayElements),
    /// Behind the array.
    Trailer(Trailer),
    /// Behind an array or an answer, and space.
    Between,
    /// As `Laid`, of an object behind an array or an answer.
    Next { look: usize },
}

/// How much of an object is held before it is first looked at for the array of an answer, behind another answer.
const FIRST_LOOK: usize = 64;

impl Splitter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let limit = case_limit(limits).saturating_add(SPACE_BYTES);
        let position = Position { offset: 0, line: 1 };
        let layout = Layout::Start(Default::default(), 0);
        Self { layout, held: Vec::new(), position, limit }
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
                Layout::Lines(lines) => return lines.push(bytes, sink),
                Layout::ArrayElements(elements) => match elements.push(bytes, sink)? {
                    Some(behind) => {
                        bytes = behind;
                        self.layout = Layout::Trailer(elements.rest());
                    }
                    None => return Ok(()),
                },
                Layout::Documents(documents) => return documents.push(bytes, sink),
                Layout::Trailer(rest) => match rest.push(bytes)? {
                    Some((behind, position)) => {
                        bytes = behind;
                        self.position = position;
                        self.layout = Layout::Between;
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
                        Some((b'{', _)) => self.layout = Layout::Begun,
                        Some(_) => self.layout = Layout::Lines(self.lines()),
                    }
                }
                Layout::Between => {
                    bytes = self.position.pass_space(bytes);
                    match bytes.split_first() {
                        None => {}
                        Some((b'[', elements)) => {
                            self.begin(&Start { offset: 1, objects: 0 }, b"[");
                            bytes = elements;
                        }
                        Some((b'{', _)) => self.layout = Layout::Next { look: FIRST_LOOK },
                        Some((byte, _)) => return Err(faults::stray(*byte, self.position).into()),
                    }
                }
                Layout::Begun | Layout::Laid { .. } | Layout::Next { .. } => {
                    bytes = self.look(bytes, sink)?;
                }
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
            Layout::Laid { look } | Layout::Next { look } => look.min(most),
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
            if detect_layout::is_document(line, self.limit) {
                let envelope = line.get(..self.limit).filter(|start| start.len() < line.len());
                let envelope = envelope.and_then(detect_layout::envelope);
                self.layout = Layout::Lines(self.lines().with_envelope(envelope));
                return Ok(Some(0));
            }
        }
        let is_too_long = bytes.len() > self.limit;
        let start = bytes.get(..self.limit).unwrap_or(bytes);
        let head = detect_layout::head(start, at_end && !is_too_long);
        let is_next = matches!(self.layout, Layout::Next { .. });
        match head {
            Head::Array(start) => {
                self.begin(&start, bytes);
                Ok(Some(start.offset))
            }
            Head::Open { .. } if !is_too_long => {
                let look = bytes.len().saturating_mul(2);
                self.layout = if is_next { Layout::Next { look } } else { Layout::Laid { look } };
                Ok(None)
            }
            Head::Whole { .. } | Head::Faulty { .. } if is_next => {
                Err(faults::no_answer(self.position).into())
            }
            Head::Whole { end: at } | Head::Faulty { at } | Head::Open { at } => {
                let next_line = line.len().saturating_add(1);
                let next = trim_start(bytes.get(next_line..).unwrap_or_default());
                let reads_on = at > bytes.len().saturating_sub(next.len());
                // A first line that lacks its end reads on too, in a next one that is a document of its own.
                let is_broken_off = reads_on && next.starts_with(b"{") && !matches!(head, Head::Whole { .. });
                if let Head::Open { .. } = head
                    && (is_next || is_broken_off || !reads_on || !detect_layout::has_id(start))
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

    /// The array of documents begins in these bytes.
    fn begin(&mut self, start: &Start, bytes: &[u8]) {
        self.position.pass(bytes.get(..start.offset).unwrap_or_default());
        self.layout = Layout::ArrayElements(ArrayElements::new(start.objects, self.position, self.limit));
    }

    /// Lines, from here on.
    fn lines(&self) -> Lines {
        Lines::new(self.position.line, self.limit)
    }

    /// Begins the file, of which these are the first bytes; gives how many of them are a byte-order mark.
    fn begin_file(&mut self, start: &[u8]) -> Result<usize, FileFault> {
        self.layout = Layout::Unknown;
        start::check(start).map_err(|error| FileFault { line: self.position.line, error })?;
        Ok(start::mark_len(start))
    }

    /// The file ends here.
    pub(crate) fn finish<E: From<FileFault>>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        if let Layout::Start(seen, len) = self.layout {
            let seen = seen.get(..len).unwrap_or_default();
            let mark = self.begin_file(seen)?;
            self.push(seen.get(mark..).unwrap_or_default(), sink)?;
        }
        // Behind the head of an answer its text may end, and that of the next one begin.
        while let Layout::Begun | Layout::Laid { .. } | Layout::Next { .. } = self.layout {
            let held = std::mem::take(&mut self.held);
            let Some(taken) = self.tell(&held, true, sink)? else { break };
            self.push(held.get(taken..).unwrap_or_default(), sink)?;
        }
        match self.layout {
            Layout::ArrayElements(elements) => elements.finish(sink),
            Layout::Documents(documents) => documents.finish(sink),
            Layout::Trailer(rest) => rest.finish().map_err(E::from),
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
            Layout::Trailer(rest) => rest.held(),
            _ => &[],
        };
        self.held.len().saturating_add(more.len())
    }
}

#[cfg(test)]
mod tests;
