//! Parses strings, numbers, booleans and `null`.

use std::borrow::Cow;

use super::plain::plain_len;
use super::reader::Reader;
use super::types::{JsonType, Result};
use crate::error::{Error, ErrorKind, quote};

impl<'a> Reader<'a> {
    /// Reads a string. The result borrows from the text, unless the string has escapes.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>> {
        if let Some((text, end)) = self.plain_string(self.at) {
            self.at = end;
            return Ok(Cow::Borrowed(text));
        }
        self.unusual_string()
    }

    /// Reads a string that has whitespace before it, or contains escapes or an error.
    fn unusual_string(&mut self) -> Result<Cow<'a, str>> {
        self.skip_space();
        if self.byte() != Some(b'"') {
            return self.unexpected("a string");
        }
        self.bump();
        self.string_behind_quote()
    }

    /// Reads the rest of a string whose opening quote has already been read. The result borrows from the text, unless the string
    /// has escapes.
    pub(crate) fn string_behind_quote(&mut self) -> Result<Cow<'a, str>> {
        let mut start = self.at;
        let mut unescaped: Option<String> = None;
        loop {
            self.at =
                self.at.saturating_add(plain_len(self.text.as_bytes().get(self.at..).unwrap_or_default()));
            let piece = self.text.get(start..self.at).unwrap_or_default();
            match self.byte() {
                Some(b'"') => {
                    self.bump();
                    return Ok(match unescaped {
                        None => Cow::Borrowed(piece),
                        Some(mut text) => {
                            text.push_str(piece);
                            Cow::Owned(text)
                        }
                    });
                }
                Some(b'\\') => {
                    let text = unescaped.get_or_insert_default();
                    text.push_str(piece);
                    text.push(self.escape()?);
                    start = self.at;
                }
                None => return self.unexpected("`\"` at the end of the string"),
                Some(_) => return self.unexpected("an escape such as `\\n` for a control character"),
            }
        }
    }

    /// Reads an escape sequence. The current offset is at its backslash.
    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        self.bump();
        let plain = match self.byte() {
            Some(b @ (b'"' | b'\\' | b'/')) => char::from(b),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.bump();
                return self.unicode_escape(start);
            }
            _ => return self.unexpected("one of `\"\\/bfnrtu` after a backslash"),
        };
        self.bump();
        Ok(plain)
    }

    /// Reads the rest of a `\u` escape. If it is the first half of a surrogate pair, also reads the second half. `start` is the
    /// offset of the backslash.
    fn unicode_escape(&mut self, start: usize) -> Result<char> {
        let high = self.hex4()?;
        let paired = (0xd800..0xdc00).contains(&high)
            && self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(b"\\u"));
        let code = if paired {
            self.at = self.at.saturating_add(2);
            let low = self.hex4()?;
            // An invalid low surrogate must not be combined with the high surrogate into another character.
            if (0xdc00..0xe000).contains(&low) {
                0x10000_u32.saturating_add((high & 0x3ff) << 10).saturating_add(low & 0x3ff)
            } else {
                high
            }
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| {
            let found = quote(self.text.get(start..self.at).unwrap_or_default());
            let found = format!("the lone surrogate {found}");
            Box::new(Error::new(ErrorKind::Syntax, start, found, "a pair of surrogates, high before low"))
        })
    }

    /// Reads four hexadecimal digits.
    fn hex4(&mut self) -> Result<u32> {
        let mut code: u32 = 0;
        for _ in 0..4 {
            let Some(digit) = self.byte().and_then(|b| char::from(b).to_digit(16)) else {
                return self.unexpected("four hexadecimal digits");
            };
            code = code << 4 | digit;
            self.bump();
        }
        Ok(code)
    }

    /// Reads a number and returns its text.
    pub(crate) fn number(&mut self) -> Result<&'a str> {
        self.skip_space();
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.bump();
        }
        match self.byte() {
            Some(b'0') => {
                self.bump();
                if self.byte().is_some_and(|b| b.is_ascii_digit()) {
                    return self.unexpected("a number without leading zeros");
                }
            }
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.bump();
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.bump();
            if let Some(b'+' | b'-') = self.byte() {
                self.bump();
            }
            self.digits()?;
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Reads one or more digits.
    fn digits(&mut self) -> Result<()> {
        if !self.byte().is_some_and(|b| b.is_ascii_digit()) {
            return self.unexpected("a digit");
        }
        while self.byte().is_some_and(|b| b.is_ascii_digit()) {
            self.bump();
        }
        Ok(())
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self) -> Result<bool> {
        self.skip_space();
        if self.byte() == Some(b't') {
            self.word("true")?;
            Ok(true)
        } else {
            self.word("false")?;
            Ok(false)
        }
    }

    /// Reads `null`.
    pub(crate) fn null(&mut self) -> Result<()> {
        self.skip_space();
        self.word("null")
    }

    /// Reads the literal `word`: `true`, `false` or `null`.
    fn word(&mut self, word: &str) -> Result<()> {
        if !self.stands(word) {
            return self.unexpected(match word {
                "true" => "`true`",
                "false" => "`false`",
                _ => "`null`",
            });
        }
        self.at = self.at.saturating_add(word.len());
        Ok(())
    }

    /// Skips a value that is neither an object nor an array. The caller has tested this with [`peek`](Self::peek).
    pub(crate) fn skip_scalar(&mut self) -> Result<()> {
        match self.peek()? {
            JsonType::String => self.string().map(drop),
            JsonType::Number => self.number().map(drop),
            JsonType::Boolean => self.boolean().map(drop),
            _ => self.null(),
        }
    }
}
