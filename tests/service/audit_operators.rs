//! Tests the records of requests on the admin socket in the audit log.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::audit_digest_of_ids;
use serde_json::{Value, json};

use super::audit::{log_of, records, replay, serve, verify};
use super::process::casefilter;
use super::server::Database;

#[test]
fn requests_of_operators_are_recorded() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &[]);
    let run = |arguments: &[&str]| {
        let output = casefilter().current_dir(database.folder()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[
        "search",
        "cases.db",
        "--where",
        "status = open",
        "--order",
        "-id",
        "--limit",
        "5",
        "--format",
        "ids",
    ]);
    let ids: Vec<&str> = text.lines().collect();
    assert_eq!(ids.len(), 5);
    let counts: Value = serde_json::from_str(&run(&["stats", "cases.db", "--by", "status"])).unwrap();
    run(&["backup", "--db", "cases.db", "-o", "copy.db"]);
    let token = run(&["token", "share", "--db", "cases.db", "--applicant", "anna"]);
    run(&["token", "shares", "--db", "cases.db"]);
    run(&["delete", "--db", "cases.db", "--where", &format!("id = {}", ids[0]), "--yes"]);
    let log = process.terminate();
    // With the default level, the log has the requests that change or copy data, but not those that only read.
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_logged = |request: &str| lines.iter().any(|line| line["request"] == request);
    assert!(["POST /backups", "POST /share-tokens", "POST /deletions"].into_iter().all(is_logged), "{log}");
    assert!(!["GET /share-tokens", "POST /facets", "POST /searches"].into_iter().any(is_logged), "{log}");
    let records = records(&database, &[]);
    let of_operators: Vec<&Value> = records.iter().filter(|record| record["request"].is_string()).collect();
    assert!(of_operators.iter().all(|record| record["user"].is_u64() && record["status"] == 200));
    let of = |request: &str| -> Vec<&&Value> {
        let found: Vec<_> =
            of_operators.iter().filter(|record| record["request"] == format!("POST /{request}")).collect();
        assert!(!found.is_empty(), "{request}: {records:?}");
        found
    };
    of("backups");
    let page = of("searches").into_iter().find(|record| record["items"] == 5).unwrap();
    assert_eq!((&page["filter"], &page["order"]), (&json!("caseReview.status = open"), &json!("-id")));
    assert_eq!((&page["limit"], &page["ids"]), (&json!(5), &json!(audit_digest_of_ids(ids.iter().copied()))));
    assert!(page["filterHash"].is_string() && page["lastWrite"].is_u64(), "{page}");
    let counted = of("facets")[0];
    assert_eq!((&counted["facets"], &counted["total"]), (&json!(["caseReview.status"]), &json!(700)));
    assert!(counts.to_string().contains("open"), "{counts}");
    assert_eq!(of("share-tokens")[0]["applicant"], "anna");
    assert!(!records.iter().any(|record| record.to_string().contains(token.trim())));
    let deleted: Vec<_> = of("deletions").into_iter().filter(|record| record["deletedCases"] == 1).collect();
    assert!(deleted[0]["filter"].as_str().unwrap().contains(ids[0]), "{}", deleted[0]);
    verify(&database);
}

#[test]
fn a_deletion_is_recorded_although_its_operator_has_hung_up() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &[]);
    let body = r#"{"expected":700}"#;
    let head =
        format!("POST /deletions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut stream = UnixStream::connect(database.folder().join("cases.db.sock")).unwrap();
    // A request whose operator hangs up before the service has begun with it does nothing, so this one has begun when its body
    // ends.
    let (begin, end) = body.split_at(4);
    stream.write_all((head + begin).as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(500));
    stream.write_all(end.as_bytes()).unwrap();
    drop(stream);
    let start = Instant::now();
    while !fs::read_to_string(log_of(&database)).unwrap().contains("POST /deletions") {
        assert!(start.elapsed() < Duration::from_secs(20), "the deletion is not recorded");
        thread::sleep(Duration::from_millis(20));
    }
    let log = process.terminate();
    assert!(log.contains("deleted cases on the admin socket") && log.contains("administered"), "{log}");
    let records = records(&database, &[]);
    let deletion = records.iter().find(|record| record["request"] == "POST /deletions").unwrap();
    assert_eq!(deletion["status"], 200);
    assert!(deletion["user"].is_u64());
    assert!(database.open().is_empty());
}

/// Sends a request to the admin socket. Returns its status and the body of the response.
fn post(database: &Database, path: &str, body: &Value) -> (u16, String) {
    let mut stream = UnixStream::connect(database.folder().join("cases.db.sock")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn failed_searches_and_a_refused_deletion_are_recorded_as_such() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &[]);
    let open = json!({"criteria": [{"field": "status", "op": "=", "values": ["open"]}]}).to_string();
    // The database keeps no history.
    let page = |as_of: Value| json!({"ask": "page", "body": open, "limit": 5, "as_of": as_of, "count": true});
    let (status, text) = post(&database, "/searches", &page(json!("0")));
    assert!(status == 410 && text.contains("keeps no history"), "{status} {text}");
    let (status, text) = post(&database, "/searches", &page(Value::Null));
    assert!(status == 200 && text.contains("E\0\0\0\0"), "{status} {text}");
    // The refusal tells the number of cases.
    let (status, text) = post(&database, "/deletions", &json!({"body": open, "expected": 1_000_000}));
    assert_eq!(status, 409, "{text}");
    let told = text.split("now selects ").nth(1).unwrap().split(' ').next().unwrap();
    let selected: u64 = told.parse().unwrap();
    for (path, body) in [
        ("/searches", json!({"ask": "count", "body": open, "as_of": "0"})),
        ("/searches", json!({"ask": "explain", "body": open, "as_of": "0"})),
        ("/facets", json!({"by": ["status"], "body": open, "as_of": "0"})),
    ] {
        let (status, text) = post(&database, path, &body);
        assert!(status == 410, "{path}: {status} {text}");
    }
    process.terminate();
    let records = records(&database, &[]);
    let of_operators: Vec<&Value> = records.iter().filter(|record| record["request"].is_string()).collect();
    assert_eq!(of_operators.len(), 6, "{of_operators:?}");
    for (record, status) in of_operators.iter().zip([410, 200, 409, 410, 410, 410]) {
        assert_eq!(
            (&record["status"], &record["filter"]),
            (&json!(status), &json!("caseReview.status = open"))
        );
    }
    assert_eq!((&of_operators[0]["asOf"], of_operators[0].get("items")), (&json!("0"), None));
    assert_eq!(of_operators[1]["items"], 5);
    assert_eq!((&of_operators[2]["total"], &of_operators[1]["total"]), (&json!(selected), &json!(selected)));
    assert_eq!(replay(&database, &of_operators[0]["n"]).0, Some(6));
    verify(&database);
}

#[test]
fn a_search_over_the_limits_of_clients_can_be_answered_again() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &["--history", "1d"]);
    let run = |arguments: &[&str]| {
        let output = casefilter().current_dir(database.folder()).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let known = run(&["search", "cases.db", "--limit", "3", "--format", "ids"]);
    let ids: Vec<String> =
        known.lines().map(str::to_owned).chain((0..70_000).map(|number| format!("none-{number}"))).collect();
    let body = json!({ "ids": ids }).to_string();
    let (status, text) = post(&database, "/searches", &json!({"ask": "page", "body": body, "limit": 5}));
    assert_eq!(status, 200, "{text}");
    let n = records(&database, &[]).iter().rfind(|record| record["items"] == 3).unwrap()["n"].clone();
    // The service answers again while it runs, and the command afterwards.
    let (status, text) = replay(&database, &n);
    assert_eq!(status, Some(0), "{text}");
    process.terminate();
    let (status, text) = replay(&database, &n);
    assert_eq!(status, Some(0), "{text}");
}
