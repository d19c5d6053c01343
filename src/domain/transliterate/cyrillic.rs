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
pub(super) fn cyrillic(small: char, language: Language) -> Option<&'static str> {
    use Language::{Belarusian, Bulgarian, Macedonian, Serbian, Ukrainian};
    Some(match (small, language) {
        ('г', Belarusian | Serbian | Ukrainian) if language != Serbian => "h",
        ('ё', Belarusian) => "io",
        ('ж', Serbian) => "z",
        ('и', Ukrainian) => "y",
        ('х', Serbian | Macedonian) => "h",
        ('ц', Serbian | Macedonian) => "c",
        ('ч', Serbian) => "c",
        ('ш', Serbian) => "s",
        ('щ', Bulgarian) => "sht",
        ('ѓ', Macedonian) => "gj",
        ('ќ', Macedonian) => "kj",
        ('џ', Macedonian) => "dj",
        ('а', _) => "a",
        ('б', _) => "b",
        ('в', _) => "v",
        ('г' | 'ґ' | 'ѓ', _) => "g",
        ('д' | 'ђ', _) => "d",
        ('е' | 'ё' | 'э', _) => "e",
        ('ж', _) => "zh",
        ('з', _) => "z",
        ('и' | 'і' | 'й' | 'ї', _) => "i",
        ('ј', _) => "j",
        ('к' | 'ќ', _) => "k",
        ('л', _) => "l",
        ('љ', _) => "lj",
        ('м', _) => "m",
        ('н', _) => "n",
        ('њ', _) => "nj",
        ('о', _) => "o",
        ('п', _) => "p",
        ('р', _) => "r",
        ('с', _) => "s",
        ('т', _) => "t",
        ('у' | 'ў' | 'ѫ', _) => "u",
        ('ф', _) => "f",
        ('х', _) => "kh",
        ('ц', _) => "ts",
        ('ч', _) => "ch",
        ('ћ', _) => "c",
        ('ш', _) => "sh",
        ('щ', _) => "shch",
        ('ъ' | 'є', _) => "ie",
        ('ы' | 'ѵ', _) => "y",
        ('ь', _) => "",
        ('ю', _) => "iu",
        ('я', _) => "ia",
        ('ѕ' | 'џ', _) => "dz",
        _ => return None,
    })
}
