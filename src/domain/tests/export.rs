//! Tests that exported records can be imported again.

use super::*;

/// Returns all records of a kind, one per line.
fn exported(store: &Store, kind: RecordKind) -> String {
    let mut lines = String::new();
    let done: Result<(), StoreError> = export_records(store, kind, |record| {
        lines.push_str(record);
        lines.push('\n');
        Ok(())
    });
    done.unwrap();
    lines
}

#[test]
fn exported_records_import_unchanged() {
    let world = World::new();
    update_info(&world, "anna", r#"{"firstName":"Юлія","dob":null}"#.as_bytes(), now()).unwrap();
    let copy = World::empty();
    for (kind, _, count) in SAMPLES {
        let lines = exported(&world, kind);
        let imported = import(&copy, kind, &lines).unwrap();
        assert_eq!((imported.stored, imported.replaced), (count, 0), "{kind:?}");
        assert_eq!(exported(&copy, kind), lines);
        // Importing the records into the same store changes nothing.
        assert_eq!(import(&world, kind, &lines).unwrap().kept_changes, 0);
        assert_eq!(exported(&world, kind), lines);
    }
    assert_eq!(preview_of(&copy, "anna"), preview_of(&world, "anna"));
    assert_eq!(step_status(&copy, "boris").unwrap(), step_status(&world, "boris").unwrap());
    assert_eq!(aml_case(&copy, "anna", true).unwrap(), aml_case(&world, "anna", true).unwrap());
    // The copy also has the changes of operation 5 (update of extracted info) and their times.
    let anna = SAMPLES[1].1.lines().next().unwrap();
    assert_eq!(import(&copy, RecordKind::Applicants, anna).unwrap().kept_changes, 2);
    assert_eq!(exported(&copy, RecordKind::Applicants), exported(&world, RecordKind::Applicants));
}

#[test]
fn an_export_of_many_records_has_each_once() {
    let world = World::empty();
    let lines: String =
        (0..1500).map(|n| format!("{{\"id\":\"a{n:04}\",\"type\":\"individual\"}}\n")).collect();
    assert_eq!(exported(&world, RecordKind::Applicants), "");
    import(&world, RecordKind::Applicants, &lines).unwrap();
    assert_eq!(exported(&world, RecordKind::Applicants), lines);
    assert_eq!(exported(&world, RecordKind::Documents), "");
    let stopped = export_records(&world, RecordKind::Applicants, |_| {
        Err(import(&world, RecordKind::Levels, "{}").unwrap_err())
    });
    assert_eq!(stopped.unwrap_err().kind(), StoreErrorKind::RejectedDocument);
}
