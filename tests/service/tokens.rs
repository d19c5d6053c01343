//! Tests the life of app tokens: listing, rotating, revoking and expiry, while a service follows the token file.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::{Client, Key, head, now_s, sign};
use super::process::{Process, write_private};
use super::server::{Database, SEARCH, info_of, key, status_of};

/// The time within which a change of the token file must be in force.
const SOON: Duration = Duration::from_secs(1);

fn casefilter(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casefilter"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

/// Runs a command that must succeed, and returns its output.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = casefilter(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn status(client: &mut Client, key: &Key) -> u16 {
    client.call(key, "GET", &status_of("anna"), b"").status
}

/// Waits until a request with this key gets the status. Fails if that takes too long.
fn wait_for(client: &mut Client, key: &Key, expected: u16) {
    let start = Instant::now();
    while status(client, key) != expected {
        // Other tests of this process may take the processor for a while.
        assert!(start.elapsed() < SOON * 4, "no {expected} yet");
        thread::sleep(Duration::from_millis(20));
    }
}

fn key_in(text: &str) -> Key {
    let value: Value = serde_json::from_str(text).unwrap();
    let of = |name: &str| value[name].as_str().unwrap().to_owned();
    Key { token: of("token"), secret: of("secret") }
}

#[test]
fn a_service_follows_its_token_file() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let folder = database.folder();
    let mut client = process.client();
    let (all, other) = (key("all"), key("viewApplicants"));
    assert_eq!((status(&mut client, &all), status(&mut client, &other)), (200, 200));

    // A rotated token has two valid secrets for a while.
    let rotate = ["token", "rotate", "--file", "tokens.json", "--name", "all"];
    let second = key_in(&run(folder, &[&rotate[..], &["--overlap", "1h"]].concat()));
    assert_eq!(second.token, all.token);
    wait_for(&mut client, &second, 200);
    assert_eq!(status(&mut client, &all), 200);
    let listed = run(folder, &["token", "list", "--file", "tokens.json"]);
    assert!(!listed.contains(&all.secret) && !listed.contains(&second.secret));
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed[0]["name"], &listed[0]["state"]), (&"all".into(), &"rotating".into()));

    // A second rotation replaces the first secret. The second one expires after a second.
    let third = run(folder, &[&rotate[..], &["--overlap", "1s", "-o", "third.json"]].concat());
    assert_eq!(third, "");
    let third = key_in(&fs::read_to_string(folder.join("third.json")).unwrap());
    wait_for(&mut client, &third, 200);
    assert_eq!(status(&mut client, &all), 401);
    wait_for(&mut client, &second, 401);
    assert_eq!(status(&mut client, &third), 200);

    // A request that has begun ends as it began, although its token is revoked.
    let mut begun = process.client();
    let body = br#"{"lastName":"Rossi"}"#;
    let request = head(&third, "PATCH", &info_of("anna"), body) + "\r\n";
    begun.send(request.as_bytes()).unwrap();
    begun.send(&body[..5]).unwrap();
    run(folder, &["token", "revoke", "--file", "tokens.json", "--name", "all"]);
    wait_for(&mut client, &third, 401);
    begun.send(&body[5..]).unwrap();
    assert_eq!(begun.receive().unwrap().good()["lastName"], "Rossi");
    assert_eq!(status(&mut client, &other), 200);

    // A token file that is not valid changes nothing.
    let good = fs::read_to_string(folder.join("tokens.json")).unwrap();
    write_private(&folder.join("tokens.json"), &good[..good.len() / 2]);
    thread::sleep(SOON);
    assert_eq!(status(&mut client, &other), 200);

    // The service reads the file until it is valid, even if only its mode has to be repaired.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("tokens.json");
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o644);
        write_private(&folder.join("new.json"), &good.replace("viewApplicants", "renamed"));
        fs::set_permissions(folder.join("new.json"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::rename(folder.join("new.json"), &path).unwrap();
        thread::sleep(SOON);
        assert_eq!(status(&mut client, &other), 200, "the tokens before the change");
        write_private(&path, &good);
    }

    // A token that has expired is rejected, and the file needs no further change.
    let expires = chrono::DateTime::from_timestamp(now_s() + 3, 0).unwrap().to_rfc3339();
    let mut file: Value = serde_json::from_str(&good).unwrap();
    let tokens = file["tokens"].as_array_mut().unwrap();
    let entry = tokens.iter_mut().find(|entry| entry["name"] == "viewApplicants").unwrap();
    entry["expires"] = expires.into();
    write_private(&folder.join("tokens.json"), &file.to_string());
    wait_for(&mut client, &other, 401);
    let listed = run(folder, &["token", "list", "--file", "tokens.json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let found = listed.iter().find(|entry| entry["name"] == "viewApplicants").unwrap();
    assert_eq!(found["state"], "expired");

    let log = process.terminate();
    for cause in [
        "the token has expired",
        "the token is unknown",
        "the signature is wrong",
        "the token file was read again, and is in force",
        "the token file has changed, but is not valid",
    ] {
        assert!(log.contains(cause), "{cause}: {log}");
    }
    for secret in [&all.secret, &second.secret, &third.secret] {
        assert!(!log.contains(secret));
    }
}

#[test]
fn the_log_has_the_cause_of_each_401_and_the_client_does_not() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    let all = key("all");
    let target = status_of("anna");
    let now = now_s();
    let signed = |timestamp: i64| sign(&all.secret, &timestamp.to_string(), "GET", &target, b"");
    let mut bodies = Vec::new();
    let cases = [
        (None, Some(now), Some(signed(now)), "X-App-Token is missing"),
        (Some("nobody"), Some(now), Some(signed(now)), "the token is unknown"),
        (Some(&*all.token), None, Some(signed(now)), "X-App-Access-Ts is not one header"),
        (Some(&*all.token), Some(now), None, "X-App-Access-Sig is not one header"),
        (Some(&*all.token), Some(now), Some("0".repeat(64)), "token `all`: the signature is wrong"),
        (Some(&*all.token), Some(now - 4000), Some(signed(now - 4000)), " s behind the clock of the service"),
        (
            Some(&*all.token),
            Some(now + 4000),
            Some(signed(now + 4000)),
            " s ahead of the clock of the service",
        ),
    ];
    for (token, timestamp, signature, _) in &cases {
        let mut request = format!("GET {target} HTTP/1.1\r\nHost: t\r\n");
        let values = [
            ("X-App-Token", token.map(str::to_owned)),
            ("X-App-Access-Ts", timestamp.map(|timestamp| timestamp.to_string())),
            ("X-App-Access-Sig", signature.clone()),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                request += &format!("{name}: {value}\r\n");
            }
        }
        client.send((request + "\r\n").as_bytes()).unwrap();
        let answer = client.receive().unwrap();
        assert_eq!(answer.status, 401);
        let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
        body.as_object_mut().unwrap().remove("correlationId");
        bodies.push(body);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    // Upper-case digits are those of the same signature.
    let request = head(&all, "GET", &target, b"");
    let (start, rest) = request.split_once("X-App-Access-Sig: ").unwrap();
    let upper = format!("{start}X-App-Access-Sig: {}{}\r\n", rest[..64].to_uppercase(), &rest[64..]);
    client.send(upper.as_bytes()).unwrap();
    assert_eq!(client.receive().unwrap().status, 200);
    let log = process.terminate();
    for (.., cause) in cases {
        assert!(log.contains(cause), "{cause}: {log}");
    }
}

#[test]
fn sign_prints_headers_that_the_service_accepts() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let folder = database.folder();
    let all = key("all");
    let credentials = serde_json::json!({"token": all.token, "secret": all.secret}).to_string();
    write_private(&folder.join("all.json"), &credentials);
    let body = r#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#;
    fs::write(folder.join("body.json"), body).unwrap();
    let mut client = process.client();
    let target = format!("{SEARCH}?limit=1");
    for given in [&["POST", &target, body][..], &["POST", &format!("https://h{target}"), "@body.json"]] {
        let output = casefilter(folder, &[&["sign", "--token", "all.json"], given].concat());
        let headers = String::from_utf8(output.stdout).unwrap().replace('\n', "\r\n");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(&format!("POST{target}{body}\n")), "{told}");
        assert!(!told.contains(&all.secret) && !headers.contains(&all.secret));
        let length = body.len();
        let request =
            format!("POST {target} HTTP/1.1\r\nHost: t\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        client.send(request.as_bytes()).unwrap();
        assert_eq!(client.receive().unwrap().status, 200);
    }
    let json =
        run(folder, &["sign", "--token", "all.json", "--timestamp", "7", "--format", "json", "GET", "/a?b"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["signed"], "7GET/a?b");
    assert_eq!(json["headers"][2][1], sign(&all.secret, "7", "GET", "/a?b", b""));
    for wrong in [&["get", "/a"][..], &["GET", "a"], &["GET", "/a b"]] {
        assert_eq!(
            casefilter(folder, &[&["sign", "--token", "all.json"], wrong].concat()).status.code(),
            Some(2)
        );
    }
    write_private(&folder.join("broken.json"), &credentials.replace("\"token\"", "\"tokn\""));
    let output = casefilter(folder, &["sign", "--token", "broken.json", "GET", "/a"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && !told.contains(&all.secret), "{told}");
}

#[cfg(unix)]
#[test]
fn a_token_file_that_others_can_read_is_refused_unless_that_is_permitted() {
    use std::os::unix::fs::PermissionsExt;
    let database = Database::new("plain.cases.ndjson");
    let path = database.folder().join("tokens.json");
    write_private(&path, &super::server::tokens().to_string());
    // The process ends because the certificate does not exist.
    let db = database.path();
    let serve = ["serve", "--db", db.to_str().unwrap(), "--tokens", "tokens.json"];
    let no_certificate = ["--tls-cert", "no.pem", "--tls-key", "no.pem"];
    for (mode, flags, is_refused) in [
        (0o600, &[][..], false),
        (0o640, &[], true),
        (0o604, &[], true),
        (0o620, &[], true),
        (0o644, &["--allow-readable-tokens"], false),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let output = casefilter(database.folder(), &[&serve[..], &no_certificate, flags].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(told.contains("chmod 600, or start the service with"), is_refused, "{mode:o}: {told}");
    }
}

#[test]
fn unknown_and_ambiguous_names_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let app = ["token", "app", "--file", "tokens.json", "--allow", "viewCases", "--name"];
    for name in ["a", "b"] {
        run(folder.path(), &[&app[..], &[name, "-o", &format!("{name}.json")]].concat());
    }
    let before = fs::read(folder.path().join("tokens.json")).unwrap();
    for command in ["revoke", "rotate"] {
        let output = casefilter(folder.path(), &["token", command, "--file", "tokens.json", "--name", "c"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(told.contains("no token named `c`: it has `a`, `b`"), "{told}");
        let output = casefilter(folder.path(), &["token", command, "--file", "none.json", "--name", "a"]);
        assert_eq!(output.status.code(), Some(1));
    }
    assert_eq!(fs::read(folder.path().join("tokens.json")).unwrap(), before);
    assert!(!folder.path().join("none.json").exists());
    let expired = run(folder.path(), &[&app[..], &["c", "--expires", "90d"]].concat());
    assert!(expired.contains("secret"));
    let list = || -> Vec<Value> {
        serde_json::from_str(&run(folder.path(), &["token", "list", "--file", "tokens.json"])).unwrap()
    };
    let listed = list();
    assert!(listed[2]["expires"].as_str().unwrap().ends_with('Z') && listed[2]["state"] == "valid");
    // A new token gets a name that is free, even if tokens before it were removed.
    let unnamed = ["token", "app", "--file", "tokens.json", "--allow", "viewCases"];
    run(folder.path(), &unnamed);
    run(folder.path(), &["token", "revoke", "--file", "tokens.json", "--name", "a"]);
    run(folder.path(), &unnamed);
    let names: Vec<Value> = list().into_iter().map(|entry| entry["name"].clone()).collect();
    assert_eq!(names, ["b", "c", "4", "5"]);
}
