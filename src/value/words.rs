//! Words of the text syntax.

/// True when the text syntax needs no quotes around `word`: letters, digits and `_ . @ : + - $ / #`
/// of ASCII, letters beyond it, and no word of the syntax itself.
pub(crate) fn is_bare_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_bare_char) && !is_reserved_word(word)
}

/// A character that may stand in an unquoted word of the text syntax.
pub(crate) fn is_bare_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | ':' | '+' | '-' | '$' | '/' | '#')
}

/// A word of the text syntax, in any case.
pub(crate) fn is_reserved_word(word: &str) -> bool {
    ["and", "or", "in", "all", "not", "true", "false", "ids"]
        .iter()
        .any(|reserved| reserved.eq_ignore_ascii_case(word))
}
