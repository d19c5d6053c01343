//! Lexical rules of the text syntax: the words that need no quotes.
//!
//! A word of a new operator must be reserved here if it could be an unquoted value; `operator/tests.rs` checks this.

/// Returns true if the text syntax needs no quotes around `word`.
///
/// Such a word consists of letters and digits of any script and of `_ . @ : + - $ / #`, and is not a word of the syntax itself.
pub(crate) fn is_bare_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_bare_char) && !is_reserved_word(word)
}

/// Returns true if an unquoted word of the text syntax may contain the character.
pub(crate) fn is_bare_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | ':' | '+' | '-' | '$' | '/' | '#')
}

/// Returns true for a keyword of the text syntax; upper and lower case are equal.
pub(crate) fn is_reserved_word(word: &str) -> bool {
    ["and", "or", "in", "all", "not", "true", "false", "ids"]
        .iter()
        .any(|reserved| reserved.eq_ignore_ascii_case(word))
}
