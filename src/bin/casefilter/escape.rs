//! Making text from outside harmless on a terminal.

use std::borrow::Cow;

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
    fn one_line_keeps_strings_and_drops_space() {
        let mut json = "{\r\n  \"a b\" : [ 1,\n 2 ], \"c\\\" \" : \"\\\\\" }".to_owned();
        one_line(&mut json);
        assert_eq!(json, "{\"a b\":[1,2],\"c\\\" \":\"\\\\\"}");
        let mut json = "{ \"a\" : 1 }".to_owned();
        one_line(&mut json);
        assert_eq!(json, "{ \"a\" : 1 }");
    }
}
