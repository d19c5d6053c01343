//! The language of Cyrillic text.
//!
//! Each text rules out the languages that cannot write it: first the text itself, then the person's other texts. Among the languages
//! that are left, the first country of the record that has one of them decides. The table is in the docs of [`crate::domain`].

use super::letters::{is_apostrophe, small};

/// A language with rules of its own for Cyrillic letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Russian,
    Ukrainian,
    Belarusian,
    Serbian,
    Macedonian,
    Bulgarian,
    Kazakh,
    /// Text that none of these can write. It is written as Russian is.
    Other,
}

/// The languages in the order in which they are assumed when nothing else decides.
const ASSUMED: [Language; 7] = {
    use Language::{Belarusian, Bulgarian, Kazakh, Macedonian, Russian, Serbian, Ukrainian};
    [Russian, Ukrainian, Belarusian, Serbian, Macedonian, Bulgarian, Kazakh]
};

const VOWELS: &str = "аеёиоуыэюяіїє";

/// Vowels that Ukrainian does not have after и. It has ї and є there, as in Київ.
const NOT_AFTER_Y: &str = "аеиоуюя";

/// The evidence that a record gives about the language of a person's names.
#[derive(Debug, Default)]
pub(in crate::domain) struct Origin {
    /// The texts of the person, in whatever script.
    pub(in crate::domain) texts: Vec<String>,
    /// Alpha-3 codes, the strongest evidence first.
    pub(in crate::domain) countries: Vec<String>,
}

impl Origin {
    /// The language of one of the person's texts.
    pub(super) fn language_of(&self, text: &[char]) -> Language {
        let words = words(text);
        if words.is_empty() {
            return Language::Other;
        }
        let mut possible: Vec<Language> =
            ASSUMED.into_iter().filter(|language| words.iter().all(|word| can_be(*language, word))).collect();
        for text in &self.texts {
            let text: Vec<char> = text.chars().collect();
            let words = self::words(&text);
            let fits = |language: &Language| words.iter().all(|word| can_be(*language, word));
            // A text in another language than this one says nothing about this one.
            if possible.iter().any(fits) {
                possible.retain(fits);
            }
        }
        let mut suggested = self.countries.iter().filter_map(|country| language_in(country));
        let suggested = suggested.find(|language| possible.contains(language));
        suggested.or(possible.first().copied()).unwrap_or(Language::Other)
    }
}

/// The language that the Cyrillic texts of a country are in; `None` for a country that writes none, which suggests nothing.
fn language_in(country: &str) -> Option<Language> {
    Some(match country {
        // Documents of the other countries have the letters that these languages share with Russian written as Russian ones are.
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

/// The words of a text that have Cyrillic letters, in small letters. Apostrophes are part of a word.
fn words(text: &[char]) -> Vec<Vec<char>> {
    let words = text.split(|c| !c.is_alphabetic() && !is_apostrophe(*c));
    let words = words.filter(|word| word.iter().copied().any(is_cyrillic));
    words.map(|word| word.iter().copied().map(small).collect()).collect()
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

/// Whether a language can write a word, by its alphabet and its spelling.
fn can_be(language: Language, word: &[char]) -> bool {
    let letters = alphabet(language);
    let has_letters = word.iter().all(|c| !is_cyrillic(*c) || letters.contains(*c));
    has_letters && (0..word.len()).all(|at| can_have(language, word, at)) && can_end(language, word)
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

/// Whether the spelling of a language allows a letter where it stands.
fn can_have(language: Language, word: &[char], at: usize) -> bool {
    let letter = |at: Option<usize>| at.and_then(|at| word.get(at)).copied();
    let before = letter(at.checked_sub(1));
    let next = letter(at.checked_add(1));
    let is_consonant = |c: Option<char>| c.is_some_and(|c| is_cyrillic(c) && !VOWELS.contains(c));
    match (letter(Some(at)), language) {
        // Russian separates a consonant from е ё ю я by it; in Bulgarian it is a vowel.
        (Some('ъ'), Language::Russian | Language::Kazakh) => next.is_some_and(|c| "еёюя".contains(c)),
        (Some('ъ'), Language::Bulgarian) => !next.is_some_and(|c| "еюя".contains(c)),
        (Some('ь'), Language::Bulgarian) => next == Some('о'),
        // Ukrainian has и after consonants alone, and before few vowels but in the prefix при.
        (Some('и'), Language::Ukrainian) => {
            let is_prefix = at == 2 && word.starts_with(&['п', 'р']);
            let is_before_vowel = next.is_some_and(|c| NOT_AFTER_Y.contains(c));
            is_consonant(before) && (!is_before_vowel || is_prefix)
        }
        // An apostrophe between a consonant and я, ю, є, ї, е, ё, і is a Ukrainian or Belarusian one.
        (Some(c), language) if is_apostrophe(c) => {
            let is_separating = is_consonant(before) && next.is_some_and(|c| "яюєїеёі".contains(c));
            !is_separating || matches!(language, Language::Ukrainian | Language::Belarusian)
        }
        _ => true,
    }
}

/// Whether words of a language have the ending of this one: Ukrainian surnames are in -ський, Russian ones in -ский.
fn can_end(language: Language, word: &[char]) -> bool {
    let ends = |ending: &str| {
        let ending: Vec<char> = ending.chars().collect();
        word.ends_with(&ending)
    };
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| ends(ending));
    match language {
        Language::Ukrainian => !ends_with(&["ский", "зкий", "цкий"]),
        // Short words in -ська are Russian pet names, such as Васька.
        _ if word.len() > 6 && ends_with(&["ська", "зька", "цька"]) => false,
        _ => !ends_with(&["ський", "зький", "цький"]),
    }
}
