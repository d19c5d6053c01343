//! Suggests the correct key for an unknown key of a JSON body.

use crate::error::nearest;

/// Returns the known key that the client probably meant by `written`.
pub(super) fn suggest_key<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    if let Some(near) = nearest(written, known.iter().copied()) {
        return Some(near);
    }
    let meant: &[&str] = match written.to_ascii_lowercase().replace(['_', '-'], "").as_str() {
        "operator" | "operation" | "comparator" | "cmp" | "connective" | "logic" => &["op"],
        "name" | "fieldname" | "path" | "key" | "property" | "attribute" | "column" => &["field"],
        "val" | "operands" | "operand" | "args" => &["values"],
        "criteria" | "criterion" | "filter" | "filters" | "conditions" | "rules" | "clauses" | "where"
        | "query" => &["criteria", "children"],
        "caseids" | "caseid" => &["ids"],
        _ => &[],
    };
    known.iter().find(|key| meant.contains(*key)).copied()
}
