//! Draws bars and columns for terminals, in Unicode blocks or in ASCII.

use crate::output::wrap::width;

/// The number of lines of a column chart.
const LINES: u64 = 5;

/// The characters of charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// Eighths of blocks.
    Unicode,
    Ascii,
}

impl Blocks {
    /// Returns the characters that the terminal can show, according to the environment. The terminal `dumb` gets ASCII. So does a
    /// locale without UTF-8, except on Windows.
    pub(crate) fn of_terminal() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if variable("TERM").is_some_and(|terminal| terminal == "dumb") {
            return Self::Ascii;
        }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
        let is_utf8 = locale.is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        if cfg!(windows) || is_utf8 { Self::Unicode } else { Self::Ascii }
    }

    /// Returns a bar of `count / most * room` characters. A count above 0 has a visible bar.
    pub(crate) fn bar(self, count: u64, most: u64, room: usize) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        if count == 0 || most == 0 {
            return String::new();
        }
        match self {
            Self::Unicode => {
                let eighths = part(count, most, room.saturating_mul(8)).max(1);
                let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
                format!("{}{rest}", "█".repeat(eighths / 8))
            }
            Self::Ascii => "#".repeat(part(count, most, room).max(1)),
        }
    }

    /// Returns the lines of a chart with one column for each count. Each column has a width of `wide` characters.
    fn columns(self, counts: &[u64], wide: usize) -> Vec<String> {
        const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let most = counts.iter().copied().max().unwrap_or_default();
        let steps = match self {
            Self::Unicode => 8_u64,
            Self::Ascii => 1,
        };
        let height = |count: u64| {
            let steps = usize::try_from(LINES.saturating_mul(steps)).unwrap_or(usize::MAX);
            let height = if most == 0 { 0 } else { part(count, most, steps) };
            u64::try_from(if count > 0 { height.max(1) } else { 0 }).unwrap_or_default()
        };
        let line = |below: u64| {
            let mut line = String::new();
            for count in counts {
                let filled = height(*count).saturating_sub(below.saturating_mul(steps)).min(steps);
                let block = match self {
                    Self::Unicode => {
                        usize::try_from(filled).ok().and_then(|filled| EIGHTHS.get(filled)).copied()
                    }
                    Self::Ascii => (filled > 0).then_some('#'),
                };
                // A gap separates wide columns.
                let own = if wide > 2 { wide.saturating_sub(1) } else { wide };
                line.extend(std::iter::repeat_n(block.unwrap_or(' '), own));
                line.extend(std::iter::repeat_n(' ', wide.saturating_sub(own)));
            }
            line.trim_end().to_owned()
        };
        (0..LINES).rev().map(line).collect()
    }
}

/// Returns `count / most * room`, rounded.
fn part(count: u64, most: u64, room: usize) -> usize {
    let scaled = u128::from(count).saturating_mul(room as u128).saturating_add(u128::from(most / 2));
    usize::try_from(scaled.checked_div(u128::from(most)).unwrap_or_default()).unwrap_or(usize::MAX).min(room)
}

/// A row of a list with bars.
pub(crate) struct Bar {
    pub(crate) label: String,
    /// The count, formatted for people.
    pub(crate) shown: String,
    pub(crate) count: u64,
}

/// The maximum width of a bar, in characters.
const LONGEST_BAR: usize = 40;

/// The minimum width to which labels are cut, in characters. If the terminal is wide enough, the bars have at least the same width.
const LEAST: usize = 8;

/// Returns the lines of a list: label, count and bar, aligned. Labels are cut if the terminal is too narrow.
pub(crate) fn bars(rows: &[Bar], blocks: Blocks) -> String {
    use unicode_width::UnicodeWidthStr;

    let most = rows.iter().map(|row| row.count).max().unwrap_or_default();
    let count_width = rows.iter().map(|row| row.shown.width()).max().unwrap_or_default();
    let widest = rows.iter().map(|row| row.label.width()).max().unwrap_or_default();
    let gaps = 6;
    let room = usize::from(width()).saturating_sub(count_width).saturating_sub(gaps);
    let label_width = widest.min(room.saturating_sub(LEAST).max(LEAST));
    let bar_width = room.saturating_sub(label_width).clamp(1, LONGEST_BAR);
    let mut text = String::new();
    for row in rows {
        let label = crate::output::table::cut(&row.label, label_width);
        let space = " ".repeat(label_width.saturating_sub(label.width()));
        let before = " ".repeat(count_width.saturating_sub(row.shown.width()));
        let bar = blocks.bar(row.count, most, bar_width);
        let line = format!("  {label}{space}  {before}{}  {bar}", row.shown);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns a chart with one column for each bucket, or for several buckets if the terminal is narrow. `labels` are the labels of
/// the first and the last bucket. Also returns the number of buckets per column.
pub(crate) fn columns(counts: &[u64], labels: (&str, &str), blocks: Blocks) -> (String, usize) {
    use unicode_width::UnicodeWidthStr;

    /// The maximum width of a column, in characters.
    const WIDEST: usize = 4;
    let room = usize::from(width()).saturating_sub(16).max(10);
    let merged = counts.len().div_ceil(room).max(1);
    let counts: Vec<u64> =
        counts.chunks(merged).map(|some| some.iter().copied().fold(0, u64::saturating_add)).collect();
    let wide = room.checked_div(counts.len()).unwrap_or(1).clamp(1, WIDEST);
    let most = crate::output::figures::thousands(counts.iter().copied().max().unwrap_or_default());
    let (edge, corner, floor) = match blocks {
        Blocks::Unicode => ('│', '└', '─'),
        Blocks::Ascii => ('|', '+', '-'),
    };
    let margin = most.width().saturating_add(2);
    let mut text = String::new();
    for (number, line) in blocks.columns(&counts, wide).iter().enumerate() {
        let label = if number == 0 { most.as_str() } else { "" };
        text.push_str(format!("{label:>margin$} {edge}{line}").trim_end());
        text.push('\n');
    }
    let all = counts.len().saturating_mul(wide);
    text.push_str(&format!("{:>margin$} {corner}{}\n", "0", floor.to_string().repeat(all)));
    let (first, last) = labels;
    let gap = all.saturating_sub(first.width()).saturating_sub(last.width()).max(1);
    let last = if counts.len() > 1 { format!("{}{last}", " ".repeat(gap)) } else { String::new() };
    text.push_str(&format!("{:>margin$}  {first}{last}\n", ""));
    (text, merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_invisible() {
        let bar = |count| Blocks::Unicode.bar(count, 100, 10);
        assert_eq!([bar(0), bar(1), bar(50), bar(55), bar(100)], ["", "▏", "█████", "█████▌", "██████████"]);
        let bar = |count| Blocks::Ascii.bar(count, 100, 10);
        assert_eq!([bar(0), bar(1), bar(54), bar(100)], ["", "#", "#####", "##########"]);
        assert_eq!(Blocks::Unicode.bar(u64::MAX, u64::MAX, 3), "███");
    }

    #[test]
    fn columns_are_in_proportion_and_never_invisible() {
        assert_eq!(Blocks::Unicode.columns(&[0, 1, 40, 20], 1), ["  █", "  █", "  █▄", "  ██", " ▁██"]);
        assert_eq!(Blocks::Ascii.columns(&[0, 1, 40, 20], 1), ["  #", "  #", "  ##", "  ##", " ###"]);
        assert_eq!(Blocks::Ascii.columns(&[1, 1], 3), ["## ##", "## ##", "## ##", "## ##", "## ##"]);
    }
}
