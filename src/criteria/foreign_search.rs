//! Translates searches inside strings from other query languages: finds the equivalent operator for a search such as `like "Gar%"`.

use super::unsupported::Unsupported;
use crate::operator::Operator;
use crate::value::words;

/// A kind of search inside a string. [`meant`](Self::meant) finds the equivalent operator for an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// An operator that takes the operand unchanged.
    Own(Operator),
    /// A search for a substring that ignores case.
    Folded,
    /// A pattern for the whole string, in which `%` or `*` stands for any characters.
    Like { is_folded: bool },
    /// A regular expression for a part of the string.
    Regex { is_folded: bool },
    /// A test of the end of the string.
    Ending,
    /// A search that no operator can express, such as a search for similar words.
    Other,
}

impl Search {
    /// Returns the equivalent operator and its operand.
    ///
    /// # Errors
    /// Returns the unsupported test if no operator is equivalent.
    pub(super) fn meant(self, operand: &str) -> Result<(Operator, &str), Unsupported> {
        match self {
            Self::Own(Operator::Match) if words(operand).is_empty() => Err(Unsupported::Inside),
            Self::Own(_) if operand.is_empty() => Err(Unsupported::Absence),
            Self::Own(operator) => match regex(operand) {
                Some(_) => Self::Regex { is_folded: false }.meant(operand),
                None => Ok((operator, operand)),
            },
            Self::Folded => folded(operand),
            Self::Like { is_folded } => like(operand, is_folded),
            Self::Regex { is_folded } => match regex(operand) {
                Some((body, is_flagged)) => of_regex(body, is_folded || is_flagged),
                None => of_regex(operand, is_folded),
            },
            Self::Ending => Err(Unsupported::Ending),
            Self::Other => Err(Unsupported::Inside),
        }
    }
}

/// Returns true for a pattern that every string matches, such as `*`.
pub(super) fn is_any(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.bytes().all(|byte| matches!(byte, b'*' | b'%'))
}

/// Returns true for a wildcard, a character that stands for other characters in a pattern.
pub(super) fn is_wildcard(c: char) -> bool {
    matches!(c, '*' | '%' | '?')
}

/// Returns the operator for a substring search that ignores case. `$match` searches for words, so it is equivalent only if the
/// operand is a single word.
fn folded(operand: &str) -> Result<(Operator, &str), Unsupported> {
    let is_one = words(operand).len() == 1 && !operand.contains(char::is_whitespace);
    if is_one { Ok((Operator::Match, operand)) } else { Err(Unsupported::Inside) }
}

fn like(operand: &str, is_folded: bool) -> Result<(Operator, &str), Unsupported> {
    if let Some((body, is_flagged)) = regex(operand) {
        return of_regex(body, is_folded || is_flagged);
    }
    let is_run = |c: char| matches!(c, '*' | '%');
    let inner = operand.trim_matches(is_run);
    // `_` stands for one character in SQL.
    let has_others =
        inner.contains(['*', '%', '?', '[', '\\']) || operand.contains('%') && inner.contains('_');
    if inner.is_empty() || has_others {
        return Err(Unsupported::Inside);
    }
    match (operand.starts_with(is_run), operand.ends_with(is_run)) {
        (true, true) if is_folded => folded(inner),
        (true, true) => Ok((Operator::Substring, inner)),
        (false, true) if !is_folded => Ok((Operator::StartsWith, inner)),
        (true, false) => Err(Unsupported::Ending),
        // Without a wildcard, SQL compares the pattern with the whole string, but most people mean a part of the string.
        (false, _) => Err(Unsupported::Inside),
    }
}

/// Returns the body of `/body/flags`, and true if the flags make it ignore case. Returns `None` for another text.
fn regex(operand: &str) -> Option<(&str, bool)> {
    let (body, flags) = operand.strip_prefix('/')?.rsplit_once('/')?;
    let is_regex = !body.is_empty() && flags.chars().all(|flag| matches!(flag, 'g' | 'i' | 'm' | 's' | 'u'));
    is_regex.then(|| (body, flags.contains('i')))
}

fn of_regex(body: &str, is_folded: bool) -> Result<(Operator, &str), Unsupported> {
    let (is_start, rest) = match body.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix(".*").unwrap_or(body)),
    };
    let literal = rest.strip_suffix(".*").unwrap_or(rest);
    if literal.is_empty()
        || literal.contains(['.', '^', '*', '+', '?', '(', ')', '[', ']', '{', '}', '|', '\\'])
    {
        return Err(Unsupported::Inside);
    }
    match literal.strip_suffix('$') {
        Some(_) if !is_start => Err(Unsupported::Ending),
        Some(_) => Err(Unsupported::Inside),
        None if is_start && is_folded => Err(Unsupported::Inside),
        None if is_start => Ok((Operator::StartsWith, literal)),
        None if is_folded => folded(literal),
        None => Ok((Operator::Substring, literal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_becomes_the_operator_with_the_same_meaning() {
        const LIKE: Search = Search::Like { is_folded: false };
        const REGEX: Search = Search::Regex { is_folded: false };
        let found = |operator, text| Ok((operator, text));
        for (search, operand, meant) in [
            (LIKE, "%x y%", found(Operator::Substring, "x y")),
            (LIKE, "*x*", found(Operator::Substring, "x")),
            (LIKE, "x%", found(Operator::StartsWith, "x")),
            (LIKE, "/x/i", found(Operator::Match, "x")),
            (LIKE, "%x", Err(Unsupported::Ending)),
            (LIKE, "x", Err(Unsupported::Inside)),
            (LIKE, "x_y%", Err(Unsupported::Inside)),
            (LIKE, "x_y*", found(Operator::StartsWith, "x_y")),
            (LIKE, "a%b", Err(Unsupported::Inside)),
            (LIKE, "%", Err(Unsupported::Inside)),
            (Search::Like { is_folded: true }, "%x%", found(Operator::Match, "x")),
            (Search::Like { is_folded: true }, "%x y%", Err(Unsupported::Inside)),
            (Search::Like { is_folded: true }, "x%", Err(Unsupported::Inside)),
            (REGEX, "x", found(Operator::Substring, "x")),
            (REGEX, "/x/", found(Operator::Substring, "x")),
            (REGEX, "^x", found(Operator::StartsWith, "x")),
            (REGEX, "^x.*", found(Operator::StartsWith, "x")),
            (REGEX, ".*x.*", found(Operator::Substring, "x")),
            (REGEX, "x$", Err(Unsupported::Ending)),
            (REGEX, "^x$", Err(Unsupported::Inside)),
            (REGEX, "x+", Err(Unsupported::Inside)),
            (Search::Folded, "x", found(Operator::Match, "x")),
            (Search::Folded, "x y", Err(Unsupported::Inside)),
            (Search::Own(Operator::Substring), "x y", found(Operator::Substring, "x y")),
            (Search::Own(Operator::Substring), "", Err(Unsupported::Absence)),
            (Search::Own(Operator::Match), " ", Err(Unsupported::Inside)),
            (Search::Ending, "x", Err(Unsupported::Ending)),
            (Search::Other, "x", Err(Unsupported::Inside)),
        ] {
            assert_eq!(search.meant(operand), meant, "{search:?} {operand}");
        }
        assert!(is_any("*") && is_any("%%") && !is_any("") && !is_any("*x"));
    }
}
