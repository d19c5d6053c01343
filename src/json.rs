//! A pull reader of JSON text that never recurses and knows the byte offset of everything.
//!
//! It accepts exactly the grammar of RFC 8259 whose strings are Unicode: a lone surrogate is an
//! error. The properties that the engine needs from a reader of hostile input, and that
//! `serde_json` does not give, are offsets of every token, a stack that the input cannot grow,
//! and sight of repeated keys.

mod paths;

use std::borrow::Cow;

pub(crate) use paths::paths_at;
use wide::u8x16;

use crate::error::{Error, ErrorKind, quote};

/// The text that bytes are; otherwise, where they stop being UTF-8.
pub(crate) fn text(bytes: &[u8]) -> std::result::Result<&str, usize> {
    /// Below this, the bytes behind the last whole vector cost more than to check all of them word by word.
    const MANY: usize = 256;
    if bytes.len() < MANY {
        return std::str::from_utf8(bytes).map_err(|fault| fault.valid_up_to());
    }
    simdutf8::compat::from_utf8(bytes).map_err(|fault| fault.valid_up_to())
}

/// True for the space that may stand between tokens.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A text without the space in front of it.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

/// A text without the space around it.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last.saturating_add(1));
    trim_start(text.get(..end).unwrap_or_default())
}

/// The type of the value that stands next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonType {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl JsonType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
        }
    }
}

/// Reads one JSON value from the front of a text.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// Errors are boxed, so that results are small: every value passes through several.
pub(crate) type Result<T> = std::result::Result<T, Box<Error>>;

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// A reader of what stands from `offset` on; offsets still count from the start of `text`.
    pub(crate) fn starting_at(text: &'a str, offset: usize) -> Self {
        Self { text, at: offset }
    }

    /// Where the next byte is read, in bytes from the start of the text.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The text from one offset to another.
    pub(crate) fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn bump(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn skip_space(&mut self) {
        while self.byte().is_some_and(is_space) {
            self.bump();
        }
    }

    /// The error for the character that stands here.
    fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "the end of the text".to_owned(),
            Some('\u{feff}') => "a byte-order mark".to_owned(),
            Some(c) if c.is_alphabetic() => quote(&self.letters()),
            Some(c) => quote(c.encode_utf8(&mut [0; 4])),
        };
        Err(Box::new(Error::new(ErrorKind::Syntax, self.at, found, expected)))
    }

    /// The letters and digits that stand next, as far as anybody reads them.
    fn letters(&self) -> String {
        const LONGEST: usize = 64;
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.chars().take_while(|c| c.is_alphanumeric()).take(LONGEST).collect()
    }

    /// The error for something that is no value, and the word that was likely meant.
    #[cold]
    fn no_value<T>(&self) -> Result<T> {
        let letters = self.letters().to_lowercase();
        let is_meant = |word: &&&str| strsim::damerau_levenshtein(&letters, word) <= 1;
        match ["true", "false", "null"].iter().find(is_meant) {
            Some(word) => self.unexpected(&format!("`{word}`")),
            None => self.unexpected("a JSON value"),
        }
    }

    /// The type of the next value, which stays unread; the offset is then that of the value.
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

    /// Steps into the array or object that [`peek`](Self::peek) saw.
    pub(crate) fn open(&mut self) {
        self.bump();
    }

    /// True when another element of the open array follows; false behind its end.
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

    /// The next key of the open object with its offset, the value standing next; `None` behind the end.
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

    /// A key as compact texts have it, without space or escapes; nothing is read of any other.
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

    /// The string without escapes whose quote stands at `offset`, and where it ends.
    #[inline]
    fn plain_string(&self, offset: usize) -> Option<(&'a str, usize)> {
        let [b'"', rest @ ..] = self.text.as_bytes().get(offset..)? else { return None };
        let len = plain_len(rest);
        if rest.get(len) != Some(&b'"') {
            return None;
        }
        let start = offset.saturating_add(1);
        let end = start.saturating_add(len);
        Some((self.text.get(start..end)?, end.saturating_add(1)))
    }

    /// The next key of the open object with its offset, its colon standing next; `None` behind the end.
    fn key(&mut self, first: bool) -> Result<Option<(Cow<'a, str>, usize)>> {
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

    fn colon(&mut self) -> Result<()> {
        self.skip_space();
        if self.byte() != Some(b':') {
            return self.unexpected("`:`");
        }
        self.bump();
        Ok(())
    }

    /// Reads a string; borrowed unless it has escapes.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>> {
        if let Some((text, end)) = self.plain_string(self.at) {
            self.at = end;
            return Ok(Cow::Borrowed(text));
        }
        self.unusual_string()
    }

    /// Reads a string that has space before it, or escapes, or a fault.
    fn unusual_string(&mut self) -> Result<Cow<'a, str>> {
        self.skip_space();
        if self.byte() != Some(b'"') {
            return self.unexpected("a string");
        }
        self.bump();
        self.string_behind_quote()
    }

    /// As [`string`](Self::string), of one whose opening quote was read.
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
                Some(_) => return self.unexpected("control characters of a string escaped, such as `\\n`"),
            }
        }
    }

    /// Reads an escape from its backslash on.
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
            _ => return self.unexpected("one of `\"\\/bfnrtu` behind a backslash"),
        };
        self.bump();
        Ok(plain)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char> {
        let high = self.hex4()?;
        let paired = (0xd800..0xdc00).contains(&high)
            && self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(b"\\u"));
        let code = if paired {
            self.at = self.at.saturating_add(2);
            let low = self.hex4()?;
            // An invalid low half must not combine into some other character.
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

    /// Reads a number, as written.
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
                    return self.unexpected("no digit behind a leading zero");
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

    /// Whether this stands next.
    fn stands(&self, word: &str) -> bool {
        self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word))
    }

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

    /// Reads over one value of any type and depth; memory is a bit for each open bracket.
    pub(crate) fn skip_value(&mut self) -> Result<()> {
        let mut open = Brackets::default();
        let mut first = false;
        loop {
            // Here a value stands next, unless a bracket was just opened or a value just read.
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

    /// Reads over a value that [`peek`](Self::peek) saw to be neither object nor array.
    pub(crate) fn skip_scalar(&mut self) -> Result<()> {
        match self.peek()? {
            JsonType::String => self.string().map(drop),
            JsonType::Number => self.number().map(drop),
            JsonType::Boolean => self.boolean().map(drop),
            _ => self.null(),
        }
    }

    /// Nothing but space may follow.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.skip_space();
        match self.byte() {
            None => Ok(()),
            Some(_) => self.unexpected("nothing behind the value"),
        }
    }
}

/// How many bytes of a string stand before its next quote, backslash or control character.
#[inline(always)]
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    // Most strings end in the first sixteen bytes, and dates and ids in the second.
    let Some((first, rest)) = bytes.split_first_chunk() else { return long_plain_len(bytes) };
    match plain_in_sixteen(first) {
        16 => {}
        len => return len,
    }
    match rest.first_chunk().map(plain_in_sixteen) {
        Some(len) if len < 16 => len.wrapping_add(16),
        _ => long_plain_len(bytes),
    }
}

/// As [`plain_len`], whatever the length.
#[inline(never)]
fn long_plain_len(bytes: &[u8]) -> usize {
    let (chunks, rest) = bytes.as_chunks();
    let mut len: usize = 0;
    for chunk in chunks {
        let plain = plain_in_sixteen(chunk);
        len = len.wrapping_add(plain);
        if plain < chunk.len() {
            return len;
        }
    }
    let (chunks, rest) = rest.as_chunks();
    for chunk in chunks {
        let plain = plain_in_eight(*chunk);
        len = len.wrapping_add(plain);
        if plain < chunk.len() {
            return len;
        }
    }
    let is_plain = |byte: &&u8| **byte >= b' ' && **byte != b'"' && **byte != b'\\';
    len.wrapping_add(rest.iter().take_while(is_plain).count())
}

/// As [`plain_len`].
#[inline(always)]
fn plain_in_sixteen(bytes: &[u8; 16]) -> usize {
    let bytes = u8x16::new(*bytes);
    let controls = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    let ends = controls | bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\'));
    // A bit for each byte, and one behind them.
    (ends.to_bitmask() | 1 << 16).trailing_zeros() as usize
}

/// As [`plain_len`].
#[inline(always)]
fn plain_in_eight(bytes: [u8; 8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    let word = u64::from_le_bytes(bytes);
    // The high bit of each byte that ends the text, exact up to the first such byte: it alone borrows.
    // Turning over a bit makes quotes the next bytes above the control characters.
    let quotes_and_controls = (word ^ ONES.wrapping_mul(2)).wrapping_sub(ONES.wrapping_mul(0x21));
    let backslashes = (word ^ ONES.wrapping_mul(0x5c)).wrapping_sub(ONES);
    let ends = (quotes_and_controls | backslashes) & !word & HIGHS;
    ends.trailing_zeros() as usize / 8
}

/// The brackets open around a place, a bit each.
#[derive(Default)]
struct Brackets {
    words: Vec<u64>,
    depth: usize,
}

impl Brackets {
    fn push(&mut self, object: bool) {
        let bit = 1_u64 << (self.depth % 64);
        if self.depth.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word = if object { *word | bit } else { *word & !bit };
        }
        self.depth = self.depth.saturating_add(1);
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(64) {
            self.words.pop();
        }
    }

    /// Whether the innermost open bracket is an object's.
    fn top(&self) -> Option<bool> {
        let last = self.depth.checked_sub(1)?;
        self.words.last().map(|word| word >> (last % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(text: &str) -> bool {
        let mut reader = Reader::new(text);
        reader.skip_value().and_then(|()| reader.end()).is_ok()
    }

    #[test]
    fn text_is_told_from_other_bytes_whatever_its_length() {
        for len in [0, 1, 2, 63, 64, 65, 254, 255, 256, 257, 600] {
            let sound = "x".repeat(len % 2) + &"é".repeat(len / 2);
            assert_eq!(text(sound.as_bytes()), Ok(&*sound));
            for at in [0, len / 3, len.saturating_sub(1)].into_iter().filter(|at| *at < len) {
                let mut bytes = vec![b'x'; len];
                bytes[at] = 0xff;
                assert_eq!(text(&bytes), Err(at), "{len} bytes");
            }
        }
    }

    #[test]
    fn accepts_what_serde_json_accepts() {
        for text in [
            "null",
            "true",
            "[]",
            "{}",
            " [ 1 , 2 ] ",
            "{\"a\":[{\"b\":null}],\"c\":\"\\u00e9\\n\"}",
            "-0.5e+7",
            "0",
            "\"\\ud83d\\ude00\"",
            "",
            "{",
            "[",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "nul",
            "tru",
            "[1 2]",
            "\"\u{1}\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"",
            "1 2",
            "{\"a\":1 \"b\":2}",
            "[,1]",
            "{,}",
            "NaN",
            "'a'",
            "\u{feff}[]",
            "\u{a0}1",
            "[[[]]]",
            "]",
            "}",
            "1e",
            "--1",
            "[1}",
            "{\"a\":1]",
            "\"\\/\"",
        ] {
            // `from_str::<IgnoredAny>` lets lone surrogates pass; none are among these.
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            assert_eq!(skips(text), theirs, "{text}");
        }
    }

    #[test]
    fn plain_bytes_end_at_the_first_byte_that_is_not_plain() {
        for len in 0..40 {
            for end in [b'"', b'\\', 0, 0x1f] {
                for fill in [b'a', 0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                    let mut bytes = vec![fill; len];
                    assert_eq!(plain_len(&bytes), len);
                    bytes.push(end);
                    bytes.extend([b'"'; 9]);
                    assert_eq!(plain_len(&bytes), len, "{fill} before {end}");
                }
            }
        }
    }

    #[test]
    fn lone_surrogates_are_refused() {
        for text in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800x""#,
            r#""\ud800\u0041""#,
            r#""\ud800\ud800""#,
            r#""\udc00\ud800""#,
        ] {
            assert!(!skips(text), "{text}");
        }
        assert_eq!(Reader::new(r#""\ud83d\ude00""#).string().unwrap(), "😀");
    }

    #[test]
    fn nesting_costs_bits_not_stack() {
        let deep = 1_000_000;
        let text = "[".repeat(deep) + &"]".repeat(deep);
        assert!(skips(&text));
        assert!(!skips(&"{\"a\":[".repeat(deep)));
    }

    /// Holds the path of every offset of `text` against the numbers in `marks`, each the place of a path
    /// in `paths`; a mark for each character of `text` and one for its end.
    #[track_caller]
    fn paths(text: &str, marks: &str, paths: &[&str]) {
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let expected: Vec<&str> =
            marks.chars().map(|mark| paths[mark.to_digit(36).unwrap() as usize]).collect();
        assert_eq!(paths_at(text, &offsets), expected, "{text}");
        for (offset, path) in offsets.iter().zip(&expected) {
            assert_eq!(paths_at(text, &[*offset]), [*path], "{text} at {offset}");
        }
    }

    #[test]
    fn every_byte_has_the_path_of_what_holds_it() {
        paths("[1, [2]]", "010023200", &["", "[0]", "[1]", "[1][0]"]);
        paths(
            r#" {"a" : {"b":[1,"x",{}]} , "c":null}"#,
            concat!(
                "00", "1111111", "22222", "3", "2", "444", "2", "55", "2", "1", "000", "66666666", "0", "0"
            ),
            &["", "a", "a.b", "a.b[0]", "a.b[1]", "a.b[2]", "c"],
        );
        paths(" 1 ", "0000", &[""]);
        paths("[]", "000", &[""]);
        paths("{}", "000", &[""]);
        paths("", "0", &[""]);
        paths(r#"{"é.`":1}"#, "0111111100", &["", "é.`"]);
    }

    #[test]
    fn broken_text_breaks_within_what_is_open() {
        let names = ["", "ids", "ids[0]", "ids[1]"];
        paths(r#"{"ids":[1,"#, "01111111211", &names);
        paths(r#"{"ids":[1,x y"#, "01111111213333", &names);
        paths(r#"{"ids":[1,]]"#, "0111111121111", &names);
        paths(r#"{"ids":[1 2]"#, "0111111121111", &names);
        paths(r#"{"ids":["a"#, "01111111222", &names);
        paths(r#"{"ids":[,"#, "0111111122", &names);
        paths(r#"{"ids" 1}"#, "0111111111", &names);
        paths(r#"{"ids":}"#, "011111111", &names);
        paths(r#"{"ids":nul"#, "01111111111", &names);
        paths(r#"{"ids":1 "x":2}"#, "0111111100000000", &names);
        paths(r#"{"ids":1,}"#, "01111111000", &names);
        paths(r#"{"ids"#, "000000", &names);
        paths("{ids:1}", "00000000", &names);
        paths("[1]x", "01000", &["", "[0]"]);
        paths("x", "00", &names);
    }

    #[test]
    fn offsets_may_repeat_and_lie_behind_the_end() {
        assert_eq!(paths_at("[1,2]", &[1, 1, 3, 3, 9, 9]), ["[0]", "[0]", "[1]", "[1]", "", ""]);
        assert_eq!(paths_at("[1,2", &[9]), [""]);
        assert_eq!(paths_at("[\"2", &[usize::MAX]), ["[0]"]);
        assert_eq!(paths_at("[]", &[]), Vec::<String>::new());
    }

    #[test]
    fn long_paths_are_clipped() {
        let deep = 1_000_000;
        let text = "[".repeat(deep) + "0" + &"]".repeat(deep);
        let [inner, outer] = &*paths_at(&text, &[deep, 2 * deep]) else { panic!() };
        assert!(inner.starts_with("[0][0]") && inner.ends_with("[0]…") && inner.len() < 2020, "{inner}");
        assert_eq!(outer, "");
        let text = "{\"\":".repeat(deep);
        let path = paths_at(&text, &[text.len()]).pop().unwrap();
        assert!(path.len() < 2020, "{path}");
        let keys = format!("{{\"{}\":[1]}}", "k".repeat(5000));
        assert_eq!(paths_at(&keys, &[5004]).pop().unwrap(), format!("{}…", "k".repeat(60)));
    }
}
