//! What people write when they mean one of our operators or keys.

use crate::error::{nearest, quote};

/// The operator probably meant by `written`, ready for a message.
///
/// The spellings are those of MongoDB, SQL, and the usual programming languages.
pub(super) fn suggest_operator(written: &str) -> Option<String> {
    let lower = written.trim().to_ascii_lowercase();
    let meant = match lower.trim_start_matches('$') {
        "==" | "===" | "=" | "eq" | "equals" | "equal" | "is" | ":" => "=",
        "!=" | "!==" | "<>" | "ne" | "neq" | "not" | "~=" | "≠" | "isnot" | "notequal" => "<>",
        "gt" | ">" | "after" => ">",
        "gte" | "ge" | "=>" | ">=" | "≥" | "from" => ">=",
        "lt" | "<" | "before" => "<",
        "lte" | "le" | "=<" | "<=" | "≤" | "to" => "<=",
        "in" | "contains" | "contain" | "any" | "anyof" | "any_of" | "includes" | "has" | "contians" => {
            "$contains"
        }
        "all" | "containsall" | "allof" | "all_of" | "hasall" => "$all",
        "and" | "&&" | "&" => "$and",
        "or" | "||" | "|" => "$or",
        "nin" | "notin" | "not_in" => return Some("one `<>` for each value, joined by `$and`".to_owned()),
        "nor" => return Some("`<>` criteria joined by `$and`".to_owned()),
        "between" => return Some("`>=` and `<=` joined by `$and`".to_owned()),
        _ => return None,
    };
    Some(quote(meant))
}

/// The one of the `known` keys probably meant by `written`.
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
