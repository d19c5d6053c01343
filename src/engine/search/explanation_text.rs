//! Prints an explanation as text.

use std::fmt;
use std::time::Duration;

use super::explanation::{Analysis, Answered, Batches, Explanation, Node, Page, Total};
use super::strategy::{PageStrategy, TotalStrategy};
use crate::exec::Work;

/// The maximum width of a column, in characters. A longer text in a cell extends beyond its column.
const WIDEST: usize = 72;

impl fmt::Display for Explanation {
    /// Prints a table of the criteria, which are indented by nesting, and then one line for each other part.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Batches { all, ruled_out } = self.batches;
        let expected = match ruled_out {
            0 => "expected".to_owned(),
            _ => format!("expected in {} of {}", grouped(all.saturating_sub(ruled_out)), grouped(all)),
        };
        let headings = ["kept", "alone", &expected, "criterion", "answered by, in how many batches"];
        let mut lines = vec![headings.map(str::to_owned)];
        lines.extend(self.nodes.iter().map(cells));
        let width = |column: usize| {
            let texts = lines.iter().filter_map(|line| line.get(column));
            texts.map(|text| text.chars().count()).filter(|width| *width <= WIDEST).max().unwrap_or(0)
        };
        let (kept_width, alone_width, expected_width, width) = (width(0), width(1), width(2), width(3));
        for [kept, alone, expected, criterion, answered] in &lines {
            let mut text = format!("{expected:>expected_width$}  {criterion:width$}  {answered}");
            if self.analysis.is_some() {
                text = format!("{kept:>kept_width$}  {alone:>alone_width$}  {text}");
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        let cases = counted(self.documents, "case", "cases");
        write!(f, "\nBatches: {}, of {cases}", grouped(all))?;
        match ruled_out {
            0 => writeln!(f, ".")?,
            _ => writeln!(f, "; the index rules out {}.", grouped(ruled_out))?,
        }
        writeln!(f, "{}", self.page)?;
        self.total(f)?;
        match &self.analysis {
            Some(analysis) => {
                if analysis.page_by != self.page.by {
                    let page = Page { by: analysis.page_by, ..self.page.clone() };
                    writeln!(f, "The strategy above found no page, so another strategy was used. {page}")?;
                }
                write!(f, "{analysis}")
            }
            None => Ok(()),
        }
    }
}

impl Explanation {
    fn total(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Total { by, documents: cases, known_batches } = self.total;
        let asked = self.batches.all.saturating_sub(self.batches.ruled_out);
        let known = match known_batches {
            0 => "from the rows".to_owned(),
            _ if known_batches == asked => "from the indexes".to_owned(),
            _ => {
                let batches = counted(asked, "batch", "batches");
                format!("in {} of {batches} from the indexes", grouped(known_batches))
            }
        };
        match by {
            TotalStrategy::NotRequested => writeln!(f, "Total: not requested."),
            TotalStrategy::Index => {
                let cases = grouped(cases.unwrap_or_default());
                writeln!(f, "Total: {cases}, from the index.")
            }
            TotalStrategy::Ranges => {
                writeln!(f, "Total: counted separately from the page, by binary searches in sorted rows.")
            }
            TotalStrategy::Scan => writeln!(f, "Total: counted separately from the page, {known}."),
            TotalStrategy::PartlyIndexed => {
                writeln!(f, "Total: the index lists some cases, and the others are counted.")
            }
            TotalStrategy::WithPage => writeln!(f, "Total: counted along with the page, {known}."),
        }
    }
}

/// Returns the cells of the table row for a criterion.
fn cells(node: &Node) -> [String; 5] {
    let Node { depth, test, answered, expected, exact, kept, time, .. } = node;
    let answered: Vec<String> = answered.iter().map(ToString::to_string).collect();
    let about = if *exact { "" } else { "~" };
    [
        kept.map(grouped).unwrap_or_default(),
        time.map(duration).unwrap_or_default(),
        format!("{about}{}", grouped(*expected)),
        format!("{:1$}{test}", "", depth.saturating_mul(2)),
        answered.join(", "),
    ]
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settles = match self.settles {
            Some(true) => " (every row)",
            Some(false) => " (no row)",
            None => "",
        };
        write!(f, "{}{settles} {}", self.by.name(), grouped(self.batches))
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let page = format!("Page: {} from {}", counted(self.limit, "case", "cases"), grouped(self.offset));
        let order = self.order.as_deref().unwrap_or("insertion order");
        match self.by {
            PageStrategy::Empty => return write!(f, "Page: not requested."),
            PageStrategy::KeyIndex => {
                return write!(f, "{page} by {order}, from the list of the key index.");
            }
            PageStrategy::InsertionOrder => write!(f, "{page} in stored order, batch by batch")?,
            PageStrategy::TopRows => {
                return write!(
                    f,
                    "{page} by {order}, from the top rows of all batches; stops when the page is full."
                );
            }
            PageStrategy::KeyByKey => {
                return write!(f, "{page} by {order}, one field at a time; stops when the page is full.");
            }
            PageStrategy::Seek | PageStrategy::Estimated | PageStrategy::Sorted => {
                write!(f, "{page} by {order}; batches by their first value")?;
                match self.by {
                    PageStrategy::Seek => f.write_str(", from a key shortly before the offset")?,
                    PageStrategy::Estimated => {
                        f.write_str(", each up to the estimated last key of the page")?;
                    }
                    _ => {}
                }
                let ways = [
                    (self.by_sorted_rows, "read in the order of sorted rows"),
                    (self.by_strings, "read string by string"),
                    (self.by_gathering, "collected and sorted"),
                ];
                for (batches, way) in ways.into_iter().filter(|(batches, _)| *batches > 0) {
                    write!(f, ", {} {way}", grouped(batches))?;
                }
            }
        }
        f.write_str(if self.stops_early {
            "; stops when the page is full."
        } else {
            "; every batch, for the total."
        })
    }
}

impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { selected, on_page, work, phases, page_by: _ } = self;
        writeln!(f, "Result: {} selected, {} on the page.", grouped(*selected), grouped(*on_page))?;
        writeln!(f, "Done: {work}.")?;
        let phases: Vec<String> =
            phases.iter().map(|phase| format!("{} {}", phase.name, duration(phase.time))).collect();
        writeln!(f, "Time: {}.", phases.join(", "))
    }
}

impl fmt::Display for Work {
    /// Prints each count of the work that is not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.batches, "batch planned", "batches planned"),
            (self.counts_known, "count known", "counts known"),
            (self.evaluations, "evaluation", "evaluations"),
            (self.rows_evaluated, "row evaluated", "rows evaluated"),
            (self.strings_tested, "string tested", "strings tested"),
            (self.rows_ranked, "top row evaluated", "top rows evaluated"),
            (self.passed_over, "batch skipped", "batches skipped"),
            (self.walked_sorted, "read in the order of sorted rows", "read in the order of sorted rows"),
            (self.walked_strings, "read string by string", "read string by string"),
            (self.gathered, "collected", "collected"),
            (self.rows_asked, "single row evaluated", "single rows evaluated"),
        ];
        let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
        let done: Vec<String> = parts.map(|(number, one, many)| counted(number, one, many)).collect();
        if done.is_empty() {
            return f.write_str("no batch was evaluated");
        }
        f.write_str(&done.join(", "))
    }
}

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && digits.len().saturating_sub(place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with its noun, in the singular or plural.
fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Formats a duration in a readable unit.
fn duration(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        _ if us < 10.0 => format!("{us:.2} µs"),
        _ if us < 1e3 => format!("{us:.0} µs"),
        _ if us < 1e4 => format!("{:.2} ms", us / 1e3),
        _ if us < 1e6 => format!("{:.0} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}
