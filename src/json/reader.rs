//! The pull parser: values, keys, elements, and the errors for unexpected characters.

use std::borrow::Cow;

use super::brackets::Brackets;
use super::plain::plain_len;
use super::text::is_space;
use super::types::{JsonType, Result};
use crate::error::{Error, ErrorKind, Found, quote};

/// A pull parser that reads one JSON value from the start of a text.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Creates a reader that starts at `offset`. The offsets that it returns are still relative to the start of `text`.
    pub(crate) fn starting_at(text: &'a str, offset: usize) -> Self {
        Self { text, at: offset }
    }

    /// Returns the offset of the next byte from the start of the text.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the text from offset `start` to offset `end`.
    pub(crate) fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn bump(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    pub(super) fn skip_space(&mut self) {
        while self.byte().is_some_and(is_space) {
            self.bump();
        }
    }

    /// Returns the error for an unexpected character at the current offset, with a description of the input that is allowed there.
    pub(super) fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let found: Found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "the end of the text".into(),
            Some('\u{feff}') => "a byte-order mark".into(),
            Some(c) if c.is_alphabetic() => quote(&self.letters()).into(),
            Some(c) => quote(c.encode_utf8(&mut [0; 4])).into(),
        };
        Err(Box::new(Error::new(ErrorKind::Syntax, self.at, found, expected)))
    }

    /// Returns the letters and digits that start at the current offset, at most 64 characters.
    fn letters(&self) -> String {
        const LONGEST: usize = 64;
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.chars().take_while(|c| c.is_alphanumeric()).take(LONGEST).collect()
    }

    /// Returns the error for a token that does not begin a value. Suggests a literal such as `true` if the token is similar to it.
    #[cold]
    fn no_value<T>(&self) -> Result<T> {
        let letters = self.letters().to_lowercase();
        let is_meant = |word: &&&str| strsim::damerau_levenshtein(&letters, word) <= 1;
        match ["true", "false", "null"].iter().find(is_meant) {
            Some(word) => self.unexpected(&format!("`{word}`")),
            None => self.unexpected("a JSON value"),
        }
    }

    /// Skips whitespace and returns the type of the next value, without reading the value. Afterwards the current offset is the
    /// first byte of the value.
    pub(crate) fn peek(&mut self) -> Result<JsonType> {
        self.skip_space();
        match self.byte() {
            Some(b'{') => Ok(JsonType::Object),
            Some(b'[') => Ok(JsonType::Array),
            Some(b'"') => Ok(JsonType::String),
            Some(b'-' | b'0'..=b'9') => Ok(JsonType::Number),
            Some(b't') if self.stands("true") => Ok(JsonType::Boolean),
            Some(b'f') if self.stands("false") => Ok(JsonType::Boolean),
            Some(b'n') if self.stands("null") => Ok(JsonType::Null),
            _ => self.no_value(),
        }
    }

    /// Enters the array or object that [`peek`](Self::peek) found.
    pub(crate) fn open(&mut self) {
        self.bump();
    }

    /// Returns true if the open array has another element. Otherwise reads the closing bracket of the array and returns false.
    /// `first` must be true before the first element, and false afterwards.
    pub(crate) fn next_element(&mut self, first: bool) -> Result<bool> {
        self.skip_space();
        match self.byte() {
            Some(b']') => {
                self.bump();
                Ok(false)
            }
            _ if first => Ok(true),
            Some(b',') => {
                self.bump();
                self.skip_space();
                if self.byte() == Some(b']') { self.unexpected("a JSON value") } else { Ok(true) }
            }
            _ => self.unexpected("`,` or `]`"),
        }
    }

    /// Reads the next key of the open object and the colon after the key. Returns the key and its offset. At the end of the object,
    /// reads the closing bracket and returns `None`. `first` must be true before the first key, and false afterwards.
    pub(crate) fn next_key(&mut self, first: bool) -> Result<Option<(Cow<'a, str>, usize)>> {
        if let Some((key, offset)) = self.plain_key(first) {
            return Ok(Some((Cow::Borrowed(key), offset)));
        }
        let key = self.key(first)?;
        if key.is_some() {
            self.colon()?;
        }
        Ok(key)
    }

    /// Reads a key that has no escapes, no whitespace before it, and the colon directly after it. If the next key has another form,
    /// reads nothing and returns `None`.
    #[inline]
    fn plain_key(&mut self, first: bool) -> Option<(&'a str, usize)> {
        let offset = self.at.saturating_add(usize::from(!first));
        if !first && self.byte() != Some(b',') {
            return None;
        }
        let (key, end) = self.plain_string(offset)?;
        if self.text.as_bytes().get(end) != Some(&b':') {
            return None;
        }
        self.at = end.saturating_add(1);
        Some((key, offset))
    }

    /// Returns the string whose opening quote is at `offset`, and the offset after its closing quote. Returns `None` if there is no
    /// quote at `offset`, or if the string has escapes or an error.
    #[inline]
    pub(super) fn plain_string(&self, offset: usize) -> Option<(&'a str, usize)> {
        let [b'"', rest @ ..] = self.text.as_bytes().get(offset..)? else { return None };
        let len = plain_len(rest);
        if rest.get(len) != Some(&b'"') {
            return None;
        }
        let start = offset.saturating_add(1);
        let end = start.saturating_add(len);
        Some((self.text.get(start..end)?, end.saturating_add(1)))
    }

    /// Reads the next key as [`next_key`](Self::next_key) does, but does not read the colon after the key.
    pub(super) fn key(&mut self, first: bool) -> Result<Option<(Cow<'a, str>, usize)>> {
        self.skip_space();
        match self.byte() {
            Some(b'}') => {
                self.bump();
                return Ok(None);
            }
            Some(b'"') if first => {}
            Some(b',') if !first => {
                self.bump();
                self.skip_space();
                if self.byte() != Some(b'"') {
                    return self.unexpected("a key in double quotes");
                }
            }
            _ if first => return self.unexpected("a key in double quotes or `}`"),
            _ => return self.unexpected("`,` or `}`"),
        }
        let offset = self.at;
        let key = self.string()?;
        Ok(Some((key, offset)))
    }

    pub(super) fn colon(&mut self) -> Result<()> {
        self.skip_space();
        if self.byte() != Some(b':') {
            return self.unexpected("`:`");
        }
        self.bump();
        Ok(())
    }

    /// Returns true if `word` is at the current offset.
    pub(super) fn stands(&self, word: &str) -> bool {
        self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word))
    }

    /// Skips one value of any type and depth. Uses one bit of memory for each open bracket.
    pub(crate) fn skip_value(&mut self) -> Result<()> {
        let mut open = Brackets::default();
        let mut first = false;
        loop {
            // Here the next token is a value: the outermost value, the value of a key, or an element of an array.
            match self.peek()? {
                kind @ (JsonType::Object | JsonType::Array) => {
                    self.open();
                    open.push(kind == JsonType::Object);
                    first = true;
                }
                _ => self.skip_scalar()?,
            }
            loop {
                let more = match open.top() {
                    None => return Ok(()),
                    Some(true) => self.next_key(first)?.is_some(),
                    Some(false) => self.next_element(first)?,
                };
                first = false;
                if more {
                    break;
                }
                open.pop();
            }
        }
    }

    /// Checks that the rest of the text is only whitespace.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.skip_space();
        match self.byte() {
            None => Ok(()),
            Some(_) => self.unexpected("nothing after the value"),
        }
    }
}
