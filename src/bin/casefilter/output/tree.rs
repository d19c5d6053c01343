//! Formats trees of criteria for the width of the terminal, with one criterion per row.

use crate::output::escape::escape;
use crate::output::wrap::wrapped_to;

/// The indentation of the second and later lines of a row, relative to its text.
const HANGING: usize = 2;

/// The minimum width for the text of a row. If the indentation would leave less space, the row is indented less.
const LEAST_TEXT: usize = 24;

/// The indentation of the second and later lines of a sentence.
const HANGING_TEXT: usize = 4;

/// The minimum width for the text beside the columns of numbers in an explanation. If there is less space, the heading of these
/// columns is shortened.
const AMPLE_TEXT: usize = 48;

/// Formats the display form of [`Why`](casefilter::reference::Why) for a terminal of `width` characters. The text says which
/// criteria are true for one case.
pub(crate) fn why_rows(text: &str, width: usize) -> String {
    let lines = text.lines().map(|line| {
        let line = escape(line);
        match split_at_char(&line, 2) {
            (mark @ ("✓ " | "✗ "), criterion) => row(mark, criterion, width),
            _ => wrapped_to(&line, HANGING_TEXT, width),
        }
    });
    lines.map(|line| line + "\n").collect()
}

/// Formats the display form of [`Explanation`](casefilter::explain::Explanation) for a terminal of `width` characters. The text
/// says how a request is executed. It consists of a table with one row for each criterion, an empty line, and sentences.
pub(crate) fn explanation(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.lines().map(|line| escape(line).into_owned()).collect();
    let end = lines.iter().position(String::is_empty).unwrap_or(0);
    let (table, sentences) = lines.split_at_checked(end).unwrap_or_default();
    let table = match figures_width(table) {
        Some(figures) if figures.saturating_add(AMPLE_TEXT) > width => with_short_heading(table),
        _ => table.to_vec(),
    };
    let figures = figures_width(&table).unwrap_or(0);
    let rows = table.iter().map(|line| {
        let (front, criterion) = split_at_char(line, figures);
        row(front, criterion, width)
    });
    let sentences = sentences.iter().map(|line| wrapped_to(line, HANGING_TEXT, width));
    rows.chain(sentences).map(|line| line + "\n").collect()
}

/// Formats one row in lines of at most `width` characters. The row consists of `front` and then the text, whose indentation shows
/// its depth. The second and later lines are indented so that they start below the text.
fn row(front: &str, text: &str, width: usize) -> String {
    let front_width = front.chars().count();
    let Some(most_indent) = width.checked_sub(front_width.saturating_add(LEAST_TEXT)) else {
        return wrapped_to(&format!("{front}{text}"), HANGING_TEXT, width);
    };
    let own = text.trim_start();
    let indent = text.len().saturating_sub(own.len()).min(most_indent);
    let start = front_width.saturating_add(indent);
    let wrapped = wrapped_to(own, HANGING, width.saturating_sub(start));
    let further = format!("\n{}", " ".repeat(start));
    format!("{front}{}{}", " ".repeat(indent), wrapped.replace('\n', &further))
}

/// Returns the total width of the columns of numbers before the criteria: the position of `criterion` in the heading.
fn figures_width(table: &[String]) -> Option<usize> {
    table.first()?.find("criterion")
}

/// Shortens the heading `expected in 3 of 16` to `expected`, and narrows its column. A sentence below the table contains the
/// numbers.
fn with_short_heading(table: &[String]) -> Vec<String> {
    const SHORT: &str = "expected";
    let cut = || {
        let heading = table.first()?;
        let start = heading.find(SHORT)?;
        let long = heading.get(start..)?.split("  ").next()?.len();
        let spaces = |line: &String| line.chars().skip(start).take_while(|c| *c == ' ').count();
        let spare = table.iter().skip(1).map(spaces).min()?;
        let fewer = long.saturating_sub(SHORT.len()).min(spare);
        let short = format!("{SHORT:>0$}", long.saturating_sub(fewer));
        let rows = table.iter().enumerate().map(|(number, line)| {
            let (front, rest) = split_at_char(line, start);
            if number == 0 {
                format!("{front}{short}{}", rest.get(long..).unwrap_or_default())
            } else {
                format!("{front}{}", rest.get(fewer..).unwrap_or_default())
            }
        });
        Some(rows.collect())
    };
    cut().unwrap_or_else(|| table.to_vec())
}

/// Splits a text before the character with this index, counted from 0.
fn split_at_char(text: &str, number: usize) -> (&str, &str) {
    text.split_at(text.char_indices().nth(number).map_or(text.len(), |(at, _)| at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    const WHY: &str = "\
✓ all of                                                   criteria
✓   createdAt < \"2024-01-01 00:00:00\"   \"2023-01-03 00:00:37\"   criteria[0]
✗     tags in \"vip\", \"cash\", \"crypto\", \"manual\", \"a tag\"   \"wire\", \"cash deposit\"   criteria[1].children[0]
counted as absent: applicantInfo.dob: found `x`, expected milliseconds since 1970, as a number or a string
";

    #[test]
    fn further_lines_of_a_criterion_are_indented_below_it() {
        assert_eq!(
            why_rows(WHY, 60),
            "\
✓ all of                                            criteria
✓   createdAt < \"2024-01-01 00:00:00\"
      \"2023-01-03 00:00:37\"   criteria[0]
✗     tags in \"vip\", \"cash\", \"crypto\", \"manual\", \"a tag\"
        \"wire\", \"cash deposit\"   criteria[1].children[0]
counted as absent: applicantInfo.dob: found `x`, expected
    milliseconds since 1970, as a number or a string
"
        );
        assert_eq!(why_rows(WHY, 200), WHY);
    }

    const EXPLANATION: &str = "  kept    alone  expected in 2 of 5  criterion                             answered by, in how many batches
29,413    23 µs             ~34,551  all of                                criteria below 2
99,908  4.54 µs              99,908    createdAt < \"2024-01-01 00:00:00\"   zone map (every row) 1, stored order 1
87,270    67 µs             ~44,491      tags in (cash, crypto, vip)       postings 2

Batches: 5, of 300,000 cases; the index rules out 3.
";

    #[test]
    fn an_explanation_keeps_its_nesting_at_any_width() {
        assert_eq!(explanation(EXPLANATION, 120), EXPLANATION);
        assert_eq!(
            explanation(EXPLANATION, 60),
            "  kept    alone  expected  criterion   answered by, in how
                             many batches
29,413    23 µs   ~34,551  all of           criteria below 2
99,908  4.54 µs    99,908    createdAt < \"2024-01-01
                               00:00:00\"
                               zone map (every row) 1,
                               stored order 1
87,270    67 µs   ~44,491      tags in (cash, crypto, vip)
                                 postings 2

Batches: 5, of 300,000 cases; the index rules out 3.
"
        );
        for width in 20..150 {
            let text = explanation(EXPLANATION, width);
            let wide: Vec<&str> = text.lines().filter(|line| line.width() > width).collect();
            assert_eq!(wide, [""; 0], "{width}");
        }
    }

    #[test]
    fn no_row_is_wider_than_the_terminal_however_deep_it_is() {
        for depth in 0..40 {
            let line = format!(
                "✗ {}tags in \"vip\", \"cash\"   absent   criteria[1].children[0]",
                "  ".repeat(depth)
            );
            for width in 20..150 {
                let text = why_rows(&line, width);
                let wide: Vec<&str> = text.lines().filter(|line| line.width() > width).collect();
                assert_eq!(wide, [""; 0], "{depth} at {width}");
            }
        }
    }
}
