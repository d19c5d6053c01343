//! Tests of imports before and after operation 5 (update of extracted info) changed an applicant.

use super::*;

const APPLICANT: &str = r#"{"id":"a","type":"individual","createdAt":"2026-01-01 00:00:00","info":{"firstName":"Ana","firstNameEn":"Ana","lastName":"Old","dob":"1990-01-01","country":"HRV"},"review":{"createDate":"2026-01-02 00:00:00+0000","reviewDate":"2026-01-03 00:00:00"}}"#;

/// Creates a [`World`], a store in a temporary folder, in which operation 5 changed an applicant at [`now`], 2027-01-15 08:00:00.
/// The operation set the first name and the state, and cleared the date of birth.
fn changed() -> World {
    let world = World::empty();
    import(&world, RecordKind::Applicants, APPLICANT).unwrap();
    let body = r#"{"firstName":"Юлія","stateOfBirth":"NY","dob":null}"#;
    update_info(&world, "a", body.as_bytes(), now()).unwrap();
    world
}

fn info(world: &World) -> Value {
    parsed(&get(world, "applicant", "a"))["info"].clone()
}

#[test]
fn an_import_without_later_data_keeps_changes_and_notes_them() {
    let mut world = changed();
    let before = info(&world);
    world.reopen();
    for (text, date) in [
        (APPLICANT.to_owned(), "2026-01-03 00:00:00+0000"),
        // This time is the same instant as [`now`] with another offset, so it is not later.
        (
            APPLICANT.replace("\"2026-01-03 00:00:00\"", "\"2027-01-15 09:00:00+0100\""),
            "2027-01-15 09:00:00+0100",
        ),
    ] {
        let imported = import(&world, RecordKind::Applicants, &text).unwrap();
        assert_eq!((imported.replaced, imported.kept_changes, imported.overwritten_changes), (1, 3, 0));
        assert_eq!(imported.notes[0].kind, ImportNoteKind::KeptChanges);
        let expected = format!(
            "applicant `a`: kept 3 changed members, `firstName`, `dob`, `stateOfBirth`: changed by operation 5 later, the \
             latest date of the record is {date}"
        );
        assert_eq!(imported.notes[0].message, expected);
        assert_eq!(info(&world), before);
    }
    // Members that operation 5 did not change get the values of the import.
    let other =
        APPLICANT.replace("\"Old\"", "\"New\"").replace("\"country\"", "\"aliasName\":\"x\",\"country\"");
    import(&world, RecordKind::Applicants, &other).unwrap();
    let found = info(&world);
    assert_eq!(
        (&found["lastName"], &found["aliasName"], found.get("dob")),
        (&json!("New"), &json!("x"), None)
    );
    assert_eq!((&found["firstName"], &found["firstNameEn"]), (&json!("Юлія"), &before["firstNameEn"]));
    // The imported record has neither a date nor `info`.
    let imported = import(&world, RecordKind::Applicants, "{\"id\":\"a\",\"type\":\"individual\"}").unwrap();
    assert!(imported.kept_changes == 2 && imported.notes[0].message.ends_with("the record has no date"));
    let expected = json!({"firstName": "Юлія", "firstNameEn": before["firstNameEn"], "stateOfBirth": "NY"});
    assert_eq!(info(&world), expected);
    // If the import has the same values, it adds no note.
    let same = json!({"id": "a", "type": "individual", "info": {"firstName": "Юлія", "stateOfBirth": "NY"}});
    let imported = import(&world, RecordKind::Applicants, &same.to_string()).unwrap();
    assert_eq!((imported.kept_changes, imported.notes.len()), (0, 0));
    assert_eq!(info(&world), expected);
}

#[test]
fn an_import_of_later_data_overwrites_changes_and_notes_them() {
    for member in ["createdAt", "createDate", "reviewDate"] {
        let world = changed();
        let mut later = parsed(APPLICANT);
        let place = if member == "createdAt" { &mut later[member] } else { &mut later["review"][member] };
        *place = json!("2027-01-15 08:00:01");
        let imported = import(&world, RecordKind::Applicants, &later.to_string()).unwrap();
        assert_eq!((imported.kept_changes, imported.overwritten_changes), (0, 3), "{member}");
        assert_eq!(imported.notes[0].kind, ImportNoteKind::OverwrittenChanges);
        assert!(imported.notes[0].message.contains("applicant `a`: overwrote 3 changed members"));
        // The times of change have been removed, so the next import has nothing to merge.
        assert_eq!(parsed(&get(&world, "applicant", "a")), later);
        let imported = import(&world, RecordKind::Applicants, APPLICANT).unwrap();
        assert_eq!((imported.kept_changes, imported.overwritten_changes, imported.notes.len()), (0, 0, 0));
        assert_eq!(info(&world), parsed(APPLICANT)["info"]);
    }
}

#[test]
fn each_member_has_its_own_time() {
    let world = changed();
    update_info(&world, "a", r#"{"lastName":"Zweig"}"#.as_bytes(), now() + TimeDelta::days(2)).unwrap();
    let between = APPLICANT.replace("2026-01-03", "2027-01-16");
    let imported = import(&world, RecordKind::Applicants, &between).unwrap();
    assert_eq!((imported.kept_changes, imported.overwritten_changes), (1, 3));
    let found = info(&world);
    assert_eq!((&found["firstName"], &found["lastName"]), (&json!("Ana"), &json!("Zweig")));
    assert_eq!((&found["lastNameEn"], &found["dob"]), (&json!("Zweig"), &json!("1990-01-01")));
    // If a member is changed again, its time of change is the later time.
    update_info(&world, "a", b"{\"lastName\":\"Zweig\"}", now() + TimeDelta::days(9)).unwrap();
    let times = &parsed(&get(&world, "applicant", "a"))["infoChangedAt"];
    assert_eq!(times, &json!({"lastName": "2027-01-24 08:00:00+0000"}));
    // If an applicant becomes a company, the changes are lost.
    let imported = import(&world, RecordKind::Applicants, "{\"id\":\"a\",\"type\":\"company\"}").unwrap();
    assert_eq!(imported.overwritten_changes, 1);
    assert_eq!(get(&world, "applicant", "a"), "{\"id\":\"a\",\"type\":\"company\"}");
}

#[test]
fn changes_of_both_kinds_are_counted_if_an_individual_becomes_a_company() {
    let world = World::empty();
    let before = json!({
        "id": "a", "type": "individual", "info": {"companyInfo": {"taxId": "1"}},
        "companyInfoChangedAt": {"taxId": "2027-01-01 00:00:00+0000"},
    });
    import(&world, RecordKind::Applicants, &before.to_string()).unwrap();
    update_info(&world, "a", br#"{"lastName":"Zweig"}"#, now()).unwrap();
    let after = json!({"id": "a", "type": "company", "info": {"companyInfo": {"taxId": "2"}}});
    let imported = import(&world, RecordKind::Applicants, &after.to_string()).unwrap();
    assert_eq!((imported.kept_changes, imported.overwritten_changes, imported.notes.len()), (1, 1, 2));
    assert_eq!(info(&world)["companyInfo"]["taxId"], "1");
}

#[test]
fn the_times_of_changes_are_not_served() {
    let world = changed();
    assert!(!preview_of(&world, "a").contains("ChangedAt"));
    assert!(!update_info(&world, "a", b"{\"dob\":null}", now()).unwrap().contains("ChangedAt"));
}
