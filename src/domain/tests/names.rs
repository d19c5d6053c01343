//! Tests of the names that operation 5 (update of extracted info) accepts or rejects, and of their Latin forms.

use super::*;

const FIELDS: [&str; 6] = ["firstName", "lastName", "dob", "placeOfBirth", "countryOfBirth", "stateOfBirth"];

#[test]
fn empty_blank_and_control_text_is_rejected_and_null_is_suggested() {
    let world = World::new();
    let before = get(&world, "applicant", "anna");
    for field in FIELDS {
        for (value, found) in [
            ("", "an empty string"),
            (" ", "a blank string, ` `"),
            ("\u{a0}\u{3000}\u{200b}", "a blank string, `"),
            ("\u{2800}\u{3164}\u{ad}", "a blank string, `"),
            ("\t\r\n", "a blank string, `\\u{9}\\u{d}\\u{a}`"),
            ("a\0b", "the control character U+0000 in `a\\u{0}b`"),
            ("a\u{7f}", "the control character U+007F in `a\\u{7f}`"),
            ("\u{9b}a", "the control character U+009B in `\\u{9b}a`"),
            ("a\nb", "the control character U+000A in `a\\u{a}b`"),
            ("a\u{2028}b", "the control character U+2028 in `a\\u{2028}b`"),
        ] {
            let body = json!({field: value}).to_string();
            let (kind, text) = fault(update_info(&world, "anna", body.as_bytes(), now()));
            assert_eq!(kind, DomainErrorKind::Invalid);
            let start = format!("Invalid parameters: {field} (byte {}): found {found}", field.len() + 4);
            let end = format!(", expected readable text, or `null`, which clears `{field}`");
            assert!(text.starts_with(&start) && text.ends_with(&end), "{text}");
        }
    }
    assert_eq!(get(&world, "applicant", "anna"), before);
    // Joiners, direction marks and spaces are accepted if the name also contains visible characters.
    for name in ["علی\u{200c}رضا", "Anna\u{200f}", "Anna Maria", " Anna", "क्\u{200d}ष", "👩\u{200d}🔬"]
    {
        let info = update_info(&world, "anna", json!({"firstName": name}).to_string().as_bytes(), now());
        assert_eq!(parsed(&info.unwrap())["firstName"], json!(name));
    }
}

#[test]
fn an_import_accepts_empty_blank_and_control_text() {
    let world = World::empty();
    let info = json!({"firstName": "", "lastName": "  ", "placeOfBirth": "a\0b", "stateOfBirth": "\t"});
    let record = json!({"id": "a", "type": "individual", "info": info});
    assert_eq!(import(&world, RecordKind::Applicants, &record.to_string()).unwrap().stored, 1);
    assert_eq!(import_leniently(&world, RecordKind::Applicants, &record.to_string()).notes.len(), 0);
    assert_eq!(parsed(&get(&world, "applicant", "a"))["info"], info);
    // Changing another member does not change this member.
    let updated = parsed(&update_info(&world, "a", b"{\"dob\":null}", now()).unwrap());
    assert_eq!((&updated["lastName"], &updated["placeOfBirth"]), (&json!("  "), &json!("a\0b")));
}

#[test]
fn documents_then_country_then_country_of_birth_decide_the_language() {
    let world = World::empty();
    let update = |info: Value, body: Value| {
        let record = json!({"id": "a", "type": "individual", "info": info}).to_string();
        import(&world, RecordKind::Applicants, &record).unwrap();
        parsed(&update_info(&world, "a", body.to_string().as_bytes(), now()).unwrap())
    };
    let documents = |codes: &[&str]| codes.iter().map(|code| json!({"country": code})).collect::<Value>();
    for (info, expected) in [
        (json!({}), "Gnatiuk"),
        (json!({"country": "DEU"}), "Gnatiuk"),
        (json!({"countryOfBirth": "UKR", "country": "DEU", "idDocs": documents(&["DEU"])}), "Hnatiuk"),
        (json!({"country": "UKR", "countryOfBirth": "RUS"}), "Hnatiuk"),
        (json!({"country": "RUS", "countryOfBirth": "UKR"}), "Gnatiuk"),
        (json!({"country": "RUS", "idDocs": documents(&["DEU", "UKR"])}), "Hnatiuk"),
        (json!({"country": "UKR", "idDocs": documents(&["RUS", "UKR"])}), "Gnatiuk"),
        (json!({"country": "RUS", "firstName": "Юлія"}), "Hnatiuk"),
    ] {
        let found = update(info.clone(), json!({"lastName": "Гнатюк"}));
        assert_eq!(found["lastNameEn"], json!(expected), "{info}");
    }
    // The other names of the record are also transliterated again, when the evidence about the language changes.
    let info = json!({"lastName": "Гнатюк", "country": "DEU"});
    let found = update(info.clone(), json!({"firstName": "Андрій", "placeOfBirth": "Рогань"}));
    let latin = ["firstNameEn", "lastNameEn", "placeOfBirthEn"].map(|name| found[name].as_str().unwrap());
    assert_eq!(latin, ["Andrii", "Hnatiuk", "Rohan"]);
    let found = update(info, json!({"countryOfBirth": "UKR"}));
    assert_eq!(found["lastNameEn"], json!("Hnatiuk"));
}
