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
    let shown = preview_in(store, token, clients, at, &|_| {}, &mut Room::new(&mut |_| true));
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
    // Without a client, the token alone decides.
    for body in ["", "{}", r#"{"forClientId":null,"ttlInSecs":null}"#] {
        let made = share(&world, "anna", acme, "m", body).unwrap();
        assert!(
            made.get("forClientId").is_none() && made["expiresAt"] == "2027-01-15 09:00:00+0000",
            "{made}"
        );
        assert_eq!(shown(made["token"].as_str().unwrap()), [true; 3]);
    }
    // Only hashes are stored.
    let records = world.records().unwrap().with_prefix("share-token", "").unwrap();
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
    assert!(world.records().unwrap().with_prefix("share-token", "").unwrap().is_empty());
}

#[test]
fn an_app_token_has_a_limited_number_of_live_share_tokens() {
    let world = World::new();
    let record = |maker: &str, expires: DateTime<Utc>| json!({"applicantId": "anna", "expiresAtMs": expires.timestamp_millis(), "isUsed": true, "maker": maker});
    world
        .write_records(|records| {
            for number in 0..1000 {
                let live = record("full", now() + TimeDelta::seconds(1)).to_string();
                records.put("share-token", &format!("live-{number}"), &live)?;
                let expired = record("old", now()).to_string();
                records.put("share-token", &format!("old-{number}"), &expired)?;
            }
            Ok::<_, StoreError>(())
        })
        .unwrap();
    let (kind, told) = fault(share(&world, "anna", Clients::All, "full", "{}"));
    assert_eq!(kind, DomainErrorKind::TooMany, "{told}");
    assert_eq!(world.records().unwrap().with_prefix("share-token", "").unwrap().len(), 2000);
    // Other app tokens and operators have their own share tokens. Expired ones are removed.
    share(&world, "anna", Clients::All, "old", "{}").unwrap();
    create_share_token(&world, "anna", TimeDelta::hours(1), now()).unwrap();
    assert_eq!(world.records().unwrap().with_prefix("share-token", "").unwrap().len(), 1002);
}

#[test]
fn a_used_share_token_counts_for_a_day_although_it_has_expired() {
    let world = World::new();
    let count = || world.records().unwrap().with_prefix("share-token", "").unwrap().len();
    let share_at = |at: DateTime<Utc>| {
        let body = (&br#"{"ttlInSecs":1}"#[..], at);
        share_profile_in(&world, "anna", (Clients::All, "m"), body, &|_| {})
            .map(|made| parsed(&made)["token"].as_str().unwrap().to_owned())
    };
    let used = share_at(now()).unwrap();
    redeem_share_token(&world, &used, now()).unwrap();
    share_at(now()).unwrap();
    // Later, the unused one is removed, and the used one is not.
    let later = now() + TimeDelta::seconds(2);
    share_at(later).unwrap();
    assert_eq!(count(), 2);
    // The loop of short share tokens and copies ends.
    let text = get(&world, "share-token", &crate::domain::share_token::hash(&used));
    let fill = |records: &mut crate::store::RecordWrite<'_>| {
        (0..999).try_for_each(|number| records.put("share-token", &format!("used-{number}"), &text).map(drop))
    };
    world.write_records(fill).unwrap();
    assert_eq!(share_at(later + TimeDelta::hours(23)).unwrap_err().kind(), DomainErrorKind::TooMany);
    share_at(now() + TimeDelta::hours(24)).unwrap();
    assert_eq!(count(), 1);
}
