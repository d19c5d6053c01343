//! Tests erasures by a service: beside an import whose body is still sent, and while the disk is full.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use super::process::{Process, casefilter};
use super::server::{Database, SEARCH, key, status_of};
use super::writes::full::{lift_limit, serve};

/// A text that the cases of anna have.
const SECRET: &str = "Quetzalcoatlus";

/// Returns the text of a case of anna, as a line.
fn case(id: &str) -> String {
    json!({"id": id, "name": SECRET, "applicantReference": {"applicantId": "anna"}}).to_string() + "\n"
}

/// Begins a request on the admin socket: sends its head and the beginning of its body.
fn begin(database: &Database, target: &str, body: &str, sent: usize) -> UnixStream {
    let mut stream = UnixStream::connect(database.folder().join("cases.db.sock")).unwrap();
    let length = body.len();
    let head =
        format!("POST {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + &body[..sent]).as_bytes()).unwrap();
    stream
}

/// Reads a response, and returns its status and its body.
fn answer(mut stream: UnixStream) -> (u16, Value) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

fn ask(database: &Database, target: &str, body: &str) -> (u16, Value) {
    answer(begin(database, target, body, body.len()))
}

/// Returns the number of the cases with these ids.
fn found(client: &mut Client, ids: &[&str]) -> u64 {
    let target = format!("{SEARCH}?limit=0&countTotalItems=true");
    let answer = client.call(&key("all"), "POST", &target, json!({ "ids": ids }).to_string().as_bytes());
    answer.good()["list"]["totalItems"].as_u64().unwrap()
}

fn has_secret(database: &Database) -> bool {
    memchr::memmem::find(&fs::read(database.path()).unwrap(), SECRET.as_bytes()).is_some()
}

#[test]
fn an_erasure_waits_for_an_import_whose_body_is_still_sent() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::with_source(&database, &[], None);
    let mut client = process.client();
    for kind in ["cases", "applicants"] {
        let body = match kind {
            "cases" => case("one") + &case("two"),
            _ => "{\"id\":\"anna\",\"type\":\"individual\"}\n{\"id\":\"zoe\",\"type\":\"individual\"}\n"
                .to_owned(),
        };
        let mut import = begin(&database, &format!("/imports/{kind}"), &body, body.len() / 2 + 5);
        thread::sleep(Duration::from_millis(500));
        let mut erase = casefilter();
        erase.current_dir(database.folder()).args([
            "erase",
            "--db",
            "cases.db",
            "--applicant",
            "anna",
            "--yes",
        ]);
        let mut erasing = erase.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(1000));
        assert!(erasing.try_wait().unwrap().is_none(), "the erasure does not wait");
        // Searches do not wait.
        assert_eq!(found(&mut client, &["one", "two"]), 0);
        import.write_all(&body.as_bytes()[body.len() / 2 + 5..]).unwrap();
        let (status, imported) = answer(import);
        assert_eq!(status, 200, "{imported}");
        assert!(erasing.wait().unwrap().success());
        // What was imported is erased, too.
        assert_eq!(found(&mut client, &["one", "two"]), 0);
        assert_eq!(client.call(&key("all"), "GET", &status_of("anna"), b"").status, 404);
        assert!(!has_secret(&database));
    }
    assert_eq!(client.call(&key("all"), "GET", &status_of("zoe"), b"").status, 200);
    process.terminate();
}

#[test]
fn an_erasure_that_finds_no_room_changes_nothing_and_succeeds_later() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, 1 << 30);
    let mut client = process.client();
    assert_eq!(ask(&database, "/imports/cases", &(case("one") + &case("two"))).0, 200);
    // From now on, no new file can be longer.
    let id = process.child.id().to_string();
    let limited = Command::new("prlimit").args(["--pid", &id, "--fsize=65536:"]).status();
    assert!(limited.expect("prlimit is of util-linux").success());
    let erasure = r#"{"applicant":"anna"}"#;
    for _ in 0..2 {
        let (status, told) = ask(&database, "/erasures", erasure);
        assert!([500, 503, 507].contains(&status), "{status} {told}");
        assert_eq!(found(&mut client, &["one", "two"]), 2);
        client.call(&key("all"), "GET", &status_of("anna"), b"").good();
        assert_eq!(client.get("/readyz").good()["status"], "ready");
    }
    assert!(
        fs::read_dir(database.folder())
            .unwrap()
            .flatten()
            .all(|own| !own.file_name().to_string_lossy().ends_with(".part"))
    );
    lift_limit(&process);
    let start = Instant::now();
    let (mut status, mut done) = ask(&database, "/erasures", erasure);
    while status != 200 {
        assert!(start.elapsed() < Duration::from_secs(20), "{status} {done}");
        thread::sleep(Duration::from_millis(100));
        (status, done) = ask(&database, "/erasures", erasure);
    }
    assert_eq!(done["cases"], 2, "{done}");
    assert_eq!(found(&mut client, &["one", "two"]), 0);
    assert_eq!(client.call(&key("all"), "GET", &status_of("anna"), b"").status, 404);
    assert!(!has_secret(&database));
    process.terminate();
    assert_eq!(database.open().len(), 700);
}
