//! Cyrillic.

/// The languages whose Cyrillic is not written as that of Russian.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Belarusian,
    Bulgarian,
    Macedonian,
    Serbian,
    Ukrainian,
    Other,
}

pub(super) fn language(text: &[char], country: Option<&str>) -> Language {
    let has = |letters: &str| text.iter().any(|c| letters.contains(*c));
    match country {
        _ if has("ђћЂЋ") => Language::Serbian,
        _ if has("ѓќѕЃЌЅ") => Language::Macedonian,
        _ if has("ўЎ") => Language::Belarusian,
        _ if has("ґєїҐЄЇ") => Language::Ukrainian,
        // These letters are of Russian and Belarusian alone, but for ъ, which Bulgarian has, too.
        Some("BLR") if !has("иИщЩъЪ") => Language::Belarusian,
        Some("BGR") if !has("ыэёЫЭЁ") => Language::Bulgarian,
        Some("UKR") if !has("ыэёъЫЭЁЪ") => Language::Ukrainian,
        Some("MKD") => Language::Macedonian,
        Some("SRB" | "MNE" | "BIH") => Language::Serbian,
        _ if has("іІ") && has("ыэёЫЭЁ") => Language::Belarusian,
        _ if has("іІ") => Language::Ukrainian,
        _ => Language::Other,
    }
}

/// ICAO's table of Cyrillic.
pub(super) fn cyrillic(small: char, language: Language, starts_word: bool) -> Option<&'static str> {
    exception(small, language, starts_word).or_else(|| common(small))
}

/// What the table has for some languages alone. It writes the Serbian Г as H, too; Serbia's passports do not.
fn exception(small: char, language: Language, starts_word: bool) -> Option<&'static str> {
    use Language::{Belarusian, Bulgarian, Macedonian, Serbian, Ukrainian};
    Some(match (small, language) {
        ('г', Belarusian | Ukrainian) | ('х', Serbian | Macedonian) => "h",
        ('ц', Serbian | Macedonian) | ('ч', Serbian) => "c",
        ('и', Ukrainian) => "y",
        ('й', Ukrainian) if starts_word => "y",
        ('є', Ukrainian) if starts_word => "ye",
        ('ї', Ukrainian) if starts_word => "yi",
        ('ю', Ukrainian) if starts_word => "yu",
        ('я', Ukrainian) if starts_word => "ya",
        ('ё', Belarusian) => "io",
        ('ж', Serbian) => "z",
        ('ш', Serbian) => "s",
        ('щ', Bulgarian) => "sht",
        ('ѓ', Macedonian) => "gj",
        ('ќ', Macedonian) => "kj",
        ('џ', Macedonian) => "dj",
        // The sign that keeps the sounds around it apart is not written.
        ('\'' | '’' | 'ʼ', Belarusian | Ukrainian) if !starts_word => "",
        _ => return None,
    })
}

fn common(small: char) -> Option<&'static str> {
    Some(match small {
        'а' => "a",
        'б' => "b",
        'в' => "v",
        'г' | 'ґ' | 'ѓ' => "g",
        'д' | 'ђ' => "d",
        'е' | 'ё' | 'э' => "e",
        'ж' => "zh",
        'з' => "z",
        'и' | 'і' | 'й' | 'ї' => "i",
        'ј' => "j",
        'к' | 'ќ' => "k",
        'л' => "l",
        'љ' => "lj",
        'м' => "m",
        'н' => "n",
        'њ' => "nj",
        'о' => "o",
        'п' => "p",
        'р' => "r",
        'с' => "s",
        'т' => "t",
        'у' | 'ў' | 'ѫ' => "u",
        'ф' => "f",
        'х' => "kh",
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
