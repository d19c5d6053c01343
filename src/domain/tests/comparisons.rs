//! Tests of comparisons of `info` with `fixedInfo`.

use super::*;

fn compare(store: &Store, id: &str, sees_personal_data: bool, fields: &[&str]) -> Result<Value, DomainError> {
    let fields: Vec<String> = fields.iter().map(|list| (*list).to_owned()).collect();
    let mut has_room = |_| true;
    let room = &mut Room::new(&mut has_room);
    compare_info_in(store, id, (Clients::All, sees_personal_data), &fields, room).map(|text| parsed(&text))
}

const INDIVIDUAL: [&str; 8] = [
    "firstName",
    "lastName",
    "aliasName",
    "dob",
    "country",
    "placeOfBirth",
    "countryOfBirth",
    "stateOfBirth",
];

#[test]
fn fields_that_differ_are_listed_with_their_values() {
    let world = World::new();
    let applicant = r#"{"id":"a","type":"individual",
        "info":{"firstName":"A\u00e9","lastName":"Li","dob":"1990-01-01","country":"RKS","stateOfBirth":null,"firstNameEn":"AE"},
        "fixedInfo":{"firstName":"Ae\u0301","lastName":"Li","placeOfBirth":"Bonn","country":"XKX","stateOfBirth":null,"nick":"x"}}"#;
    import(&world, RecordKind::Applicants, applicant).unwrap();
    let differences = json!([
        {"field": "firstName", "kind": "different", "info": "A\u{e9}", "fixedInfo": "Ae\u{301}"},
        {"field": "dob", "kind": "notInFixedInfo", "info": "1990-01-01"},
        {"field": "placeOfBirth", "kind": "notInInfo", "fixedInfo": "Bonn"},
    ]);
    assert_eq!(
        compare(&world, "a", true, &[]).unwrap(),
        json!({"compared": INDIVIDUAL, "differences": differences})
    );
    // Without the permission, the fields are shown, but not their values.
    let without = json!([
        {"field": "firstName", "kind": "different"},
        {"field": "dob", "kind": "notInFixedInfo"},
        {"field": "placeOfBirth", "kind": "notInInfo"},
    ]);
    for fields in [&[][..], &[""]] {
        assert_eq!(compare(&world, "a", false, fields).unwrap()["differences"], without);
    }
    let named =
        compare(&world, "a", true, &["placeOfBirth,firstNameEn,,placeOfBirth,companyInfo.taxId"]).unwrap();
    let expected = json!({
        "compared": ["firstNameEn", "placeOfBirth", "companyInfo.taxId"],
        "differences": [
            {"field": "firstNameEn", "kind": "notInFixedInfo", "info": "AE"},
            {"field": "placeOfBirth", "kind": "notInInfo", "fixedInfo": "Bonn"},
        ],
    });
    assert_eq!(named, expected);
    // An applicant without data.
    let none = json!({"compared": INDIVIDUAL, "differences": []});
    assert_eq!(compare(&world, "nomad", true, &[]).unwrap(), none);
}

#[test]
fn company_data_are_compared() {
    let world = World::new();
    let firm = r#"{"id":"f","type":"company",
        "info":{"companyInfo":{"companyName":"One","taxId":"1","email":"a@b.example","country":"DEU"}},
        "fixedInfo":{"companyInfo":{"companyName":"One Ltd","taxId":"1","email":"c@b.example"}}}"#;
    import(&world, RecordKind::Applicants, firm).unwrap();
    let found = compare(&world, "f", false, &[]).unwrap();
    assert_eq!(found["compared"].as_array().unwrap().len(), 10);
    let expected = json!([
        {"field": "companyInfo.companyName", "kind": "different", "info": "One", "fixedInfo": "One Ltd"},
        {"field": "companyInfo.country", "kind": "notInFixedInfo", "info": "DEU"},
        {"field": "companyInfo.email", "kind": "different"},
    ]);
    assert_eq!(found["differences"], expected);
    // Members that are not compared may be deeply nested.
    let deep = format!("{}{}", "[".repeat(125), "]".repeat(125));
    let firm = firm.replacen("{\"companyName\"", &format!("{{\"x\":{deep},\"companyName\""), 2);
    import(&world, RecordKind::Applicants, &firm).unwrap();
    assert_eq!(compare(&world, "f", false, &[]).unwrap(), found);
    let whole = compare(&world, "f", true, &["companyInfo.email"]).unwrap();
    assert_eq!(whole["differences"][0]["fixedInfo"], "c@b.example");
}

#[test]
fn given_data_of_a_company_may_be_members_of_fixed_info() {
    let world = World::new();
    let found = compare(&world, "firm-two", false, &[]).unwrap();
    let missing = json!([{"field": "companyInfo.companyName", "kind": "notInInfo", "fixedInfo": "Two Ltd"}]);
    assert_eq!(found["differences"], missing);
    // In `fixedInfo`, a member of `companyInfo` takes precedence over a direct member, and a `null` there counts as absent. In
    // `info`, direct members are ignored.
    let firm = r#"{"id":"f","type":"company",
        "info":{"taxId":"9","companyInfo":{"companyName":"One","country":"DEU","type":"Ltd"}},
        "fixedInfo":{"companyName":"x","country":"FRA","taxId":"1","type":"Ltd","companyInfo":{"companyName":"One","country":null}}}"#;
    import(&world, RecordKind::Applicants, firm).unwrap();
    let expected = json!([
        {"field": "companyInfo.country", "kind": "different", "info": "DEU", "fixedInfo": "FRA"},
        {"field": "companyInfo.taxId", "kind": "notInInfo", "fixedInfo": "1"},
    ]);
    assert_eq!(compare(&world, "f", false, &[]).unwrap()["differences"], expected);
    // The `country` of an individual is not that of a company.
    let person = firm.replace("company\",", "individual\",").replace("\"f\"", "\"p\"");
    import(&world, RecordKind::Applicants, &person).unwrap();
    let found = compare(&world, "p", true, &["companyInfo.country"]).unwrap();
    assert_eq!(found["differences"][0]["kind"], "notInFixedInfo");
}

#[test]
fn numbers_out_of_range_do_not_hide_other_members() {
    let world = World::new();
    let firm = r#"{"id":"f","type":"company","info":{"companyInfo":{"revenue":1e999,"companyName":"One"}},
        "fixedInfo":{"companyInfo":{"x":-1e999,"companyName":"Two"}}}"#;
    import(&world, RecordKind::Applicants, firm).unwrap();
    let expected =
        json!([{"field": "companyInfo.companyName", "kind": "different", "info": "One", "fixedInfo": "Two"}]);
    assert_eq!(compare(&world, "f", false, &[]).unwrap()["differences"], expected);
    // A damaged record is an error.
    put(&world, "applicant", "f", r#"{"id":"f","type":"company","info":{"companyInfo":{"a" 1}}}"#);
    assert_eq!(fault(compare(&world, "f", false, &[])).0, DomainErrorKind::Store);
}

#[test]
fn unknown_fields_and_applicants_are_errors() {
    let world = World::new();
    for (fields, expected) in [
        (&["lastNam"][..], "fields (byte 0): found `lastNam`, expected a field that can be compared"),
        (&["lastName,lastNam"], "did you mean `lastName`?"),
        (&["info.lastName"], "found `info.lastName`"),
        (&["idDocs"], "found `idDocs`"),
        (&[" lastName"], "found ` lastName`"),
        (&["lastName", "dob"], "found `dob` again"),
        (&["", ""], "again"),
    ] {
        let (kind, told) = fault(compare(&world, "anna", true, fields));
        assert_eq!(kind, DomainErrorKind::Invalid, "{told}");
        assert!(told.starts_with("Invalid parameters: ") && told.contains(expected), "{told}");
    }
    let long = "x,".repeat(100_000);
    assert!(fault(compare(&world, "anna", true, &[&long])).1.len() < 1000);
    assert_eq!(
        fault(compare(&world, "nobody", true, &[])),
        (DomainErrorKind::NotFound, "no applicant with the id `nobody`".to_owned())
    );
}

/// Checks that the answers contain exactly the differences that the test itself computes from the values in the record.
#[test]
fn comparisons_agree_with_a_plain_one() {
    let world = World::new();
    let values = [None, Some("a"), Some("b"), Some("")];
    for (number, (own, given)) in
        values.iter().flat_map(|own| values.iter().map(move |given| (own, given))).enumerate()
    {
        let of = |value: &Option<&str>| match value {
            Some(value) => json!({"lastName": value, "aliasName": value}),
            None => json!({"lastName": null}),
        };
        let record = json!({"id": format!("p{number}"), "type": "individual", "info": of(own), "fixedInfo": of(given)});
        import(&world, RecordKind::Applicants, &record.to_string()).unwrap();
        let found = compare(&world, &format!("p{number}"), true, &[]).unwrap();
        let mut expected = Vec::new();
        for field in ["lastName", "aliasName"] {
            let kind = match (own, given) {
                (None, None) => continue,
                (Some(own), Some(given)) if own == given => continue,
                (Some(_), Some(_)) => "different",
                (Some(_), None) => "notInFixedInfo",
                (None, Some(_)) => "notInInfo",
            };
            let mut difference = json!({"field": field, "kind": kind});
            if let Some(own) = own {
                difference["info"] = json!(own);
            }
            if let Some(given) = given {
                difference["fixedInfo"] = json!(given);
            }
            expected.push(difference);
        }
        assert_eq!(found["differences"], json!(expected), "{record}");
    }
}
