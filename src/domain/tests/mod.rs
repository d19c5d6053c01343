//! Tests of operations 2 to 5 with the sample records in `tests/data/domain`, and with hostile input.

mod changes;
mod clients;
mod companies;
mod comparisons;
mod copies;
mod docs;
mod erasures;
mod export;
mod forms;
mod lenient;
mod levels;
mod names;
mod reviews;
mod room;
mod shares;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::catalog::Catalog;
use crate::engine::ImportMode;
use crate::error::ErrorKind;
use crate::store::{Store, StoreError, StoreErrorKind, StoreOptions};

const SAMPLES: [(RecordKind, &str, u64); 4] = [
    (RecordKind::Levels, include_str!("../../../tests/data/domain/levels.ndjson"), 5),
    (RecordKind::Applicants, include_str!("../../../tests/data/domain/applicants.ndjson"), 9),
    (RecordKind::Documents, include_str!("../../../tests/data/domain/documents.ndjson"), 19),
    (RecordKind::AmlCases, include_str!("../../../tests/data/domain/aml-cases.ndjson"), 6),
];

struct World {
    folder: TempDir,
    store: Option<Store>,
}

impl World {
    fn empty() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::create(folder.path().join("db"), Catalog::cases(), StoreOptions::default());
        Self { folder, store: Some(store.unwrap()) }
    }

    fn new() -> Self {
        let world = Self::empty();
        for (kind, text, count) in SAMPLES {
            let imported = import(&world, kind, text).unwrap();
            assert_eq!((imported.stored, imported.replaced), (count, 0), "{kind:?}");
        }
        world
    }

    fn reopen(&mut self) {
        self.store = None;
        let store = Store::open(self.folder.path().join("db"), Catalog::cases(), StoreOptions::default());
        self.store = Some(store.unwrap());
    }
}

impl std::ops::Deref for World {
    type Target = Store;

    fn deref(&self) -> &Store {
        self.store.as_ref().unwrap()
    }
}

fn import(store: &Store, kind: RecordKind, text: &str) -> Result<RecordImportReport, StoreError> {
    import_records(store, kind, |import| {
        import.source("file")?;
        text.as_bytes().chunks(7).try_for_each(|chunk| import.push(chunk))
    })
}

fn import_leniently(store: &Store, kind: RecordKind, text: &str) -> RecordImportReport {
    let imported = import_records_in(store, kind, ImportMode::Lenient, |import| {
        import.source("file")?;
        import.push(text.as_bytes())
    });
    imported.unwrap_or_else(|error: StoreError| panic!("{error}"))
}

/// Stores a record without checking it, as an earlier version may have done.
fn put(store: &Store, kind: &str, key: &str, text: &str) {
    store.write_records(|records| records.put(kind, key, text).map(drop)).unwrap();
}

fn get(store: &Store, kind: &str, key: &str) -> String {
    store.records().unwrap().get(kind, key).unwrap().unwrap()
}

/// Returns the preview of an applicant, through a new share token.
fn preview_of(store: &Store, id: &str) -> String {
    let token = create_share_token(store, id, TimeDelta::hours(1), now()).unwrap();
    preview(store, &token, now()).unwrap()
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns the kind and the description of the error.
fn fault<T: std::fmt::Debug>(result: Result<T, DomainError>) -> (DomainErrorKind, String) {
    let error = result.unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn each_applicant_has_the_status_that_the_rules_give() {
    let world = World::new();
    for line in include_str!("../../../tests/data/domain/status.ndjson").lines() {
        let expected = parsed(line);
        let id = expected["applicantId"].as_str().unwrap();
        let found = step_status(&world, id).unwrap();
        assert_eq!(parsed(&found), expected["status"], "{id}: {}", expected["why"]);
    }
    // The keys are in the order of the level. Numbers keep their spelling.
    let found = step_status(&world, "boris").unwrap();
    assert!(
        found.find("APPLICANT_DATA") < found.find("IDENTITY") && found.contains("\"score\":0.250"),
        "{found}"
    );
    let (kind, text) = fault(step_status(&world, "no\u{1b}body"));
    assert_eq!(kind, DomainErrorKind::NotFound);
    assert_eq!(text, "no applicant with the id `no\\u{1b}body`");
}

#[test]
fn the_aml_case_is_the_latest_active_one_and_whole() {
    let world = World::new();
    let stored = SAMPLES[3].1.lines().nth(1).unwrap();
    assert_eq!(aml_case(&world, "anna", true).unwrap(), stored);
    let redacted = aml_case(&world, "anna", false).unwrap();
    let mut expected = parsed(stored);
    let hit = &mut expected["hits"][0];
    hit["review"].as_object_mut().unwrap().remove("reviewerName").unwrap();
    hit["vendorInfo"].as_object_mut().unwrap().remove("attributes").unwrap();
    hit["vendorInfo"].as_object_mut().unwrap().remove("clusteredLinks").unwrap();
    assert_eq!(parsed(&redacted), expected);
    assert!(
        redacted.contains("\"nameMatchScore\":97.50") && redacted.contains("\"vendorRank\":1e2"),
        "{redacted}"
    );
    // Two cases have the same time. The case with the greater id is served, without `active`.
    let latest = parsed(&aml_case(&world, "boris", false).unwrap());
    assert_eq!((&latest["id"], latest.get("active")), (&json!("aml-9"), None));
    for id in ["chen", "dana", "nobody", "", "anna\0aml-1"] {
        let (kind, text) = fault(aml_case(&world, id, true));
        assert_eq!((kind, &*text), (DomainErrorKind::NotFound, "HTTP 404 Not Found"), "{id}");
    }
}

#[test]
fn a_share_token_previews_until_it_is_used_or_expires() {
    let mut world = World::new();
    let hour = TimeDelta::hours(1);
    let token = create_share_token(&world, "anna", hour, now()).unwrap();
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    let other = create_share_token(&world, "boris", hour, now()).unwrap();
    assert_ne!(token, other);
    let stored = world.records().unwrap().with_prefix("share-token", "").unwrap();
    assert!(stored.len() == 2 && !stored.iter().any(|(key, text)| key == &token || text.contains(&token)));
    let wrong = (DomainErrorKind::Unauthorized, "the share token is invalid".to_owned());
    for text in ["", "nothing", &token[1..], &token.to_uppercase(), &"x".repeat(100_000)] {
        assert_eq!(fault(preview(&world, text, now())), wrong);
        assert_eq!(fault(redeem_share_token(&world, text, now())), wrong);
    }
    let just_before = now() + hour - TimeDelta::milliseconds(1);
    let shown = preview(&world, &token, just_before).unwrap();
    assert_eq!(preview(&world, &token, now()).unwrap(), shown);
    assert_eq!(fault(preview(&world, &token, now() + hour)), wrong);
    assert_eq!(fault(redeem_share_token(&world, &token, now() + hour)), wrong);
    world.reopen();
    assert_eq!(redeem_share_token(&world, &token, just_before).unwrap(), "anna");
    world.reopen();
    assert_eq!(fault(redeem_share_token(&world, &token, now())), wrong);
    assert_eq!(fault(preview(&world, &token, now())), wrong);
    assert!(preview(&world, &other, now()).is_ok());
    // Creating the next token removes an expired token.
    create_share_token(&world, "anna", hour, now() + hour).unwrap();
    assert_eq!(world.records().unwrap().with_prefix("share-token", "").unwrap().len(), 1);
    assert_eq!(fault(create_share_token(&world, "nobody", hour, now())).0, DomainErrorKind::NotFound);
    for lifetime in [TimeDelta::zero(), -hour, TimeDelta::MAX] {
        assert_eq!(fault(create_share_token(&world, "anna", lifetime, now())).0, DomainErrorKind::Invalid);
    }
}

#[test]
fn concurrent_callers_use_a_token_once() {
    let world = World::new();
    let token = create_share_token(&world, "anna", TimeDelta::hours(1), now()).unwrap();
    let store: &Store = &world;
    let used = std::thread::scope(|scope| {
        let tries: Vec<_> =
            (0..4).map(|_| scope.spawn(|| redeem_share_token(store, &token, now()).is_ok())).collect();
        tries.into_iter().map(|own| own.join().unwrap()).filter(|is_used| *is_used).count()
    });
    assert_eq!(used, 1);
}

#[test]
fn a_preview_has_the_members_of_the_interface_document_and_no_others() {
    let world = World::new();
    let token = create_share_token(&world, "anna", TimeDelta::hours(1), now()).unwrap();
    let shown = parsed(&preview(&world, &token, now()).unwrap());
    let stored = parsed(SAMPLES[1].1.lines().next().unwrap());
    let mut expected = stored.clone();
    for outside in ["phone", "fixedInfo", "questionnaires", "internalScore"] {
        assert!(expected.as_object_mut().unwrap().remove(outside).is_some(), "{outside}");
    }
    for outside in ["placeOfBirth", "countryOfBirth"] {
        assert!(expected["info"].as_object_mut().unwrap().remove(outside).is_some(), "{outside}");
    }
    expected["info"]["idDocs"][0].as_object_mut().unwrap().remove("scanScore").unwrap();
    expected["review"]["reviewResult"].as_object_mut().unwrap().remove("moderatorNames").unwrap();
    // The steps are copied from the level, with the members of the preview's schema.
    expected["requiredIdDocs"] = json!({"docSets": [
        {"idDocSetType": "APPLICANT_DATA"},
        {"idDocSetType": "IDENTITY", "types": ["PASSPORT", "ID_CARD", "DRIVERS"], "videoRequired": "disabled",
         "nfcVerificationSettings": {"mode": "disabled"}},
        {"idDocSetType": "SELFIE", "types": ["SELFIE"], "videoRequired": "passiveLiveness"},
        {"idDocSetType": "PROOF_OF_RESIDENCE", "types": ["UTILITY_BILL", "BANK_STATEMENT"]},
        {"idDocSetType": "QUESTIONNAIRE"},
        {"idDocSetType": "PHONE_VERIFICATION"},
    ]});
    assert_eq!(shown, expected);
    let token = create_share_token(&world, "nomad", TimeDelta::hours(1), now()).unwrap();
    let expected = json!({"id": "nomad", "createdAt": "2026-03-08 09:00:00", "type": "individual"});
    assert_eq!(parsed(&preview(&world, &token, now()).unwrap()), expected);
}

#[test]
fn an_update_sets_clears_and_transliterates_and_leaves_the_rest() {
    let mut world = World::new();
    let update = |world: &World, id: &str, body: &str| update_info(world, id, body.as_bytes(), now());
    let info = update(&world, "anna", r#"{"lastName":"Öst\"berg","dob":"1991-01-02","placeOfBirth":"Київ"}"#)
        .unwrap();
    let found = parsed(&info);
    assert_eq!((&found["lastName"], &found["lastNameEn"]), (&json!("Öst\"berg"), &json!("Oest\"berg")));
    assert_eq!((&found["firstName"], &found["firstNameEn"]), (&json!("Änne"), &json!("Aenne")));
    assert_eq!((&found["placeOfBirthEn"], &found["dob"]), (&json!("Kyiv"), &json!("1991-01-02")));
    assert!(info.contains("\"scanScore\":0.970"), "{info}");
    world.reopen();
    let again = update(&world, "anna", r#" {"placeOfBirth" : null, "stateOfBirth":"NRW"} "#).unwrap();
    let mut expected = found;
    let members = expected.as_object_mut().unwrap();
    members.remove("placeOfBirth");
    members.remove("placeOfBirthEn");
    members.insert("stateOfBirth".to_owned(), json!("NRW"));
    assert_eq!(parsed(&again), expected);
    // The other members of the applicant are unchanged.
    let stored = world.records().unwrap().get("applicant", "anna").unwrap().unwrap();
    assert!(stored.contains("\"internalScore\":1.50") && stored.contains(&again), "{stored}");
    let mut expected = parsed(SAMPLES[1].1.lines().next().unwrap());
    expected["info"] = parsed(&again);
    let time = "2027-01-15 08:00:00+0000";
    expected["infoChangedAt"] =
        json!({"lastName": time, "dob": time, "placeOfBirth": time, "stateOfBirth": time});
    assert_eq!(parsed(&stored), expected);
    // An applicant without `info` gets an `info`. Clearing an absent member is not an error.
    assert_eq!(
        update(&world, "dana", r#"{"firstName":"Ян","dob":null}"#).unwrap(),
        r#"{"firstName":"Ян","firstNameEn":"Ian"}"#
    );
    assert_eq!(update(&world, "dana", r#"{"firstName":null}"#).unwrap(), "{}");
}

#[test]
fn an_invalid_body_is_rejected_with_the_place_of_each_error_and_changes_nothing() {
    let world = World::new();
    let stored = || world.records().unwrap().with_prefix("applicant", "").unwrap();
    let before = stored();
    let late = DateTime::parse_from_rfc3339("2026-11-21T23:59:59Z").unwrap().to_utc();
    let long = format!("{{\"firstName\":\"{}\"}}", "x".repeat(4097));
    let deep = format!("{{\"firstName\":{}1{}}}", "[".repeat(200_000), "]".repeat(200_000));
    let huge = format!("{{\"firstName\":\"{}\"}}", "x".repeat(5 << 20));
    for (body, expected) in [
        ("", "(byte 0): found the end of the text, expected a JSON value"),
        ("[]", "(byte 0): found an array, expected an object with any of `firstName`"),
        ("{}", "(byte 0): found an empty object, expected any of `firstName`"),
        ("{\"firstName\":\"a\"}x", "(byte 17): found `x`, expected nothing after the value"),
        (r#"{"firstname":"a"}"#, "firstname (byte 1): found `firstname`, expected one of `firstName`"),
        (r#"{"firstNameEn":"a"}"#, "firstNameEn (byte 1): found `firstNameEn`"),
        (r#"{"lastName":"a","lastName":"b"}"#, "lastName (byte 16): found `lastName` again"),
        (r#"{"lastName":7}"#, "lastName (byte 12): found a number, expected a string or null"),
        (
            r#"{"dob":"2026-11-22"}"#,
            "dob (byte 7): found `2026-11-22`, expected a date that is not in the future",
        ),
        (r#"{"dob":"2025-02-29"}"#, "dob (byte 7): found `2025-02-29`, expected a date `yyyy-MM-dd`"),
        (r#"{"dob":"2025-2-01"}"#, "dob (byte 7)"),
        (r#"{"dob":"+025-02-01"}"#, "dob (byte 7)"),
        (r#"{"dob":""}"#, "dob (byte 7)"),
        (
            r#"{"countryOfBirth":"DE"}"#,
            "countryOfBirth (byte 18): found `DE`, expected an ISO 3166-1 alpha-3 code",
        ),
        (r#"{"countryOfBirth":"deu"}"#, "countryOfBirth (byte 18): found `deu`"),
        (r#"{"countryOfBirth":"XYZ"}"#, "countryOfBirth (byte 18): found `XYZ`"),
        (
            r#"{"dob":"x","x":1,"countryOfBirth":[]}"#,
            "dob (byte 7): found `x`, expected a date `yyyy-MM-dd`; x (byte 11)",
        ),
        (r#"{"firstName":"\ud800"}"#, "found the lone surrogate"),
        (&long, "firstName (byte 13): found a string of 4097 bytes, expected at most 4096 bytes"),
        (&deep, "firstName (byte 13): found an array"),
        (&huge, "found a body of 5242896 bytes, expected at most 4194304 bytes"),
    ] {
        let (kind, text) = fault(update_info(&world, "anna", body.as_bytes(), late));
        assert_eq!(kind, DomainErrorKind::Invalid);
        assert!(text.starts_with("Invalid parameters: ") && text.contains(expected), "{body:.60}: {text}");
    }
    assert!(fault(update_info(&world, "anna", b"{\"firstName\":\"\xff\"}", late)).1.contains("0xFF"));
    for (id, expected) in [
        ("nobody", "Invalid applicant id `nobody`"),
        ("", "Invalid applicant id ``"),
        ("firm-one", "Invalid applicant id `firm-one`: a company"),
    ] {
        let (kind, text) = fault(update_info(&world, id, b"{\"dob\":null}", late));
        assert!(kind == DomainErrorKind::Invalid && text.starts_with(expected), "{text}");
    }
    assert!(update_info(&world, "anna", b"{\"dob\":\"2026-11-21\"}", late).is_ok());
    assert!(update_info(&world, "anna", b"{\"dob\":\"1990-05-17\"}", late).is_ok());
    let places =
        |records: &[(String, String)]| records.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(places(&stored()), places(&before));
    assert_eq!(stored()[1..], before[1..]);
}

#[test]
fn concurrent_updates_are_all_applied() {
    let world = World::new();
    let store: &Store = &world;
    let fields = ["firstName", "lastName", "placeOfBirth", "stateOfBirth"];
    std::thread::scope(|scope| {
        for field in fields {
            scope.spawn(move || {
                for round in 0..10 {
                    let body = format!("{{\"{field}\":\"{field} {round}\"}}");
                    let info = parsed(&update_info(store, "dana", body.as_bytes(), now()).unwrap());
                    assert_eq!(info[field], json!(format!("{field} {round}")));
                }
            });
        }
    });
    let info = parsed(&update_info(store, "dana", b"{\"dob\":null}", now()).unwrap());
    assert!(fields.iter().all(|field| info[field] == json!(format!("{field} 9"))), "{info}");
}

#[test]
fn a_rejected_import_names_line_and_path_and_stores_nothing() {
    use RecordKind::{AmlCases, Applicants, Documents, Levels};
    let world = World::new();
    let before = world.records().unwrap().with_prefix("applicant", "").unwrap();
    let level = |sets: &str| format!("{{\"name\":\"l\",\"docSets\":[{sets}]}}");
    let nested =
        format!("{{\"id\":\"a\",\"type\":\"company\",\"x\":{}1{}}}", "[".repeat(129), "]".repeat(129));
    let deep = format!("{{\"id\":\"a\",\"type\":\"company\",\"x\":{}", "{\"a\":".repeat(100_000));
    let document = |rest: &str| {
        format!("{{\"id\":\"d\",\"applicantId\":\"anna\",\"createdAt\":\"2026-01-01 00:00:00\",{rest}}}")
    };
    for (kind, text, expected) in [
        (Applicants, "7".to_owned(), "file: line 1: (byte 0): found a number, expected a record, which is an object"),
        (Applicants, "{\"id\":\"a\"".to_owned(), "line 1: (byte 9): found the end of the text"),
        (Applicants, "{\"type\":\"company\"}".to_owned(), "found no `id`"),
        (Applicants, "{\"id\":null,\"type\":\"company\"}".to_owned(), "found no `id`"),
        (Applicants, "{\"id\":\"\",\"type\":\"company\"}".to_owned(), "id (byte 6): found ``, expected a string of 1"),
        (Applicants, "{\"id\":\"a\\u0000\",\"type\":\"company\"}".to_owned(), "id (byte 6)"),
        (Applicants, "{\"id\":\"a\",\"type\":\"firm\"}".to_owned(), "type (byte 17): found `firm`, expected one of `individual`, `company`"),
        (Applicants, "{\"id\":\"a\",\"type\":\"company\",\"id\":\"b\"}".to_owned(), "id (byte 27): found `id` again"),
        (Applicants, "{\"id\":\"a\",\"type\":\"company\",\"x\":{\"y\":[{\"z\":1,\"z\":2}]}}".to_owned(), "x.y[0].z (byte 44): found `z` again"),
        (Applicants, "{\"id\":\"ok\",\"type\":\"company\"}\n\n{\"id\":\"a\",\"type\":\"company\",\"info\":{\"idDocs\":[{\"country\":\"XX\"}]}}".to_owned(),
         "line 3: info.idDocs[0].country (byte 56): found `XX`, expected an ISO 3166-1 alpha-3 code"),
        (Applicants, "{\"id\":\"a\",\"type\":\"company\",\"review\":{\"levelName\":\"none\"}}".to_owned(), "review.levelName (byte 0): found no level `none`"),
        (Applicants, "[{\"id\":\"ok\",\"type\":\"company\"}".to_owned(), "line 1: (byte 29): found the end of the text, expected `]`"),
        (Applicants, "[{\"id\":\"ok\",\"type\":\"company\"}]\nx".to_owned(), "line 2: (byte 31): found `x`, expected another array, another search answer or the end of the file"),
        (Applicants, format!("[{{\"id\":\"ok\",\"type\":\"company\"}},\n{{\"id\":\"{}\"}}]", "x".repeat(17 << 20)),
         "line 2: (byte 0): found a longer element, expected a document of at most 16777216 bytes"),
        (Applicants, nested, "found nesting deeper than 128"),
        (Applicants, deep, "found nesting deeper than 128"),
        (Levels, level("{\"idDocSetType\":\"\"}"), "docSets[0].idDocSetType (byte 39): found ``, expected one of `COMPANY`"),
        (Levels, level("{\"idDocSetType\":\"IDENTITY\"},{\"idDocSetType\":\"PAYMENT_METHODS\"}"),
         "docSets[1].idDocSetType (byte 0): found `PAYMENT_METHODS` in a level that is not for applicant actions"),
        (Levels, level("{\"idDocSetType\":\"SELFIE\"},{\"idDocSetType\":\"SELFIE\"}"), "docSets[1].idDocSetType (byte 0): found `SELFIE` again"),
        (Levels, level("{\"idDocSetType\":\"COMPANY\"},{\"idDocSetType\":\"COMPANY_DATA\"}"), "found `COMPANY` beside `COMPANY_DATA`"),
        (Levels, level("{\"idDocSetType\":\"SELFIE\",\"dependsOn\":\"IDENTITY\"}"), "docSets[0].dependsOn (byte 0): found `IDENTITY`"),
        (Levels, level("{\"idDocSetType\":\"SELFIE\",\"dependsOn\":\"SELFIE\"}"), "docSets[0].dependsOn"),
        (Levels, level("{\"idDocSetType\":\"SELFIE\",\"dependsOn\":\"E_SIGN\"},{\"idDocSetType\":\"E_SIGN\",\"dependsOn\":\"SELFIE\"}"), "docSets[0].dependsOn"),
        (Levels, level("{\"idDocSetType\":\"SELFIE\",\"minDocuments\":-1}"), "expected an integer from 0 to 1000"),
        (Levels, level("{\"idDocSetType\":\"SELFIE\",\"types\":[null]}"), "docSets[0].types[0]"),
        (Documents, document("\"step\":\"SELFIE\",\"images\":[{\"imageId\":\"i\"},{\"imageId\":\"i\"}]"), "images[1].imageId (byte 0): found `i` again"),
        (Documents, document("\"step\":\"SELFIE\",\"part\":\"ubos\""), "part (byte 0): found a part of `SELFIE`"),
        (Documents, document("\"step\":\"SELFIE\",\"images\":[{\"imageId\":\"i\",\"reviewResult\":{\"reviewAnswer\":\"green\"}}]"),
         "images[0].reviewResult.reviewAnswer"),
        (Documents, document("\"step\":\"SELFIE\"").replace("anna", "nobody"), "applicantId (byte 0): found no applicant `nobody`, expected the applicant to be stored already; import applicants first"),
        (AmlCases, "{\"id\":\"x\",\"createdAt\":\"2026-01-01T00:00:00Z\",\"targetEntityType\":\"applicant\",\"targetEntityId\":\"anna\"}".to_owned(),
         "createdAt (byte 22): found `2026-01-01T00:00:00Z`, expected a time `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset"),
        (AmlCases, "{\"id\":\"x\",\"createdAt\":\"2026-01-01 00:00:00\",\"targetEntityType\":\"applicant\",\"targetEntityId\":\"zoe\"}".to_owned(), "targetEntityId"),
    ] {
        let error = import(&world, kind, &text).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::RejectedDocument);
        assert!(error.to_string().contains(expected), "{text:.200}\n{error}");
    }
    let error = import(&world, Applicants, "{\"id\":\"a\",\"type\":\"company\",\"lang\":7}").unwrap_err();
    assert_eq!(error.import_error().unwrap().error.kind, ErrorKind::WrongType);
    let error = import(&world, Applicants, "{\"id\":\"a\",\"type\":\"x\"}").unwrap_err();
    assert_eq!(error.import_error().unwrap().error.kind, ErrorKind::BadValue);
    assert_eq!(world.records().unwrap().with_prefix("applicant", "").unwrap(), before);
    // The store can still be used. A new record replaces the record with the same key.
    let imported = import(
        &world,
        Applicants,
        "[{\"id\":\"dana\",\"type\":\"individual\"},\n{\"id\":\"new\",\"type\":\"company\",\"review\":null}]",
    );
    assert_eq!(imported.map(|own| (own.stored, own.replaced)).unwrap(), (1, 1));
    assert_eq!(step_status(&world, "dana").unwrap(), "{}");
}
