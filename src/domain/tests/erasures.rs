//! Tests of the erasure of an applicant: all records of the applicant are erased, and no records of other applicants.

use super::*;

/// The kinds of records, with the index entries.
const KINDS: [&str; 8] = [
    "level",
    "applicant",
    "document",
    "aml-case",
    "share-token",
    "client-share-token",
    "share-token-by-maker",
    "client-applicant",
];

/// Returns all records, as kind, key and text.
fn all(store: &Store) -> Vec<[String; 3]> {
    let records = store.records().unwrap();
    let of_kind = |kind: &str| {
        let found = records.with_prefix(kind, "").unwrap();
        found.into_iter().map(|(key, text)| [kind.to_owned(), key, text]).collect::<Vec<_>>()
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

/// Stores an applicant with one record of each kind.
fn add(store: &Store, id: &str) {
    let applicant = json!({"id": id, "type": "individual", "clientId": "acme"});
    let owned = |owner: &str| json!({"id": "x", "createdAt": "2026-01-01 00:00:00", owner: id});
    let (mut document, mut aml_case) = (owned("applicantId"), owned("targetEntityId"));
    document["step"] = "SELFIE".into();
    aml_case["targetEntityType"] = "applicant".into();
    for (kind, record) in [
        (RecordKind::Applicants, applicant),
        (RecordKind::Documents, document),
        (RecordKind::AmlCases, aml_case),
    ] {
        import(store, kind, &record.to_string()).unwrap();
    }
    create_share_token(store, id, TimeDelta::hours(1), now()).unwrap();
    share_profile_in(store, id, (Clients::All, "m:"), (b"", now()), &|_| {}).unwrap();
    let case = json!({"id": format!("case of {id}"), "applicantReference": {"applicantId": id}});
    store.upsert(case.to_string().as_bytes(), crate::store::Durability::Synced).unwrap();
}

#[test]
fn an_erasure_removes_each_kind_of_record_and_none_of_an_applicant_with_a_similar_id() {
    // Each id except `anna21` is a prefix or a suffix of another id.
    let ids = ["an", "anna2", "nna2", "anna21", "a"];
    for erased in ids {
        let world = World::empty();
        ids.iter().filter(|id| **id != erased).for_each(|id| add(&world, id));
        let others = all(&world);
        let cases = world.len();
        add(&world, erased);
        let added = all(&world).len() - others.len();
        // One record of each kind, except levels, was added.
        assert_eq!(added, KINDS.len() - 1);
        let done = world.erase(&erasure_of_applicant(world.catalog(), erased).unwrap()).unwrap();
        assert_eq!((done.cases, done.records), (1, added as u64), "{erased}");
        assert_eq!((all(&world), world.len()), (others, cases), "{erased}");
        let done = world.erase(&erasure_of_applicant(world.catalog(), erased).unwrap()).unwrap();
        assert_eq!((done.cases, done.records), (0, 0), "{erased}");
    }
}
