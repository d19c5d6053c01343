//! Tests share tokens that clients create, and copies of profiles, with the binary and real sockets.

use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::ServiceOptions;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::Client;
use super::process::{Process, casefilter, write_private};
use super::server::{
    COPY, Database, EVENTS, PREVIEW, SEARCH, STANDING, Server, TENANTS, aml_of, key, share_tokens_of,
    status_of,
};

/// Creates a share token for the profile of anna, and returns it.
fn share(client: &mut Client, name: &str, body: &Value) -> String {
    let body = body.to_string();
    let made = client.call(&key(name), "POST", &share_tokens_of("anna"), body.as_bytes()).created();
    made["token"].as_str().unwrap().to_owned()
}

/// Returns the hash of a share token, which the database has.
fn hash(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn preview(client: &mut Client, name: &str, token: &str) -> u16 {
    client.call(&key(name), "GET", &format!("{PREVIEW}?shareToken={token}"), b"").status
}

#[test]
fn a_share_token_is_durable_and_in_no_log() {
    let database = Database::new("plain.cases.ndjson");
    let audit = database.folder().join("audit.ndjson");
    let audited = ["--audit", audit.to_str().unwrap()];
    let process = Process::start(&database, &[&["--log", "debug"][..], &audited].concat());
    let mut client = process.client();
    let open = share(&mut client, "tenant-one", &json!({}));
    let bound = share(&mut client, "tenant-one", &json!({"forClientId": "other", "ttlInSecs": 600}));
    // The process ends without a shutdown.
    let mut log = process.kill();
    let process = Process::start(&database, &[&["--log", "debug"][..], &audited].concat());
    let mut client = process.client();
    for (name, expected) in [("all", [200, 200]), ("tenant-one", [200, 401]), ("tenant-two", [200, 200])] {
        let statuses = [&open, &bound].map(|token| preview(&mut client, name, token));
        assert_eq!(statuses, expected, "{name}");
    }
    log.push_str(&process.terminate());
    let audit = fs::read_to_string(audit).unwrap();
    let bytes = fs::read(database.path()).unwrap();
    for token in [&open, &bound] {
        for text in [token.clone(), hash(token)] {
            assert!(!log.contains(&text) && !audit.contains(&text), "{log}{audit}");
        }
        assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()));
    }
    let made: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["operation"] == "createShareToken")
        .collect();
    assert_eq!(made.len(), 2);
    for record in &made {
        assert_eq!((&record["applicant"], &record["status"]), (&json!("anna"), &json!(201)));
    }
    assert_eq!((made[0].get("forClient"), &made[1]["forClient"]), (None, &json!("other")));
}

#[test]
fn the_number_of_share_tokens_is_limited_and_counted() {
    let server = Server::start();
    let mut client = server.client();
    for _ in 0..3 {
        share(&mut client, "shareApplicants", &json!({}));
    }
    let database = server.stop();
    let store = database.open();
    let maker = store.records().unwrap().with_prefix("client-share-token", "").unwrap();
    let maker = maker.iter().find_map(|(_, text)| {
        serde_json::from_str::<Value>(text).unwrap()["maker"].as_str().map(str::to_owned)
    });
    let maker = maker.unwrap();
    let record = json!({"applicantId": "anna", "expiresAtMs": i64::MAX, "isUsed": false, "maker": maker});
    store
        .write_records(|records| {
            for number in 0..997 {
                records.put("client-share-token", &format!("t{number}"), &record.to_string())?;
                records.put("share-token-by-maker", &format!("{maker}t{number}"), "anna")?;
            }
            Ok::<_, casefilter::StoreError>(())
        })
        .unwrap();
    store.close().unwrap();
    let server = Server::on(database, ServiceOptions::default());
    let mut client = server.client();
    let full = client.call(&key("shareApplicants"), "POST", &share_tokens_of("anna"), b"{}");
    assert!(full.failure(429).contains("has 1000 share tokens"), "{}", full.text());
    assert_eq!(full.header("retry-after"), None);
    share(&mut client, "all", &json!({}));
    let metrics = server.metrics().text().to_owned();
    for (status, count) in [(201, 1), (429, 1)] {
        let line = format!("operation=\"createShareToken\",status=\"{status}\"}} {count}");
        assert!(metrics.contains(&line), "{metrics}");
    }
    server.stop();
}

#[test]
fn of_sixteen_concurrent_copies_one_succeeds() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    for round in 0..5 {
        let token = share(&mut client, "tenant-one", &json!({"forClientId": "client03"}));
        let barrier = Barrier::new(16);
        let answers: Vec<(u16, Value)> = thread::scope(|scope| {
            let copies: Vec<_> = (0..16)
                .map(|number| {
                    let (mut client, token, barrier) = (process.client(), &token, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        // In the query, and in the body.
                        let query = format!("{COPY}?shareToken={token}");
                        let body = json!({ "shareToken": token }).to_string();
                        let (target, body) =
                            if number % 2 == 0 { (&*query, "") } else { (COPY, body.as_str()) };
                        let answer = client.call(&key("tenant-three"), "POST", target, body.as_bytes());
                        if answer.status != 201 {
                            assert_eq!(answer.failure(401), "the share token is invalid");
                            assert_eq!(answer.code().0, 4011);
                        }
                        (answer.status, answer.json())
                    })
                })
                .collect();
            copies.into_iter().map(|copy| copy.join().unwrap()).collect()
        });
        let made: Vec<&Value> =
            answers.iter().filter(|(status, _)| *status == 201).map(|(_, copy)| copy).collect();
        assert_eq!(made.len(), 1, "round {round}: {answers:?}");
        assert_eq!(made[0]["clientId"], "client03");
        let id = made[0]["id"].as_str().unwrap();
        client.call(&key("tenant-three"), "GET", &status_of(id), b"").good();
        assert_eq!(client.call(&key("tenant-one"), "GET", &status_of(id), b"").status, 404);
    }
    process.terminate();
    let store = database.open();
    let records = store.records().unwrap();
    let is_copy = |text: &str| text.contains(r#""clientId":"client03""#);
    let applicants = records.with_prefix("applicant", "").unwrap();
    assert_eq!(applicants.iter().filter(|(_, text)| is_copy(text)).count(), 5);
}

#[test]
fn a_copy_belongs_to_a_client_of_its_token_and_survives_a_kill() {
    let database = Database::new("plain.cases.ndjson");
    let audit = database.folder().join("audit.ndjson");
    let arguments = ["--log", "debug", "--audit", audit.to_str().unwrap()];
    let process = Process::start(&database, &arguments);
    let mut client = process.client();
    let mut copies = Vec::new();
    let mut tokens = Vec::new();
    for (tenant, clients) in TENANTS {
        let token = share(&mut client, "all", &json!({}));
        assert_eq!(preview(&mut client, tenant, &token), 200);
        let mut copy = |body: &Value| {
            let target = format!("{COPY}?shareToken={token}");
            client.call(&key(tenant), "POST", &target, body.to_string().as_bytes())
        };
        if clients.len() > 1 {
            let said = copy(&json!({})).failure(400);
            assert!(said.contains("the app token is bound to several clients"), "{said}");
        }
        let said = copy(&json!({"clientId": "nobody"})).failure(400);
        assert!(said.ends_with("found `nobody`, expected a client of the app token"), "{said}");
        let own = clients.last().unwrap();
        let made = copy(&json!({"clientId": own})).created();
        assert_eq!((&made["clientId"], &made["info"]["firstName"]), (&json!(own), &json!("Änne")));
        assert_eq!(copy(&json!({"clientId": own})).failure(401), "the share token is invalid");
        assert_eq!(preview(&mut client, tenant, &token), 401);
        copies.push((tenant, made["id"].as_str().unwrap().to_owned(), clients));
        tokens.push(token);
    }
    let token = share(&mut client, "all", &json!({}));
    let said = client.call(&key("all"), "POST", &format!("{COPY}?shareToken={token}"), b"").failure(400);
    assert!(said.contains("the app token is not bound to a client"), "{said}");
    let mut log = process.kill();
    let process = Process::start(&database, &arguments);
    let mut client = process.client();
    for (tenant, id, clients) in &copies {
        for (other, others) in TENANTS {
            let own = clients.last().unwrap();
            let expected = if others.contains(own) { 200 } else { 404 };
            for target in [status_of(id), aml_of(id)] {
                let answer = client.call(&key(other), "GET", &target, b"");
                assert_eq!(answer.status, expected, "{tenant} {other}: {}", answer.text());
            }
        }
    }
    for token in &tokens {
        assert_eq!(preview(&mut client, "all", token), 401);
    }
    log.push_str(&process.terminate());
    // The audit log names the profile and its copy. No log has the share token.
    let audit = fs::read_to_string(audit).unwrap();
    let hashes = tokens.iter().map(|token| hash(token));
    for secret in tokens.iter().cloned().chain(hashes).chain(["Änne", "Grün"].map(str::to_owned)) {
        assert!(!log.contains(&secret) && !audit.contains(&secret), "{secret}");
    }
    let records: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let made: Vec<&Value> = records
        .iter()
        .filter(|record| record["operation"] == "copyProfile" && record["status"] == 201)
        .collect();
    assert_eq!(made.len(), copies.len());
    for (record, (tenant, id, clients)) in made.iter().zip(&copies) {
        let expected = json!([tenant, "anna", id, clients.last()]);
        assert_eq!(json!([record["token"], record["applicant"], record["copy"], record["client"]]), expected);
    }
}

#[test]
fn a_share_token_is_valid_as_long_as_its_app_token_may_share() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    let token = share(&mut client, "tenant-one", &json!({"ttlInSecs": 600}));
    let of_operator = &database.share_token;
    let path = database.folder().join("tokens.json");
    let all: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    // Changes the app token that has created the share token, and waits until a preview gets the status.
    let mut change = |change: &dyn Fn(&mut Vec<Value>), expected: u16| {
        let mut file = all.clone();
        change(file["tokens"].as_array_mut().unwrap());
        write_private(&path, &file.to_string());
        let start = Instant::now();
        while preview(&mut client, "tenant-two", &token) != expected {
            assert!(start.elapsed() < Duration::from_secs(5), "no {expected} yet");
            thread::sleep(Duration::from_millis(20));
        }
        let target = format!("{COPY}?shareToken={token}");
        let copy = client.call(&key("tenant-two"), "POST", &target, br#"{"clientId":"other"}"#);
        if expected == 401 {
            assert_eq!((copy.failure(401), copy.code().0), ("the share token is invalid".to_owned(), 4011));
            assert_eq!(preview(&mut client, "tenant-two", of_operator), 200);
        } else {
            copy.created();
        }
    };
    let own = |tokens: &mut Vec<Value>, member: &str, value: Value| {
        tokens.iter_mut().find(|token| token["name"] == "tenant-one").unwrap()[member] = value;
    };
    change(&|tokens| tokens.retain(|token| token["name"] != "tenant-one"), 401);
    change(&|tokens| own(tokens, "permissions", json!(["viewApplicants"])), 401);
    change(&|tokens| own(tokens, "clients", json!(["client01"])), 401);
    change(&|tokens| own(tokens, "expires", json!("2020-01-01T00:00:00Z")), 401);
    // Another secret is the same token.
    change(&|tokens| own(tokens, "secret", json!("another secret of the first tenant")), 200);
    process.terminate();
}

#[cfg(unix)]
#[test]
fn an_operator_finds_a_copy_whose_answer_was_lost() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    let token = share(&mut client, "tenant-one", &json!({"forClientId": "other"}));
    let target = format!("{COPY}?shareToken={token}");
    let copy = client.call(&key("tenant-two"), "POST", &target, br#"{"clientId":"other"}"#).created();
    let list = |arguments: &[&str]| -> Vec<Value> {
        let mut command = casefilter();
        let output = command.args(["token", "shares", "--db"]).arg(database.path()).args(arguments).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let check = || {
        assert_eq!(list(&["--applicant", "boris"]), [] as [Value; 0]);
        // One each that is used by a client, used by the host, and valid. The expired one was removed.
        let all = list(&["--applicant", "anna"]);
        assert_eq!(all.len(), 3, "{all:?}");
        let found: Vec<&Value> = all.iter().filter(|share| share["copyId"] == copy["id"]).collect();
        assert_eq!(found.len(), 1, "{all:?}");
        let expected = json!({"hash": hash(&token), "used": true, "copyClientId": "other", "forClientId": "other", "byClient": true});
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(found[0][name], *value, "{name}");
        }
    };
    check();
    process.terminate();
    check();
    let mut command = casefilter();
    let output = command.args(["token", "shares", "--format", "table", "--db"]).arg(database.path()).output();
    let table = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(table.contains(copy["id"].as_str().unwrap()) && table.contains("client of the copy"), "{table}");
    assert!(!table.contains(&token) && !table.contains(&hash(&token)));
}

#[test]
fn a_copy_gives_no_events_and_is_no_write_of_cases() {
    let server = Server::start();
    // PostgreSQL gives no events.
    if server.database.source().is_some() {
        server.stop();
        return;
    }
    let (mut client, all) = (server.client(), key("all"));
    let filter = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;
    client.call(&all, "PUT", &format!("{STANDING}/everything"), filter).good();
    let last = client.call(&all, "GET", EVENTS, b"").good()["last"].clone();
    let page = client.call(&all, "POST", SEARCH, filter).good();
    let token = share(&mut client, "all", &json!({}));
    client.call(&all, "POST", &format!("{COPY}?shareToken={token}"), br#"{"clientId":"acme"}"#).created();
    let events = client.call(&all, "GET", &format!("{EVENTS}?after={last}"), b"").good();
    assert_eq!((&events["events"], &events["last"]), (&json!([]), &last));
    assert_eq!(client.call(&all, "POST", SEARCH, filter).good(), page);
    let database = server.stop();
    assert_eq!(database.open().snapshot().last_write(), Some(1));
}
