//! Tests writes that wait for other writes, writes while the disk is full, and writes whose clients disconnect.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::{AdminSocket, ServiceOptions};
use serde_json::{Value, json};

use super::client::{Client, Key, Response, head};
use super::server::{Database, PREVIEW, SEARCH, Server, changed, info_of, key, random_letters, status_of};

/// Starts a service with a short `write_queue_timeout` that searches its file, even if the tests run with PostgreSQL.
fn server_with_short_turn() -> Server {
    let options =
        changed(ServiceOptions::default(), |options| options.write_queue_timeout = Duration::from_millis(2));
    Server::with_source(Database::new("plain.cases.ndjson"), options, None, None)
}

/// Returns cases whose ids begin with a word, enough that storing them takes a while.
fn cases(word: &str, count: usize) -> String {
    // The names have random letters, so that they take space although the store compresses them.
    let mut letter = random_letters();
    let case = |case| {
        let name: String = (0..150).map(|_| letter()).collect();
        format!("{{\"id\":\"{word}-{case}\",\"name\":\"{name} {case}\"}}\n")
    };
    (0..count).map(case).collect()
}

/// Sends a complete import and does not read the response.
pub(super) fn send_import(database: &Database, kind: &str, body: &str) -> UnixStream {
    let mut stream = UnixStream::connect(AdminSocket::default_path(&database.path())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    let head = format!(
        "POST /imports/{kind} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    stream
}

/// Reads a response and returns its status and body.
pub(super) fn answer(mut stream: UnixStream) -> (u16, Value) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

fn update(client: &mut Client, body: &Value) -> Response {
    client.call(&key("all"), "PATCH", &info_of("anna"), body.to_string().as_bytes())
}

/// Reads the info of the applicant `anna`.
fn info(client: &mut Client, database: &Database) -> Value {
    let target = format!("{PREVIEW}?shareToken={}", database.share_token);
    client.call(&key("all"), "GET", &target, b"").good()["info"].clone()
}

/// Returns the number of cases among the `count` ids that begin with a word.
fn found(client: &mut Client, word: &str, count: usize) -> u64 {
    let ids: Vec<String> = (0..count).map(|case| format!("{word}-{case}")).collect();
    let target = format!("{SEARCH}?limit=0&countTotalItems=true");
    let body = json!({ "ids": ids }).to_string();
    let answer = client.call(&key("all"), "POST", &target, body.as_bytes()).good();
    answer["list"]["totalItems"].as_u64().unwrap()
}

#[test]
fn an_update_that_waits_too_long_changes_nothing_and_can_be_retried() {
    let server = server_with_short_turn();
    let mut client = server.client();
    update(&mut client, &json!({"firstName": "before"})).good();
    let import = || {
        let stream = send_import(&server.database, "cases", &cases("long", 30_000));
        thread::spawn(move || answer(stream))
    };
    let (mut kept, mut refused, mut imports) = ("before".to_owned(), 0, vec![import()]);
    for round in 0.. {
        let is_over = imports.last().unwrap().is_finished();
        let name = format!("name {round}");
        let answer = update(&mut client, &json!({"firstName": name}));
        if answer.status == 200 {
            kept = name;
        } else {
            assert_eq!(
                answer.failure(503),
                "other writes are still running, try again in a moment; nothing was changed"
            );
            assert_eq!((answer.header("retry-after"), answer.header("connection")), (Some("1"), None));
            // Reads do not wait for writes.
            assert_eq!(info(&mut client, &server.database)["firstName"], kept);
            refused += 1;
        }
        match is_over {
            false => {}
            // On a busy machine, no update may have arrived while the import was stored.
            true if refused == 0 && imports.len() < 5 => imports.push(import()),
            true => break,
        }
    }
    assert!(refused > 0, "no update had to wait");
    for import in imports {
        let (status, imported) = import.join().unwrap();
        assert_eq!((status, &imported["cases"]), (200, &json!(30_700)));
    }
    assert_eq!(update(&mut client, &json!({"firstName": "after"})).good()["firstName"], "after");
    let store = server.stop().open();
    assert!(store.records().unwrap().get("applicant", "anna").unwrap().unwrap().contains("\"after\""));
}

#[test]
fn an_import_whose_client_disconnects_is_stored_completely_or_not_at_all() {
    const COUNT: usize = 25_000;
    let server = server_with_short_turn();
    let mut client = server.client();
    let (mut kept, mut seen) = (0, 0);
    for (word, wait_ms) in [("at-once", 0), ("soon", 10), ("later", 40), ("last", 160)] {
        let stream = send_import(&server.database, "cases", &cases(word, COUNT));
        let start = Instant::now();
        // Updates have to wait while the import is being stored. On a busy machine, this may be missed.
        while start.elapsed() < Duration::from_secs(2) {
            let status = update(&mut client, &json!({"firstName": format!("name {kept}")})).status;
            if status == 503 {
                seen += 1;
                break;
            }
            assert_eq!(status, 200);
            kept += 1;
        }
        thread::sleep(Duration::from_millis(wait_ms));
        drop(stream);
        let start = Instant::now();
        while update(&mut client, &json!({"firstName": format!("name {kept}")})).status != 200 {
            assert!(start.elapsed() < Duration::from_secs(20), "the write lock is never released");
        }
        kept += 1;
        let stored = found(&mut client, word, COUNT);
        assert!(stored == 0 || stored == COUNT as u64, "{word}: {stored}");
        assert_eq!(info(&mut client, &server.database)["firstName"], format!("name {}", kept - 1));
    }
    assert!(seen > 0, "no update had to wait");
    // A client that stays connected is served.
    let stream = send_import(&server.database, "cases", &cases("stays", 10));
    assert_eq!(answer(stream).0, 200);
    assert_eq!(found(&mut client, "stays", 10), 10);
    let before = found(&mut client, "at-once", COUNT) + found(&mut client, "last", COUNT);
    let server = Server::with_source(server.stop(), ServiceOptions::default(), None, None);
    let mut client = server.client();
    assert_eq!(found(&mut client, "at-once", COUNT) + found(&mut client, "last", COUNT), before);
    assert_eq!(info(&mut client, &server.database)["firstName"], format!("name {}", kept - 1));
    server.stop();
}

/// Sends the first `sent` bytes of an update, and disconnects after a while.
fn send_and_disconnect(server: &Server, key: &Key, body: &str, sent: usize, wait: Duration) {
    let mut client = server.client();
    let request = head(key, "PATCH", &info_of("anna"), body.as_bytes()) + "\r\n" + &body[..sent];
    client.send(request.as_bytes()).unwrap();
    thread::sleep(wait);
    let _ = client.stream().shutdown(Shutdown::Both);
}

#[test]
fn an_update_whose_client_disconnects_is_stored_completely_or_not_at_all() {
    let server = Server::start();
    let all = key("all");
    let mut client = server.client();
    update(&mut client, &json!({"firstName": "-1", "lastName": "-1", "stateOfBirth": "-1"})).good();
    let (mut last, mut stored) = (-1, 0);
    for round in 0..60_i64 {
        let body = json!({"firstName": round.to_string(), "lastName": round.to_string()}).to_string();
        let wait = Duration::from_micros(50 * round.cast_unsigned());
        // Every third client disconnects before it has sent everything.
        let is_whole = round % 3 != 0;
        send_and_disconnect(&server, &all, &body, if is_whole { body.len() } else { body.len() - 1 }, wait);
        let seen = update(&mut client, &json!({"stateOfBirth": round.to_string()})).good();
        assert_eq!(seen["firstName"], seen["lastName"], "half an update");
        assert_eq!(seen["stateOfBirth"], round.to_string());
        // An abandoned update may be stored a little later, but an older one never replaces a newer one.
        let now: i64 = seen["firstName"].as_str().unwrap().parse().unwrap();
        assert!(now <= round && (now == -1 || now % 3 != 0), "{now} in round {round}");
        stored += u32::from(now != last);
        last = now;
    }
    assert!(stored > 0, "no update was ever stored");
    let database = server.stop();
    let text = database.open().records().unwrap().get("applicant", "anna").unwrap().unwrap();
    let info = &serde_json::from_str::<Value>(&text).unwrap()["info"];
    assert_eq!((&info["firstName"], &info["stateOfBirth"]), (&info["lastName"], &json!("59")));
}

/// Full disks, simulated by a limit on the file size that a shell sets.
#[cfg(target_os = "linux")]
pub(crate) mod full {
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::super::process::{Process, casefilter};
    use super::*;

    /// Starts a service process that can write no file beyond `bytes`.
    pub(crate) fn serve(database: &Database, bytes: u64) -> Process {
        let inner = casefilter();
        let mut shell = Command::new("sh");
        // The signal is ignored, so a write returns an error instead of ending the process. The limit can be raised again.
        let script = format!("trap '' XFSZ; ulimit -S -f {}; exec \"$0\" \"$@\"", bytes / 512);
        shell.args(["-c", &script]).arg(inner.get_program()).stdin(Stdio::null());
        shell.env_remove("CASEFILTER_DB").env_remove("CASEFILTER_ADMIN_SOCKET");
        Process::run(shell, database, &[], None)
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    /// Removes the limit of a process.
    pub(crate) fn lift_limit(process: &Process) {
        let id = process.child.id().to_string();
        let done = Command::new("prlimit").args(["--pid", &id, "--fsize=unlimited"]).status();
        assert!(done.expect("prlimit is of util-linux").success());
    }

    /// Returns the value of a metric without labels.
    fn metric(database: &Database, name: &str) -> u64 {
        let mut stream = UnixStream::connect(AdminSocket::default_path(&database.path())).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    }

    #[test]
    fn updates_resume_without_a_restart_once_the_disk_has_space() {
        let database = Database::new("plain.cases.ndjson");
        // Hardly more than the file has now.
        let most = (fs::metadata(database.path()).unwrap().len() / 512 + 1) * 512;
        let process = serve(&database, most);
        let mut client = process.client();
        let (mut kept, mut refused) = (None, 0);
        for round in 0..400 {
            let name = format!("{round} {}", "x".repeat(900));
            let answer = update(&mut client, &json!({"firstName": name, "placeOfBirth": name}));
            match answer.status {
                200 => kept = Some(name),
                500 | 503 => refused += 1,
                status => panic!("{status}"),
            }
            if refused > 20 {
                break;
            }
        }
        // An update larger than all free pages never fits.
        let (status, told) = answer(send_import(&database, "cases", &cases("large", 9_000)));
        assert!([500, 503, 507].contains(&status), "{told}");
        let seen = info(&mut client, &database);
        assert_eq!(seen["firstName"].as_str(), kept.as_deref().or(Some("Änne")));
        assert_eq!(client.get("/readyz").good()["status"], "ready");

        lift_limit(&process);
        // The service notices the free space without any write.
        let start = Instant::now();
        while metric(&database, "casefilter_writes_failing ") != 0 {
            assert!(start.elapsed() < Duration::from_secs(20), "the service never recovers");
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(client.get("/readyz").good(), json!({"status": "ready"}));
        assert_eq!(info(&mut client, &database), seen, "nothing is lost by it");
        update(&mut client, &json!({"firstName": "after"})).good();
        assert_eq!(answer(send_import(&database, "cases", &cases("large", 9_000))).1["cases"], 9_700);
        assert_eq!(found(&mut client, "large", 9_000), 9_000);
        drop(client);
        process.kill();
        let store = database.open();
        assert!(store.records().unwrap().get("applicant", "anna").unwrap().unwrap().contains("\"after\""));
        assert_eq!(store.len(), 9_700);
    }

    #[test]
    fn a_full_disk_fails_writes_and_leaves_searches_working() {
        let database = Database::new("plain.cases.ndjson");
        let most = fs::metadata(database.path()).unwrap().len() + (1 << 20);
        let process = serve(&database, most);
        let mut client = process.client();
        update(&mut client, &json!({"firstName": "kept"})).good();
        let count = files(database.folder());

        // The spooled body does not fit on the disk. The database is not affected, so updates still work.
        let large = cases("large", usize::try_from(most).unwrap() / 100);
        for kind in ["cases", "levels"] {
            let (status, told) = answer(send_import(&database, kind, &large));
            assert_eq!((status, &told["code"], &told["type"]), (507, &json!(507), &json!("io")));
            let description = told["description"].as_str().unwrap();
            assert!(description.contains("cannot spool the body"), "{description}");
        }
        fs::write(database.folder().join("large.ndjson"), &large).unwrap();
        let path = AdminSocket::default_path(&database.path());
        let output = casefilter()
            .args(["import", "--db"])
            .arg(database.path())
            .arg(database.folder().join("large.ndjson"))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.contains("cannot spool the body")), (Some(1), true), "{said}");
        fs::remove_file(database.folder().join("large.ndjson")).unwrap();
        assert_eq!(found(&mut client, "large", 5_000), 0);
        assert_eq!(client.get("/readyz").status, 200);
        update(&mut client, &json!({"lastName": "kept too"})).good();
        assert!(path.exists() && files(database.folder()) == count, "a file remains");

        // The spooled body fits, but its import does not: the data is unchanged.
        let (status, told) = answer(send_import(&database, "cases", &cases("small", 7_000)));
        assert_eq!((status, &told["type"]), (500, &json!("io")), "{told}");
        assert_eq!(found(&mut client, "small", 7_000), 0);
        // The service is ready because searches work. It also reports failing writes, until one succeeds again.
        let ready = client.get("/readyz").good();
        assert_eq!(ready["status"], "ready");
        assert!(ready["writes"].is_null() || ready["writes"] == "failing", "{ready}");
        // This includes documents that were not read before.
        let body = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;
        let page = client.call(&key("all"), "POST", &format!("{SEARCH}?limit=10000"), body).good();
        assert!(page["list"]["items"].as_array().unwrap().len() > 500);
        client.call(&key("all"), "GET", &status_of("anna"), b"").good();
        let copy = database.folder().join("copy.db");
        let output = casefilter().args(["backup", "--db"]).arg(database.path()).arg("-o").arg(&copy).output();
        assert!(output.unwrap().status.success());
        fs::remove_file(copy).unwrap();
        let seen = info(&mut client, &database);
        assert_eq!((&seen["firstName"], &seen["lastName"]), (&json!("kept"), &json!("kept too")));
        drop(client);
        // The response refers to the log, so the log must have the cause.
        let log = process.kill();
        let faults: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .filter(|event: &Value| event["level"] == "ERROR")
            .collect();
        let statuses: Vec<_> = faults.iter().map(|event| event["status"].as_u64().unwrap()).collect();
        assert_eq!(statuses, [507, 507, 507, 500], "{log}");
        assert!(faults.iter().all(|event| event["cause"].is_string()), "{log}");

        // With free space, the service continues with the acknowledged data.
        let process = Process::run(casefilter(), &database, &[], None);
        let mut client = process.client();
        let seen = info(&mut client, &database);
        assert_eq!((&seen["firstName"], &seen["lastName"]), (&json!("kept"), &json!("kept too")));
        assert_eq!(found(&mut client, "small", 7_000), 0);
        assert_eq!(answer(send_import(&database, "cases", &cases("small", 7_000))).1["cases"], 7_700);
        process.terminate();
    }
}
