//! Formats the error of an import that rejects a case or a record, prints what a lenient import left out, and writes reports.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use casefilter::{ErrorKind, ImportError, ImportMode, ImportReport, StoreError};

use crate::output::escape::escape;
use crate::output::failure::{Failure, failed, note};
use crate::output::figures::{counted, thousands};
use crate::output::file::replace;
use crate::output::status::Status;

/// The maximum number of errors that are printed on a terminal. If standard error is not a terminal, all errors of the report are
/// printed.
pub(crate) const LISTED: usize = 20;

/// The kind of data that is imported, and the mode of the import.
#[cfg_attr(
    not(feature = "service"),
    expect(dead_code, reason = "a build without the service sends no import to a service")
)]
#[derive(Clone, Copy)]
pub(crate) enum Importing {
    Cases(ImportMode),
    Records(ImportMode),
}

#[cfg_attr(
    not(feature = "service"),
    expect(dead_code, reason = "a build without the service sends no import to a service")
)]
impl Importing {
    /// Returns the failure for data that was rejected.
    pub(crate) fn refused(self, refusal: &ImportError) -> Failure {
        match self {
            Self::Cases(mode) => case_refused(refusal, mode),
            Self::Records(mode) => record_refused(refusal, mode),
        }
    }

    /// Returns the failure for an error that occurred while records were imported into a database.
    pub(crate) fn failed(self, error: &StoreError) -> Failure {
        error.import_error().map_or_else(|| failed(error), |refusal| self.refused(refusal))
    }
}

/// Returns the failure for a case that was rejected.
pub(crate) fn case_refused(refusal: &ImportError, mode: ImportMode) -> Failure {
    let is_parquet =
        Path::new(&refusal.source).extension().is_some_and(|name| name.eq_ignore_ascii_case("parquet"));
    let advice = match mode {
        _ if refusal.error.kind == ErrorKind::BadFile && !is_parquet => "",
        _ if refusal.line == 0 || refusal.error.kind == ErrorKind::BadFile => {
            "; a .parquet file must be complete, and its columns must have the types of their fields; \
             with --lenient, columns that match no field may have any type, and are listed"
        }
        ImportMode::Lenient => "; after this place it is unknown where a case begins",
        _ => "; with --lenient such cases are left out, or kept without the field, and listed",
    };
    Failure::Refused(format!("{}\nnothing was read{advice}", line_of(refusal)))
}

/// Returns the failure for a record that was rejected.
fn record_refused(refusal: &ImportError, mode: ImportMode) -> Failure {
    let advice = match mode {
        ImportMode::Lenient => "after this place it is unknown where a record begins",
        _ => "with --lenient such records are left out, or kept without the malformed part, and listed",
    };
    Failure::Refused(format!("{}\nnothing was stored; {advice}", line_of(refusal)))
}

/// Returns an import error as one line: file, line, path, what was found and what was expected.
pub(crate) fn line_of(refusal: &ImportError) -> String {
    let ImportError { source, line, error, .. } = refusal;
    let path = if error.path.is_empty() { String::new() } else { format!("{}: ", error.path) };
    let line = if *line == 0 { String::new() } else { format!("{line}:") };
    escape(&format!("{source}:{line} {path}{} [{}]", error.message(), error.kind.code())).into_owned()
}

/// Writes the report of an import to a file, as JSON.
pub(crate) fn write_report(path: &Path, report: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_vec_pretty(report).map_err(|error| Failure::Failed(error.to_string()))?;
    text.push(b'\n');
    replace(path, &mut |mut file| file.write_all(&text))
}

/// Groups errors of the same kind. The groups are in the order of their first error. Returns the first error of each group, and the
/// number of further errors in the group.
fn grouped(refusals: &[ImportError]) -> Vec<(&ImportError, u64)> {
    let mut groups: Vec<(&ImportError, u64)> = Vec::new();
    let mut places: HashMap<(&str, ErrorKind, bool, String), usize> = HashMap::new();
    for refusal in refusals {
        // Errors in different elements of the same array are of the same kind.
        let mut path = String::new();
        for (number, part) in refusal.error.path.split('[').enumerate() {
            path.push_str(if number == 0 {
                part
            } else {
                part.split_once(']').map_or(part, |(_, rest)| rest)
            });
        }
        let key = (refusal.source.as_str(), refusal.error.kind, refusal.kept, path);
        // An error of a complete file is a separate group.
        let place = if refusal.line == 0 { groups.len() } else { *places.entry(key).or_insert(groups.len()) };
        match groups.get_mut(place) {
            Some((_, more)) => *more = more.saturating_add(1),
            None => groups.push((refusal, 0)),
        }
    }
    groups
}

/// Returns text such as ` (and 50 more like it)`. Empty if `count` is zero.
fn and_more(count: u64) -> String {
    if count == 0 { String::new() } else { format!(" (and {} more like it)", thousands(count)) }
}

/// Prints on standard error what a lenient import left out, with one line for all errors of the same kind. Returns the exit status.
///
/// On a terminal, it prints only the first 20 lines.
pub(crate) fn report_left_out(report: &ImportReport) -> Status {
    if report.skipped == 0 && report.incomplete == 0 && report.errors.is_empty() {
        return Status::Fine;
    }
    let mut text = format!(
        "{} left out, {} kept without malformed fields\n",
        counted(report.skipped, "case"),
        counted(report.incomplete, "case")
    );
    let listed = if io::stderr().is_terminal() { LISTED } else { usize::MAX };
    let groups = grouped(&report.errors);
    for (refusal, more) in groups.iter().take(listed) {
        let what = match refusal.kept {
            // The column is named by an alias of a field, so this field is not searched. The documents contain the values of the
            // column.
            true if refusal.line == 0 && refusal.error.kind == ErrorKind::UnknownField => {
                "column not searched"
            }
            true if refusal.line == 0 => "column left out",
            true => "kept",
            false => "left out",
        };
        text.push_str(&format!("  {what}: {}{}\n", line_of(refusal), and_more(*more)));
    }
    let untold =
        groups.iter().skip(listed).map(|(_, more)| more.saturating_add(1)).fold(0, u64::saturating_add);
    let more = untold.saturating_add(report.unlisted);
    if more > 0 {
        let hint = if listed == LISTED { "; 2> FILE writes more of them" } else { "" };
        text.push_str(&format!("  … and {} more{hint}\n", thousands(more)));
    }
    note(text);
    Status::LeftOut
}
