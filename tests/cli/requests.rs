//! Tests `--requests`: files with one request on each line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{self, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use super::run::{Folder, OPEN, Run, THREE, run, run_with};

#[test]
fn a_bad_request_spoils_only_its_own_line() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests = [
        br#"{"body":{"ids":["a"]}}"#.as_slice(),
        b"",
        b"{\"body\":{\"ids\":[\"\xff\"]}}",
        b"   \r",
        br#"{"body":{"ids":["a"],"ids":["b"]}}"#,
        b"not json",
        br#"{"body":"{\"ids\":[\"b\"]}","limit":"5","countTotalItems":true}"#,
        br#"{"limit":1}"#,
        br#"{"body":{"ids":[]},"page":1}"#,
        br#"{"body":{"ids":[]},"limit":1.5,"offset":-1,"order":"tags"}"#,
        br#"{"body":{"ids":["c"]},"limit":null}"#,
    ]
    .join(b"\n".as_slice());
    let run = run_with(&["search", &cases, "--requests", "-"], &requests).code(0);
    let answers = run.lines();
    assert_eq!(answers.len(), 9);
    let has = |place: usize, part: &str| {
        assert_eq!(answers[place]["code"], 400, "{}", answers[place]);
        assert_eq!(answers[place]["correlationId"], format!("request-{}", place + 1));
        assert!(answers[place]["description"].as_str().unwrap().contains(part), "{}", answers[place]);
    };
    assert_eq!(answers[0]["list"]["items"][0]["id"], "a");
    has(1, "0xFF");
    has(2, "each key at most once");
    has(3, "found `not`, expected a request, which is an object");
    assert_eq!(answers[4]["list"]["items"][0]["id"], "b");
    assert_eq!(answers[4]["list"]["totalItems"], 1);
    has(5, "no `body`");
    has(6, "`page`");
    has(7, "`1.5`");
    has(7, "`-1`");
    has(7, "order (byte 0)");
    assert_eq!(answers[8]["list"]["items"][0]["id"], "c");
}

#[test]
fn a_search_is_stopped_at_its_timeout() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let told = |run: &Run| assert_eq!(run.err, "error: the search was stopped at its deadline\n");
    for more in [&[][..], &["--limit", "all", "--format", "ids"], &["--count", "--format", "table"]] {
        let args = |timeout| {
            let search: &[&str] = &["search", &cases, "--where", "status = open", "--timeout", timeout];
            run(&[search, more].concat())
        };
        let stopped = args("0ms");
        assert_eq!((stopped.code, stopped.out.as_str()), (1, ""), "{more:?}");
        told(&stopped);
        assert!(!args("1h").code(0).out.is_empty(), "{more:?}");
    }
    run(&["search", &cases, "--timeout", "2"]).code(2).err_has("such as 500ms, 3s, 20m, 1h or 7d");
    let database = files.path("cases.db");
    run(&["import", "--db", &database, &cases]).code(0);
    let stopped = run(&["search", &database, "--timeout", "0s"]).code(1);
    told(&stopped);
}

#[test]
fn each_request_of_a_file_has_the_whole_timeout() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests = b"{\"body\":{\"ids\":[\"a\"]}}\nnot json\n{\"body\":{\"ids\":[\"b\"]}}\n";
    let all = ["search", &cases, "--requests", "-"];
    let run = run_with(&[&all[..], &["--timeout", "0ms"]].concat(), requests).code(0);
    let answers = run.lines();
    let codes: Vec<_> = answers.iter().map(|line| line["code"].as_u64()).collect();
    assert_eq!(codes, [Some(503), Some(400), Some(503)]);
    assert_eq!(answers[2]["correlationId"], "request-3");
    assert_eq!(
        (&answers[2]["errorCode"], &answers[2]["type"]),
        (&5033.into(), &"SearchTimeoutException".into())
    );
    let run = run_with(&[&all[..], &["--timeout", "1h", "--fail-on-error"]].concat(), requests).code(2);
    assert_eq!(run.lines()[2]["list"]["items"][0]["id"], "b");
    run_with(&[&all[..], &["--timeout", "0ms", "--fail-on-error"]].concat(), &requests[..24]).code(2);
}

#[test]
fn a_misspelt_member_of_a_request_gets_a_suggestion() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests = br#"{"body":{"ids":["a"]},"oder":"-createdAt"}"#;
    for command in [&["search", cases.as_str()][..], &["sql", "--dialect", "duckdb"], &["bench", &cases]] {
        let out = run_with(&[command, &["--requests", "-"]].concat(), requests).code(0).out;
        let expected = "found `oder`, expected `body` or `facets`, `offset`, `limit`, `order`, `countTotalItems`, `pageCursor` or `after`; did you mean `order`?";
        assert!(out.contains(expected), "{command:?}: {out}");
    }
}

#[test]
fn requests_are_answered_as_they_arrive() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let mut child = process::Command::new(cargo_bin!("casefilter"))
        .args(["search", &cases, "--requests", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut requests = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        writeln!(requests, "{{\"body\":{OPEN}}}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert!(answer.starts_with(r#"{"list":"#), "{answer}");
    }
    drop(requests);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let files = Folder::new();
    let requests = files.write("requests.ndjson", "{\"body\":{\"ids\":[]}}\n".repeat(100_000));
    let cases = files.write("cases.ndjson", THREE);
    for args in [vec!["search", &cases, "--requests", &requests], vec!["generate", "--cases", "100000"]] {
        let mut child = process::Command::new(cargo_bin!("casefilter"))
            .args(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
    }
}

#[test]
fn an_offset_that_does_not_fit_is_rejected_everywhere() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", "{\"id\":\"a\"}\n");
    let large = "18446744073709551616";
    let run_of = |arguments: &[&str]| run(&[&["search", cases.as_str()], arguments].concat());
    let said = run_of(&["--offset", large]).code(2).err;
    assert!(said.contains("at most 18446744073709551615"), "{said}");
    let said = run_of(&["--limit", large]).code(2).err;
    assert!(said.contains("at most 18446744073709551615"), "{said}");
    let requests = files.write(
        "requests.ndjson",
        format!("{{\"body\":{{\"ids\":[\"a\"]}},\"offset\":\"{large}\"}}\n{{\"body\":{{\"ids\":[\"a\"]}},\"offset\":{large}}}\n"),
    );
    let out = run_of(&["--requests", &requests]).code(0).out;
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 2);
    for answer in &answers {
        assert_eq!(
            (&answer["code"], &answer["errorCode"]),
            (&Value::from(400), &Value::from(4119)),
            "{answer}"
        );
        assert_eq!(answer["type"], "InvalidParametersException");
    }
}

#[test]
fn fail_on_error_reports_bad_requests_by_the_exit_status() {
    let folder = Folder::new();
    folder.write("cases.ndjson", "{\"id\":\"a\"}\n");
    folder.write("bad.ndjson", "{\"body\":{\"ids\":[\"a\"]}}\n{\"body\":\"status = open\"}\n");
    folder.write("good.ndjson", "{\"body\":{\"ids\":[\"a\"]}}\n");
    let search = ["search", "cases.ndjson", "--requests"];
    for (file, status) in [("bad.ndjson", 2), ("good.ndjson", 0)] {
        let plain = folder.run(&[&search[..], &[file]].concat()).code(0);
        let told = folder.run(&[&search[..], &[file, "--fail-on-error"]].concat()).code(status);
        assert_eq!(told.out, plain.out);
        for format in ["json", "table"] {
            let bench = ["bench", "cases.ndjson", "--runs", "1", "--format", format, "--requests", file];
            let plain = folder.run(&bench).code(0);
            let told = folder.run(&[&bench[..], &["--fail-on-error"]].concat()).code(status);
            assert_eq!(told.out.lines().count(), plain.out.lines().count());
        }
    }
    folder.run(&["search", "cases.ndjson", "--fail-on-error"]).code(2).err_has("--requests");
}
