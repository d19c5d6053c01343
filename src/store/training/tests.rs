use super::*;

/// Returns cases of persons. Each last name, each number and some member names belong to only one person.
fn cases() -> Vec<String> {
    let name = |number: usize| {
        let letters = [number, number / 26, number / 676, number / 7, number / 3, number / 11];
        letters.map(|letter| char::from(b'a' + (letter % 26) as u8)).iter().collect::<String>()
    };
    let case = |number: usize| {
        let (own, first) = (name(number), ["Анна", "Élodie", "John"][number % 3]);
        format!(
            r#"{{"id":"id-{own}-{:07}","person":{{"fullName":"{first} X{own}","born":{},"шифр":"ж{own}ж"}},"by {own}":1,"status":"open"}}"#,
            number * 7_919,
            1_000_000_007 * (number + 9),
        )
    };
    (0..SAMPLES).map(case).collect()
}

#[test]
fn a_text_of_fewer_than_twenty_documents_is_not_in_the_dictionary() {
    let cases = cases();
    let texts: Vec<&str> = cases.iter().map(String::as_str).collect();
    let trained = train(texts.iter().copied()).unwrap();
    assert!(trained.len() <= MOST_DICTIONARY_BYTES);
    let has = |own: &str| memchr::memmem::find(&trained, own.as_bytes()).is_some();
    assert!(has("\"fullName\":\"") && has("\"status\":\"open\""), "what all documents share");
    let mut documents: HashMap<&str, usize> = HashMap::new();
    for case in &texts {
        each_text(case, |_, text| *documents.entry(text).or_default() += 1);
    }
    let rare = documents.iter().filter(|(text, count)| **count < LEAST_DOCUMENTS && text.len() >= 5);
    assert!(rare.clone().count() > 3 * SAMPLES);
    for (text, _) in rare {
        assert!(!has(text), "{text}");
        // The part that only this document has is not in the dictionary either.
        let own = text.rsplit([' ', '-']).next().unwrap_or_default();
        assert!(own.len() < 7 || !has(own), "{own} of {text}");
    }
}

#[test]
fn texts_that_are_shared_and_all_punctuation_are_kept() {
    let cases = cases();
    let texts: Vec<&str> = cases.iter().map(String::as_str).collect();
    for (case, scrubbed) in texts.iter().zip(scrub(&texts)) {
        assert_eq!(case.chars().count(), scrubbed.chars().count());
        for (before, after) in case.chars().zip(scrubbed.chars()) {
            assert_eq!(class(before), class(after));
            assert_eq!(before.is_ascii_digit(), after.is_ascii_digit());
            assert!(before == after || before.is_alphanumeric());
        }
        assert!(scrubbed.starts_with(r#"{"id":"id-"#) && scrubbed.ends_with(r#":1,"status":"open"}"#));
        assert!(["Анна ", "Élodie ", "John "].iter().any(|name| scrubbed.contains(name)));
        assert_ne!(*case, scrubbed);
    }
}

#[test]
fn a_character_of_few_documents_is_not_drawn() {
    let texts: Vec<String> = (0..SAMPLES).map(|number| format!("\"é{number}\"")).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.push("\"漢字 of one person\"");
    let scrubbed = scrub(&texts);
    assert!(!scrubbed.concat().contains(['漢', '字']));
    assert!(scrubbed.concat().contains('é'));
}

#[test]
fn any_text_can_be_scrubbed() {
    let texts = ["", "\"", "\"\\", "\"a\\\"b\" : 1", "é", "\"é", "{]\\", "1.5e3", "\"\\u00e9\\n\":[null]"];
    let texts: Vec<&str> = texts.iter().copied().cycle().take(300).collect();
    for (text, scrubbed) in texts.iter().zip(scrub(&texts)) {
        assert_eq!(*text, scrubbed, "all documents share it");
    }
    let scrubbed = scrub(&["\"a\\\"b\" : 12", "\"é", "x"]);
    assert!(scrubbed[0].ends_with(char::is_numeric) && scrubbed[0].contains("\\\""), "{scrubbed:?}");
}

#[test]
fn too_few_documents_train_no_dictionary() {
    let cases = cases();
    assert!(train(cases.iter().take(SAMPLES / 2 - 1).map(String::as_str)).is_none());
    let large = "x".repeat(MOST_BYTES + 1);
    assert!(train(std::iter::repeat_n(large.as_str(), SAMPLES)).is_none());
}
