//! The paths of offsets in a JSON text.

use std::borrow::Cow;

use super::brackets::Brackets;
use super::reader::Reader;
use super::types::{JsonType, Result};
use crate::error::quote;

/// Returns the paths of `offsets` (ascending) in `text`, each such as `criteria[0].children[2].op`.
///
/// The path of an offset is that of the innermost member or element that holds it, or the empty
/// path where none does. A member reaches from the first byte of its key to the last of its value,
/// an element from the first to the last byte of its value; so brackets belong to what they
/// enclose, while commas, and space between members or elements, belong to what is around them. A
/// text that breaks off breaks within what is open there: a member whose key was read, an element
/// whose first byte, even a wrong one, was seen.
///
/// One walk over the text, so that only requests with errors pay for paths.
pub(crate) fn paths_at(text: &str, offsets: &[usize]) -> Vec<String> {
    let mut walk = PathWalk {
        reader: Reader::new(text),
        wanted: offsets.iter().copied().peekable(),
        paths: Vec::with_capacity(offsets.len()),
        open: Brackets::default(),
        segments: Vec::new(),
    };
    // Where the text breaks, the rest of the offsets have the path in force there.
    let _ = walk.value();
    walk.until(usize::MAX);
    walk.paths.resize(offsets.len(), String::new());
    walk.paths
}

/// The member or element of an open bracket in which the walk is or last was.
enum Segment<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

struct PathWalk<'a, I: Iterator<Item = usize>> {
    reader: Reader<'a>,
    wanted: std::iter::Peekable<I>,
    paths: Vec<String>,
    open: Brackets,
    /// The path in force: of the outermost brackets only, those that a path can show.
    segments: Vec<Segment<'a>>,
}

impl<'a, I: Iterator<Item = usize>> PathWalk<'a, I> {
    /// Gives the path in force to the offsets before `end`.
    fn until(&mut self, end: usize) {
        while self.wanted.next_if(|offset| *offset < end || end == usize::MAX).is_some() {
            self.paths.push(self.path());
        }
    }

    /// Goes into a member or element of the innermost bracket.
    fn enter(&mut self, segment: Segment<'a>) {
        if self.open.depth <= LONGEST_PATH_BYTES {
            self.segments.push(segment);
        }
    }

    /// Leaves it again; gives the number of the element.
    fn leave(&mut self) -> usize {
        if self.open.depth > LONGEST_PATH_BYTES {
            return 0;
        }
        match self.segments.pop() {
            Some(Segment::Index(index)) => index,
            _ => 0,
        }
    }

    /// Walks the value of the text, which is not nested in anything.
    fn value(&mut self) -> Result<()> {
        while self.wanted.peek().is_some() {
            // A value stands next.
            let kind = self.reader.peek()?;
            // The number of the next element, were the innermost bracket an array's.
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

    /// Goes to the value of the next member or element of the innermost bracket; false after its end.
    fn member(&mut self, next: usize) -> Result<bool> {
        // Past the depth that paths show, elements are not counted, and `next` is 1 after any.
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
                    let quoted = quote(key);
                    let bare = quoted.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
                    path.push_str(bare.unwrap_or(&quoted));
                }
                Segment::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
            }
            // A deeper path than this helps no reader, and a hostile one could be as long as the body.
            if path.len() > LONGEST_PATH_BYTES {
                path.push('…');
                break;
            }
        }
        path
    }
}

/// Every segment of a path but the first has at least one byte, so no more segments need be kept.
const LONGEST_PATH_BYTES: usize = 2000;
