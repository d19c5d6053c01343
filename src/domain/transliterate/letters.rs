//! Single letters of any script.

use any_ascii::any_ascii_char;

/// Returns true if a character is used as an apostrophe.
pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '`' | '\u{b4}' | '\u{2bc}' | '\u{2018}' | '\u{2019}' | '\u{2032}')
}

/// Returns the romanisation of any_ascii in lower case, without its marks for sounds.
pub(super) fn plain(c: char, small: char) -> String {
    if c.is_ascii() {
        return small.to_string();
    }
    // Apostrophes of the text are kept. Apostrophes that any_ascii writes for a letter are not.
    let latin = any_ascii_char(small);
    match c.is_alphabetic() && !matches!(c, '\u{2b9}'..='\u{2bf}') {
        true => latin.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect(),
        // any_ascii has names in colons for pictures, which have no letters.
        false if latin.len() > 1 && latin.starts_with(':') => String::new(),
        false => latin.to_owned(),
    }
}

/// Returns the lower-case form of a letter, or the letter itself if that form has more than one character.
pub(super) fn small(c: char) -> char {
    let mut small = c.to_lowercase();
    match (small.next(), small.next()) {
        // The small form of the capital İ has a separate dot.
        (Some(small), None | Some('\u{307}')) => small,
        _ => c,
    }
}
