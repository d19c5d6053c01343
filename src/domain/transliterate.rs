//! Transliterates names into Latin letters.
//!
//! The rules for each script:
//!
//! - *Latin letters with marks, and Cyrillic*: ICAO Doc 9303 part 3, section 6, for passports. It allows a choice for some letters.
//!   The choice here: Ä is AE, Å is AA, Ö and Ø are OE, Ü is UE, Þ is TH and ß is SS. The docs of [`crate::domain`] describe the
//!   exceptions for each language.
//! - *Greek*: ELOT 743, which Greek passports follow. *Georgian and Armenian*: see the docs of [`crate::domain`].
//! - *Kana*: the Hepburn romanisation that Japanese passports use. It does not mark long o and u.
//! - *Hangul*: the revised romanisation of Korean, syllable by syllable.
//! - *Other scripts*: the crate [any_ascii](https://docs.rs/any_ascii), without the marks that it uses for sounds that Latin lacks.
//!
//! Some results differ from the spelling in the person's documents, because the text alone does not determine the spelling:
//!
//! - The language of a Cyrillic text is not known. [`Evidence`] collects evidence for it.
//! - Some languages, such as Turkish and Spanish, write Ä, Ö, Ü and Å as A, O, U and A in passports.
//! - Arabic and Hebrew do not write short vowels. The result has the consonants, and the vowels that are marked. ICAO's own scheme
//!   for Arabic encodes letters for machines, and is not meant for people.
//! - A Han character can have several readings. The result has its most frequent Mandarin reading. This is wrong for surnames with
//!   another reading (单, 仇), for Japanese names (佐藤) and for Cantonese names.
//! - In kana, ou and uu can be one syllable or two syllables. They are treated as two syllables only before an e (いのうえ).
//! - Some customary spellings follow no scheme (이 as Lee, ხ as X).

mod arabic;
mod armenian;
mod cyrillic;
mod greek;
mod kana;
mod language;
mod letters;
#[cfg(test)]
mod tests;

use any_ascii::any_ascii_char;
use unicode_normalization::UnicodeNormalization;

use self::arabic::{arabic, is_doubled};
use self::armenian::armenian;
use self::cyrillic::{Place, cyrillic, is_bulgaria};
use self::greek::greek;
use self::kana::kana;
pub(super) use self::language::Evidence;
use self::language::Language;
use self::letters::{is_apostrophe, plain, small};

/// Transliterates a text of a person into ASCII. `evidence` helps to detect the language of the text.
///
/// Complexity: linear in the total length of the text and of the texts and countries of `evidence`.
pub(super) fn to_latin(text: &str, evidence: &Evidence) -> String {
    let text: Vec<char> = text.nfc().collect();
    let language = evidence.language_of(&text);
    let is_capital = |c: &&char| has_case(**c) && c.is_uppercase();
    let is_in_capitals = text.iter().filter(is_capital).nth(1).is_some()
        && !text.iter().any(|c| has_case(*c) && c.is_lowercase());
    let mut out = String::new();
    let mut at: usize = 0;
    while let Some(&c) = text.get(at) {
        let before = at.checked_sub(1).and_then(|at| text.get(at)).copied();
        let rest = text.get(at..).unwrap_or_default();
        let script = Script::of(c);
        let length = match script {
            Script::Han | Script::Hangul | Script::Kana => {
                let run = rest.iter().take_while(|c| Script::of(**c) == script).count();
                out.push_str(&capitalized(&run_to_latin(script, rest.get(..run).unwrap_or_default())));
                run
            }
            Script::Greek => {
                let (latin, length) = greek(before, rest);
                push_cased(&latin, before, rest, length, &mut out);
                length
            }
            Script::Other => {
                let (latin, length) = letter(c, before, rest, language);
                push_cased(&latin, before, rest, length, &mut out);
                length
            }
        };
        at = at.saturating_add(length.max(1));
    }
    // A single capital letter does not show that the whole text is in capitals.
    if is_in_capitals { out.to_ascii_uppercase() } else { out }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Greek,
    Han,
    Hangul,
    Kana,
    Other,
}

impl Script {
    fn of(c: char) -> Self {
        match c {
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Self::Greek,
            '\u{3005}'..='\u{3007}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' => Self::Han,
            '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' => Self::Hangul,
            '\u{3041}'..='\u{309f}'
            | '\u{30a1}'..='\u{30fa}'
            | '\u{30fc}'..='\u{30ff}'
            | '\u{ff66}'..='\u{ff9f}' => Self::Kana,
            _ => Self::Other,
        }
    }
}

/// Transliterates the first letter of `rest` to lower-case Latin letters. Also returns the number of characters that were read.
fn letter(c: char, before: Option<char>, rest: &[char], language: Language) -> (String, usize) {
    let small = small(c);
    let starts_word = !before.is_some_and(|before| before.is_alphabetic() || is_apostrophe(before));
    let next = rest.get(1).map(|next| letters::small(*next));
    let ends_word = !next.is_some_and(|next| next.is_alphabetic() || is_apostrophe(next));
    if language == Language::Bulgarian && starts_word && is_bulgaria(rest) {
        return ("bulgaria".to_owned(), 8);
    }
    let place = Place { before: before.map(letters::small), starts_word, ends_word };
    if let Some((latin, length)) = armenian(small, place.before, rest, starts_word) {
        return (latin.to_owned(), length);
    }
    let latin =
        marked(small).or_else(|| cyrillic(small, language, place)).or_else(|| arabic(small, before, next));
    match latin {
        Some(latin) if is_doubled(rest) => (latin.repeat(2), 1),
        Some(latin) => (latin.to_owned(), 1),
        None => (plain(c, small), 1),
    }
}

/// Returns ICAO's form of a Latin letter. Returns `None` if the form is just the letter without its marks.
fn marked(small: char) -> Option<&'static str> {
    Some(match small {
        'ä' | 'æ' | 'ǽ' => "ae",
        'å' | 'ǻ' => "aa",
        'ö' | 'ø' | 'ǿ' | 'œ' => "oe",
        'ü' => "ue",
        'þ' => "th",
        'ß' | 'ẞ' => "ss",
        'ĳ' => "ij",
        'ð' | 'đ' => "d",
        'ŋ' => "n",
        'ĸ' => "q",
        _ => return None,
    })
}

/// Transliterates a sequence of Han, Hangul or kana letters to lower-case Latin letters. These scripts have no spaces between
/// words.
fn run_to_latin(script: Script, run: &[char]) -> String {
    if script == Script::Kana {
        return kana(run);
    }
    let latin: String = run.iter().map(|c| any_ascii_char(*c)).collect();
    latin.to_ascii_lowercase()
}

/// Appends the lower-case Latin letters `latin`, in upper or lower case like the original text. The original text is the first
/// `length` characters of `rest`.
fn push_cased(latin: &str, before: Option<char>, rest: &[char], length: usize, out: &mut String) {
    let Some(&c) = rest.first() else { return };
    // In scripts without case, each word begins with a capital letter.
    if !c.is_alphabetic() || latin.is_empty() {
        out.push_str(latin);
    } else if has_case(c) {
        let is_capital = |c: char| has_case(c) && c.is_uppercase();
        let is_within_capitals = rest.get(length).copied().is_some_and(is_capital)
            || before.is_some_and(is_capital) && !rest.get(length).is_some_and(|next| next.is_lowercase())
            || length > 1 && rest.get(1).copied().is_some_and(is_capital);
        match (is_capital(c), is_within_capitals) {
            (true, true) => out.push_str(&latin.to_ascii_uppercase()),
            (true, false) => out.push_str(&capitalized(latin)),
            (false, _) => out.push_str(latin),
        }
    } else if out.ends_with(|last: char| last.is_ascii_alphabetic()) && before.is_some_and(is_word) {
        out.push_str(latin);
    } else {
        out.push_str(&capitalized(latin));
    }
}

/// Returns true if a character is part of a word: a letter, or a mark on a letter.
fn is_word(c: char) -> bool {
    c.is_alphabetic() || unicode_normalization::char::is_combining_mark(c)
}

/// Returns true if a letter has an upper and a lower case. The two forms of a Georgian letter are not upper and lower case.
fn has_case(c: char) -> bool {
    !matches!(c, '\u{10a0}'..='\u{10ff}' | '\u{1c90}'..='\u{1cbf}') && (c.is_uppercase() || c.is_lowercase())
}

fn capitalized(latin: &str) -> String {
    let mut letters = latin.chars();
    letters.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

#[cfg(test)]
mod scripts_tests {
    use proptest::prelude::*;

    use super::*;

    fn to_latin(text: &str, country: Option<&str>) -> String {
        let countries = country.into_iter().map(str::to_owned).collect();
        super::to_latin(text, &Evidence { texts: Vec::new(), countries })
    }

    #[test]
    fn names_are_written_as_in_passports() {
        let names = [
            // Latin script.
            ("John O'Neil", None, "John O'Neil"),
            ("Jürgen Groß", None, "Juergen Gross"),
            ("JÜRGEN GROSS", None, "JUERGEN GROSS"),
            ("Ju\u{308}rgen", None, "Juergen"),
            ("Øystein Åsa Æther Þór", None, "Oeystein Aasa Aether Thor"),
            ("Łódź Çağlar Şahin İbrahim ıŞIK", None, "Lodz Caglar Sahin Ibrahim iSIK"),
            ("Nguyễn Văn Đức", None, "Nguyen Van Duc"),
            ("Œuvre Ĳssel", None, "Oeuvre Ijssel"),
            ("José-María Ñandú", None, "Jose-Maria Nandu"),
            ("O’Brien", None, "O'Brien"),
            // Cyrillic script.
            ("Юрий Щукин", None, "Iurii Shchukin"),
            ("ЩУКИН Я", None, "SHCHUKIN IA"),
            ("Объедков Ильич Фёдор Хрущёв", None, "Obieedkov Ilich Fedor Khrushchev"),
            ("Юлія Гриценко-Їжак", None, "Yuliia Hrytsenko-Yizhak"),
            ("В’ячеслав Соловйов Єва", None, "Viacheslav Soloviov Yeva"),
            ("Михайло Гнатюк", Some("UKR"), "Mykhailo Hnatiuk"),
            ("Михаил Гнатюк", None, "Mikhail Gnatiuk"),
            ("Міхась Ўладзімір", None, "Mikhas Wladzimir"),
            ("Ігар Палёў", Some("BLR"), "Ihar Paliow"),
            ("Щерев", Some("BGR"), "Shterev"),
            ("Ђорђе Хаџић Шћепан", None, "Dorde Hadzic Scepan"),
            ("Ѓорѓи Ќосе Цветан", None, "Gjorgji Kjose Cvetan"),
            // Greek script.
            ("Γιώργος Παπαδόπουλος", None, "Giorgos Papadopoulos"),
            ("Ευάγγελος Μπακογιάννης", None, "Evangelos Bakogiannis"),
            ("Αυτός Χαΐρης Άγγελος", None, "Aftos Chairis Angelos"),
            ("ΟΥΡΑΝΊΑ ΘΕΟΔΏΡΟΥ", None, "OURANIA THEODOROU"),
            ("Λάμπρος Ψαρρού", None, "Lampros Psarrou"),
            // Arabic script.
            ("يوسف", None, "Yusf"),
            ("مُحَمَّد", None, "Muhammad"),
            ("عبد الله", None, "Abd Allh"),
            ("فاطمة سعيد", None, "Fatma Said"),
            ("پوریا", None, "Purya"),
            // Georgian and Armenian script.
            ("გიორგი ჭავჭავაძე", None, "Giorgi Chavchavadze"),
            ("წყალი ქართლი", None, "Tsqali Kartli"),
            ("Հովհաննես Ուլուբաբյան", None, "Hovhannes Ulubabyan"),
            ("Երևան Ոսկանյան", None, "Yerevan Voskanyan"),
            ("ԵՐԵՎԱՆ և ով Նաև Այև", None, "YEREVAN yev ov Nayev Ayev"),
            // Han, kana and Hangul.
            ("王小明", None, "Wangxiaoming"),
            ("小明 欧阳", None, "Xiaoming Ouyang"),
            ("さとう けいこ", None, "Sato Keiko"),
            ("きょうと しょうじ じゅん", None, "Kyoto Shoji Jun"),
            ("はっとり いっちょう", None, "Hattori Itcho"),
            ("ほんま なんば いのうえ", None, "Homma Namba Inoue"),
            ("ジョン シェイク ファン ヴァン ﾊﾞﾝ", None, "Jon Sheiku Fan Van Ban"),
            ("김민수 서울", None, "Gimminsu Seoul"),
            // Pictures, such as emoji.
            ("😀Anna☎ 👍🏽", None, "Anna "),
            ("", None, ""),
        ];
        let found = names.map(|(text, country, _)| (text, country, to_latin(text, country)));
        let wrong: Vec<_> = found.iter().zip(names).filter(|(found, name)| found.2 != name.2).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    proptest! {
        #[test]
        fn any_text_becomes_ascii_of_bounded_length(text in "\\PC{0,60}") {
            let latin = to_latin(&text, Some("UKR"));
            prop_assert!(latin.is_ascii());
            prop_assert!(latin.len() <= text.chars().count() * 40);
        }

        #[test]
        fn ascii_is_unchanged(text in "[ -~]{0,60}") {
            prop_assert_eq!(to_latin(&text, None), text);
        }
    }
}
