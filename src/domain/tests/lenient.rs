//! Tests of lenient imports of records.

use super::*;

#[test]
fn a_lenient_import_leaves_out_the_smallest_faulty_part_or_skips_the_record() {
    use RecordKind::{AmlCases, Applicants, Documents, Levels};
    let world = World::new();
    let kept = |paths: &'static [&'static str], stored: Value| (paths, Some(stored));
    let skipped = |paths: &'static [&'static str]| (paths, None);
    let document = |rest: Value| {
        let mut record =
            json!({"id": "new", "applicantId": "anna", "step": "SELFIE", "createdAt": "2026-01-01 00:00:00"});
        record.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        record
    };
    let case = |rest: Value| {
        let mut record = json!({"id": "new", "createdAt": "2026-01-01 00:00:00", "targetEntityType": "applicant", "targetEntityId": "anna"});
        record.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        record
    };
    let level = |rest: Value| {
        let mut step = json!({"idDocSetType": "SELFIE"});
        step.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({"name": "new", "docSets": [step]})
    };
    let id = json!({"id": "new", "type": "individual"});
    let with = |rest: Value| {
        let mut record = id.clone();
        record.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        record
    };
    for (kind, record, (paths, stored)) in [
        (Applicants, with(json!({"email": 7, "x": [7]})), kept(&["email"], with(json!({"x": [7]})))),
        (
            Applicants,
            with(json!({"info": {"dob": "1.2.1990", "firstName": "A", "country": "XX"}})),
            kept(&["info.country", "info.dob"], with(json!({"info": {"firstName": "A"}}))),
        ),
        (Applicants, with(json!({"info": []})), kept(&["info"], id.clone())),
        (
            Applicants,
            with(json!({"info": {"idDocs": [{"dob": 1}, 5, {"number": "n"}]}})),
            kept(
                &["info.idDocs[0].dob", "info.idDocs[1]"],
                with(json!({"info": {"idDocs": [{}, {"number": "n"}]}})),
            ),
        ),
        (
            Applicants,
            with(json!({"questionnaires": [{"id": "q"}, {"id": ""}, {}]})),
            kept(
                &["questionnaires[1].id", "questionnaires[2]"],
                with(json!({"questionnaires": [{"id": "q"}]})),
            ),
        ),
        (
            Applicants,
            with(json!({"review": {"levelName": "none", "reviewId": 5, "createDate": "x"}})),
            kept(&["review.createDate", "review.levelName"], with(json!({"review": {"reviewId": "5"}}))),
        ),
        (Applicants, json!({"id": "new"}), skipped(&[""])),
        (Applicants, json!({"id": "new", "type": "person", "email": 1}), skipped(&["email", "type"])),
        (Applicants, json!(7), skipped(&[""])),
        (
            Documents,
            document(json!({"country": "XX", "images": [{"imageId": 1, "idDocSubType": 2}]})),
            kept(&["country", "images[0].idDocSubType"], document(json!({"images": [{"imageId": "1"}]}))),
        ),
        (
            Documents,
            document(
                json!({"images": [{"imageId": "i", "reviewResult": {"reviewAnswer": "YELLOW", "clientComment": "c"}}]}),
            ),
            kept(
                &["images[0].reviewResult.reviewAnswer"],
                document(json!({"images": [{"imageId": "i", "reviewResult": {"clientComment": "c"}}]})),
            ),
        ),
        // If the invalid `active` were left out, other documents and images would count.
        (Documents, document(json!({"active": "no"})), skipped(&["active"])),
        (
            Documents,
            document(json!({"images": [{"imageId": "i", "active": 0}, {"imageId": "j"}]})),
            kept(&["images[0].active"], document(json!({"images": [{"imageId": "j"}]}))),
        ),
        (Documents, document(json!({"part": "board", "step": "COMPANY"})), skipped(&["part"])),
        (Documents, document(json!({"part": "ubos"})), skipped(&["part"])),
        (Documents, document(json!({"createdAt": "2026-02-30 00:00:00"})), skipped(&["createdAt"])),
        (Documents, document(json!({"applicantId": "nobody"})), skipped(&["applicantId"])),
        (
            AmlCases,
            case(json!({"hits": [{"id": "h", "birthDates": ["1980", "1980-01-01"], "birthYears": "1980"}]})),
            kept(
                &["hits[0].birthDates[0]", "hits[0].birthYears"],
                case(json!({"hits": [{"id": "h", "birthDates": ["1980-01-01"]}]})),
            ),
        ),
        (AmlCases, case(json!({"active": "false"})), skipped(&["active"])),
        (AmlCases, case(json!({"targetEntityType": "company"})), skipped(&["targetEntityType"])),
        // A lenient import must not make a level accept more than its record says.
        (Levels, level(json!({"countries": ["DEU", "XX"]})), skipped(&["docSets[0].countries[1]"])),
        (Levels, level(json!({"minImages": {"PASSPORT": -1}})), skipped(&["docSets[0].minImages.PASSPORT"])),
        (Levels, level(json!({"dependsOn": "IDENTITY"})), skipped(&["docSets[0].dependsOn"])),
        (
            Levels,
            level(json!({"videoRequired": true})),
            kept(&["docSets[0].videoRequired"], level(json!({}))),
        ),
    ] {
        let before = world.records().unwrap().with_prefix(kind.table(), "").unwrap();
        let strict = import(&world, kind, &record.to_string()).unwrap_err();
        assert_eq!(strict.kind(), StoreErrorKind::RejectedDocument, "{record}");
        assert_eq!(world.records().unwrap().with_prefix(kind.table(), "").unwrap(), before);
        let imported = import_leniently(&world, kind, &format!("\n{record}\n"));
        let found: Vec<&str> = imported.errors.iter().map(|own| &*own.error.path).collect();
        assert_eq!(found, paths, "{record}");
        let is_kept = stored.is_some();
        assert!(
            imported.errors.iter().all(|own| own.line == 2 && own.source == "file" && own.kept == is_kept)
        );
        let counts = (imported.stored + imported.replaced, imported.incomplete, imported.skipped);
        assert_eq!(counts, if is_kept { (1, 1, 0) } else { (0, 0, 1) }, "{record}");
        match stored {
            None => assert_eq!(world.records().unwrap().with_prefix(kind.table(), "").unwrap(), before),
            Some(expected) => {
                let key = if matches!(kind, Documents | AmlCases) { "anna\0new" } else { "new" };
                assert_eq!(parsed(&get(&world, kind.table(), key)), expected);
                // The stored record passes a strict import.
                let again = import(&world, kind, &get(&world, kind.table(), key)).unwrap();
                assert_eq!((again.replaced, again.incomplete), (1, 0));
            }
        }
    }
}

#[test]
fn a_lenient_import_continues_after_every_kind_of_faulty_line() {
    let world = World::empty();
    let text = concat!(
        "{\"id\":\"a\",\"type\":\"company\"}\n",
        "{\"id\":\"b\"\n",
        "nothing\n",
        "{\"id\":\"c\",\"type\":\"company\",\"id\":\"d\"}\n",
        "{\"id\":\"e\",\"type\":\"company\",\"x\":\"\u{7}\"}\n",
        "{\"id\":\"f\",\"type\":\"company\",\"email\":7}\n",
        "{\"id\":\"g\",\"type\":\"company\"}\n",
    );
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend(b"{\"id\":\"\xff\",\"type\":\"company\"}\n");
    bytes.extend(
        format!("{{\"id\":\"{}\"}}\n{{\"id\":\"h\",\"type\":\"company\"}}", "x".repeat(17 << 20))
            .into_bytes(),
    );
    let imported = import_records_in(&world, RecordKind::Applicants, ImportMode::Lenient, |import| {
        import.source("file")?;
        bytes.chunks(1 << 16).try_for_each(|chunk| import.push(chunk))
    });
    let imported = imported.unwrap_or_else(|error: StoreError| panic!("{error}"));
    assert_eq!((imported.stored, imported.incomplete, imported.skipped), (4, 1, 6));
    let lines: Vec<u64> = imported.errors.iter().map(|own| own.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 8, 9]);
    // In an array, each fault is reported with its own line. A file whose end is missing is rejected as a whole.
    let array = "[{\"id\":\"i\",\n\"type\":\"company\",\n\"email\":7},\n{\"id\":\"j\"}]";
    let imported = import_leniently(&world, RecordKind::Applicants, array);
    let lines: Vec<u64> = imported.errors.iter().map(|own| own.line).collect();
    assert_eq!((imported.stored, lines), (1, vec![3, 4]));
    let broken = import_records_in(&world, RecordKind::Applicants, ImportMode::Lenient, |import| {
        import.push(b"[{\"id\":\"k\",\"type\":\"company\"}, {")
    });
    assert_eq!(broken.map(drop).unwrap_err().kind(), StoreErrorKind::RejectedDocument);
    assert_eq!(world.records().unwrap().get("applicant", "k").unwrap(), None);
}

#[test]
fn at_most_ten_faults_of_a_record_are_listed() {
    let world = World::empty();
    let docs: Vec<Value> = (0..1000).map(|_| json!({"dob": "x"})).collect();
    let record = json!({"id": "a", "type": "individual", "info": {"idDocs": docs}});
    let imported = import_leniently(&world, RecordKind::Applicants, &record.to_string());
    assert_eq!((imported.incomplete, imported.errors.len()), (1, 10));
    assert!(!get(&world, "applicant", "a").contains("dob"));
}
