//! The command line, run as a user runs it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::thread;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;

fn casefilter(args: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("casefilter"));
    command.args(args);
    command
}

/// What a run printed, and its exit status.
#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

fn run(args: &[&str]) -> Run {
    run_with(args, b"")
}

fn run_with(args: &[&str], stdin: &[u8]) -> Run {
    let output = casefilter(args).write_stdin(stdin).output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Run {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[track_caller]
    fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    #[track_caller]
    fn err_has(self, part: &str) -> Self {
        assert!(self.err.contains(part), "no {part:?} in {}", self.err);
        self
    }
}

/// A folder with files in it.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.0.path().join(name), content).unwrap();
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect()
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

fn zst(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 0).unwrap()
}

/// A body that selects the open cases.
const OPEN: &str = r#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#;

/// Three cases, `a` and `c` open.
const THREE: &str = concat!(
    r#"{"id":"a","caseReview":{"status":"open"},"createdAt":"2024-01-03 00:00:00+0000","tags":["x","y"]}"#,
    "\n",
    r#"{"id":"b","caseReview":{"status":"blocked"},"createdAt":"2024-01-02 00:00:00+0000"}"#,
    "\n",
    r#"{"id":"c","caseReview":{"status":"open"},"createdAt":"2024-01-01 00:00:00+0000","extra":[1.50,{"k":1e2}]}"#,
    "\n"
);

// The answers.

#[derive(Deserialize)]
struct Vector<'a> {
    #[serde(borrow)]
    request: &'a RawValue,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expect {
    ids: Option<Vec<String>>,
    total_items: Option<u64>,
    #[serde(default)]
    error: bool,
}

fn every_vector_is_answered(name: &str) {
    let vectors = fs::read_to_string(data(&format!("{name}.requests.ndjson"))).unwrap();
    let vectors: Vec<Vector<'_>> = vectors.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests: Vec<&str> = vectors.iter().map(|vector| vector.request.get()).collect();
    let files = Files::new();
    let requests = files.write("requests.ndjson", requests.join("\n"));
    let cases = data(&format!("{name}.cases.ndjson"));
    let run = run(&["search", cases.to_str().unwrap(), "--requests", &requests]).code(0);
    assert_eq!(run.err, "");
    let answers = run.lines();
    assert_eq!(answers.len(), vectors.len());
    for (place, (answer, Vector { request, expect })) in answers.iter().zip(&vectors).enumerate() {
        let about = || format!("request {} of {name}: {request}\nanswer {answer}", place + 1);
        if expect.error {
            assert_eq!(answer["code"], 400, "{}", about());
            assert_eq!(answer["correlationId"], format!("request-{}", place + 1));
            assert!(
                answer["description"].as_str().unwrap().starts_with("Invalid parameters: "),
                "{}",
                about()
            );
            continue;
        }
        let items = answer["list"]["items"].as_array().unwrap_or_else(|| panic!("{}", about()));
        let ids: Vec<String> = items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(Some(ids), expect.ids, "{}", about());
        assert_eq!(
            answer["list"].get("totalItems").and_then(Value::as_u64),
            expect.total_items,
            "{}",
            about()
        );
    }
}

#[test]
fn the_plain_vectors_are_answered() {
    every_vector_is_answered("plain");
}

#[test]
fn the_weird_vectors_are_answered() {
    every_vector_is_answered("weird");
}

#[test]
fn every_form_of_cases_gives_the_same_answer() {
    let files = Files::new();
    let array = format!("[\n{}]", THREE.trim_end().replace('\n', ",\n"));
    let answer = format!(r#"{{"list":{{"items":{array},"pageInfo":{{"limit":100,"offset":0}}}}}}"#);
    let parts: Vec<&str> = THREE.lines().collect();
    let forms: Vec<Vec<String>> = vec![
        vec![files.write("cases.ndjson", THREE)],
        vec![files.write("array.json", &array)],
        vec![files.write("answer.json", &answer)],
        vec![files.write("cases.ndjson.gz", gzip(THREE.as_bytes()))],
        vec![files.write("cases.ndjson.zst", zst(THREE.as_bytes()))],
        vec![files.write("array.json.gz", gzip(array.as_bytes()))],
        vec![files.write("answer.JSON.ZST", zst(answer.as_bytes()))],
        vec![files.write(
            "members.ndjson.gz",
            [gzip(parts[0].as_bytes()), gzip(&THREE.as_bytes()[parts[0].len()..])].concat(),
        )],
        vec![
            files.write("1.ndjson", parts[0]),
            files.write("2.json", format!("[{}]", parts[1])),
            files.write("3.ndjson.gz", gzip(parts[2].as_bytes())),
        ],
    ];
    let expected = run_with(&["search", "-", "--count"], THREE.as_bytes()).code(0).json();
    assert_eq!(expected["list"]["totalItems"], 3);
    for form in forms {
        let mut args = vec!["search", "--count"];
        args.extend(form.iter().map(String::as_str));
        assert_eq!(run(&args).code(0).json(), expected, "{form:?}");
    }
}

#[test]
fn generated_parquet_holds_the_generated_cases() {
    let files = Files::new();
    let [ndjson, parquet, again] =
        ["cases.ndjson", "cases.parquet", "again.parquet"].map(|name| files.path(name));
    for path in [&ndjson, &parquet, &again] {
        run(&["generate", "--cases", "20000", "--seed", "3", "-o", path]).code(0);
    }
    assert!(fs::read(&parquet).unwrap() == fs::read(&again).unwrap(), "the bytes differ");
    for selection in [
        &["--where", "status = open and tags in (cash, crypto)", "--order", "-createdAt"][..],
        &[
            "--where",
            "createdAt >= \"2025-06-01 00:00:00\" and caseReview.checklistState.checklist.checked = false",
        ],
        &["--where", "priority = medium", "--order", "applicantInfo.dob", "--limit", "1000"],
        &["--limit", "10000", "--offset", "10000"],
    ] {
        let of = |cases: &str| run(&[&["search", cases, "--count"], selection].concat()).code(0).json();
        let (expected, found) = (of(&ndjson), of(&parquet));
        assert!(expected["list"]["totalItems"].as_u64().unwrap() > 0);
        assert_eq!(as_doubles(found), as_doubles(expected), "{selection:?}");
    }
    let broken = files.write("broken.parquet", "PAR1 and no more");
    run(&["search", &broken]).code(3).err_has("broken.parquet:").err_has("[bad_file]");
}

/// JSON whose numbers are all doubles, as Parquet has them.
fn as_doubles(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            members.into_iter().map(|(key, member)| (key, as_doubles(member))).collect()
        }
        Value::Array(elements) => elements.into_iter().map(as_doubles).collect(),
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        other => other,
    }
}

#[test]
fn documents_come_out_as_they_went_in() {
    let run = run_with(&["search", "-"], THREE.as_bytes()).code(0);
    for document in THREE.lines() {
        assert!(run.out.contains(document));
    }
}

#[test]
fn the_selection_orders_pages_and_counts() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let body = files.write("body.json", OPEN);
    let args = ["search", &cases, "--body", &body, "--order", "createdAt", "--count"];
    let answer = run(&args).code(0).json();
    assert_eq!(answer["list"]["items"][0]["id"], "c");
    assert_eq!(answer["list"]["totalItems"], 2);
    let args = ["search", &cases, "--order", "-createdAt", "--offset", "1", "--limit", "1"];
    let answer = run(&args).code(0).json();
    assert_eq!(answer["list"]["items"][0]["id"], "b");
    assert_eq!(answer["list"]["pageInfo"], serde_json::json!({"limit": 1, "offset": 1}));
    assert_eq!(answer["list"].get("totalItems"), None);
    let answer = run_with(&["search", &cases, "--body", "-"], OPEN.as_bytes()).code(0).json();
    assert_eq!(answer["list"]["items"].as_array().unwrap().len(), 2);
}

#[test]
fn the_text_syntax_selects_as_the_body_does() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let run =
        run(&["search", &cases, "--where", "status = open and tags in (x, z)", "--format", "ids"]).code(0);
    assert_eq!(run.out, "a\n");
}

#[test]
fn the_formats_are_json_ndjson_ids_and_a_table() {
    let files = Files::new();
    let cases = files.write(
        "cases.json",
        "[{\r\n  \"id\": \"a\\n\",\n \"name\": \"x  y \u{1b}[31m\u{202e}\"}\n,{\"id\":\"b c\"}]"
            .replace('\u{1b}', "\\u001b"),
    );
    let of = |format: &str| run(&["search", &cases, "--format", format]).code(0).out;
    assert_eq!(of("ids"), "\"a\\n\"\nb c\n");
    assert_eq!(
        of("ndjson").lines().collect::<Vec<_>>(),
        ["{\"id\":\"a\\n\",\"name\":\"x  y \\u001b[31m\u{202e}\"}", "{\"id\":\"b c\"}"]
    );
    let json: Value = serde_json::from_str(&of("json")).unwrap();
    assert_eq!(json["list"]["items"][1]["id"], "b c");
    let table = of("table");
    assert!(table.contains("a\\u{a}") && table.contains("2 of 2 selected, out of 2 cases"), "{table}");
    assert!(!table.contains('\u{1b}') && !table.contains('\u{202e}'));
}

#[test]
fn answers_stand_on_one_line_even_when_the_documents_do_not() {
    let files = Files::new();
    let cases = files.write("cases.json", "[\n{\n\"id\" : \"a b\"\n}\n]");
    let run = run_with(&["search", &cases, "--requests", "-"], br#"{"body":{"ids":["a b"]}}"#).code(0);
    assert_eq!(run.out.lines().count(), 1);
    assert_eq!(run.json()["list"]["items"][0]["id"], "a b");

    // What stands on one line stays as it is stored.
    let cases =
        files.write("three.json", "[{\"id\" : \"a\"},{\"id\":\"b\",\r \"x\" : \" ,\" },{ \"id\":\"c\" }]");
    let request = br#"{"body":{"ids":["a","b","c"]},"countTotalItems":true}"#;
    assert_eq!(
        run_with(&["search", &cases, "--requests", "-"], request).code(0).out,
        "{\"list\":{\"items\":[{\"id\" : \"a\"},{\"id\":\"b\",\"x\":\" ,\"},{ \"id\":\"c\" }],\"totalItems\":3,\
         \"pageInfo\":{\"limit\":100,\"offset\":0}}}\n"
    );
}

#[test]
fn no_two_ids_are_printed_alike() {
    let files = Files::new();
    let cases =
        files.write("cases.ndjson", "{\"id\":\"a\\nb\"}\n{\"id\":\"\\\"a\\\\nb\\\"\"}\n{\"id\":\"a\\\\nb\"}");
    let run = run(&["search", &cases, "--format", "ids"]).code(0);
    assert_eq!(run.out, "\"a\\nb\"\n\"\\\"a\\\\nb\\\"\"\na\\nb\n");
}

// Requests, one a line.

#[test]
fn a_bad_request_spoils_only_its_own_line() {
    let files = Files::new();
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
fn requests_are_answered_as_they_come() {
    let files = Files::new();
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
    let files = Files::new();
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

// What goes wrong, and the exit status.

#[test]
fn what_cannot_be_done_ends_with_1_and_names_the_file() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let broken_gz = files.write("broken.ndjson.gz", b"this is no gzip");
    let cut_gz = files.write("cut.ndjson.gz", {
        let mut packed = gzip(THREE.as_bytes());
        packed.truncate(40);
        packed
    });
    let cut_zst = files.write("cut.ndjson.zst", {
        let mut packed = zst(THREE.as_bytes());
        packed.truncate(40);
        packed
    });
    for name in [&broken_gz, &cut_gz, &cut_zst, "missing.ndjson"] {
        run(&["search", name]).code(1).err_has(name);
        run(&["search", &cases, name]).code(1).err_has(name);
    }
    run(&["search", "missing.parquet"]).code(1).err_has("missing.parquet");
    run(&["search", "cases.parquet.gz"]).code(1).err_has("compresses its columns itself");
    run(&["search", "cases.db"]).code(1).err_has("there is no such database");
    run(&["search", "cases.csv"]).code(1).err_has(".csv").err_has(".ndjson or .json");
    run(&["search", "cases"]).code(1).err_has(".ndjson or .json");
    run(&["search", &cases, "--body", "missing.json"]).code(1).err_has("missing.json");
    run(&["search", &cases, "--requests", "missing.json"]).code(1).err_has("missing.json");
    run(&["bench", &cases, "--requests", "missing.json"]).code(1).err_has("missing.json");
    run(&["generate", "--cases", "1", "-o", &files.path("none/cases.ndjson")])
        .code(1)
        .err_has("none/cases.ndjson");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_with_1() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in [["generate", "--cases", "10"], ["fields", "--format", "json"]] {
        let output =
            process::Command::new(cargo_bin!("casefilter")).args(args).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8(output.stderr).unwrap().contains("standard output"));
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    for args in [
        vec!["search"],
        vec!["search", "-", "--body", "-"],
        vec!["search", "-", "--requests", "-"],
        vec!["search", "-", "-"],
        vec!["search", "a.ndjson", "--body", "b", "--where", "c"],
        vec!["search", "a.ndjson", "--requests", "b", "--limit", "1"],
        vec!["search", "a.ndjson", "--requests", "b", "--format", "ids"],
        vec!["search", "a.ndjson", "--format", "xml"],
        vec!["bench", "-", "--requests", "-"],
        vec!["bench", "a.ndjson"],
        vec!["bench", "a.ndjson", "--requests", "r", "--threads", "0"],
        vec!["generate"],
        vec!["generate", "--cases", "many"],
        vec!["nonsense"],
        vec![],
    ] {
        let run = run(&args).code(2);
        assert!(run.err.contains("--help") || run.err.contains("First steps"), "{args:?}: {}", run.err);
        assert_eq!(run.out, "", "{args:?}");
    }
}

#[test]
fn an_offset_that_does_not_fit_is_refused_everywhere() {
    let files = Files::new();
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
fn a_bad_filter_ends_with_2_and_a_caret_under_the_place() {
    let files = Files::new();
    let body = files.write(
        "body.json",
        "{\"criteria\":[\n  {\"field\":\"creatdAt\",\"op\":\"=\",\"values\":[\"open\"]}]}",
    );
    let run = run(&["search", "unread.ndjson", "--body", &body, "--limit", "ten"]).code(2);
    assert_eq!(run.out, "");
    let expected = format!(
        "error[unknown_field]: found `creatdAt`
 --> {body}:2:12
  |
2 |   {{\"field\":\"creatdAt\",\"op\":\"=\",\"values\":[\"open\"]}}]}}
  |            ^^^^^^^^^^ expected a field of the catalogue
  |
  = note: at criteria[0].field
  = help: did you mean `createdAt`?

error[bad_integer]: found `ten`
 --> --limit
  |
1 | ten
  | ^^^ expected a non-negative decimal integer
"
    );
    assert_eq!(run.err, expected);
}

#[test]
fn hostile_text_reaches_no_terminal() {
    let files = Files::new();
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\r\u{9b}31m";
    let body =
        files.write("body.json", format!("{{\"{hostile}\":1, \"ids\": [{}3]}}", "\"x\",".repeat(50_000)));
    let named = files.write("x\u{1b}[31m.ndjson", format!("{{\"id\":3,\"{hostile}\":1}}"));
    for args in [
        vec!["check", "--format", "table", "--body", &body],
        vec!["check", "--format", "table", "--where", hostile],
        vec!["search", &named, "--order", hostile],
        vec!["search", &named],
        vec!["search", "--lenient", &named],
        vec!["search", hostile],
    ] {
        let run = run(&args);
        assert_ne!(run.code, 0);
        let harmful = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!run.err.contains(harmful) && !run.out.contains(harmful), "{args:?}: {run:?}");
        assert!(run.err.lines().all(|line| line.chars().count() < 400), "{}", run.err);
    }
}

#[test]
fn refused_cases_end_with_3_and_name_line_and_path() {
    let files = Files::new();
    let good = files.write("good.ndjson", THREE);
    let bad = files
        .write("bad.ndjson", "{\"id\":\"d\"}\n\n{\"id\":\"e\",\"caseReview\":{\"startDate\":\"soon\"}}\n");
    let run = run(&["search", &good, &bad]).code(3);
    assert_eq!(run.out, "");
    run.err_has(&format!("{bad}:3: caseReview.startDate: found `soon`")).err_has("--lenient");
}

#[test]
fn lenient_keeps_what_is_sound_tells_what_is_not_and_ends_with_3() {
    let cases = "{\"id\":\"a\",\"createdAt\":\"soon\"}\n{\"name\":\"no id\"}\nnot json\n{\"id\":\"b\"}\n";
    let run = run_with(&["search", "-", "--lenient", "--count"], cases.as_bytes()).code(3);
    assert_eq!(run.json()["list"]["totalItems"], 2);
    let run = run.err_has("2 cases left out, 1 kept with a field counted as absent");
    let run = run.err_has("kept: standard input:1: createdAt: found `soon`");
    run.err_has("left out: standard input:2: ").err_has("left out: standard input:3: ");
    let run = run_with(&["search", "-", "--lenient"], THREE.as_bytes()).code(0);
    assert_eq!(run.err, "");
}

#[test]
fn a_zip_bomb_is_refused() {
    let files = Files::new();
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb.write_all(b"{\"id\":\"").unwrap();
    let chunk = vec![b'a'; 1 << 20];
    for _ in 0..64 {
        bomb.write_all(&chunk).unwrap();
    }
    let bomb = files.write("bomb.ndjson.gz", bomb.finish().unwrap());
    run(&["search", &bomb]).code(3).err_has("case_too_large");
}

// The other commands.

#[test]
fn check_prints_the_normal_form_or_the_errors() {
    let body = r#"{"criteria":[{"field":"status","op":"$contains","values":["open","opne","open"]}]}"#;
    let checked = run_with(&["check", "--body", "-"], body.as_bytes()).code(0).json();
    assert_eq!(checked["ok"], true);
    let values = serde_json::json!(["open", "opne"]);
    assert_eq!(checked["criteria"]["criteria"][0]["field"], "caseReview.status");
    assert_eq!(checked["criteria"]["criteria"][0]["values"], values);
    assert_eq!(checked["text"], "caseReview.status in (open, opne)");
    assert_eq!(checked["warnings"][0]["kind"], "unknown_value");

    let checked = run_with(&["check", "--body", "-", "--limit", "x"], b"{}").code(2);
    let errors = checked.json();
    assert_eq!(errors["ok"], false);
    assert_eq!(errors["errors"][0]["kind"], "empty_body");
    assert_eq!(errors["errors"][1]["kind"], "bad_integer");

    let read = run_with(&["check", "--body", "-", "--format", "table"], body.as_bytes()).code(0);
    assert!(
        read.out.contains("caseReview.status in (open, opne)") && read.out.contains("warning:"),
        "{}",
        read.out
    );
}

#[test]
fn why_tells_the_truth_of_every_criterion() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let body = files.write(
        "body.json",
        r#"{"ids":["z"],"criteria":[{"field":"priority","op":"=","values":["medium"]},
            {"op":"$or","children":[{"field":"tags","op":"$all","values":["y","x"]},
                                    {"field":"status","op":"<>","values":["open"]}]}]}"#,
    );
    let why = run(&["why", &cases, "--id", "a", "--body", &body]).code(0).json();
    assert_eq!((why["id"].as_str(), why["selected"].as_bool()), (Some("a"), Some(true)));
    let truths: Vec<(&str, bool)> = why["criteria"]
        .as_array()
        .unwrap()
        .iter()
        .map(|criterion| (criterion["path"].as_str().unwrap(), criterion["holds"].as_bool().unwrap()))
        .collect();
    let expected = [
        ("", true),
        ("ids", false),
        ("criteria", true),
        ("criteria[0]", true),
        ("criteria[1]", true),
        ("criteria[1].children[0]", true),
        ("criteria[1].children[1]", false),
    ];
    assert_eq!(truths, expected);
    assert_eq!(why["criteria"][5]["values"], json!(["y", "x"]));
    let fields = json!({"id": {"values": ["a"], "absent": false},
        "priority": {"values": ["medium"], "absent": true},
        "tags": {"values": ["x", "y"], "absent": false},
        "caseReview.status": {"values": ["open"], "absent": false}});
    assert_eq!((&why["fields"], &why["faults"]), (&fields, &json!([])));

    let tree = run(&["why", &cases, "--id", "b", "--body", &body, "--format", "table"]).code(0).out;
    let expected = r#"The case b is selected, 2nd of 2 in stored order.

✓ any of
✗   id $contains "z"                  "b"                          ids
✓   all of                                                         criteria
✓     priority = "medium"             absent, counts as "medium"   criteria[0]
✓     any of                                                       criteria[1]
✗       tags $all "y", "x"            absent                       criteria[1].children[0]
✓       caseReview.status <> "open"   "blocked"                    criteria[1].children[1]
"#;
    assert_eq!(tree, expected);
    run(&["why", &cases, "--id", "a", "--where", "statis = open"]).code(2).err_has("status");

    let db = files.path("cases.db");
    run(&["import", "--db", &db, &cases]).code(0);
    let args = ["--id", "a", "--body", &body];
    assert_eq!(run(&[&["why", &db], &args[..]].concat()).code(0).json(), why);
}

#[test]
fn why_sees_a_case_as_the_engine_does() {
    let files = Files::new();
    let cases = files.write(
        "cases.ndjson",
        "{\"id\":\"case-17\",\"priority\":7,\"tags\":[\"x\",\"x\"]}\n{\"id\":\"case-18\"}\n{\"id\":9}\n",
    );
    let all = ["why", &cases, "--where", "priority = medium", "--id"];
    let ask = |id: &str, more: &[&str]| run(&[&all[..], &[id], more].concat());
    ask("case-17", &[]).code(3).err_has("priority");
    let why = ask("case-17", &["--lenient"]).code(3).json();
    assert_eq!((&why["selected"], &why["fields"]["priority"]["absent"]), (&json!(true), &json!(true)));
    assert_eq!(why["faults"][0]["path"], "priority");
    let tree = ask("case-17", &["--lenient", "--format", "table"]).code(3).out;
    assert!(tree.contains("counted as absent: priority: found a number, expected a string"), "{tree}");
    for (id, meant) in
        [("case17", "`case-17`"), ("CASE-18", "`case-18`"), ("9", "no case has the id `9`, among 2 cases\n")]
    {
        ask(id, &["--lenient"]).code(1).err_has("no case has the id").err_has(meant);
    }
}

#[test]
fn explain_tells_how_a_request_is_answered_and_what_that_costs() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let args = ["explain", &cases, "--where", "status = open and tags all (x, y)", "--order", "-createdAt"];
    let table = run(&[&args[..], &["--format", "table"]].concat()).code(0).out;
    let expected = "\
expected  criterion                   answered by, in how many batches
      ~0  all of                      criteria below 1
       1    tags all (x, y)           few rows 1
       2    caseReview.status = open  few rows 1

Batches: 1, of 3 cases.
Page: 100 cases from 0 by -createdAt; batches by their first value, 1 walked in the order of sorted rows; until it is full.
Total: not asked for.
";
    assert_eq!(table, expected);

    let mut explained = run(&[&args[..], &["--count", "--analyze"]].concat()).code(0).json();
    let times = explained["analysis"]["phases"].as_array().unwrap().clone();
    let names: Vec<&str> = times.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["compile", "plan", "evaluate", "page"]);
    assert!(times.iter().all(|phase| phase["time_us"].as_f64().unwrap() >= 0.0));
    let nodes = explained["nodes"].as_array_mut().unwrap();
    let kept: Vec<(String, u64)> = nodes
        .iter()
        .map(|node| (node["test"].as_str().unwrap().to_owned(), node["kept"].as_u64().unwrap()))
        .collect();
    let expected = [("all of", 1), ("tags all (x, y)", 1), ("caseReview.status = open", 2)];
    assert_eq!(kept, expected.map(|(test, kept)| (test.to_owned(), kept)));
    assert!(nodes.iter().all(|node| node["time_us"].as_f64().unwrap() > 0.0));
    assert_eq!(nodes[2]["answered"], json!([{"by": "rows", "batches": 1}]));
    assert_eq!((&nodes[2]["expected"], &nodes[2]["exact"]), (&json!(2), &json!(true)));
    assert_eq!(explained["batches"], json!({"all": 1, "ruled_out": 0}));
    assert_eq!(explained["total"], json!({"by": "with_page", "known_batches": 0}));
    assert_eq!(explained["page"]["stops_early"], false);
    let analysis = &explained["analysis"];
    assert_eq!((&analysis["selected"], &analysis["on_page"]), (&json!(1), &json!(1)));
    assert_eq!((&analysis["work"]["batches"], &analysis["work"]["walked_sorted"]), (&json!(1), &json!(1)));

    run(&["explain", &cases, "--where", "statis = open"]).code(2).err_has("status");
    run(&["explain", "-", "--body", "-"]).code(2).err_has("standard input");
}

#[test]
fn explain_sees_what_search_sees_whatever_form_the_cases_have() {
    let files = Files::new();
    let [ndjson, parquet, db] = ["cases.ndjson", "cases.parquet", "cases.db"].map(|name| files.path(name));
    for path in [&ndjson, &parquet] {
        run(&["generate", "--cases", "6000", "-o", path]).code(0);
    }
    run(&["import", "--db", &db, &ndjson]).code(0);
    for (text, strategy) in [
        ("priority = high", "directory"),
        ("priority = high and createdAt < \"2024-01-01 00:00:00\"", "with_page"),
        ("id = none", "directory"),
        ("createdAt < \"1999-01-01 00:00:00\"", "with_page"),
    ] {
        let asked = ["--where", text, "--count", "--order", "totalAmountInDefaultCurrency"];
        let of = |command: &[&str]| run(&[command, &asked[..]].concat()).code(0).json();
        let explained = of(&["explain", &ndjson]);
        assert_eq!(of(&["explain", &parquet]), explained, "{text}");
        assert_eq!(of(&["explain", &db]), explained, "{text}");
        assert_eq!(explained["total"]["by"], strategy, "{text}");
        let total = of(&["search", &ndjson])["list"]["totalItems"].clone();
        let analyzed = of(&["explain", &db, "--analyze"]);
        assert_eq!(analyzed["analysis"]["selected"], total, "{text}");
        assert_eq!(analyzed["nodes"][0]["kept"], total, "{text}");
        if strategy == "directory" {
            assert_eq!(analyzed["total"]["cases"], total, "{text}");
        }
        if total == 0 {
            assert_eq!(analyzed["batches"], json!({"all": 1, "ruled_out": 1}), "{text}");
            assert_eq!(analyzed["analysis"]["work"]["batches"], 0, "{text}");
        }
    }
}

#[test]
fn fields_lists_the_catalogue() {
    let fields = run(&["fields"]).code(0).json();
    assert_eq!(fields.as_array().unwrap().len(), 43);
    let status =
        fields.as_array().unwrap().iter().find(|field| field["name"] == "caseReview.status").unwrap();
    assert_eq!(status["type"], "string");
    assert_eq!(status["many"], false);
    assert_eq!(status["known"][0], "open");
    assert_eq!(status["aliases"][0], "status");
    let table = run(&["fields", "--format", "table"]).code(0).out;
    assert!(table.contains("applicantInfo.dob") && table.contains("medium"), "{table}");
}

#[test]
fn generate_gives_the_same_sound_cases_every_time_and_everywhere() {
    let files = Files::new();
    let plain = files.path("cases.ndjson");
    run(&["generate", "--cases", "500", "--seed", "7", "-o", &plain]).code(0);
    let bytes = fs::read(&plain).unwrap();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    assert_eq!(hash, 0x1a74_cfbd_cfe1_6fc9, "{hash:#x}");
    assert_eq!(run(&["generate", "--cases", "500", "--seed", "7"]).code(0).out.as_bytes(), bytes);
    assert_ne!(run(&["generate", "--cases", "500", "--seed", "8"]).code(0).out.as_bytes(), bytes);

    let (gz, zst) = (files.path("cases.ndjson.gz"), files.path("cases.ndjson.zst"));
    for path in [&gz, &zst] {
        run(&["generate", "--cases", "500", "--seed", "7", "-o", path]).code(0);
    }
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(&gz).unwrap()).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, bytes);
    assert_eq!(zstd::decode_all(fs::File::open(&zst).unwrap()).unwrap(), bytes);
    assert_eq!(files.names().len(), 3, "no temporary file is left: {:?}", files.names());
    for path in [&plain, &gz, &zst] {
        let answer = run(&["search", path, "--count", "--limit", "0"]).code(0).json();
        assert_eq!(answer["list"]["totalItems"], 500);
    }
}

/// Waits until something is so, as long as the process runs.
#[cfg(unix)]
#[track_caller]
fn wait_for(child: &mut process::Child, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        assert_eq!(child.try_wait().unwrap(), None);
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(unix)]
fn signal(child: &process::Child, name: &str) {
    let kill = process::Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}

/// The signal that the process died by, and what it said.
#[cfg(unix)]
fn death(child: process::Child) -> (Option<i32>, String) {
    use std::os::unix::process::ExitStatusExt;
    let output = child.wait_with_output().unwrap();
    (output.status.signal(), String::from_utf8(output.stderr).unwrap())
}

/// How much a process has written to new files in the folder, which have no name on Linux.
#[cfg(unix)]
fn written(files: &Files, id: u32) -> u64 {
    let folder = files.0.path().canonicalize().unwrap();
    let len = |path: PathBuf| fs::metadata(path).map_or(0, |found| found.len());
    let named = files.names().into_iter().filter(|name| name.starts_with('.')).map(|name| folder.join(name));
    let open =
        fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let unnamed = open.filter(|path| fs::read_link(path).is_ok_and(|file| file.starts_with(&folder)));
    named.chain(unnamed).map(len).sum()
}

#[cfg(unix)]
#[test]
fn an_interrupted_generate_leaves_the_file_as_it_was_and_dies_by_the_signal() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let files = Files::new();
        let path = files.write("cases.ndjson.gz", "before");
        let mut child = process::Command::new(cargo_bin!("casefilter"))
            .args(["generate", "--cases", "1000000000", "-o", &path])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let id = child.id();
        wait_for(&mut child, || written(&files, id) > 0);
        signal(&child, name);
        assert_eq!(death(child), (Some(number), String::new()));
        assert_eq!(files.names(), ["cases.ndjson.gz"]);
        assert_eq!(fs::read(&path).unwrap(), b"before");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_kept_from_a_run_does_not_end_it() {
    let files = Files::new();
    let path = files.path("cases.ndjson.gz");
    let command = format!(
        "trap '' HUP; exec '{}' generate --cases 1000000000 -o '{path}'",
        cargo_bin!("casefilter").display()
    );
    let mut child =
        process::Command::new("sh").args(["-c", &command]).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let size = || written(&files, id);
    wait_for(&mut child, || size() > 0);
    signal(&child, "HUP");
    let then = size();
    wait_for(&mut child, || size() > then + (1 << 20));
    signal(&child, "TERM");
    assert_eq!(death(child), (Some(15), String::new()));
    assert!(files.names().is_empty());
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_leaves_no_database_unless_there_was_one() {
    let files = Files::new();
    let db = files.path("cases.db");
    let interrupt = || {
        let mut child = process::Command::new(cargo_bin!("casefilter"))
            .args(["import", "--db", &db, "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than a pipe holds: the import has begun when it is written.
        for number in 0..20_000 {
            writeln!(stdin, "{{\"id\":\"another {number}\"}}").unwrap();
        }
        signal(&child, "INT");
        assert_eq!(death(child), (Some(2), String::new()));
        drop(stdin);
    };
    interrupt();
    assert!(files.names().is_empty(), "{:?}", files.names());
    run_with(&["import", "--db", &db, "-"], THREE.as_bytes()).code(0);
    interrupt();
    assert_eq!(run(&["verify", "--db", &db]).code(0).json()["cases"], 3);
}

#[cfg(unix)]
fn mode(path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Every command that puts a file in the place of another, given its name.
const REPLACING: [&[&str]; 6] = [
    &["generate", "--cases", "3", "-o", "out.ndjson"],
    &["generate", "--cases", "3", "-o", "out.parquet"],
    &["export", "cases.ndjson", "-o", "out.ndjson.gz"],
    &["export", "cases.ndjson", "-o", "out.tsv"],
    &["export", "cases.ndjson", "--flat", "-o", "out.parquet"],
    &["token", "app", "--allow", "viewCases", "--file", "out.json"],
];

#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_mode_its_owner_and_the_links_to_it() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    for args in REPLACING {
        let name = *args.last().unwrap();
        let files = Files::new();
        files.write("cases.ndjson", THREE);
        let run = || casefilter(args).current_dir(files.0.path()).assert().success();
        let out = files.path(name);

        run();
        assert_eq!(mode(&out), 0o600, "{args:?}");

        for kept in [0o600, 0o664, 0o444] {
            fs::set_permissions(&out, fs::Permissions::from_mode(kept)).unwrap();
            let before = fs::metadata(&out).unwrap();
            run();
            assert_eq!(mode(&out), kept, "{args:?}");
            assert_ne!(fs::metadata(&out).unwrap().ino(), before.ino(), "{args:?}: written in place");
        }
        // Only root may give files away.
        if chown(&out, Some(12_345), Some(23_456)).is_ok() {
            run();
            let found = fs::metadata(&out).unwrap();
            assert_eq!((found.uid(), found.gid(), mode(&out)), (12_345, 23_456, 0o444), "{args:?}");
        }

        fs::create_dir(files.path("elsewhere")).unwrap();
        let target = files.path(&format!("elsewhere/{name}"));
        fs::rename(&out, &target).unwrap();
        symlink(format!("elsewhere/{name}"), files.path("link")).unwrap();
        symlink("link", &out).unwrap();
        let before = fs::metadata(&target).unwrap();
        run();
        let found = fs::metadata(&target).unwrap();
        assert!(fs::symlink_metadata(&out).unwrap().is_symlink(), "{args:?}");
        assert!(found.is_file() && found.ino() != before.ino(), "{args:?}");
        assert_eq!(mode(&target), 0o444, "{args:?}");

        // A link to a file that is not there yet.
        fs::remove_file(&target).unwrap();
        run();
        assert!(fs::symlink_metadata(&out).unwrap().is_symlink() && Path::new(&target).is_file(), "{args:?}");
        assert_eq!(files.names().len(), 4, "{args:?}: {:?}", files.names());
        assert_eq!(fs::read_dir(files.path("elsewhere")).unwrap().count(), 1, "{args:?}");
    }
}

#[test]
fn a_failed_export_leaves_the_file_as_it_was_and_nothing_else() {
    let files = Files::new();
    let cases = files.write("zero.ndjson", "{\"id\":\"a\"}\n{\"id\":\"b\",\"name\":\"a\\u0000\"}\n");
    let out = files.write("out.tsv", "before");
    run(&["export", &cases, "-o", &out]).code(3);
    assert_eq!(fs::read(&out).unwrap(), b"before");
    assert_eq!(files.names().len(), 2, "{:?}", files.names());
}

#[test]
fn a_dash_is_standard_output_where_lines_are_written_and_else_refused() {
    let files = Files::new();
    files.write("cases.ndjson", THREE);
    let run = |args: &[&str]| {
        let output = casefilter(args).current_dir(files.0.path()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    };
    assert_eq!(run(&["export", "cases.ndjson", "-o", "-"]).code(0).out, THREE);
    let order = ["export", "cases.ndjson", "--where", "status = open", "--order", "createdAt", "-o", "-"];
    assert!(run(&order).code(0).out.starts_with("{\"id\":\"c\""));
    let some = run(&["generate", "--cases", "20"]).code(0).out;
    assert_eq!(run(&["generate", "--cases", "20", "-o", "-"]).code(0).out, some);
    run(&["export", "cases.ndjson", "--flat", "-o", "-"]).code(2).err_has("--flat is for files");
    run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    run(&["backup", "--db", "cases.db", "-o", "-"]).code(2).err_has("`-` is no file");
    let report = ["search", "cases.ndjson", "--lenient", "--report", "-"];
    run(&report).code(2).err_has("`-` is no file");
    let mut names = files.names();
    names.sort();
    assert_eq!(names, ["cases.db", "cases.ndjson"]);
    for command in ["export", "generate"] {
        assert!(run(&[command, "--help"]).code(0).out.contains("FILE|-"));
    }
}

#[test]
fn export_to_a_closed_pipe_ends_quietly() {
    let files = Files::new();
    let cases = files.path("cases.ndjson");
    run(&["generate", "--cases", "5000", "-o", &cases]).code(0);
    let mut child = process::Command::new(cargo_bin!("casefilter"))
        .args(["export", &cases, "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_report_is_written_over_nothing_that_the_run_uses() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let other = files.write("other.ndjson", "{\"id\":7}\n");
    let body = files.write("body.json", OPEN);
    let requests = files.write("requests.ndjson", format!("{{\"body\":{OPEN}}}\n"));
    let hard = files.path("hard.json");
    fs::hard_link(&other, &hard).unwrap();
    let db = files.path("cases.db");
    let refused = |args: &[&str], report: &str, used: &str| {
        let args = [args, &["--lenient", "--report", report]].concat();
        run(&args).code(2).err_has("--report").err_has(&format!("written over {used}"));
    };
    refused(&["search", &cases, &other], &other, &other);
    refused(&["search", &cases, &other], &hard, &other);
    refused(&["search", &cases, "--body", &body], &body, &body);
    refused(&["search", &cases, "--requests", &requests], &requests, &requests);
    refused(&["import", "--db", &db, &cases], &cases, &cases);
    // A database that is not there yet.
    let dotted = files.path("./cases.db");
    refused(&["import", "--db", &db, &cases], &dotted, &db);
    assert!(!Path::new(&db).exists());
    run(&["import", "--db", &db, &cases]).code(0);
    refused(&["import", "--db", &db, &other], &db, &db);
    refused(&["search", &db, &cases], &db, &db);
    #[cfg(unix)]
    {
        let link = files.path("link.json");
        std::os::unix::fs::symlink("other.ndjson", &link).unwrap();
        refused(&["search", &other], &link, &other);
        refused(&["search", &link], &other, &link);
        let output = process::Command::new(cargo_bin!("casefilter"))
            .args(["search", "-", "--lenient", "--report", &other])
            .stdin(fs::File::open(&other).unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
    }
    assert_eq!(fs::read(&cases).unwrap(), THREE.as_bytes());
    assert_eq!(fs::read(&other).unwrap(), b"{\"id\":7}\n");
    run(&["search", &other, "--lenient", "--report", &files.path("report.json")]).code(3);
}

#[test]
fn a_token_whose_filter_or_fields_are_wrong_is_refused_as_other_filters_are() {
    let files = Files::new();
    let file = files.path("tokens.json");
    let app = ["token", "app", "--file", &file, "--allow", "viewCases"];
    let wrong = ["--filter", "statis=1 and name > x", "--fields", "name,priorty"];
    let expected = "error[unknown_field]: found `statis`
 --> --filter
  |
1 | statis=1 and name > x
  | ^^^^^^ expected a field of the catalogue
  |
  = help: did you mean `status`?

error[operator_not_for_type]: found `>` on `name`, a string field
 --> --filter
  |
1 | statis=1 and name > x
  |                   ^ expected one of `=`, `<>`, `in`, `all`

error[unknown_field]: found `priorty`
 --> --fields
  |
1 | name,priorty
  |      ^^^^^^^ expected a field of the catalogue
  |
  = help: did you mean `priority`?
";
    assert_eq!(run(&[&app[..], &wrong].concat()).code(2).err, expected);
    assert!(!Path::new(&file).exists());
    run(&[&app[..], &["--filter", "status = open", "--fields", "name,priority"]].concat()).code(0);
}

#[test]
fn bench_prints_a_line_for_each_request_and_a_summary() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests =
        files.write("requests.ndjson", format!("{{\"body\":{OPEN},\"limit\":1}}\n{{\"body\":{{}}}}\n"));
    for threads in ["1", "3"] {
        let args = ["bench", &cases, "--requests", &requests, "--runs", "7", "--threads", threads];
        let lines = run(&args).code(0).lines();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["request"], 1);
        assert_eq!(lines[0]["matched"], 2);
        assert_eq!(lines[0]["runs"], 7);
        let us = |key: &str| lines[0][key].as_f64().unwrap();
        assert!(0.0 < us("min_us") && us("min_us") <= us("median_us") && us("median_us") <= us("p99_us"));
        assert_eq!(lines[1]["request"], 2);
        assert!(lines[1]["error"].is_string());
        assert_eq!(lines[0].get("cold_us"), None);
        assert_eq!(lines[1].get("median_us"), None);
        assert_eq!(lines[2]["cases"], 3);
        assert_eq!(lines[2]["threads"], threads.parse::<u32>().unwrap());
        assert!(lines[2]["load_s"].is_number() && lines[2]["bytes_per_case"].as_f64().unwrap() > 0.0);
    }
    let table =
        run(&["bench", &cases, "--requests", &requests, "--runs", "1", "--format", "table"]).code(0).out;
    assert!(table.contains("median") && table.contains("3 cases"), "{table}");
    assert!(!table.contains("index bytes") && !table.contains("cold"), "{table}");
}

#[test]
fn bench_tells_how_long_requests_take_with_empty_caches() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests = files.write("requests.ndjson", format!("{{\"body\":{OPEN}}}\n{{\"body\":{{}}}}\n"));
    let bench = ["bench", &cases, "--requests", &requests, "--cold", "--runs", "3", "--threads", "2"];
    let lines = run(&bench).code(0).lines();
    let us = |key: &str| lines[0][key].as_f64().unwrap();
    assert!(0.0 < us("min_us") && us("min_us") <= us("cold_us"), "{}", lines[0]);
    assert_eq!((&lines[0]["runs"], lines[1].get("cold_us")), (&3.into(), None));
    let table = run(&[&bench[..], &["--format", "table"]].concat()).code(0).out;
    assert!(table.lines().next().is_some_and(|headings| headings.ends_with("cold")), "{table}");
}

#[test]
fn what_shows_no_document_needs_none_in_memory() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let search =
        |extra: &[&str]| run(&[&["search", &cases, "--where", "status = open"], extra].concat()).code(0);
    let documents = search(&["--format", "ndjson"]).lines();
    let ids: Vec<&str> = documents.iter().map(|document| document["id"].as_str().unwrap()).collect();
    assert_eq!(search(&["--format", "ids"]).out.lines().collect::<Vec<_>>(), ids);
    let counted = search(&["--limit", "0", "--count", "--format", "json"]).json();
    assert_eq!(counted["list"]["items"], serde_json::json!([]));
    assert_eq!(counted["list"]["totalItems"], ids.len());

    let explain = ["explain", &cases, "--where", "status = open", "--limit", "1", "--format", "json"];
    let explained = run(&[&explain[..], &["--analyze"]].concat()).code(0).json();
    assert_eq!((&explained["cases"], &explained["analysis"]["on_page"]), (&3.into(), &1.into()));
    assert_eq!(run(&explain).code(0).json()["nodes"].as_array().map(Vec::len), Some(1));

    let requests = files.write("requests.ndjson", format!("{{\"body\":{OPEN}}}\n"));
    let bench = ["bench", &cases, "--requests", &requests, "--runs", "1", "--without-documents"];
    let lines = run(&bench).code(0).lines();
    assert_eq!((&lines[0]["matched"], &lines[1]["cases"]), (&ids.len().into(), &3.into()));
}

#[test]
fn bench_tells_what_each_field_takes_in_memory() {
    let files = Files::new();
    let cases = files.write("cases.ndjson", THREE);
    let requests = files.write("requests.ndjson", format!("{{\"body\":{OPEN}}}\n"));
    let args = ["bench", &cases, "--requests", &requests, "--runs", "1", "--memory"];
    let lines = run(&args).code(0).lines();
    let (summary, fields) = lines[1..].split_last().unwrap();
    assert_eq!(summary["cases"], 3);
    let bytes = |line: &Value| line["column_bytes"].as_u64().unwrap() + line["index_bytes"].as_u64().unwrap();
    let id = fields.iter().find(|line| line["field"] == "id").unwrap();
    assert!(bytes(id) > 0 && id["bytes_per_case"].as_f64().unwrap() > 0.0);
    assert!(fields.iter().map(bytes).is_sorted_by(|a, b| a >= b), "the largest first");
    assert_eq!(fields.len(), run(&["fields"]).code(0).json().as_array().unwrap().len());
    let table = run(&[&args[..], &["--format", "table"]].concat()).code(0).out;
    assert!(table.contains("index bytes") && table.contains("createdAt"), "{table}");
}

#[test]
fn demo_shows_requests_and_their_answers() {
    let run = run(&["demo", "--cases", "3000"]).code(0);
    assert_eq!(run.err, "");
    assert!(
        run.out.contains("as text") && run.out.contains("as JSON") && run.out.contains("of 3,000 cases"),
        "{}",
        run.out
    );
    let (_, explanation) = run.out.split_once("How the second of them is answered").unwrap();
    assert!(explanation.contains("Result: ") && explanation.contains("Time: compile "), "{explanation}");
}

#[test]
fn the_help_of_every_command_shows_an_example() {
    let top = run(&["--help"]).code(0).out;
    assert!(top.contains("First steps:") && top.contains("casefilter demo"));
    for command in ["search", "check", "explain", "why", "fields", "generate", "bench", "demo"] {
        assert!(top.contains(command));
        for flag in ["-h", "--help"] {
            let help = run(&[command, flag]).code(0).out;
            let (_, examples) = help.split_once("Examples:").unwrap_or_else(|| panic!("{help}"));
            assert!(examples.contains(&format!("casefilter {command}")), "{help}");
        }
    }
}

/// The indented lines behind the options in the help that a source file has.
fn examples_of(file: &Path) -> Vec<String> {
    let source = fs::read_to_string(file).unwrap();
    let blocks =
        source.split("after_help = \"\\\n").skip(1).chain(source.split("FIRST_STEPS: &str = \"\\\n").skip(1));
    let lines = blocks.flat_map(|block| {
        let end = block.lines().position(|line| line.ends_with("\")]") || line.ends_with("\";"));
        block.lines().take(end.unwrap() + 1)
    });
    let examples = lines.filter(|line| line.starts_with("  ")).map(|line| {
        let line = line.strip_suffix("\")]").or(line.strip_suffix("\";")).unwrap_or(line);
        line.replace("\\\"", "\"")
    });
    examples.collect()
}

#[test]
fn examples_stand_whole_in_the_help_however_wide_the_terminal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/casefilter");
    let mut found = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let examples = if file.is_file() { examples_of(&file) } else { Vec::new() };
        let commands: &[&[&str]] = match name.as_str() {
            _ if examples.is_empty() => continue,
            "main" => &[&[]],
            "token" => &[&["token", "app"], &["token", "share"]],
            name => &[&[name]],
        };
        for width in [None, Some("60"), Some("80"), Some("100"), Some("200")] {
            for flag in ["-h", "--help"] {
                let helps = commands.iter().map(|args| {
                    let mut command = casefilter(args);
                    command.arg(flag).env_remove("COLUMNS");
                    command.envs(width.map(|width| ("COLUMNS", width)));
                    String::from_utf8(command.output().unwrap().stdout).unwrap()
                });
                let help: String = helps.collect();
                assert!(!help.contains('\u{e000}'), "{help}");
                for example in &examples {
                    assert!(
                        help.lines().any(|line| line == example),
                        "{name} at {width:?}: {example}\n{help}"
                    );
                }
            }
        }
        found += examples.len();
    }
    assert!(found > 50, "{found}");
    let nothing = run(&[]).code(2);
    assert!(nothing.err.contains("  casefilter demo\n"), "{}", nothing.err);
}

#[test]
fn a_database_is_filled_searched_exported_and_verified() {
    let files = Files::new();
    let (db, cases) = (files.path("cases.db"), files.path("cases.ndjson"));
    run(&["generate", "--cases", "500", "-o", &cases]).code(0);
    let done = run(&["import", "--db", &db, &cases]).code(0).json();
    assert_eq!((&done["stored"], &done["replaced"], &done["cases"]), (&500.into(), &0.into(), &500.into()));

    // Searches give the same bytes as those of the file.
    for arguments in [
        &["--where", "status = open", "--count"][..],
        &["--order", "-createdAt", "--limit", "7", "--offset", "3"],
        &["--where", "priority = high", "--format", "ids"],
        &["--format", "ndjson", "--limit", "500"],
    ] {
        let of = |held: &str| run(&[&["search", held], arguments].concat()).code(0).out;
        assert_eq!(of(&db), of(&cases), "{arguments:?}");
    }
    let requests = files.write("requests.ndjson", "{\"body\":{\"ids\":[]}}\n{\"body\":{}}\n");
    let of = |held: &str| run(&["search", held, "--requests", &requests]).code(0).out;
    assert_eq!(of(&db), of(&cases));
    let bench = run(&["bench", &db, "--requests", &requests, "--runs", "2"]).code(0).lines();
    assert_eq!(bench.last().unwrap()["cases"], 500);

    // A second import replaces, and what is in the file is as it was given.
    let again = run(&["import", "--db", &db, &cases]).code(0).json();
    assert_eq!((&again["stored"], &again["replaced"]), (&0.into(), &500.into()));
    let ids = |held: &str, more: &[&str]| {
        run(&[&["search", held, "--format", "ids", "--limit", "500"], more].concat()).code(0).out
    };
    for name in ["out.ndjson", "out.ndjson.gz", "out.ndjson.zst", "out.parquet"] {
        let out = files.path(name);
        run(&["export", &db, "-o", &out, "--order", ""]).code(0);
        assert_eq!(ids(&out, &[]), ids(&cases, &[]), "{name}");
        run(&["export", &db, "-o", &out]).code(0);
        // Parquet is sorted for those who read parts of it.
        let order: &[&str] = if name == "out.parquet" { &["--order", "createdAt"] } else { &[] };
        assert_eq!(ids(&out, &[]), ids(&cases, order), "{name}");
        run(&[
            "export",
            &db,
            "-o",
            &files.path("part.ndjson"),
            "--where",
            "priority = high",
            "--order",
            "-id",
        ])
        .code(0);
        assert_eq!(
            ids(&files.path("part.ndjson"), &[]),
            ids(&cases, &["--where", "priority = high", "--order", "-id"])
        );
    }
    assert_eq!(fs::read(files.path("out.ndjson")).unwrap(), fs::read(&cases).unwrap());
    let verified = run(&["verify", "--db", &db]).code(0).json();
    assert_eq!((&verified["cases"], &verified["was_clean"]), (&500.into(), &true.into()));

    // A copy is as good.
    let copy = files.path("copy.db");
    let backed_up = run(&["backup", "--db", &db, "-o", &copy]).code(0);
    assert_eq!((backed_up.out.as_str(), backed_up.err.as_str()), ("", ""));
    run(&["backup", "--db", &db, "-o", &copy]).code(1).err_has("copy.db");
    let compacted = run(&["compact", "--db", &db]).code(0).json();
    let size = fs::metadata(&db).unwrap().len();
    assert_eq!(compacted["bytes_after"], size);
    assert!(compacted["bytes_before"].as_u64().unwrap() > size, "{compacted}");
    assert_eq!(ids(&copy, &[]), ids(&cases, &[]));
    assert_eq!(ids(&db, &[]), ids(&cases, &[]));
    run(&["verify", "--db", &copy]).code(0);

    // A database among other files is read like them.
    let more = files.write("more.ndjson", "{\"id\":\"one more\"}\n");
    let both = run(&["search", &db, &more, "--count", "--limit", "0"]).code(0).json();
    assert_eq!(both["list"]["totalItems"], 501);
}

#[test]
fn a_refused_import_leaves_the_database_as_it_was() {
    let files = Files::new();
    let db = files.path("cases.db");
    let good = files.write("good.ndjson", "{\"id\":\"a\"}\n");
    let bad = files.write("bad.ndjson", "{\"id\":\"b\"}\n{\"id\":7}\n{\"id\":\"c\",\"tags\":\"x\"}\n");
    let count = |db: &str| {
        run(&["search", db, "--count", "--limit", "0"]).code(0).json()["list"]["totalItems"].clone()
    };
    run(&["import", "--db", &db, &bad]).code(3).err_has("bad.ndjson:2:");
    assert!(!Path::new(&db).exists());
    run(&["import", "--db", &db, &good]).code(0);
    run(&["import", "--db", &db, &bad]).code(3).err_has("nothing was read");
    assert_eq!(count(&db), 1);
    let report = files.path("report.json");
    let lenient = run(&["import", "--db", &db, &bad, "--lenient", "--report", &report])
        .code(3)
        .err_has("1 case left out");
    assert_eq!(lenient.json()["stored"], 2);
    let written: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!((&written["skipped"], &written["refusals"][0]["line"]), (&1.into(), &2.into()));
    assert_eq!(count(&db), 3);
    let searched = files.path("searched.json");
    run(&["search", &bad, "--lenient", "--report", &searched, "--format", "ids"]).code(3);
    assert!(fs::read_to_string(&searched).unwrap().contains("\"skipped\": 1"));
}

#[test]
fn records_are_imported_by_kind_and_share_tokens_made_of_them() {
    let files = Files::new();
    let db = files.path("cases.db");
    let sample = |name: &str| format!("tests/data/domain/{name}.ndjson");
    let import = |kind: &str| run(&["import", "--db", &db, "--kind", kind, &sample(kind)]);
    import("applicants").code(3).err_has("applicants.ndjson:1: review.levelName").err_has("with --lenient");
    assert!(!Path::new(&db).exists());
    for (kind, count) in [("levels", 5), ("applicants", 9), ("documents", 19), ("aml-cases", 6)] {
        let done = import(kind).code(0).json();
        assert_eq!((&done["stored"], &done["replaced"]), (&count.into(), &0.into()), "{kind}");
    }
    assert_eq!(import("levels").code(0).json()["replaced"], 5);
    let cases = files.write("cases.ndjson", "{\"id\":\"a\"}\n");
    run(&["import", "--db", &db, &cases]).code(0);
    let verified = run(&["verify", "--db", &db]).code(0).json();
    assert_eq!((&verified["cases"], &verified["records"]), (&1.into(), &39.into()));
    run(&["import", "--db", &db, "--kind", "levels", "--lenient", &sample("levels")]).code(0);
    run(&["import", "--db", &db, "--kind", "levels", &db]).code(1).err_has("NDJSON");
    let token = |id: &str| run(&["token", "share", "--db", &db, "--applicant", id, "--expires", "20m"]);
    assert_eq!(token("anna").code(0).out.trim_ascii().len(), 64);
    token("nobody").code(1).err_has("no applicant with the id `nobody`");
}

#[test]
fn records_are_imported_leniently_with_a_report() {
    let files = Files::new();
    let db = files.path("cases.db");
    let applicants = concat!(
        "{\"id\":1,\"type\":\"individual\",\"info\":{\"country\":\"XXA\",\"dob\":\"1.2.1990\"}}\n",
        "{\"id\":2}\n",
        "{\"id\":3,\"type\":\"company\",\"review\":{\"createDate\":\"2026-01-01 00:00:00\"}}\n",
    );
    let applicants = files.write("applicants.ndjson", applicants);
    let import = ["import", "--db", &db, "--kind", "applicants", &applicants];
    run(&import)
        .code(3)
        .err_has("applicants.ndjson:1: info.dob")
        .err_has("nothing was stored; with --lenient");
    let report = files.path("report.json");
    let done = run(&[&import[..], &["--lenient", "--report", &report]].concat()).code(3);
    let err = done.err.clone();
    for expected in [
        "1 applicant left out, 1 kept without what is at fault",
        "kept: ",
        "applicants.ndjson:1: info.dob: found `1.2.1990`",
        "left out: ",
        "applicants.ndjson:2: found no `type`",
        "took 1 time without an offset as UTC",
    ] {
        assert!(err.contains(expected), "{expected}: {err}");
    }
    let done = done.json();
    for (name, count) in
        [("stored", 2), ("replaced", 0), ("incomplete", 1), ("skipped", 1), ("without_zone", 1)]
    {
        assert_eq!(done[name], count, "{name}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!((&report["skipped"], &report["refusals"][1]["line"]), (&1.into(), &2.into()));
    // Steps that are not known are told of, and are no failure.
    let levels =
        files.write("levels.ndjson", "{\"name\":\"l\",\"docSets\":[{\"idDocSetType\":\"SELFIE3\"}]}\n");
    run(&["import", "--db", &db, "--kind", "levels", &levels])
        .code(0)
        .err_has("levels.ndjson:1: docSets[0].idDocSetType: found `SELFIE3`");
}

#[test]
fn records_are_exported_and_imported_again() {
    let files = Files::new();
    let (db, other) = (files.path("cases.db"), files.path("other.db"));
    for kind in ["levels", "applicants", "documents", "aml-cases"] {
        run(&["import", "--db", &db, "--kind", kind, &format!("tests/data/domain/{kind}.ndjson")]).code(0);
        let first = files.path(&format!("{kind}.ndjson.gz"));
        run(&["export", &db, "--kind", kind, "-o", &first]).code(0);
        run(&["import", "--db", &other, "--kind", kind, &first]).code(0);
        let lines = |db: &str| run(&["export", db, "--kind", kind, "-o", "-"]).code(0).out;
        assert_eq!(lines(&other), lines(&db), "{kind}");
        let sample = fs::read_to_string(format!("tests/data/domain/{kind}.ndjson")).unwrap();
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&lines(&db)), sorted(&sample), "{kind}");
    }
    let export = ["export", &db, "--kind", "levels", "-o"];
    run(&[&export[..], &["x.parquet"]].concat()).code(2).err_has("NDJSON");
    run(&[&export[..], &["-", "--where", "status = open"]].concat())
        .code(2)
        .err_has("records are written whole");
    let cases = files.write("cases.ndjson", "{\"id\":\"a\"}\n");
    run(&["export", &cases, "--kind", "levels", "-o", "-"]).code(2).err_has("one database");
}

#[test]
fn what_is_no_whole_database_is_named() {
    let files = Files::new();
    let db = files.path("cases.db");
    let cases = files.write("a.ndjson", "{\"id\":\"a\"}\n");
    run(&["import", "--db", &db, &cases]).code(0);
    run(&["verify", "--db", &files.path("none.db")]).code(1).err_has("none.db");
    run(&["import", "--db", &cases, &cases]).code(1).err_has("a.ndjson: not a database of cases");
    run(&["search", &files.path("none.db")]).code(1).err_has("there is no such database");
    let mut bytes = fs::read(&db).unwrap();
    let at = bytes.windows(10).position(|window| window == b"{\"id\":\"a\"}").unwrap();
    bytes[at + 7] = b'b';
    let damaged = files.write("damaged.db", &bytes);
    run(&["search", &damaged]).code(1).err_has("damaged.db: document 0 has a wrong checksum");
    run(&["verify", "--db", &damaged]).code(1).err_has("damaged.db: ");
    let cut = files.write("cut.db", &bytes[..bytes.len() / 3]);
    run(&["search", &cut]).code(1).err_has("cut.db: ");
}

#[test]
fn statements_are_printed_for_programs_and_to_run() {
    let printed =
        run(&["sql", "--dialect", "postgres", "--where", "name = \"it's\" and tags in (a, b)", "--count"])
            .code(0)
            .json();
    assert_eq!(printed["params"], serde_json::json!(["it's", ["a", "b"]]));
    assert_eq!(printed["count"]["params"], printed["params"]);
    assert!(printed["sql"].as_str().unwrap().ends_with("ORDER BY \"place\" LIMIT 100"));

    let literal =
        run(&["sql", "--dialect", "clickhouse", "--where", "name = \"it's\"", "--literal", "--table", "a.b"])
            .code(0);
    assert_eq!(
        literal.out,
        "SELECT `id`, `document` FROM `a`.`b` WHERE `name` = 'it\\'s' ORDER BY `place` LIMIT 100;\n"
    );

    let requests = b"{\"body\":{\"ids\":[]}}\n{\"body\":{}}\n";
    let lines = run_with(&["sql", "--dialect", "spark", "--requests", "-"], requests).code(0).lines();
    assert_eq!(
        lines[0]["sql"],
        "SELECT `id`, `document` FROM `cases` WHERE FALSE ORDER BY `place` LIMIT 100"
    );
    assert_eq!(lines[1]["code"], 400);

    assert!(run(&["sql", "--dialect", "oracle"]).code(2).err.contains("duckdb"));
    assert!(run(&["sql", "--dialect", "duckdb", "--where", "nam = a"]).code(2).err.contains("did you mean"));
    assert!(
        run(&["ddl", "--dialect", "duckdb", "--table", "x; drop table y"])
            .code(2)
            .err
            .contains("expected one to three words")
    );
    assert!(
        run(&["ddl", "--dialect", "postgres", "--file", "it's.tsv"]).code(0).out.contains("FROM 'it''s.tsv'")
    );
}

#[test]
fn rows_are_exported_for_other_engines() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("cases.ndjson"), "{\"id\":\"b\",\"tags\":[\"x\"]}\n{\"id\":\"a\"}\n").unwrap();
    run(&["export", &at("cases.ndjson"), "-o", &at("cases.tsv")]).code(0);
    let rows = fs::read_to_string(at("cases.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split('\t').collect()).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0][0], rows[0][1], rows[1][0], rows[1][1]), ("0", "b", "1", "a"));
    assert_eq!(rows[0].last().unwrap(), &r#"{"id":"b","tags":["x"]}"#);

    run(&["export", &at("cases.ndjson"), "--flat", "-o", &at("cases.parquet")]).code(0);
    // Rows for other engines are no cases: read as such, most fields would be absent.
    run(&["search", &at("cases.parquet")]).code(3).err_has("rows laid out for SQL engines");
    run(&["search", &at("cases.parquet"), "--lenient"]).code(3).err_has("rows laid out for SQL engines");
    assert!(fs::read(at("cases.parquet")).unwrap().starts_with(b"PAR1"));
    assert!(
        run(&["export", &at("cases.ndjson"), "--flat", "-o", &at("x.ndjson")]).code(2).err.contains("--flat")
    );

    fs::write(at("zero.ndjson"), "{\"id\":\"b\",\"name\":\"a\\u0000\"}\n").unwrap();
    let refused = run(&["export", &at("zero.ndjson"), "-o", &at("zero.tsv")]).code(3);
    assert!(refused.err.contains("name: found a zero character"), "{}", refused.err);
    assert!(!folder.path().join("zero.tsv").exists());
    run(&["export", &at("zero.ndjson"), "--flat", "-o", &at("zero.parquet")]).code(0);
}

#[test]
fn nothing_is_written_over_a_database() {
    let files = Files::new();
    fs::write(files.path("cases.ndjson"), "{\"id\":\"a\"}\n").unwrap();
    let database = files.path("cases.db");
    run(&["import", "--db", &database, &files.path("cases.ndjson")]).code(0);
    let before = fs::read(&database).unwrap();
    run(&["export", &database, "-o", &database]).code(2).err_has("is a database");
    run(&["generate", "--cases", "1", "-o", &database]).code(2).err_has("is a database");
    run(&["token", "app", "--file", "-", "--allow", "viewCases"]).code(2).err_has("`-` is no file");
    assert!(fs::read(&database).unwrap() == before);
}

#[test]
fn a_filter_that_selects_nothing_for_a_visible_reason_says_so() {
    let files = Files::new();
    let cases = files.write(
        "cases.ndjson",
        "{\"id\":\"a\",\"name\":\"Jose\u{301}\",\"caseReview\":{\"status\":\"open\"}}\n\
         {\"id\":\"b\",\"name\":\"Maria Garcia\",\"caseReview\":{\"status\":\"open\"}}\n",
    );
    let database = files.path("cases.db");
    run(&["import", "--db", &database, &cases]).code(0);
    for source in [&cases, &database] {
        for (filter, hint) in [
            ("status = Open", "2 cases have `\"open\"`, with other capitals"),
            ("name = 'Jos\u{e9}'", "1 case has it in another form of Unicode"),
            ("name in ('Jose\u{301} ')", "has blanks around it"),
            ("name in (garcia)", "it is a part of 1 longer one"),
            (
                "status = open and status = blocked",
                "its criteria on `caseReview.status` contradict each other",
            ),
            ("name = null", "a test for absence is not in the language"),
            ("clientId = x", "no case has a value of `clientId`"),
        ] {
            for command in ["search", "explain"] {
                run(&[command, source, "--where", filter]).code(0).err_has(hint);
            }
            run(&["why", source, "--id", "a", "--where", filter]).code(0).err_has(hint);
            run(&["export", source, "--where", filter, "-o", "-"]).code(0).err_has(hint);
        }
        assert_eq!(run(&["search", source, "--where", "status = open"]).code(0).err, "");
        assert_eq!(run(&["search", source, "--where", "name = unheard"]).code(0).err, "");
    }
    let requests = files
        .write("requests.ndjson", r#"{"body":{"criteria":[{"field":"status","op":"=","values":["Open"]}]}}"#);
    run(&["bench", &cases, "--requests", &requests, "--runs", "1"])
        .code(0)
        .err_has("warning: request 1: criteria[0]");
    assert_eq!(run(&["search", &cases, "--requests", &requests]).code(0).err, "");
}

#[test]
fn warnings_can_be_denied() {
    for (filter, code) in [("status = open", 0), ("status = Open", 4), ("name = null", 4), ("status", 2)] {
        for format in ["json", "table"] {
            run(&["check", "--where", filter, "--format", format, "--deny-warnings"]).code(code);
        }
    }
    run(&["check", "--where", "status = Open"]).code(0);
    let rounded = run(&["check", "--where", "createdByRule.revision = 9007199254740993"]).code(0).json();
    assert_eq!(rounded["warnings"][0]["kind"], "rounded_number");
}

#[test]
fn what_an_import_met_is_told_by_field() {
    let files = Files::new();
    let lines: String = (0..50)
        .map(|n| {
            format!(
                "{{\"id\":\"{n}\",\"status\":\"open\",\"createdAt\":\"2026-01-02 10:00:00\",\
                 \"applicantInfo\":{{\"dob\":\"1980\"}},\"createdByRule\":{{\"revision\":9007199254740993}}}}\n"
            )
        })
        .collect();
    let cases = files.write("cases.ndjson", &lines);
    let (database, report) = (files.path("cases.db"), files.path("report.json"));
    let imported = run(&["import", "--db", &database, &cases, "--report", &report]).code(0);
    let imported = imported
        .err_has("warning: status: 50 cases have this member, which is no field and is not searched; did you mean `caseReview.status`?")
        .err_has("warning: createdAt: 50 cases have a timestamp without a time zone")
        .err_has("warning: applicantInfo.dob: 50 cases have Unix milliseconds that look like a year")
        .err_has("warning: createdByRule.revision: 50 cases have a number that a double cannot hold")
        .err_has("cases.ndjson:1)");
    let notes = imported.json()["notes"].clone();
    assert_eq!(notes.as_array().unwrap().len(), 4);
    let written: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!(written["notes"], notes);
    // A search speaks of what its filter is about.
    let found = run(&["search", &cases, "--where", "status = open"]).code(0);
    let found = found.err_has("hint: status: 50 cases have this member").err_has("no case has a value of");
    assert!(!found.err.contains("createdAt"), "{}", found.err);
    let all = run(&["search", &cases, "--format", "ids"]).code(0);
    assert_eq!(all.err, "");
    // Sample cases are as they should be.
    let sample = files.path("sample.ndjson");
    run(&["generate", "--cases", "2000", "-o", &sample]).code(0);
    let imported = run(&["import", "--db", &files.path("sample.db"), &sample]).code(0);
    assert_eq!(imported.err, "");
}

#[test]
fn faults_of_one_kind_are_one_line() {
    let files = Files::new();
    let lines: String = (0..50)
        .map(|n| format!("{{\"id\":\"{n}\",\"createdAt\":\"soon\",\"tags\":[\"a\",{n},{n}]}}\n"))
        .collect();
    let cases = files.write("cases.ndjson", lines + "{}\n{}\n");
    let run = run(&["search", &cases, "--lenient", "--format", "ids"]).code(3);
    assert_eq!(run.err.lines().count(), 4, "{}", run.err);
    run.err_has("cases.ndjson:1: createdAt: found `soon`")
        .err_has("[bad_timestamp] (and 49 more like it)")
        .err_has("(and 99 more like it)")
        .err_has("left out: ")
        .err_has("(and 1 more like it)");
}
