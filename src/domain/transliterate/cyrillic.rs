//! Transliterates Cyrillic letters by the rules of one language.

use super::language::Language;
use super::letters::{is_apostrophe, small};

/// The context of a letter in its word: the lower-case form of the preceding character, and whether the letter starts or ends the
/// word.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) before: Option<char>,
    pub(super) starts_word: bool,
    pub(super) ends_word: bool,
}

/// Transliterates a Cyrillic letter as in the documents of the language's country. Returns `None` for other letters.
pub(super) fn cyrillic(small: char, language: Language, place: Place) -> Option<&'static str> {
    let own = match language {
        Language::Belarusian => belarusian(small, place),
        Language::Bulgarian => bulgarian(small, place),
        Language::Ukrainian => ukrainian(small, place),
        _ => exception(small, language),
    };
    own.or_else(|| common(small))
}

/// Transliterates a letter for which ICAO's table has an exception for this language. Returns `None` for other letters.
///
/// For the Serbian Г, the table also has the exception H. This function does not apply that exception, so Г is G, as in Serbia's
/// passports.
fn exception(small: char, language: Language) -> Option<&'static str> {
    use Language::{Macedonian, Serbian};
    Some(match (small, language) {
        ('х', Serbian | Macedonian) => "h",
        ('ц', Serbian | Macedonian) | ('ч', Serbian) => "c",
        ('ж', Serbian) => "z",
        ('ш', Serbian) => "s",
        ('ѓ', Macedonian) => "gj",
        ('ќ', Macedonian) => "kj",
        ('џ', Macedonian) => "dj",
        _ => return None,
    })
}

/// Transliterates the letters whose Belarusian form differs from ICAO's general table. The sources are Instructions 288 (2008) and
/// 200 (2010) of the Ministry of the Interior.
///
/// Instruction 288 marks soft consonants, and writes G for Г. Instruction 200, for passports, leaves out these marks, and writes H
/// for Г. If they differ, this function follows Instruction 200.
fn belarusian(small: char, place: Place) -> Option<&'static str> {
    let is_after_consonant =
        !place.starts_word && place.before.is_some_and(|c| c.is_alphabetic() && !"аеёіоуўыьэюя".contains(c));
    Some(match (small, is_after_consonant) {
        ('г', _) => "h",
        ('й', _) => "j",
        ('ў', _) => "w",
        ('е', true) => "ie",
        ('е', false) => "je",
        ('ё', true) => "io",
        ('ё', false) => "jo",
        ('ю', true) => "iu",
        ('ю', false) => "ju",
        ('я', true) => "ia",
        ('я', false) => "ja",
        // The apostrophe is left out. The vowel after it begins with J.
        (c, _) if is_apostrophe(c) && !place.starts_word => "",
        _ => return None,
    })
}

/// Transliterates the letters whose Ukrainian form differs from ICAO's general table. The source is Resolution 55 of the Cabinet of
/// Ministers (2010).
fn ukrainian(small: char, place: Place) -> Option<&'static str> {
    Some(match small {
        // зг is zgh, so that it differs from ж, which is zh.
        'г' if place.before == Some('з') => "gh",
        'г' => "h",
        'и' => "y",
        'й' if place.starts_word => "y",
        'є' if place.starts_word => "ye",
        'ї' if place.starts_word => "yi",
        'ю' if place.starts_word => "yu",
        'я' if place.starts_word => "ya",
        c if is_apostrophe(c) && !place.starts_word => "",
        _ => return None,
    })
}

/// Transliterates the letters whose Bulgarian form differs from ICAO's general table. The source is the Transliteration Act (2009).
fn bulgarian(small: char, place: Place) -> Option<&'static str> {
    Some(match small {
        'й' | 'ь' => "y",
        'х' => "h",
        'щ' => "sht",
        'ъ' => "a",
        'ю' => "yu",
        // A word that ends in -ия ends in -ia in Latin letters.
        'я' if place.ends_word && place.before == Some('и') => "a",
        'я' => "ya",
        _ => return None,
    })
}

/// Returns true if a text begins with the word България. The Transliteration Act has an exception for this word: it is written
/// Bulgaria.
pub(super) fn is_bulgaria(text: &[char]) -> bool {
    let mut letters = text.iter().map(|c| small(*c));
    "българия".chars().all(|c| letters.next() == Some(c)) && !letters.next().is_some_and(char::is_alphabetic)
}

/// Transliterates a letter by ICAO's general table, which applies to all languages. Kazakh letters are written without their marks.
fn common(small: char) -> Option<&'static str> {
    Some(match small {
        'а' | 'ә' => "a",
        'б' => "b",
        'в' => "v",
        'г' | 'ґ' | 'ѓ' | 'ғ' => "g",
        'д' | 'ђ' => "d",
        'е' | 'ё' | 'э' => "e",
        'ж' => "zh",
        'з' => "z",
        'и' | 'і' | 'й' | 'ї' => "i",
        'ј' => "j",
        'к' | 'ќ' | 'қ' => "k",
        'л' => "l",
        'љ' => "lj",
        'м' => "m",
        'н' | 'ң' => "n",
        'њ' => "nj",
        'о' | 'ө' => "o",
        'п' => "p",
        'р' => "r",
        'с' => "s",
        'т' => "t",
        'у' | 'ў' | 'ѫ' | 'ұ' | 'ү' => "u",
        'ф' => "f",
        'х' => "kh",
        'һ' => "h",
        'ц' => "ts",
        'ч' => "ch",
        'ћ' => "c",
        'ш' => "sh",
        'щ' => "shch",
        'ъ' | 'є' => "ie",
        'ы' | 'ѵ' => "y",
        'ь' => "",
        'ю' => "iu",
        'я' => "ia",
        'ѕ' | 'џ' => "dz",
        _ => return None,
    })
}
