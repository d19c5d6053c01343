//! What people write when they mean one of our operators or keys.

use crate::error::{nearest, quote};

/// What a field holds, as far as advice depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holds {
    /// Any number of values a document.
    pub(crate) is_list: bool,
    /// Numbers.
    pub(crate) is_number: bool,
}

/// Tells what the field of a name holds; `None` when there is no such field.
pub(crate) type Fields<'c> = &'c dyn Fn(&str) -> Option<Holds>;

/// Knows no field.
pub(super) const NO_FIELDS: Fields<'static> = &|_| None;

/// Said to those who look for a part of a string.
pub(super) const NO_SEARCH_INSIDE: &str =
    "strings are compared whole, and there is no search inside a string";
/// Said to those who ask whether there is a value.
pub(super) const NO_ABSENCE: &str = "a test for absence is not in the language";

/// What can be said about an operator that is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// The operator that means the same, or words for what does.
    Write(String),
    /// Nothing does, and why.
    Cannot(&'static str),
    Nothing,
}

/// The advice for `written` on a field.
///
/// A suggestion is only made if it means what was written, given that `written` means what it does in MongoDB, SQL and the usual
/// programming languages: `contains` on a string is a search inside it, on a list it is a membership.
pub(super) fn advise(written: &str, holds: Option<Holds>) -> Advice {
    let lower = written.trim().to_ascii_lowercase();
    let name = lower.trim_start_matches('$');
    let behind_is = name.strip_prefix("is").unwrap_or(name);
    let behind_not = behind_is.strip_prefix("not").unwrap_or(behind_is);
    if is_no_value(behind_not) || behind_not == "exists" {
        return Advice::Cannot(NO_ABSENCE);
    }
    if let Some(positive) = name.strip_prefix("not").filter(|positive| !positive.is_empty())
        && let cannot @ Advice::Cannot(_) = advise(positive, holds)
    {
        return cannot;
    }
    let meant = match name {
        // Our own, in other capitals.
        "contains" if lower.starts_with('$') => "$contains",
        "==" | "===" | "=" | "eq" | "equals" | "equal" | "is" | ":" => "=",
        "!=" | "!==" | "<>" | "ne" | "neq" | "not" | "≠" | "isnot" | "notequal" | "notequals" => "<>",
        "gt" | ">" | "after" => ">",
        "gte" | "ge" | "=>" | ">=" | "≥" | "from" => ">=",
        "lt" | "<" | "before" => "<",
        "lte" | "le" | "=<" | "<=" | "≤" => "<=",
        "in" | "any" | "anyof" | "any_of" => "$contains",
        "contains" | "contain" | "includes" | "has" | "contians" => match holds {
            Some(Holds { is_list: true, .. }) => "$contains",
            Some(_) => return Advice::Cannot(NO_SEARCH_INSIDE),
            None => return Advice::Nothing,
        },
        "notcontains" | "notincludes" | "nothas" => match holds {
            Some(Holds { is_list: true, .. }) => "<>",
            Some(_) => return Advice::Cannot(NO_SEARCH_INSIDE),
            None => return Advice::Nothing,
        },
        "all" | "containsall" | "allof" | "all_of" | "hasall" => match holds {
            Some(Holds { is_list: false, .. }) => return Advice::Nothing,
            _ => "$all",
        },
        "and" | "&&" | "&" => "$and",
        "or" | "||" | "|" => "$or",
        "nin" | "notin" | "not_in" => {
            return Advice::Write("one `<>` for each value, joined by `$and`".to_owned());
        }
        "nor" => return Advice::Write("`<>` criteria joined by `$and`".to_owned()),
        "between" if holds.is_none_or(|holds| !holds.is_list) => {
            return Advice::Write("`>=` and `<=` joined by `$and`".to_owned());
        }
        "like" | "ilike" | "rlike" | "~" | "~*" | "~=" | "=~" | "!~" | "!~*" | "~~" | "matches" | "match"
        | "regex" | "regexp" | "startswith" | "starts_with" | "beginswith" | "begins_with" | "endswith"
        | "ends_with" | "istartswith" | "iendswith" | "icontains" | "glob" | "text" | "search" | "fuzzy"
        | "similar" | "substring" | "containstext" => {
            return Advice::Cannot(NO_SEARCH_INSIDE);
        }
        "isset" | "present" | "ispresent" | "exist" => return Advice::Cannot(NO_ABSENCE),
        _ => return Advice::Nothing,
    };
    Advice::Write(quote(meant))
}

/// Whether a word stands for no value behind `is`, in any language.
pub(super) fn is_no_value(word: &str) -> bool {
    ["null", "none", "nil", "undefined", "empty", "missing", "absent", "blank", "unset"]
        .iter()
        .any(|other| other.eq_ignore_ascii_case(word))
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
