//! Quotes parts of the input in error messages: puts them in backquotes, clips them, and escapes control characters.

use std::fmt;

/// The maximum length of a quoted part of the input in a message, in characters. Longer parts are clipped.
const ECHO_CHARS: usize = 60;

/// The maximum length of a suggested replacement, in bytes. A longer replacement is not suggested, because a clipped replacement
/// could not be used.
const WHOLE_BYTES: usize = 200;

/// A part of the input that displays in backquotes, clipped and escaped. The value itself is neither clipped nor
/// escaped.
///
/// It converts to a [`Found`](super::Found) or a [`Suggestion`](super::Suggestion) of an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Quoted(pub(super) String);

impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(&self.0, f)
    }
}

/// Wraps `text` so that it displays in backquotes, clipped, with control characters escaped. The displayed form is safe for a
/// terminal.
pub(crate) fn quote(text: &str) -> Quoted {
    Quoted(text.to_owned())
}

/// Wraps a suggested replacement in the same way as [`quote`]. Returns `None` if the replacement is longer than [`WHOLE_BYTES`], or
/// contains a backquote or an unprintable character.
pub(crate) fn quote_whole(text: &str) -> Option<Quoted> {
    is_whole(text).then(|| quote(text))
}

/// Displays each text in the same way as [`quote`]. Returns the displayed texts, joined by commas.
pub(crate) fn quote_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    texts.into_iter().map(|text| quote(text).to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns `text` clipped and with control characters escaped, without backquotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == ECHO_CHARS {
            escaped.push('…');
            break;
        }
        if is_unprintable(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Writes `text` in backquotes, clipped and escaped.
pub(super) fn write_quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "`{}`", escaped(text))
}

/// Returns true if a suggestion can display all of `text` unchanged.
pub(super) fn is_whole(text: &str) -> bool {
    text.len() <= WHOLE_BYTES && !text.chars().any(is_unprintable) && !text.contains('`')
}

/// Returns true for control characters, and for characters that hide or reorder the text around them.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quote_clips_and_escapes() {
        assert_eq!(quote("a\u{1b}[31m").to_string(), "`a\\u{1b}[31m`");
        assert_eq!(quote(&"x".repeat(100)).to_string(), format!("`{}…`", "x".repeat(60)));
        assert_eq!(escaped("a\nb"), "a\\u{a}b");
        assert_eq!(quote_all(["a", "b"]), "`a`, `b`");
    }

    #[test]
    fn a_replacement_that_displays_as_another_text_is_not_suggested() {
        assert_eq!(quote_whole(&"x".repeat(200)).map(|whole| whole.0), Some("x".repeat(200)));
        for text in ["x".repeat(201), "a\u{1b}".to_owned(), "a`b".to_owned()] {
            assert_eq!(quote_whole(&text), None);
        }
    }
}
