//! Reads one token or value at the front of a text, for the template reader.
//!
//! Each function returns what it read and the text after it, or `None` for anything else: the strict parser then reads the document.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::json::{JsonType, Reader, plain_len};
use crate::value::{Number, Timestamp};

/// Brackets open at once in a value that is skipped.
const MAX_SKIPPED_DEPTH: usize = 16;
/// Keys of one object in a value that is skipped.
const MAX_SKIPPED_KEYS: usize = 16;

/// Reads the next key of an object and its colon; gives what stands behind.
pub(super) fn key(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let (key, rest) = string(behind_space(text).strip_prefix('"')?)?;
    Some((key, behind_space(rest).strip_prefix(':')?))
}

/// What of a text stands before the rest of it.
pub(super) fn before<'t>(text: &'t str, rest: &str) -> Option<&'t str> {
    text.get(..text.len().checked_sub(rest.len())?)
}

/// The text from its first byte on that is no space.
#[inline(always)]
pub(super) fn behind_space(text: &str) -> &str {
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
pub(super) fn plain_string(text: &str) -> Option<(&str, &str)> {
    let (string, rest) = text.split_at_checked(plain_len(text.as_bytes()))?;
    Some((string, rest.strip_prefix('"')?))
}

/// As [`plain_string`], with any escapes.
#[cold]
pub(super) fn escaped_string(text: &str) -> Option<(Cow<'_, str>, &str)> {
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
pub(super) fn any_number(text: &str) -> Option<(Number, &str)> {
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
pub(super) fn unix_millis(text: &str) -> Option<(Timestamp, &str)> {
    let (digits, rest) = match behind_space(text).strip_prefix('"') {
        Some(text) => plain_string(text)?,
        None => number_text(text)?,
    };
    Some((Timestamp::parse_millis(digits)?, rest))
}

/// As [`any_number`], of `true` and `false`.
pub(super) fn boolean(text: &str) -> Option<(bool, &str)> {
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
pub(super) fn behind_value(text: &str, depth_limit: usize) -> Option<&str> {
    let mut reader = Reader::new(text);
    let mut open: SmallVec<[Open; MAX_SKIPPED_DEPTH]> = SmallVec::new();
    let mut keys: SmallVec<[Cow<'_, str>; MAX_SKIPPED_KEYS]> = SmallVec::new();
    loop {
        // Here a value stands next.
        match reader.peek().ok()? {
            kind @ (JsonType::Object | JsonType::Array) => {
                if open.len() >= depth_limit.min(MAX_SKIPPED_DEPTH) {
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
                        if own.len() >= MAX_SKIPPED_KEYS || own.contains(&key) {
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
