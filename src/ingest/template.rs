//! One case document that looks as documents usually do: JSON text to a [`Row`], quickly.
//!
//! Documents of one source tend to have the same members in the same order, written in the same way, nested as
//! the catalogue says, every value of its field's type. Such a document is read here: what stands between its values is
//! compared with what stood there in the documents before, and read byte by byte, and learned, where it is new. Any
//! other is left to [`read_case`], which reads it from its start and knows what to say about it.

use std::borrow::Cow;

use std::sync::Arc;

use smallvec::SmallVec;

use super::members::Members;
use super::segments::{Form, Keys, Links, Place};
use super::strict::{case_limit, complete, read_case_with};
use crate::batch::{Remark, Row};
use crate::catalog::{Catalog, Expected, Paths, Shape};
use crate::error::Error;
use crate::json::{JsonType, Reader, plain_len};
use crate::limits::Limits;
use crate::value::{Number, Timestamp, Value};

/// Brackets open at once in what is read over.
const USUAL_DEPTH: usize = 16;
/// Keys of an object in what is read over, and keys of a document that have no place.
const USUAL_KEYS: usize = 16;

/// What the documents so far were like, all of which must have been read by the same catalogue.
#[derive(Debug, Default)]
pub(crate) struct Habits {
    links: Links,
    members: Members,
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
    read_case_with(text, catalog, limits, row, Some(&mut habits.members))
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
    let Habits { links, members } = habits;
    let depth_limit = limits.case_depth;
    links.prepare(catalog.paths(), depth_limit);
    let walk =
        Walk { catalog, paths: catalog.paths(), depth_limit, links, members, row, seen: Seen::default() };
    text.len() <= case_limit(limits)
        && walk.document(text).is_some()
        && complete(row, &[], 0, catalog).is_ok()
}

struct Walk<'a, 'w> {
    catalog: &'w Catalog,
    paths: &'w Paths,
    depth_limit: usize,
    links: &'w mut Links,
    members: &'w mut Members,
    row: &'w mut Row<'a>,
    seen: Seen<'a>,
}

/// The keys of a document so far.
#[derive(Default)]
struct Seen<'a> {
    /// Those that have a place, but for those of an array's objects before the one that began last.
    keys: Keys,
    /// Those that have none, since there were too many, each with its object. Of arrays' objects, they are never forgotten:
    /// that such a document counts as unusual costs time alone.
    strays: Vec<(Place, Cow<'a, str>)>,
}

impl<'a> Seen<'a> {
    /// Notes keys, of which no object may have had any yet.
    #[inline(always)]
    fn note(&mut self, keys: Keys) -> Option<()> {
        if self.keys.has_any(keys) {
            return None;
        }
        self.keys = self.keys.with(keys);
        Some(())
    }

    /// As [`note`](Self::note), of a key that has no place.
    fn note_stray(&mut self, object: Place, key: Cow<'a, str>) -> Option<()> {
        let stray = (object, key);
        if self.strays.len() >= USUAL_KEYS || self.strays.contains(&stray) {
            return None;
        }
        self.strays.push(stray);
        Some(())
    }

    /// Forgets the keys of an object in an array that has ended.
    #[inline(always)]
    fn forget(&mut self, keys: Keys) {
        self.keys = self.keys.without(keys);
    }
}

/// Everything returns `None` where the document is not a usual one, whatever the reason.
impl<'a> Walk<'a, '_> {
    fn document(mut self, text: &'a str) -> Option<()> {
        let mut rest = behind_space(text).strip_prefix('{').filter(|_| self.depth_limit > 0)?;
        let mut place = Paths::ROOT;
        loop {
            let form;
            if let Some(link) = self.links.follow(place, rest.as_bytes()) {
                if let Some(ended) = link.ended {
                    self.seen.forget(ended);
                }
                self.seen.note(link.keys)?;
                rest = rest.get(link.len..)?;
                (form, place) = (link.form, link.to);
            } else {
                (rest, form, place) = self.seek(rest, place)?;
            }
            match form {
                Form::String(field) => match plain_string(rest) {
                    Some((string, behind)) => {
                        self.row.push_borrowed(field, Value::String(Cow::Borrowed(string)));
                        rest = behind;
                    }
                    None => {
                        let (string, behind) = escaped_string(rest)?;
                        self.row.push(field, Value::String(string));
                        rest = behind;
                    }
                },
                Form::Timestamp(field) => {
                    let (string, behind) = plain_string(rest)?;
                    self.row.push_borrowed(field, Value::Timestamp(Timestamp::parse(string).ok()?));
                    if Timestamp::is_without_zone(string) {
                        self.row.remark(Remark::NoZone(field, Cow::Borrowed(string)));
                    }
                    rest = behind;
                }
                Form::UnixMillis(field) => match unix_millis(rest) {
                    Some((timestamp, behind)) => {
                        self.row.push_borrowed(field, Value::Timestamp(timestamp));
                        if timestamp.is_mistaken_millis() {
                            let text = before(rest, behind)?.trim_matches(['"', ' ', '\t', '\n', '\r']);
                            self.row.remark(Remark::Mistaken(field, Cow::Borrowed(text)));
                        }
                        rest = behind;
                    }
                    None => (rest, place) = self.behind_nothing(text, rest, place)?,
                },
                Form::Number(field) => match Number::plain_at_front(rest.as_bytes()) {
                    Some((number, len)) => {
                        self.row.push_borrowed(field, Value::Number(number));
                        rest = rest.get(len..)?;
                    }
                    None => match any_number(rest) {
                        Some((number, behind)) => {
                            self.row.push_borrowed(field, Value::Number(number));
                            let text = before(rest, behind)?.trim();
                            if number.is_rounded_from(text) {
                                self.row.remark(Remark::Rounded(field, Cow::Borrowed(text)));
                            }
                            rest = behind;
                        }
                        None => (rest, place) = self.behind_nothing(text, rest, place)?,
                    },
                },
                Form::Boolean(field) => match boolean(rest) {
                    Some((boolean, behind)) => {
                        self.row.push_borrowed(field, Value::Boolean(boolean));
                        rest = behind;
                    }
                    None => (rest, place) = self.behind_nothing(text, rest, place)?,
                },
                Form::Other => {
                    let object = self.links.parent(place)?;
                    rest = self.behind_value(rest, object)?;
                }
                Form::End => {
                    let near = self.links.near(self.seen.keys);
                    near.for_each(|stray| self.row.remark(Remark::Stray(Arc::clone(stray))));
                    return behind_space(rest).is_empty().then_some(());
                }
            }
        }
    }

    /// Reads what stands before the next value or the end, whatever it is, and learns that it leads there from
    /// the place of the value before; gives the text behind it, and what is there.
    #[inline(never)]
    fn seek(&mut self, text: &'a str, from: Place) -> Option<(&'a str, Form, Place)> {
        let mut rest = text;
        let (mut ended, mut keys) = (Keys::default(), Keys::default());
        // Whether these tell all.
        let mut is_plain = true;
        let places = self.links.len();
        // The innermost object or array; nothing but the document's own is a place to start from.
        let mut is_first = from == Paths::ROOT;
        let mut open = if is_first { from } else { self.links.parent(from)? };
        let (form, to) = loop {
            rest = behind_space(rest);
            let around = self.paths.steps().get(open)?;
            let is_object = around.expected == Expected::Object;
            if let Some(behind) = rest.strip_prefix(if is_object { '}' } else { ']' }) {
                rest = behind;
                if open == Paths::ROOT {
                    break (Form::End, Paths::ROOT);
                }
                (open, is_first) = (around.parent, false);
                continue;
            }
            if !is_first {
                rest = rest.strip_prefix(',')?;
            }
            is_first = false;
            let place = if is_object {
                let name;
                (name, rest) = key(rest)?;
                let node = self.paths.child(open, &name).map(|(_, node)| node);
                let place = node.or_else(|| self.links.stranger(open, &name));
                let place_key = place.and_then(|place| self.links.key(place));
                if node.is_none()
                    && let Some(stray) = self.members.look(self.catalog, open, &name)
                {
                    match place_key {
                        Some(key) => self.links.note_near(key, stray),
                        None => self.row.remark(Remark::Stray(Arc::clone(stray))),
                    }
                }
                if let Some(key) = place_key {
                    self.seen.note(key)?;
                    keys = keys.with(key);
                } else {
                    self.seen.note_stray(open, name)?;
                    is_plain = false;
                }
                let Some(place) = place else {
                    rest = self.behind_value(rest, open)?;
                    continue;
                };
                place
            } else {
                self.paths.element(open)?
            };
            rest = behind_space(rest);
            let Some(step) = self.paths.steps().get(place) else { break (Form::Other, place) };
            if let Some(behind) = rest.strip_prefix("null") {
                rest = behind;
                continue;
            }
            match step.expected {
                Expected::Object | Expected::Array => {
                    let is_inner_object = step.expected == Expected::Object;
                    rest = rest.strip_prefix(if is_inner_object { '{' } else { '[' })?;
                    if step.depth >= self.depth_limit {
                        return None;
                    }
                    if is_inner_object && !is_object {
                        // Each object of an array has keys of its own.
                        let below = self.links.below(place);
                        is_plain &= !keys.has_any(below);
                        self.seen.forget(below);
                        ended = ended.with(below);
                    }
                    (open, is_first) = (place, true);
                }
                expected => {
                    let form = Form::of(expected)?;
                    if form.is_quoted() {
                        rest = rest.strip_prefix('"')?;
                    }
                    break (form, place);
                }
            }
        };
        if is_plain && places == self.links.len() {
            self.links.learn(from, before(text, rest)?, ended, keys, to, form);
        }
        Some((rest, form, to))
    }

    /// Reads over what stands where a value should be if there is none: `null`, or the end of an array that has just
    /// begun, whose place is what was reached then.
    #[cold]
    fn behind_nothing(&self, text: &str, rest: &'a str, place: Place) -> Option<(&'a str, Place)> {
        let next = behind_space(rest);
        if let Some(behind) = next.strip_prefix("null") {
            return Some((behind, place));
        }
        let array = self.links.parent(place)?;
        let is_array = self.paths.shape(array) == Shape::Array;
        let is_empty = is_array && before(text, rest)?.trim_ascii_end().ends_with('[');
        Some((next.strip_prefix(']').filter(|_| is_empty)?, array))
    }

    /// Reads over the value that stands next, of a key of an object.
    fn behind_value(&self, text: &'a str, object: Place) -> Option<&'a str> {
        let open = self.paths.steps().get(object)?.depth.saturating_add(1);
        behind_value(text, self.depth_limit.saturating_sub(open))
    }
}

/// Reads the next key of an object and its colon; gives what stands behind.
fn key(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let (key, rest) = string(behind_space(text).strip_prefix('"')?)?;
    Some((key, behind_space(rest).strip_prefix(':')?))
}

/// What of a text stands before the rest of it.
fn before<'t>(text: &'t str, rest: &str) -> Option<&'t str> {
    text.get(..text.len().checked_sub(rest.len())?)
}

/// The text from its first byte on that is no space.
#[inline(always)]
fn behind_space(text: &str) -> &str {
    match text.as_bytes().first() {
        Some(byte) if *byte <= b' ' => behind_spaces(text),
        _ => text,
    }
}

#[cold]
fn behind_spaces(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

/// What stands in a string without escapes, whose opening quote was just read, and what stands behind it.
#[inline(always)]
fn plain_string(text: &str) -> Option<(&str, &str)> {
    let (string, rest) = text.split_at_checked(plain_len(text.as_bytes()))?;
    Some((string, rest.strip_prefix('"')?))
}

/// As [`plain_string`], with any escapes.
#[cold]
fn escaped_string(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut reader = Reader::new(text);
    let string = reader.string_behind_quote().ok()?;
    Some((string, text.get(reader.offset()..)?))
}

/// As [`plain_string`], with escapes or without.
fn string(text: &str) -> Option<(Cow<'_, str>, &str)> {
    match plain_string(text) {
        Some((string, rest)) => Some((Cow::Borrowed(string), rest)),
        None => escaped_string(text),
    }
}

/// The number that stands next, and what stands behind it.
#[cold]
fn any_number(text: &str) -> Option<(Number, &str)> {
    let (number, rest) = number_text(text)?;
    Some((Number::new(number.parse().ok()?)?, rest))
}

/// The text of the number that stands next, and what stands behind it.
fn number_text(text: &str) -> Option<(&str, &str)> {
    let text = behind_space(text);
    // What is wrong with anything else, the reader would tell at length.
    let (b'-' | b'0'..=b'9') = text.as_bytes().first()? else { return None };
    let mut reader = Reader::new(text);
    let number = reader.number().ok()?;
    Some((number, text.get(reader.offset()..)?))
}

/// As [`any_number`], of Unix milliseconds.
fn unix_millis(text: &str) -> Option<(Timestamp, &str)> {
    let (digits, rest) = match behind_space(text).strip_prefix('"') {
        Some(text) => plain_string(text)?,
        None => number_text(text)?,
    };
    Some((Timestamp::parse_millis(digits)?, rest))
}

/// As [`any_number`], of `true` and `false`.
fn boolean(text: &str) -> Option<(bool, &str)> {
    let text = behind_space(text);
    match text.strip_prefix("true") {
        Some(rest) => Some((true, rest)),
        None => Some((false, text.strip_prefix("false")?)),
    }
}

/// An array or object that is open in what is read over.
struct Open {
    is_object: bool,
    is_first: bool,
    /// Where its keys start among those of all.
    keys_start: usize,
}

/// Reads over the value that stands next, in which at most so many brackets may be open at once; no object in it may
/// have a key twice.
#[inline(never)]
fn behind_value(text: &str, depth_limit: usize) -> Option<&str> {
    let mut reader = Reader::new(text);
    let mut open: SmallVec<[Open; USUAL_DEPTH]> = SmallVec::new();
    let mut keys: SmallVec<[Cow<'_, str>; USUAL_KEYS]> = SmallVec::new();
    loop {
        // Here a value stands next.
        match reader.peek().ok()? {
            kind @ (JsonType::Object | JsonType::Array) => {
                if open.len() >= depth_limit.min(USUAL_DEPTH) {
                    return None;
                }
                reader.open();
                open.push(Open {
                    is_object: kind == JsonType::Object,
                    is_first: true,
                    keys_start: keys.len(),
                });
            }
            _ => reader.skip_scalar().ok()?,
        }
        loop {
            let Some(innermost) = open.last_mut() else { return text.get(reader.offset()..) };
            let is_first = std::mem::take(&mut innermost.is_first);
            let has_more = if innermost.is_object {
                match reader.next_key(is_first).ok()? {
                    None => false,
                    Some((key, _)) => {
                        let own = keys.get(innermost.keys_start..)?;
                        if own.len() >= USUAL_KEYS || own.contains(&key) {
                            return None;
                        }
                        keys.push(key);
                        true
                    }
                }
            } else {
                reader.next_element(is_first).ok()?
            };
            if has_more {
                break;
            }
            keys.truncate(innermost.keys_start);
            open.pop();
        }
    }
}

#[cfg(test)]
mod tests;
