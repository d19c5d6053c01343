//! Tests failures of commands: the exit status, the message, and the position in the message.

use std::fs;
use std::io::Write;
use std::process::{self};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};

use super::run::{Folder, THREE, gzip, run, run_with, zst};

#[test]
fn a_failed_operation_ends_with_1_and_names_the_file() {
    let files = Folder::new();
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
    // A file that cannot be read to its end is not named if an earlier file has an error.
    let early = files.write("early.ndjson", "{\"id\":\"a\",\"tags\":3}\n");
    let long_gz = files.write("long.ndjson.gz", {
        let mut packed = gzip(&THREE.as_bytes().repeat(200));
        packed.truncate(packed.len() - 10);
        packed
    });
    run(&["search", &long_gz]).code(1).err_has("long.ndjson.gz");
    for _ in 0..8 {
        run(&["search", &early, &long_gz]).code(3).err_has("early.ndjson:1");
    }
    run(&["search", "missing.parquet"]).code(1).err_has("missing.parquet");
    run(&["search", "cases.parquet.gz"]).code(1).err_has("compresses its columns itself");
    run(&["search", "cases.db"]).code(1).err_has("there is no such database");
    run(&["search", "cases.csv"]).code(1).err_has("cases.csv: No such file");
    run(&["search", "cases.xlsx"]).code(1).err_has(".xlsx").err_has(".ndjson or .json");
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
fn a_bad_filter_ends_with_2_and_a_caret_under_the_error() {
    let files = Folder::new();
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
    let files = Folder::new();
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
fn rejected_cases_end_with_3_and_name_line_and_path() {
    let files = Folder::new();
    let good = files.write("good.ndjson", THREE);
    let bad = files
        .write("bad.ndjson", "{\"id\":\"d\"}\n\n{\"id\":\"e\",\"caseReview\":{\"startDate\":\"soon\"}}\n");
    let run = run(&["search", &good, &bad]).code(3);
    assert_eq!(run.out, "");
    run.err_has(&format!("{bad}:3: caseReview.startDate: found `soon`")).err_has("--lenient");
}

#[test]
fn lenient_keeps_valid_parts_lists_malformed_ones_and_ends_with_3() {
    let cases = "{\"id\":\"a\",\"createdAt\":\"soon\"}\n{\"name\":\"no id\"}\nnot json\n{\"id\":\"b\"}\n";
    let run = run_with(&["search", "-", "--lenient", "--count"], cases.as_bytes()).code(3);
    assert_eq!(run.json()["list"]["totalItems"], 2);
    let run = run.err_has("2 cases left out, 1 case kept without malformed fields");
    let run = run.err_has("kept: standard input:1: createdAt: found `soon`");
    run.err_has("left out: standard input:2: ").err_has("left out: standard input:3: ");
    let run = run_with(&["search", "-", "--lenient"], THREE.as_bytes()).code(0);
    assert_eq!(run.err, "");
}

#[test]
fn a_zip_bomb_is_rejected() {
    let files = Folder::new();
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb.write_all(b"{\"id\":\"").unwrap();
    let chunk = vec![b'a'; 1 << 20];
    for _ in 0..64 {
        bomb.write_all(&chunk).unwrap();
    }
    let bomb = files.write("bomb.ndjson.gz", bomb.finish().unwrap());
    run(&["search", &bomb]).code(3).err_has("case_too_large");
}

#[test]
fn notes_of_an_import_are_listed_by_field() {
    let files = Folder::new();
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
        .err_has("warning: status: 50 documents have this member, which is not a field and is not searched; did you mean `caseReview.status`?")
        .err_has("warning: createdAt: 50 documents have a timestamp without a time zone")
        .err_has("warning: applicantInfo.dob: 50 documents have Unix milliseconds that look like a year")
        .err_has("warning: createdByRule.revision: 50 documents have a number that a double cannot hold")
        .err_has("cases.ndjson:1)");
    let notes = imported.json()["notes"].clone();
    assert_eq!(notes.as_array().unwrap().len(), 4);
    let written: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!(written["notes"], notes);
    // A search prints notes on the fields of its filter only.
    let found = run(&["search", &cases, "--where", "status = open"]).code(0);
    let found =
        found.err_has("hint: status: 50 documents have this member").err_has("no document has a value of");
    assert!(!found.err.contains("createdAt"), "{}", found.err);
    // A search of the database prints such hints, too, even if it finds cases. They come from the stored cases.
    let hint = "hint: criteria[0]: 50 of 50 cases have the member `status`, which is not a field and is not searched; did you mean `caseReview.status`?";
    for filter in ["status = open", "status <> open"] {
        for command in ["search", "explain"] {
            let said = run(&[command, &database, "--where", filter]).code(0).err_has(hint);
            assert_eq!(said.err.matches("the member").count(), 1, "{}", said.err);
        }
        run(&["export", &database, "--where", filter, "-o", "-"]).code(0).err_has(hint);
    }
    assert_eq!(run(&["search", &database, "--where", "priority <> low", "--format", "ids"]).code(0).err, "");
    let all = run(&["search", &cases, "--format", "ids"]).code(0);
    assert_eq!(all.err, "");
    // Sample cases give no notes.
    let sample = files.path("sample.ndjson");
    run(&["generate", "--cases", "2000", "-o", &sample]).code(0);
    let imported = run(&["import", "--db", &files.path("sample.db"), &sample]).code(0);
    assert_eq!(imported.err, "");
}

#[test]
fn errors_of_one_kind_are_one_line() {
    let files = Folder::new();
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

#[test]
fn an_error_among_documents_over_several_lines_has_its_line_and_path() {
    let folder = Folder::new();
    folder.write(
        "cases.json",
        "{\n  \"id\": \"a\"\n}\n{\n  \"id\": \"b\",\n  \"createdAt\": \"yesterday\"\n}\n{\n  \"id\": \"c\",\n  \"x\": oops\n}\n{\n  \"id\": \"d\"\n}\n",
    );
    folder.run(&["search", "cases.json"]).code(3).err_has("cases.json:6: createdAt: found `yesterday`");
    let lenient = folder.run(&["search", "cases.json", "--lenient", "--format", "ids"]).code(3);
    assert_eq!(lenient.out, "a\nb\nd\n");
    let lenient = lenient.err_has("1 case left out, 1 case kept without malformed fields");
    lenient.err_has("kept: cases.json:6: createdAt: ").err_has("left out: cases.json:10: x: found `oops`");
}

#[test]
fn files_that_are_not_text_are_named_with_advice() {
    let folder = Folder::new();
    let text = "{\"id\":\"a\"}\n";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    folder.write("unmarked.ndjson", &bytes);
    folder.write("marked.ndjson", [&[0xff, 0xfe], bytes.as_slice()].concat());
    for (name, words) in
        [("unmarked.ndjson", "`iconv -f UTF-16LE -t UTF-8`"), ("marked.ndjson", "`iconv -f UTF-16 -t UTF-8`")]
    {
        for args in [&["search", name][..], &["search", name, "--lenient"]] {
            let run = folder.run(args).code(3).err_has("found text in UTF-16").err_has(words);
            assert!(!run.err.contains("with --lenient"), "{}", run.err);
        }
    }
    for name in ["items", "data", "list"] {
        folder.write("page.json", json!({"total": 1, name: [{"id": "a"}]}).to_string());
        folder.run(&["search", "page.json"]).code(3).err_has(&format!("`jq -c '.{name}[]'`"));
    }
}

#[test]
fn export_and_bench_accept_what_their_errors_advise() {
    let folder = Folder::new();
    folder.write("cases.ndjson", "{\"id\":\"a\"}\noops\n{\"id\":\"b\"}\n");
    folder.write("requests.ndjson", "{\"body\":{\"ids\":[\"a\"]}}\n");
    let commands = [
        &["export", "cases.ndjson", "-o", "out.ndjson"][..],
        &["bench", "cases.ndjson", "--requests", "requests.ndjson", "--runs", "1"],
    ];
    for command in commands {
        folder.run(command).code(3).err_has("with --lenient such cases are left out");
        folder
            .run(&[command, &["--lenient"]].concat())
            .code(3)
            .err_has("1 case left out")
            .err_has("cases.ndjson:2");
    }
    assert_eq!(folder.read("out.ndjson"), b"{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
}

#[test]
fn the_value_of_a_parameter_is_marked_whole() {
    for (flag, value, marks) in [
        ("--order", "createdAt,-nothing", "           ^^^^^^^"),
        ("--order", "nothing,neither", "^^^^^^^"),
        ("--order", "createdAt desc", "^^^^^^^^^^^^^^"),
        ("--order", "-nothing", " ^^^^^^^ "),
        ("--limit", "1 000", "^^^^^"),
    ] {
        run(&["check", "--format", "table", flag, value]).code(2).err_has(&format!("  | {marks}"));
    }
}

#[cfg(unix)]
#[test]
fn a_windows_path_gets_advice() {
    for args in [
        &["search", "C:\\data\\cases.ndjson"][..],
        &["search", "C:\\data\\cases"],
        &["search", "--db", "C:\\data\\cases.db"],
        &["verify", "C:\\data\\cases.db"],
        &["search", "-", "--body", "C:\\data\\cases.json"],
    ] {
        run(args).code(1).err_has(args.last().unwrap()).err_has("under WSL write /mnt/c/data/cases");
    }
    // The path as a shell leaves it if it was not quoted.
    run(&["search", "C:datacases.ndjson"]).code(1).err_has("write it as /mnt/c/…");
}
