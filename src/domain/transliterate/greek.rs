//! Transliterates Greek letters by ELOT 743.

use unicode_normalization::UnicodeNormalization;

use super::letters::{plain, small};

/// Transliterates the first letter or digraph of a Greek text. Also returns the number of characters that were read.
pub(super) fn greek(before: Option<char>, rest: &[char]) -> (String, usize) {
    let at = |at: usize| rest.get(at).and_then(|c| base(*c));
    let Some(first) = at(0) else {
        return (rest.first().map_or(String::new(), |c| plain(*c, small(*c))), 1);
    };
    // Two letters are not a digraph if the second letter has a diaeresis, or if only the first letter has an accent.
    let second = match (rest.first(), rest.get(1)) {
        (Some(one), Some(two)) if is_accented(*one) && !is_accented(*two) || has_diaeresis(*two) => None,
        _ => at(1),
    };
    let starts_word = !before.is_some_and(char::is_alphabetic);
    let two = |latin: &str| (latin.to_owned(), 2);
    match (first, second) {
        ('ο', Some('υ')) => return two("ou"),
        ('α' | 'ε' | 'η', Some('υ')) => {
            let vowel = match first {
                'α' => "a",
                'ε' => "e",
                _ => "i",
            };
            let is_voiced = at(2).is_some_and(|c| "αεηιουωβγδζλμνρ".contains(c));
            return two(&format!("{vowel}{}", if is_voiced { "v" } else { "f" }));
        }
        ('γ', Some('γ')) => return two("ng"),
        ('γ', Some('ξ')) => return two("nx"),
        ('γ', Some('χ')) => return two("nch"),
        ('μ', Some('π')) if starts_word || at(2).is_none() => return two("b"),
        _ => {}
    }
    let latin = match first {
        'α' => "a",
        'β' => "v",
        'γ' => "g",
        'δ' => "d",
        'ε' => "e",
        'ζ' => "z",
        'η' | 'ι' => "i",
        'θ' => "th",
        'κ' => "k",
        'λ' => "l",
        'μ' => "m",
        'ν' => "n",
        'ξ' => "x",
        'ο' | 'ω' => "o",
        'π' => "p",
        'ρ' => "r",
        'σ' | 'ς' => "s",
        'τ' => "t",
        'υ' => "y",
        'φ' => "f",
        'χ' => "ch",
        'ψ' => "ps",
        other => return (plain(other, other), 1),
    };
    (latin.to_owned(), 1)
}

/// Returns a Greek letter in lower case without diacritics. Returns `None` for other characters.
fn base(c: char) -> Option<char> {
    std::iter::once(small(c)).nfd().next().filter(|c| ('α'..='ω').contains(c))
}

fn has_diaeresis(c: char) -> bool {
    std::iter::once(c).nfd().any(|mark| mark == '\u{308}')
}

fn is_accented(c: char) -> bool {
    std::iter::once(c).nfd().any(|mark| matches!(mark, '\u{300}' | '\u{301}' | '\u{342}'))
}
