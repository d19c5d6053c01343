//! Prints the errors of a filter. Shows the text around each error.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use casefilter::{Error, Errors};

use crate::output::escape::escape;
use crate::output::wrap::width;

/// A text from the user, with the name by which messages refer to it.
#[derive(Clone)]
pub(crate) struct Source {
    name: Arc<str>,
    text: Arc<str>,
    /// True if the text is the value of an argument; then `name` is the argument.
    is_argument: bool,
    /// True if the text is a single value. An error then marks the text from its offset to the end. In other texts, an error marks
    /// one token.
    is_value: bool,
}

impl Source {
    /// Creates the text of a file. Bytes that are not UTF-8 are replaced. Offsets before these bytes stay valid.
    pub(crate) fn file(name: &str, bytes: Vec<u8>) -> Self {
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Self { name: name.into(), text: text.into(), is_argument: false, is_value: false }
    }

    /// Creates the text of an argument that consists of several tokens.
    pub(crate) fn argument(name: &str, value: &str) -> Self {
        Self { name: name.into(), text: value.into(), is_argument: true, is_value: false }
    }

    /// Creates the text of an argument that is a single value, such as a field or a number.
    pub(crate) fn value(name: &str, value: &str) -> Self {
        Self { is_value: true, ..Self::argument(name, value) }
    }
}

/// The errors of a request, each with the text in which it occurs.
pub(crate) struct Fault {
    pub(crate) errors: Errors,
    /// For each error, the text in which it occurs.
    pub(crate) sources: Vec<Source>,
}

impl Fault {
    /// Returns the errors of several texts, in the order of `faults`. Returns `None` if there are no errors.
    #[cfg(feature = "service")]
    pub(crate) fn of(faults: Vec<(Errors, Source)>) -> Option<Self> {
        let sources =
            faults.iter().flat_map(|(errors, source)| errors.as_slice().iter().map(|_| source.clone()));
        let sources = sources.collect();
        let errors = faults.into_iter().map(|(errors, _)| errors).reduce(Errors::followed_by)?;
        Some(Self { errors, sources })
    }

    /// Returns the errors as text. Uses colours if standard error is a terminal that supports them.
    pub(crate) fn render(&self) -> String {
        let colours = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        self.render_with(renderer.term_width(usize::from(width()).saturating_add(MARGIN)))
    }

    fn render_with(&self, renderer: Renderer) -> String {
        let mut rendered = String::new();
        for (error, source) in self.errors.as_slice().iter().zip(&self.sources) {
            rendered.push_str(&render(error, source, &renderer));
            rendered.push_str("\n\n");
        }
        rendered.truncate(rendered.trim_end_matches('\n').len());
        rendered.push('\n');
        rendered
    }
}

fn render(error: &Error, source: &Source, renderer: &Renderer) -> String {
    let width = usize::from(width()).saturating_sub(MARGIN);
    let token_length = if source.is_value { str::len } else { token_length };
    let excerpt = Excerpt::around(&source.text, error.offset, width, token_length);
    let digits = excerpt.line.to_string().len();
    let origin = match source.is_argument {
        true => escape(&source.name).into_owned(),
        false => format!("{}:{}:{}", escape(&source.name), excerpt.line, excerpt.column),
    };
    let expected = format!("expected {}", escape(&error.expected));
    let before = excerpt.text.get(..excerpt.place.end).unwrap_or_default().chars().count();
    let fits = before.saturating_add(expected.chars().count()) <= width;
    let place = AnnotationKind::Primary.span(excerpt.place).label(fits.then_some(expected.clone()));
    let snippet = Snippet::source(excerpt.text).line_start(excerpt.line).fold(false).annotation(place);
    let mut shown = Group::with_level(Level::ERROR).element(snippet);
    if !fits {
        shown = shown.element(Level::NOTE.message(expected));
    }
    if !error.path.is_empty() && !source.is_argument {
        shown = shown.element(Level::NOTE.message(format!("at {}", escape(&error.path))));
    }
    if let Some(suggestion) = &error.suggestion {
        shown =
            shown.element(Level::HELP.message(format!("did you mean {}?", escape(&suggestion.to_string()))));
    }
    let title = Level::ERROR
        .primary_title(format!("found {}", escape(&error.found.to_string())))
        .id(error.kind.code());
    // The title contains the position in the complete text. The renderer would use the position in the excerpt, which may be
    // clipped.
    let title = renderer.render(&[Group::with_title(title)]);
    format!("{title}\n{:digits$}--> {origin}\n{}", "", renderer.render(&[shown]))
}

/// The width of the margin before an excerpt (line number and vertical rule), in characters.
const MARGIN: usize = 10;

/// A part of one line of a text, escaped for a terminal.
#[derive(Debug, PartialEq, Eq)]
struct Excerpt {
    /// The line number, counted from 1.
    line: usize,
    /// The column in the complete line, in characters, counted from 1.
    column: usize,
    /// The excerpt. Unprintable characters are escaped, and omitted text is replaced by `…`.
    text: String,
    /// The token at the offset, as a byte range of `text`.
    place: Range<usize>,
}

impl Excerpt {
    /// Returns about `width` characters around the token at `offset`. `token_length` returns the length of the token with which a
    /// text starts.
    fn around(text: &str, offset: usize, width: usize, token_length: fn(&str) -> usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset = offset.saturating_sub(1);
        }
        let (before, after) = text.split_at(offset);
        let line = before.matches('\n').count().saturating_add(1);
        let before = before.rsplit('\n').next().unwrap_or_default();
        let after = after.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let column = before.chars().count().saturating_add(1);
        let (token, rest) = after.split_at(token_length(after));

        let width = width.max(40);
        let behind = after.char_indices().take(width).count();
        let room = width.saturating_sub(behind).max(width / 2);
        let mut excerpt = String::new();
        let in_front = room.saturating_sub(1);
        let cut = before.char_indices().rev().nth(in_front).filter(|(at, _)| *at > 0).map(|(at, _)| at);
        if cut.is_some() {
            excerpt.push('…');
        }
        push_all(before.get(cut.unwrap_or_default()..).unwrap_or_default(), &mut excerpt);
        let start = excerpt.len();
        let room = width.saturating_sub(excerpt.chars().count());
        push_clipped(token, room, &mut excerpt);
        let end = excerpt.len();
        push_clipped(rest, room.saturating_sub(token.chars().count()), &mut excerpt);
        if end == start {
            // The offset is at the end of the line. The caret needs a character above it.
            excerpt.push(' ');
        }
        let end = if end == start { start.saturating_add(1) } else { end };
        Self { line, column, text: excerpt, place: start..end }
    }
}

fn push_all(text: &str, out: &mut String) {
    out.push_str(&escape(&text.replace('\t', " ")));
}

fn push_clipped(text: &str, most: usize, out: &mut String) {
    match text.char_indices().nth(most) {
        Some((at, _)) => {
            push_all(text.get(..at).unwrap_or_default(), out);
            out.push('…');
        }
        None => push_all(text, out),
    }
}

/// Returns the length in bytes of the first token of `text`. A token is a quoted string, a word, a sign such as `<=`, or a single
/// character.
fn token_length(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, first)) = chars.next() else { return 0 };
    let is_word =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-' | '+' | '@' | ':' | '/' | '#');
    let is_sign = |c: char| matches!(c, '<' | '>' | '=' | '!' | '~' | '&' | '|' | '≠' | '≥' | '≤');
    let end = |found: Option<(usize, char)>| found.map_or(text.len(), |(at, _)| at);
    match first {
        '"' | '\'' => {
            let mut escaped = false;
            for (at, c) in chars {
                match c {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    _ if c == first => return at.saturating_add(1),
                    _ => {}
                }
            }
            text.len()
        }
        _ if is_word(first) => end(chars.find(|(_, c)| !is_word(*c))),
        _ if is_sign(first) => end(chars.find(|(_, c)| !is_sign(*c))),
        _ => first.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_marks_the_token() {
        let excerpt = Excerpt::around("one\n  \"two\": 3\n", 6, 80, token_length);
        let expected = Excerpt { line: 2, column: 3, text: "  \"two\": 3".into(), place: 2..7 };
        assert_eq!(excerpt, expected);
    }

    #[test]
    fn a_sign_is_marked_whole() {
        for sign in ["&&", "||", "!=", "=>", "≠", "~="] {
            let text = format!("a {sign} b");
            assert_eq!(Excerpt::around(&text, 2, 80, token_length).place, 2..2 + sign.len(), "{sign}");
        }
    }

    #[test]
    fn a_value_is_marked_whole() {
        let error = |offset, found: &str| {
            Error::new(casefilter::ErrorKind::UnknownField, offset, found.to_owned(), "one field").at("order")
        };
        for (text, offset, marks) in [("createdAt,-id, x y", 0, 18), ("-nothing", 1, 7), ("", 0, 1)] {
            let rendered = render(&error(offset, text), &Source::value("--order", text), &Renderer::plain());
            assert_eq!(rendered.matches('^').count(), marks, "{rendered}");
        }
    }

    #[test]
    fn an_excerpt_of_a_long_line_is_short_and_escaped() {
        let text = format!("{}\u{1b}[31m\"here\"{}", "x".repeat(5_000), "y".repeat(5_000));
        let excerpt = Excerpt::around(&text, 5_005, 80, token_length);
        assert!(excerpt.text.chars().count() < 100, "{}", excerpt.text);
        assert!(!excerpt.text.contains('\u{1b}'));
        assert_eq!(&excerpt.text[excerpt.place.clone()], "\"here\"");
        assert_eq!(excerpt.column, 5_006);
    }

    #[test]
    fn every_offset_has_an_excerpt() {
        for text in ["", "\n", "é\n\r\nü", "\"é", "\t\u{202e}"] {
            for offset in 0..10 {
                let excerpt = Excerpt::around(text, offset, 0, token_length);
                assert!(excerpt.text.get(excerpt.place.clone()).is_some_and(|place| !place.is_empty()));
            }
        }
    }
}
