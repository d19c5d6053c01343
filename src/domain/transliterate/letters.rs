//! Single letters, whatever their script.

use any_ascii::any_ascii_char;

/// Whether a character is one of those that texts have as the apostrophe.
pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '`' | '\u{b4}' | '\u{2bc}' | '\u{2018}' | '\u{2019}' | '\u{2032}')
}

/// What any_ascii makes of a character, in small letters, without marks that stand for sounds.
pub(super) fn plain(c: char, small: char) -> String {
    if c.is_ascii() {
        return small.to_string();
    }
    // Apostrophes in the text are kept as such; those that stand for a letter are not.
    let latin = any_ascii_char(small);
    match c.is_alphabetic() && !matches!(c, '\u{2b9}'..='\u{2bf}') {
        true => latin.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect(),
        // Pictures, which have names in colons there, have no letters.
        false if latin.len() > 1 && latin.starts_with(':') => String::new(),
        false => latin.to_owned(),
    }
}

/// The small form of a letter; itself where that is not one character.
pub(super) fn small(c: char) -> char {
    let mut small = c.to_lowercase();
    match (small.next(), small.next()) {
        // The capital İ has a small form with a dot of its own.
        (Some(small), None | Some('\u{307}')) => small,
        _ => c,
    }
}
