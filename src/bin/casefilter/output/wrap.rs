//! Wraps lines to the width of the terminal.

use std::io;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The line width in characters, used if standard output is not a terminal and the variable `COLUMNS` is not set.
const WIDTH: u16 = 120;

/// The minimum width of a layout, in characters.
const NARROWEST: u16 = 20;

/// Splits a text after its longest prefix that is at most `width` wide.
pub(super) fn split_at_width(text: &str, width: usize) -> (&str, &str) {
    let mut room = width;
    let end = text.char_indices().find(|(_, c)| match room.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            room = rest;
            false
        }
        None => true,
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

/// Wraps a line to the width of the terminal, or to the value of the variable `COLUMNS`. If neither is known, returns the line
/// unchanged. The second and later lines are indented by `hanging` characters more than the first line.
///
/// Lines are broken between cells of a table if possible, or else between words, or else within a word.
pub(crate) fn wrapped(line: &str, hanging: usize) -> String {
    known_width().map_or_else(|| line.to_owned(), |width| wrapped_to(line, hanging, usize::from(width)))
}

/// Does the same as [`wrapped`], for the given width.
pub(crate) fn wrapped_to(line: &str, hanging: usize, width: usize) -> String {
    let own_indent = line.chars().take_while(|c| *c == ' ').count();
    let set_in = own_indent.saturating_add(hanging).min(width.saturating_mul(2) / 3);
    let narrowed = narrowed(line.trim_end(), width);
    let mut text = String::new();
    let (mut rest, mut room) = (narrowed.as_str(), width.max(1));
    while rest.width() > room {
        let at = break_in(rest, room);
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        text.push_str(before.trim_end());
        text.push('\n');
        text.push_str(&" ".repeat(set_in));
        rest = after.trim_start();
        room = width.saturating_sub(set_in).max(1);
    }
    text.push_str(rest);
    text
}

/// Reduces the space between cells until the line fits the width. Starts at the end of the line, and keeps a minimum space between
/// cells.
fn narrowed(line: &str, width: usize) -> String {
    /// The minimum space between two cells.
    const APART: &str = "   ";
    let mut line = line.to_owned();
    let mut end = line.len();
    while let Some(excess) = line.width().checked_sub(width).filter(|excess| *excess > 0) {
        let Some(last) = line.get(..end).and_then(|front| front.rfind(APART)) else { break };
        let start = line.get(..last).map_or(0, |front| front.trim_end_matches(' ').len());
        // The indentation of the line is not changed.
        if start == 0 {
            break;
        }
        let spaces = last.saturating_add(APART.len()).saturating_sub(start);
        let fewer = spaces.saturating_sub(APART.len()).min(excess);
        line.replace_range(start..start.saturating_add(fewer), "");
        end = start;
    }
    line
}

/// Returns the offset at which to break a text that is wider than `room` columns of the terminal. Prefers a break between the cells
/// of a table row, which are separated by two or more spaces. Otherwise breaks between words, or else within a word.
fn break_in(text: &str, room: usize) -> usize {
    let (front, after) = split_at_width(text, room);
    let is_after_text = |at: &usize| front.get(..*at).is_some_and(|before| !before.trim().is_empty());
    let ends_with = |gap: &str| after.starts_with(gap).then_some(front.len());
    let cells = ends_with("  ").or_else(|| front.rfind("  ").filter(|at| *at > front.len() / 3));
    let words = || ends_with(" ").or_else(|| front.rfind(' '));
    let found = cells.filter(is_after_text).or_else(|| words().filter(is_after_text));
    // The result is at least one character, so that the loop of the caller ends.
    let one = text.chars().next().map_or(text.len(), char::len_utf8);
    found.unwrap_or(front.len()).max(one)
}

/// Returns the width for lines of text. If no width is known, returns the maximum, so that lines are not wrapped.
pub(crate) fn line_width() -> usize {
    known_width().map_or(usize::MAX, usize::from)
}

/// Returns the width for the layout of tables. If no width is known, returns a default.
pub(crate) fn width() -> u16 {
    known_width().unwrap_or(WIDTH)
}

/// Returns the width of the terminal on standard output, or the value of the variable `COLUMNS`. Returns `None` if neither is
/// known.
fn known_width() -> Option<u16> {
    let of_terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0);
    let of_variable = || std::env::var("COLUMNS").ok()?.trim().parse::<u16>().ok().filter(|width| *width > 0);
    of_terminal.or_else(of_variable).map(|width| width.max(NARROWEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_cells_or_words() {
        assert_eq!(wrapped_to("short", 4, 20), "short");
        assert_eq!(wrapped_to("  one two three four five", 2, 20), "  one two three four\n    five");
        assert_eq!(wrapped_to("a b c d      eeee ffff ggggg", 4, 20), "a b c d\n    eeee ffff ggggg");
        assert_eq!(wrapped_to("a      b         c", 4, 14), "a      b     c");
        assert_eq!(wrapped_to("a      b         c", 4, 10), "a    b   c");
        assert_eq!(wrapped_to("      a      b         c", 4, 9), "      a\n      b\n      c");
        assert_eq!(
            wrapped_to(&"x".repeat(45), 0, 20),
            format!("{0}\n{0}\n{1}", "x".repeat(20), "x".repeat(5))
        );
        for width in 1..60 {
            for text in [
                "",
                "   ",
                "王王王王 王王王 王王",
                "✗   a.b.c = d   absent   criteria[0]",
                "        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y",
            ] {
                let broken = wrapped_to(text, 4, width);
                let all = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
                assert_eq!(all(&broken), all(text), "{width}");
                assert!(width < 4 || broken.lines().all(|line| line.width() <= width), "{width}: {broken}");
            }
        }
    }
}
