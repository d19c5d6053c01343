//! Suggestions for misspelt operators and keys.

use crate::error::{nearest, quote};
use crate::operator::{Connective, Operator, Syntax};

/// The properties of a field that advice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holds {
    /// Any number of values a document.
    pub(crate) is_list: bool,
    /// Numbers.
    pub(crate) is_number: bool,
}

/// Looks a field up by its name; `None` when there is no such field.
pub(crate) type Fields<'c> = &'c dyn Fn(&str) -> Option<Holds>;

/// Finds no field: for a caller who has no use for suggestions.
pub(crate) const NO_FIELDS: Fields<'static> = &|_| None;

/// The note for operators that look for a part of a string.
pub(super) const NO_SEARCH_INSIDE: &str =
    "strings are compared whole, and there is no search inside a string";
/// The note for operators that ask whether there is a value.
pub(super) const NO_ABSENCE: &str = "a test for absence is not in the language";

/// A suggestion for an unknown operator.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// The operator that means the same.
    Operator(Operator),
    /// The connective that means the same.
    Connective(Connective),
    /// Criteria that mean the same when joined by `$and`.
    Joined(&'static str),
    /// No criterion means the same, and why.
    Cannot(&'static str),
    Nothing,
}

impl Advice {
    /// Returns the suggestion as a syntax spells it; `None` when nothing means the same.
    pub(super) fn meant(&self, syntax: Syntax) -> Option<String> {
        match self {
            Self::Operator(operator) => Some(quote(operator.spelled(syntax))),
            Self::Connective(connective) => Some(quote(connective.spelled(syntax))),
            Self::Joined(criteria) => {
                Some(format!("{criteria} joined by {}", quote(Connective::And.spelled(syntax))))
            }
            Self::Cannot(_) | Self::Nothing => None,
        }
    }
}

/// Returns the operators to write instead of `=` with several values.
pub(super) fn for_several(holds: Option<Holds>, syntax: Syntax) -> String {
    let any = quote(Operator::Contains.spelled(syntax));
    match holds {
        Some(Holds { is_list: true, .. }) => {
            format!("{any} for any of them, or {} for all of them", quote(Operator::All.spelled(syntax)))
        }
        _ => any,
    }
}

/// Returns the advice for an unknown operator on a field.
///
/// It suggests only what means the same, given that `written` means what it does in MongoDB, SQL and the usual
/// programming languages: `contains` on a string is a search inside it, on a list it is a membership.
pub(super) fn advise(written: &str, holds: Option<Holds>) -> Advice {
    let lower = written.trim().to_ascii_lowercase();
    let name = lower.trim_start_matches('$');
    let after_is = name.strip_prefix("is").unwrap_or(name);
    let after_not = after_is.strip_prefix("not").unwrap_or(after_is);
    if is_no_value(after_not) || after_not == "exists" {
        return Advice::Cannot(NO_ABSENCE);
    }
    if let Some(positive) = name.strip_prefix("not").filter(|positive| !positive.is_empty())
        && let cannot @ Advice::Cannot(_) = advise(positive, holds)
    {
        return cannot;
    }
    if let Some(operator) = Operator::meant_by(name) {
        return Advice::Operator(operator);
    }
    // As in `is like`, `is not in` and `has substring`.
    let after_verb = name.strip_prefix("is").or_else(|| name.strip_prefix("has"));
    if let Some(rest) = after_verb.filter(|rest| !rest.is_empty()) {
        match advise(rest, holds) {
            Advice::Nothing => {}
            meant => return meant,
        }
    }
    let of_list = |operator| match holds {
        Some(Holds { is_list: true, .. }) => Advice::Operator(operator),
        Some(_) => Advice::Cannot(NO_SEARCH_INSIDE),
        None => Advice::Nothing,
    };
    match name {
        // An operator of ours in other capitals.
        "contains" if lower.starts_with('$') => Advice::Operator(Operator::Contains),
        "contains" | "contain" | "includes" | "has" | "contians" => of_list(Operator::Contains),
        "notcontains" | "notincludes" | "nothas" => of_list(Operator::NotEqual),
        "all" | "containsall" | "allof" | "all_of" | "hasall" => match holds {
            Some(Holds { is_list: false, .. }) => Advice::Nothing,
            _ => Advice::Operator(Operator::All),
        },
        "and" | "&&" | "&" => Advice::Connective(Connective::And),
        "or" | "||" | "|" => Advice::Connective(Connective::Or),
        "nin" | "notin" | "not_in" => Advice::Joined("one `<>` for each value,"),
        "nor" => Advice::Joined("`<>` criteria"),
        "between" if holds.is_none_or(|holds| !holds.is_list) => Advice::Joined("`>=` and `<=`"),
        "like" | "ilike" | "rlike" | "~" | "~*" | "~=" | "=~" | "!~" | "!~*" | "~~" | "matches" | "match"
        | "regex" | "regexp" | "startswith" | "starts_with" | "beginswith" | "begins_with" | "endswith"
        | "ends_with" | "istartswith" | "iendswith" | "icontains" | "glob" | "text" | "search" | "fuzzy"
        | "similar" | "substring" | "containstext" => Advice::Cannot(NO_SEARCH_INSIDE),
        "isset" | "present" | "ispresent" | "exist" => Advice::Cannot(NO_ABSENCE),
        _ => Advice::Nothing,
    }
}

/// True when a word after `is` stands for no value, in any language.
pub(super) fn is_no_value(word: &str) -> bool {
    ["null", "none", "nil", "undefined", "empty", "missing", "absent", "blank", "unset"]
        .iter()
        .any(|other| other.eq_ignore_ascii_case(word))
}

/// Returns the one of the `known` keys that is probably meant by `written`.
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
