//! Prints the ids in a filter that do not belong to any case.

use std::collections::HashSet;

use casefilter::{Filter, FilterBuilder, SearchRequest};
use serde::Deserialize;

use crate::input::loaded::LoadedCases;
use crate::output::escape::escape;
use crate::output::failure::{Failure, note};
use crate::output::figures::{counted, thousands};

/// The maximum number of ids that are printed. If there are more ids, the number of further ids is printed after them.
const LISTED: usize = 5;

/// The maximum length of a printed id, in characters. A longer id is cut, and ends with `…`.
const SHOWN_CHARS: usize = 64;

/// Prints on standard error the ids in a filter that do not belong to any case.
pub(crate) fn note_unknown(cases: &LoadedCases, filter: &Filter) -> Result<(), Failure> {
    let named = sought(filter);
    let unknown = unknown(cases, &named)?;
    note_some(named.len(), &unknown);
    Ok(())
}

/// Returns the distinct ids by which a filter selects cases.
pub(crate) fn sought(filter: &Filter) -> Vec<String> {
    if filter.is_all() { Vec::new() } else { named(&filter.to_json(), filter.catalog().id_name()) }
}

/// Prints on standard error the ids in a filter that do not belong to any case, if there are any. `named` is the number of ids in
/// the filter.
pub(crate) fn note_some(named: usize, unknown: &[&str]) {
    if !unknown.is_empty() {
        note(message(named, unknown));
    }
}

fn message(named: usize, unknown: &[&str]) -> String {
    let clipped = |id: &&str| {
        let end = id.char_indices().nth(SHOWN_CHARS).map(|(at, _)| at);
        let mark = if end.is_some() { "…" } else { "" };
        format!("{}{mark}", escape(id.get(..end.unwrap_or(id.len())).unwrap_or_default()))
    };
    let listed: Vec<String> = unknown.iter().take(LISTED).map(clipped).collect();
    let more = unknown.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {} more", thousands(more as u64)) } else { String::new() };
    let are = if unknown.len() == 1 { "is" } else { "are" };
    let ids = counted(named as u64, "id");
    format!(
        "{} of {ids} in the filter {are} not in the data: {}{more}\n",
        thousands(unknown.len() as u64),
        listed.join(", ")
    )
}

/// Returns the ids that do not belong to any case.
fn unknown<'i>(cases: &LoadedCases, named: &'i [String]) -> Result<Vec<&'i str>, Failure> {
    let mut unknown = Vec::new();
    // A body can contain only a limited number of ids, so they are looked up in several searches.
    for some in named.chunks(casefilter::Limits::default().ids) {
        let body = serde_json::json!({ "ids": some }).to_string();
        let limits = casefilter::Limits::default().with_body_bytes(usize::MAX).with_string_bytes(usize::MAX);
        let Ok(filter) =
            FilterBuilder::new(cases.catalog()).with_limits(limits.clone()).json(body.as_bytes())
        else {
            continue;
        };
        let mut known = HashSet::new();
        cases.each_id(&SearchRequest::new(filter).with_limit(u64::MAX), |id| {
            known.insert(id.to_owned());
            Ok(())
        })?;
        unknown.extend(some.iter().map(String::as_str).filter(|id| !known.contains(*id)));
    }
    Ok(unknown)
}

/// A filter in its normal form.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    ids: Option<Vec<String>>,
    criteria: Option<Vec<Criterion>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Criterion {
    field: String,
    op: String,
    values: Vec<String>,
    children: Vec<Criterion>,
}

/// Returns the distinct ids by which a filter selects cases, in the order of the filter. `id` is the field of the id.
fn named(json: &str, id: &str) -> Vec<String> {
    let Ok(body) = serde_json::from_str::<Body>(json) else { return Vec::new() };
    let mut named = body.ids.unwrap_or_default();
    let mut open = body.criteria.unwrap_or_default();
    open.reverse();
    while let Some(criterion) = open.pop() {
        if criterion.field == id && matches!(criterion.op.as_str(), "=" | "$contains") {
            named.extend(criterion.values);
        }
        open.extend(criterion.children.into_iter().rev());
    }
    let mut seen = HashSet::new();
    named.retain(|id| seen.insert(id.clone()));
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use casefilter::Catalog;

    #[test]
    fn ids_that_select_are_named_and_others_are_not() {
        let of = |text: &str| {
            let mut named = named(&Filter::compile_text(&Catalog::cases(), text).unwrap().to_json(), "id");
            named.sort();
            named
        };
        assert_eq!(of("id in (b, a, a) or (id = c and status = open)"), ["a", "b", "c"]);
        assert_eq!(of("id <> a and name = b"), [""; 0]);
        let body = br#"{"ids":["y","x","y"],"criteria":[{"field":"id","op":"=","values":["z"]}]}"#;
        let filter = Filter::compile(&Catalog::cases(), body).unwrap();
        let mut named = named(&filter.to_json(), "id");
        named.sort();
        assert_eq!(named, ["x", "y", "z"]);
    }

    #[test]
    fn the_message_is_bounded() {
        let long = "x".repeat(1000);
        let unknown = ["a\u{1b}", "b", "c", "d", long.as_str(), "f", "g"];
        let text = message(1202, &unknown);
        assert!(text.starts_with("7 of 1,202 ids in the filter are not in the data: a\\u{1b}, b, c, d, xxx"));
        assert!(text.ends_with("x… and 2 more\n") && text.len() < 200, "{text}");
        assert_eq!(message(1, &["a"]), "1 of 1 id in the filter is not in the data: a\n");
    }
}
