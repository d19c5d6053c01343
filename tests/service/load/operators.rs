//! The operators of the load: they import, delete and erase, make backups, and change tokens and certificates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::client::Key;
use super::super::process::casefilter;
use super::super::server::{SEARCH, aml_of, status_of};
use super::connection::{Connection, operate};
use super::{Load, TENANTS};

/// The time within which a change of a file is in force. The machine is under load.
const SOON: Duration = Duration::from_secs(10);

/// The number of cases of an import.
const IMPORTED: usize = 30;

/// The imported cases.
#[derive(Default)]
pub(super) struct Cases {
    /// The stored cases by id.
    pub(super) stored: BTreeMap<String, Value>,
    /// The ids of all cases that were ever stored, and their clients.
    pub(super) entered: BTreeMap<String, String>,
    /// The ids of deleted cases.
    pub(super) deleted: BTreeSet<String>,
}

/// Returns the total of a search for cases with these ids.
fn total(connection: &mut Connection<'_>, ids: &[String]) -> u64 {
    let target = format!("{SEARCH}?limit=0&countTotalItems=true");
    let answer = connection.call("all", "POST", &target, json!({ "ids": ids }).to_string().as_bytes());
    answer.response.good()["list"]["totalItems"].as_u64().unwrap()
}

/// Imports new cases, replaces cases, and deletes some. Checks each write by a search.
pub(super) fn import(load: &Load) -> Cases {
    let mut connection = Connection::new(load);
    let mut cases = Cases::default();
    let clients = TENANTS.map(|tenant| tenant.clients[1]);
    for round in 0.. {
        if !load.goes_on_beside_records() {
            break;
        }
        // Every third import replaces the cases of the round before.
        let batch = if round % 3 == 2 { round - 1 } else { round };
        let case = |number: usize| {
            let client = [clients[0], clients[1], "client03"][number % 3];
            let tag = format!("t{}", (number + round) % 5);
            json!({"id": format!("load-{batch}-{number}"), "name": format!("round {round}"), "clientId": client, "tags": [tag]})
        };
        // A case that was deleted does not come back.
        let is_deleted = |case: &Value| cases.deleted.contains(case["id"].as_str().unwrap());
        let new: Vec<Value> = (0..IMPORTED).map(case).filter(|case| !is_deleted(case)).collect();
        let text: String = new.iter().map(|case| format!("{case}\n")).collect();
        // A repeated import has the same effect.
        let (status, answer, _) = operate(load, "/imports/cases", &text);
        assert_eq!(status, 200, "{answer}");
        let id_of = |case: &Value| case["id"].as_str().unwrap().to_owned();
        let ids: Vec<String> = new.iter().map(id_of).collect();
        for case in new {
            let client = case["clientId"].as_str().unwrap().to_owned();
            cases.entered.insert(id_of(&case), client);
            cases.stored.insert(id_of(&case), case);
        }
        assert_eq!(total(&mut connection, &ids), ids.len() as u64);
        if round % 4 == 3 {
            let gone: Vec<String> = ids.into_iter().take(5).collect();
            let body = json!({"body": json!({"ids": gone}).to_string(), "expected": gone.len()}).to_string();
            let (status, answer, was_lost) = operate(load, "/deletions", &body);
            // After the first attempt, no case is left.
            assert!(status == 200 || status == 409 && was_lost, "{status} {answer}");
            assert_eq!(total(&mut connection, &gone), 0);
            for id in gone {
                cases.stored.remove(&id);
                cases.deleted.insert(id);
            }
        }
    }
    cases
}

/// Imports persons with cases, and erases them. Compacts the file now and then. Returns the names of the persons.
pub(super) fn erase(load: &Load) -> Vec<String> {
    let mut connection = Connection::new(load);
    let mut erased = Vec::new();
    let (tenant, client) = (TENANTS[0].name, TENANTS[0].clients[0]);
    for round in 0.. {
        if !load.goes_on_beside_records() {
            break;
        }
        let (id, name) = (format!("gone-{round}"), format!("Quetzalcoatlus{round}x"));
        let owned = |id: &str, owner: &str| json!({"id": id, "createdAt": "2026-01-01 00:00:00", owner: format!("gone-{round}")});
        let applicant =
            json!({"id": id, "type": "individual", "clientId": client, "info": {"lastName": name}});
        let mut document = owned("d", "applicantId");
        document["step"] = "SELFIE".into();
        let mut aml_case = owned("a", "targetEntityId");
        aml_case["targetEntityType"] = "applicant".into();
        aml_case["hits"] = json!([{"id": "h", "name": name}]);
        let cases: Vec<Value> = (0..5)
            .map(|number| json!({"id": format!("{id}-{number}"), "name": name, "applicantReference": {"applicantId": id}}))
            .collect();
        let text: String = cases.iter().map(|case| format!("{case}\n")).collect();
        for (kind, text) in [
            ("applicants", applicant.to_string()),
            ("documents", document.to_string()),
            ("aml-cases", aml_case.to_string()),
            ("cases", text),
        ] {
            let (status, answer, _) = operate(load, &format!("/imports/{kind}"), &text);
            assert_eq!(status, 200, "{answer}");
        }
        connection.call(tenant, "GET", &aml_of(&id), b"").response.good();
        let (status, answer, was_lost) = operate(load, "/erasures", &json!({"applicant": id}).to_string());
        assert_eq!(status, 200, "{answer}");
        let is_first = answer["cases"] == 5 && answer["records"] == 4;
        assert!(is_first || was_lost && answer["cases"] == 0 && answer["records"] == 0, "{answer}");
        connection.call(tenant, "GET", &status_of(&id), b"").response.failure(404);
        let ids: Vec<String> = (0..5).map(|number| format!("{id}-{number}")).collect();
        assert_eq!(total(&mut connection, &ids), 0);
        erased.push(name);
        if round % 3 == 1 {
            let (status, answer, _) = operate(load, "/compactions", "{}");
            assert_eq!(status, 200, "{answer}");
        }
        thread::sleep(Duration::from_millis(100));
    }
    erased
}

/// Makes backups, and verifies them.
pub(super) fn back_up(load: &Load) {
    let folder = load.database.folder();
    let mut round = 0;
    while load.goes_on() {
        round += 1;
        let path = folder.join(format!("backup-{round}.db"));
        let (status, answer, was_lost) = operate(load, "/backups", &json!({ "path": path }).to_string());
        assert!(status == 200 || was_lost, "{answer}");
        let verify = casefilter().arg("verify").arg(&path).output().unwrap();
        assert!(verify.status.success(), "{verify:?}");
        fs::remove_file(path).unwrap();
        thread::sleep(Duration::from_millis(300));
    }
}

/// Runs `casefilter token`, and returns the JSON that it prints.
fn token(load: &Load, arguments: &[&str]) -> Value {
    let mut command = casefilter();
    let output = command.current_dir(load.database.folder()).arg("token").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn key_of(token: &Value) -> Key {
    let text = |name: &str| token[name].as_str().unwrap().to_owned();
    Key { token: text("token"), secret: text("secret") }
}

/// Repeats a search with the key `name` until its response has this status.
fn wait_for(load: &Load, name: &str, status: u16) {
    let mut connection = Connection::new(load);
    let start = Instant::now();
    let target = format!("{SEARCH}?limit=1");
    while connection.call(name, "POST", &target, br#"{"ids":[]}"#).response.status != status {
        assert!(start.elapsed() < SOON || load.epoch() % 2 == 1, "{name} does not get {status}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Rotates the secrets of the tenants, and makes and revokes tokens.
pub(super) fn change_tokens(load: &Load) {
    let mut round = 0;
    while load.goes_on() {
        let name = TENANTS[round % TENANTS.len()].name;
        let rotated = token(load, &["rotate", "--file", "tokens.json", "--name", name, "--overlap", "15s"]);
        load.set_key("rotated", key_of(&rotated));
        wait_for(load, "rotated", 200);
        load.set_key(name, key_of(&rotated));
        let extra = format!("extra-{round}");
        let made = token(load, &["app", "--file", "tokens.json", "--allow", "viewCases", "--name", &extra]);
        load.set_key(&extra, key_of(&made));
        wait_for(load, &extra, 200);
        token(load, &["revoke", "--file", "tokens.json", "--name", &extra]);
        wait_for(load, &extra, 401);
        round += 1;
        thread::sleep(Duration::from_millis(200));
    }
}

/// Replaces the certificate.
pub(super) fn change_certificates(load: &Load) {
    let mut round = 0;
    while load.goes_on() {
        round += 1;
        load.use_certificate(["first", "second"][round % 2]);
        thread::sleep(Duration::from_millis(400));
    }
}
