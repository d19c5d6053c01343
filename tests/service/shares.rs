//! Tests share tokens that clients create, with the binary and real sockets.

use std::fs;

use casefilter::service::ServiceOptions;
use serde_json::{Value, json};

use super::client::Client;
use super::process::Process;
use super::server::{Database, PREVIEW, Server, key, share_tokens_of};

/// Creates a share token for the profile of anna, and returns it.
fn share(client: &mut Client, name: &str, body: &Value) -> String {
    let body = body.to_string();
    let made = client.call(&key(name), "POST", &share_tokens_of("anna"), body.as_bytes()).created();
    made["token"].as_str().unwrap().to_owned()
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
        assert!(!log.contains(token.as_str()) && !audit.contains(token.as_str()), "{log}{audit}");
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
    let maker = store.records().unwrap().with_prefix("share-token", "").unwrap();
    let maker = maker.iter().find_map(|(_, text)| {
        serde_json::from_str::<Value>(text).unwrap()["maker"].as_str().map(str::to_owned)
    });
    let record = json!({"applicantId": "anna", "expiresAtMs": i64::MAX, "isUsed": false, "maker": maker.unwrap()});
    store
        .write_records(|records| {
            for number in 0..997 {
                records.put("share-token", &format!("t{number}"), &record.to_string())?;
            }
            Ok::<_, casefilter::StoreError>(())
        })
        .unwrap();
    store.close().unwrap();
    let server = Server::on(database, ServiceOptions::default());
    let mut client = server.client();
    let full = client.call(&key("shareApplicants"), "POST", &share_tokens_of("anna"), b"{}");
    assert!(full.failure(429).contains("has created 1000 share tokens"), "{}", full.text());
    assert_eq!(full.header("retry-after"), Some("1"));
    share(&mut client, "all", &json!({}));
    let metrics = server.metrics().text().to_owned();
    for (status, count) in [(201, 1), (429, 1)] {
        let line = format!("operation=\"createShareToken\",status=\"{status}\"}} {count}");
        assert!(metrics.contains(&line), "{metrics}");
    }
    server.stop();
}
