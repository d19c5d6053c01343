//! Reads single tokens and values for the template reader.
//!
//! Each function reads one token or value at the start of `text`, and returns it with the text after it. If the text does not start
//! with such a token, the function returns `None`, and the strict parser reads the document.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::json::{JsonType, Reader, plain_len};
use crate::value::Number;

/// The maximum nesting depth of a value that the fast path skips. If a value is deeper, the strict parser reads the document.
const MAX_SKIPPED_DEPTH: usize = 16;
/// The maximum number of keys in one object of a value that the fast path skips. If an object has more, the strict parser reads the
/// document.
const MAX_SKIPPED_KEYS: usize = 16;

/// Reads the next key of an object, and its colon. Returns the key and the text after the colon.
pub(super) fn key(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let (key, rest) = string(skip_space(text).strip_prefix('"')?)?;
    Some((key, skip_space(rest).strip_prefix(':')?))
}

/// Returns the part of `text` before `rest`, which must be the end of `text`. Returns `None` if `rest` is longer than `text`.
pub(super) fn before<'t>(text: &'t str, rest: &str) -> Option<&'t str> {
    text.get(..text.len().checked_sub(rest.len())?)
}

/// Returns the text without its leading whitespace.
#[inline(always)]
pub(super) fn skip_space(text: &str) -> &str {
    match text.as_bytes().first() {
        Some(byte) if *byte <= b' ' => skip_spaces(text),
        _ => text,
    }
}

#[cold]
fn skip_spaces(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

/// Reads a string without escapes. The caller has already read its opening quote.
#[inline(always)]
pub(super) fn plain_string(text: &str) -> Option<(&str, &str)> {
    let (string, rest) = text.split_at_checked(plain_len(text.as_bytes()))?;
    Some((string, rest.strip_prefix('"')?))
}

/// Reads a string with escapes. The caller has already read its opening quote.
#[cold]
pub(super) fn escaped_string(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut reader = Reader::new(text);
    let string = reader.string_behind_quote().ok()?;
    Some((string, text.get(reader.offset()..)?))
}

/// Reads the rest of a string, with or without escapes. The caller has already read its opening quote. Returns the string, and the
/// text after it.
fn string(text: &str) -> Option<(Cow<'_, str>, &str)> {
    match plain_string(text) {
        Some((string, rest)) => Some((Cow::Borrowed(string), rest)),
        None => escaped_string(text),
    }
}

/// Reads any JSON number.
#[cold]
pub(super) fn any_number(text: &str) -> Option<(Number, &str)> {
    let (number, rest) = number_text(text)?;
    Some((Number::new(number.parse().ok()?)?, rest))
}

/// Reads a JSON number. Returns its text, and the text after it.
pub(super) fn number_text(text: &str) -> Option<(&str, &str)> {
    let text = skip_space(text);
    // For any other text, `Reader::number` would spend time on building an error.
    let (b'-' | b'0'..=b'9') = text.as_bytes().first()? else { return None };
    let mut reader = Reader::new(text);
    let number = reader.number().ok()?;
    Some((number, text.get(reader.offset()..)?))
}

/// Reads a number, or a string without escapes. Returns its text, and the text after it.
pub(super) fn number_or_string(text: &str) -> Option<(&str, &str)> {
    match skip_space(text).strip_prefix('"') {
        Some(text) => plain_string(text),
        None => number_text(text),
    }
}

/// Reads `true` or `false`.
pub(super) fn boolean(text: &str) -> Option<(bool, &str)> {
    let text = skip_space(text);
    match text.strip_prefix("true") {
        Some(rest) => Some((true, rest)),
        None => Some((false, text.strip_prefix("false")?)),
    }
}

/// An open array or object in a skipped value.
struct Open {
    is_object: bool,
    is_first: bool,
    /// The index of this object's first key in the list of the keys of all open objects.
    keys_start: usize,
}

/// Skips a value of any type. Returns `None` if the value is nested more deeply than `depth_limit`, or if an object repeats a key.
#[inline(never)]
pub(super) fn skip_value(text: &str, depth_limit: usize) -> Option<&str> {
    let mut reader = Reader::new(text);
    let mut open: SmallVec<[Open; MAX_SKIPPED_DEPTH]> = SmallVec::new();
    let mut keys: SmallVec<[Cow<'_, str>; MAX_SKIPPED_KEYS]> = SmallVec::new();
    loop {
        // The reader is at the start of a value.
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
