//! The command line in the hands of people and scripts: durations, layouts of files, pages, endings, advice and widths.

use std::fs;
use std::io::Write;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use tempfile::TempDir;
use unicode_width::UnicodeWidthStr;

/// A folder in which the command line runs.
struct Folder(TempDir);

/// What a run printed, and its exit status.
#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Folder {
    /// A folder with `cases.ndjson`, a thousand sample cases.
    fn with_cases() -> Self {
        let folder = Self(TempDir::new().unwrap());
        folder.run(&["generate", "--cases", "1000", "-o", "cases.ndjson"]).code(0);
        folder
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("casefilter"));
        command.args(args).current_dir(self.0.path()).env_remove("COLUMNS");
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        ended(&mut self.command(args))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    fn ids(&self, file: &str) -> String {
        self.run(&["search", file, "--format", "ids", "--limit", "all"]).code(0).out
    }
}

fn ended(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Run {
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

    #[track_caller]
    fn err_is(self, whole: &str) -> Self {
        assert_eq!(self.err, whole);
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

// Durations.

#[test]
fn flags_and_variables_take_durations_of_one_form() {
    let folder = Folder::with_cases();
    let serve = ["serve", "--db", "none.db", "--tokens", "none.json"];
    for flag in
        ["clock-window", "read-timeout", "write-timeout", "turn-timeout", "grace", "source-statement-timeout"]
    {
        let variable = format!("CASEFILTER_{}", flag.to_uppercase().replace('-', "_"));
        let flag = format!("--{flag}");
        for sound in ["3", "0", "500ms", "3s", "20m", "1h", "7d"] {
            // Only the file of tokens is missing then.
            folder.run(&[&serve[..], &[&flag, sound]].concat()).code(1).err_has("none.json");
            ended(folder.command(&serve).env(&variable, sound)).code(1).err_has("none.json");
        }
        for bad in ["", "3x", "1.5s", "-1s", "1h30m", "40000d"] {
            let flag = format!("{flag}={bad}");
            folder.run(&[&serve[..], &[&flag]].concat()).code(2).err_has("expected ");
        }
        ended(folder.command(&serve).env(&variable, "3x"))
            .code(2)
            .err_has("ms, s, m, h or d, such as 500ms, 3s, 20m, 1h or 7d; a bare number is ");
    }
    let share = |expires| {
        folder.run(&["token", "share", "--db", "none.db", "--applicant", "a", "--expires", expires])
    };
    share("90s").code(1).err_has("none.db");
    share("20").code(2).err_has("such as 500ms, 3s, 20m, 1h or 7d");
}

// Layouts of files.

#[test]
fn cases_are_read_in_every_layout_of_their_text() {
    let folder = Folder::with_cases();
    let lines = folder.read("cases.ndjson");
    let ids = folder.ids("cases.ndjson");
    let values: Vec<Value> =
        lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(values.len(), 1000);
    let pretty: String = values.iter().map(|value| format!("{value:#}\n")).collect();
    let answer = |page: &[Value]| json!({"list": {"items": page, "pageInfo": {"limit": 7, "offset": 0}}});
    let answers: String = values.chunks(7).map(|page| format!("{}\n", answer(page))).collect();
    let pretty_answers: String = values.chunks(300).map(|page| format!("{:#}\n", answer(page))).collect();
    let arrays: String = values.chunks(9).map(|page| Value::from(page).to_string()).collect();
    for text in [pretty, answers, pretty_answers, arrays, String::from_utf8(lines).unwrap()] {
        let start: String = text.chars().take(20).collect();
        folder.write("plain.json", &text);
        folder.write("lines.jsonl", &text);
        folder.write("packed.ndjson", gzip(text.as_bytes()));
        folder.write("packed.json", zstd::encode_all(text.as_bytes(), 0).unwrap());
        folder.write("packed.jsonl.gz", gzip(text.as_bytes()));
        for name in ["plain.json", "lines.jsonl", "packed.ndjson", "packed.json", "packed.jsonl.gz"] {
            assert_eq!(folder.ids(name), ids, "{start} in {name}");
        }
        let args = ["search", "-", "--format", "ids", "--limit", "all"];
        for stdin in [text.clone().into_bytes(), gzip(text.as_bytes())] {
            let run = ended(folder.command(&args).write_stdin(stdin)).code(0);
            assert_eq!(run.out, ids, "{start} on standard input");
        }
    }
    folder.run(&["import", "--db", "cases.db", "packed.ndjson"]).code(0);
    assert_eq!(folder.ids("cases.db"), ids);
}

#[test]
fn a_fault_among_documents_over_several_lines_has_its_line_and_path() {
    let folder = Folder(TempDir::new().unwrap());
    folder.write(
        "cases.json",
        "{\n  \"id\": \"a\"\n}\n{\n  \"id\": \"b\",\n  \"createdAt\": \"yesterday\"\n}\n{\n  \"id\": \"c\",\n  \"x\": oops\n}\n{\n  \"id\": \"d\"\n}\n",
    );
    folder.run(&["search", "cases.json"]).code(3).err_has("cases.json:6: createdAt: found `yesterday`");
    let lenient = folder.run(&["search", "cases.json", "--lenient", "--format", "ids"]).code(3);
    assert_eq!(lenient.out, "a\nb\nd\n");
    let lenient = lenient.err_has("1 case left out, 1 kept with a field counted as absent");
    lenient.err_has("kept: cases.json:6: createdAt: ").err_has("left out: cases.json:10: x: found `oops`");
}

#[test]
fn what_is_no_text_of_cases_is_named_with_what_to_do() {
    let folder = Folder(TempDir::new().unwrap());
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

// Pages.

#[test]
fn a_page_that_was_cut_says_so_and_every_case_can_be_had() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    for cases in ["cases.ndjson", "cases.db"] {
        let ids = folder.run(&["search", cases, "--format", "ids"]).code(0);
        assert_eq!(ids.out.lines().count(), 100);
        ids.err_is(
            "100 of 1,000 selected cases written; --limit all writes them all, --offset 100 goes on\n",
        );
        let json = folder.run(&["search", cases, "--offset", "50", "--limit", "10"]).code(0);
        json.err_is("10 of 1,000 selected cases written; --limit all writes them all, --offset 60 goes on\n");
        for quiet in [
            &["--limit", "0", "--count"][..],
            &["--offset", "900"],
            &["--limit", "1000"],
            &["--limit", "all"],
            &["--count"],
            &["--format", "table"],
        ] {
            folder.run(&[&["search", cases][..], quiet].concat()).code(0).err_is("");
        }

        let order = ["--order", "-createdAt", "--where", "priority = high"];
        let search = |more: &[&str]| folder.run(&[&["search", cases][..], &order, more].concat()).code(0);
        let whole = search(&["--limit", "1000"]).json()["list"]["items"].clone();
        let count = whole.as_array().unwrap().len();
        assert!(count > 100, "{count}");
        for limit in ["all", "20000"] {
            let all = search(&["--limit", limit, "--count"]).json();
            assert_eq!(all["list"]["items"], whole);
            assert_eq!(all["list"]["totalItems"], count);
            let shown = if limit == "all" { count } else { 20_000 };
            assert_eq!(all["list"]["pageInfo"], json!({"limit": shown, "offset": 0}));
            let lines = search(&["--limit", limit, "--format", "ndjson"]).out;
            let items: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(Value::from(items), whole);
            let ids: Vec<&str> =
                whole.as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect();
            assert_eq!(search(&["--limit", limit, "--format", "ids"]).out.lines().collect::<Vec<_>>(), ids);
            let table = search(&["--limit", limit, "--format", "table"]).out;
            assert_eq!(table.lines().filter(|line| ids.iter().any(|id| line.starts_with(id))).count(), count);
            assert!(table.contains(&format!("{count} of {count} selected")), "{table}");
            let behind = search(&["--limit", limit, "--format", "ids", "--offset", "5"]).out;
            assert_eq!(behind.lines().collect::<Vec<_>>(), ids[5..]);
        }
    }
    folder.run(&["search", "cases.ndjson", "--limit", "every"]).code(2).err_has("--limit");
    folder.run(&["search", "cases.ndjson", "--limit", "10k"]).code(2).err_has("did you mean `10000`");
    folder
        .run(&["search", "cases.ndjson", "--order", "createdAt desc"])
        .code(2)
        .err_has("did you mean `-createdAt`");
}

#[test]
fn why_tells_the_place_of_a_case_in_the_order() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    let all = folder
        .run(&["search", "cases.ndjson", "--order", "-createdAt", "--format", "ids", "--limit", "all"])
        .out;
    let id = all.lines().nth(500).unwrap();
    for cases in ["cases.ndjson", "cases.db"] {
        let why = |more: &[&str]| {
            folder.run(&[&["why", cases, "--id", id, "--order", "-createdAt"][..], more].concat()).code(0)
        };
        let table = why(&["--limit", "10", "--format", "table"]).out;
        let verdict =
            format!("The case {id} is selected, 501st of 1,000 by -createdAt: not among the first 10.");
        assert_eq!(table.lines().next(), Some(verdict.as_str()));
        let table = why(&["--offset", "500", "--limit", "1", "--format", "table"]).out;
        assert!(
            table.starts_with(&format!("The case {id} is selected, 501st of 1,000 by -createdAt.\n")),
            "{table}"
        );
        let table = why(&["--offset", "501", "--format", "table"]).out;
        assert!(table.contains("not among the 100 after the first 501."), "{table}");
        let page = why(&["--limit", "10"]).json()["page"].clone();
        let expected = json!({"position": 501, "selected": 1000, "order": "-createdAt", "offset": 0, "limit": 10, "shown": false});
        assert_eq!(page, expected);
        assert_eq!(why(&["--limit", "501"]).json()["page"]["shown"], true);
        let not = why(&["--where", "status = nothing"]).json();
        assert_eq!((&not["selected"], &not["page"]), (&json!(false), &Value::Null));
    }
}

// What files are written.

#[test]
fn an_output_holds_what_its_ending_says_or_is_refused() {
    let folder = Folder::with_cases();
    let ids = folder.ids("cases.ndjson");
    for name in ["out.jsonl", "out.jsonl.gz", "out.json", "out.json.zst", "out.ndjson.zst", "out.parquet"] {
        for command in [&["export", "cases.ndjson", "--order", ""][..], &["generate", "--cases", "1000"]] {
            folder.run(&[command, &["-o", name]].concat()).code(0);
            assert_eq!(folder.ids(name), ids, "{name}");
        }
    }
    folder.run(&["export", "cases.ndjson", "--order", "", "-o", "out.json"]).code(0);
    let array: Vec<Value> = serde_json::from_slice(&folder.read("out.json")).unwrap();
    assert_eq!(array.len(), 1000);
    folder.run(&["export", "cases.ndjson", "--where", "status = none", "-o", "none.json"]).code(0);
    assert_eq!(folder.read("none.json"), b"[]\n");
    for name in ["out.csv", "out.xlsx", "out", "out.db", "out.gz", "out.parquet.gz", "out.txt"] {
        for command in [&["export", "cases.ndjson"][..], &["generate", "--cases", "3"]] {
            let run = folder.run(&[command, &["-o", name]].concat()).code(2);
            run.err_has(name).err_has("expected .ndjson, .jsonl, .json").err_has(".parquet");
            assert!(!folder.0.path().join(name).exists(), "{name}");
        }
    }
    folder.run(&["generate", "--cases", "3", "-o", "out.tsv"]).code(2).err_has("found the ending .tsv");
}

#[test]
fn export_and_bench_take_the_advice_of_their_errors() {
    let folder = Folder(TempDir::new().unwrap());
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

// Advice.

#[test]
fn ids_that_no_case_has_are_named() {
    let folder = Folder(TempDir::new().unwrap());
    let cases: String = (0..200).map(|number| format!("{{\"id\":\"c{number}\"}}\n")).collect();
    folder.write("cases.ndjson", cases);
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    let ids: Vec<String> = (0..202).map(|number| format!("c{number}")).collect();
    folder.write("ids.json", json!({ "ids": ids }).to_string());
    for cases in ["cases.ndjson", "cases.db"] {
        let said = "2 of 202 ids in the filter are not in the data: c200, c201\n";
        let asked = ["--body", "ids.json"];
        folder.run(&[&["search", cases, "--limit", "all"][..], &asked].concat()).code(0).err_is(said);
        folder.run(&[&["export", cases, "-o", "-"][..], &asked].concat()).code(0).err_is(said);
        folder
            .run(&["search", cases, "--where", "id = c1 or id = zz"])
            .code(0)
            .err_is("1 of 2 ids in the filter is not in the data: zz\n");
        folder.run(&["search", cases, "--where", "id = c1"]).code(0).err_is("");
    }
}

#[test]
fn scripts_are_told_of_bad_requests_by_the_status_if_they_ask() {
    let folder = Folder(TempDir::new().unwrap());
    folder.write("cases.ndjson", "{\"id\":\"a\"}\n");
    folder.write("bad.ndjson", "{\"body\":{\"ids\":[\"a\"]}}\n{\"body\":\"status = open\"}\n");
    folder.write("good.ndjson", "{\"body\":{\"ids\":[\"a\"]}}\n");
    let search = ["search", "cases.ndjson", "--requests"];
    for (file, status) in [("bad.ndjson", 2), ("good.ndjson", 0)] {
        let plain = folder.run(&[&search[..], &[file]].concat()).code(0);
        let told = folder.run(&[&search[..], &[file, "--fail-on-error"]].concat()).code(status);
        assert_eq!(told.out, plain.out);
    }
    folder.run(&["search", "cases.ndjson", "--fail-on-error"]).code(2).err_has("--requests");
}

#[test]
fn wrong_arguments_are_told_what_to_write() {
    let folder = Folder::with_cases();
    folder.run(&["search", "cases.ndjson", "--body", "{\"criteria\":[]}"]).code(2).err_has("`--body -`");
    folder
        .run(&["search", "cases.ndjson", "--where", "status", "=", "open"])
        .code(2)
        .err_has("--where 'status = open'");
    let piped =
        ended(folder.command(&["search"]).write_stdin("{\"id\":\"a\"}\n").env_remove("CASEFILTER_SOURCE"));
    piped.code(2).err_has("`-` to read them from standard input");
}

// Widths.

#[test]
fn tables_heed_the_width_that_a_pipe_is_told() {
    let folder = Folder::with_cases();
    let id = folder.ids("cases.ndjson").lines().next().unwrap().to_owned();
    let filter = "status = open and (tags in (vip, cash, crypto, manual, \"a rather long tag\") or createdAt > \"2023-05-05 00:00:00\")";
    for width in [60_usize, 80, 100, 120, 200] {
        for args in [
            &["search", "cases.ndjson", "--format", "table"][..],
            &["search", "cases.ndjson", "--format", "table", "--limit", "all"],
            &["fields", "--format", "table"],
            &["why", "cases.ndjson", "--id", &id, "--where", filter, "--format", "table"],
            &[
                "explain",
                "cases.ndjson",
                "--where",
                filter,
                "--analyze",
                "--order",
                "-createdAt",
                "--format",
                "table",
            ],
        ] {
            let run = ended(folder.command(args).env("COLUMNS", width.to_string())).code(0);
            let wide: Vec<&str> = run.out.lines().filter(|line| line.width() > width).collect();
            assert_eq!(wide, [""; 0], "{args:?} at {width}");
        }
    }
    let search = |width: &str| {
        let args = ["search", "cases.ndjson", "--format", "table"];
        ended(folder.command(&args).env("COLUMNS", width)).code(0).out.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        search("80").split_whitespace().collect::<Vec<_>>(),
        ["id", "status", "priority", "createdAt", "applicant"]
    );
    assert!(search("120").contains("assignee") && search("120").contains("amount"));
    assert!(search("200").ends_with("name"));
}
