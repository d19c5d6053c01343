//! Tests of the data of companies.

use super::*;

fn read(store: &Store, id: &str, sees_personal_data: bool) -> Result<Value, DomainError> {
    let mut has_room = |_| true;
    let room = &mut Room::new(&mut has_room);
    company_info_in(store, id, Clients::All, sees_personal_data, room).map(|text| parsed(&text))
}

fn update(store: &Store, id: &str, body: &str) -> Result<Value, DomainError> {
    let mut has_room = |_| true;
    let room = &mut Room::new(&mut has_room);
    let change = (body.as_bytes(), now());
    update_company_info_in(store, id, (Clients::All, true), change, room).map(|text| parsed(&text))
}

#[test]
fn an_update_shows_no_more_than_a_read() {
    let world = World::new();
    let firm = r#"{"id":"f","type":"company","info":{"companyInfo":{"taxId":"1","email":"a@b.example","owners":["Li"]}}}"#;
    import(&world, RecordKind::Applicants, firm).unwrap();
    let update = |sees_personal_data| {
        let change = (&br#"{"website":"w","phone":"7"}"#[..], now());
        let mut has_room = |_| true;
        let room = &mut Room::new(&mut has_room);
        update_company_info_in(&world, "f", (Clients::All, sees_personal_data), change, room).unwrap()
    };
    assert_eq!(parsed(&update(false)), json!({"taxId": "1", "website": "w"}));
    assert_eq!(parsed(&update(false)), read(&world, "f", false).unwrap());
    assert_eq!(parsed(&update(true)), read(&world, "f", true).unwrap());
    assert!(update(true).contains("owners"));
}

#[test]
fn stored_data_of_another_type_are_not_shown_and_not_discarded() {
    let world = World::new();
    let of = |company: &str| format!(r#"{{"id":"f","type":"company","info":{{"companyInfo":{company}}}}}"#);
    put(&world, "applicant", "f", &of(r#"{"taxId":12345,"country":{"a":1},"companyName":"One"}"#));
    assert_eq!(read(&world, "f", true).unwrap(), json!({"companyName": "One"}));
    assert_eq!(
        update(&world, "f", r#"{"type":"Ltd"}"#).unwrap(),
        json!({"companyName": "One", "type": "Ltd"})
    );
    assert!(get(&world, "applicant", "f").contains(r#""taxId":12345"#));
    for company in ["[1]", "7", r#""x""#] {
        put(&world, "applicant", "f", &of(company));
        let (kind, told) = fault(update(&world, "f", r#"{"type":"Ltd"}"#));
        assert_eq!(kind, DomainErrorKind::Invalid);
        assert!(told.contains("its `companyInfo` is not an object"), "{told}");
        assert_eq!(get(&world, "applicant", "f"), of(company));
        assert_eq!(read(&world, "f", true).unwrap(), json!({}));
    }
    put(&world, "applicant", "f", &of("null"));
    assert_eq!(update(&world, "f", r#"{"type":"Ltd"}"#).unwrap(), json!({"type": "Ltd"}));
}

#[test]
fn company_data_are_read_and_changed() {
    let mut world = World::new();
    assert_eq!(read(&world, "firm-one", true).unwrap(), json!({"companyName": "One GmbH"}));
    assert_eq!(read(&world, "firm-two", true).unwrap(), json!({}));
    let body = r#"{"companyName":null,"country":"DEU","incorporatedOn":"2001-02-03","email":"a@b.example","taxId":"Grün 1"}"#;
    let all =
        json!({"country": "DEU", "incorporatedOn": "2001-02-03", "email": "a@b.example", "taxId": "Grün 1"});
    assert_eq!(update(&world, "firm-one", body).unwrap(), all);
    assert_eq!(update(&world, "firm-two", r#"{"type":"Ltd"}"#).unwrap(), json!({"type": "Ltd"}));
    world.reopen();
    assert_eq!(read(&world, "firm-one", true).unwrap(), all);
    let less = json!({"country": "DEU", "incorporatedOn": "2001-02-03", "taxId": "Grün 1"});
    assert_eq!(read(&world, "firm-one", false).unwrap(), less);
    assert!(get(&world, "applicant", "firm-two").contains(r#""fixedInfo":{"companyName":"Two Ltd"}"#));
    // The times of changes are in no answer.
    assert!(!preview_of(&world, "firm-one").contains("ChangedAt"));
    // Unknown members may name persons.
    let firm = r#"{"id":"f","type":"company","info":{"companyInfo":{"taxId":"1","website":null,"owners":[{"name":"Li"}],"n":1.50}}}"#;
    import(&world, RecordKind::Applicants, firm).unwrap();
    assert_eq!(read(&world, "f", false).unwrap(), json!({"taxId": "1"}));
    let shown = company_info_in(&world, "f", Clients::All, true, &mut Room::new(&mut |_| true)).unwrap();
    assert_eq!(shown, r#"{"taxId":"1","owners":[{"name":"Li"}],"n":1.50}"#);
    update(&world, "f", r#"{"phone":"7"}"#).unwrap();
    assert!(get(&world, "applicant", "f").contains(r#""owners":[{"name":"Li"}],"n":1.50,"phone":"7""#));
}

#[test]
fn individuals_and_invalid_bodies_are_rejected() {
    let world = World::new();
    let (kind, told) = fault(read(&world, "anna", true));
    assert_eq!(
        (kind, &*told),
        (DomainErrorKind::NotFound, "the applicant with the id `anna` is not a company")
    );
    assert_eq!(fault(read(&world, "nobody", true)).1, "no applicant with the id `nobody`");
    let before = get(&world, "applicant", "anna");
    for (id, expected) in [
        ("anna", "Invalid applicant id `anna`: an individual, whose data this operation does not change"),
        ("nobody", "Invalid applicant id `nobody`"),
    ] {
        assert_eq!(
            fault(update(&world, id, r#"{"taxId":"1"}"#)),
            (DomainErrorKind::Invalid, expected.to_owned())
        );
    }
    assert_eq!(get(&world, "applicant", "anna"), before);
    for (body, expected) in [
        ("{}", "found an empty object, expected any of `companyName`, `registrationNumber`"),
        (r#"{"companyNam":"x"}"#, "did you mean `companyName`?"),
        (r#"{"country":"DE"}"#, "country (byte 11): found `DE`, expected an ISO 3166-1 alpha-3 code"),
        (r#"{"incorporatedOn":"1.2.2001"}"#, "expected a date `yyyy-MM-dd`"),
        (r#"{"incorporatedOn":"2999-01-01"}"#, "expected a date that is not in the future"),
        (r#"{"taxId":" "}"#, "or `null`, which clears `taxId`"),
        (r#"{"taxId":7}"#, "found a number, expected a string or null"),
        (r#"{"taxId":"1","taxId":"1"}"#, "found `taxId` again"),
    ] {
        let (kind, told) = fault(update(&world, "firm-one", body));
        assert_eq!(kind, DomainErrorKind::Invalid);
        assert!(told.contains(expected), "{body}: {told}");
    }
}

#[test]
fn an_import_replaces_changed_members_only_with_later_data() {
    let world = World::new();
    let firm = |date: &str, info: &str| {
        format!(
            r#"{{"id":"f","type":"company","createdAt":"{date}","info":{{"note":1,"companyInfo":{{{info}}}}}}}"#
        )
    };
    let info = r#""companyName":"Old","taxId":"1""#;
    import(&world, RecordKind::Applicants, &firm("2026-01-01 00:00:00", info)).unwrap();
    update(&world, "f", r#"{"companyName":"New","website":"w","taxId":null}"#).unwrap();
    let exported = get(&world, "applicant", "f");
    for (date, expected, kept, overwritten) in [
        ("2026-01-01 00:00:00", json!({"companyName": "New", "website": "w", "phone": "7"}), 3, 0),
        ("2027-01-15 08:00:00", json!({"companyName": "New", "website": "w", "phone": "7"}), 3, 0),
        ("2027-01-15 08:00:01", json!({"companyName": "Old", "taxId": "1", "phone": "7"}), 0, 3),
    ] {
        let imported = import(
            &world,
            RecordKind::Applicants,
            &firm(date, r#""companyName":"Old","taxId":"1","phone":"7""#),
        );
        let imported = imported.unwrap();
        assert_eq!(
            (imported.kept_changes, imported.overwritten_changes),
            (kept, overwritten),
            "{imported:?}"
        );
        assert!(imported.notes[0].message.contains("changed by the update of company data"), "{imported:?}");
        assert_eq!(read(&world, "f", true).unwrap(), expected, "{date}");
        assert_eq!(parsed(&get(&world, "applicant", "f"))["info"]["note"], 1);
    }
    // An import stores an exported record unchanged.
    let other = World::new();
    for _ in 0..2 {
        import(&other, RecordKind::Applicants, &exported).unwrap();
        assert_eq!(parsed(&get(&other, "applicant", "f")), parsed(&exported));
    }
}
