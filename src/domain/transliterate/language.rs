//! Detects the language of Cyrillic text.
//!
//! A text rules out each language whose alphabet or spelling does not permit it. First the text to transliterate is tested, then
//! the other texts of the person. Then the countries of the record are tried in order. The first country whose language is still
//! possible decides. The docs of [`crate::domain`] have a table of languages.

use super::letters::{is_apostrophe, small};

/// A language with its own rules for the transliteration of Cyrillic letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Russian,
    Ukrainian,
    Belarusian,
    Serbian,
    Macedonian,
    Bulgarian,
    Kazakh,
    /// The language of a text that has no Cyrillic letters, or that cannot be written in any of the other languages. The rules for
    /// Russian apply.
    Other,
}

/// The languages in the order in which they are preferred if there is no other evidence.
const ASSUMED: [Language; 7] = {
    use Language::{Belarusian, Bulgarian, Kazakh, Macedonian, Russian, Serbian, Ukrainian};
    [Russian, Ukrainian, Belarusian, Serbian, Macedonian, Bulgarian, Kazakh]
};

const VOWELS: &str = "аеёиоуыэюяіїє";

/// The vowels that cannot follow и in Ukrainian, except in the prefix при. ї and є can always follow it, as in Київ.
const NOT_AFTER_Y: &str = "аеиоуюя";

/// The evidence in a record about the language of a person's names.
#[derive(Debug, Default)]
pub(in crate::domain) struct Evidence {
    /// The texts of the person, such as names, in any script.
    pub(in crate::domain) texts: Vec<String>,
    /// The alpha-3 codes of countries. The strongest evidence comes first.
    pub(in crate::domain) countries: Vec<String>,
}

impl Evidence {
    /// Detects the language of one of the person's texts.
    pub(super) fn language_of(&self, text: &[char]) -> Language {
        let words = words(text);
        if words.is_empty() {
            return Language::Other;
        }
        let mut possible: Vec<Language> = ASSUMED
            .into_iter()
            .filter(|language| words.iter().all(|word| can_write(*language, word)))
            .collect();
        for text in &self.texts {
            let text: Vec<char> = text.chars().collect();
            let words = self::words(&text);
            let fits = |language: &Language| words.iter().all(|word| can_write(*language, word));
            // A text that rules out all remaining languages is ignored, because it is in another language.
            if possible.iter().any(fits) {
                possible.retain(fits);
            }
        }
        let mut suggested = self.countries.iter().filter_map(|country| language_in(country));
        let suggested = suggested.find(|language| possible.contains(language));
        suggested.or(possible.first().copied()).unwrap_or(Language::Other)
    }
}

/// Returns the language of Cyrillic texts in a country. Returns `None` for a country that does not write Cyrillic.
fn language_in(country: &str) -> Option<Language> {
    Some(match country {
        // The countries after Russia have other languages. They use Russia's rules for the letters that their languages share with
        // Russian.
        "RUS" | "KGZ" | "MNG" | "TJK" | "TKM" | "UZB" => Language::Russian,
        "UKR" => Language::Ukrainian,
        "BLR" => Language::Belarusian,
        "SRB" | "MNE" | "BIH" | "RKS" | "XKX" => Language::Serbian,
        "MKD" => Language::Macedonian,
        "BGR" => Language::Bulgarian,
        "KAZ" => Language::Kazakh,
        _ => return None,
    })
}

/// Returns the words of a text that contain Cyrillic letters, in lower case. Apostrophes are part of a word.
fn words(text: &[char]) -> Vec<Vec<char>> {
    let words = text.split(|c| !c.is_alphabetic() && !is_apostrophe(*c));
    let words = words.filter(|word| word.iter().copied().any(is_cyrillic));
    words.map(|word| word.iter().copied().map(small).collect()).collect()
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

/// Returns true if a word follows the alphabet and the spelling rules of a language.
fn can_write(language: Language, word: &[char]) -> bool {
    let letters = alphabet(language);
    let has_letters = word.iter().all(|c| !is_cyrillic(*c) || letters.contains(*c));
    has_letters
        && (0..word.len()).all(|at| allows_letter(language, word, at))
        && allows_ending(language, word)
}

fn alphabet(language: Language) -> &'static str {
    match language {
        Language::Russian => "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
        Language::Ukrainian => "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",
        Language::Belarusian => "абвгґдеёжзійклмнопрстуўфхцчшыьэюя",
        Language::Serbian => "абвгдђежзијклљмнњопрстћуфхцчџш",
        Language::Macedonian => "абвгдѓежзѕијклљмнњопрстќуфхцчџш",
        Language::Bulgarian => "абвгдежзийклмнопрстуфхцчшщъьюя",
        Language::Kazakh => "аәбвгғдеёжзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя",
        Language::Other => "",
    }
}

/// Returns true if the spelling rules of a language allow the letter at this position of a word.
fn allows_letter(language: Language, word: &[char], at: usize) -> bool {
    let letter = |at: Option<usize>| at.and_then(|at| word.get(at)).copied();
    let before = letter(at.checked_sub(1));
    let next = letter(at.checked_add(1));
    let is_consonant = |c: Option<char>| c.is_some_and(|c| is_cyrillic(c) && !VOWELS.contains(c));
    match (letter(Some(at)), language) {
        // In Russian, ъ occurs only before е ё ю я. In Bulgarian, it is a vowel.
        (Some('ъ'), Language::Russian | Language::Kazakh) => next.is_some_and(|c| "еёюя".contains(c)),
        (Some('ъ'), Language::Bulgarian) => !next.is_some_and(|c| "еюя".contains(c)),
        (Some('ь'), Language::Bulgarian) => next == Some('о'),
        // In Ukrainian, и occurs only after consonants. Before most vowels, it occurs only in the prefix при.
        (Some('и'), Language::Ukrainian) => {
            let is_prefix = at == 2 && word.starts_with(&['п', 'р']);
            let is_before_vowel = next.is_some_and(|c| NOT_AFTER_Y.contains(c));
            is_consonant(before) && (!is_before_vowel || is_prefix)
        }
        // An apostrophe between a consonant and я, ю, є, ї, е, ё, і is Ukrainian or Belarusian.
        (Some(c), language) if is_apostrophe(c) => {
            let is_separating = is_consonant(before) && next.is_some_and(|c| "яюєїеёі".contains(c));
            !is_separating || matches!(language, Language::Ukrainian | Language::Belarusian)
        }
        _ => true,
    }
}

/// Returns true if a language allows the ending of a word. Ukrainian surnames end in -ський, and Russian surnames end in -ский.
fn allows_ending(language: Language, word: &[char]) -> bool {
    let ends = |ending: &str| {
        let ending: Vec<char> = ending.chars().collect();
        word.ends_with(&ending)
    };
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| ends(ending));
    match language {
        Language::Ukrainian => !ends_with(&["ский", "зкий", "цкий"]),
        // Short words with the ending -ська are Russian pet names, such as Васька.
        _ if word.len() > 6 && ends_with(&["ська", "зька", "цька"]) => false,
        _ => !ends_with(&["ський", "зький", "цький"]),
    }
}
