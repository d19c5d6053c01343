//! Names of each language against its national standard, and the evidence about a language.

use super::*;

fn origin(texts: &[&str], countries: &[&str]) -> Origin {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Origin { texts: owned(texts), countries: owned(countries) }
}

/// Checks a table: comments on its source, the country of its documents, then a surname and its Latin form a line.
fn check(table: &str) {
    let (comments, rows): (Vec<_>, Vec<_>) = table.lines().partition(|line| line.starts_with('#'));
    let country = comments.last().unwrap().trim_start_matches("# ");
    assert!(country.len() == 3 && rows.len() >= 10, "{country}: {} rows", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let (name, latin) = row.split_once('\t').unwrap();
        let own = origin(&[name], &[country]);
        // The case of all letters is that of the text.
        for (name, latin) in
            [(name.to_owned(), latin.to_owned()), (name.to_uppercase(), latin.to_ascii_uppercase())]
        {
            let found = to_latin(&name, &own);
            // Georgian capitals are titles, and written as small letters are.
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
    let cases: [(&str, &[&str], &[&str], &str); 36] = [
        // The spelling decides, whatever the countries.
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
        ("Құлыбаев", &[], &["DEU"], "Kulybaev"),
        // The other names, and the place, tell what the text leaves open, unless they are in another language.
        ("Гнатюк", &["Юлія"], &["DEU"], "Hnatiuk"),
        ("Гнатюк", &["Юлія"], &["RUS"], "Hnatiuk"),
        ("Гнатюк", &["Юлия"], &["UKR"], "Gnatiuk"),
        ("Гнатюк", &["Anna", "Київ"], &["DEU"], "Hnatiuk"),
        ("Згурський", &["Орёл"], &[], "Zghurskyi"),
        ("Божовић", &["Жељко", "Ниш"], &[], "Bozovic"),
        ("Жежов", &["Ѓорѓи"], &[], "Zhezhov"),
        // The first country that has a possible language: documents, then the others.
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
        // Without any, Russian, or the first language that can write it.
        ("Гнатюк", &[], &[], "Gnatiuk"),
        ("Гнатів", &[], &["DEU"], "Hnativ"),
        ("Йован Ј", &[], &["SRB"], "Iovan J"),
        // Apostrophes are left out of Cyrillic alone.
        ("O'Neil", &[], &["UKR"], "O'Neil"),
    ];
    let mut wrong = Vec::new();
    for (text, others, countries, expected) in cases {
        let found = to_latin(text, &origin(others, countries));
        if found != expected {
            wrong.push((text, others, countries, found, expected));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
