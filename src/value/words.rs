//! Lexical rules of the text syntax: which words need no quotes.
//!
//! The words `and`, `or`, `not`, `in`, `all`, `true`, `false` and `ids` are reserved. `operator/tests.rs` checks that `and`, `or`,
//! `in` and `all` are reserved. All other words of operators, such as `contains` and `includes`, are read as operators only
//! directly after a field.

/// Returns true if the text syntax needs no quotes around `word`.
///
/// Such a word consists of letters and digits of any writing system and of `_ . @ : + - $ / #`. It is not a keyword of the text
/// syntax. It has at least one letter or digit. Without this rule, `-` would need no quotes as a value. But directly after an
/// operator such as `matches`, the parser takes `-` for a part of the operator.
pub(crate) fn is_bare_word(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric) && word.chars().all(is_bare_char) && !is_reserved_word(word)
}

/// Returns true if `c` may occur in an unquoted word of the text syntax.
pub(crate) fn is_bare_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | ':' | '+' | '-' | '$' | '/' | '#')
}

/// Returns true for a keyword of the text syntax, in upper or lower case.
pub(crate) fn is_reserved_word(word: &str) -> bool {
    ["and", "or", "in", "all", "not", "true", "false", "ids"]
        .iter()
        .any(|reserved| reserved.eq_ignore_ascii_case(word))
}

/// Returns true for a keyword that is a value only in quotes. `true` and `false`, in upper or lower case, are values without quotes.
pub(crate) fn is_reserved_value(word: &str) -> bool {
    is_reserved_word(word) && !["true", "false"].iter().any(|truth| truth.eq_ignore_ascii_case(word))
}
