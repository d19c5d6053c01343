//! Paths such as `criteria[0].op`, computed from byte offsets in a JSON text.

use std::borrow::Cow;

use super::brackets::Brackets;
use super::reader::Reader;
use super::types::{JsonType, Result};
use crate::error::escaped;

/// Returns the paths of `offsets` (ascending) in `text`, each such as `criteria[0].children[2].op`.
///
/// The path of an offset is that of the innermost member or element that contains the offset; it is empty if there is none. A
/// member extends from the first byte of its key to the last byte of its value. An element extends from the first to the last
/// byte of its value. So the brackets of a value belong to it. Commas and the space between members or elements belong to the
/// array or object around them.
///
/// In a text that ends too early or has an error, all later offsets have the path of the innermost member or element that is open
/// there. A member is open once its key was read, an element once its first byte was seen, even if that byte is wrong.
///
/// The function parses the text a second time. Only requests with errors pay for that.
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

/// One step of a path: the member or element of an open bracket that the walk is in, or was in last.
enum Segment<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

struct PathWalk<'a, I: Iterator<Item = usize>> {
    reader: Reader<'a>,
    wanted: std::iter::Peekable<I>,
    paths: Vec<String>,
    open: Brackets,
    /// The current path. It has the segments of the outermost brackets only, up to the length that a path can show.
    segments: Vec<Segment<'a>>,
}

impl<'a, I: Iterator<Item = usize>> PathWalk<'a, I> {
    /// Assigns the current path to the offsets before `end`.
    fn until(&mut self, end: usize) {
        while self.wanted.next_if(|offset| *offset < end || end == usize::MAX).is_some() {
            self.paths.push(self.path());
        }
    }

    /// Enters a member or element of the innermost bracket.
    fn enter(&mut self, segment: Segment<'a>) {
        if self.open.depth <= LONGEST_PATH_BYTES {
            self.segments.push(segment);
        }
    }

    /// Leaves the current member or element. Returns the index of the element.
    fn leave(&mut self) -> usize {
        if self.open.depth > LONGEST_PATH_BYTES {
            return 0;
        }
        match self.segments.pop() {
            Some(Segment::Index(index)) => index,
            _ => 0,
        }
    }

    /// Walks the outermost value of the text.
    fn value(&mut self) -> Result<()> {
        while self.wanted.peek().is_some() {
            // The next token is a value.
            let kind = self.reader.peek()?;
            // The index of the next element. Used only if the innermost bracket is an array's.
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

    /// Enters the next member or element of the innermost bracket. Returns false at the end of that bracket.
    fn member(&mut self, next: usize) -> Result<bool> {
        // Below the depth that paths show, elements are not counted: `next` is 1 after each of them.
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
            // A longer path helps no reader, and a hostile request could make it as long as its body.
            if path.len() > LONGEST_PATH_BYTES {
                path.push('…');
                break;
            }
        }
        path
    }
}

/// The length at which paths are cut, in bytes. It also bounds the segments to keep, since each but the first has a byte or more.
const LONGEST_PATH_BYTES: usize = 2000;
