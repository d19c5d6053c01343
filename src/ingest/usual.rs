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

/// What stands where a value is read.
enum Found {
    /// All of a value, or nothing of one.
    Scalar,
    /// A bracket, which was read.
    Bracket(Open),
    /// The end of the innermost bracket, which was read.
    End,
}

/// Everything returns `None` where the document is not a usual one, whatever the reason.
impl<'a> Walk<'a, '_> {
    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn bump(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    /// The next byte that is no space, which stays unread.
    #[inline]
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            match self.byte()? {
                b' ' | b'\t' | b'\n' | b'\r' => self.bump(),
                byte => return Some(byte),
            }
        }
    }

    fn document(&mut self) -> Option<()> {
        if self.next_byte()? != b'{' {
            return None;
        }
        let Found::Bracket(mut open) = self.bracket(true, Paths::ROOT) else { return None };
        loop {
            let found = if open.is_object { self.member(&mut open)? } else { self.element(&mut open)? };
            match found {
                Found::Scalar => {}
                Found::Bracket(inner) => {
                    if self.outer.len().saturating_add(1) >= self.depth_limit {
                        return None;
                    }
                    self.outer.push(std::mem::replace(&mut open, inner));
                }
                Found::End => {
                    self.keys.truncate(open.keys_start);
                    match self.outer.pop() {
                        Some(outer) => open = outer,
                        None => break,
                    }
                }
            }
        }
        self.next_byte().is_none().then_some(())
    }

    fn bracket(&mut self, is_object: bool, node: usize) -> Found {
        self.bump();
        let keys_start = self.keys.len();
        Found::Bracket(Open { is_object, is_first: true, node, last: NOWHERE, seen: 0, keys_start })
    }

    /// Reads the next element of an array, or its end.
    #[inline]
    fn element(&mut self, open: &mut Open) -> Option<Found> {
        match self.next_byte()? {
            b']' => {
                self.bump();
                return Some(Found::End);
            }
            b',' if !open.is_first => self.bump(),
            _ if open.is_first => open.is_first = false,
            _ => return None,
        }
        let element = match open.node {
            NOWHERE => NOWHERE,
            node => self.catalog.paths().child(node, "").map_or(NOWHERE, |(_, child)| child),
        };
        self.value(element)
    }

    /// Reads the next member of an object, or its end.
    #[inline]
    fn member(&mut self, open: &mut Open) -> Option<Found> {
        match self.next_byte()? {
            b'}' => {
                self.bump();
                return Some(Found::End);
            }
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
        self.value(node)
    }

    /// Reads one of the members that were next before, if one is; its node and place.
    #[inline]
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
                self.at = self.at.saturating_add(len);
                return Some((node, place));
            }
        }
        None
    }

    /// Reads any key and its colon; its node and place.
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
    #[inline]
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at.saturating_add(1);
        let rest = self.text.as_bytes().get(start..)?;
        let len = plain_len(rest);
        if rest.get(len) == Some(&b'"') {
            let end = start.saturating_add(len);
            self.at = end.saturating_add(1);
            return self.text.get(start..end).map(Cow::Borrowed);
        }
        self.escaped_string()
    }

    #[cold]
    fn escaped_string(&mut self) -> Option<Cow<'a, str>> {
        let mut reader = Reader::starting_at(self.text, self.at);
        let text = reader.string().ok()?;
        self.at = reader.offset();
        Some(text)
    }

    /// Reads the value that stands next, which lies at `node` of the catalogue's paths; of an array or
    /// object the bracket.
    #[inline]
    fn value(&mut self, node: usize) -> Option<Found> {
        let byte = self.next_byte()?;
        let shape = match node {
            NOWHERE => None,
            node => Some(self.catalog.paths().shape(node)),
        };
        match (byte, shape) {
            (b'"', Some(Shape::Leaf(field))) => self.string_of(field)?,
            (b'"', None) => drop(self.string()?),
            (b'{', Some(Shape::Object) | None) => return Some(self.bracket(true, node)),
            (b'[', Some(Shape::Array) | None) => return Some(self.bracket(false, node)),
            (b'n', _) => self.word("null")?,
            (b't' | b'f', leaf @ (None | Some(Shape::Leaf(_)))) => self.boolean(byte == b't', leaf)?,
            (b'-' | b'0'..=b'9', leaf @ (None | Some(Shape::Leaf(_)))) => self.number(leaf)?,
            _ => return None,
        }
        Some(Found::Scalar)
    }

    #[inline]
    fn string_of(&mut self, field: FieldId) -> Option<()> {
        let text = self.string()?;
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
