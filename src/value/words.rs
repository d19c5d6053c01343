//! Lexical rules of the text syntax: which words need no quotes.
//!
//! If a new operator has a word that could also be an unquoted value, reserve the word here. `operator/tests.rs` checks this.

/// Returns true if the text syntax needs no quotes around `word`.
///
/// Such a word consists of letters and digits of any writing system and of `_ . @ : + - $ / #`. It is not a keyword of the text
/// syntax.
pub(crate) fn is_bare_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_bare_char) && !is_reserved_word(word)
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
