//! Tests of callers who see only the applicants of some clients.

use super::*;
use crate::domain::clients::complete_index;
use crate::store::reads;

/// The clients of the samples: `acme` has most applicants, `other` has `dana`, and `nomad` and `gita` have no client.
const APPLICANTS: [(&str, Option<&str>); 9] = [
    ("anna", Some("acme")),
    ("boris", Some("acme")),
    ("chen", Some("acme")),
    ("dana", Some("other")),
    ("emre", Some("acme")),
    ("firm-one", Some("acme")),
    ("firm-two", Some("acme")),
    ("nomad", None),
    ("gita", None),
];

/// The results of the operations on an applicant: operations 2, 4 and 5, and the operations that are not part of the interface
/// document.
type Results = [Result<String, String>; 8];

fn ask(store: &Store, id: &str, clients: Clients<'_>) -> Results {
    let mut has_room = |_| true;
    let room = &mut Room::new(&mut has_room);
    [
        step_status_in(store, id, clients, room),
        aml_case_in(store, id, true, clients, room),
        update_info_in(store, id, clients, (br#"{"stateOfBirth":"x"}"#, now()), room),
        company_info_in(store, id, clients, true, room),
        update_company_info_in(store, id, (clients, true), (br#"{"taxId":"x"}"#, now()), room),
        compare_info_in(store, id, (clients, true), &[], room),
        share_profile_in(store, id, (clients, "maker"), (b"", now()), &|_| {})
            .map(|made| made.len().to_string()),
        review_hit_in(
            store,
            &ReviewRequest {
                applicant_id: id,
                clients,
                body: br#"{"amlCaseId":"aml-2","hitId":"hit-1","whitelisted":true}"#,
                token_name: "app",
                sees_personal_data: true,
                now: now(),
            },
            &|_, _| {},
            room,
        ),
    ]
    .map(|result| result.map_err(|error| format!("{:?}: {error}", error.kind())))
}

fn only(clients: &[&str]) -> Vec<String> {
    clients.iter().map(|client| (*client).to_owned()).collect()
}

fn is_visible(store: &Store, id: &str, clients: &[&str]) -> bool {
    let of = step_status_in(store, id, Clients::Only(&only(clients)), &mut Room::new(&mut |_| true));
    of.is_ok()
}

/// Returns the keys of the index.
fn index(store: &Store) -> Vec<String> {
    let entries = store.records().unwrap().with_prefix("client-applicant", "").unwrap();
    entries.into_iter().map(|(key, _)| key).collect()
}

#[test]
fn applicants_of_other_clients_are_answered_like_unknown_ones_after_the_same_reads() {
    let (world, same) = (World::new(), World::new());
    for clients in [&["acme"][..], &["other"], &["third"], &["acme", "other"], &["other", "third"]] {
        for (id, client) in APPLICANTS {
            let owned = only(clients);
            let clients = Clients::Only(&owned);
            let is_own = client.is_some_and(|client| owned.iter().any(|own| own == client));
            if is_own {
                assert_eq!(ask(&world, id, clients), ask(&same, id, Clients::All), "{id}");
                continue;
            }
            // An unknown id of the same length.
            let unknown = id.replace(|_: char| true, "~");
            let before = world.records().unwrap().with_prefix("applicant", "").unwrap();
            reads::take();
            let foreign = (ask(&world, id, clients), reads::take());
            let expected = (ask(&world, &unknown, clients), reads::take());
            assert_eq!(format!("{foreign:?}"), format!("{expected:?}").replace(&unknown, id), "{owned:?}");
            assert_eq!(foreign.1.len(), 8 * owned.len(), "{:?}", foreign.1);
            assert_eq!(
                expected.0,
                ask(&world, &unknown, Clients::All),
                "the answer to tokens without clients"
            );
            assert_eq!(world.records().unwrap().with_prefix("applicant", "").unwrap(), before);
        }
    }
}

#[test]
fn an_answer_about_another_client_reserves_no_memory() {
    let world = World::new();
    let owned = only(&["other"]);
    let mut has_room = |_| false;
    let no_room = &mut Room::new(&mut has_room);
    for id in ["anna", "nobody"] {
        let status = step_status_in(&world, id, Clients::Only(&owned), no_room);
        let aml = aml_case_in(&world, id, true, Clients::Only(&owned), no_room);
        assert_eq!([status, aml].map(|result| result.unwrap_err().kind()), [DomainErrorKind::NotFound; 2]);
    }
}

#[test]
fn the_index_follows_imports() {
    let world = World::new();
    let complete = index(&world);
    assert_eq!(complete.len(), 1 + APPLICANTS.iter().filter(|(_, client)| client.is_some()).count());
    assert!(is_visible(&world, "dana", &["other"]) && !is_visible(&world, "dana", &["acme"]));
    let of = |client: &str| format!(r#"{{"id":"dana","type":"individual"{client}}}"#);
    for (text, own) in [
        (of(r#","clientId":"acme""#), Some("acme")),
        (of(r#","clientId":7"#), Some("7")),
        (of(r#","clientId":null"#), None),
        (of(r#","clientId":"other""#), Some("other")),
        // No app token can have one of the next three clients.
        (of(r#","clientId":"""#), None),
        (of(r#","clientId":"a\u0000b""#), None),
        (of(&format!(r#","clientId":"{}""#, "x".repeat(1025))), None),
        (of(&format!(r#","clientId":"{}""#, "x".repeat(1024))), Some(&*"x".repeat(1024))),
        (of(""), None),
    ] {
        import(&world, RecordKind::Applicants, &text).unwrap();
        for client in ["acme", "other", "7", "", "a\0b", &"x".repeat(1024), &"x".repeat(1025)] {
            assert_eq!(is_visible(&world, "dana", &[client]), own == Some(client), "{text}: {client}");
        }
        let entries = index(&world).into_iter().filter(|key| key.ends_with("\0dana")).count();
        assert_eq!(entries, usize::from(own.is_some()), "{text}");
    }
    // An import that fails changes nothing.
    let before = index(&world);
    let text = of(r#","clientId":"acme""#) + "\n{}";
    assert!(import(&world, RecordKind::Applicants, &text).is_err());
    assert_eq!(index(&world), before);
    // A lenient import skips an applicant with an invalid client, because the client decides which tokens see the applicant.
    let lenient = import_leniently(&world, RecordKind::Applicants, &of(r#","clientId":true"#));
    assert_eq!((lenient.stored, lenient.replaced, lenient.skipped), (0, 0, 1));
    assert_eq!(index(&world), before);
    // An update keeps the client.
    import(&world, RecordKind::Applicants, &of(r#","clientId":"other""#)).unwrap();
    update_info(&world, "dana", br#"{"stateOfBirth":"x"}"#, now()).unwrap();
    assert!(is_visible(&world, "dana", &["other"]));
}

#[test]
fn a_file_of_an_earlier_version_is_indexed_once() {
    let world = World::new();
    let complete = index(&world);
    let forget = || {
        let forget = |records: &mut crate::store::RecordWriter<'_>| {
            complete.iter().try_for_each(|key| records.remove("client-applicant", key).map(drop))
        };
        world.write_records::<(), StoreError>(forget).unwrap();
    };
    forget();
    assert!(!is_visible(&world, "anna", &["acme"]));
    index_clients(&world).unwrap();
    assert_eq!(index(&world), complete);
    // If the index is missing, the first import of applicants also creates it.
    forget();
    import(&world, RecordKind::Applicants, r#"{"id":"anna","type":"individual","clientId":"acme"}"#).unwrap();
    assert_eq!(index(&world), complete);
    let is_unchanged = |records: &mut crate::store::RecordWriter<'_>| {
        reads::take();
        complete_index(records)
    };
    world.write_records::<(), StoreError>(is_unchanged).unwrap();
    assert_eq!(reads::take().len(), 1);
    let empty = World::empty();
    index_clients(&empty).unwrap();
    assert_eq!(index(&empty), <[&str; 0]>::default(), "a file without applicants is not changed");
}

#[test]
fn more_applicants_than_a_page_are_indexed() {
    let world = World::empty();
    for number in 0..600 {
        put(&world, "applicant", &format!("a{number}"), &format!(r#"{{"clientId":"c{}"}}"#, number % 7));
    }
    index_clients(&world).unwrap();
    assert_eq!(index(&world).len(), 601);
}

#[test]
fn a_wrong_entry_of_the_index_shows_nothing() {
    let world = World::new();
    put(&world, "client-applicant", "other\0anna", "");
    put(&world, "client-applicant", "other\0nobody", "");
    let owned = only(&["other"]);
    for id in ["anna", "nobody"] {
        let unknown = "~".repeat(id.len());
        let [wrong, expected] = [id, &unknown].map(|id| ask(&world, id, Clients::Only(&owned)));
        assert_eq!(format!("{wrong:?}"), format!("{expected:?}").replace(&unknown, id));
    }
}

#[test]
fn an_id_with_a_separator_is_unknown() {
    let world = World::new();
    import(&world, RecordKind::Applicants, r#"{"id":"x","type":"individual","clientId":"a"}"#).unwrap();
    for (client, id) in [("a", "\0x"), ("a\0", "x"), ("", "a\0x"), ("a", "x\0"), ("", ""), ("a", "")] {
        assert!(!is_visible(&world, id, &[client]), "{client:?} {id:?}");
    }
    assert!(is_visible(&world, "x", &["a"]));
}
