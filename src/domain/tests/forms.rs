//! Tests that records in alternative accepted forms are served in the form of the interface document.

use super::*;

#[test]
fn every_time_is_served_in_the_form_of_the_interface_document() {
    let world = World::empty();
    let applicant = concat!(
        r#"{"id":"a","type":"individual","createdAt":"2024-01-01 02:00:00+0200","review":"#,
        r#"{"createDate":"2024-01-01 00:00:00","reviewDate":"2024-01-01 05:30:00+05:30"}}"#
    );
    let imported = import(&world, RecordKind::Applicants, applicant).unwrap();
    assert_eq!((imported.stored, imported.times_without_zone), (1, 1));
    let expected = json!({"id": "a", "type": "individual", "createdAt": "2024-01-01 00:00:00", "review":
        {"createDate": "2024-01-01 00:00:00+0000", "reviewDate": "2024-01-01 05:30:00+0530"}});
    assert_eq!(parsed(&preview_of(&world, "a")), expected);
    // An earlier version stored the record in the following form.
    put(
        &world,
        "applicant",
        "old",
        &applicant.replace("\"a\"", "\"old\"").replace("02:00:00+0200", "00:00:00"),
    );
    assert_eq!(parsed(&preview_of(&world, "old"))["review"], expected["review"]);

    let cases = concat!(
        r#"{"id":"m1","createdAt":"2026-01-01 01:00:00+0200","targetEntityType":"applicant","targetEntityId":"a"}"#,
        "\n",
        r#"{"id":"m0","createdAt":"2026-01-01 02:00:00+02:00","targetEntityType":"applicant","targetEntityId":"a","#,
        r#""hits":[{"id":"h","monitoringUpdatedAt":"2026-01-01 02:00:00+0200","#,
        r#""sources":[{"startDate":"2026-01-01 02:00:00+0200","endDate":"2026-01-01 00:00:00","#,
        r#""publishedDate":"2025-12-31 23:00:00-0100"}],"review":{"modifiedAt":"2026-01-01 02:00:00+0200"}}]}"#
    );
    assert_eq!(import(&world, RecordKind::AmlCases, cases).unwrap().times_without_zone, 0);
    let time = "2026-01-01 00:00:00";
    // The other case is an hour earlier, although its text sorts after the text of this case.
    let expected = json!({"id": "m0", "createdAt": time, "targetEntityType": "applicant", "targetEntityId": "a",
        "hits": [{"id": "h", "monitoringUpdatedAt": time, "review": {"modifiedAt": time},
            "sources": [{"startDate": time, "endDate": time, "publishedDate": time}]}]});
    assert_eq!(parsed(&aml_case(&world, "a", true).unwrap()), expected);
}

/// Collects the paths of the nulls in a value.
fn nulls(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Null => found.push(path.to_owned()),
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| nulls(value, &format!("{path}.{key}"), found));
        }
        Value::Array(elements) => elements.iter().for_each(|value| nulls(value, &format!("{path}[]"), found)),
        _ => {}
    }
}

fn nulls_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    nulls(&parsed(text), "", &mut found);
    found
}

#[test]
fn answers_have_no_nulls_except_for_a_step_without_data() {
    let world = World::empty();
    let level = r#"{"name":"l","type":null,"docSets":[{"idDocSetType":"IDENTITY","types":null,"videoRequired":null},{"idDocSetType":"SELFIE"},{"idDocSetType":"APPLICANT_DATA","fields":["firstName","lastName"]}]}"#;
    import(&world, RecordKind::Levels, level).unwrap();
    let applicant = r#"{"id":"a","type":"individual","email":null,"lang":null,"agreement":{"items":[{"id":null,"source":"x"}],"source":null},"info":{"firstName":"A","lastName":null,"idDocs":[{"number":null,"own":[1,null,{"x":null,"y":[null]}]}],"more":{"x":null}},"fixedInfo":{"firstName":"A","lastName":null},"requiredIdDocs":null,"review":{"levelName":"l","reviewResult":null,"priority":null}}"#;
    import(&world, RecordKind::Applicants, applicant).unwrap();
    let document = r#"{"id":"d","applicantId":"a","step":"IDENTITY","createdAt":"2026-01-01 00:00:00","country":null,"part":null,"reviewResult":null,"images":[{"imageId":"i","active":null,"idDocSubType":null,"reviewResult":{"reviewAnswer":"RED","moderationComment":null,"rejectLabels":null,"own":{"x":null}}},{"imageId":"j","reviewResult":null}]}"#;
    import(&world, RecordKind::Documents, document).unwrap();
    let case = r#"{"id":"m","createdAt":"2026-01-01 00:00:00","targetEntityType":"applicant","targetEntityId":"a","active":null,"vendorInfo":null,"riskLabels":null,"hits":[{"id":"h","review":{"reviewerName":null,"whitelisted":null},"sources":null,"vendorInfo":{"attributes":null,"nameMatchScore":null}}],"own":[null,{"x":null}]}"#;
    import(&world, RecordKind::AmlCases, case).unwrap();

    let status = step_status(&world, "a").unwrap();
    assert_eq!(nulls_of(&status), [".SELFIE"]);
    // A member of `fixedInfo` that is `null` does not count as given.
    assert_eq!(parsed(&status)["APPLICANT_DATA"]["partialCompletion"], json!(false));
    let shown = parsed(&preview_of(&world, "a"));
    let expected = json!({"id": "a", "type": "individual", "agreement": {"items": [{"source": "x"}]},
        "info": {"firstName": "A", "idDocs": [{}]}, "review": {"levelName": "l"},
        "requiredIdDocs": {"docSets": [{"idDocSetType": "IDENTITY"}, {"idDocSetType": "SELFIE"}, {"idDocSetType": "APPLICANT_DATA"}]}});
    assert_eq!(shown, expected);
    for sees_personal_data in [false, true] {
        let expected = json!({"id": "m", "createdAt": "2026-01-01 00:00:00", "targetEntityType": "applicant",
            "targetEntityId": "a", "hits": [{"id": "h", "review": {}, "vendorInfo": {}}], "own": [{}]});
        assert_eq!(parsed(&aml_case(&world, "a", sees_personal_data).unwrap()), expected);
    }
    let info = update_info(&world, "a", b"{\"stateOfBirth\":\"NY\"}", now()).unwrap();
    let expected = json!({"firstName": "A", "firstNameEn": "A", "stateOfBirth": "NY",
        "idDocs": [{"own": [1, {"y": []}]}], "more": {}});
    assert_eq!(parsed(&info), expected);

    put(
        &world,
        "aml-case",
        "a\0z",
        &case.replace("\"m\"", "\"z\"").replace("\"hits\":[", "\"hits\":null,\"x\":["),
    );
    assert_eq!(nulls_of(&aml_case(&world, "a", true).unwrap()), Vec::<String>::new());
}

#[test]
fn integers_are_accepted_as_ids_and_served_as_strings() {
    let world = World::empty();
    import(&world, RecordKind::Levels, r#"{"name":7,"docSets":[{"idDocSetType":"IDENTITY"},{"idDocSetType":"QUESTIONNAIRE","questionnaireId":3}]}"#).unwrap();
    let applicant = r#"{"id":123456789012345678901234567890,"type":"individual","externalUserId":42,"clientId":-1,"questionnaires":[{"id":3}],"agreement":{"recordIds":[5,"6"]},"review":{"levelName":7,"reviewId":8}}"#;
    import(&world, RecordKind::Applicants, applicant).unwrap();
    let id = "123456789012345678901234567890";
    let document = format!(
        r#"{{"id":1,"applicantId":{id},"step":"IDENTITY","createdAt":"2026-01-01 00:00:00","images":[{{"imageId":1877093411,"idDocSubType":"FRONT_SIDE","reviewResult":{{"reviewAnswer":"RED","buttonIds":[9]}}}},{{"imageId":"x"}}]}}"#
    );
    import(&world, RecordKind::Documents, &document).unwrap();
    let case = format!(
        r#"{{"id":11,"createdAt":"2026-01-01 00:00:00","targetEntityType":"applicant","targetEntityId":"{id}","hits":[{{"id":12}}]}}"#
    );
    import(&world, RecordKind::AmlCases, &case).unwrap();
    let status = parsed(&step_status(&world, id).unwrap());
    let identity = &status["IDENTITY"];
    assert_eq!(identity["imageIds"], json!(["1877093411", "x"]));
    assert_eq!(identity["imageStatuses"][0]["imageId"], json!("1877093411"));
    assert_eq!(identity["imageReviewResults"]["1877093411"]["buttonIds"], json!(["9"]));
    assert_eq!(status["QUESTIONNAIRE"]["partialCompletion"], json!(true));
    let shown = parsed(&preview_of(&world, id));
    assert_eq!((&shown["id"], &shown["externalUserId"]), (&json!(id), &json!("42")));
    assert_eq!((&shown["clientId"], &shown["review"]["reviewId"]), (&json!("-1"), &json!("8")));
    assert_eq!(shown["agreement"]["recordIds"], json!(["5", "6"]));
    let case = parsed(&aml_case(&world, id, true).unwrap());
    assert_eq!((&case["id"], &case["hits"][0]["id"]), (&json!("11"), &json!("12")));
    // The same id, written as a string, refers to the same record.
    assert_eq!(
        import(&world, RecordKind::Applicants, &applicant.replace(id, &format!("\"{id}\"")))
            .unwrap()
            .replaced,
        1
    );
    let twice = document.replace("\"x\"", "\"1877093411\"");
    assert!(
        import(&world, RecordKind::Documents, &twice).unwrap_err().to_string().contains("`1877093411` again")
    );
    for other in ["1.5", "1e3", "true", "[1]"] {
        let error =
            import(&world, RecordKind::Documents, &document.replace("1877093411", other)).unwrap_err();
        assert!(error.to_string().contains("images[0].imageId"), "{error}");
    }
}

#[test]
fn imports_accept_codes_of_travel_documents_and_updates_do_not() {
    let world = World::empty();
    let level = r#"{"name":"l","docSets":[{"idDocSetType":"IDENTITY","countries":["DEU","XKX","XXA"]}]}"#;
    import(&world, RecordKind::Levels, level).unwrap();
    let applicant = r#"{"id":"a","type":"individual","info":{"country":"RKS","countryOfBirth":"UNO","idDocs":[{"country":"D<<"}]},"review":{"levelName":"l"}}"#;
    import(&world, RecordKind::Applicants, applicant).unwrap();
    assert_eq!(
        parsed(&preview_of(&world, "a"))["info"],
        json!({"country": "RKS", "idDocs": [{"country": "DEU"}]})
    );
    for (code, served, is_forbidden) in [
        ("D", "DEU", false),
        ("RKS", "RKS", false),
        ("XKX", "XKX", false),
        ("XXA", "XXA", false),
        ("XXB", "XXB", true),
        ("GBN", "GBN", true),
        ("FRA", "FRA", true),
    ] {
        let document = r#"{"id":"d","applicantId":"a","step":"IDENTITY","createdAt":"2026-01-01 00:00:00","country":"CODE","images":[{"imageId":"i"}]}"#;
        import(&world, RecordKind::Documents, &document.replace("CODE", code)).unwrap();
        let status = parsed(&step_status(&world, "a").unwrap());
        let identity = &status["IDENTITY"];
        assert_eq!(
            (&identity["country"], &identity["forbidden"]),
            (&json!(served), &json!(is_forbidden)),
            "{code}"
        );
        let body = format!("{{\"countryOfBirth\":\"{code}\"}}");
        assert_eq!(update_info(&world, "a", body.as_bytes(), now()).is_ok(), code == "FRA", "{code}");
    }
}
