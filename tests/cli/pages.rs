//! Tests layouts of input files, pages of any length, and output for terminals of different widths.

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use std::io::Read;
use std::process::{self, Stdio};
use unicode_width::UnicodeWidthStr;

use super::run::{Folder, ended, gzip};

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
fn a_page_that_was_cut_says_so_and_limit_all_has_every_case() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    for cases in ["cases.ndjson", "cases.db"] {
        let ids = folder.run(&["search", cases, "--format", "ids"]).code(0);
        assert_eq!(ids.out.lines().count(), 100);
        ids.err_is(
            "100 of 1,000 selected cases written; --limit all writes them all, --offset 100 continues\n",
        );
        let json = folder.run(&["search", cases, "--offset", "50", "--limit", "10"]).code(0);
        json.err_is(
            "10 of 1,000 selected cases written; --limit all writes them all, --offset 60 continues\n",
        );
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
fn tables_in_a_pipe_fit_the_width_of_the_variable_columns() {
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

const WHY_80: &str = "\
The case a is selected, 1st of 1 in stored order.

✓ all of                                                                criteria
✓   createdAt < \"2024-01-01 00:00:00\"        \"2023-01-03 00:00:37\"   criteria[0]
✓   any of                                                           criteria[1]
✓     tags $contains \"vip\", \"cash\", \"a rather long tag\", \"manual\"
        \"cash\", \"crypto\", \"watch-latam\", \"sanctions-ios\", \"name-change-q2\",
        \"high-risk\"   criteria[1].children[0]
✗     all of                                             criteria[1].children[1]
✗       priority = \"high\"            \"low\"   criteria[1].children[1].children[0]
✓       caseReview.status $contains \"open\", \"blocked\"   \"open\"
          criteria[1].children[1].children[1]
";

const WHY_60: &str = "\
The case a is selected, 1st of 1 in stored order.

✓ all of                                            criteria
✓   createdAt < \"2024-01-01 00:00:00\"
      \"2023-01-03 00:00:37\"   criteria[0]
✓   any of                                       criteria[1]
✓     tags $contains \"vip\", \"cash\", \"a rather long tag\",
        \"manual\"   \"cash\", \"crypto\", \"watch-latam\",
        \"sanctions-ios\", \"name-change-q2\", \"high-risk\"
        criteria[1].children[0]
✗     all of                         criteria[1].children[1]
✗       priority = \"high\"   \"low\"
          criteria[1].children[1].children[0]
✓       caseReview.status $contains \"open\", \"blocked\"
          \"open\"   criteria[1].children[1].children[1]
";

const EXPLAIN_80: &str = "\
expected  criterion                             answered by, in how many batches
      ~0  all of                                                criteria below 1
       1    createdAt < \"2024-01-01 00:00:00\"                   few rows 1
       1    any of                                              criteria below 1
       1      tags in (\"a rather long tag\", cash, manual, vip)  few rows 1
       0      all of                                   criteria below (no row) 1
       2        caseReview.status in (blocked, open)      few rows (every row) 1
       0        priority = high                              few rows (no row) 1

Batches: 1, of 2 cases.
Page: 100 cases from 0 in stored order, batch by batch; stops when the page is
    full.
Total: not requested.
";

const EXPLAIN_60: &str = "\
expected  criterion         answered by, in how many batches
      ~0  all of                            criteria below 1
       1    createdAt < \"2024-01-01 00:00:00\"     few rows 1
       1    any of                          criteria below 1
       1      tags in (\"a rather long tag\", cash, manual,
                vip)  few rows 1
       0      all of               criteria below (no row) 1
       2        caseReview.status in (blocked, open)
                  few rows (every row) 1
       0        priority = high          few rows (no row) 1

Batches: 1, of 2 cases.
Page: 100 cases from 0 in stored order, batch by batch;
    stops when the page is full.
Total: not requested.
";

#[test]
fn rows_of_why_and_explain_that_wrap_keep_their_nesting() {
    let folder = Folder::new();
    folder.write(
        "cases.ndjson",
        concat!(
            r#"{"id":"a","caseReview":{"status":"open"},"priority":"low","createdAt":"2023-01-03 00:00:37+0000","#,
            r#""tags":["cash","crypto","watch-latam","sanctions-ios","name-change-q2","high-risk"]}"#,
            "\n",
            r#"{"id":"b","caseReview":{"status":"blocked"},"createdAt":"2024-01-02 00:00:00+0000"}"#
        ),
    );
    let filter = "createdAt < \"2024-01-01 00:00:00\" and (tags in (vip, cash, \"a rather long tag\", manual) \
                  or (priority = high and status in (open, blocked)))";
    for (args, width, expected) in [
        (&["why", "--id", "a"][..], "80", WHY_80),
        (&["why", "--id", "a"], "60", WHY_60),
        (&["explain", "--loaded"], "80", EXPLAIN_80),
        (&["explain", "--loaded"], "60", EXPLAIN_60),
    ] {
        let args = [args, &["cases.ndjson", "--where", filter, "--format", "table"]].concat();
        assert_eq!(
            ended(folder.command(&args).env("COLUMNS", width)).code(0).out,
            expected,
            "{args:?} at {width}"
        );
        // Nothing is wrapped in a pipe whose width is not known.
        assert_eq!(ended(folder.command(&args).env("COLUMNS", "1000")).out, folder.run(&args).code(0).out);
    }
}

/// Returns the output of a command that is read only after `then`.
fn read_after(folder: &Folder, args: &[&str], then: impl FnOnce()) -> String {
    let mut child = process::Command::new(cargo_bin!("casefilter"))
        .args(args)
        .current_dir(folder.0.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    // The command is reading its cases now, or has read them.
    let mut first = [0];
    out.read_exact(&mut first).unwrap();
    then();
    assert_eq!(child.try_wait().unwrap(), None, "{args:?} fits into a pipe");
    let mut text = String::from_utf8(first.to_vec()).unwrap();
    out.read_to_string(&mut text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    text
}

#[test]
fn a_database_can_be_written_before_a_slow_reader_has_read_all_of_it() {
    let folder = Folder::new();
    folder.run(&["generate", "--cases", "12000", "-o", "cases.ndjson"]).code(0);
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    let applicants: String =
        (0..4000).map(|number| format!("{{\"id\":\"a{number}\",\"type\":\"individual\"}}\n")).collect();
    folder.write("applicants.ndjson", applicants);
    folder.run(&["import", "--db", "cases.db", "--kind", "applicants", "applicants.ndjson"]).code(0);
    for args in [
        &["search", "cases.db", "--limit", "all", "--format", "ids"][..],
        &["search", "cases.db", "--limit", "30000", "--format", "ndjson"],
        &["search", "cases.db", "--limit", "all", "--format", "json", "--count"],
        &["search", "cases.db", "--limit", "all", "--format", "table"],
        &["export", "cases.db", "-o", "-"],
        &["export", "cases.db", "-o", "-", "--kind", "applicants"],
    ] {
        let expected = folder.run(args).code(0).out;
        let text = read_after(&folder, args, || {
            // Without --wait the import fails while the database is open.
            folder.write(
                "same.ndjson",
                folder.read("cases.ndjson").split_inclusive(|byte| *byte == b'\n').next().unwrap(),
            );
            folder.run(&["import", "--db", "cases.db", "same.ndjson", "--wait", "60s"]).code(0);
        });
        let without_times = |text: &str| text.split(" · searched in").next().unwrap().to_owned();
        assert!(without_times(&text) == without_times(&expected), "{args:?}");
    }
}

#[test]
fn a_long_page_has_the_notes_of_a_short_one() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    for cases in ["cases.ndjson", "cases.db"] {
        for limit in ["5", "all"] {
            let search =
                |filter: &str| folder.run(&["search", cases, "--limit", limit, "--where", filter]).code(0);
            search("status = Open").err_has("hint: ").err_has("differs in upper and lower case");
            assert_eq!(search("status = open and priority = high and name = unheard").err, "");
        }
    }
}

#[test]
fn pages_behind_cursors_are_the_whole_list() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    let ids = |answer: &Value| -> Vec<String> {
        let items = answer["list"]["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    for cases in ["cases.ndjson", "cases.db"] {
        for order in ["priority,-createdAt", "-createdAt", "id"] {
            let args = ["search", cases, "--where", "status <> open", "--order", order, "--format", "json"];
            let whole = ids(&folder.run(&[&args[..], &["--limit", "all"]].concat()).code(0).json());
            let mut found = Vec::new();
            let mut after = Vec::new();
            loop {
                let page = ["--limit", "30", "--count", "--cursor"];
                let more: Vec<&str> = after.iter().map(String::as_str).collect();
                let answer = folder.run(&[&args[..], &page, &more].concat()).code(0).json();
                found.extend(ids(&answer));
                assert_eq!(answer["list"]["totalItems"], whole.len());
                let Some(next) = answer["list"]["pageInfo"]["next"].as_str() else { break };
                after = vec!["--after".to_owned(), next.to_owned()];
            }
            assert!(whole.len() > 60 && found == whole, "{cases}, {order}");
        }
    }
    let args = ["search", "cases.ndjson", "--order", "priority,-createdAt", "--limit", "1", "--cursor"];
    let first =
        folder.run(&[&args[..], &["--format", "ids"]].concat()).code(0).err_has("the next page: --after A");
    let next = first.err.rsplit_once("--after ").unwrap().1.trim().to_owned();
    let second =
        |more: &[&str]| folder.run(&[&["search", "cases.ndjson", "--after", &next][..], more].concat());
    second(&["--order", "priority,-createdAt", "--format", "ids"]).code(0);
    second(&["--order", "priority"])
        .code(2)
        .err_has("found a cursor of another order or of another catalogue");
    second(&["--order", "priority,-createdAt", "--offset", "3"]).code(2).err_has("no `offset`");
    second(&["--order", "priority,-createdAt", "--limit", "20000"])
        .code(2)
        .err_has("at most 10000 cases at a time");
    folder.run(&["search", "cases.ndjson", "--after", "A?"]).code(2).err_has("--after");
    folder
        .run(&["search", "cases.ndjson", "--order", "status,tags"])
        .code(2)
        .err_has("found `tags`, which is multi-valued")
        .err_has("status,tags");
    folder.run(&["explain", "cases.ndjson", "--order", "priority,-createdAt", "--format", "table"]).code(0);

    // The lines of a file of requests follow the interface document, unless `--extended` is given.
    let line = br#"{"body":{"criteria":[{"field":"status","op":"=","values":["open"]}]},"order":"priority,id","limit":2,"pageCursor":true}"#;
    folder.write("requests.ndjson", line);
    let requests = ["search", "cases.ndjson", "--requests", "requests.ndjson"];
    let strict = folder.run(&requests).code(0).json();
    let description = strict["description"].as_str().unwrap();
    assert!(description.contains("order") && description.contains("pageCursor"), "{description}");
    let answer = folder.run(&[&requests[..], &["--extended"]].concat()).code(0).json();
    assert!(answer["list"]["pageInfo"]["next"].is_string(), "{answer}");
}
