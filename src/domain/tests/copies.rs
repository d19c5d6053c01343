//! Tests of copies of profiles.

use std::collections::BTreeSet;
use std::sync::Barrier;

use super::*;

fn copy(store: &Store, clients: &[&str], query: &[&str], body: &str) -> Result<Value, DomainError> {
    let clients: Vec<String> = clients.iter().map(|client| (*client).to_owned()).collect();
    let request = CopyRequest {
        query_tokens: query.iter().map(|token| (*token).to_owned()).collect(),
        body: body.as_bytes(),
        clients: if clients.is_empty() { Clients::All } else { Clients::Only(&clients) },
        may_share: &|_, _| true,
        now: now(),
    };
    copy_profile_in(store, request, &|_| {}, &mut Room::new(&mut |_| true)).map(|text| parsed(&text))
}

fn token_for(store: &Store, id: &str) -> String {
    create_share_token(store, id, TimeDelta::hours(1), now()).unwrap()
}

/// Returns the records of a kind that belong to an applicant. The id of the applicant is removed from their keys.
fn records_of(store: &Store, kind: &str, id: &str) -> Vec<(String, Value)> {
    let prefix = format!("{id}\0");
    let records = store.records().unwrap().with_prefix(kind, &prefix).unwrap();
    records.iter().map(|(key, text)| (key.replacen(&prefix, "", 1), parsed(text))).collect()
}

#[test]
fn a_copy_has_the_records_of_the_profile() {
    let world = World::new();
    let request = ReviewRequest {
        applicant_id: "anna",
        clients: Clients::All,
        body: br#"{"amlCaseId":"aml-2","hitId":"hit-1","whitelisted":true,"reviewerName":"Rhabarber"}"#,
        token_name: "app-of-acme",
        sees_personal_data: true,
        now: now(),
    };
    review_hit_in(&world, &request, &|_, _| {}, &mut Room::new(&mut |_| true)).unwrap();
    for (id, _) in world.records().unwrap().with_prefix("applicant", "").unwrap() {
        let token = token_for(&world, &id);
        let shown = parsed(&preview(&world, &token, now()).unwrap());
        let copied = copy(&world, &["other"], &[&token], "").unwrap();
        let own = copied["id"].as_str().unwrap().to_owned();
        assert!(own.len() == 24 && own.bytes().all(|byte| byte.is_ascii_hexdigit()), "{own}");
        let mut expected = shown;
        expected["id"] = json!(own);
        expected["clientId"] = json!("other");
        assert_eq!(copied, expected);
        // All members of the applicant's record are copied, and so are all of its other records.
        let mut record = parsed(&get(&world, "applicant", &id));
        record["id"] = json!(own);
        record["clientId"] = json!("other");
        record["copiedFrom"] = json!([{"applicantId": id, "at": "2027-01-15 08:00:00+0000"}]);
        assert_eq!(parsed(&get(&world, "applicant", &own)), record);
        for (kind, owner) in [("document", "applicantId"), ("aml-case", "targetEntityId")] {
            let mut expected = records_of(&world, kind, &id);
            for (_, record) in &mut expected {
                record[owner] = json!(own);
                let hits = record.get_mut("hits").and_then(Value::as_array_mut);
                for hit in hits.into_iter().flatten() {
                    if let Some(review) = hit["review"].as_object_mut() {
                        for name in ["reviewerName", "reviewedBy", "version"] {
                            review.remove(name);
                        }
                    }
                }
            }
            let found = records_of(&world, kind, &own);
            assert_eq!(found, expected, "{kind} of {id}");
            // The copy of a review has the decision, but not the names of the reviewers and not the version, which belong to
            // another client.
            let text = json!(found.iter().map(|(_, record)| record).collect::<Vec<_>>()).to_string();
            for absent in ["Rhabarber", "app-of-acme", "reviewedBy", "\"version\""] {
                assert!(!text.contains(absent), "{absent}: {text}");
            }
            assert!(id != "anna" || kind != "aml-case" || text.contains("\"whitelisted\":true"), "{text}");
        }
        // Operations 2 and 4 work for the copy as they do for the original applicant.
        let clients = ["other".to_owned()];
        let mut has_room = |_| true;
        let of_copy = step_status_in(&world, &own, Clients::Only(&clients), &mut Room::new(&mut has_room));
        assert_eq!(of_copy.unwrap(), step_status(&world, &id).unwrap());
        assert_eq!(aml_case(&world, &own, false).is_ok(), aml_case(&world, &id, false).is_ok());
        // The token has been used, so it causes the same error as an unknown token.
        for used in [&*token, "unknown"] {
            let unauthorized = (DomainErrorKind::Unauthorized, "the share token is invalid".to_owned());
            assert_eq!(fault(copy(&world, &["other"], &[used], "")), unauthorized);
            assert_eq!(fault(preview(&world, used, now())), unauthorized);
        }
    }
}

#[test]
fn the_client_of_a_copy_is_one_of_the_app_token() {
    let world = World::new();
    let token = token_for(&world, "anna");
    let of = |clients: &[&str], body: &str| copy(&world, clients, &[&token], body);
    for (clients, body, expected) in [
        (
            &[][..],
            "",
            "found no `clientId`, expected the client that gets the copy: the app token is not bound to a client",
        ),
        (&["a", "b"], "{}", "the app token is bound to several clients"),
        (&["a"], r#"{"clientId":"b"}"#, "clientId (byte 0): found `b`, expected a client of the app token"),
        (&["a", "b"], r#"{"clientId":"c"}"#, "expected a client of the app token"),
        (&[], r#"{"clientId":""}"#, "expected an id"),
        (&[], r#"{"clientId":"a\u0001"}"#, "expected an id"),
        (&["a"], r#"{"clientid":"a"}"#, "did you mean `clientId`?"),
        (
            &["a"],
            r#"{"shareToken":"x"}"#,
            "found a share token in the body and in the query, expected one of them",
        ),
        (&["a"], r#"{"shareToken":7}"#, "shareToken (byte 14): found a number, expected a string"),
        (&["a"], "[]", "found an array"),
    ] {
        let (kind, told) = fault(of(clients, body));
        assert_eq!(kind, DomainErrorKind::Invalid, "{body}: {told}");
        assert!(told.contains(expected), "{body}: {told}");
    }
    for query in [&[][..], &[""], &["x"], &[&*token, &*token]] {
        assert_eq!(fault(copy(&world, &["a"], query, "")).0, DomainErrorKind::Unauthorized);
    }
    // None of these requests has used the token.
    let copied = copy(&world, &["a", "b"], &[], &json!({"shareToken": token, "clientId": "b"}).to_string());
    assert_eq!(copied.unwrap()["clientId"], "b");

    let share = |client: &str| {
        let body = json!({"forClientId": client}).to_string();
        let made = share_profile_in(&world, "anna", (Clients::All, "m"), (body.as_bytes(), now()), &|_| {});
        parsed(&made.unwrap())["token"].as_str().unwrap().to_owned()
    };
    let bound = share("b");
    for (clients, body) in
        [(&["a"][..], ""), (&["a", "b"], r#"{"clientId":"a"}"#), (&[], r#"{"clientId":"a"}"#)]
    {
        assert_eq!(fault(copy(&world, clients, &[&bound], body)).0, DomainErrorKind::Unauthorized);
    }
    assert_eq!(copy(&world, &["a", "b"], &[&bound], r#"{"clientId":"b"}"#).unwrap()["clientId"], "b");
    assert_eq!(copy(&world, &[], &[&share("b")], r#"{"clientId":"b"}"#).unwrap()["clientId"], "b");
}

#[test]
fn concurrent_copies_with_one_token_make_one_applicant() {
    let world = World::new();
    let all = |store: &Store| -> BTreeSet<String> {
        let applicants = store.records().unwrap().with_prefix("applicant", "").unwrap();
        applicants.into_iter().map(|(id, _)| id).collect()
    };
    let mut before = all(&world);
    for _ in 0..20 {
        let token = token_for(&world, "anna");
        let (store, barrier) = (&*world, Barrier::new(8));
        let ids: Vec<String> = std::thread::scope(|scope| {
            let copies: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        copy(store, &["other"], &[&token], "").ok()
                    })
                })
                .collect();
            let copies = copies.into_iter().filter_map(|copy| copy.join().unwrap());
            copies.map(|copied| copied["id"].as_str().unwrap().to_owned()).collect()
        });
        assert_eq!(ids.len(), 1);
        before.extend(ids);
        assert_eq!(all(&world), before);
    }
}

#[test]
fn the_copy_that_a_share_token_was_used_for_is_listed() {
    let world = World::new();
    let (used, unused) = (token_for(&world, "anna"), token_for(&world, "boris"));
    let made = share_profile_in(&world, "anna", (Clients::All, "m:"), (b"", now()), &|_| {}).unwrap();
    let of_client = parsed(&made)["token"].as_str().unwrap().to_owned();
    let redeemed = token_for(&world, "chen");
    redeem_share_token(&world, &redeemed, now()).unwrap();
    let ids = [&used, &of_client].map(|token| {
        let copied = copy(&world, &["other"], &[token], "").unwrap();
        copied["id"].as_str().unwrap().to_owned()
    });
    let listed = share_tokens(&world).unwrap();
    assert!(listed.is_sorted_by_key(|share| share.hash.clone()) && listed.len() == 4);
    let of = |token: &str| {
        listed.iter().find(|share| share.hash == crate::domain::share_token::hash(token)).unwrap()
    };
    for (token, id) in [&used, &of_client].into_iter().zip(&ids) {
        let share = of(token);
        assert_eq!((&*share.applicant_id, share.used, share.by_client), ("anna", true, token == &of_client));
        assert_eq!((share.copy_id.as_ref(), share.copy_client_id.as_deref()), (Some(id), Some("other")));
        assert_eq!(share.created_at.as_deref(), Some("2027-01-15 08:00:00+0000"));
    }
    assert_eq!((of(&unused).used, of(&unused).copy_id.as_ref()), (false, None));
    assert_eq!((of(&redeemed).used, of(&redeemed).copy_id.as_ref()), (true, None));
    // The id of an erased copy is not kept.
    world.erase(&erasure_of_applicant(world.catalog(), &ids[0]).unwrap()).unwrap();
    assert!(!serde_json::to_string(&share_tokens(&world).unwrap()).unwrap().contains(&ids[0]));
}

#[test]
fn a_copy_without_memory_for_its_answer_changes_nothing() {
    let world = World::new();
    let token = token_for(&world, "anna");
    let all = || {
        let records = world.records().unwrap();
        ["applicant", "document", "aml-case", "share-token", "client-share-token", "client-applicant"]
            .map(|kind| records.with_prefix(kind, "").unwrap())
    };
    let before = all();
    for most in [0, 1000, 6000] {
        let mut has_room = |bytes| bytes <= most;
        let clients = ["other".to_owned()];
        let (query_tokens, clients) = (vec![token.clone()], Clients::Only(&clients));
        let request = CopyRequest { query_tokens, body: b"", clients, may_share: &|_, _| true, now: now() };
        let copied = copy_profile_in(&world, request, &|_| {}, &mut Room::new(&mut has_room));
        assert_eq!(fault(copied).0, DomainErrorKind::Busy);
    }
    assert_eq!(all(), before);
    copy(&world, &["other"], &[&token], "").unwrap();
}

#[test]
fn an_erased_profile_cannot_be_copied_and_its_copy_stays() {
    let world = World::new();
    let (first, second) = (token_for(&world, "anna"), token_for(&world, "anna"));
    let copied = copy(&world, &["other"], &[&first], "").unwrap();
    world.erase(&erasure_of_applicant(world.catalog(), "anna").unwrap()).unwrap();
    assert_eq!(fault(copy(&world, &["other"], &[&second], "")).0, DomainErrorKind::Unauthorized);
    let copy_id = copied["id"].as_str().unwrap();
    assert!(step_status(&world, copy_id).is_ok());
    // The copy can be found, even after an import has replaced its record. A copy of the copy can be found, too.
    assert_eq!(copies_of_applicant(&world, "anna").unwrap(), [copy_id]);
    let token = token_for(&world, copy_id);
    assert!(!preview(&world, &token, now()).unwrap().contains("copiedFrom"));
    let again = copy(&world, &["third"], &[&token], "").unwrap();
    let again = again["id"].as_str().unwrap();
    let mut both = [copy_id, again];
    both.sort_unstable();
    import(&world, RecordKind::Applicants, &format!(r#"{{"id":"{copy_id}","type":"individual"}}"#)).unwrap();
    assert_eq!(copies_of_applicant(&world, "anna").unwrap(), both);
    assert_eq!(copies_of_applicant(&world, copy_id).unwrap(), [again]);
    let exported = get(&world, "applicant", again);
    import(&world, RecordKind::Applicants, &exported).unwrap();
    assert_eq!(get(&world, "applicant", again), exported);
    // After the erasure of the first copy, the copy of this copy is still found for the original applicant.
    world.erase(&erasure_of_applicant(world.catalog(), copy_id).unwrap()).unwrap();
    assert_eq!(copies_of_applicant(&world, "anna").unwrap(), [again]);
    assert!(copies_of_applicant(&world, "boris").unwrap().is_empty());
}

#[test]
fn a_profile_that_was_moved_to_another_client_is_neither_shown_nor_copied() {
    let world = World::new();
    let (of_host, of_client) = (token_for(&world, "anna"), {
        let made = share_profile_in(&world, "anna", (Clients::All, "m"), (b"", now()), &|_| {});
        parsed(&made.unwrap())["token"].as_str().unwrap().to_owned()
    });
    // An earlier version stored share tokens without the client of the applicant.
    let expires = now() + TimeDelta::hours(1);
    let old = json!({"applicantId": "anna", "expiresAtMs": expires.timestamp_millis(), "isUsed": false});
    put(&world, "share-token", &crate::domain::share_token::hash("old"), &old.to_string());
    let record = get(&world, "applicant", "anna");
    let moved = |client: Option<&str>| {
        let mut record = parsed(&record);
        match client {
            Some(client) => record["clientId"] = json!(client),
            None => drop(record.as_object_mut().unwrap().remove("clientId")),
        }
        import(&world, RecordKind::Applicants, &record.to_string()).unwrap();
    };
    for client in [Some("other"), None] {
        moved(client);
        for token in [&of_host, &of_client] {
            let unauthorized = (DomainErrorKind::Unauthorized, "the share token is invalid".to_owned());
            assert_eq!(fault(preview(&world, token, now())), unauthorized);
            assert_eq!(fault(copy(&world, &["acme"], &[token], "")), unauthorized);
            assert_eq!(fault(redeem_share_token(&world, token, now())), unauthorized);
        }
        assert!(preview(&world, "old", now()).is_ok());
    }
    // A token that is created after the move is valid, even for an applicant without a client.
    let none = token_for(&world, "anna");
    assert!(preview(&world, &none, now()).is_ok());
    import(&world, RecordKind::Applicants, &record).unwrap();
    assert!(preview(&world, &none, now()).is_err());
    copy(&world, &["acme"], &[&of_client], "").unwrap();
    copy(&world, &["acme"], &["old"], "").unwrap();
}

#[test]
fn a_profile_over_a_limit_is_not_copied() {
    let world = World::new();
    let token = token_for(&world, "anna");
    let document = |number: usize, rest: &str| {
        format!(
            r#"{{"id":"new-{number}","applicantId":"anna","step":"IDENTITY","createdAt":"2026-01-01 00:00:00"{rest}}}"#
        )
    };
    let refused = |store: &Store| {
        let (kind, told) = fault(copy(store, &["other"], &[&token], ""));
        assert_eq!(kind, DomainErrorKind::Invalid);
        assert!(told.contains("and a copy may have at most 10000 records with 67108864 bytes"), "{told}");
    };
    let own = records_of(&world, "document", "anna").len() + records_of(&world, "aml-case", "anna").len() + 1;
    let add = |numbers: std::ops::Range<usize>, rest: &str| {
        let write = |records: &mut crate::store::RecordWriter<'_>| {
            for number in numbers {
                records.put("document", &format!("anna\0new-{number}"), &document(number, rest))?;
            }
            Ok::<_, StoreError>(())
        };
        world.write_records(write).unwrap();
    };
    add(0..10_001 - own, "");
    refused(&world);
    world.write_records(|records| records.remove("document", "anna\0new-0").map(drop)).unwrap();
    // The rejected request has not used the token.
    let made = copy(&world, &["other"], &[&token], "").unwrap();
    assert_eq!(records_of(&world, "document", made["id"].as_str().unwrap()).len(), {
        records_of(&world, "document", "anna").len()
    });
    let world = World::new();
    let token = token_for(&world, "anna");
    let large = format!(r#","x":"{}""#, "x".repeat(15 << 20));
    for number in 0..5 {
        put(&world, "document", &format!("anna\0new-{number}"), &document(number, &large));
    }
    let (kind, told) = fault(copy(&world, &["other"], &[&token], ""));
    assert!(kind == DomainErrorKind::Invalid && told.contains("67108864"), "{told}");
}
