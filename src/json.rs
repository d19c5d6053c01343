//! A pull reader of JSON text that never recurses and knows the byte offset of everything.
//!
//! It accepts exactly the grammar of RFC 8259 whose strings are Unicode: a lone surrogate is an
//! error. The properties that the engine needs from a reader of hostile input, and that
//! `serde_json` does not give, are offsets of every token, a stack that the input cannot grow,
//! and sight of repeated keys.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind, quote};

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

type Result<T> = std::result::Result<T, Error>;

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads on from an offset.
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
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.bump();
        }
    }

    /// The error for the character that stands here.
    fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "the end of the text".to_owned(),
            Some('\u{feff}') => "a byte-order mark".to_owned(),
            Some(c) => quote(c.encode_utf8(&mut [0; 4])),
        };
        Err(Error::new(ErrorKind::Syntax, self.at, found, expected))
    }

    /// The type of the next value, which stays unread; the offset is then that of the value.
    pub(crate) fn peek(&mut self) -> Result<JsonType> {
        self.skip_space();
        match self.byte() {
            Some(b'{') => Ok(JsonType::Object),
            Some(b'[') => Ok(JsonType::Array),
            Some(b'"') => Ok(JsonType::String),
            Some(b'-' | b'0'..=b'9') => Ok(JsonType::Number),
            Some(b't' | b'f') => Ok(JsonType::Boolean),
            Some(b'n') => Ok(JsonType::Null),
            _ => self.unexpected("a JSON value"),
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
        self.skip_space();
        if self.byte() != Some(b':') {
            return self.unexpected("`:`");
        }
        self.bump();
        Ok(Some((key, offset)))
    }

    /// Reads a string; borrowed unless it has escapes.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>> {
        self.skip_space();
        if self.byte() != Some(b'"') {
            return self.unexpected("a string");
        }
        self.bump();
        let mut start = self.at;
        let mut unescaped: Option<String> = None;
        loop {
            while self.byte().is_some_and(|b| b >= b' ' && b != b'"' && b != b'\\') {
                self.bump();
            }
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
            Error::new(
                ErrorKind::Syntax,
                start,
                format!("the lone surrogate {found}"),
                "a pair of surrogates, high before low",
            )
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

    fn word(&mut self, word: &str) -> Result<()> {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
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

/// The paths of `offsets` (ascending) in `text`, each such as `criteria[0].children[2].op`.
///
/// An offset that is not the start of a key or value gets the path of what was open there.
/// One walk over the text, so that only requests with errors pay for paths.
pub(crate) fn paths_at(text: &str, offsets: &[usize]) -> Vec<String> {
    let mut paths = Vec::with_capacity(offsets.len());
    let mut wanted = offsets.iter().copied().peekable();
    let mut walk = PathWalk { reader: Reader::new(text), open: Vec::new() };
    while let Some(&offset) = wanted.peek() {
        match walk.step(offset) {
            Step::Reached => {
                paths.push(walk.path());
                wanted.next();
            }
            Step::Passed => {}
        }
    }
    paths
}

enum Segment<'a> {
    Key(Cow<'a, str>),
    Index(usize),
    /// An object or array whose first member was not reached yet.
    Fresh {
        object: bool,
    },
}

struct PathWalk<'a> {
    reader: Reader<'a>,
    open: Vec<Segment<'a>>,
}

enum Step {
    Reached,
    Passed,
}

impl PathWalk<'_> {
    /// Goes to the next member or value, unless `offset` lies before its end.
    fn step(&mut self, offset: usize) -> Step {
        let before = self.reader.clone();
        let Ok(kind) = self.reader.peek() else { return Step::Reached };
        if offset <= self.reader.offset() {
            self.reader = before;
            return Step::Reached;
        }
        if let JsonType::Object | JsonType::Array = kind {
            self.reader.open();
            self.open.push(Segment::Fresh { object: kind == JsonType::Object });
        } else if self.reader.skip_scalar().is_err() || offset < self.reader.offset() {
            self.reader = before;
            return Step::Reached;
        }
        self.advance(offset)
    }

    /// Behind a bracket or a value: goes on to where the next value stands.
    fn advance(&mut self, offset: usize) -> Step {
        loop {
            let before = self.reader.clone();
            let Some(segment) = self.open.last_mut() else { return Step::Reached };
            let more = match segment {
                Segment::Fresh { object: true } | Segment::Key(_) => {
                    let first = matches!(segment, Segment::Fresh { .. });
                    match self.reader.next_key(first) {
                        Err(_) => Err(()),
                        Ok(None) => Ok(false),
                        Ok(Some((key, at))) if offset >= at => {
                            *segment = Segment::Key(key);
                            Ok(true)
                        }
                        Ok(Some(_)) => Err(()),
                    }
                }
                Segment::Fresh { object: false } | Segment::Index(_) => {
                    let next = match segment {
                        Segment::Index(index) => index.saturating_add(1),
                        _ => 0,
                    };
                    match self.reader.next_element(next == 0) {
                        Err(_) => Err(()),
                        Ok(true) => {
                            *segment = Segment::Index(next);
                            Ok(true)
                        }
                        Ok(false) => Ok(false),
                    }
                }
            };
            match more {
                // The text ends or breaks here, or the place lies before the next key.
                Err(()) => {
                    self.reader = before;
                    return Step::Reached;
                }
                Ok(true) => return Step::Passed,
                Ok(false) => {
                    if offset < self.reader.offset() {
                        self.reader = before;
                        return Step::Reached;
                    }
                    self.open.pop();
                }
            }
        }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for segment in &self.open {
            match segment {
                Segment::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    let quoted = quote(key);
                    path.push_str(quoted.trim_matches('`'));
                }
                Segment::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
                Segment::Fresh { .. } => {}
            }
            // A deeper path than this helps nobody, and a hostile one could be as long as the body.
            if path.len() > LONGEST_PATH_BYTES {
                path.push('…');
                break;
            }
        }
        path
    }
}

const LONGEST_PATH_BYTES: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(text: &str) -> bool {
        let mut reader = Reader::new(text);
        reader.skip_value().and_then(|()| reader.end()).is_ok()
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

    #[test]
    fn paths_name_keys_indexes_and_open_places() {
        let text = r#"{"criteria":[{"op":"$or","children":[{"a":1},{"op":2}]}],"x":[true]}"#;
        let at = |needle: &str| text.find(needle).unwrap();
        let offsets = [
            0,
            at("\"criteria\""),
            at("{\"op\":\"$or\""),
            at("\"$or\""),
            at("1}"),
            at("\"op\":2"),
            at("2}"),
            at("true"),
            text.len(),
        ];
        let paths = paths_at(text, &offsets);
        assert_eq!(
            paths,
            [
                "",
                "criteria",
                "criteria[0]",
                "criteria[0].op",
                "criteria[0].children[0].a",
                "criteria[0].children[1].op",
                "criteria[0].children[1].op",
                "x[0]",
                ""
            ]
        );
    }

    #[test]
    fn paths_of_broken_text_name_what_was_open() {
        for (text, offset, path) in [
            ("{\"ids\":[1,", 10, "ids"),
            ("{\"ids\":[1,x", 10, "ids[1]"),
            ("{\"ids\" 1", 7, ""),
            ("{\"ids\":[\"a\"],}", 13, "ids"),
            ("", 0, ""),
            ("[1]x", 3, ""),
        ] {
            let found = paths_at(text, &[offset]);
            assert_eq!(found.len(), 1, "{text}");
            assert!(
                found[0] == path || path.starts_with(found[0].as_str()) || found[0].starts_with(path),
                "{text}: {found:?}"
            );
        }
    }
}
