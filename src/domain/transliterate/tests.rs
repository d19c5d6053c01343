//! Tests of names in each language against the standard of the language, and tests of the detection of languages.

use super::*;

fn evidence(texts: &[&str], countries: &[&str]) -> Evidence {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Evidence { texts: owned(texts), countries: owned(countries) }
}

/// Checks a table of names. Each table has comments on its sources, then the country of the documents, then lines with a surname
/// and its Latin form.
fn check(table: &str) {
    let (comments, rows): (Vec<_>, Vec<_>) = table.lines().partition(|line| line.starts_with('#'));
    let country = comments.last().unwrap().trim_start_matches("# ");
    assert!(country.len() == 3 && rows.len() >= 10, "{country}: {} rows", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let (name, latin) = row.split_once('\t').unwrap();
        let own = evidence(&[name], &[country]);
        // The Latin letters have the case of the original text.
        for (name, latin) in
            [(name.to_owned(), latin.to_owned()), (name.to_uppercase(), latin.to_ascii_uppercase())]
        {
            let found = to_latin(&name, &own);
            // Georgian capital letters are used only for titles. They are transliterated to lower-case letters.
            if found != latin && !(country == "GEO" && found.to_ascii_uppercase() == latin) {
                wrong.push((name, found, latin));
            }
        }
    }
    assert!(wrong.is_empty(), "{country}: {wrong:#?}");
}

macro_rules! tables {
    ($($language:ident)*) => {$(
        #[test]
        fn $language() {
            check(include_str!(concat!("../../../tests/data/domain/names/", stringify!($language), ".txt")));
        }
    )*};
}

tables! { armenian belarusian bulgarian georgian greek kazakh macedonian serbian ukrainian }

#[test]
fn the_text_then_the_other_texts_then_the_countries_tell_the_language() {
    let cases: [(&str, &[&str], &[&str], &str); 39] = [
        // The spelling of the text is stronger evidence than the countries.
        ("Згурський", &[], &["DEU"], "Zghurskyi"),
        ("Згурська", &[], &["DEU"], "Zghurska"),
        ("Згурський", &[], &["RUS", "BGR"], "Zghurskyi"),
        ("Дем’яненко", &[], &["DEU"], "Demianenko"),
        ("Щукин-Їжак", &[], &["RUS"], "Shchukyn-Yizhak"),
        ("Мария", &[], &["UKR"], "Mariia"),
        ("Михаил", &[], &["UKR"], "Mikhail"),
        ("Игорь", &[], &["UKR"], "Igor"),
        ("Гурский", &[], &["UKR"], "Gurskii"),
        ("Григорьев", &[], &["BGR"], "Grigorev"),
        ("Объедков", &[], &["BGR"], "Obieedkov"),
        ("Объедков", &[], &[], "Obieedkov"),
        ("Търновски", &[], &["DEU"], "Tarnovski"),
        ("Гайдук", &[], &["SRB"], "Gaiduk"),
        // Bulgaria's Transliteration Act has an exception for the name of the country: `Bulgaria`, not `Balgariya`.
        ("София, България", &[], &["DEU"], "Sofia, Bulgaria"),
        ("БЪЛГАРИЯ", &[], &[], "BULGARIA"),
        ("Българиянов", &[], &["BGR"], "Balgariyanov"),
        ("Құлыбаев", &[], &["DEU"], "Kulybaev"),
        // If the text does not decide, the other names and the place decide, unless they are in another language.
        ("Гнатюк", &["Юлія"], &["DEU"], "Hnatiuk"),
        ("Гнатюк", &["Юлія"], &["RUS"], "Hnatiuk"),
        ("Гнатюк", &["Юлия"], &["UKR"], "Gnatiuk"),
        ("Гнатюк", &["Anna", "Київ"], &["DEU"], "Hnatiuk"),
        ("Згурський", &["Орёл"], &[], "Zghurskyi"),
        ("Божовић", &["Жељко", "Ниш"], &[], "Bozovic"),
        ("Жежов", &["Ѓорѓи"], &[], "Zhezhov"),
        // The first country with a possible language decides: first those of the documents, then the other countries.
        ("Гнатюк", &[], &["DEU", "UKR"], "Hnatiuk"),
        ("Гнатюк", &[], &["UKR", "RUS"], "Hnatiuk"),
        ("Гнатюк", &[], &["RUS", "UKR"], "Gnatiuk"),
        ("Христов", &[], &["DEU", "BGR"], "Hristov"),
        ("Гэлов", &[], &["UKR", "BLR"], "Helov"),
        ("Гусев", &[], &["KGZ", "UKR"], "Gusev"),
        ("Ілияс", &[], &["KAZ"], "Iliias"),
        ("Згурський", &[], &["KGZ"], "Zghurskyi"),
        ("Өмүров", &[], &["KGZ"], "Omurov"),
        ("Ждановіч", &[], &["BLR"], "Zhdanovich"),
        // Without a country, the language is Russian, or the first language that can write the text.
        ("Гнатюк", &[], &[], "Gnatiuk"),
        ("Гнатів", &[], &["DEU"], "Hnativ"),
        ("Йован Ј", &[], &["SRB"], "Iovan J"),
        // Apostrophes are removed only from Cyrillic words.
        ("O'Neil", &[], &["UKR"], "O'Neil"),
    ];
    let mut wrong = Vec::new();
    for (text, others, countries, expected) in cases {
        let found = to_latin(text, &evidence(others, countries));
        if found != expected {
            wrong.push((text, others, countries, found, expected));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
