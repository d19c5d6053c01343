//! What people write when they mean one of our operators.

use crate::error::quote;

/// The operator probably meant by `written`, ready for a message.
///
/// The spellings are those of MongoDB, SQL, and the usual programming languages.
pub(crate) fn suggest_operator(written: &str) -> Option<String> {
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
