//! Tests of reviews of hits.

use super::*;

fn review_as(store: &Store, name: &str, at: DateTime<Utc>, body: &str) -> Result<Value, DomainError> {
    let request = ReviewRequest {
        applicant_id: "anna",
        clients: Clients::All,
        body: body.as_bytes(),
        token_name: name,
        sees_personal_data: true,
        now: at,
    };
    review_hit_in(store, &request, &|_, _| {}, &mut Room::new(&mut |_| true)).map(|text| parsed(&text))
}

fn review(store: &Store, body: &str) -> Result<Value, DomainError> {
    review_as(store, "app", now(), body)
}

/// Returns a request body that reviews the hit of the sample records. `rest` contains the further members of the body.
fn of_hit(rest: &str) -> String {
    format!(r#"{{"amlCaseId":"aml-2","hitId":"hit-1",{rest}}}"#)
}

/// Returns the review of the hit, as operation 4 shows it.
fn shown(store: &Store, sees_personal_data: bool) -> Value {
    parsed(&aml_case(store, "anna", sees_personal_data).unwrap())["hits"][0]["review"].clone()
}

#[test]
fn a_review_changes_only_its_members_and_operation_4_shows_it() {
    let world = World::new();
    let before = parsed(&aml_case(&world, "anna", true).unwrap());
    let answer = review(&world, &of_hit(r#""matchStatus":"false_positive","reviewerName":"Li""#)).unwrap();
    let expected = json!({
        "matchStatus": "false_positive", "whitelisted": false, "modifiedAt": "2027-01-15 08:00:00",
        "reviewerName": "Li", "reviewedBy": "app", "version": 1,
    });
    assert_eq!(answer, json!({"amlCaseId": "aml-2", "hitId": "hit-1", "review": expected}));
    assert_eq!(shown(&world, true), expected);
    let mut after = parsed(&aml_case(&world, "anna", true).unwrap());
    after["hits"][0]["review"] = before["hits"][0]["review"].clone();
    assert_eq!(after, before, "nothing else has changed");
    // The other member stays, and the name of the app token replaces that of the reviewer.
    review_as(&world, "other", now() + TimeDelta::seconds(1), &of_hit(r#""whitelisted":true"#)).unwrap();
    let expected = json!({
        "matchStatus": "false_positive", "whitelisted": true, "modifiedAt": "2027-01-15 08:00:01",
        "reviewerName": "other", "reviewedBy": "other", "version": 2,
    });
    assert_eq!(shown(&world, true), expected);
    let without = shown(&world, false);
    assert!(without.get("reviewerName").is_none() && without.get("reviewedBy").is_none(), "{without}");
    assert_eq!(without["version"], 2);
    // A hit without a review.
    let case = r#"{"id":"bare","createdAt":"2030-01-01 00:00:00","targetEntityType":"applicant","targetEntityId":"anna",
        "hits":[{"id":"a","score":1.50},{"id":"b","review":null,"extra":[1.0]}]}"#;
    import(&world, RecordKind::AmlCases, case).unwrap();
    review(&world, r#"{"amlCaseId":"bare","hitId":"b","whitelisted":false}"#).unwrap();
    let text = get(&world, "aml-case", "anna\0bare");
    assert!(text.contains(r#"{"id":"a","score":1.50}"#) && text.contains(r#""extra":[1.0]"#), "{text}");
    assert_eq!(parsed(&text)["hits"][1]["review"]["whitelisted"], false);
}

#[test]
fn a_review_of_another_version_or_of_what_is_not_there_is_rejected() {
    let world = World::new();
    let whitelisted = |rest: &str| of_hit(&format!(r#""whitelisted":true{rest}"#));
    let (kind, told) = fault(review(&world, &whitelisted(r#","ifVersion":1"#)));
    assert_eq!(kind, DomainErrorKind::Conflict);
    assert!(told.starts_with("the review of the hit `hit-1` has the version 0, expected 1"), "{told}");
    review(&world, &whitelisted(r#","ifVersion":0"#)).unwrap();
    assert_eq!(fault(review(&world, &whitelisted(r#","ifVersion":0"#))).0, DomainErrorKind::Conflict);
    review(&world, &whitelisted(r#","ifVersion":1"#)).unwrap();
    assert_eq!(shown(&world, true)["version"], 2);
    let not_found = |body: &str, expected: &str| {
        assert_eq!(fault(review(&world, body)), (DomainErrorKind::NotFound, expected.to_owned()), "{body}");
    };
    not_found(r#"{"amlCaseId":"aml-3","hitId":"hit-1","whitelisted":true}"#, "HTTP 404 Not Found");
    not_found(r#"{"amlCaseId":"aml-9","hitId":"hit-1","whitelisted":true}"#, "HTTP 404 Not Found");
    not_found(
        r#"{"amlCaseId":"aml-1","hitId":"hit-1","whitelisted":true}"#,
        "the AML case has no hit with the id `hit-1`",
    );
    for (body, expected) in [
        (r#"{"hitId":"hit-1","whitelisted":true}"#.to_owned(), "found no `amlCaseId`"),
        (r#"{"amlCaseId":"aml-2","whitelisted":true}"#.to_owned(), "found no `hitId`"),
        (
            of_hit(r#""reviewerName":"Li""#),
            "found no `matchStatus`, expected `matchStatus`, `whitelisted`, or both",
        ),
        (of_hit(r#""matchStatus":null"#), "found no `matchStatus`"),
        (of_hit(r#""matchStatus":"false_positiv""#), "did you mean `false_positive`?"),
        (
            of_hit(r#""matchStatus":"open""#),
            "expected one of `unknown`, `potential_match`, `false_positive`, `true_positive`",
        ),
        (of_hit(r#""whitelisted":"true""#), "found a string, expected `true` or `false`"),
        (of_hit(r#""whitelist":true"#), "did you mean `whitelisted`?"),
        (of_hit(r#""whitelisted":true,"whitelisted":false"#), "found `whitelisted` again"),
        (whitelisted(r#","reviewerName":"""#), "found an empty string, expected readable text"),
        (whitelisted(r#","reviewerName":"a\u0007""#), "control character"),
        (whitelisted(r#","ifVersion":-1"#), "found `-1`"),
        (whitelisted(r#","ifVersion":9007199254740992"#), "found `9007199254740992`"),
        ("[]".to_owned(), "found an array"),
    ] {
        let (kind, told) = fault(review(&world, &body));
        assert_eq!(kind, DomainErrorKind::Invalid, "{body}: {told}");
        assert!(told.starts_with("Invalid parameters: ") && told.contains(expected), "{body}: {told}");
    }
    assert_eq!(shown(&world, true)["version"], 2);
}

#[test]
fn concurrent_reviews_are_all_counted() {
    let world = World::new();
    let store = &*world;
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                for _ in 0..5 {
                    let rest = if number % 2 == 0 {
                        r#""matchStatus":"true_positive""#
                    } else {
                        r#""whitelisted":true"#
                    };
                    review(store, &of_hit(rest)).unwrap();
                }
            });
        }
    });
    let after = shown(&world, true);
    assert_eq!(
        (&after["version"], &after["matchStatus"], &after["whitelisted"]),
        (&json!(40), &json!("true_positive"), &json!(true))
    );
}

#[test]
fn an_import_keeps_a_review_unless_its_own_one_is_later() {
    let world = World::new();
    review(&world, &of_hit(r#""matchStatus":"false_positive""#)).unwrap();
    let case = |review: &str| {
        format!(
            r#"{{"id":"aml-2","createdAt":"2026-02-01 10:00:00","targetEntityType":"applicant","targetEntityId":"anna","hits":[{{"id":"hit-2"}},{{"id":"hit-1","name":"new"{review}}}]}}"#
        )
    };
    let own = parsed(&get(&world, "aml-case", "anna\0aml-2"))["hits"][0]["review"].clone();
    for review in [
        "",
        r#","review":null"#,
        r#","review":{"matchStatus":"unknown"}"#,
        r#","review":{"matchStatus":"unknown","modifiedAt":"2027-01-15 08:00:00"}"#,
        r#","review":{"matchStatus":"unknown","modifiedAt":"2027-01-15 09:00:00+0100"}"#,
    ] {
        let imported = import(&world, RecordKind::AmlCases, &case(review)).unwrap();
        let kinds: Vec<ImportNoteKind> = imported.notes.iter().map(|note| note.kind).collect();
        assert_eq!(kinds, [ImportNoteKind::KeptReviews], "{review}");
        assert!(
            imported.notes[0]
                .message
                .contains("AML case `aml-2` of `anna`: kept the client review of 1 hit, `hit-1`")
        );
        let stored = parsed(&get(&world, "aml-case", "anna\0aml-2"));
        assert_eq!(
            (&stored["hits"][1]["review"], &stored["hits"][1]["name"]),
            (&own, &json!("new")),
            "{review}"
        );
        assert!(stored["hits"][0].get("review").is_none());
    }
    let later = r#","review":{"matchStatus":"unknown","modifiedAt":"2027-01-15 08:00:01"}"#;
    let imported = import(&world, RecordKind::AmlCases, &case(later)).unwrap();
    assert_eq!(imported.notes[0].kind, ImportNoteKind::ReplacedReviews);
    let stored = parsed(&get(&world, "aml-case", "anna\0aml-2"));
    // The version is higher, so that a client that has read the earlier review gets an error.
    let expected = json!({"matchStatus": "unknown", "modifiedAt": "2027-01-15 08:00:01", "version": 2});
    assert_eq!(stored["hits"][1]["review"], expected);
    // An import stores an exported record unchanged, in the same database and in another one.
    review(&world, &of_hit(r#""whitelisted":true"#)).unwrap();
    let exported = get(&world, "aml-case", "anna\0aml-2");
    for store in [&world, &World::new()] {
        let imported = import(store, RecordKind::AmlCases, &exported).unwrap();
        assert!(imported.notes.is_empty(), "{imported:?}");
        assert_eq!(get(store, "aml-case", "anna\0aml-2"), exported);
    }
}

#[test]
fn the_version_of_a_hit_is_higher_after_each_change_of_its_review() {
    let world = World::new();
    let case = |id: &str, review: &str| {
        format!(
            r#"{{"id":"aml-2","createdAt":"2026-02-01 10:00:00","targetEntityType":"applicant","targetEntityId":"anna","hits":[{{"id":"{id}"{review}}}]}}"#
        )
    };
    let found = || parsed(&get(&world, "aml-case", "anna\0aml-2"))["hits"][0]["review"].clone();
    let imported = |id: &str, review: &str| {
        let imported = import(&world, RecordKind::AmlCases, &case(id, review)).unwrap();
        imported.notes.iter().map(|note| note.kind).collect::<Vec<_>>()
    };
    // An officer reads version 1, an import replaces the review, and a second officer reviews it.
    review(&world, &of_hit(r#""whitelisted":true"#)).unwrap();
    let later = r#","review":{"matchStatus":"unknown","modifiedAt":"2027-01-15 08:00:01"}"#;
    assert_eq!(imported("hit-1", later), [ImportNoteKind::ReplacedReviews]);
    assert_eq!(found()["version"], 2);
    // The same import again changes nothing.
    for _ in 0..2 {
        assert!(imported("hit-1", later).is_empty());
        assert_eq!(found()["version"], 2);
    }
    assert_eq!(
        fault(review(&world, &of_hit(r#""whitelisted":true,"ifVersion":0"#))).0,
        DomainErrorKind::Conflict
    );
    assert_eq!(
        fault(review(&world, &of_hit(r#""whitelisted":true,"ifVersion":1"#))).0,
        DomainErrorKind::Conflict
    );
    // If a later import replaces a review of an earlier import, it adds no note. The new review gets a higher version.
    assert!(imported("hit-1", r#","review":{"matchStatus":"true_positive"}"#).is_empty());
    assert_eq!(found(), json!({"matchStatus": "true_positive", "version": 3}));
    assert!(imported("hit-1", "").is_empty());
    assert_eq!(found(), json!({"version": 4}));
    review(&world, &of_hit(r#""whitelisted":true,"ifVersion":4"#)).unwrap();
    // If the imported version is higher than the stored version, the review keeps the imported version. If not, the review gets a
    // version above the stored version.
    for (version, expected) in [(9, 9), (2, 10)] {
        let review =
            format!(r#","review":{{"modifiedAt":"2027-01-15 09:00:0{}","version":{version}}}"#, expected % 9);
        imported("hit-1", &review);
        assert_eq!(found()["version"], expected);
    }
    // If an import lacks a hit, it removes the review that a client made of this hit, and adds a note.
    review(&world, &of_hit(r#""whitelisted":true"#)).unwrap();
    assert_eq!(imported("hit-2", ""), [ImportNoteKind::RemovedReviews]);
    // A review with a `version` from a vendor is not treated as a review by a client.
    put(&world, "aml-case", "anna\0aml-2", &case("hit-1", r#","review":{"version":7,"whitelisted":true}"#));
    assert!(imported("hit-1", r#","review":{"version":7,"whitelisted":false}"#).is_empty());
    assert_eq!(found()["whitelisted"], false);
}

#[test]
fn a_review_does_not_make_a_record_larger_than_an_import_accepts() {
    let world = World::new();
    let case = |size: usize| {
        let start = r#"{"id":"aml-2","createdAt":"2026-02-01 10:00:00","targetEntityType":"applicant","targetEntityId":"anna","hits":[{"id":"hit-1"}],"x":""#;
        format!("{start}{}\"}}", "x".repeat(size - start.len() - 2))
    };
    let most = 16 << 20;
    put(&world, "aml-case", "anna\0aml-2", &case(most));
    let (kind, told) = fault(review(&world, &of_hit(r#""whitelisted":true"#)));
    assert_eq!(kind, DomainErrorKind::Invalid);
    assert!(
        told.ends_with("and may have at most 16777216; nothing was changed, send shorter texts"),
        "{told}"
    );
    assert_eq!(get(&world, "aml-case", "anna\0aml-2").len(), most);
    put(&world, "aml-case", "anna\0aml-2", &case(most - 400));
    review(&world, &of_hit(r#""whitelisted":true"#)).unwrap();
    let exported = get(&world, "aml-case", "anna\0aml-2");
    import(&world, RecordKind::AmlCases, &exported).unwrap();
    let name =
        |bytes: usize| of_hit(&format!(r#""whitelisted":true,"reviewerName":"{}""#, "n".repeat(bytes)));
    review(&world, &name(256)).unwrap();
    let (_, told) = fault(review(&world, &name(257)));
    assert!(told.contains("found a string of 257 bytes, expected at most 256 bytes"), "{told}");
}

#[test]
fn a_review_without_memory_changes_nothing() {
    let world = World::new();
    let before = get(&world, "aml-case", "anna\0aml-2");
    let request = ReviewRequest {
        applicant_id: "anna",
        clients: Clients::All,
        body: br#"{"amlCaseId":"aml-2","hitId":"hit-1","whitelisted":true}"#,
        token_name: "app",
        sees_personal_data: true,
        now: now(),
    };
    let mut has_room = |_| false;
    let answer = review_hit_in(&world, &request, &|_, _| {}, &mut Room::new(&mut has_room));
    assert_eq!(fault(answer).0, DomainErrorKind::Busy);
    assert_eq!(get(&world, "aml-case", "anna\0aml-2"), before);
}
