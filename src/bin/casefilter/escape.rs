//! Making text from outside harmless on a terminal.

use std::borrow::Cow;
use std::io::{self, Write};
use std::str;

/// Control characters, and those that reorder or hide what stands around them.
pub(crate) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `text` with every unprintable character as `\u{…}`.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        push(c, &mut escaped);
    }
    Cow::Owned(escaped)
}

/// Appends one character, escaped if it is unprintable.
pub(crate) fn push(c: char, out: &mut String) {
    if is_unprintable(c) {
        out.extend(c.escape_unicode());
    } else {
        out.push(c);
    }
}

/// As [`escape`], of several lines, which stay lines.
pub(crate) fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_as(text, |c, out| out.extend(c.escape_unicode()))
}

/// JSON with its unprintable characters as `\uXXXX`, which mean the same in its strings. Its lines stay lines.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    escape_as(json, |c, out| match c {
        // Only ever between tokens.
        '\r' => out.push(' '),
        // None of them is beyond the first plane.
        c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
    })
}

fn escape_as(text: &str, push: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let is_harmful = |c: char| is_unprintable(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) { push(c, &mut escaped) } else { escaped.push(c) }
    }
    Cow::Owned(escaped)
}

/// Writes JSON for a terminal, of which each write holds whole characters.
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

/// True when a text stands on several lines for whoever reads it.
pub(crate) fn has_line_breaks(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Removes the space between tokens of JSON that holds line breaks, so that it stands on one line.
///
/// Sound JSON has no raw line breaks in strings; a text without any is left as it is.
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
    fn escape_leaves_nothing_that_a_terminal_obeys() {
        assert_eq!(escape("plain Zoë"), "plain Zoë");
        assert_eq!(escape("a\u{1b}[31m\u{202e}\n"), "a\\u{1b}[31m\\u{202e}\\u{a}");
    }

    #[test]
    fn lines_and_json_for_a_terminal_hold_nothing_that_it_obeys() {
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
