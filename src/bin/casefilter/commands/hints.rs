//! Prints warnings and hints on standard error: possible mistakes in a filter or in cases.

use std::collections::BTreeSet;

use casefilter::{DocumentNote, DocumentNoteKind, ImportReport, SearchRequest};
use serde_json::Value;

use crate::input::loaded::LoadedCases;
use crate::output::escape::escape;
use crate::output::failure::note;
use crate::output::figures::counted;

/// The maximum number of notes of an import that are printed. The report contains up to 256 notes.
const MOST_NOTES: usize = 20;

/// Prints the warnings of a filter.
pub(crate) fn warn(request: &SearchRequest) {
    if !request.filter.is_all() {
        for warning in request.filter.warnings() {
            note(format!("warning: {}\n", escape(&warning.to_string())));
        }
    }
}

/// Prints the notes of the import about the fields of a filter, and hints about the filter. If the filter selects no case, the
/// hints are possible reasons. If it selects a case, the hints name members of the cases in a database that are not fields, but
/// look like a field of the filter. `is_none` returns true if the filter selects no case.
pub(crate) fn hint(
    cases: &LoadedCases,
    request: &SearchRequest,
    report: &ImportReport,
    is_none: impl FnOnce() -> bool,
) {
    print_hints(report, request, &hints_on(cases, request, is_none));
}

/// Returns the hints that [`hint`] prints. Returns no hints if there are no cases, or if the filter selects every possible case.
pub(crate) fn hints_on(
    cases: &LoadedCases,
    request: &SearchRequest,
    is_none: impl FnOnce() -> bool,
) -> Vec<String> {
    if request.filter.is_all() || cases.len() == 0 {
        return Vec::new();
    }
    let hints = if is_none() { cases.hints(request) } else { cases.unknown_members(&request.filter) };
    // The answer is complete without hints, so an error that occurs here is ignored.
    hints.unwrap_or_default()
}

/// Prints the hints that [`hints_on`] returned, and the notes of the import about the fields of the request.
pub(crate) fn print_hints(report: &ImportReport, request: &SearchRequest, hints: &[String]) {
    print_notes_on(report, request);
    for text in hints {
        note(format!("hint: {}\n", escape(text)));
    }
}

/// Prints the notes of an import. A note is not an error.
pub(crate) fn print_notes(report: &ImportReport) {
    for told in report.notes.iter().take(MOST_NOTES) {
        note(format!("warning: {}\n", escape(&told.to_string())));
    }
    let more = report.notes.len().saturating_sub(MOST_NOTES) as u64;
    if more > 0 {
        note(format!("warning: … and {} of other fields\n", counted(more, "note")));
    }
}

/// Prints the same notes as [`print_notes`], but only those about the fields of a request. Notes about timestamps without a zone
/// are left out, because they are common.
fn print_notes_on(report: &ImportReport, request: &SearchRequest) {
    if report.notes.is_empty() {
        return;
    }
    let mut fields = BTreeSet::new();
    if let Ok(body) = serde_json::from_str(&request.filter.to_json()) {
        fields_in(body, &mut fields);
    }
    let is_about = |told: &&DocumentNote| match told.kind {
        DocumentNoteKind::MissingTimeZone => false,
        DocumentNoteKind::UnknownMember => told.similar_fields.iter().any(|field| fields.contains(field)),
        _ => fields.contains(&told.path),
    };
    for told in report.notes.iter().filter(is_about).take(MOST_NOTES) {
        note(format!("hint: {}\n", escape(&told.to_string())));
    }
}

/// Collects the names of the fields that a body uses.
fn fields_in(body: Value, fields: &mut BTreeSet<String>) {
    let mut open = vec![body];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(values) => open.extend(values),
            Value::Object(members) => {
                for (key, value) in members {
                    match value {
                        Value::String(name) if key == "field" => {
                            fields.insert(name);
                        }
                        Value::Array(_) if key != "values" && key != "ids" => open.push(value),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}
