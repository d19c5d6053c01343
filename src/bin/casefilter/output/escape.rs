//! Escapes text from users and files, so that it can be printed safely on a terminal.

use std::borrow::Cow;
use std::io::{self, Write};
use std::str;

/// Returns true for control characters, and for characters that reorder or hide the text around them.
pub(crate) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true for the zero-width joiner and non-joiner, which are parts of words in some writing systems.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Returns true for a character of a writing system whose words contain joiners. Also returns true for a character that joiners can
/// combine with others into one emoji.
fn takes_joiners(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{61b}' | '\u{61d}'..='\u{7ff}' | '\u{8a0}'..='\u{dff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{180d}' | '\u{1810}'..='\u{18af}' | '\u{1cd0}'..='\u{1cff}'
        | '\u{2640}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{a8e0}'..='\u{a8ff}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe0f}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns each character of a text, with a flag that is true if the character must be escaped: it is unprintable, and not a joiner
/// within a word.
fn marked(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut chars = text.chars().peekable();
    let mut last = None;
    std::iter::from_fn(move || {
        let c = chars.next()?;
        let is_within =
            last.is_some_and(takes_joiners) && chars.peek().is_some_and(|next| takes_joiners(*next));
        last = Some(c);
        Some((c, is_unprintable(c) && !(is_joiner(c) && is_within)))
    })
}

/// Returns the text with every unprintable character escaped as `\u{…}`, except joiners within a word.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    escape_as(text, |_| false, |c, out| out.extend(c.escape_unicode()))
}

/// Does the same as [`escape`], but keeps line feeds and tabs.
pub(crate) fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_as(text, is_line_space, |c, out| out.extend(c.escape_unicode()))
}

/// Returns JSON with unprintable characters escaped as `\uXXXX`, which has the same meaning in JSON strings. Line feeds and tabs
/// are kept. A carriage return becomes a space.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    escape_as(json, is_line_space, |c, out| match c {
        // In JSON, a raw line break can only be between two tokens.
        '\r' => out.push(' '),
        c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
    })
}

fn is_line_space(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

fn escape_as(text: &str, keeps: impl Fn(char) -> bool, push: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(|c| is_unprintable(c) && !keeps(c)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for (c, is_harmful) in marked(text) {
        if is_harmful && !keeps(c) { push(c, &mut escaped) } else { escaped.push(c) }
    }
    Cow::Owned(escaped)
}

/// Returns the text in backquotes, clipped and escaped.
pub(crate) fn quote(text: &str) -> String {
    let clipped = text.char_indices().nth(60).map_or(text, |(at, _)| text.get(..at).unwrap_or_default());
    let mark = if clipped.len() < text.len() { "…" } else { "" };
    format!("`{}{mark}`", escape(clipped))
}

/// A writer that escapes JSON for a terminal. Each write must consist of complete characters.
pub(crate) struct EscapedJson<W>(pub(crate) W);

impl<W: Write> Write for EscapedJson<W> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(json).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.0.write_all(escape_json(text).as_bytes())?;
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns true if a text contains line breaks.
pub(crate) fn has_line_breaks(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Converts JSON to one line, by removing the whitespace between its tokens.
///
/// Strings in valid JSON contain no raw line breaks. A text without line breaks stays unchanged.
pub(crate) fn one_line(json: &mut String) {
    if !has_line_breaks(json) {
        return;
    }
    let (mut in_string, mut escaped) = (false, false);
    json.retain(|c| {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            return true;
        }
        in_string = c == '"';
        !matches!(c, ' ' | '\t' | '\n' | '\r')
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_leaves_no_control_characters() {
        assert_eq!(escape("plain Zoë"), "plain Zoë");
        assert_eq!(escape("a\u{1b}[31m\u{202e}\n"), "a\\u{1b}[31m\\u{202e}\\u{a}");
    }

    #[test]
    fn joiners_within_words_stay_and_other_invisible_characters_are_escaped() {
        for name in [
            "علی\u{200c}رضا محمدی",
            "क्\u{200d}ष",
            "👩\u{200d}💼",
            "👩\u{200d}❤\u{fe0f}\u{200d}👨",
            "ක්\u{200d}ෂ",
        ] {
            assert_eq!(escape(name), name);
            assert_eq!(escape_lines(name), name);
            assert_eq!(escape_json(name), name);
        }
        for (text, shown) in [
            ("ad\u{200d}min", "ad\\u{200d}min"),
            ("\u{200c}علی", "\\u{200c}علی"),
            ("علی\u{200c}", "علی\\u{200c}"),
            ("ع\u{200c}\u{200c}ل", "ع\\u{200c}\\u{200c}ل"),
            ("ع\u{200b}ل", "ع\\u{200b}ل"),
            ("ع\u{200f}ل\u{61c}ا", "ع\\u{200f}ل\\u{61c}ا"),
            ("a\u{2068}b\u{2069}", "a\\u{2068}b\\u{2069}"),
            ("a\u{ad}\u{3164}b", "a\\u{ad}\\u{3164}b"),
            ("a\u{e0041}", "a\\u{e0041}"),
        ] {
            assert_eq!(escape(text), shown);
        }
        assert_eq!(escape_json("\"a\u{e0041}\""), "\"a\\udb40\\udc41\"");
    }

    #[test]
    fn lines_and_json_for_a_terminal_have_no_control_characters() {
        assert_eq!(escape_lines("a\u{202e}\n\tb\u{9b}\n"), "a\\u{202e}\n\tb\\u{9b}\n");
        let json = "{\"a\":\"\u{202e}\u{7f}\u{9b}\",\r\n\t\"b\":1}";
        let escaped = escape_json(json);
        assert_eq!(escaped, "{\"a\":\"\\u202e\\u007f\\u009b\", \n\t\"b\":1}");
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(read(&escaped), read(json));
        let mut written = Vec::new();
        EscapedJson(&mut written).write_all(json.as_bytes()).unwrap();
        assert_eq!(written, escaped.as_bytes());
    }

    #[test]
    fn one_line_keeps_strings_and_drops_space() {
        let mut json = "{\r\n  \"a b\" : [ 1,\n 2 ], \"c\\\" \" : \"\\\\\" }".to_owned();
        one_line(&mut json);
        assert_eq!(json, "{\"a b\":[1,2],\"c\\\" \":\"\\\\\"}");
        let mut json = "{ \"a\" : 1 }".to_owned();
        one_line(&mut json);
        assert_eq!(json, "{ \"a\" : 1 }");
    }
}
