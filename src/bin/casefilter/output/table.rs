//! Tables for people.

use std::io::{self, IsTerminal};
use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::escape::escape;
use crate::output::failure::Failure;

/// The width where there is neither a terminal to ask nor the variable `COLUMNS`.
const WIDTH: u16 = 120;

/// The narrowest width that is laid out for.
const NARROWEST: u16 = 20;

/// How far columns stand apart.
const GAP: usize = 2;

/// The narrowest that a column which yields becomes.
const LEAST: usize = 10;

/// What stands for the rest of a text that is cut.
const CUT: &str = "…";

/// A column: its heading, how it is aligned, and whether it gives way on a narrow terminal.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    heading: &'static str,
    right: bool,
    yields: bool,
}

impl Column {
    /// Text, cut when the terminal is narrow.
    pub(crate) const fn text(heading: &'static str) -> Self {
        Self { heading, right: false, yields: true }
    }

    /// Text that is of no use when it is cut.
    pub(crate) const fn whole(heading: &'static str) -> Self {
        Self { heading, right: false, yields: false }
    }

    /// A number.
    pub(crate) const fn number(heading: &'static str) -> Self {
        Self { heading, right: true, yields: false }
    }
}

/// Lays out rows under headings, a line each, to the width of the terminal.
///
/// Columns that the terminal cannot hold are left out; a last line says which.
pub(crate) fn render(columns: &[Column], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| escaped(row)).collect();
    let layout = Layout::new(columns, &rows, usize::from(width()));
    let mut text = layout.head();
    for row in &rows {
        text.push_str(&layout.line(row));
    }
    text.push_str(&layout.left_out());
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Takes the text of a table, a line or more at a time.
pub(crate) type Write<'w> = &'w mut dyn FnMut(&str) -> Result<(), Failure>;

/// A table that is written while its rows come; the first of them tell how wide the columns are.
pub(crate) struct TableWriter {
    columns: &'static [Column],
    /// The rows that tell the widths, until there are enough.
    first: Vec<Vec<String>>,
    enough: usize,
    layout: Option<Layout>,
}

impl TableWriter {
    pub(crate) fn new(columns: &'static [Column], enough: usize) -> Self {
        Self { columns, first: Vec::new(), enough, layout: None }
    }

    pub(crate) fn push(&mut self, row: Vec<String>, write: Write<'_>) -> Result<(), Failure> {
        let row = escaped(&row);
        if let Some(layout) = &self.layout {
            return write(&layout.line(&row));
        }
        self.first.push(row);
        if self.first.len() >= self.enough { self.begin(write) } else { Ok(()) }
    }

    fn begin(&mut self, write: Write<'_>) -> Result<(), Failure> {
        let first = std::mem::take(&mut self.first);
        let layout = Layout::new(self.columns, &first, usize::from(width()));
        write(&layout.head())?;
        first.iter().try_for_each(|row| write(&layout.line(row)))?;
        self.layout = Some(layout);
        Ok(())
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self, write: Write<'_>) -> Result<(), Failure> {
        if !self.first.is_empty() {
            self.begin(write)?;
        }
        self.layout.map_or(Ok(()), |layout| write(&layout.left_out()))
    }
}

/// Which columns are shown, and how wide.
struct Layout {
    shown: Vec<Shown>,
    left_out: Vec<&'static str>,
    /// That of the terminal.
    width: usize,
    /// Whether texts that run from right to left are isolated from what stands beside them.
    isolates: bool,
}

struct Shown {
    column: Column,
    /// Its place in a row.
    place: usize,
    width: usize,
}

impl Layout {
    fn new(columns: &[Column], rows: &[Vec<String>], width: usize) -> Self {
        let isolates = io::stdout().is_terminal();
        let mut layout = Self { shown: Vec::new(), left_out: Vec::new(), width, isolates };
        let mut wanted = Vec::new();
        let mut room = width;
        for (place, column) in columns.iter().enumerate() {
            let content = rows.iter().filter_map(|row| row.get(place)).map(|text| text.width());
            let widest = content.chain([column.heading.width()]).max().unwrap_or_default();
            let least = if column.yields { widest.min(LEAST) } else { widest };
            let gap = if layout.shown.is_empty() { 0 } else { GAP };
            match room.checked_sub(least.saturating_add(gap)) {
                None if !layout.shown.is_empty() => layout.left_out.push(column.heading),
                rest => {
                    room = rest.unwrap_or(0);
                    wanted.push(widest);
                    layout.shown.push(Shown { column: *column, place, width: least });
                }
            }
        }
        // What room is left goes to the narrowest of those that want more.
        while room > 0 {
            let hungry =
                layout.shown.iter_mut().zip(&wanted).filter(|(shown, wanted)| shown.width < **wanted);
            let Some((narrowest, _)) = hungry.min_by_key(|(shown, _)| shown.width) else { break };
            narrowest.width = narrowest.width.saturating_add(1);
            room = room.saturating_sub(1);
        }
        layout
    }

    /// The headings, and a line under them.
    fn head(&self) -> String {
        let headings = self.shown.iter().map(|shown| shown.column.heading);
        let widths = self.shown.iter().map(|shown| shown.width);
        let gaps = self.shown.len().saturating_sub(1).saturating_mul(GAP);
        let rule = "─".repeat(widths.sum::<usize>().saturating_add(gaps));
        format!("{}{rule}\n", self.cells(headings))
    }

    /// A row, with the end of its line.
    fn line(&self, row: &[String]) -> String {
        self.cells(self.shown.iter().map(|shown| row.get(shown.place).map_or("", String::as_str)))
    }

    fn cells<'t>(&self, texts: impl Iterator<Item = &'t str>) -> String {
        let mut line = String::new();
        for (number, (shown, text)) in self.shown.iter().zip(texts).enumerate() {
            if number > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let cut = if shown.column.yields { cut(text, shown.width) } else { text.to_owned() };
            let space = " ".repeat(shown.width.saturating_sub(cut.width()));
            let cut =
                if self.isolates && runs_leftwards(&cut) { format!("\u{2068}{cut}\u{2069}") } else { cut };
            let (before, after) =
                if shown.column.right { (space.as_str(), "") } else { ("", space.as_str()) };
            line.extend([before, &cut, after]);
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }

    /// Says which columns are missing, with the end of the line.
    fn left_out(&self) -> String {
        if self.left_out.is_empty() {
            return String::new();
        }
        format!(
            "{}\n",
            wrapped_to(&format!("(a wider terminal shows {} too)", self.left_out.join(", ")), 0, self.width)
        )
    }
}

fn escaped(row: &[String]) -> Vec<String> {
    row.iter().map(|text| escape(text).into_owned()).collect()
}

/// A text that is at most so wide, by cutting its end off.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (front, _) = split_at_width(text, width.saturating_sub(CUT.width()));
    format!("{}{CUT}", front.trim_end())
}

/// As much of a text as is at most so wide, and the rest.
fn split_at_width(text: &str, width: usize) -> (&str, &str) {
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

/// Whether a text has characters of a script that is written from right to left.
fn runs_leftwards(text: &str) -> bool {
    let is_leftward = |c: char| {
        matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    };
    text.contains(is_leftward)
}

/// A line as several, none wider than the terminal if that can be, where there is one or `COLUMNS` tells its width; those after the first are set in by `hanging` more.
///
/// It is broken where cells of a table stand apart, or else between words.
pub(crate) fn wrapped(line: &str, hanging: usize) -> String {
    known_width().map_or_else(|| line.to_owned(), |width| wrapped_to(line, hanging, usize::from(width)))
}

/// As [`wrapped`], for a terminal of a width.
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

/// A line with the space between its cells made less, from the end on, until the line is no wider than that or there is no such space.
fn narrowed(line: &str, width: usize) -> String {
    /// How far cells that stand apart have to stand.
    const APART: &str = "   ";
    let mut line = line.to_owned();
    let mut end = line.len();
    while let Some(excess) = line.width().checked_sub(width).filter(|excess| *excess > 0) {
        let Some(last) = line.get(..end).and_then(|front| front.rfind(APART)) else { break };
        let start = line.get(..last).map_or(0, |front| front.trim_end_matches(' ').len());
        // What a line is set in by stays.
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

/// Where to break a text that is wider than the room: between cells, between words, or within a word.
fn break_in(text: &str, room: usize) -> usize {
    let (front, behind) = split_at_width(text, room);
    let is_after_text = |at: &usize| front.get(..*at).is_some_and(|before| !before.trim().is_empty());
    if behind.starts_with(' ') && is_after_text(&front.len()) {
        return front.len();
    }
    let cells = front.rfind("  ").filter(|at| *at > front.len() / 3);
    let found = cells.filter(is_after_text).or_else(|| front.rfind(' ').filter(is_after_text));
    // At least one character, so that there is an end.
    let one = text.chars().next().map_or(text.len(), char::len_utf8);
    found.unwrap_or(front.len()).max(one)
}

/// The width that tables are laid out for.
pub(crate) fn width() -> u16 {
    known_width().unwrap_or(WIDTH)
}

/// The width of the terminal on standard output, or that which the variable `COLUMNS` tells.
fn known_width() -> Option<u16> {
    let of_terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0);
    let of_variable = || std::env::var("COLUMNS").ok()?.trim().parse::<u16>().ok().filter(|width| *width > 0);
    of_terminal.or_else(of_variable).map(|width| width.max(NARROWEST))
}

/// A number with commas between thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && digits.len().saturating_sub(place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number and its noun, with an `s` unless there is one.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// A duration with three significant digits in a unit to read.
pub(crate) fn duration(time: Duration) -> String {
    microseconds(time.as_secs_f64() * 1e6)
}

/// As [`duration`], from microseconds.
pub(crate) fn microseconds(us: f64) -> String {
    let (value, unit) = match us {
        _ if us < 1e3 => (us, "µs"),
        _ if us < 1e6 => (us / 1e3, "ms"),
        _ => (us / 1e6, "s"),
    };
    let decimals = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] =
        [Column::whole("id"), Column::text("status"), Column::number("amount"), Column::text("name")];

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        vec![
            row(["c-1", "resolvedPotentialThreat", "12.50", "Zoë 王小明 Example"]),
            row(["c-22", "open", "1000", "علی\u{200c}رضا"]),
        ]
    }

    fn laid_out(width: usize) -> Vec<String> {
        let rows = rows();
        let layout = Layout::new(&COLUMNS, &rows, width);
        let mut lines = layout.head();
        rows.iter().for_each(|row| lines.push_str(&layout.line(row)));
        lines.push_str(&layout.left_out());
        lines.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_table_is_never_wider_than_the_terminal_and_uses_what_there_is() {
        for width in 20..100 {
            let lines = laid_out(width);
            let wide: Vec<&String> = lines.iter().take(4).filter(|line| line.width() > width).collect();
            assert_eq!(wide, [""; 0], "{width}");
        }
        let narrow = laid_out(40);
        assert_eq!(narrow[0], "id    status        amount  name");
        assert_eq!(narrow[2], "c-1   resolvedPot…   12.50  Zoë 王小明…");
        let wide = laid_out(60);
        assert_eq!(wide[2], "c-1   resolvedPotentialThreat   12.50  Zoë 王小明 Example");
        let small = laid_out(24);
        assert_eq!(small[0], "id    status      amount");
        assert_eq!(small[4], "(a wider terminal shows");
    }

    #[test]
    fn rows_that_come_one_by_one_make_the_same_table() {
        const STATIC: &[Column] = &COLUMNS;
        for enough in [1, 2, 5] {
            let mut text = String::new();
            let mut write = |more: &str| {
                text.push_str(more);
                Ok(())
            };
            let mut table = TableWriter::new(STATIC, enough);
            rows().into_iter().for_each(|row| table.push(row, &mut write).unwrap());
            table.finish(&mut write).unwrap();
            assert_eq!(text.lines().count(), 4, "{text}");
            if enough > 1 {
                assert_eq!(text.trim_end(), render(STATIC, &rows()));
            }
        }
    }

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

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(microseconds(0.52), "0.52 µs");
        assert_eq!(microseconds(43.21), "43.2 µs");
        assert_eq!(microseconds(1_234.0), "1.23 ms");
        assert_eq!(microseconds(2_500_000.0), "2.50 s");
    }
}
