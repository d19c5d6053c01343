//! Tests the admin socket: imports, backups and other commands on a database that a running service has open.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use super::process::{Process, casefilter};
use super::server::{Database, PREVIEW, SEARCH, info_of, key, status_of};

/// The output of a command and its exit status.
#[derive(Debug, PartialEq, Eq)]
struct CommandOutput {
    status: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Self { status: output.status.code(), out, err }
    }
}

impl CommandOutput {
    fn good(self) -> String {
        assert_eq!(self.status, Some(0), "{self:?}");
        self.out
    }

    fn json(self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the output without the time that the command took.
    fn timeless(mut self) -> Self {
        if let Some(at) = self.out.find(",\"took_s\"") {
            self.out.truncate(at);
        }
        self
    }
}

/// Runs a command in the folder of a database, whose file is `cases.db`.
fn run(database: &Database, arguments: &[&str]) -> CommandOutput {
    casefilter().current_dir(database.folder()).args(arguments).output().unwrap().into()
}

/// Starts a service that searches its file, even if the tests run with PostgreSQL: commands import into the file.
fn serve(database: &Database, arguments: &[&str]) -> Process {
    Process::with_source(database, arguments, None)
}

fn write(database: &Database, name: &str, text: &str) {
    fs::write(database.folder().join(name), text).unwrap();
}

/// Returns the number of cases with one of these ids.
fn found(client: &mut Client, ids: &[&str]) -> u64 {
    let body = json!({ "ids": ids }).to_string();
    let target = format!("{SEARCH}?limit=0&countTotalItems=true");
    let answer = client.call(&key("all"), "POST", &target, body.as_bytes()).good();
    answer["list"]["totalItems"].as_u64().unwrap()
}

fn socket(database: &Database) -> PathBuf {
    database.folder().join("cases.db.sock")
}

/// Sends bytes over the socket and returns the whole response.
fn send_to_socket(path: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn share_tokens_created_online_work_at_once() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &[]);
    let token = run(&database, &["token", "share", "--db", "cases.db", "--applicant", "anna"]).good();
    assert_eq!(token.trim().len(), 64);
    let target = format!("{PREVIEW}?shareToken={}", token.trim());
    assert_eq!(process.client().call(&key("all"), "GET", &target, b"").good()["id"], "anna");

    let unknown = ["token", "share", "--db", "cases.db", "--applicant", "nobody"];
    let online = run(&database, &unknown);
    let log = process.terminate();
    assert!(!log.contains(token.trim()));
    assert_eq!(run(&database, &unknown), online);
    assert_eq!((online.status, online.out.as_str()), (Some(1), ""));
}

#[test]
fn an_online_import_prints_the_same_as_offline_and_the_next_search_sees_it() {
    let (served, idle) = (Database::new("plain.cases.ndjson"), Database::new("plain.cases.ndjson"));
    let process = serve(&served, &[]);
    let mut client = process.client();
    // The client is connected before the import.
    assert_eq!(found(&mut client, &["new-1", "new-2", "new-3", "packed"]), 0);
    let cases = "{\"id\":\"new-1\"}\n{\"id\":\"new-2\",\"tags\":[\"vip\"]}\n";
    let bad = "{\"id\":\"new-3\"}\n{\"id\":\"kept\",\"createdAt\":\"soon\"}\n{\"id\":7}";
    let applicant = "{\"id\":\"zoe\",\"type\":\"individual\"}\n";
    for database in [&served, &idle] {
        write(database, "good.ndjson", cases);
        write(database, "bad.ndjson", bad);
        write(database, "broken.json", "[{\"id\":\"x\"},");
        write(database, "zoe.ndjson", applicant);
        write(
            database,
            "lost.ndjson",
            "{\"id\":\"i\",\"applicantId\":\"lost\",\"step\":\"IDENTITY\",\"createdAt\":\"2026-01-01 00:00:00\"}",
        );
        write(
            database,
            "mixed.ndjson",
            "{\"id\":\"yan\",\"type\":\"individual\",\"info\":{\"dob\":\"1.2.1990\"}}\n{\"type\":\"company\"}\n",
        );
        write(database, "packed.ndjson", "{\"id\":\"packed\"}\n");
        let packed = ["export", "packed.ndjson", "-o"];
        for name in ["packed.parquet", "packed.json.gz", "packed.ndjson.zst"] {
            run(database, &[&packed[..], &[name]].concat()).good();
        }
    }
    let both = |arguments: &[&str]| {
        let arguments = [&["import", "--db", "cases.db"], arguments].concat();
        let online = run(&served, &arguments).timeless();
        assert_eq!(run(&idle, &arguments).timeless(), online, "{arguments:?}");
        online
    };
    assert_eq!(
        both(&["good.ndjson"]).good(),
        "{\"stored\":2,\"replaced\":0,\"incomplete\":0,\"skipped\":0,\"cases\":702"
    );
    assert_eq!(found(&mut client, &["new-1", "new-2", "new-3"]), 2);
    let refused = both(&["packed.ndjson", "bad.ndjson"]);
    assert_eq!(refused.status, Some(3));
    assert!(refused.err.contains("bad.ndjson:2: createdAt:"), "{}", refused.err);
    assert_eq!(found(&mut client, &["new-3", "packed", "kept"]), 0);
    assert_eq!(both(&["broken.json", "--lenient"]).status, Some(3));
    let lenient = both(&["good.ndjson", "bad.ndjson", "--lenient", "--report", "report.json"]);
    assert_eq!(lenient.status, Some(3));
    let report = |database: &Database| fs::read_to_string(database.folder().join("report.json")).unwrap();
    assert_eq!(report(&served), report(&idle));
    assert_eq!(found(&mut client, &["new-1", "new-3", "kept", "7"]), 3);
    both(&["packed.parquet", "good.ndjson", "packed.json.gz", "packed.ndjson.zst"]).good();
    assert_eq!(found(&mut client, &["packed"]), 1);
    assert_eq!(both(&["good.ndjson", "nothing.ndjson"]).status, Some(1));

    let status = |client: &mut Client| client.call(&key("all"), "GET", &status_of("zoe"), b"").status;
    assert_eq!(status(&mut client), 404);
    assert_eq!(
        both(&["--kind", "applicants", "zoe.ndjson"]).good(),
        "{\"stored\":1,\"replaced\":0,\"incomplete\":0,\"skipped\":0,\"kept_changes\":0,\"overwritten_changes\":0,\"without_zone\":0"
    );
    assert_eq!(status(&mut client), 200);
    assert_eq!(both(&["--kind", "documents", "lost.ndjson"]).status, Some(3));
    assert_eq!(both(&["--kind", "applicants", "packed.parquet"]).status, Some(1));
    let lenient = both(&["--kind", "applicants", "mixed.ndjson", "--lenient", "--report", "report.json"]);
    assert_eq!(lenient.status, Some(3));
    assert!(lenient.err.contains("mixed.ndjson:2: found no `id`"), "{}", lenient.err);
    assert_eq!(report(&served), report(&idle));
    assert!(report(&served).contains("\"path\": \"info.dob\""));
    assert_eq!(both(&["--kind", "applicants", "mixed.ndjson"]).status, Some(3));
    // An import keeps the updates of clients, and reports that online and offline.
    let body = b"{\"firstName\":\"Zo\\u00eb\"}";
    assert_eq!(client.call(&key("all"), "PATCH", &info_of("zoe"), body).status, 200);
    let export = ["export", "cases.db", "--kind", "applicants", "-o", "zoe-2.ndjson"];
    run(&served, &export).good();
    let exported = fs::read_to_string(served.folder().join("zoe-2.ndjson")).unwrap();
    assert!(exported.contains("infoChangedAt") && exported.contains("Zo\u{eb}"), "{exported}");
    fs::write(idle.folder().join("zoe-2.ndjson"), &exported).unwrap();
    both(&["--kind", "applicants", "zoe-2.ndjson"]).good();
    let kept = both(&["--kind", "applicants", "zoe.ndjson"]);
    assert!(kept.out.contains("\"kept_changes\":1,\"overwritten_changes\":0"), "{kept:?}");
    assert!(
        kept.status == Some(0) && kept.err.contains("kept 1 changed member, `firstName`"),
        "{}",
        kept.err
    );
    // Notes are printed online too.
    for database in [&served, &idle] {
        write(database, "noted.ndjson", "{\"id\":\"noted\",\"status\":\"open\"}\n");
    }
    let noted = both(&["noted.ndjson"]);
    assert!(
        noted.err.contains("noted.ndjson:1") && noted.err.contains("`caseReview.status`"),
        "{}",
        noted.err
    );
    // Hints about what a filter may have meant are printed online, too.
    let hint =
        "the member `status`, which is not a field and is not searched; did you mean `caseReview.status`?";
    for database in [&served, &idle] {
        let search = run(
            database,
            &["search", "cases.db", "--where", "status <> x", "--format", "ids", "--limit", "1"],
        );
        assert!(search.err.contains("hint: ") && search.err.contains(hint), "{}", search.err);
    }
    process.terminate();
    let count = |database: &Database| {
        run(database, &["search", "cases.db", "--format", "ids", "--limit", "9999"]).good()
    };
    assert_eq!(count(&served), count(&idle));
}

#[test]
fn stats_deletions_and_csv_are_the_same_online_as_offline() {
    let (served, idle) = (Database::new("plain.cases.ndjson"), Database::new("plain.cases.ndjson"));
    let process = serve(&served, &[]);
    let csv = "id,State,tags,totalAmountInDefaultCurrency\nc-1,open,a; b,1.50\nc-2,open\n\nc-3,,\"x\n\",soon\n\
               c-4,blocked,vip,7\n";
    let facets = r#"{"criteria":[{"field":"status","op":"=","values":["open"]}],"facets":[{"field":"tags","limit":2}]}"#;
    for database in [&served, &idle] {
        write(database, "cases.csv", csv);
        write(database, "facets.json", facets);
        write(database, "ids.txt", "c-1\nnope\n");
    }
    let import = ["import", "--db", "cases.db", "cases.csv", "--map", "State=status"];
    for arguments in [
        &import[..],
        &[&import[..], &["--lenient"]].concat(),
        &["search", "cases.db", "--columns", "id,status,tags", "--format", "csv", "--order", "id"],
        &[
            "search",
            "cases.db",
            "--order",
            "priority,-createdAt",
            "--limit",
            "5",
            "--cursor",
            "--format",
            "ids",
        ],
        &["stats", "cases.db", "--by", "status", "--by", "tags", "--limit", "3"],
        &["stats", "cases.db", "--by", "totalAmountInDefaultCurrency:stats", "--where", "id starts with c-"],
        &["stats", "cases.db", "--by", "status", "--where", "status = open", "--own-criteria-apart"],
        &["stats", "cases.db", "--by", "createdAt:day", "--utc-offset", "+05:30", "--format", "csv"],
        &["stats", "cases.db", "--facets", "facets.json"],
        &["stats", "cases.db", "--by", "staus"],
        &["stats", "cases.db", "--by", "status", "--where", "status = opne"],
        &["delete", "--db", "cases.db", "--ids-from", "ids.txt"],
        &["delete", "--db", "cases.db", "--where", "id = nope", "--yes"],
        &["delete", "--db", "cases.db", "--where", "status = blocked and tags = vip", "--yes"],
        &["search", "cases.db", "--format", "ids", "--order", "id"],
    ] {
        let (online, offline) = (run(&served, arguments).timeless(), run(&idle, arguments).timeless());
        assert_eq!((online.status, &online.out), (offline.status, &offline.out), "{arguments:?} {online:?}");
        // A service does not know the reasons why no case is selected, and names no unknown ids.
        if arguments[0] != "delete" {
            assert_eq!(online.err, offline.err, "{arguments:?}");
        }
    }
    // The batches of a running service are others, and so may be the plan.
    let explain = ["explain", "cases.db", "--by", "status", "--by", "tags:limit=2", "--format"];
    let fields = |database: &Database| {
        let json = run(database, &[&explain[..], &["json"]].concat()).good();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["facets"].as_array().unwrap().iter().map(|facet| facet["field"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(fields(&served), fields(&idle));
    let table = run(&served, &[&explain[..], &["table"]].concat()).good();
    assert!(table.contains("\ntags is counted by "), "{table}");
    process.terminate();
    let left = run(&served, &["search", "cases.db", "--where", "id = c-4", "--format", "ids"]).good();
    assert_eq!(left, "");
}

#[test]
fn an_incomplete_import_stores_nothing_and_blocks_no_updates() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &["--grace", "1"]);
    let mut client = process.client();

    // The client is killed while it sends.
    let mut import = casefilter()
        .current_dir(database.folder())
        .args(["import", "--db", "cases.db", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = import.stdin.take().unwrap();
    for case in 0..100_000 {
        writeln!(stdin, "{{\"id\":\"half-{case}\",\"name\":\"a name of some length\"}}").unwrap();
    }
    stdin.flush().unwrap();
    // While the import is sent, others can write, and do not see it.
    let updated = client.call(&key("all"), "PATCH", &info_of("dana"), b"{\"firstName\":\"Zoe\"}").good();
    assert_eq!(updated["firstName"], "Zoe");
    write(&database, "other.ndjson", "{\"id\":\"other\"}");
    run(&database, &["import", "--db", "cases.db", "other.ndjson"]).good();
    assert_eq!(found(&mut client, &["half-0", "half-99999", "other"]), 1);
    import.kill().unwrap();
    import.wait().unwrap();

    // Bodies that are shorter than their announced length, and chunks without an end.
    let path = socket(&database);
    for head in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        let sent = format!(
            "POST /imports/cases HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\nf\r\n{{\"id\":\"half-0\"}}\n\r\n"
        );
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        drop(stream);
    }
    // If the client disconnects after sending everything, the import is stored completely or not at all.
    let body: String = (0..20_000).map(|case| format!("{{\"id\":\"left-{case}\"}}\n")).collect();
    let mut stream = UnixStream::connect(&path).unwrap();
    let sent =
        format!("POST /imports/cases HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(sent.as_bytes()).unwrap();
    drop(stream);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(found(&mut client, &["half-0", "half-99999", "other"]), 1);
    assert_eq!(
        fs::read_dir(database.folder())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".") })
            .count(),
        0,
        "the spooled body is deleted"
    );

    // The service stops in time although an import is still being sent.
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"POST /imports/cases HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{}").unwrap();
    let begin = Instant::now();
    let log = process.terminate();
    assert!(begin.elapsed() < Duration::from_secs(20), "{log}");
    let cases = run(&database, &["verify", "--db", "cases.db"]).json()["cases"].as_u64();
    assert!(matches!(cases, Some(701 | 20_701)), "{cases:?}");
}

#[test]
fn only_its_owner_can_open_the_socket_and_only_one_process_listens_on_it() {
    let database = Database::new("plain.cases.ndjson");
    let mut process = serve(&database, &[]);
    let path = socket(&database);
    let found = fs::symlink_metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let again = ["serve", "--db", "cases.db", "--tokens", "tokens.json", "--listen", "127.0.0.1:0"];
    let second = run(&database, &again);
    assert_eq!(second.status, Some(1));
    assert!(second.err.contains("another process"), "{}", second.err);

    // A killed service leaves a stale socket, which the next one replaces.
    process.child.kill().unwrap();
    process.child.wait().unwrap();
    assert!(path.exists());
    let share = ["token", "share", "--db", "cases.db", "--applicant", "anna"];
    run(&database, &share).good();
    let process = serve(&database, &[]);
    run(&database, &share).good();
    process.terminate();
    assert!(!path.exists());

    // With another path, and without a socket.
    let moved = database.folder().join("here");
    let process = serve(&database, &["--admin-socket", moved.to_str().unwrap()]);
    let lost = run(&database, &share);
    assert_eq!(lost.status, Some(1));
    assert!(lost.err.contains("cases.db.sock") && lost.err.contains("--admin-socket"), "{}", lost.err);
    run(&database, &[&share[..], &["--admin-socket", "here"]].concat()).good();
    // Requests for another database are rejected.
    let other = Database::new("plain.cases.ndjson");
    let held = serve(&other, &["--no-admin-socket"]);
    assert!(!socket(&other).exists());
    let wrong = run(&other, &[&share[..], &["--admin-socket", moved.to_str().unwrap()]].concat());
    assert_eq!(wrong.status, Some(1));
    assert!(wrong.err.contains("another database"), "{}", wrong.err);
    held.terminate();
    // A file that is not a socket is not replaced.
    write(&other, "cases.db.sock", "precious");
    let held = serve(&other, &[]);
    assert_eq!(fs::read(socket(&other)).unwrap(), b"precious");
    assert!(held.terminate().contains("is not a socket"));
    let refused = run(&other, &[&again[..], &["--admin-socket", "cases.db.sock"]].concat());
    assert_eq!(refused.status, Some(1), "{}", refused.err);
    process.terminate();
    assert!(!moved.exists());
}

#[test]
fn a_running_service_makes_backups_and_copies() {
    let database = Database::new("plain.cases.ndjson");
    let offline = run(&database, &["verify", "--db", "cases.db"]).json();
    fs::set_permissions(database.path(), fs::Permissions::from_mode(0o600)).unwrap();
    let process = serve(&database, &[]);
    process.client().call(&key("all"), "PATCH", &info_of("dana"), b"{\"firstName\":\"Zoe\"}").good();
    assert_eq!(run(&database, &["verify", "--db", "cases.db"]).json(), offline);
    run(&database, &["backup", "--db", "cases.db", "-o", "copy.db"]).good();
    let copied = fs::metadata(database.folder().join("copy.db")).unwrap();
    assert_eq!(
        copied.permissions().mode() & 0o777,
        0o600,
        "what others may not read they may not read in a copy"
    );
    let again = run(&database, &["backup", "--db", "cases.db", "-o", "copy.db"]);
    assert_eq!(again.status, Some(1));
    assert!(again.err.contains("copy.db: it exists already"), "{}", again.err);
    run(&database, &["export", "cases.db", "--where", "status = open", "-o", "online.ndjson"]).good();
    let names: Vec<_> =
        fs::read_dir(database.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 5, "no copy is left: {names:?}");
    process.terminate();
    run(&database, &["export", "copy.db", "--where", "status = open", "-o", "offline.ndjson"]).good();
    let text = |name: &str| fs::read_to_string(database.folder().join(name)).unwrap();
    assert!(text("online.ndjson").lines().count() > 10);
    assert_eq!(text("online.ndjson"), text("offline.ndjson"));
    assert_eq!(run(&database, &["verify", "--db", "copy.db"]).json(), offline);
}

/// Returns the number of unnamed (deleted) files that a process has open.
#[cfg(target_os = "linux")]
fn unnamed_files(id: u32) -> usize {
    let open = fs::read_dir(format!("/proc/{id}/fd")).unwrap();
    let links = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    links.filter(|link| link.to_string_lossy().ends_with("(deleted)")).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_copy_is_removed_when_its_client_or_its_service_ends() {
    let database = Database::new("plain.cases.ndjson");
    run(&database, &["generate", "--cases", "20000", "-o", "more.ndjson"]).good();
    run(&database, &["import", "--db", "cases.db", "more.ndjson"]).good();
    let cases = 20_700;
    let names = || {
        let entries = fs::read_dir(database.folder()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let commands: [&[&str]; 3] =
        [&["verify", "cases.db"], &["export", "cases.db", "-o", "out"], &["backup", "cases.db", "-o", "out"]];
    let process = serve(&database, &[]);
    let before = names();
    let (mut broken, id) = (0, process.child.id());
    for (signal, delay) in [("INT", 10), ("KILL", 30), ("KILL", 70), ("INT", 150), ("KILL", 300)] {
        for command in commands {
            let mut child = casefilter()
                .current_dir(database.folder())
                .args(command)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(delay));
            // The process may have ended already.
            let _ = std::process::Command::new("kill")
                .args(["-s", signal, &child.id().to_string()])
                .stderr(Stdio::null())
                .status();
            broken += u32::from(!child.wait().unwrap().success());
            let out = database.folder().join("out");
            if out.exists() && command[0] == "backup" {
                let told = run(&database, &["verify", "out"]).json();
                assert_eq!(told["cases"], cases);
            }
            let until = Instant::now() + Duration::from_secs(20);
            while unnamed_files(id) > 0 {
                assert!(Instant::now() < until, "{command:?}: the service keeps a copy");
                thread::sleep(Duration::from_millis(10));
            }
            let _ = fs::remove_file(&out);
            assert_eq!(names(), before, "{command:?} {signal} {delay}");
        }
    }
    assert!(broken > 0);
    let log = process.terminate();
    assert!(log.contains("cancelled a copy"), "{log}");

    // The same when the service is killed.
    for delay in [10, 40, 100] {
        let mut process = serve(&database, &[]);
        let command =
            casefilter().current_dir(database.folder()).args(commands[2]).stderr(Stdio::piped()).spawn();
        thread::sleep(Duration::from_millis(delay));
        process.child.kill().unwrap();
        let said = CommandOutput::from(command.unwrap().wait_with_output().unwrap());
        let out = database.folder().join("out");
        assert_eq!(said.status == Some(0), said.err.is_empty(), "{said:?}");
        if out.exists() {
            let told = run(&database, &["verify", "out"]).json();
            assert_eq!(told["cases"], cases);
            fs::remove_file(out).unwrap();
        } else {
            assert_eq!(said.status, Some(1), "{said:?}");
        }
        drop(process);
        fs::remove_file(socket(&database)).unwrap();
    }
    let restarted = serve(&database, &[]);
    assert_eq!(names(), before);
    restarted.terminate();
}

/// Listens on a socket that passes everything on to another one. Returns the bytes that came back so far.
fn tap(to: PathBuf, at: &Path) -> Arc<Mutex<Vec<u8>>> {
    let listener = UnixListener::bind(at).unwrap();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&answers);
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut service) = (client.unwrap(), UnixStream::connect(&to).unwrap());
            let (mut from_client, mut to_service) =
                (client.try_clone().unwrap(), service.try_clone().unwrap());
            thread::spawn(move || {
                let _ = std::io::copy(&mut from_client, &mut to_service);
                let _ = to_service.shutdown(std::net::Shutdown::Write);
            });
            let told = Arc::clone(&told);
            thread::spawn(move || {
                let mut bytes = [0; 1 << 16];
                while let Ok(length @ 1..) = service.read(&mut bytes) {
                    told.lock().unwrap().extend_from_slice(&bytes[..length]);
                    let _ = client.write_all(&bytes[..length]);
                }
            });
        }
    });
    answers
}

#[test]
fn no_document_is_sent_for_a_page_of_ids() {
    let database = Database::new("plain.cases.ndjson");
    let _process = serve(&database, &[]);
    let answers = tap(socket(&database), &database.folder().join("tap.sock"));
    let search = |format: &str| {
        answers.lock().unwrap().clear();
        let tapped =
            ["search", "cases.db", "--limit", "50", "--format", format, "--admin-socket", "tap.sock"];
        let out = run(&database, &tapped).good();
        let answer = String::from_utf8_lossy(&answers.lock().unwrap()).into_owned();
        (out, answer)
    };
    let (ids, answer) = search("ids");
    assert_eq!(ids.lines().count(), 50);
    assert!(ids.lines().all(|id| answer.contains(id)) && !answer.contains("\"caseReview\""), "{answer}");
    let (cases, answer) = search("ndjson");
    assert!(answer.contains("\"caseReview\""), "{answer}");
    let of_cases = cases.lines().map(|case| serde_json::from_str::<Value>(case).unwrap()["id"].clone());
    assert_eq!(of_cases.collect::<Vec<_>>(), ids.lines().collect::<Vec<_>>());
}

#[test]
fn the_socket_speaks_plain_http() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &[]);
    let path = socket(&database);
    let ask = |method: &str, target: &str, body: &str| {
        let length = body.len();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        let answer = send_to_socket(&path, (head + body).as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str::<Value>(body).unwrap())
    };
    assert_eq!(ask("GET", "/", "").1["cases"], 700);
    let (status, answer) =
        ask("POST", "/imports/cases?mode=lenient&source=mine", "[{\"id\":\"one\"},{\"id\":2}]");
    assert_eq!((status, &answer["cases"]), (200, &json!(701)));
    assert_eq!(answer["report"]["refusals"][0]["source"], "mine");
    let (status, answer) = ask("POST", "/imports/cases", "{\"id\":2}");
    assert_eq!(
        (status, &answer["type"], &answer["refusal"]["error"]["path"]),
        (422, &json!("refused"), &json!("id"))
    );
    let long = "{\"applicantId\":\"anna\",\"lifetimeS\":9223372036854775807}";
    for (method, target, body, expected) in [
        ("POST", "/imports/nothing", "", 404),
        ("POST", "/imports/cases?mode=loose", "", 400),
        ("POST", "/imports/cases?kind=x", "", 400),
        ("POST", "/imports/cases?format=parquet", "no parquet", 422),
        ("POST", "/imports/levels?mode=loose", "", 400),
        ("POST", "/imports/levels?format=parquet", "", 415),
        ("GET", "/imports/cases", "", 405),
        ("POST", "/share-tokens", "{\"applicantId\":\"anna\"}", 400),
        ("POST", "/share-tokens", "{\"applicantId\":\"nobody\",\"lifetimeS\":60}", 404),
        ("POST", "/share-tokens", "{\"applicantId\":\"anna\",\"lifetimeS\":0}", 400),
        ("POST", "/share-tokens", long, 400),
        ("POST", "/backups", "{\"path\":\"here.db\"}", 400),
        ("POST", "/backups", "{\"path\":\"/here\\u0000.db\"}", 400),
        ("POST", "/backups", "{\"path\":\"/no/such/folder/here.db\"}", 404),
        ("GET", "/resources/api/caseManagement/v2/cases/filters", "", 404),
    ] {
        let (status, answer) = ask(method, target, body);
        assert_eq!(
            (status, answer["code"].as_u64()),
            (expected, Some(u64::from(expected))),
            "{target} {body}: {answer}"
        );
    }
    // The public port has none of these paths.
    let mut client = process.client();
    for target in ["/", "/imports/cases", "/share-tokens", "/backups"] {
        assert_eq!(client.get(target).status, 404, "{target}");
    }
    let log = process.terminate();
    let who = format!(
        "\"user\":{}",
        fs::metadata(database.path()).map(|found| std::os::unix::fs::MetadataExt::uid(&found)).unwrap()
    );
    assert!(log.contains("POST /imports/cases") && log.contains(&who), "{log}");
}
