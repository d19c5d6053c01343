//! Hints on standard error: what the author of a filter or of cases may not have meant.

use std::collections::BTreeSet;

use casefilter::{Note, NoteKind, Report, Request};
use serde_json::Value;

use crate::input::loaded::LoadedCases;
use crate::output::escape::escape;
use crate::output::failure::note;
use crate::output::figures::counted;

/// How many notes of an import are told; its report has all.
const MOST_NOTES: usize = 20;

/// Says what the author of a filter may not have meant.
pub(crate) fn warn(request: &Request) {
    if !request.filter.is_all() {
        for warning in request.filter.warnings() {
            note(format!("warning: {}\n", escape(&warning.to_string())));
        }
    }
}

/// Tells, of a filter that selects no case, in which form cases have what it asks for, and, of any filter, what was noted in reading the
/// fields that it is about.
///
/// `is_none` tells whether it selects no case.
pub(crate) fn hint(cases: &LoadedCases, request: &Request, report: &Report, is_none: impl FnOnce() -> bool) {
    tell_hints(report, request, &hints_on(cases, request, is_none));
}

/// Returns why a filter may select no case, if it selects none of some; and the members of a database's cases that look like its fields.
pub(crate) fn hints_on(
    cases: &LoadedCases,
    request: &Request,
    is_none: impl FnOnce() -> bool,
) -> Vec<String> {
    if request.filter.is_all() || cases.len() == 0 {
        return Vec::new();
    }
    let hints = if is_none() { cases.hints(&request.filter) } else { cases.unknown_members(&request.filter) };
    // The answer is good without them.
    hints.unwrap_or_default()
}

/// Says what [`hints_on`] gave, and what was met in reading the fields of a request.
pub(crate) fn tell_hints(report: &Report, request: &Request, hints: &[String]) {
    tell_notes_on(report, request);
    for text in hints {
        note(format!("hint: {}\n", escape(text)));
    }
}

/// Says what an import met that is no fault.
pub(crate) fn tell_notes(report: &Report) {
    for told in report.notes.iter().take(MOST_NOTES) {
        note(format!("warning: {}\n", escape(&told.to_string())));
    }
    let more = report.notes.len().saturating_sub(MOST_NOTES) as u64;
    if more > 0 {
        note(format!("warning: … and {} of other fields\n", counted(more, "note")));
    }
}

/// As [`tell_notes`], of the fields of a request. That timestamps have no zone is as usual.
fn tell_notes_on(report: &Report, request: &Request) {
    if report.notes.is_empty() {
        return;
    }
    let mut fields = BTreeSet::new();
    if let Ok(body) = serde_json::from_str(&request.filter.to_json()) {
        fields_in(body, &mut fields);
    }
    let is_about = |told: &&Note| match told.kind {
        NoteKind::NoZone => false,
        NoteKind::UnknownMember => told.meant.iter().any(|meant| fields.contains(meant)),
        _ => fields.contains(&told.path),
    };
    for told in report.notes.iter().filter(is_about).take(MOST_NOTES) {
        note(format!("hint: {}\n", escape(&told.to_string())));
    }
}

/// The fields that a body names.
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
