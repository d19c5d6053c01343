//! Prints counts for people, and as CSV.

use casefilter::{Catalog, FieldType, Timestamp};
use chrono::{DateTime, FixedOffset, Utc};

use crate::commands::stats::answer::{Answer, Bucket, Facet};
use crate::output::charts::{Bar, Blocks, bars, columns};
use crate::output::delimited::{Delimited, Kind};
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::figures::{counted, thousands};
use crate::output::stdout::Output;
use crate::output::wrap::wrapped;

/// The maximum number of time intervals that are listed, one per line. If there are more intervals, all of them are drawn as
/// columns.
const MOST_LISTED: usize = 16;

/// Prints the counts as bars and columns. Buckets of time are labelled in local time at `offset`.
pub(super) fn write_table(
    answer: &Answer,
    catalog: &Catalog,
    offset: FixedOffset,
    out: &mut Output,
) -> Result<(), Failure> {
    let blocks = Blocks::of_terminal();
    for facet in &answer.facets {
        let is_time = catalog
            .find(&facet.field)
            .and_then(|id| catalog.get(id))
            .is_some_and(|field| field.field_type() == FieldType::Timestamp);
        out.escaped_lines(&format!("{}\n", escape(&facet.field)))?;
        match &facet.buckets {
            Some(buckets) if is_time && buckets.len() > MOST_LISTED => {
                write_columns(facet, buckets, offset, blocks, out)?;
            }
            _ => out.escaped_lines(&bars(&rows(facet, is_time.then_some(offset)), blocks))?,
        }
        if facet.with_own_criteria {
            let note = "  (some criteria of this field are kept, because they also name other fields)";
            out.escaped_lines(&format!("{}\n", wrapped(note, 2)))?;
        }
        out.line("")?;
    }
    out.line(&format!("{} selected", counted(answer.total, "case")))
}

fn write_columns(
    facet: &Facet,
    buckets: &[Bucket],
    offset: FixedOffset,
    blocks: Blocks,
    out: &mut Output,
) -> Result<(), Failure> {
    let labels = quarters(buckets, offset).unwrap_or_else(|| {
        shortened(buckets.iter().map(|bucket| of_time(&bucket.from().unwrap_or_default(), offset)).collect())
    });
    let counts: Vec<u64> = buckets.iter().map(|bucket| bucket.count).collect();
    let (first, last) = (labels.first().map_or("", String::as_str), labels.last().map_or("", String::as_str));
    let (chart, merged) = columns(&counts, (first, last), blocks);
    out.escaped_lines(&chart)?;
    let most = counts.iter().zip(&labels).rev().max_by_key(|(count, _)| **count);
    if let Some((count, label)) = most {
        let several = if merged > 1 { format!("; each column is {merged} of them") } else { String::new() };
        let line = format!(
            "  {} from {first} to {last}, most in {label}: {}{several}",
            counted(buckets.len() as u64, "interval"),
            thousands(*count)
        );
        out.escaped_lines(&format!("{}\n", wrapped(&line, 2)))?;
    }
    out.line(&format!("  (absent): {}", thousands(facet.absent)))
}

/// Returns the rows of a list. The rows of absent and other values are at the end. `offset` is set if the values are times.
fn rows(facet: &Facet, offset: Option<FixedOffset>) -> Vec<Bar> {
    let bar = |label: String, count: u64| Bar { label, shown: thousands(count), count };
    let mut rows = Vec::new();
    if let Some(stats) = &facet.stats {
        let shown = |name: &str, shown: String| Bar { label: name.to_owned(), shown, count: 0 };
        rows.push(shown("count", thousands(stats.count)));
        rows.extend(stats.named().into_iter().map(|(name, value)| shown(name, escape(&value).into_owned())));
        rows.push(shown("(absent)", thousands(facet.absent)));
        return rows;
    }
    for value in facet.values.iter().flatten() {
        let text = value.text();
        let label = if text.is_empty() { "(empty text)".to_owned() } else { escape(&text).into_owned() };
        rows.push(bar(label, value.count));
    }
    if let Some(buckets) = &facet.buckets {
        let labels = offset.and_then(|offset| quarters(buckets, offset));
        let edges = buckets.iter().map(|bucket| match (bucket.from(), bucket.to(), offset) {
            (Some(from), _, Some(offset)) => of_time(&from, offset),
            (Some(from), Some(to), None) => format!("{from} to {to}"),
            (Some(from), None, None) => format!("{from} and more"),
            (None, to, _) => format!("below {}", to.unwrap_or_default()),
        });
        let labels = labels.unwrap_or_else(|| {
            let labels = edges.collect();
            if offset.is_some() { shortened(labels) } else { labels }
        });
        rows.extend(labels.into_iter().zip(buckets).map(|(label, bucket)| bar(label, bucket.count)));
    }
    if facet.other_values > 0 {
        let label = format!("({})", counted(facet.other_values, "other value"));
        // A bar for many values together would make the bars of single values too short.
        rows.push(Bar { label, shown: thousands(facet.other_count), count: 0 });
    }
    rows.push(bar("(absent)".to_owned(), facet.absent));
    rows
}

/// Returns a time in the form `yyyy-MM-dd HH:mm:ss`, at an offset from UTC.
fn of_time(text: &str, offset: FixedOffset) -> String {
    match Timestamp::parse(text) {
        Ok(instant) => match DateTime::<Utc>::from_timestamp_millis(instant.as_millis()) {
            Some(time) => time.with_timezone(&offset).format("%Y-%m-%d %H:%M:%S").to_string(),
            None => text.to_owned(),
        },
        Err(_) => text.to_owned(),
    }
}

/// Returns the names of quarters, such as `2025-Q1`. Returns `None` if the buckets are other intervals.
fn quarters(buckets: &[Bucket], offset: FixedOffset) -> Option<Vec<String>> {
    let start = |edge: Option<String>| {
        let time = of_time(&edge?, offset);
        let (date, clock) = time.split_once(' ')?;
        let (year, month) = date.strip_suffix("-01")?.rsplit_once('-')?;
        let number =
            [("01", 1), ("04", 2), ("07", 3), ("10", 4)].iter().find(|(first, _)| *first == month)?.1;
        (clock == "00:00:00").then(|| (year.to_owned(), number))
    };
    let quarter = |bucket: &Bucket| {
        let (year, number) = start(bucket.from())?;
        let (_, next) = start(bucket.to())?;
        matches!((number, next), (1, 2) | (2, 3) | (3, 4) | (4, 1)).then(|| format!("{year}-Q{number}"))
    };
    buckets.iter().map(quarter).collect()
}

/// Removes the end that all times have in common: the time of day 00:00:00, or the seconds 00. If the time of day was removed, also
/// removes the day 01, and then the month 01.
fn shortened(times: Vec<String>) -> Vec<String> {
    let end = [" 00:00:00", ":00", "-01", "-01"];
    let mut times = times;
    for (number, part) in end.into_iter().enumerate() {
        let is_common = times.iter().all(|time| time.ends_with(part));
        // Parts of a date are removed only if the time of day has been removed.
        let is_date = times.iter().all(|time| !time.contains(' '));
        if is_common && (number < 2 || is_date) && (number != 1 || !is_date) {
            for time in &mut times {
                time.truncate(time.len().saturating_sub(part.len()));
            }
        }
    }
    times
}

/// Prints the counts as CSV.
pub(super) fn write_csv(answer: &Answer, out: &mut Output) -> Result<(), Failure> {
    let mut writer = Delimited::new(Kind::Csv, false);
    writer.record(["field", "kind", "value", "from", "to", "count"], out)?;
    let total = answer.total.to_string();
    writer.record(["", "total", "", "", "", &total], out)?;
    for facet in &answer.facets {
        let mut row = |kind: &str, value: &str, from: &str, to: &str, count: Option<u64>| {
            let count = count.map(|count| count.to_string()).unwrap_or_default();
            writer.record([facet.field.as_str(), kind, value, from, to, &count], out)
        };
        for value in facet.values.iter().flatten() {
            row("value", &value.text(), "", "", Some(value.count))?;
        }
        if facet.values.is_some() {
            row("other", &facet.other_values.to_string(), "", "", Some(facet.other_count))?;
        }
        for bucket in facet.buckets.iter().flatten() {
            let (from, to) = (bucket.from().unwrap_or_default(), bucket.to().unwrap_or_default());
            row("bucket", "", &from, &to, Some(bucket.count))?;
        }
        if let Some(stats) = &facet.stats {
            row("count", "", "", "", Some(stats.count))?;
            for (name, value) in stats.named() {
                row(name, &value, "", "", None)?;
            }
        }
        row("absent", "", "", "", Some(facet.absent))?;
    }
    writer.flush(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lose_what_they_have_in_common() {
        let short = |times: &[&str]| shortened(times.iter().map(|&time| time.to_owned()).collect());
        assert_eq!(short(&["2025-01-01 00:00:00", "2026-01-01 00:00:00"]), ["2025", "2026"]);
        assert_eq!(short(&["2025-01-01 00:00:00", "2025-02-01 00:00:00"]), ["2025-01", "2025-02"]);
        assert_eq!(short(&["2025-01-01 00:00:00", "2025-01-02 00:00:00"]), ["2025-01-01", "2025-01-02"]);
        assert_eq!(
            short(&["2025-01-01 00:00:00", "2025-01-01 01:00:00"]),
            ["2025-01-01 00:00", "2025-01-01 01:00"]
        );
        assert_eq!(short(&["2025-01-01 05:30:15"]), ["2025-01-01 05:30:15"]);
    }
}
