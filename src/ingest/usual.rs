//! One case document that looks as documents usually do: JSON text to a [`Row`], quickly.
//!
//! Documents of one source tend to have the same members in the same order, compact, nested as the
//! catalogue says, every value of its field's type. Such a document is read here, its keys guessed
//! from those that followed in the documents before. Any other is left to [`read_case`], which reads it
//! from its start and knows what to say about it.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::read::{case_limit, complete, read_case};
use crate::batch::Row;
use crate::catalog::{Catalog, FieldId, FieldType, Paths, Shape};
use crate::error::Error;
use crate::json::{Reader, plain_len};
use crate::limits::Limits;
use crate::value::{Number, Timestamp, Value};

/// The number of a node below which no field lies.
const NOWHERE: usize = usize::MAX;
/// Brackets open at once in a usual document.
const USUAL_DEPTH: usize = 16;
/// Members without a node in an object of a usual document.
const USUAL_KEYS: usize = 16;

/// What followed what in the documents so far.
///
/// Habits of another catalogue make reading slower, never wrong.
#[derive(Debug, Default)]
pub(crate) struct Habits {
    /// By node: the members that came next after it, the latest first.
    after: Vec<[usize; 2]>,
    /// By node: the members that came first in it.
    first: Vec<[usize; 2]>,
}

impl Habits {
    fn prepare(&mut self, paths: &Paths) {
        if self.after.len() != paths.len() {
            self.after = vec![[NOWHERE; 2]; paths.len()];
            self.first.clone_from(&self.after);
        }
    }

    /// The members that may come next in an object.
    #[inline]
    fn next(&mut self, object: usize, last: usize) -> Option<&mut [usize; 2]> {
        if last == NOWHERE { self.first.get_mut(object) } else { self.after.get_mut(last) }
    }

    #[inline]
    fn learn(&mut self, object: usize, last: usize, member: usize) {
        if let Some([latest, before]) = self.next(object, last) {
            *before = std::mem::replace(latest, member);
        }
    }
}

/// Reads a case as [`read_case`] does, with the same outcome.
///
/// # Errors
/// As [`read_case`].
pub(crate) fn read_usual_case<'a>(
    text: &'a str,
    catalog: &Catalog,
    limits: &Limits,
    habits: &mut Habits,
    row: &mut Row<'a>,
) -> Result<(), Error> {
    if is_read_as_usual(text, catalog, limits, habits, row) {
        return Ok(());
    }
    read_case(text, catalog, limits, row)
}

/// True when the document is a usual one, whose values are in the row then.
fn is_read_as_usual<'a>(
    text: &'a str,
    catalog: &Catalog,
    limits: &Limits,
    habits: &mut Habits,
    row: &mut Row<'a>,
) -> bool {
    row.clear();
    habits.prepare(catalog.paths());
    let mut walk = Walk {
        text,
        at: 0,
        catalog,
        depth_limit: limits.case_depth.min(USUAL_DEPTH),
        habits,
        row,
        outer: SmallVec::new(),
        keys: SmallVec::new(),
    };
    text.len() <= case_limit(limits) && walk.document().is_some() && complete(row, &[], 0, catalog).is_ok()
}

struct Walk<'a, 'w> {
    text: &'a str,
    at: usize,
    catalog: &'w Catalog,
    depth_limit: usize,
    habits: &'w mut Habits,
    row: &'w mut Row<'a>,
    /// The brackets around the innermost open one.
    outer: SmallVec<[Open; USUAL_DEPTH]>,
    /// The keys of all open objects that lead nowhere, innermost last.
    keys: SmallVec<[Cow<'a, str>; USUAL_KEYS]>,
}

/// An open array or object.
#[derive(Clone, Copy)]
struct Open {
    is_object: bool,
    is_first: bool,
    node: usize,
    /// The member read last, of those that have a node.
    last: usize,
    /// A bit for each of the node's children that was seen, by place.
    seen: u64,
    /// Where its keys start among `keys`.
    keys_start: usize,
}

impl Open {
    fn new(is_object: bool, node: usize, keys_start: usize) -> Self {
        Self { is_object, is_first: true, node, last: NOWHERE, seen: 0, keys_start }
    }
}

/// Stands for the end of the innermost bracket, where a node is looked for.
const END: usize = NOWHERE - 1;

/// Everything returns `None` where the document is not a usual one, whatever the reason.
///
/// Offsets wrap nowhere: they lie in the text or just behind it.
impl<'a> Walk<'a, '_> {
    #[inline(always)]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline(always)]
    fn bump(&mut self) {
        self.at = self.at.wrapping_add(1);
    }

    /// The next byte that is no space, which stays unread.
    #[inline(always)]
    fn next_byte(&mut self) -> Option<u8> {
        match self.byte()? {
            b' ' | b'\t' | b'\n' | b'\r' => self.byte_behind_space(),
            byte => Some(byte),
        }
    }

    #[cold]
    fn byte_behind_space(&mut self) -> Option<u8> {
        while let b' ' | b'\t' | b'\n' | b'\r' = self.byte()? {
            self.bump();
        }
        self.byte()
    }

    fn document(&mut self) -> Option<()> {
        if self.next_byte()? != b'{' {
            return None;
        }
        self.bump();
        let mut open = Open::new(true, Paths::ROOT, 0);
        loop {
            let node = if open.is_object { self.member(&mut open)? } else { self.element(&mut open)? };
            if node == END {
                self.bump();
                if self.keys.len() > open.keys_start {
                    self.keys.truncate(open.keys_start);
                }
                match self.outer.pop() {
                    Some(outer) => open = outer,
                    None => break,
                }
                continue;
            }
            let byte = self.next_byte()?;
            match (byte, self.catalog.paths().shape_if_any(node)) {
                (b'"', shape @ (Some(Shape::Leaf(_)) | None)) => {
                    let text = self.string()?;
                    if let Some(Shape::Leaf(field)) = shape {
                        self.push_string(field, text)?;
                    }
                }
                (b'{', Some(Shape::Object) | None) | (b'[', Some(Shape::Array) | None) => {
                    self.bump();
                    if self.outer.len().wrapping_add(1) >= self.depth_limit {
                        return None;
                    }
                    let inner = Open::new(byte == b'{', node, self.keys.len());
                    self.outer.push(std::mem::replace(&mut open, inner));
                }
                (b'n', _) => self.word("null")?,
                (b't' | b'f', shape @ (Some(Shape::Leaf(_)) | None)) => self.boolean(byte == b't', shape)?,
                (b'-' | b'0'..=b'9', shape @ (Some(Shape::Leaf(_)) | None)) => self.number(shape)?,
                _ => return None,
            }
        }
        self.next_byte().is_none().then_some(())
    }

    /// Goes to the next element of an array, and gives its node; [`END`] before its bracket.
    #[inline(always)]
    fn element(&mut self, open: &mut Open) -> Option<usize> {
        match self.next_byte()? {
            b']' => return Some(END),
            b',' if !open.is_first => self.bump(),
            _ if open.is_first => open.is_first = false,
            _ => return None,
        }
        Some(self.catalog.paths().element(open.node).unwrap_or(NOWHERE))
    }

    /// Reads the next key of an object and its colon, and gives its node; [`END`] before its bracket.
    #[inline(always)]
    fn member(&mut self, open: &mut Open) -> Option<usize> {
        match self.next_byte()? {
            b'}' => return Some(END),
            b',' if !open.is_first => self.bump(),
            b'"' if open.is_first => open.is_first = false,
            _ => return None,
        }
        let (node, place) = match self.guess(open) {
            Some(guessed) => guessed,
            None => self.key(open)?,
        };
        if node != NOWHERE {
            open.last = node;
            let bit = 1_u64.checked_shl(u32::try_from(place).ok()?)?;
            if open.seen & bit != 0 {
                return None;
            }
            open.seen |= bit;
        }
        Some(node)
    }

    /// Reads one of the members that were next before, if one is; its node and place.
    #[inline(always)]
    fn guess(&mut self, open: &Open) -> Option<(usize, usize)> {
        if open.node == NOWHERE {
            return None;
        }
        let candidates = *self.habits.next(open.node, open.last)?;
        let rest = self.text.as_bytes().get(self.at..)?;
        for node in candidates {
            if let Some((tag, place)) = self.catalog.paths().tag(node)
                && let Some(len) = tag.stands_in(rest)
            {
                self.at = self.at.wrapping_add(len);
                return Some((node, place));
            }
        }
        None
    }

    /// Reads any key and its colon; its node and place.
    #[inline(never)]
    fn key(&mut self, open: &Open) -> Option<(usize, usize)> {
        if self.next_byte()? != b'"' {
            return None;
        }
        let key = self.string()?;
        if self.next_byte()? != b':' {
            return None;
        }
        self.bump();
        let child = match open.node {
            NOWHERE => None,
            node => self.catalog.paths().child(node, &key),
        };
        if let Some((place, node)) = child {
            self.habits.learn(open.node, open.last, node);
            return Some((node, place));
        }
        let own = self.keys.get(open.keys_start..)?;
        if own.len() >= USUAL_KEYS || own.contains(&key) {
            return None;
        }
        self.keys.push(key);
        Some((NOWHERE, 0))
    }

    /// Reads the string whose quote stands next.
    #[inline(always)]
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at.wrapping_add(1);
        let rest = self.text.get(start..)?;
        let len = plain_len(rest.as_bytes());
        if rest.as_bytes().get(len) != Some(&b'"') {
            return self.escaped_string();
        }
        self.at = start.wrapping_add(len).wrapping_add(1);
        rest.get(..len).map(Cow::Borrowed)
    }

    #[cold]
    fn escaped_string(&mut self) -> Option<Cow<'a, str>> {
        let mut reader = Reader::starting_at(self.text, self.at);
        let text = reader.string().ok()?;
        self.at = reader.offset();
        Some(text)
    }

    #[inline(always)]
    fn push_string(&mut self, field: FieldId, text: Cow<'a, str>) -> Option<()> {
        let own = self.catalog.field(field);
        let value = match own.kind() {
            FieldType::String => Value::String(text),
            FieldType::Timestamp if own.is_unix_millis() => Value::Timestamp(Timestamp::parse_millis(&text)?),
            FieldType::Timestamp => Value::Timestamp(Timestamp::parse(&text).ok()?),
            FieldType::Number | FieldType::Boolean => return None,
        };
        self.row.push(field, value);
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let end = self.at.saturating_add(word.len());
        (self.text.get(self.at..end) == Some(word)).then_some(())?;
        self.at = end;
        Some(())
    }

    fn boolean(&mut self, boolean: bool, leaf: Option<Shape>) -> Option<()> {
        self.word(if boolean { "true" } else { "false" })?;
        if let Some(Shape::Leaf(field)) = leaf {
            (self.catalog.field(field).kind() == FieldType::Boolean).then_some(())?;
            self.row.push(field, Value::Boolean(boolean));
        }
        Some(())
    }

    fn number(&mut self, leaf: Option<Shape>) -> Option<()> {
        let mut reader = Reader::starting_at(self.text, self.at);
        let text = reader.number().ok()?;
        self.at = reader.offset();
        if let Some(Shape::Leaf(field)) = leaf {
            let own = self.catalog.field(field);
            let value = match own.kind() {
                FieldType::Number => Value::Number(Number::new(text.parse().ok()?)?),
                FieldType::Timestamp if own.is_unix_millis() => {
                    Value::Timestamp(Timestamp::parse_millis(text)?)
                }
                _ => return None,
            };
            self.row.push(field, value);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
