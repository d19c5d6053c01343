//! Tests the process of `casefilter serve`: signals, configuration errors, tokens and logs.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{env, fs};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Client, head};
use super::http2_client::Http2;
use super::server::{Database, SEARCH, info_of, key, status_of, tokens};

pub(crate) fn casefilter() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casefilter"));
    for name in ["CASEFILTER_DB", "CASEFILTER_ADMIN_SOCKET", "CASEFILTER_CATALOG"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// A `casefilter serve` that is killed when it is dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    log: Option<JoinHandle<String>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    pub(crate) fn start(database: &Database, arguments: &[&str]) -> Self {
        Self::with_source(database, arguments, database.source())
    }

    /// Starts a service that searches PostgreSQL, if a source is given.
    pub(crate) fn with_source(
        database: &Database,
        arguments: &[&str],
        source: Option<(String, String)>,
    ) -> Self {
        Self::run(casefilter(), database, arguments, source)
    }

    /// Starts a service by the given command.
    pub(crate) fn run(
        mut command: Command,
        database: &Database,
        arguments: &[&str],
        source: Option<(String, String)>,
    ) -> Self {
        let path = database.folder().join("tokens.json");
        write_private(&path, &tokens().to_string());
        let child =
            command
                .args(["serve", "--listen", "127.0.0.1:0", "--tokens"])
                .arg(&path)
                .args(arguments)
                .env("CASEFILTER_DB", database.path())
                .envs(source.into_iter().flat_map(|(url, table)| {
                    [("CASEFILTER_SOURCE", url), ("CASEFILTER_SOURCE_TABLE", table)]
                }))
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
        Self::listening(child)
    }

    /// Waits until a service listens.
    pub(crate) fn listening(mut child: Child) -> Self {
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let (mut log, mut address) = (String::new(), None);
        while address.is_none() {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ends with {:?}: {log}", child.wait());
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            address = event["address"].as_str().map(|address| address.parse().unwrap());
            log += &line;
        }
        let log = thread::spawn(move || {
            lines.read_to_string(&mut log).unwrap();
            log
        });
        Self { child, address: address.unwrap(), log: Some(log) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Kills the process and returns its log.
    #[cfg(target_os = "linux")]
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Stops the process with SIGTERM and returns its log.
    pub(crate) fn terminate(mut self) -> String {
        self.signal("TERM");
        assert!(self.child.wait().unwrap().success());
        self.log.take().unwrap().join().unwrap()
    }
}

#[test]
fn acknowledged_updates_survive_a_kill() {
    let database = Database::new("plain.cases.ndjson");
    let all = key("all");
    let fields = ["firstName", "lastName", "placeOfBirth", "stateOfBirth"];
    let mut acknowledged = [None::<u64>; 4];
    let mut total = 0;
    for kill in 0..5 {
        let mut process = Process::start(&database, &[]);
        let address = process.address;
        let threads: Vec<_> = fields
            .into_iter()
            .enumerate()
            .map(|(number, field)| {
                let (all, before) = (all.clone(), acknowledged[number]);
                thread::spawn(move || {
                    let mut client = Client::new(address);
                    let mut last = before;
                    for round in before.map_or(0, |last| last + 1).. {
                        let body = format!("{{\"{field}\":\"Ян {round}\"}}");
                        let mut request = head(&all, "PATCH", &info_of("dana"), body.as_bytes());
                        request += "\r\n";
                        request += &body;
                        let answer = client.send(request.as_bytes()).and_then(|()| client.receive());
                        match answer {
                            Ok(answer) => {
                                assert_eq!(answer.good()[field], format!("Ян {round}"));
                                last = Some(round);
                            }
                            Err(_) => break,
                        }
                    }
                    last
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(150 + kill * 7919 % 250));
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        let last: Vec<Option<u64>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();

        // Restart on the same file.
        let process = Process::start(&database, &[]);
        let mut client = process.client();
        let info = client.call(&all, "PATCH", &info_of("dana"), b"{\"dob\":null}").good();
        for ((field, last), seen) in fields.iter().zip(last).zip(&mut acknowledged) {
            let found: Option<u64> =
                info[*field].as_str().map(|text| text.strip_prefix("Ян ").unwrap().parse().unwrap());
            // The update after the last acknowledged one may be stored, but only completely.
            let next = last.map_or(0, |last| last + 1);
            assert!(
                found == last || found == Some(next),
                "kill {kill}, {field}: {found:?}, acknowledged {last:?}"
            );
            if let Some(found) = found.filter(|_| *field == "firstName") {
                assert_eq!(info["firstNameEn"], format!("Ian {found}"));
            }
            total += last.unwrap_or(0);
            *seen = found;
        }
        let body = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;
        let target = format!("{SEARCH}?limit=0&countTotalItems=true");
        assert_eq!(client.call(&all, "POST", &target, body).good()["list"]["totalItems"], 700);
        process.terminate();
    }
    assert!(total > 0, "no update was acknowledged");
}

#[test]
fn the_log_has_every_request_and_no_secrets() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &["--log", "debug"]);
    let mut client = process.client();
    let all = key("all");
    let body = br#"{"lastName":"Geheimrat"}"#;
    let mut answers = vec![
        client.call(&all, "PATCH", &info_of("anna"), body),
        client.call(&all, "GET", &status_of("anna"), b""),
        client.call(&all, "GET", &status_of("nobody"), b""),
        client.call(&key("none"), "GET", &status_of("anna"), b""),
        client.call(
            &all,
            "GET",
            &format!("{}?shareToken={}", super::server::PREVIEW, database.share_token),
            b"",
        ),
        client.get("/nowhere"),
    ];
    let bad = super::client::Key { secret: "a wrong secret of some length".to_owned(), ..all.clone() };
    answers.push(client.call(&bad, "POST", SEARCH, b"{}"));
    let mut request = head(&all, "POST", SEARCH, b"{}");
    let signature = request.split("X-App-Access-Sig: ").nth(1).unwrap()[..64].to_owned();
    request += "\r\n{}";
    client.send(request.as_bytes()).unwrap();
    answers.push(client.receive().unwrap());
    // A request that belongs to a trace, and one whose header has another form.
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    for header in [format!("00-{trace}-{parent}-01"), format!("00-{trace}-{parent}-")] {
        let request = head(&all, "GET", &status_of("anna"), b"") + &format!("traceparent: {header}\r\n\r\n");
        client.send(request.as_bytes()).unwrap();
        answers.push(client.receive().unwrap());
    }
    let log = process.terminate();
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for answer in &answers {
        let id = answer.header("x-correlation-id").unwrap();
        let own: Vec<&Value> = events.iter().filter(|event| event["correlation_id"] == id).collect();
        assert_eq!(own.len(), 1, "{id} in {log}");
        assert_eq!(own[0]["status"], answer.status);
        assert_eq!(own[0]["level"], if answer.status == 200 { "DEBUG" } else { "INFO" });
    }
    let event = |answer: usize| {
        let id = answers[answer].header("x-correlation-id").unwrap();
        events.iter().find(|event| event["correlation_id"] == id).unwrap()
    };
    assert_eq!((&event(0)["operation"], &event(0)["token"]), (&json!("updateInfo"), &json!("all")));
    assert_eq!((&event(3)["token"], &event(5)["operation"]), (&json!("none"), &json!("other")));
    assert!(event(6).get("token").is_none_or(Value::is_null), "an unsigned request has no token");
    assert_eq!((&event(8)["trace_id"], &event(8)["parent_id"]), (&json!(trace), &json!(parent)));
    assert!(event(9)["trace_id"].is_null() && event(9)["parent_id"].is_null());
    assert!((0..answers.len()).all(|answer| event(answer)["peer"] == "127.0.0.1"), "{log}");
    assert_eq!(events.last().unwrap()["message"], "everything is on disk");
    // The log contains no bodies, signatures, secrets or stored data.
    for secret in [&all.secret, &bad.secret, &all.token, &signature, &database.share_token, "Geheimrat", "Ян"]
    {
        assert!(!log.contains(secret), "{secret}");
    }
    for answer in &answers {
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
}

#[test]
fn it_starts_only_with_a_valid_token_file() {
    let database = Database::new("plain.cases.ndjson");
    let path = database.folder().join("tokens.json");
    let good = json!({"token": "t", "secret": "0123456789abcdef", "permissions": ["viewCases"]});
    let with = |name: &str, value: Value| {
        let mut token = good.clone();
        token[name] = value;
        json!({ "tokens": [good, token] }).to_string()
    };
    let mut two = good.clone();
    two["token"] = json!("u");
    for (text, expected) in [
        (String::new(), "EOF"),
        ("[]".to_owned(), "expected struct TokenFile"),
        (json!({"tokens": [good, good]}).to_string(), "token 2: `t` is a duplicate"),
        (json!({"tokens": [], "more": 1}).to_string(), "unknown field `more`"),
        (with("role", json!("admin")), "unknown field `role`"),
        (with("permissions", json!(["viewAll"])), "unknown variant `viewAll`"),
        (with("secret", json!("short")), "token 2: `secret` needs at least 16 bytes"),
        (with("secret", json!(["SECRETSECRETSECRET"])), "a secret is a string"),
        (with("token", json!("a b")), "token 2: `token` must be visible ASCII"),
        (with("filter", json!("clientId = ")), "token 2: `filter`"),
        (with("fields", json!(["name", "clientID"])), "token 2: `fields`"),
        (with("clients", json!([])), "token 2: `clients`: found 0 clients, expected 1 to 1000"),
        (with("clients", json!(["a", "b\n"])), "token 2: `clients`: found `b\\u{a}`, expected a client"),
        (with("clients", json!((0..1001).map(|n| n.to_string()).collect::<Vec<_>>())), "found 1001 clients"),
    ] {
        write_private(&path, &text);
        let output =
            casefilter().args(["serve", "--db"]).arg(database.path()).arg("--tokens").arg(&path).output();
        let output = output.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}: {said}");
        assert!(said.contains(expected), "{text}: {said}");
        assert!(!said.contains("SECRETSECRETSECRET") && !said.contains("0123456789abcdef"), "{said}");
    }
    fs::remove_file(&path).unwrap();
    let output = casefilter().args(["serve", "--db", "x", "--tokens"]).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot read"));
}

/// Writes a file that only its owner can read, such as a token file.
pub(crate) fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn make_token(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = casefilter().current_dir(folder).args(["token", "app"]).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn each_app_token_has_its_own_secret() {
    let folder = TempDir::new().unwrap();
    let make = |arguments: &[&str]| make_token(folder.path(), arguments);
    let arguments = ["--file", "tokens.json", "--allow", "viewCases,viewApplicants", "--name", "board"];
    let (status, first, said) = make(&arguments);
    assert_eq!((status, &*said), (Some(0), ""));
    let (_, second, _) = make(&[
        "--file",
        "tokens.json",
        "--allow",
        "viewCases",
        "--fields",
        "name,status",
        "--filter",
        "clientId = a",
    ]);
    let [first, second]: [Value; 2] = [first, second].map(|text| serde_json::from_str(&text).unwrap());
    assert_ne!(first["secret"], second["secret"]);
    assert_eq!(first["secret"].as_str().map(str::len), Some(64));
    let path = folder.path().join("tokens.json");
    let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        file["tokens"][0],
        json!({"token": first["token"], "secret": first["secret"], "name": "board", "permissions": ["viewCases", "viewApplicants"]})
    );
    assert_eq!(file["tokens"][1]["fields"], json!(["name", "status"]));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // Names are unique. The name of a token without one is its number.
    let before = fs::read(&path).unwrap();
    for (name, found) in
        [("board", "tokens.json has a token named `board` already"), ("2", "named `2` already")]
    {
        let arguments = ["--file", "tokens.json", "--allow", "viewCases", "--name", name, "-o", "app.json"];
        let (status, out, said) = make(&arguments);
        assert_eq!((status, &*out), (Some(2), ""), "{said}");
        assert!(said.contains(found) && said.contains("give another --name"), "{said}");
    }
    assert!(!folder.path().join("app.json").exists());
    // A token without a name gets the next number that is not the name of another token.
    let of_numbers = ["--file", "numbers.json", "--allow", "viewCases"];
    assert_eq!(make(&[&of_numbers[..], &["--name", "2"]].concat()).0, Some(0));
    assert_eq!(make(&of_numbers).0, Some(0));
    let numbers: Value =
        serde_json::from_slice(&fs::read(folder.path().join("numbers.json")).unwrap()).unwrap();
    assert_eq!(numbers["tokens"][1]["name"], "3");
    let held = ["--filter", "clientId = a", "--fields", "createdByRule.title"];
    let (status, _, said) =
        make(&[&["--allow", "viewCases,changePersonalData,viewAmlScreening"][..], &held].concat());
    assert_eq!(
        (status, &*said),
        (
            Some(0),
            "warning: --filter and --fields restrict searches of cases only: changePersonalData, viewAmlScreening apply to \
             all applicants, including those of other clients; bind the token by --client, or remove them, if that is not intended\n\
             warning: createdByType is hidden, but the presence of createdByRule.title reveals it\n"
        )
    );
    let (_, _, said) = make(&["--allow", "viewApplicants", "--filter", "clientId = a"]);
    assert!(said.contains("viewApplicants applies to all applicants"), "{said}");
    for fine in [
        &["--allow", "viewCases,viewPersonalData", "--filter", "clientId = a"][..],
        &["--allow", "viewApplicants"],
        &["--allow", "viewCases,viewApplicants", "--filter", "clientId = a", "--client", "a"],
    ] {
        assert_eq!(make(fine).2, "", "{fine:?}");
    }
    for (arguments, status) in [
        (&["--file", "tokens.json", "--allow", "viewCases", "--filter", "x = 1"][..], Some(2)),
        (&["--file", "tokens.json", "--allow", "viewCases", "--fields", "x"], Some(2)),
        (&["--file", "tokens.json", "--allow", "everything"], Some(2)),
        (&["--file", "tokens.json"], Some(2)),
    ] {
        assert_eq!(make(arguments).0, status, "{arguments:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    let output = ["--file", "tokens.json", "--allow", "viewCases", "--name", "third", "-o", "app.json"];
    assert_eq!(make(&output), (Some(0), String::new(), String::new()));
    let app: Value = serde_json::from_slice(&fs::read(folder.path().join("app.json")).unwrap()).unwrap();
    let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!((&app["token"], &app["secret"]), (&file["tokens"][2]["token"], &file["tokens"][2]["secret"]));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder.path().join("app.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // A secret does not overwrite a file; then no token is added either.
    let output = ["--file", "tokens.json", "--allow", "viewCases", "--name", "fourth", "-o", "app.json"];
    let (status, _, said) = make(&output);
    assert_eq!(status, Some(1));
    assert!(said.contains("cannot write app.json"), "{said}");
    let now: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        (now, app),
        (file, serde_json::from_slice(&fs::read(folder.path().join("app.json")).unwrap()).unwrap())
    );
    let (_, printed, _) = make(&["--allow", "viewCases"]);
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap()["tokens"].as_array().map(Vec::len), Some(1));
}

#[test]
fn it_warns_about_two_tokens_with_one_name() {
    let database = Database::new("plain.cases.ndjson");
    let path = database.folder().join("twins.json");
    let token = |token: &str, name: &str| json!({"token": token, "name": name, "secret": "0123456789abcdef", "permissions": []});
    let twins = json!({"tokens": [token("a", "twin"), token("b", "twin"), token("c", "other")]});
    write_private(&path, &twins.to_string());
    // The process ends at once because the certificate does not exist.
    let output = casefilter()
        .args(["serve", "--tls-cert", "no.pem", "--tls-key", "no.pem", "--db"])
        .arg(database.path())
        .arg("--tokens")
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let warnings: Vec<&str> =
        said.lines().filter(|line| line.contains("two tokens have this name")).collect();
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(warnings[0].contains("\"name\":\"twin\""), "{said}");
}

#[cfg(unix)]
#[test]
fn sighup_does_not_stop_the_service() {
    let database = Database::new("plain.cases.ndjson");
    for command in [None, Some("nohup")] {
        let run = match command {
            None => casefilter(),
            Some(name) => {
                let mut run = Command::new(name);
                run.arg(env!("CARGO_BIN_EXE_casefilter"));
                run.env_remove("CASEFILTER_DB").env_remove("CASEFILTER_ADMIN_SOCKET").stdin(Stdio::null());
                run
            }
        };
        let mut process = Process::run(run, &database, &[], None);
        for _ in 0..3 {
            process.signal("HUP");
            thread::sleep(Duration::from_millis(100));
            assert!(process.child.try_wait().unwrap().is_none(), "the process ended");
            assert_eq!(process.client().get("/readyz").status, 200);
        }
        // The token file is read again within a second.
        thread::sleep(Duration::from_secs(1));
        let log = process.terminate();
        assert!(log.contains("SIGHUP: the files that the service follows are read again"), "{log}");
        assert!(log.contains("is in force"), "{log}");
        assert!(log.contains("everything is on disk"), "{log}");
    }
}

#[cfg(unix)]
#[test]
fn it_drains_before_it_stops_and_serves_metrics_on_its_listener() {
    let database = Database::new("plain.cases.ndjson");
    let mut process =
        Process::run(casefilter(), &database, &["--drain", "1s", "--metrics-listen", "127.0.0.1:0"], None);
    let mut client = process.client();
    client.get("/metrics").failure(404);
    process.signal("TERM");
    let start = std::time::Instant::now();
    while process.client().get("/readyz").status != 503 {
        assert!(start.elapsed() < Duration::from_millis(800), "the service is still ready");
    }
    process.client().call(&key("all"), "GET", &status_of("anna"), b"").good();
    // Another signal would end it at once.
    assert!(process.child.wait().unwrap().success());
    let log = process.log.take().unwrap().join().unwrap();
    assert!(start.elapsed() >= Duration::from_millis(900), "{:?}", start.elapsed());
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let metrics = events.iter().find_map(|event| event["metrics_address"].as_str()).unwrap();
    assert!(metrics.starts_with("127.0.0.1:") && !metrics.ends_with(":0"), "{metrics}");
    assert!(events.iter().any(|event| event["drain_s"] == 1.0), "{log}");
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_it_at_once() {
    let database = Database::new("plain.cases.ndjson");
    for arguments in [["--drain", "60s", "--grace", "60s"], ["--drain", "0", "--grace", "60s"]] {
        for signal in ["TERM", "INT"] {
            let mut process = Process::run(casefilter(), &database, &arguments, None);
            // One that does not end by itself.
            let mut half = process.client();
            half.send(format!("{}\r\n{{", head(&key("all"), "POST", SEARCH, b"{\"ids\":[]}")).as_bytes())
                .unwrap();
            let update = json!({ "stateOfBirth": format!("{signal} {}", arguments[1]) });
            let body = update.to_string();
            process.client().call(&key("all"), "PATCH", &info_of("anna"), body.as_bytes()).good();
            process.signal("TERM");
            thread::sleep(Duration::from_millis(500));
            assert!(process.child.try_wait().unwrap().is_none(), "it waits for what is in flight");
            let start = std::time::Instant::now();
            process.signal(signal);
            assert!(process.child.wait().unwrap().success());
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
            let log = process.log.take().unwrap().join().unwrap();
            assert!(log.contains("asked to end at once") && log.contains("everything is on disk"), "{log}");
            let store = database.open();
            let anna = store.records().unwrap().get("applicant", "anna").unwrap().unwrap();
            assert!(anna.contains(update["stateOfBirth"].as_str().unwrap()), "{anna}");
            store.validate().unwrap();
        }
    }
}

#[test]
fn environment_variables_set_the_same_options_as_flags() {
    let database = Database::new("plain.cases.ndjson");
    // Boolean options in all accepted spellings.
    for (value, is_refused) in [("1", true), ("true", true), ("on", true), ("0", false), ("no", false)] {
        let mut command = casefilter();
        command.env("CASEFILTER_REFUSE_REPLAYS", value).env("CASEFILTER_NO_ADMIN_SOCKET", value);
        command.env("CASEFILTER_MAX_LIMIT", "7");
        let socket = database.folder().join("own.sock");
        if cfg!(unix) {
            // The path of the socket does not matter if the socket is disabled.
            command.env("CASEFILTER_ADMIN_SOCKET", &socket);
        }
        let process = Process::run(command, &database, &[], None);
        let mut client = process.client();
        let request = head(&key("all"), "POST", SEARCH, b"{\"ids\":[]}") + "\r\n{\"ids\":[]}";
        let mut statuses = [(); 2].map(|()| {
            client.send(request.as_bytes()).unwrap();
            client.receive().unwrap().status
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, if is_refused { 401 } else { 200 }], "{value}");
        assert_eq!(socket.exists(), cfg!(unix) && !is_refused, "{value}");
        let answer = client.call(&key("all"), "POST", &format!("{SEARCH}?limit=8"), b"{\"ids\":[]}");
        assert!(answer.failure(400).contains("expected at most 7"));
        process.terminate();
    }
}

#[test]
fn wrong_flags_are_explained() {
    let database = Database::new("plain.cases.ndjson");
    let file = |name: &str| super::server::data(&format!("tls/{name}.pem")).display().to_string();
    let (certificate, private) = (file("cert"), file("key"));
    let tokens_file = database.folder().join("tokens.json");
    write_private(&tokens_file, &tokens().to_string());
    for (arguments, status, expected) in [
        (&["--drain", "5 s"][..], 2, "expected a whole number and ms, s, m, h or d, such as 500ms, 3s"),
        (&["--metrics-listen", "9100"], 2, "expected an IP address and a port"),
        (&["--listen", "localhost:8080"], 2, "expected an IP address and a port, such as 127.0.0.1:8080"),
        (&["--tls-cert", &certificate], 2, "--tls-key"),
        (
            &["--tls-cert", &certificate, "--tls-key", &certificate],
            1,
            "cert.pem and .*cert.pem: found no private key",
        ),
        (&["--tls-cert", &private, "--tls-key", &private], 1, "key.pem and .*key.pem: found no certificate"),
    ] {
        let output = casefilter()
            .args(["serve", "--db"])
            .arg(database.path())
            .arg("--tokens")
            .arg(&tokens_file)
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        let mut rest = said.as_str();
        for part in expected.split(".*") {
            let at = rest.find(part).unwrap_or_else(|| panic!("{expected}: {said}"));
            rest = &rest[at + part.len()..];
        }
    }
}

/// `script` of util-linux runs a command on a pseudo-terminal. Without it, the test does nothing.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_it_logs_text() {
    let database = Database::new("plain.cases.ndjson");
    let tokens_file = database.folder().join("tokens.json");
    write_private(&tokens_file, &tokens().to_string());
    let serve = "exec \"$SERVE\" serve --listen 127.0.0.1:0";
    let child = Command::new("script")
        .args(["-qec", serve, "/dev/null"])
        .env("SERVE", env!("CARGO_BIN_EXE_casefilter"))
        .env("CASEFILTER_DB", database.path())
        .env("CASEFILTER_TOKENS", &tokens_file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else { return };
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("listening") {
        assert!(lines.read_line(&mut said).unwrap() > 0, "it ends: {said}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.lines().all(|line| line.contains(" INFO ") || line.contains(" WARN ")), "{said}");
    assert!(said.contains("listening address=127.0.0.1:"), "{said}");
}

/// Returns the number of requests that the log has lines for, and the number of suppressed lines that it counts.
fn logged_requests(log: &str) -> (u64, u64) {
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let written =
        events.iter().filter(|event| event["status"] == 404 && event["message"] == "answered").count() as u64;
    (written, events.iter().filter_map(|event| event["lines"].as_u64()).sum())
}

#[test]
fn rejected_requests_do_not_fill_the_log() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    const REQUESTS: u64 = 2000;
    for _ in 0..REQUESTS {
        client.send(b"GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n").unwrap();
        assert_eq!(client.receive().unwrap().status, 404);
    }
    let start = std::time::Instant::now();
    // The suppressed lines are counted within a second or two, even without further requests.
    thread::sleep(Duration::from_millis(2500));
    let elapsed = start.elapsed().as_secs();
    let log = process.terminate();
    let (written, left_out) = logged_requests(&log);
    assert_eq!(written + left_out, REQUESTS, "{elapsed} s");
    assert!(written < REQUESTS / 4, "{written}");
}

#[test]
fn suppressed_lines_are_counted_when_the_service_stops() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &[]);
    let mut client = process.client();
    const REQUESTS: u64 = 200;
    let requests = b"GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n".repeat(REQUESTS as usize);
    client.send(&requests).unwrap();
    for _ in 0..REQUESTS {
        assert_eq!(client.receive().unwrap().status, 404);
    }
    // Stop within the same second in which lines are suppressed.
    let (written, left_out) = logged_requests(&process.terminate());
    assert!(left_out > 0, "{written} lines were written");
    assert_eq!(written + left_out, REQUESTS);
}

#[test]
fn an_extended_service_takes_extended_bodies_and_describes_them() {
    let body = br#"{"criteria":[{"op":"$not","children":[{"field":"tags","op":"$exists","values":["true"]}]},
        {"field":"name","op":"$match","values":["a"]}]}"#;
    let database = Database::new("plain.cases.ndjson");
    let total = |process: &Process| {
        let target = format!("{SEARCH}?countTotalItems=true&limit=0");
        process.client().call(&key("all"), "POST", &target, body)
    };
    let schema = |process: &Process| {
        let document = process.client().get("/openapi.json").good();
        let media = &document["paths"][SEARCH]["post"]["requestBody"]["content"]["application/json"];
        media["schema"]["$ref"].as_str().unwrap().to_owned()
    };
    let strict = Process::start(&database, &[]);
    let description = total(&strict).failure(400);
    assert!(description.contains("found `$not`"), "{description}");
    assert_eq!(schema(&strict), "#/components/schemas/CaseFilter");
    strict.terminate();

    let extended = Process::start(&database, &["--extended"]);
    let store_total = total(&extended).good()["list"]["totalItems"].as_u64().unwrap();
    assert_eq!(schema(&extended), "#/components/schemas/ExtendedCaseFilter");
    extended.terminate();
    let store = database.open();
    let filter =
        casefilter::Filter::compile_text(store.catalog(), "tags is absent and name matches a").unwrap();
    assert_eq!(store_total, store.count(&filter).unwrap());
    assert!(store_total > 0);
}

#[test]
fn an_extended_service_has_orders_by_several_fields_and_cursors() {
    let database = Database::new("plain.cases.ndjson");
    let body = br#"{"criteria":[{"field":"status","op":"<>","values":["open"]}]}"#;
    let search = |process: &Process, query: &str| {
        process.client().call(&key("all"), "POST", &format!("{SEARCH}?{query}"), body)
    };
    let ids = |answer: &Value| -> Vec<String> {
        let items = answer["list"]["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let strict = Process::start(&database, &[]);
    assert!(search(&strict, "order=priority,-createdAt").failure(400).contains("one field"));
    // Parameters of other services, caches and proxies are ignored.
    let ignored = search(&strict, "pageCursor=true&after=x&limit=1").good();
    assert!(ignored["list"]["pageInfo"]["next"].is_null());
    strict.terminate();

    let extended = Process::start(&database, &["--extended"]);
    let order = "order=priority,-createdAt";
    let whole = ids(&search(&extended, &format!("{order}&limit=10000")).good());
    let (mut found, mut query) =
        (Vec::new(), format!("{order}&limit=70&pageCursor=true&countTotalItems=true"));
    loop {
        let answer = search(&extended, &query).good();
        found.extend(ids(&answer));
        assert_eq!(answer["list"]["totalItems"], whole.len());
        let Some(next) = answer["list"]["pageInfo"]["next"].as_str() else { break };
        query = format!("{order}&limit=70&pageCursor=true&countTotalItems=true&after={next}");
    }
    assert!(found == whole && whole.len() > 140, "{}", whole.len());
    let answer = search(&extended, &format!("{order}&limit=1&pageCursor=true")).good();
    let next = answer["list"]["pageInfo"]["next"].as_str().unwrap();
    for (query, told) in [
        (format!("after={next}"), "a cursor of another order"),
        (format!("{order}&after={next}&offset=1"), "no `offset`"),
        (format!("{order}&after={}", &next[1..]), "the complete, unchanged text"),
        (format!("{order}&pageCursor=yes"), "`true` or `false`"),
        ("order=priority,-tags".to_owned(), "multi-valued"),
        ("afer=x".to_owned(), "did you mean `after`?"),
    ] {
        let description = search(&extended, &query).failure(400);
        assert!(description.contains(told), "{description}");
    }
    extended.terminate();
}

#[test]
fn documents_of_another_catalogue_are_served() {
    let folder = TempDir::new().unwrap();
    for name in ["orders.toml", "orders.ndjson"] {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
        fs::copy(example, folder.path().join(name)).unwrap();
    }
    let command = |args: &[&str]| {
        let mut command = casefilter();
        command.args(args).current_dir(folder.path()).env_remove("CASEFILTER_SOURCE");
        command
    };
    let run = |args: &[&str]| {
        let output = command(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let good = |args: &[&str]| {
        let (code, out, err) = run(args);
        assert_eq!(code, 0, "{args:?}: {err}");
        out
    };
    good(&["import", "--db", "orders.db", "--catalog", "orders.toml", "orders.ndjson"]);
    let token = ["token", "app", "--file", "tokens.json", "--allow", "viewCases", "--filter", "total > 100"];
    let (code, _, err) = run(&token);
    assert!(code == 2 && err.contains("found `total`"), "{err}");
    let token = good(&[&token[..], &["--fields", "id,total,customer", "--catalog", "orders.db"]].concat());
    let token: Value = serde_json::from_str(&token).unwrap();
    let text = |name: &str| token[name].as_str().unwrap().to_owned();
    let key = super::client::Key { token: text("token"), secret: text("secret") };

    let mut serve =
        command(&["serve", "--db", "orders.db", "--listen", "127.0.0.1:0", "--tokens", "tokens.json"]);
    let process = Process::listening(serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut client = process.client();
    let names = client.call(&key, "GET", super::server::FILTERS, b"").good();
    assert_eq!(names, json!(["id", "total", "customer.id", "customer"]));
    let document = client.get("/openapi.json").good();
    let item = &document["components"]["schemas"]["Case"]["properties"];
    assert_eq!(item["customer"]["properties"]["id"], json!({"type": ["integer", "null"], "format": "int64"}));
    assert!(item.get("caseReview").is_none() && item["items"]["items"]["properties"].get("sku").is_some());
    let fields = document["components"]["schemas"]["FieldCriterion"]["properties"]["field"]["enum"].clone();
    assert!(fields.as_array().unwrap().contains(&json!("customer")), "{fields}");
    let body = json!({"criteria": [{"field": "customer", "op": ">=", "values": ["42"]}]}).to_string();
    let answer = client.call(&key, "POST", &format!("{SEARCH}?order=-total"), body.as_bytes()).good();
    let expected = json!([
        {"id": "o-3", "total": 980, "customer": {"id": 42}},
        {"id": "o-4", "total": 310, "customer": {"id": 42}},
        {"id": "o-1", "total": 120.50, "customer": {"id": 9_007_199_254_740_993_i64}},
    ]);
    assert_eq!(answer["list"]["items"], expected);
    let body = json!({"criteria": [{"field": "status", "op": "=", "values": ["open"]}]}).to_string();
    let failure = client.call(&key, "POST", SEARCH, body.as_bytes()).failure(400);
    assert!(failure.contains("found `status`"), "{failure}");

    // Commands learn the catalogue from the service that has the database open.
    #[cfg(unix)]
    {
        let search = ["search", "orders.db", "--where", "customer = 42", "--format", "ids"];
        assert_eq!(good(&search), "o-3\no-4\n");
        let why = good(&["why", "orders.db", "--id", "o-2", "--where", "state = placed"]);
        assert!(why.contains("\"selected\":true"), "{why}");
        assert_eq!(good(&["export", "orders.db", "--where", "customer = 42", "-o", "-"]).lines().count(), 2);
        good(&["import", "--db", "orders.db", "orders.ndjson"]);
        good(&["verify", "orders.db"]);
        let text = fs::read_to_string(folder.path().join("orders.toml")).unwrap();
        fs::write(folder.path().join("other.toml"), text.replace("\"integer\"", "\"number\"")).unwrap();
        for args in [
            &["search", "orders.db", "--catalog", "other.toml"][..],
            &["import", "--db", "orders.db", "--catalog", "other.toml", "orders.ndjson"],
        ] {
            let (code, _, err) = run(args);
            let expected = "made for another catalogue: found the field `customer.id integer`, expected `customer.id number`";
            assert!(code == 1 && err.contains(expected), "{err}");
        }
    }
    process.terminate();
    // The catalogue of the service must read the documents in the same way.
    let serve = ["serve", "--db", "orders.db", "--listen", "127.0.0.1:0", "--tokens", "tokens.json"];
    fs::write(folder.path().join("cases.json"), r#"{"extends":"cases"}"#).unwrap();
    let (code, _, err) = run(&[&serve[..], &["--catalog", "cases.json"]].concat());
    assert!(code == 1 && err.contains("tokens.json"), "{err}");
    write_private(&folder.path().join("tokens.json"), r#"{"tokens":[]}"#);
    let (code, _, err) = run(&[&serve[..], &["--catalog", "cases.json"]].concat());
    assert!(
        code == 1 && err.contains("it has the field `number string key`, which is not expected"),
        "{err}"
    );
}

/// The crate `h2` has an event for each frame, and for each malformed head, whose text may contain a share token.
#[test]
fn at_the_level_debug_the_log_has_no_events_of_other_crates() {
    let database = Database::new("plain.cases.ndjson");
    let tls = |name: &str| format!("{}/tests/data/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let (certificate, private) = (tls("cert.pem"), tls("key.pem"));
    let arguments = ["--log", "debug", "--tls-cert", &certificate, "--tls-key", &private];
    let process = Process::start(&database, &arguments);
    let mut client = Http2::new(process.address);
    let target = "/resources/applicants/-/import/preview?shareToken=not-for-the-log";
    assert_eq!(client.call(&key("all"), "GET", target, b"").status, 401);
    assert_eq!(client.call(&key("all"), "GET", &status_of("anna"), b"").status, 200);
    drop(client);
    let log = process.terminate();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["message"] == "answered" && line["status"] == 401), "{log}");
    assert!(lines.iter().any(|line| line["level"] == "DEBUG"), "{log}");
    assert!(!log.contains("not-for-the-log") && !log.contains("frame"), "{log}");
}

#[test]
fn the_log_names_the_limit_of_a_request_that_was_refused() {
    let database = Database::new("plain.cases.ndjson");
    let process = Process::start(&database, &["--requests-per-second", "1"]);
    let mut client = process.client();
    let statuses: Vec<u16> =
        (0..5).map(|_| client.call(&key("all"), "GET", &status_of("anna"), b"").status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
    drop(client);
    let log = process.terminate();
    let refused = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused: Vec<Value> = refused.filter(|line| line["status"] == 429).collect();
    assert!(!refused.is_empty(), "{log}");
    let told = "the token has sent more than 1 requests in a second, try again in a moment";
    assert!(refused.iter().all(|line| line["cause"] == told), "{log}");
}
