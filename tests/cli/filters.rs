//! Tests the commands that explain filters: their meaning, their cost, and warnings about them.

use std::path::Path;

use serde_json::{Value, json};

use super::run::{Folder, THREE, run, run_with};

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
fn why_prints_the_truth_of_every_criterion() {
    let files = Folder::new();
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
fn why_reads_a_case_as_the_engine_does() {
    let files = Folder::new();
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
fn explain_prints_how_a_request_is_answered_and_what_that_costs() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let filter = "status = open and tags all (x, y)";
    let args = ["explain", "--loaded", &cases, "--where", filter, "--order", "-createdAt"];
    let table = run(&[&args[..], &["--format", "table"]].concat()).code(0).out;
    let expected = "\
expected  criterion                   answered by, in how many batches
      ~0  all of                      criteria below 1
       1    tags all (x, y)           few rows 1
       2    caseReview.status = open  few rows 1

Batches: 1, of 3 cases.
Page: 100 cases from 0 by -createdAt; batches by their first value, 1 read in the order of sorted rows; stops when the page is full.
Total: not requested.
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
fn explain_shows_what_a_scan_of_files_has_read() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let filter = "status = open and tags all (x, y)";
    let args = ["explain", &cases, &cases, "--where", filter, "--order", "-createdAt", "--by", "priority"];
    let bytes = 2 * THREE.len();
    let expected = format!(
        "\
criterion
all of
  caseReview.status = open
  tags all (x, y)

Scan: 3 cases of 2 files, without an index; {bytes} bytes read.
Page: 100 cases from 0 by -createdAt; the first 100 are kept while the files are read.
Total: not requested.
priority is counted while the files are read.
"
    );
    assert_eq!(run(&[&args[..], &["--format", "table"]].concat()).code(0).out, expected);

    let mut explained = run(&[&args[..], &["--count", "--analyze"]].concat()).code(0).json();
    let phases = explained["analysis"].as_object_mut().unwrap().remove("phases").unwrap();
    assert!(phases.as_array().unwrap().iter().all(|phase| phase["time_us"].as_f64().unwrap() > 0.0));
    assert_eq!([&phases[0]["name"], &phases[1]["name"]], ["compile", "scan"]);
    let expected = json!({
        "cases": 3,
        "scan": {"files": 2, "bytes": bytes},
        "nodes": [
            {"depth": 0, "test": "all of"},
            {"depth": 1, "test": "caseReview.status = open"},
            {"depth": 1, "test": "tags all (x, y)"},
        ],
        "page": {"order": "-createdAt", "offset": 0, "limit": 100},
        "total": true,
        "facets": [{"field": "priority"}],
        "analysis": {"selected": 1, "on_page": 1},
    });
    assert_eq!(explained, expected);
}

#[test]
fn explain_agrees_with_search_for_every_form_of_cases() {
    let files = Folder::new();
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
        let explained = of(&["explain", "--loaded", &ndjson]);
        assert_eq!(of(&["explain", "--loaded", &parquet]), explained, "{text}");
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
fn a_token_with_a_bad_filter_or_field_gets_the_errors_of_other_filters() {
    let files = Folder::new();
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
  |                   ^
  |
  = note: expected one of `=`, `<>`, `in`, `all`, `is present`, `is absent`, `starts with`, `includes`, `matches`

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
fn a_filter_that_selects_no_case_for_a_visible_reason_gets_a_hint() {
    let files = Folder::new();
    let cases = files.write(
        "cases.ndjson",
        "{\"id\":\"a\",\"name\":\"Jose\u{301}\",\"caseReview\":{\"status\":\"open\"}}\n\
         {\"id\":\"b\",\"name\":\"Maria Garcia\",\"caseReview\":{\"status\":\"open\"}}\n",
    );
    let database = files.path("cases.db");
    run(&["import", "--db", &database, &cases]).code(0);
    for source in [&cases, &database] {
        for (filter, hint) in [
            ("status = Open", "2 documents have `\"open\"`, which differs in upper and lower case"),
            ("name = 'Jos\u{e9}'", "1 document has it in another form of Unicode"),
            ("name in ('Jose\u{301} ')", "has spaces around it"),
            ("name in (garcia)", "the value is a part of 1 longer string"),
            (
                "status = open and status = blocked",
                "its criteria on `caseReview.status` contradict each other",
            ),
            ("name = null", "`is absent` tests for absence"),
            ("clientId = x", "no document has a value of `clientId`"),
            ("id = B", "1 document has `\"b\"`, which differs in upper and lower case"),
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

/// Loading the files for hints takes memory for all cases, and observes no deadline.
#[test]
fn large_files_and_searches_with_a_timeout_get_no_hints() {
    let files = Folder::new();
    let line = |number: u32| format!("{{\"id\":\"{number}\",\"name\":\"Anna\"}}\n");
    let few = files.write("few.ndjson", line(1));
    let many = files.write("many.ndjson", (0..100_001).map(line).collect::<String>());
    let told = "hint: the files have more than 100,000 cases";
    let search = |file: &str, filter: &str, more: &[&str]| {
        run(&[&["search", file, "--where", filter], more].concat()).code(0).err
    };
    assert!(search(&few, "name = anna", &[]).contains("differs in upper and lower case"));
    assert_eq!(search(&few, "name = anna", &["--timeout", "60s"]), "");
    assert!(search(&many, "name = anna", &[]).contains(told));
    assert_eq!(search(&many, "name = Anna", &["--limit", "0"]), "");
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
fn why_prints_the_position_of_a_case_in_the_order() {
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

#[test]
fn ids_that_no_case_has_are_named() {
    let folder = Folder::new();
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

/// A body with every extended operator, and the text that stands for the same filter.
const EXTENDED: [&str; 2] = [
    r#"{"criteria":[{"op":"$not","children":[{"field":"tags","op":"$exists","values":["true"]}]},
        {"op":"$or","children":[{"field":"id","op":"$startsWith","values":["b","x"]},
            {"field":"id","op":"$substring","values":["c"]},{"field":"caseReview.status","op":"$match","values":["OPÉN"]}]}]}"#,
    "tags is absent and (id starts with (b, x) or id includes c or status matches open)",
];

#[test]
fn bodies_may_use_the_extended_operators_only_with_the_flag() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let body = files.write("body.json", EXTENDED[0]);
    let requests =
        files.write("requests.ndjson", format!("{{\"body\":{}}}\n", EXTENDED[0].replace('\n', "")));
    let out = files.path("out.ndjson");
    let db = files.path("cases.db");
    run(&["import", "--db", &db, &cases]).code(0);
    let commands: [&[&str]; 8] = [
        &["search", &cases, "--format", "ids"],
        &["search", &db, "--format", "ids"],
        &["check"],
        &["explain", &cases],
        &["why", &cases, "--id", "b"],
        &["sql", "--dialect", "postgres", "--folded"],
        &["export", &cases, "-o", &out],
        &["export", &db, "-o", &out],
    ];
    for command in commands {
        let refused = run(&[command, &["--body", &body]].concat()).code(2);
        let said = format!("{}{}", refused.out, refused.err);
        assert!(said.contains("$exists"), "{command:?}: {said}");
        let done = run(&[command, &["--body", &body, "--extended"]].concat()).code(0);
        // A text needs no flag.
        let by_text = run(&[command, &["--where", EXTENDED[1]]].concat()).code(0);
        if !["why", "export"].contains(&command[0]) {
            assert_eq!(done.out, by_text.out, "{command:?}");
        }
    }
    assert_eq!(run(&["search", &cases, "--body", &body, "--extended", "--format", "ids"]).out, "b\nc\n");
    assert_eq!(String::from_utf8(files.read("out.ndjson")).unwrap().lines().count(), 2);
    for (command, more) in
        [("search", &[][..]), ("bench", &["--runs", "1"]), ("sql", &["--dialect", "duckdb", "--folded"])]
    {
        let held: &[&str] = if command == "sql" { &[] } else { &[&cases] };
        let arguments = [&[command], held, &["--requests", &requests], more].concat();
        let first = |run: super::run::Run| run.code(0).lines().remove(0).to_string();
        let refused = first(run(&arguments));
        assert!(refused.contains("$exists"), "{command}: {refused}");
        let done = first(run(&[&arguments[..], &["--extended"]].concat()));
        assert!(!done.contains("Invalid parameters") && !done.contains("error"), "{command}: {done}");
    }
}

#[test]
fn days_of_a_text_begin_at_the_offset_and_now_is_the_present() {
    let text = |arguments: &[&str]| {
        let checked = run(&[&["check"], arguments].concat()).code(0).json();
        checked["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        text(&["--where", "createdAt on 2025-12-01"]),
        "createdAt >= \"2025-12-01 00:00:00\" and createdAt < \"2025-12-02 00:00:00\""
    );
    for offset in ["+02:00", "+0200"] {
        let shifted = text(&["--where", "createdAt < 2025-12-01", "--utc-offset", offset]);
        assert_eq!(shifted, "createdAt < \"2025-11-30 22:00:00\"");
    }
    assert_eq!(
        text(&["--where", "createdAt < 2025-12-01", "--utc-offset", "-05:30"]),
        "createdAt < \"2025-12-01 05:30:00\""
    );
    let wrong = run(&["check", "--where", "createdAt < today", "--utc-offset", "CET"]).code(2);
    assert!(wrong.err.contains("--utc-offset"), "{wrong:?}");

    let files = Folder::new();
    let old = r#"{"id":"old","createdAt":"2020-01-01 00:00:00"}"#;
    let far = r#"{"id":"far","createdAt":"9990-01-01 00:00:00"}"#;
    let cases = files.write("cases.ndjson", format!("{old}\n{far}\n"));
    let search = |text: &str| run(&["search", &cases, "--where", text, "--format", "ids"]).code(0).out;
    assert_eq!(search("createdAt < now - 7d"), "old\n");
    assert_eq!(search("createdAt >= today + 1w"), "far\n");
}
