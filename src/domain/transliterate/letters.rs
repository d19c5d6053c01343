//! Transliterates and classifies single letters of any script.

use any_ascii::any_ascii_char;

/// Returns true if a character can be used as an apostrophe.
pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '`' | '\u{b4}' | '\u{2bc}' | '\u{2018}' | '\u{2019}' | '\u{2032}')
}

/// Romanises a character with the crate `any_ascii`. For a letter, the result has only lower-case letters and digits. It omits the
/// apostrophes and other marks that the crate writes for some sounds.
pub(super) fn plain(c: char, small: char) -> String {
    if c.is_ascii() {
        return small.to_string();
    }
    // Apostrophes in the text are kept. Apostrophes that any_ascii writes for a letter are removed.
    let latin = any_ascii_char(small);
    match c.is_alphabetic() && !matches!(c, '\u{2b9}'..='\u{2bf}') {
        true => latin.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect(),
        // For pictures, any_ascii returns a name between colons. A picture has no letters, so it is left out.
        false if latin.len() > 1 && latin.starts_with(':') => String::new(),
        false => latin.to_owned(),
    }
}

/// Returns the lower-case form of a character. Returns the character itself if that form has more than one character.
pub(super) fn small(c: char) -> char {
    let mut small = c.to_lowercase();
    match (small.next(), small.next()) {
        // The lower-case form of the capital İ is an i and a separate dot. The dot is dropped.
        (Some(small), None | Some('\u{307}')) => small,
        _ => c,
    }
}
