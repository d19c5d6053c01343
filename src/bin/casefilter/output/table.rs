//! Lays out tables for people.

use std::io::{self, IsTerminal};

use unicode_width::UnicodeWidthStr;

use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::wrap::{split_at_width, width, wrapped_to};

/// The width of the space between two columns of a table, in characters.
const GAP: usize = 2;

/// The minimum width of a column that can be cut, in characters.
const LEAST: usize = 10;

/// The minimum width of a column that can be cut if every column has to be shown, in characters.
const LEAST_OF_ALL: usize = 4;

/// The mark at the end of a text that has been cut.
const CUT: &str = "…";

/// A column: its heading, its alignment, and whether its texts are cut on a narrow terminal.
#[derive(Clone, Copy)]
pub(crate) struct Column<'h> {
    heading: &'h str,
    right: bool,
    yields: bool,
}

impl<'h> Column<'h> {
    /// Creates a left-aligned text column. It is cut if the terminal is too narrow.
    pub(crate) const fn text(heading: &'h str) -> Self {
        Self { heading, right: false, yields: true }
    }

    /// Creates a left-aligned text column whose texts are never cut.
    pub(crate) const fn whole(heading: &'h str) -> Self {
        Self { heading, right: false, yields: false }
    }

    /// Creates a right-aligned column of numbers.
    pub(crate) const fn number(heading: &'h str) -> Self {
        Self { heading, right: true, yields: false }
    }
}

/// The result if the terminal is too narrow for all columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The last columns are left out, and an additional line names them.
    LeaveOut,
    /// Every column is shown, because the user chose the columns. Texts are cut as far as possible. Lines may then be longer than
    /// the width of the terminal.
    ShowAll,
}

/// Lays out rows under headings, one row per line, within the width of the terminal.
///
/// If there is not enough space for all columns, `fit` determines the result.
pub(crate) fn render(columns: &[Column<'_>], rows: &[Vec<String>], fit: Fit) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| escaped(row)).collect();
    let layout = Layout::new(columns, &rows, usize::from(width()), fit);
    let mut text = layout.head();
    for row in &rows {
        text.push_str(&layout.line(row));
    }
    text.push_str(&layout.left_out());
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// A function that receives the text of a table, one or more lines at a time.
pub(crate) type Write<'w> = &'w mut dyn FnMut(&str) -> Result<(), Failure>;

/// A table that is written while its rows are added. The first rows determine the widths of the columns.
pub(crate) struct TableWriter<'h> {
    columns: &'h [Column<'h>],
    fit: Fit,
    /// The first rows, which are collected until there are enough of them to determine the widths.
    first: Vec<Vec<String>>,
    enough: usize,
    layout: Option<Layout<'h>>,
}

impl<'h> TableWriter<'h> {
    pub(crate) fn new(columns: &'h [Column<'h>], enough: usize, fit: Fit) -> Self {
        Self { columns, fit, first: Vec::new(), enough, layout: None }
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
        let layout = Layout::new(self.columns, &first, usize::from(width()), self.fit);
        write(&layout.head())?;
        first.iter().try_for_each(|row| write(&layout.line(row)))?;
        self.layout = Some(layout);
        Ok(())
    }

    /// Writes the rest of the table.
    pub(crate) fn finish(mut self, write: Write<'_>) -> Result<(), Failure> {
        if !self.first.is_empty() {
            self.begin(write)?;
        }
        self.layout.map_or(Ok(()), |layout| write(&layout.left_out()))
    }
}

/// The columns that are shown, with their widths.
struct Layout<'h> {
    shown: Vec<Shown<'h>>,
    left_out: Vec<&'h str>,
    /// The width of the terminal.
    width: usize,
    /// True if right-to-left texts are isolated, so that they do not affect the order of the text around them.
    isolates: bool,
}

struct Shown<'h> {
    column: Column<'h>,
    /// The index of the column in a row.
    place: usize,
    width: usize,
}

impl<'h> Layout<'h> {
    fn new(columns: &[Column<'h>], rows: &[Vec<String>], width: usize, fit: Fit) -> Self {
        let isolates = io::stdout().is_terminal();
        let mut layout = Self { shown: Vec::new(), left_out: Vec::new(), width, isolates };
        let mut wanted = Vec::new();
        let mut room = width;
        let least_of_text = match fit {
            Fit::LeaveOut => LEAST,
            Fit::ShowAll => LEAST_OF_ALL,
        };
        for (place, column) in columns.iter().enumerate() {
            let content = rows.iter().filter_map(|row| row.get(place)).map(|text| text.width());
            let content = content.max().unwrap_or_default();
            let widest = content.max(column.heading.width());
            let least = match (column.yields, fit) {
                (true, _) => widest.min(least_of_text),
                (false, Fit::LeaveOut) => widest,
                // The heading of a column can be cut, but numbers cannot.
                (false, Fit::ShowAll) => content.max(widest.min(least_of_text)),
            };
            let gap = if layout.shown.is_empty() { 0 } else { GAP };
            match room.checked_sub(least.saturating_add(gap)) {
                None if fit == Fit::LeaveOut && !layout.shown.is_empty() => {
                    layout.left_out.push(column.heading);
                }
                rest => {
                    room = rest.unwrap_or(0);
                    wanted.push(widest);
                    layout.shown.push(Shown { column: *column, place, width: least });
                }
            }
        }
        // The remaining space is given to the columns that need more space, always to the narrowest of them.
        while room > 0 {
            let hungry =
                layout.shown.iter_mut().zip(&wanted).filter(|(shown, wanted)| shown.width < **wanted);
            let Some((narrowest, _)) = hungry.min_by_key(|(shown, _)| shown.width) else { break };
            narrowest.width = narrowest.width.saturating_add(1);
            room = room.saturating_sub(1);
        }
        layout
    }

    /// Returns the headings, underlined.
    fn head(&self) -> String {
        let headings: Vec<String> =
            self.shown.iter().map(|shown| cut(shown.column.heading, shown.width)).collect();
        let widths = self.shown.iter().map(|shown| shown.width);
        let gaps = self.shown.len().saturating_sub(1).saturating_mul(GAP);
        let rule = "─".repeat(widths.sum::<usize>().saturating_add(gaps));
        format!("{}{rule}\n", self.cells(headings.iter().map(String::as_str)))
    }

    /// Returns a row, with its line end.
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

    /// Returns a line that names the columns that were left out. Empty if all columns are shown.
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

/// Cuts the end of a text, so that the text fits this width.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (front, _) = split_at_width(text, width.saturating_sub(CUT.width()));
    format!("{}{CUT}", front.trim_end())
}

/// Returns true if a text contains characters of a right-to-left writing system.
fn runs_leftwards(text: &str) -> bool {
    let is_leftward = |c: char| {
        matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    };
    text.contains(is_leftward)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column<'_>; 4] =
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
        let layout = Layout::new(&COLUMNS, &rows, width, Fit::LeaveOut);
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
    fn a_table_of_chosen_columns_shows_all_of_them() {
        let rows = rows();
        for width in [20, 30, 60, 80] {
            let layout = Layout::new(&COLUMNS, &rows, width, Fit::ShowAll);
            let head = layout.head();
            let line = layout.line(&rows[0]);
            assert!(head.starts_with("id    sta"), "{head}");
            assert!(head.contains("amo") && layout.left_out().is_empty());
            assert!(line.contains(" 12.50  Zoë"), "{line}");
            assert!(line.trim_end().width() <= width.max(24), "{line}");
        }
    }

    #[test]
    fn rows_that_arrive_one_by_one_make_the_same_table() {
        const STATIC: &[Column<'_>] = &COLUMNS;
        for enough in [1, 2, 5] {
            let mut text = String::new();
            let mut write = |more: &str| {
                text.push_str(more);
                Ok(())
            };
            let mut table = TableWriter::new(STATIC, enough, Fit::LeaveOut);
            rows().into_iter().for_each(|row| table.push(row, &mut write).unwrap());
            table.finish(&mut write).unwrap();
            assert_eq!(text.lines().count(), 4, "{text}");
            if enough > 1 {
                assert_eq!(text.trim_end(), render(STATIC, &rows(), Fit::LeaveOut));
            }
        }
    }
}
