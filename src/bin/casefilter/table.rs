//! Tables for people.

use std::io;
use std::time::Duration;

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Row, Table, TableStyle, Width,
};

use crate::escape::escape;

/// The width where there is no terminal to ask.
const WIDTH: u16 = 120;

/// A line under the headings, and space between the columns.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// How far columns stand apart: one space of padding, and one where other styles draw a line.
const GAP: u16 = 2;

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
/// Columns at the end are left out when the terminal cannot hold them; a last line says which.
pub(crate) fn render(columns: &[Column], rows: &[Vec<String>]) -> String {
    render_lines(columns, rows, 1)
}

/// As [`render`], with at most so many lines for a row.
pub(crate) fn render_lines(columns: &[Column], rows: &[Vec<String>], lines: usize) -> String {
    let all = columns;
    let columns = fitting(all, rows, width());
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_truncation_indicator("…")
        .set_width(width())
        .set_header(columns.iter().map(|column| column.heading));
    for row in rows {
        let mut cells = Row::from(row.iter().take(columns.len()).map(|text| Cell::new(escape(text))));
        cells.max_height(lines);
        table.add_row(cells);
    }
    for (column, cells) in columns.iter().zip(table.column_iter_mut()) {
        cells.set_padding((0, GAP.saturating_sub(1)));
        if column.right {
            cells.set_cell_alignment(CellAlignment::Right);
        }
        cells.set_constraint(if column.yields {
            ColumnConstraint::LowerBoundary(Width::Fixed(LEAST))
        } else {
            ColumnConstraint::ContentWidth
        });
    }
    let mut text = table.trim_fmt();
    let left_out: Vec<&str> = all.iter().skip(columns.len()).map(|column| column.heading).collect();
    if !left_out.is_empty() {
        text.push_str(&format!("\n(a wider terminal shows {} too)", left_out.join(", ")));
    }
    text
}

/// The narrowest that a column which yields becomes.
const LEAST: u16 = 10;

/// The columns from the front that a terminal of that width can hold.
fn fitting<'c>(columns: &'c [Column], rows: &[Vec<String>], width: u16) -> &'c [Column] {
    let mut room = usize::from(width);
    let mut held = 0_usize;
    for (place, column) in columns.iter().enumerate() {
        let content = rows.iter().filter_map(|row| row.get(place)).map(|text| escape(text).chars().count());
        let widest = content.chain([column.heading.len()]).max().unwrap_or_default();
        let least = if column.yields { widest.min(usize::from(LEAST)) } else { widest };
        match room.checked_sub(least.saturating_add(usize::from(GAP))) {
            Some(rest) => room = rest,
            None => break,
        }
        held = held.saturating_add(1);
    }
    columns.get(..held.max(1)).unwrap_or(columns)
}

/// The width of the terminal on standard output.
pub(crate) fn width() -> u16 {
    terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(width, _)| width.0.max(20))
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
