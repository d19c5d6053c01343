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
use crate::catalog::{Catalog, Expected, FieldId, PathId, Paths};
use crate::error::Error;
use crate::json::{Reader, plain_len};
use crate::limits::Limits;
use crate::value::{Number, Timestamp, Value};

/// The number of a node below which no field lies.
const NOWHERE: PathId = PathId::MAX;
/// Brackets open at once in a usual document.
const USUAL_DEPTH: usize = 16;
/// Members without a node in an object of a usual document.
const USUAL_KEYS: usize = 16;

/// What followed what in the documents so far, all of which were read by the same catalogue.
#[derive(Debug, Default)]
pub(crate) struct Habits {
    /// By node, the members that came next after it, and behind those, by node, the members that came first
    /// in it; the latest first.
    next: Vec<[PathId; 2]>,
}

impl Habits {
    fn prepare(&mut self, nodes: usize) {
        let len = nodes.saturating_mul(2);
        if self.next.len() != len {
            self.next = vec![[NOWHERE; 2]; len];
        }
    }

    #[inline]
    fn learn(&mut self, before: usize, member: PathId) {
        if let Some([latest, earlier]) = self.next.get_mut(before) {
            *earlier = std::mem::replace(latest, member);
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
    habits.prepare(catalog.paths().steps().len());
    let walk = Walk {
        text,
        paths: catalog.paths(),
        depth_limit: limits.case_depth.min(USUAL_DEPTH),
        habits,
        row,
        keys: SmallVec::new(),
    };
    text.len() <= case_limit(limits) && walk.document().is_some() && complete(row, &[], 0, catalog).is_ok()
}

struct Walk<'a, 'w> {
    text: &'a str,
    paths: &'w Paths,
    depth_limit: usize,
    habits: &'w mut Habits,
    row: &'w mut Row<'a>,
    /// The keys of all open objects that lead nowhere, innermost last.
    keys: SmallVec<[Cow<'a, str>; USUAL_KEYS]>,
}

/// An open array or object.
#[derive(Clone, Copy)]
struct Open {
    /// The bracket that closes it.
    end: u8,
    is_first: bool,
    /// Of an object, its own; of an array, that of its elements.
    node: PathId,
    /// Of an array, what its elements are.
    expected: Expected,
    /// Of an object, which of the habits tell what comes next.
    habit: usize,
    /// A bit for each of the node's children that was seen, by place.
    seen: u64,
    /// Where its keys start among `keys`.
    keys_start: usize,
}

/// Everything returns `None` where the document is not a usual one, whatever the reason.
///
/// The offset of the next byte is handed on by value, so that it stays in a register. Offsets wrap nowhere: they lie
/// in the text or just behind it.
impl<'a> Walk<'a, '_> {
    fn document(mut self) -> Option<()> {
        let text = self.text;
        let mut at = 0;
        if next_byte(text, &mut at)? != b'{' {
            return None;
        }
        at = at.wrapping_add(1);
        let mut open = self.object(Paths::ROOT);
        // The brackets around the innermost open one.
        let mut outer: SmallVec<[Open; USUAL_DEPTH]> = SmallVec::new();
        loop {
            let byte = next_byte(text, &mut at)?;
            if byte == open.end {
                at = at.wrapping_add(1);
                if self.keys.len() > open.keys_start {
                    self.keys.truncate(open.keys_start);
                }
                match outer.pop() {
                    Some(around) => open = around,
                    None => break,
                }
                continue;
            }
            if open.is_first {
                open.is_first = false;
            } else if byte == b',' {
                at = at.wrapping_add(1);
            } else {
                return None;
            }
            let (node, expected) =
                if open.end == b'}' { self.member(&mut at, &mut open)? } else { (open.node, open.expected) };
            let byte = next_byte(text, &mut at)?;
            let value = match byte {
                b'"' => match plain_string(text, &mut at) {
                    Some(text) => string_value(Cow::Borrowed(text), expected)?,
                    None => {
                        self.escaped_string(&mut at, expected)?;
                        continue;
                    }
                },
                b'{' | b'[' => {
                    at = at.wrapping_add(1);
                    if outer.len().wrapping_add(1) >= self.depth_limit {
                        return None;
                    }
                    let inner = match (byte, expected) {
                        (b'{', Expected::Object | Expected::Anything) => self.object(node),
                        (b'[', Expected::Array | Expected::Anything) => self.array(node),
                        _ => return None,
                    };
                    outer.push(std::mem::replace(&mut open, inner));
                    continue;
                }
                b'n' => {
                    at = behind_word(text, at, "null")?;
                    continue;
                }
                b't' => boolean_value(text, &mut at, "true", expected)?,
                b'f' => boolean_value(text, &mut at, "false", expected)?,
                b'-' | b'0'..=b'9' => number_value(text, &mut at, expected)?,
                _ => return None,
            };
            if let Some((field, value)) = value {
                self.row.push_borrowed(field, value);
            }
        }
        next_byte(text, &mut at).is_none().then_some(())
    }

    fn object(&self, node: PathId) -> Open {
        // Of no node, there are no habits.
        let habit = self.paths.steps().len().saturating_add(node);
        let expected = Expected::Anything;
        Open { end: b'}', is_first: true, node, expected, habit, seen: 0, keys_start: self.keys.len() }
    }

    fn array(&self, node: PathId) -> Open {
        let element = self.paths.element(node).unwrap_or(NOWHERE);
        let expected = self.paths.steps().get(element).map_or(Expected::Anything, |step| step.expected);
        let keys_start = self.keys.len();
        Open { end: b']', is_first: true, node: element, expected, habit: NOWHERE, seen: 0, keys_start }
    }

    /// Reads the next key of an object and its colon; gives its node, and what is expected there.
    #[inline(always)]
    fn member(&mut self, at: &mut usize, open: &mut Open) -> Option<(PathId, Expected)> {
        // Most likely is what came next before.
        let rest = self.text.as_bytes().get(*at..)?;
        for node in *self.habits.next.get(open.habit).unwrap_or(&[NOWHERE; 2]) {
            if let Some(step) = self.paths.steps().get(node)
                && let Some(len) = step.tag.stands_in(rest)
            {
                *at = at.wrapping_add(len);
                open.note(node, step.bit)?;
                return Some((node, step.expected));
            }
        }
        let (behind, node) = self.key(*at, open)?;
        *at = behind;
        let Some(step) = self.paths.steps().get(node) else { return Some((NOWHERE, Expected::Anything)) };
        open.note(node, step.bit)?;
        Some((node, step.expected))
    }

    /// Reads any key and its colon; gives the offset behind it and its node.
    #[inline(never)]
    fn key(&mut self, mut at: usize, open: &Open) -> Option<(usize, PathId)> {
        if next_byte(self.text, &mut at)? != b'"' {
            return None;
        }
        let key = match plain_string(self.text, &mut at) {
            Some(key) => Cow::Borrowed(key),
            None => escaped_string(self.text, &mut at)?,
        };
        if next_byte(self.text, &mut at)? != b':' {
            return None;
        }
        at = at.wrapping_add(1);
        if let Some((_, node)) = self.paths.child(open.node, &key) {
            self.habits.learn(open.habit, node);
            return Some((at, node));
        }
        let own = self.keys.get(open.keys_start..)?;
        if own.len() >= USUAL_KEYS || own.contains(&key) {
            return None;
        }
        self.keys.push(key);
        Some((at, NOWHERE))
    }

    /// Reads a string of any form as the value of a field, if one lies here.
    #[cold]
    fn escaped_string(&mut self, at: &mut usize, expected: Expected) -> Option<()> {
        if let Some((field, value)) = string_value(escaped_string(self.text, at)?, expected)? {
            self.row.push(field, value);
        }
        Some(())
    }
}

impl Open {
    /// Notes a member that has a node; none is usual twice.
    #[inline(always)]
    fn note(&mut self, node: PathId, bit: u64) -> Option<()> {
        if bit == 0 || self.seen & bit != 0 {
            return None;
        }
        self.seen |= bit;
        self.habit = node;
        Some(())
    }
}

/// The next byte that is no space, whose offset `at` becomes.
#[inline(always)]
fn next_byte(text: &str, at: &mut usize) -> Option<u8> {
    let byte = *text.as_bytes().get(*at)?;
    if byte > b' ' {
        return Some(byte);
    }
    *at = behind_space(text, *at);
    text.as_bytes().get(*at).copied()
}

#[cold]
fn behind_space(text: &str, mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.as_bytes().get(at) {
        at = at.wrapping_add(1);
    }
    at
}

/// The string without escapes whose quote stands at `at`, which then is behind it.
#[inline(always)]
fn plain_string<'a>(text: &'a str, at: &mut usize) -> Option<&'a str> {
    let start = at.wrapping_add(1);
    let rest = text.as_bytes().get(start..)?;
    let len = plain_len(rest);
    if rest.get(len) != Some(&b'"') {
        return None;
    }
    let end = start.wrapping_add(len);
    *at = end.wrapping_add(1);
    text.get(start..end)
}

#[cold]
fn escaped_string<'a>(text: &'a str, at: &mut usize) -> Option<Cow<'a, str>> {
    let mut reader = Reader::starting_at(text, *at);
    let string = reader.string().ok()?;
    *at = reader.offset();
    Some(string)
}

/// The field and the value, if a field lies here, which is the inner `Option`.
type FieldValue<'a> = Option<(FieldId, Value<'a>)>;

#[inline(always)]
fn string_value(text: Cow<'_, str>, expected: Expected) -> Option<FieldValue<'_>> {
    Some(match expected {
        Expected::String(field) => Some((field, Value::String(text))),
        Expected::Timestamp(field) => Some((field, Value::Timestamp(Timestamp::parse(&text).ok()?))),
        Expected::UnixMillis(field) => Some((field, Value::Timestamp(Timestamp::parse_millis(&text)?))),
        Expected::Anything => None,
        _ => return None,
    })
}

/// The offset behind a word that stands at `at`.
fn behind_word(text: &str, at: usize, word: &str) -> Option<usize> {
    let end = at.wrapping_add(word.len());
    (text.as_bytes().get(at..end)? == word.as_bytes()).then_some(end)
}

fn boolean_value<'a>(text: &str, at: &mut usize, word: &str, expected: Expected) -> Option<FieldValue<'a>> {
    *at = behind_word(text, *at, word)?;
    match expected {
        Expected::Boolean(field) => Some(Some((field, Value::Boolean(word == "true")))),
        Expected::Anything => Some(None),
        _ => None,
    }
}

fn number_value<'a>(text: &str, at: &mut usize, expected: Expected) -> Option<FieldValue<'a>> {
    let mut reader = Reader::starting_at(text, *at);
    let number = reader.number().ok()?;
    *at = reader.offset();
    match expected {
        Expected::Number(field) => Some(Some((field, Value::Number(Number::new(number.parse().ok()?)?)))),
        Expected::UnixMillis(field) => {
            Some(Some((field, Value::Timestamp(Timestamp::parse_millis(number)?))))
        }
        Expected::Anything => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
