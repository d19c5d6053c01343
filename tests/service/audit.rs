//! Tests the audit log of `casefilter serve`, and the command `audit`, with the binary and real sockets.

use std::fs;
use std::path::PathBuf;

use casefilter::{Catalog, Filter};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::{Client, Key, Response, head};
use super::process::{Process, casefilter};
use super::server::{
    COPY, Database, FACETS, FILTERS, PREVIEW, SEARCH, aml_of, info_of, key, share_tokens_of, status_of,
};

const OPEN: &str = r#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#;

/// Starts a service that writes `audit.ndjson` beside its database.
pub(super) fn serve(database: &Database, arguments: &[&str]) -> Process {
    let path = log_of(database);
    Process::start(database, &[&["--audit", path.to_str().unwrap()][..], arguments].concat())
}

pub(super) fn log_of(database: &Database) -> PathBuf {
    database.folder().join("audit.ndjson")
}

/// Runs `casefilter audit` and returns its status and its output.
pub(super) fn audit(database: &Database, arguments: &[&str]) -> (Option<i32>, String) {
    let output = casefilter().current_dir(database.folder()).arg("audit").args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

/// Verifies the log, and returns the result.
pub(super) fn verify(database: &Database) -> Value {
    let (status, text) = audit(database, &["verify", "audit.ndjson"]);
    assert_eq!(status, Some(0), "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Returns the records of the log.
pub(super) fn records(database: &Database, arguments: &[&str]) -> Vec<Value> {
    let (status, text) = audit(database, &[&["list", "audit.ndjson"][..], arguments].concat());
    assert_eq!(status, Some(0), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The digest of the ids on a page, computed independently of the service.
fn digest(page: &Value) -> (u64, String) {
    let items = page["list"]["items"].as_array().unwrap();
    let ids = items.iter().map(|item| item["id"].as_str().unwrap());
    let text: String = ids.map(|id| format!("{}:{id},", id.len())).collect();
    let hash = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    (items.len() as u64, hash)
}

/// Returns the only record of a response.
fn record_of<'r>(records: &'r [Value], response: &Response) -> &'r Value {
    let id = response.header("x-correlation-id").unwrap();
    let own: Vec<&Value> = records.iter().filter(|record| record["id"] == id).collect();
    assert_eq!(own.len(), 1, "{id}");
    assert_eq!(own[0]["status"], response.status, "{}", own[0]);
    own[0]
}

#[test]
fn every_answered_request_has_a_record_without_secrets_and_documents() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &["--extended"]);
    let mut client = process.client();
    let all = key("all");
    let mut calls: Vec<(&str, Option<&str>, Response)> = Vec::new();
    let mut call = |operation, name: Option<&'static str>, key: &Key, method, target: &str, body: &[u8]| {
        let response = client.call(key, method, target, body);
        calls.push((operation, name, response));
    };
    let (own, none, wrong) =
        (key("own"), key("none"), Key { secret: "a wrong secret of some length".to_owned(), ..all.clone() });
    let page = format!("{SEARCH}?order=-createdAt,priority&offset=2&limit=5&countTotalItems=true");
    call("casesByFilter", Some("all"), &all, "POST", &page, OPEN.as_bytes());
    call("casesByFilter", Some("own"), &own, "POST", SEARCH, OPEN.as_bytes());
    call(
        "casesByFilter",
        Some("all"),
        &all,
        "POST",
        &format!("{SEARCH}?limit=700"),
        br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#,
    );
    call("casesByFilter", Some("all"), &all, "POST", SEARCH, b"{}");
    let facets = br#"{"ids":[],"criteria":[{"field":"id","op":"<>","values":["\u00e9\""]}],"facets":[{"field":"status"},{"field":"tags"}]}"#;
    call("caseFacets", Some("own"), &own, "POST", FACETS, facets);
    call("caseFilters", Some("all"), &all, "GET", FILTERS, b"");
    call("requiredIdDocsStatus", Some("all"), &all, "GET", &status_of("anna"), b"");
    call("requiredIdDocsStatus", Some("all"), &all, "GET", &status_of("nobody"), b"");
    call(
        "previewProfile",
        Some("all"),
        &all,
        "GET",
        &format!("{PREVIEW}?shareToken={}", database.share_token),
        b"",
    );
    call("amlCase", Some("all"), &all, "GET", &aml_of("anna"), b"");
    call(
        "updateInfo",
        Some("all"),
        &all,
        "PATCH",
        &info_of("anna"),
        r#"{"lastName":"Geheimrätin"}"#.as_bytes(),
    );
    call("updateInfo", Some("none"), &none, "PATCH", &info_of("anna"), br#"{"lastName":"Geheimrat"}"#);
    call("casesByFilter", None, &wrong, "POST", SEARCH, OPEN.as_bytes());
    // A page after a cursor, which contains values of a case.
    let cursor = calls[0].2.good();
    assert!(cursor["list"]["pageInfo"]["next"].is_null());
    let with_cursor = format!("{SEARCH}?order=-createdAt&limit=1&pageCursor=true");
    let first = client.call(&all, "POST", &with_cursor, OPEN.as_bytes());
    let next = first.good()["list"]["pageInfo"]["next"].as_str().unwrap().to_owned();
    let after =
        client.call(&all, "POST", &format!("{SEARCH}?order=-createdAt&after={next}"), OPEN.as_bytes());
    for target in ["/healthz", "/readyz", "/openapi.json", "/nowhere"] {
        client.get(target);
    }
    let signature =
        head(&all, "POST", SEARCH, b"{}").split("X-App-Access-Sig: ").nth(1).unwrap()[..64].to_owned();
    process.terminate();

    let records = records(&database, &[]);
    for (operation, token, response) in &calls {
        let record = record_of(&records, response);
        assert_eq!((&record["operation"], record["token"].as_str()), (&json!(operation), *token), "{record}");
        assert!(record["time"].as_str().unwrap().ends_with('Z'));
    }
    let statuses: Vec<u16> = calls.iter().map(|(.., response)| response.status).collect();
    assert_eq!(statuses, [200, 200, 200, 400, 200, 200, 200, 404, 200, 200, 200, 403, 401]);
    // Besides them, there are the start, two pages with cursors, and the end. Requests without an operation are not recorded.
    assert_eq!(records.len(), calls.len() + 4);
    assert_eq!(
        (&records[0]["event"], &records.last().unwrap()["event"]),
        (&json!("opened"), &json!("closed"))
    );

    let record = |at: usize| record_of(&records, &calls[at].2);
    let page = calls[0].2.good();
    let filter = Filter::compile(&Catalog::cases(), OPEN.as_bytes()).unwrap();
    let of_page = record(0);
    assert_eq!(of_page["filter"], filter.to_text());
    assert_eq!(of_page["filterHash"], format!("{:032x}", filter.fingerprint()));
    assert_eq!(
        (&of_page["order"], &of_page["offset"], &of_page["limit"]),
        (&json!("-createdAt,priority"), &json!(2), &json!(5))
    );
    assert_eq!(of_page["total"], page["list"]["totalItems"]);
    let (items, ids) = digest(&page);
    assert_eq!((&of_page["items"], &of_page["ids"]), (&json!(items), &json!(ids)));
    assert_eq!(items, 5);
    if database.source().is_none() {
        // The import of the cases is one write.
        assert_eq!(of_page["lastWrite"], 1);
    } else {
        assert!(of_page.get("lastWrite").is_none());
    }
    // The filter in the record includes the filter of the token.
    let own = Filter::compile_text(&Catalog::cases(), "clientId = client01 and status = open").unwrap();
    assert_eq!(record(1)["filter"], own.to_text());
    assert!(record(1).get("total").is_none() && record(1).get("order").is_none());
    // A page that is sent in pieces.
    let (items, ids) = digest(&calls[2].2.good());
    assert_eq!((&record(2)["items"], &record(2)["ids"]), (&json!(items), &json!(ids)));
    assert_eq!(items, 700);
    assert!(record(3).get("filter").is_none());
    assert_eq!(record(4)["facets"], json!(["caseReview.status", "tags"]));
    assert_eq!(record(4)["total"], calls[4].2.good()["totalItems"]);
    assert!(record(4)["filter"].as_str().unwrap().contains("clientId = client01"), "{}", record(4));
    for (at, applicant) in [(6, "anna"), (7, "nobody"), (8, "anna"), (9, "anna"), (10, "anna"), (11, "anna")]
    {
        assert_eq!(record(at)["applicant"], applicant);
    }
    let of_cursor = record_of(&records, &after);
    let hash: String = Sha256::digest(&next).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(of_cursor["after"], hash);

    let text = fs::read_to_string(log_of(&database)).unwrap();
    let secrets = [&all.secret, &all.token, &wrong.secret, &signature, &database.share_token, &next];
    for secret in
        secrets.into_iter().map(String::as_str).chain(["Geheimr", "Änne", "\\u00c4nne", "Grün", "1990-05"])
    {
        assert!(!text.contains(secret), "{secret}");
    }
    for case in page["list"]["items"].as_array().unwrap() {
        for member in ["id", "name"] {
            assert!(!text.contains(case[member].as_str().unwrap()), "{case}");
        }
    }
    // Lists of some of the records.
    assert_eq!(self::records(&database, &["--token", "own"]).len(), 2);
    assert_eq!(self::records(&database, &["--operation", "updateInfo"]).len(), 2);
    assert_eq!(self::records(&database, &["--applicant", "anna", "--token", "none"]).len(), 1);
    let (_, table) = audit(&database, &["list", "audit.ndjson", "--format", "table"]);
    assert!(table.contains("casesByFilter") && table.contains("opened"), "{table}");
}

#[test]
fn the_chain_goes_on_after_a_kill_and_a_rotation() {
    let database = Database::new("plain.cases.ndjson");
    let rotate = ["--audit-rotate", "4000"];
    let mut last = 0;
    for round in 0..4 {
        let process = serve(&database, &rotate);
        let mut client = process.client();
        for _ in 0..20 {
            client.call(&key("all"), "GET", &status_of("anna"), b"").good();
        }
        if round % 2 == 0 {
            #[cfg(target_os = "linux")]
            process.kill();
            #[cfg(not(target_os = "linux"))]
            process.terminate();
        } else {
            let log = process.terminate();
            let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let closed = events.iter().find(|event| event["message"] == "the audit log is closed").unwrap();
            let head = closed["audit_head"].as_str().unwrap();
            assert_eq!(verify(&database)["head"], head);
            assert_eq!(audit(&database, &["verify", "audit.ndjson", "--head", head]).0, Some(0));
        }
        let report = verify(&database);
        let number: u64 = report["head"].as_str().unwrap().split(':').next().unwrap().parse().unwrap();
        // A response that was sent has its record, also after a kill.
        assert!(number >= last + 21, "{report}");
        last = number;
    }
    let report = verify(&database);
    assert!(report["files"].as_u64().unwrap() > 5, "{report}");
    assert_eq!((&report["first"], &report["isClosed"]), (&json!(1), &json!(true)));
    assert_eq!(records(&database, &["--operation", "requiredIdDocsStatus"]).len(), 80);
}

#[test]
fn verify_names_the_first_record_that_was_changed() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database, &[]);
    let mut client = process.client();
    for applicant in ["anna", "boris", "dana", "emre"] {
        client.call(&key("all"), "GET", &status_of(applicant), b"").good();
    }
    process.terminate();
    let head = verify(&database)["head"].as_str().unwrap().to_owned();
    let text = fs::read_to_string(log_of(&database)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (changed, expected) in [
        (text.replace("dana", "anna"), "line 4: record 4 was changed"),
        (text.replace(&format!("{}\n", lines[2]), ""), "line 3: record 3 was left out before this line"),
        (text.replace(lines[2], &format!("{}\n{}", lines[2], lines[1])), "line 4: record 2 was put in"),
    ] {
        fs::write(log_of(&database), changed).unwrap();
        let (status, told) = audit(&database, &["verify", "audit.ndjson"]);
        assert_eq!(status, Some(1));
        assert!(told.starts_with("error: audit.ndjson: ") && told.contains(expected), "{told}");
    }
    let cut: String = lines[..4].iter().map(|line| format!("{line}\n")).collect();
    fs::write(log_of(&database), cut).unwrap();
    assert_eq!(verify(&database)["isClosed"], false);
    let (status, told) = audit(&database, &["verify", "audit.ndjson", "--head", &head]);
    assert_eq!(status, Some(1));
    assert!(told.contains("record 5 was cut off at the end"), "{told}");
    let (status, told) = audit(&database, &["verify", "audit.ndjson", "--head", "5:xyz"]);
    assert!(status == Some(2) && told.contains("the number and the hash of a record"), "{told}");
    let (status, told) = audit(&database, &["verify", "none.ndjson"]);
    assert!(status == Some(1) && told.contains("none.ndjson"), "{told}");
    // A service does not write into another file.
    let db = database.path();
    fs::write(database.folder().join("notes.txt"), "some notes\n").unwrap();
    let output = casefilter()
        .current_dir(database.folder())
        .args(["serve", "--tokens", "tokens.json", "--audit", "notes.txt", "--db"])
        .arg(db)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("not an audit log"), "{told}");
}

/// Full disks, simulated by a limit on the file size that a shell sets.
#[cfg(target_os = "linux")]
mod full {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// Starts a service process that can write no file beyond `bytes`.
    fn serve(database: &Database, bytes: u64, arguments: &[&str]) -> Process {
        let inner = casefilter();
        let mut shell = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -S -f {}; exec \"$0\" \"$@\"", bytes / 512);
        shell.args(["-c", &script]).arg(inner.get_program()).stdin(Stdio::null());
        shell.env_remove("CASEFILTER_DB").env_remove("CASEFILTER_ADMIN_SOCKET");
        let path = log_of(database);
        let arguments =
            [&["--audit", path.to_str().unwrap(), "--metrics-listen", "127.0.0.1:0"][..], arguments];
        Process::run(shell, database, &arguments.concat(), database.source())
    }

    fn lift_limit(process: &Process) {
        let id = process.child.id().to_string();
        let done = Command::new("prlimit").args(["--pid", &id, "--fsize=unlimited"]).status();
        assert!(done.expect("prlimit is of util-linux").success());
    }

    /// Returns a body whose record is long.
    fn body() -> String {
        let ids: Vec<String> = (0..400).map(|number| format!("{number:0>100}")).collect();
        json!({ "ids": ids }).to_string()
    }

    /// Sends requests until the log is full. Returns the response that could not be recorded, or the number of responses.
    fn fill(client: &mut Client, most: usize) -> Result<usize, Response> {
        for _ in 0..most {
            let response = client.call(&key("all"), "POST", SEARCH, body().as_bytes());
            if response.status != 200 {
                return Err(response);
            }
        }
        Ok(most)
    }

    #[test]
    fn no_request_is_answered_while_it_cannot_be_recorded() {
        let database = Database::new("plain.cases.ndjson");
        let bytes = fs::metadata(database.path()).unwrap().len() + (1 << 20);
        let process = serve(&database, bytes, &[]);
        let mut client = process.client();
        let refused = fill(&mut client, 10_000).expect_err("the log is never full");
        assert_eq!(
            refused.failure(503),
            "the service cannot record requests at the moment, try again in a moment"
        );
        assert_eq!(refused.code(), (5035, "AuditLogException".to_owned()));
        assert_eq!(refused.header("retry-after"), Some("1"));
        // Nothing is done, and nothing is said about tokens and applicants.
        let wrong = Key { secret: "a wrong secret of some length".to_owned(), ..key("all") };
        for key in [key("all"), wrong] {
            let mut client = process.client();
            let response = client.call(&key, "PATCH", &info_of("anna"), br#"{"lastName":"Never"}"#);
            assert_eq!(response.code().0, 5035);
        }
        assert_eq!(
            process.client().get("/readyz").failure(503),
            "the service cannot record requests; the log says why"
        );
        assert_eq!(process.client().get("/healthz").status, 200);
        lift_limit(&process);
        let start = Instant::now();
        let mut client = process.client();
        while client.call(&key("all"), "GET", &status_of("anna"), b"").status != 200 {
            assert!(start.elapsed() < Duration::from_secs(20), "the log is never written again");
            std::thread::sleep(Duration::from_millis(50));
            client = process.client();
        }
        let log = process.terminate();
        for message in [
            "the audit log cannot be written: requests get 503",
            "the audit log can be written again",
            "the audit log is closed",
        ] {
            assert_eq!(log.matches(message).count(), 1, "{message}: {log}");
        }
        let report = verify(&database);
        assert_eq!(report["isClosed"], true);
        let records = records(&database, &[]);
        let resumed: Vec<&Value> = records.iter().filter(|record| record["event"] == "resumed").collect();
        assert_eq!((resumed.len(), &resumed[0]["unrecorded"]), (1, &json!(0)));
        let anna = database.open().records().unwrap().get("applicant", "anna").unwrap().unwrap();
        assert!(!anna.contains("Never"));
    }

    #[test]
    fn with_best_effort_requests_are_answered_and_the_missing_records_are_counted() {
        let database = Database::new("plain.cases.ndjson");
        let bytes = fs::metadata(database.path()).unwrap().len() + (1 << 20);
        let process = serve(&database, bytes, &["--audit-best-effort"]);
        let mut client = process.client();
        let most = usize::try_from(bytes).unwrap() / 40_000 + 20;
        assert_eq!(fill(&mut client, most).map_err(|response| response.text().to_owned()), Ok(most));
        assert_eq!(client.get("/readyz").status, 200);
        lift_limit(&process);
        let start = Instant::now();
        while !fs::read_to_string(log_of(&database)).is_ok_and(|text| text.contains("\"event\":\"resumed\""))
        {
            assert!(start.elapsed() < Duration::from_secs(20), "the log is never written again");
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = process.terminate();
        assert!(log.contains("requests are answered without a record"), "{log}");
        verify(&database);
        let records = records(&database, &[]);
        let resumed = records.iter().find(|record| record["event"] == "resumed").unwrap();
        let recorded = records.iter().filter(|record| record["operation"] == "casesByFilter").count();
        assert_eq!(recorded as u64 + resumed["unrecorded"].as_u64().unwrap(), most as u64);
        assert!(resumed["unrecorded"].as_u64().unwrap() > 0);
    }
}

/// Runs `casefilter audit replay`. Returns its status, and its output.
pub(super) fn replay(database: &Database, number: &Value) -> (Option<i32>, String) {
    audit(database, &["replay", "audit.ndjson", &number.to_string(), "--db", "cases.db", "--format", "json"])
}

/// Runs a command in the folder of the database.
fn command(database: &Database, arguments: &[&str]) -> Value {
    let output = casefilter().current_dir(database.folder()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_request_gives_its_answer_again_although_the_cases_have_changed() {
    let database = Database::new("plain.cases.ndjson");
    if database.source().is_some() {
        return;
    }
    let process = serve(&database, &["--extended", "--history", "1d"]);
    let mut client = process.client();
    let (all, own) = (key("all"), key("own"));
    let page = format!("{SEARCH}?order=-createdAt,priority&limit=20&countTotalItems=true");
    let mut answers = vec![
        client.call(&all, "POST", &page, OPEN.as_bytes()),
        client.call(&own, "POST", &format!("{SEARCH}?limit=5&offset=2"), OPEN.as_bytes()),
    ];
    let first = answers[0].good()["list"]["items"][0]["id"].as_str().unwrap().to_owned();
    // Cases that were on the pages are replaced and deleted.
    let changed =
        format!("{{\"id\":\"{first}\"}}\n{{\"id\":\"new\",\"caseReview\":{{\"status\":\"open\"}}}}\n");
    std::fs::write(database.folder().join("changed.ndjson"), changed).unwrap();
    command(&database, &["import", "--db", "cases.db", "changed.ndjson"]);
    answers.push(client.call(&all, "POST", &page, OPEN.as_bytes()));
    command(&database, &["delete", "--db", "cases.db", "--where", "clientId = client01", "--yes"]);
    answers.push(client.call(&all, "POST", &page, OPEN.as_bytes()));
    let facets = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}],"facets":[{"field":"status"}]}"#;
    answers.push(client.call(&own, "POST", FACETS, facets));
    let refused = client.call(&all, "POST", SEARCH, b"{}");
    let cursor = client.call(&all, "POST", &format!("{SEARCH}?limit=1&pageCursor=true"), OPEN.as_bytes());
    let next = cursor.good()["list"]["pageInfo"]["next"].as_str().unwrap().to_owned();
    let after = client.call(&all, "POST", &format!("{SEARCH}?after={next}"), OPEN.as_bytes());
    let other = client.call(&all, "GET", FILTERS, b"");
    let totals: Vec<Value> =
        [0, 2, 3].map(|at: usize| answers[at].good()["list"]["totalItems"].clone()).to_vec();
    assert!(totals[0] != totals[2]);

    let check = |database: &Database, records: &[Value]| {
        for (answer, write) in answers.iter().zip([1, 1, 2, 3, 3]) {
            let record = record_of(records, answer);
            assert_eq!(record["lastWrite"], write);
            let (status, text) = replay(database, &record["n"]);
            assert_eq!(status, Some(0), "{text}");
            let replayed: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&replayed["same"], &replayed["lastWrite"]), (&json!(true), &json!(write)));
            assert_eq!(replayed["replayed"]["ids"], record.get("ids").cloned().unwrap_or(Value::Null));
        }
        for (response, text) in [
            (&refused, "it was refused"),
            (&after, "begins after a cursor"),
            (&other, "it is neither a search nor a count by value"),
        ] {
            let (status, found) = replay(database, &record_of(records, response)["n"]);
            assert_eq!(status, Some(6), "{found}");
            assert!(found.contains(text), "{found}");
        }
        assert_eq!(replay(database, &json!(1)).0, Some(6));
        assert_eq!(replay(database, &json!(100_000)).0, Some(1));
    };
    // While the service runs, it searches.
    check(&database, &records(&database, &[]));
    process.terminate();
    let listed = records(&database, &[]);
    check(&database, &listed);
    // The command does not check the chain. A changed digest is another answer.
    let log = fs::read_to_string(log_of(&database)).unwrap();
    let record = record_of(&listed, &answers[0]);
    let ids = record["ids"].as_str().unwrap();
    fs::write(log_of(&database), log.replace(ids, &"0".repeat(64))).unwrap();
    let (status, text) = replay(&database, &record["n"]);
    assert_eq!(status, Some(5), "{text}");
    assert!(text.contains("\"same\":false"), "{text}");
    assert_eq!(audit(&database, &["verify", "audit.ndjson"]).0, Some(1));
    // Without a history, the moment is gone.
    fs::write(log_of(&database), log).unwrap();
    command(&database, &["import", "--db", "cases.db", "changed.ndjson", "--history", "0s"]);
    let (status, text) = replay(&database, &record["n"]);
    assert_eq!(status, Some(6), "{text}");
    assert!(text.contains("keeps no history"), "{text}");
}

#[test]
fn an_erasure_is_recorded_by_its_counts_and_hashes() {
    let database = Database::new("plain.cases.ndjson");
    if database.source().is_some() {
        return;
    }
    let process = serve(&database, &[]);
    let mut client = process.client();
    let all = key("all");
    client.call(&all, "GET", &status_of("anna"), b"").good();
    let cases =
        "{\"id\":\"of-anna\",\"applicantReference\":{\"applicantId\":\"anna\"},\"name\":\"Geheim\"}\n";
    std::fs::write(database.folder().join("anna.ndjson"), cases).unwrap();
    command(&database, &["import", "--db", "cases.db", "anna.ndjson"]);
    let bytes = fs::read(database.path()).unwrap();
    assert!(memchr::memmem::find(&bytes, b"\0anna").is_some());
    let made = client.call(&all, "POST", &share_tokens_of("anna"), b"").created();
    let body = json!({"shareToken": made["token"], "clientId": "other"}).to_string();
    let copy = client.call(&all, "POST", COPY, body.as_bytes()).created();
    let done = command(&database, &["erase", "--db", "cases.db", "--applicant", "anna", "--yes"]);
    assert_eq!(done["copies"], json!([copy["id"]]));
    // The record of the copy contains the id of its origin, so the copy is erased, too, by its own id.
    let copy = copy["id"].as_str().unwrap();
    let again = command(&database, &["erase", "--db", "cases.db", "--applicant", copy, "--yes"]);
    assert_eq!(again["copies"], json!([]));
    assert_eq!((&done["cases"], &done["history"], &done["events"]), (&json!(1), &json!(0), &json!(0)));
    assert!(done["records"].as_u64().unwrap() > 3, "{done}");
    assert_eq!(client.call(&all, "GET", &status_of("anna"), b"").status, 404);
    assert_eq!(client.call(&all, "GET", &aml_of("anna"), b"").status, 404);
    let preview = format!("{PREVIEW}?shareToken={}", database.share_token);
    assert_eq!(client.call(&all, "GET", &preview, b"").status, 401);
    let page = client.call(&all, "POST", SEARCH, br#"{"ids":["of-anna"]}"#);
    assert_eq!(page.good()["list"]["items"], json!([]));
    process.terminate();
    let records = records(&database, &[]);
    let record = records.iter().find(|record| record["request"] == "POST /erasures").unwrap();
    assert_eq!((&record["status"], &record["erasedCases"]), (&json!(200), &json!(1)));
    assert_eq!(record["erasedRecords"], done["records"]);
    let hash: String = Sha256::digest("4:anna,").iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(record["applicantHash"], hash);
    assert!(!record.to_string().contains("anna"));
    std::fs::remove_file(database.folder().join("anna.ndjson")).unwrap();
    let bytes = fs::read(database.path()).unwrap();
    // The id was also in the keys of records.
    for text in ["of-anna", "Geheim", "\"anna\"", "\0anna"] {
        assert!(memchr::memmem::find(&bytes, text.as_bytes()).is_none(), "{text}");
    }
    command(&database, &["verify", "cases.db"]);
}
