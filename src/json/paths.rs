//! Computes paths such as `criteria[0].op` from byte offsets in a JSON text.

use std::borrow::Cow;

use super::brackets::Brackets;
use super::reader::Reader;
use super::types::{JsonType, Result};
use crate::error::escaped;

/// Returns the path of each offset in `text`, such as `criteria[0].children[2].op`. `offsets` must be in ascending order.
///
/// The path of an offset names the innermost member or element that contains the offset. The path is empty if no member or element
/// contains it. A member extends from the first byte of its key to the last byte of its value. An element extends from the first to
/// the last byte of its value. So the brackets of a value belong to the value. Commas, and the whitespace between members or
/// elements, belong to the surrounding array or object.
///
/// If the text is truncated or malformed, all offsets after the syntax error have one path. It is that of the innermost member or
/// element that is open there. A member is open after its key was read. An element is open after its first byte was read, even if
/// that byte is wrong.
///
/// The function parses the text a second time. This happens only for requests, documents and records with errors.
pub(crate) fn paths_at(text: &str, offsets: &[usize]) -> Vec<String> {
    let mut walk = PathWalk {
        reader: Reader::new(text),
        wanted: offsets.iter().copied().peekable(),
        paths: Vec::with_capacity(offsets.len()),
        open: Brackets::default(),
        segments: Vec::new(),
    };
    // After a syntax error, the remaining offsets get the current path.
    let _ = walk.value();
    walk.until(usize::MAX);
    walk.paths.resize(offsets.len(), String::new());
    walk.paths
}

/// A segment of a path: the current member of an open object, or the current element of an open array.
enum Segment<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

/// A parser that walks through a text and assigns a path to each wanted offset.
struct PathWalk<'a, I: Iterator<Item = usize>> {
    reader: Reader<'a>,
    wanted: std::iter::Peekable<I>,
    paths: Vec<String>,
    open: Brackets,
    /// The segments of the current path, at most [`LONGEST_PATH_BYTES`] of them. A path is cut after that number of bytes, and each
    /// segment except the first adds at least one byte. So members and elements at a greater depth need no segment.
    segments: Vec<Segment<'a>>,
}

impl<'a, I: Iterator<Item = usize>> PathWalk<'a, I> {
    /// Assigns the current path to the wanted offsets before `end`.
    fn until(&mut self, end: usize) {
        while self.wanted.next_if(|offset| *offset < end || end == usize::MAX).is_some() {
            self.paths.push(self.path());
        }
    }

    /// Enters a member of the innermost open object, or an element of the innermost open array.
    fn enter(&mut self, segment: Segment<'a>) {
        if self.open.depth <= LONGEST_PATH_BYTES {
            self.segments.push(segment);
        }
    }

    /// Leaves the current member or element. Returns the index of the element, or 0 for a member.
    fn leave(&mut self) -> usize {
        if self.open.depth > LONGEST_PATH_BYTES {
            return 0;
        }
        match self.segments.pop() {
            Some(Segment::Index(index)) => index,
            _ => 0,
        }
    }

    /// Parses the outermost value of the text, until no wanted offset is left.
    fn value(&mut self) -> Result<()> {
        while self.wanted.peek().is_some() {
            // The next token is a value.
            let kind = self.reader.peek()?;
            // The index of the next element. For members: 0 before the first member, 1 after any member.
            let mut next: usize = 0;
            if let JsonType::Object | JsonType::Array = kind {
                self.reader.open();
                self.open.push(kind == JsonType::Object);
            } else {
                self.reader.skip_scalar()?;
                if self.open.depth == 0 {
                    return Ok(());
                }
                self.until(self.reader.offset());
                next = self.leave().saturating_add(1);
            }
            while !self.member(next)? {
                self.until(self.reader.offset());
                self.open.pop();
                if self.open.depth == 0 {
                    return Ok(());
                }
                next = self.leave().saturating_add(1);
            }
        }
        Ok(())
    }

    /// Enters the next member of the innermost open object, or the next element of the innermost open array. Returns false at the
    /// end of that object or array.
    fn member(&mut self, next: usize) -> Result<bool> {
        // If more than [`LONGEST_PATH_BYTES`] objects and arrays are open, the innermost elements have no segment. Then `next` is 1
        // after each element.
        if self.open.top() == Some(true) {
            let Some((key, at)) = self.reader.key(next == 0)? else { return Ok(false) };
            self.until(at);
            self.enter(Segment::Key(key));
            self.reader.colon()?;
        } else {
            if !self.reader.next_element(next == 0)? {
                return Ok(false);
            }
            self.reader.skip_space();
            if self.reader.byte().is_some() {
                self.until(self.reader.offset());
                self.enter(Segment::Index(next));
            }
        }
        Ok(true)
    }

    /// Formats the current path.
    fn path(&self) -> String {
        let mut path = String::new();
        for (depth, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Key(key) => {
                    if depth > 0 {
                        path.push('.');
                    }
                    path.push_str(&escaped(key));
                }
                Segment::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
            }
            // Longer paths do not make an error message more useful. Without this limit, a hostile request could make the path as
            // long as its body.
            if path.len() > LONGEST_PATH_BYTES {
                path.push('…');
                break;
            }
        }
        path
    }
}

/// The length in bytes after which a path is cut. The segment that exceeds this length is the last segment of the path. This
/// constant also limits the number of segments, because each segment except the first adds at least one byte to the path.
const LONGEST_PATH_BYTES: usize = 2000;
