//! Reads the tokens of a JSON body on the fast path: keys, strings and punctuation.

use std::borrow::Cow;

use super::super::ast::Text;
use crate::json::{Reader, plain_len, trim_start};
use crate::limits::Limits;

/// A key of a body.
#[derive(Clone, Copy)]
pub(super) enum BodyKey {
    Ids,
    Criteria,
}

/// A key of a criterion. Each key has one bit of its own, so that a `u8` can store a set of keys.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Key {
    Op = 1,
    Children = 2,
    Field = 4,
    Values = 8,
}

/// A position in a text. The methods accept white space before a token. The methods for frequent tokens first look for the token
/// directly at the position, because compact JSON has no white space.
///
/// A method returns `None` if the text does not have the expected token. In that case, the position is unspecified, unless the doc
/// of the method says otherwise.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// The wrapping arithmetic on offsets never wraps: each offset is at most the length of the text.
impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads a key of a body and its colon.
    pub(super) fn body_key(&mut self) -> Option<BodyKey> {
        let key = if self.word(b"\"criteria\"") {
            BodyKey::Criteria
        } else if self.word(b"\"ids\"") {
            BodyKey::Ids
        } else {
            match &*self.escaped_string()? {
                "criteria" => BodyKey::Criteria,
                "ids" => BodyKey::Ids,
                _ => return None,
            }
        };
        self.take(b':')?;
        Some(key)
    }

    /// Reads a key of a criterion and its colon.
    #[inline(always)]
    pub(super) fn key(&mut self) -> Option<Key> {
        const FIELD: u64 = u64::from_le_bytes(*b"\"field\":");
        const VALUES: u64 = u64::from_le_bytes(*b"\"values\"");
        const OP: u64 = u64::from_le_bytes(*b"\"op\":\0\0\0");
        let rest = self.rest();
        if let Some(word) = rest.first_chunk() {
            let word = u64::from_le_bytes(*word);
            if word == FIELD {
                self.at = self.at.wrapping_add(8);
                return Some(Key::Field);
            }
            if word & 0xff_ffff_ffff == OP {
                self.at = self.at.wrapping_add(5);
                return Some(Key::Op);
            }
            if word == VALUES && rest.get(8) == Some(&b':') {
                self.at = self.at.wrapping_add(9);
                return Some(Key::Values);
            }
        }
        let (key, after) = unusual_key(*self)?;
        *self = after;
        Some(key)
    }

    /// Reads a string without escapes, and returns it with its offset. Does not move if the next token is not such a string, or
    /// if the string is too long.
    #[inline(always)]
    pub(super) fn plain_string(&mut self, limits: &Limits) -> Option<(&'a str, usize)> {
        let mut inner = *self;
        inner.take(b'"')?;
        let rest = inner.rest();
        let len = plain_len(rest);
        if rest.get(len) != Some(&b'"') || len > limits.string_bytes {
            return None;
        }
        let (start, end) = (inner.at, inner.at.wrapping_add(len));
        self.at = end.wrapping_add(1);
        Some((self.text.get(start..end)?, start.wrapping_sub(1)))
    }

    #[inline(always)]
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Reads a string that may have escapes, or `null`. Returns `Some(None)` for `null`.
    #[cold]
    pub(super) fn unusual_text(&mut self, limits: &Limits) -> Option<Option<Text<'a>>> {
        let offset = after_space(self.text, self.at);
        if self.text.as_bytes().get(offset) == Some(&b'n') {
            self.null()?;
            return Some(None);
        }
        let text = self.escaped_string()?;
        (text.len() <= limits.string_bytes).then_some(Some(Text { text, offset }))
    }

    /// Reads `null`.
    #[cold]
    pub(super) fn null(&mut self) -> Option<()> {
        self.word(b"null").then_some(())
    }

    /// Reads a string that may have escapes.
    #[cold]
    fn escaped_string(&mut self) -> Option<Cow<'a, str>> {
        let mut reader = Reader::starting_at(self.text, self.at);
        let string = reader.string().ok()?;
        self.at = reader.offset();
        Some(string)
    }

    /// Skips white space, and then `byte` if it is next. Returns true if `byte` was next.
    #[inline(always)]
    pub(super) fn next_is(&mut self, byte: u8) -> bool {
        let Some(next) = self.text.as_bytes().get(self.at) else { return false };
        if *next != byte {
            if *next > b' ' {
                return false;
            }
            self.at = after_space(self.text, self.at);
            if self.text.as_bytes().get(self.at) != Some(&byte) {
                return false;
            }
        }
        self.at = self.at.wrapping_add(1);
        true
    }

    /// Skips white space, and then `byte`.
    #[inline(always)]
    pub(super) fn take(&mut self, byte: u8) -> Option<()> {
        self.next_is(byte).then_some(())
    }

    /// Skips white space, and then `word` if it is next. Returns true if `word` was next.
    #[inline]
    fn word(&mut self, word: &[u8]) -> bool {
        self.at = after_space(self.text, self.at);
        let is = self.rest().starts_with(word);
        if is {
            self.at = self.at.wrapping_add(word.len());
        }
        is
    }

    /// Returns true if only white space is left.
    pub(super) fn is_at_end(self) -> bool {
        after_space(self.text, self.at) == self.text.len()
    }
}

/// Reads a key of a criterion and its colon. Accepts white space before the key and the colon, and escapes in the key.
#[inline(never)]
fn unusual_key(mut cursor: Cursor<'_>) -> Option<(Key, Cursor<'_>)> {
    let key = if cursor.word(b"\"children\"") {
        Key::Children
    } else if cursor.word(b"\"field\"") {
        Key::Field
    } else if cursor.word(b"\"op\"") {
        Key::Op
    } else if cursor.word(b"\"values\"") {
        Key::Values
    } else {
        match &*cursor.escaped_string()? {
            "children" => Key::Children,
            "field" => Key::Field,
            "op" => Key::Op,
            "values" => Key::Values,
            _ => return None,
        }
    };
    cursor.take(b':')?;
    Some((key, cursor))
}

/// Returns the offset of the first byte, at or after `at`, that is not white space.
#[inline(never)]
fn after_space(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at.wrapping_add(rest.len().wrapping_sub(trim_start(rest).len()))
}
