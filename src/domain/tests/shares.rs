//! Tests of share tokens that clients create.

use super::*;

fn share(
    store: &Store,
    id: &str,
    clients: Clients<'_>,
    maker: &str,
    body: &str,
) -> Result<Value, DomainError> {
    share_profile_in(store, id, (clients, maker), (body.as_bytes(), now()), &|_| {}).map(|text| parsed(&text))
}

fn is_shown(store: &Store, token: &str, clients: Clients<'_>, at: DateTime<Utc>) -> bool {
    let mut has_room = |_| true;
    let room = &mut Room::new(&mut has_room);
    let shown = preview_in(store, token, (clients, &|_, _| true), at, &|_| {}, room);
    match shown {
        Ok(text) => {
            assert_eq!(parsed(&text)["id"], "anna");
            true
        }
        Err(error) => {
            assert_eq!(error.to_string(), "the share token is invalid");
            false
        }
    }
}

#[test]
fn a_share_token_is_for_its_client_until_it_expires() {
    let world = World::new();
    let (acme, other) = (["acme".to_owned()], ["other".to_owned()]);
    let (acme, other) = (Clients::Only(&acme), Clients::Only(&other));
    let made = share(&world, "anna", acme, "m", r#"{"forClientId":"other","ttlInSecs":60}"#).unwrap();
    assert_eq!(made["forClientId"], "other");
    assert_eq!(made["expiresAt"], "2027-01-15 08:01:00+0000");
    let token = made["token"].as_str().unwrap();
    assert_eq!(token.len(), 64);
    let late = now() + TimeDelta::seconds(60);
    let shown =
        |token: &str| [Clients::All, other, acme].map(|clients| is_shown(&world, token, clients, now()));
    assert_eq!(shown(token), [true, true, false]);
    assert!(!is_shown(&world, token, other, late));
    // If the body names no client, every client may use the token.
    for body in ["", "{}", r#"{"forClientId":null,"ttlInSecs":null}"#] {
        let made = share(&world, "anna", acme, "m", body).unwrap();
        assert!(
            made.get("forClientId").is_none() && made["expiresAt"] == "2027-01-15 09:00:00+0000",
            "{made}"
        );
        assert_eq!(shown(made["token"].as_str().unwrap()), [true; 3]);
    }
    // Only hashes are stored.
    let records = world.records().unwrap().with_prefix("client-share-token", "").unwrap();
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|(key, text)| !key.contains(token) && !text.contains(token)));
    // An unknown applicant and one of another client get the same error.
    let fault = |id| fault(share(&world, id, other, "m", "{}")).1.replace(id, "ID");
    assert_eq!(fault("anna"), "no applicant with the id `ID`");
    assert_eq!(fault("anna"), fault("nobody"));
}

#[test]
fn a_body_of_another_form_is_rejected() {
    let world = World::new();
    for (body, expected) in [
        ("[]", "(byte 0): found an array, expected an object with any of `forClientId`, `ttlInSecs`"),
        ("{", "found the end"),
        (r#"{"forClient":"a"}"#, "did you mean `forClientId`?"),
        (r#"{"ttlInSecs":0}"#, "ttlInSecs (byte 13): found `0`, expected an integer from 1 to 604800"),
        (r#"{"ttlInSecs":604801}"#, "found `604801`"),
        (r#"{"ttlInSecs":1e3}"#, "found `1e3`"),
        (r#"{"ttlInSecs":-1}"#, "found `-1`"),
        (r#"{"ttlInSecs":99999999999999999999999999}"#, "found `99999999999999999999999999`"),
        (r#"{"ttlInSecs":"60"}"#, "found a string, expected an integer"),
        (r#"{"ttlInSecs":60,"ttlInSecs":60}"#, "found `ttlInSecs` again"),
        (r#"{"forClientId":""}"#, "expected an id"),
        (r#"{"forClientId":"a\u0000"}"#, "expected an id"),
        (r#"{"forClientId":7}"#, "found a number, expected a string"),
        (r#"{"forClientId":["a"]}"#, "found an array, expected a string"),
    ] {
        let (kind, told) = fault(share(&world, "anna", Clients::All, "m", body));
        assert_eq!(kind, DomainErrorKind::Invalid, "{body}");
        assert!(told.starts_with("Invalid parameters: ") && told.contains(expected), "{body}: {told}");
    }
    let long = format!(r#"{{"forClientId":"{}"}}"#, "x".repeat(1025));
    assert!(fault(share(&world, "anna", Clients::All, "m", &long)).1.contains("expected an id"));
    let many = format!("{{{}}}", vec![r#""x":1"#; 100_000].join(","));
    assert_eq!(fault(share(&world, "anna", Clients::All, "m", &many)).1.matches("found").count(), 10);
    let deep = format!(r#"{{"forClientId":{}"#, "[".repeat(1_000_000));
    assert_eq!(fault(share(&world, "anna", Clients::All, "m", &deep)).0, DomainErrorKind::Invalid);
    for kind in ["share-token", "client-share-token", "share-token-by-maker"] {
        assert!(world.records().unwrap().with_prefix(kind, "").unwrap().is_empty());
    }
}

/// Stores the record of a share token that a client has created, and its index entry.
fn put_of_client(
    records: &mut crate::store::RecordWriter<'_>,
    key: &str,
    text: &str,
) -> Result<(), StoreError> {
    let maker = parsed(text)["maker"].as_str().unwrap().to_owned();
    records.put("client-share-token", key, text)?;
    records.put("share-token-by-maker", &format!("{maker}{key}"), "anna").map(drop)
}

fn record(maker: &str, expires: DateTime<Utc>) -> String {
    let expires_ms = expires.timestamp_millis();
    json!({"applicantId": "anna", "expiresAtMs": expires_ms, "isUsed": true, "maker": maker}).to_string()
}

fn count(store: &Store, kind: &str) -> usize {
    store.records().unwrap().with_prefix(kind, "").unwrap().len()
}

/// Returns three numbers of records: share tokens that clients have created, their index entries, and share tokens that operators
/// have created.
fn counts(store: &Store) -> [usize; 3] {
    ["client-share-token", "share-token-by-maker", "share-token"].map(|kind| count(store, kind))
}

#[test]
fn an_app_token_has_a_limited_number_of_live_share_tokens() {
    let world = World::new();
    let fill = |records: &mut crate::store::RecordWriter<'_>| {
        for number in 0..1000 {
            let live = record("full:", now() + TimeDelta::seconds(1));
            put_of_client(records, &format!("live-{number}"), &live)?;
            put_of_client(records, &format!("old-{number}"), &record("old:", now()))?;
        }
        Ok::<_, StoreError>(())
    };
    world.write_records(fill).unwrap();
    let (kind, told) = fault(share(&world, "anna", Clients::All, "full:", "{}"));
    assert_eq!(kind, DomainErrorKind::TooMany, "{told}");
    assert_eq!(counts(&world), [2000, 2000, 0]);
    // The share tokens of `full:` do not count for other app tokens or for operators. The expired share tokens of `old:` are
    // removed.
    share(&world, "anna", Clients::All, "old:", "{}").unwrap();
    create_share_token(&world, "anna", TimeDelta::hours(1), now()).unwrap();
    assert_eq!(counts(&world), [1001, 1001, 1]);
    share(&world, "anna", Clients::All, "other:", "{}").unwrap();
    assert_eq!(counts(&world), [1002, 1002, 1]);
}

#[test]
fn a_creation_reads_few_share_tokens_of_others_and_expired_ones_disappear() {
    let world = World::new();
    let fill = |records: &mut crate::store::RecordWriter<'_>| {
        for number in 0..150 {
            put_of_client(records, &format!("{:02x}-{number}", number * 37 % 256), &record("gone:", now()))?;
        }
        // Damaged records are kept. They do not prevent the creation of other share tokens.
        records.put("client-share-token", "80", "damaged")?;
        records.put("share-token", "80", "damaged")
    };
    world.write_records(fill).unwrap();
    let (mut removed_at_once, mut before) = (0, 150);
    for _ in 0..100 {
        share(&world, "anna", Clients::All, "m:", "{}").unwrap();
        let left = world.records().unwrap().with_prefix("share-token-by-maker", "gone:").unwrap().len();
        removed_at_once = removed_at_once.max(before - left);
        before = left;
    }
    assert_eq!(counts(&world), [101, 100, 1]);
    assert!((1..=64).contains(&removed_at_once), "{removed_at_once}");
}

#[test]
fn a_used_share_token_counts_for_a_day_although_it_has_expired() {
    let world = World::new();
    let share_at = |at: DateTime<Utc>| {
        let body = (&br#"{"ttlInSecs":1}"#[..], at);
        share_profile_in(&world, "anna", (Clients::All, "m:"), body, &|_| {})
            .map(|made| parsed(&made)["token"].as_str().unwrap().to_owned())
    };
    let used = share_at(now()).unwrap();
    redeem_share_token(&world, &used, now()).unwrap();
    share_at(now()).unwrap();
    // After both share tokens have expired, the unused share token is removed, and the used share token is kept.
    let later = now() + TimeDelta::seconds(2);
    share_at(later).unwrap();
    assert_eq!(counts(&world), [2, 2, 0]);
    // Short-lived share tokens do not let an app token make an unlimited number of copies.
    let text = get(&world, "client-share-token", &crate::domain::share_token::hash(&used));
    let fill = |records: &mut crate::store::RecordWriter<'_>| {
        (0..999).try_for_each(|number| put_of_client(records, &format!("used-{number}"), &text))
    };
    world.write_records(fill).unwrap();
    assert_eq!(share_at(later + TimeDelta::hours(23)).unwrap_err().kind(), DomainErrorKind::TooMany);
    share_at(now() + TimeDelta::hours(24)).unwrap();
    assert_eq!(counts(&world), [1, 1, 0]);
}

#[test]
fn a_share_token_is_valid_as_long_as_its_app_token_may_share() {
    let world = World::new();
    let made = share(&world, "anna", Clients::All, "m:", "{}").unwrap();
    let of_client = made["token"].as_str().unwrap();
    let of_operator = create_share_token(&world, "anna", TimeDelta::hours(1), now()).unwrap();
    let asked = std::cell::RefCell::new(Vec::new());
    let tries = |token: &str, answer: bool| {
        let may_share = |maker: &str, client: &str| {
            asked.borrow_mut().push(format!("{maker} {client}"));
            answer
        };
        let clients = ["other".to_owned()];
        let mut has_room = |_| true;
        let room = &mut Room::new(&mut has_room);
        let shown = preview_in(&world, token, (Clients::All, &may_share), now(), &|_| {}, room);
        let request = CopyRequest {
            query_tokens: vec![token.to_owned()],
            body: b"",
            clients: Clients::Only(&clients),
            may_share: &may_share,
            now: now(),
        };
        let copied = copy_profile_in(&world, request, &|_| {}, room);
        [shown, copied].map(|result| result.map(drop).map_err(|error| error.to_string()))
    };
    let invalid = Err("the share token is invalid".to_owned());
    assert_eq!(tries(of_client, false), [invalid.clone(), invalid]);
    assert_eq!(tries(of_client, true), [Ok(()), Ok(())]);
    assert_eq!(asked.take(), ["m: acme"; 4]);
    // The share token of an operator belongs to no app token, so `may_share` is not called.
    assert_eq!(tries(&of_operator, false), [Ok(()), Ok(())]);
    assert!(asked.take().is_empty());
}

#[test]
fn a_host_that_names_no_client_cannot_use_a_share_token_for_a_client() {
    let world = World::new();
    let made = share(&world, "anna", Clients::All, "m:", r#"{"forClientId":"other"}"#).unwrap();
    let token = made["token"].as_str().unwrap();
    let unauthorized = (DomainErrorKind::Unauthorized, "the share token is invalid".to_owned());
    assert_eq!(fault(preview(&world, token, now())), unauthorized);
    assert_eq!(fault(redeem_share_token(&world, token, now())), unauthorized);
    assert_eq!(fault(preview_for_client(&world, token, "acme", now())), unauthorized);
    assert_eq!(fault(redeem_share_token_for_client(&world, token, "acme", now())), unauthorized);
    assert!(preview_for_client(&world, token, "other", now()).is_ok());
    assert_eq!(redeem_share_token_for_client(&world, token, "other", now()).unwrap(), "anna");
    assert_eq!(fault(redeem_share_token_for_client(&world, token, "other", now())), unauthorized);
    // Earlier versions read only the record kind `share-token`, and ignore the client. So no share token for a client must have
    // this kind.
    assert_eq!(count(&world, "share-token"), 0);
}
