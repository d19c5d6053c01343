//! Showing people what is wrong with a filter, at the place where it is wrong.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use casefilter::{Error, Errors};

use crate::output::escape::escape;
use crate::output::wrap::width;

/// A text that came from outside, and what to call it.
#[derive(Clone)]
pub(crate) struct Source {
    name: Arc<str>,
    text: Arc<str>,
    /// It is the value of the argument that is its name.
    is_argument: bool,
    /// It is one value, which is marked to its end, and not a text of several tokens.
    is_value: bool,
}

impl Source {
    /// Returns the text of a file. Bytes that are not UTF-8 are replaced; what stands before keeps its place.
    pub(crate) fn file(name: &str, bytes: Vec<u8>) -> Self {
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Self { name: name.into(), text: text.into(), is_argument: false, is_value: false }
    }

    /// Returns the text of an argument, which has several tokens.
    pub(crate) fn argument(name: &str, value: &str) -> Self {
        Self { name: name.into(), text: value.into(), is_argument: true, is_value: false }
    }

    /// Returns the value of an argument that is one value, such as a field or a number.
    pub(crate) fn value(name: &str, value: &str) -> Self {
        Self { is_value: true, ..Self::argument(name, value) }
    }
}

/// The errors of a request, each with the text it is about.
pub(crate) struct Fault {
    pub(crate) errors: Errors,
    /// As many as there are errors.
    pub(crate) sources: Vec<Source>,
}

impl Fault {
    /// Returns the errors of several texts, in this order; none when there are none.
    #[cfg(feature = "service")]
    pub(crate) fn of(faults: Vec<(Errors, Source)>) -> Option<Self> {
        let sources =
            faults.iter().flat_map(|(errors, source)| errors.as_slice().iter().map(|_| source.clone()));
        let sources = sources.collect();
        let errors = faults.into_iter().map(|(errors, _)| errors).reduce(Errors::followed_by)?;
        Some(Self { errors, sources })
    }

    /// Returns the errors as text, in colour when standard error is a terminal that wants it.
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
        shown = shown.element(Level::HELP.message(format!("did you mean {}?", escape(suggestion))));
    }
    let title = Level::ERROR.primary_title(format!("found {}", escape(&error.found))).id(error.kind.code());
    // The excerpt may be clipped, and the renderer would tell its column instead of that in the source.
    let title = renderer.render(&[Group::with_title(title)]);
    format!("{title}\n{:digits$}--> {origin}\n{}", "", renderer.render(&[shown]))
}

/// What stands in front of an excerpt: the number of its line, and a rule.
const MARGIN: usize = 10;

/// A part of one line of a text, fit for a terminal.
#[derive(Debug, PartialEq, Eq)]
struct Excerpt {
    /// The number of the line, from 1.
    line: usize,
    /// The place in the whole line in characters, from 1.
    column: usize,
    /// The part, unprintable characters escaped, `…` where something was left out.
    text: String,
    /// The token that stands at the place, in bytes of `text`.
    place: Range<usize>,
}

impl Excerpt {
    /// Returns the part of at most about `width` characters around the token at `offset`, the length of which `token_length` tells.
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
            // The place is the end of the line: the caret needs something to stand under.
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

/// Returns the length in bytes of the token in front of `text`: a JSON string, a word, or one character.
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
        let error = |offset, found: &str| Error {
            kind: casefilter::ErrorKind::UnknownField,
            path: "order".to_owned(),
            offset,
            found: found.to_owned(),
            expected: "one field".to_owned(),
            suggestion: None,
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
    fn an_excerpt_exists_for_every_offset() {
        for text in ["", "\n", "é\n\r\nü", "\"é", "\t\u{202e}"] {
            for offset in 0..10 {
                let excerpt = Excerpt::around(text, offset, 0, token_length);
                assert!(excerpt.text.get(excerpt.place.clone()).is_some_and(|place| !place.is_empty()));
            }
        }
    }
}
