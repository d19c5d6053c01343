//! Tests `filters` and `watch`: the standing filters of a database, and their events.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::run::{Folder, THREE};

fn folder() -> Folder {
    let files = Folder::new();
    files.write("cases.ndjson", THREE);
    files.write(
        "filters.ndjson",
        r#"{"name":"x","where":"tags = x","fields":["caseReview.status","priority"]}
           {"name":"none","body":{"criteria":[{"field":"tags","op":"<>","values":["x"]}]}}"#,
    );
    files.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    files
}

fn told(lines: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut told: Vec<String> =
        lines.iter().map(|line| [&line["filter"], &line["kind"], &line["id"]].map(text).join(" ")).collect();
    told.sort();
    told
}

#[test]
fn filters_are_added_listed_and_removed() {
    let files = folder();
    let added = files.run(&["filters", "add", "--db", "cases.db", "filters.ndjson"]).code(0).json();
    assert_eq!(added, json!({"added": 2, "replaced": 0}));
    let list = files.run(&["filters", "list", "--db", "cases.db"]).code(0);
    assert_eq!(
        list.lines(),
        [
            json!({"name": "none", "where": "tags <> x"}),
            json!({"name": "x", "where": "tags = x", "fields": ["caseReview.status", "priority"]}),
        ]
    );
    // The list can be added again.
    files.write("list.ndjson", &list.out);
    let again =
        files.run(&["filters", "add", "--db", "cases.db", "list.ndjson", "--entering"]).code(0).json();
    assert_eq!(again, json!({"added": 0, "replaced": 2}));
    assert_eq!(files.run(&["filters", "list", "--db", "cases.db"]).code(0).out, list.out);
    let events = files.run(&["watch", "--db", "cases.db", "--once"]).code(0).lines();
    assert_eq!(told(&events), ["none entered b", "none entered c", "x entered a"]);
    let removed = files.run(&["filters", "remove", "--db", "cases.db", "x"]).code(0).json();
    assert_eq!(removed, json!({"removed": 1}));
    let unknown = files.run(&["filters", "remove", "--db", "cases.db", "none", "x"]).code(1);
    unknown.err_has("no standing filter `x`");
    assert_eq!(files.run(&["filters", "list", "--db", "cases.db"]).code(0).out, "");
}

#[test]
fn bad_filters_are_refused() {
    let files = folder();
    for (line, part) in [
        (r#"{"name":"a","where":"createdAt >= now - 7d"}"#, "without being written"),
        (r#"{"name":"a","where":"tags = x","fields":["unknown"]}"#, "`unknown`"),
        (r#"{"name":"a","where":"tags = x","fields":"tags"}"#, "an array with names of fields"),
    ] {
        files.write("bad.ndjson", line);
        files.run(&["filters", "add", "--db", "cases.db", "bad.ndjson"]).code(2).err_has(part);
    }
    assert_eq!(files.run(&["filters", "list", "--db", "cases.db"]).code(0).out, "");
    files.run(&["filters", "list", "--db", "none.db"]).code(1);
}

#[test]
fn events_are_printed_and_followed() {
    let files = folder();
    files.run(&["filters", "add", "--db", "cases.db", "filters.ndjson"]).code(0);
    assert_eq!(files.run(&["watch", "--db", "cases.db", "--once"]).code(0).out, "");
    files.write("new.ndjson", "{\"id\":\"d\",\"tags\":[\"x\"],\"priority\":\"low\"}\n");
    files.run(&["import", "--db", "cases.db", "new.ndjson"]).code(0);
    let first = files.run(&["watch", "--db", "cases.db", "--once"]).code(0).lines();
    assert_eq!((told(&first), &first[0]["number"]), (vec!["x entered d".to_owned()], &json!(1)));
    assert!(first[0]["time"].as_str().unwrap().ends_with('Z') && first[0].get("fields").is_none());
    assert_eq!(files.run(&["watch", "--db", "cases.db", "--once", "--after", "1"]).code(0).out, "");
    let early = files.run(&["watch", "--db", "cases.db", "--once", "--after", "2"]).code(1);
    early.err_has("no event has number 2 yet; the last one has number 1");

    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_casefilter"));
    command.args(["watch", "--db", &files.path("cases.db"), "--after", "1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    files.write("new.ndjson", "{\"id\":\"d\",\"tags\":[\"x\"],\"priority\":\"high\"}\n");
    // The follower may be reading the file.
    files.run(&["import", "--db", "cases.db", "new.ndjson", "--wait", "30s"]).code(0);
    let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((&line["number"], &line["kind"]), (&json!(2), &json!("changed")));
    assert_eq!(line["fields"], json!(["priority"]));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_slow_reader_of_events_does_not_lock_the_database() {
    let files = folder();
    files.write("all.ndjson", r#"{"name":"all","where":"true"}"#);
    files.run(&["filters", "add", "--db", "cases.db", "all.ndjson"]).code(0);
    // More events than one opening reads, and more than a pipe holds.
    let cases: Vec<String> = (0..20_500).map(|id| format!(r#"{{"id":"n{id}"}}"#)).collect();
    files.write("many.ndjson", cases.join("\n"));
    files.run(&["import", "--db", "cases.db", "many.ndjson"]).code(0);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_casefilter"));
    command.args(["watch", "--db", &files.path("cases.db"), "--once"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    // A write, while the follower waits for its reader.
    files.run(&["filters", "remove", "--db", "cases.db", "all"]).code(0);
    let mut numbers = vec![first];
    numbers.extend(lines.map(Result::unwrap));
    let numbers = numbers.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["number"].as_u64());
    let expected: Vec<_> = (1..=20_500).map(Some).collect();
    assert_eq!(numbers.collect::<Vec<_>>(), expected);
    assert!(child.wait().unwrap().success());
}
