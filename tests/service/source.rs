//! Tests a service that searches PostgreSQL, while PostgreSQL is slow, unavailable, or available again.

use std::process::Command;
use std::time::{Duration, Instant};

use casefilter::Catalog;
use casefilter::service::ServiceOptions;
use casefilter::sql::Table;
use serde_json::json;

use super::process::Process;
use super::server::{Database, SEARCH, Server, changed, data, key, status_of, table_of};
use super::tables::{self, Locked, variable};

const BODY: &[u8] = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;

fn server(url: &str, statement_timeout: Duration) -> (Server, String) {
    let database = Database::new("plain.cases.ndjson");
    let table = table_of(url, &data("plain.cases.ndjson"));
    let options = changed(tables::options(&table), |options| {
        options.statement_timeout = statement_timeout;
        options.max_connections = 2;
    });
    let source = Some((url.to_owned(), options));
    (Server::with_source(database, ServiceOptions::default(), None, source), table)
}

fn control(what: &str) {
    let control = variable("CASEFILTER_TEST_POSTGRES_CONTROL");
    assert!(Command::new(control).arg(what).status().unwrap().success());
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn while_the_source_is_away_searches_are_503_and_all_else_goes_on() {
    let url = variable("CASEFILTER_TEST_POSTGRES_OWN");
    let (server, _) = server(&url, Duration::from_secs(20));
    let (mut client, all) = (server.client(), key("all"));
    let target = format!("{SEARCH}?limit=700&countTotalItems=true");
    let before = client.call(&all, "POST", &target, BODY);
    assert_eq!(before.good()["list"]["totalItems"], 700);
    assert_eq!(client.get("/readyz").good(), json!({"status": "ready"}));

    control("stop");
    for _ in 0..5 {
        let answer = client.call(&all, "POST", &target, BODY);
        let description = answer.failure(503);
        assert_eq!(description, "the cases cannot be searched at the moment, try again in a moment");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(client.get("/readyz").failure(503), "the cases cannot be searched; the log says why");
    client.get("/healthz").good();
    client.call(&all, "GET", &status_of("anna"), b"").good();
    // Errors in a request are reported as usual.
    client.call(&all, "POST", &target, b"{}").failure(400);
    let metrics = server.metrics();
    let line = "casefilter_source_searches_total{outcome=\"unavailable\"} 5";
    assert!(metrics.text().lines().any(|own| own == line), "{}", metrics.text());

    control("start");
    let start = Instant::now();
    while client.get("/readyz").status != 200 {
        assert!(start.elapsed() < Duration::from_secs(20), "the service does not become ready again");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(client.call(&all, "POST", &target, BODY).text(), before.text());
    server.stop();
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn a_statement_over_its_timeout_is_503() {
    let url = variable("CASEFILTER_TEST_POSTGRES");
    let database = Database::new("plain.cases.ndjson");
    // The test locks its table, so it uses a table of its own.
    let name = tables::unique("slow");
    tables::psql(&url, &format!("CREATE TABLE {name} (LIKE {} INCLUDING ALL)", database.source().unwrap().1));
    let options =
        changed(tables::options(&name), |options| options.statement_timeout = Duration::from_millis(300));
    let server = Server::with_source(database, ServiceOptions::default(), None, Some((url.clone(), options)));
    let (mut client, all) = (server.client(), key("all"));
    client.call(&all, "POST", SEARCH, BODY).good();
    let locked = Locked::new(&url, &name);
    let start = Instant::now();
    for target in [SEARCH.to_owned(), format!("{SEARCH}?countTotalItems=true")] {
        let answer = client.call(&all, "POST", &target, BODY);
        answer.failure(503);
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    client.get("/readyz").failure(503);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    drop(locked);
    assert_eq!(client.call(&all, "POST", SEARCH, BODY).good()["list"]["items"], json!([]));
    server.stop();
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn pages_from_postgres_are_limited_too() {
    let url = variable("CASEFILTER_TEST_POSTGRES");
    let table = table_of(&url, &data("plain.cases.ndjson"));
    let served = |options| {
        let source = Some((url.clone(), tables::options(&table)));
        Server::with_source(Database::new("plain.cases.ndjson"), options, None, source)
    };
    let target = |limit: usize| format!("{SEARCH}?limit={limit}&order=id&countTotalItems=true");
    let server = served(changed(ServiceOptions::default(), |options| options.max_response_bytes = 50_000));
    let (mut client, all) = (server.client(), key("all"));
    let told = client.call(&all, "POST", &target(700), BODY).failure(400);
    let (_, limit) = told.rsplit_once("`limit=").unwrap();
    let limit: usize = limit.trim_end_matches('`').parse().unwrap();
    assert!(limit > 1 && told.contains(&format!("50000 bytes at `list.items[{limit}]`")), "{told}");
    let answer = client.call(&all, "POST", &target(limit), BODY);
    assert_eq!(answer.good()["list"]["items"].as_array().unwrap().len(), limit);
    assert!((45_000..=50_000).contains(&answer.body.len()), "{}", answer.body.len());
    assert_eq!(answer.good()["list"]["totalItems"], 700);
    client.call(&all, "POST", &target(limit + 1), BODY).failure(400);
    server.stop();
    // Memory remains for the page of another token, and all memory is released afterwards.
    let server = served(changed(ServiceOptions::default(), |options| options.outgoing_bytes = 400_000));
    let mut client = server.client();
    for _ in 0..5 {
        client.call(&all, "POST", &target(700), BODY).failure(503);
        client.call(&all, "POST", &target(150), BODY).good();
    }
    server.stop();
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn a_filter_that_needs_missing_columns_is_400() {
    let url = variable("CASEFILTER_TEST_POSTGRES");
    let name = tables::unique("bare");
    let table = Table::new(&Catalog::cases()).named(&name).unwrap();
    let cases = std::fs::read_to_string(data("plain.cases.ndjson")).unwrap();
    tables::load(&url, &table, cases.lines().take(10));
    let database = Database::new("plain.cases.ndjson");
    let server = Process::with_source(&database, &["--extended"], Some((url, name)));
    let (mut client, all) = (server.client(), key("all"));
    let element = r#"{"field":"amlCases.amlCaseId","op":"$exists","values":["false"]}"#;
    for (criterion, found) in [
        (
            r#"{"field":"name","op":"$match","values":["ana"]}"#.to_owned(),
            "name: found `$match` on a field without a folded column in the table",
        ),
        (
            format!(r#"{{"op":"$elem","field":"amlCases","children":[{element}]}}"#),
            "amlCases: found `$elem` on an array without element columns in the table",
        ),
    ] {
        let body = format!(r#"{{"criteria":[{criterion}]}}"#);
        let told = client.call(&all, "POST", SEARCH, body.as_bytes()).failure(400);
        assert!(told.starts_with(found), "{told}");
    }
    client.call(&all, "POST", SEARCH, BODY).good();
    server.terminate();
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn the_command_line_searches_postgres_too() {
    let url = variable("CASEFILTER_TEST_POSTGRES");
    let cases = data("plain.cases.ndjson");
    let table = table_of(&url, &cases);
    let run_command = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casefilter"));
        let output = command.arg(name).args(arguments).env_remove("CASEFILTER_SOURCE").output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let run = |arguments: &[&str]| run_command("search", arguments);
    let cases = cases.to_str().unwrap();
    let requests = data("plain.requests.ndjson");
    let folder = tempfile::TempDir::new().unwrap();
    let lines = folder.path().join("requests.ndjson");
    let text = std::fs::read_to_string(requests).unwrap();
    let of_line =
        |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["request"].to_string() + "\n";
    let counts = r#"{"facets":{"facets":[{"field":"status"},{"field":"createdAt","interval":"week"}]}}"#;
    std::fs::write(&lines, text.lines().map(of_line).collect::<String>() + counts + "\n").unwrap();
    let server = ["--source", &url, "--source-table", &table];
    for selection in [
        &[
            "--where",
            "status = open and tags in (vip, cash)",
            "--order",
            "-createdAt",
            "--limit",
            "20",
            "--count",
        ][..],
        &["--format", "ids", "--where", "priority = high"],
        &["--format", "ndjson", "--limit", "3"],
        &["--requests", lines.to_str().unwrap()],
    ] {
        let (expected, found) = (run(&[&[cases], selection].concat()), run(&[&server, selection].concat()));
        assert_eq!((found.0, &found.1), (Some(0), &expected.1), "{selection:?}");
        assert_eq!(expected.0, Some(0));
        // A total that would need a count in PostgreSQL is not reported for a page that was cut.
        let cut = |said: &str| said.contains(" cases written");
        assert_eq!((cut(&found.2), found.2.lines().count()), (cut(&expected.2), expected.2.lines().count()));
        assert!(found.2.is_empty() || cut(&found.2), "{}", found.2);
    }
    for selection in [
        &[
            "--by",
            "status",
            "--by",
            "tags:limit=3",
            "--by",
            "priority",
            "--where",
            "status = open",
            "--own-criteria-apart",
        ][..],
        &["--by", "createdAt:month", "--by", "createdAt:stats", "--format", "csv", "--utc-offset", "-03:00"],
        &["--by", "status", "--format", "table"],
        &["--by", "staus"],
    ] {
        let expected = run_command("stats", &[&[cases], selection].concat());
        assert_eq!(run_command("stats", &[&server, selection].concat()), expected, "{selection:?}");
    }
    let (status, table, _) = run(&[&server[..], &["--format", "table", "--count"]].concat());
    assert_eq!(status, Some(0));
    assert!(table.contains("100 cases of 700 selected · searched in "), "{table}");
    for (arguments, status) in [
        (&[][..], 2),
        (&[cases, "--source", &url], 2),
        (&["--source", "postgres://u:geheim@h/d?geheim"], 2),
        (&["--source", "postgres://u:geheim@127.0.0.1:1/d"], 1),
        (&["--source", &url, "--where", "x"], 2),
    ] {
        let (code, out, said) = run(arguments);
        assert_eq!((code, &*out), (Some(status), ""), "{arguments:?}: {said}");
        assert!(!said.is_empty() && !said.contains("geheim"), "{arguments:?}: {said}");
    }
}
