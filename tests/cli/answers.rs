//! Tests the answers of searches, with every input format of cases and every form of filters.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::run::{Folder, OPEN, THREE, casefilter, data, ended, gzip, run, run_with, zst};

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
    let files = Folder::new();
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
    let files = Folder::new();
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
fn parquet_files_are_scanned() {
    let folder = Folder::new();
    let [ndjson, parquet] = ["cases.ndjson", "cases.parquet"].map(|name| folder.path(name));
    run(&["generate", "--cases", "500", "-o", &ndjson]).code(0);
    run(&["import", "--db", &folder.path("cases.db"), &ndjson]).code(0);
    run(&["export", &folder.path("cases.db"), "-o", &parquet]).code(0);
    let requests: [&[&str]; 6] = [
        &[
            "search",
            "--where",
            "status = open",
            "--order",
            "-createdAt",
            "--limit",
            "5",
            "--count",
            "--cursor",
        ],
        &["search", "--where", "tags = vip or name is absent", "--format", "ids"],
        &["search", "--where", "id = nobody", "--count"],
        &["search", "--where", "status = open", "--limit", "0", "--count"],
        &["stats", "--by", "status", "--by", "createdAt:month", "--where", "priority = high"],
        &["search", "--order", "status", "--offset", "400", "--limit", "200", "--format", "ids"],
    ];
    for request in requests {
        let (command, more) = request.split_at(1);
        // With --db, the engine answers.
        let loaded = run(&[command, &[&folder.path("cases.db")], more].concat());
        let scanned = run(&[command, &[&parquet], more].concat());
        assert_eq!(scanned.code, loaded.code, "{request:?}");
        let ids = |out: &str| out.matches("\"id\"").count();
        assert_eq!(ids(&scanned.out), ids(&loaded.out), "{request:?}");
        if request.contains(&"ids") || command == ["stats"] {
            assert_eq!(scanned.out, loaded.out, "{request:?}");
        }
    }
    let table = run(&["search", &parquet, "--format", "table"]).out;
    assert!(table.contains(" · read and searched in "), "{table}");
    let explained = run(&["explain", &parquet, "--where", "id = nobody"]).code(0);
    let explained = explained.json();
    assert_eq!(
        explained["scan"]["row_groups"],
        serde_json::json!({"tested": 0, "skipped": 1, "excluded_rows": 0})
    );
    let twice = run(&["search", &parquet, &parquet, "--format", "table"]).code(0).out;
    assert!(
        twice.contains(" of 500 selected, out of 500 cases ") && twice.contains(" · read and searched in "),
        "{twice}"
    );
    // Files of several formats are scanned together.
    let database = folder.path("cases.db");
    let mixed = [parquet.as_str(), &ndjson, &database, &parquet];
    let of = |files: &[&str]| {
        run(&[&["search"], files, &["--where", "priority = high", "--format", "ids"]].concat()).code(0).out
    };
    assert_eq!(of(&mixed), of(&[&ndjson]));
    let explained = run(&[&["explain"], &mixed[..]].concat()).code(0).json();
    assert_eq!((&explained["cases"], &explained["scan"]["files"]), (&500.into(), &4.into()));
    // The error of the first file comes first.
    let refused = folder.write("refused.ndjson", "{\"id\":7}\n");
    for missing in ["missing.ndjson", "missing.parquet", "missing.zip"] {
        let files = [refused.as_str(), &folder.path(missing)];
        let searched = run(&[&["search"], &files[..]].concat());
        let imported = run(&[&["import", "--db", &folder.path("new.db")], &files[..]].concat());
        assert_eq!((searched.code, searched.err), (imported.code, imported.err), "{missing}");
    }
    // A Parquet file with a malformed value is loaded.
    let malformed = folder.write("malformed.parquet", malformed_parquet());
    let loaded = run(&["explain", &malformed, "--lenient", "--format", "table"]).code(3).out;
    let reason = format!("{malformed} may have a column or a value that an import rejects");
    assert!(
        loaded.ends_with(&format!("\nLoaded: {reason}, so the files were loaded before the search.\n")),
        "{loaded}"
    );
    assert_eq!(run(&["explain", &malformed, "--lenient"]).code(3).json()["loaded_because"], reason.as_str());
    for command in [&["explain", &parquet, "--loaded"][..], &["explain", &database]] {
        assert_eq!(run(command).code(0).json().get("loaded_because"), None);
    }
}

/// Returns a Parquet file with a malformed timestamp.
fn malformed_parquet() -> Vec<u8> {
    let texts = |values: [&str; 2]| -> ArrayRef { Arc::new(StringArray::from(values.to_vec())) };
    let columns =
        [("id", texts(["a", "b"])), ("createdAt", texts(["2024-01-01 00:00:00+0000", "yesterday"]))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn generated_parquet_holds_the_generated_cases() {
    let files = Folder::new();
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

/// Returns JSON with all numbers as doubles, as Parquet has them.
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
fn documents_are_printed_unchanged() {
    let run = run_with(&["search", "-"], THREE.as_bytes()).code(0);
    for document in THREE.lines() {
        assert!(run.out.contains(document));
    }
}

#[test]
fn the_selection_orders_pages_and_counts() {
    let files = Folder::new();
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
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let run =
        run(&["search", &cases, "--where", "status = open and tags in (x, z)", "--format", "ids"]).code(0);
    assert_eq!(run.out, "a\n");
}

#[test]
fn the_formats_are_json_ndjson_ids_and_a_table() {
    let files = Folder::new();
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
fn answers_are_on_one_line_even_if_the_documents_are_not() {
    let files = Folder::new();
    let cases = files.write("cases.json", "[\n{\n\"id\" : \"a b\"\n}\n]");
    let run = run_with(&["search", &cases, "--requests", "-"], br#"{"body":{"ids":["a b"]}}"#).code(0);
    assert_eq!(run.out.lines().count(), 1);
    assert_eq!(run.json()["list"]["items"][0]["id"], "a b");

    // A document on one line stays unchanged.
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
    let files = Folder::new();
    let cases =
        files.write("cases.ndjson", "{\"id\":\"a\\nb\"}\n{\"id\":\"\\\"a\\\\nb\\\"\"}\n{\"id\":\"a\\\\nb\"}");
    let run = run(&["search", &cases, "--format", "ids"]).code(0);
    assert_eq!(run.out, "\"a\\nb\"\n\"\\\"a\\\\nb\\\"\"\na\\nb\n");
}

#[test]
fn output_without_documents_needs_none_in_memory() {
    let files = Folder::new();
    let cases = files.write("cases.ndjson", THREE);
    let search =
        |extra: &[&str]| run(&[&["search", &cases, "--where", "status = open"], extra].concat()).code(0);
    let documents = search(&["--format", "ndjson"]).lines();
    let ids: Vec<&str> = documents.iter().map(|document| document["id"].as_str().unwrap()).collect();
    assert_eq!(search(&["--format", "ids"]).out.lines().collect::<Vec<_>>(), ids);
    let counted = search(&["--limit", "0", "--count", "--format", "json"]).json();
    assert_eq!(counted["list"]["items"], serde_json::json!([]));
    assert_eq!(counted["list"]["totalItems"], ids.len());

    let explain =
        ["explain", "--loaded", &cases, "--where", "status = open", "--limit", "1", "--format", "json"];
    let explained = run(&[&explain[..], &["--analyze"]].concat()).code(0).json();
    assert_eq!((&explained["cases"], &explained["analysis"]["on_page"]), (&3.into(), &1.into()));
    assert_eq!(run(&explain).code(0).json()["nodes"].as_array().map(Vec::len), Some(1));

    let with_counts =
        run(&[&explain[..], &["--by", "status:limit=1", "--by", "createdAt:month"]].concat()).code(0).json();
    let counted = |at: usize| {
        (with_counts["facets"][at]["field"].clone(), with_counts["facets"][at]["answered"][0][1].clone())
    };
    assert_eq!(counted(0), ("caseReview.status".into(), 1.into()));
    assert_eq!(counted(1).0, "createdAt");
    assert_eq!(with_counts["nodes"].as_array().map(Vec::len), Some(1));
    let table = run(&["explain", "--loaded", &cases, "--by", "status", "--format", "table"]).code(0).out;
    assert!(table.lines().any(|line| line.starts_with("caseReview.status is counted by ") && line.ends_with(" in 1 batch")), "{table}");
    let refused = run(&["explain", &cases, "--by", "staus"]).code(2);
    assert!(refused.err.contains("--> --by") && refused.err.contains("status"), "{}", refused.err);

    let requests = files.write("requests.ndjson", format!("{{\"body\":{OPEN}}}\n"));
    let bench = ["bench", &cases, "--requests", &requests, "--runs", "1", "--without-documents"];
    let lines = run(&bench).code(0).lines();
    assert_eq!((&lines[0]["matched"], &lines[1]["cases"]), (&ids.len().into(), &3.into()));
}

/// Scans of files and of standard input print the same as an engine that has loaded the cases.
#[test]
fn commands_on_files_print_what_they_print_on_standard_input() {
    let folder = Folder::with_cases();
    let text = String::from_utf8(folder.read("cases.ndjson")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let replaced = lines[7].replacen("\"tags\":", "\"status\":\"x\",\"tags\":", 1);
    lines.extend([lines[3], &replaced, lines[40]]);
    let repeated = folder.write("repeated.ndjson", lines.join("\n"));
    lines.splice(5..5, ["{\"id\":7}", "{\"id\":\"odd\",\"tags\":\"x\"}", "{"]);
    let malformed = folder.write("malformed.ndjson", lines.join("\n"));
    let first =
        serde_json::from_str::<serde_json::Value>(lines[0]).unwrap()["id"].as_str().unwrap().to_owned();
    let similar = format!("{first}x");
    let requests: [&[&str]; 23] = [
        &["search"],
        &["search", "--where", "status = open", "--order", "-createdAt", "--limit", "3"],
        &[
            "search",
            "--where",
            "priority = high",
            "--order",
            "priority,-createdAt",
            "--limit",
            "2",
            "--cursor",
            "--count",
        ],
        &["search", "--where", "status = Open", "--count"],
        &["search", "--where", "status = Open and (name = x or not priority = high)", "--count"],
        &["search", "--where", "name = x and amlCases has (amlCaseId = y) and tags all (VIP, z)"],
        &["search", "--where", "id in (nobody, someone)", "--format", "ids"],
        &["search", "--where", "id <> x", "--offset", "1000000", "--limit", "1", "--format", "ndjson"],
        &["search", "--limit", "0", "--count"],
        &["search", "--order", "name", "--limit", "4", "--format", "csv", "--columns", "id,name,tags"],
        &["search", "--lenient", "--limit", "2", "--format", "ids"],
        &["search", "--timeout", "0ms"],
        &["search", "--limit", "all", "--format", "ids"],
        &["search", "--limit", "all", "--count", "--where", "priority = high", "--order", "-createdAt,id"],
        &["search", "--limit", "20000", "--offset", "2", "--format", "csv"],
        &["search", "--limit", "all", "--where", "name = nobody", "--format", "ndjson"],
        &["stats", "--by", "status", "--by", "createdAt:month", "--by", "totalAmountInDefaultCurrency:stats"],
        &[
            "stats",
            "--by",
            "tags:limit=2",
            "--where",
            "status = open and priority = high",
            "--own-criteria-apart",
        ],
        &["stats", "--by", "createdAt:hour", "--where", "id in (nobody)", "--lenient", "--format", "csv"],
        &[
            "why",
            "--id",
            &first,
            "--where",
            "status = open or priority = high",
            "--order",
            "-createdAt",
            "--limit",
            "2",
        ],
        &["why", "--id", &first, "--where", "not status is present", "--lenient"],
        &["why", "--id", &similar, "--where", "status = open"],
        &["why", "--id", &first, "--where", "status = Open"],
    ];
    for path in [folder.path("cases.ndjson"), repeated, malformed.clone()] {
        let bytes = std::fs::read(&path).unwrap();
        for request in requests {
            if path == malformed && request.contains(&"--timeout") {
                // A scan stops before it reads the malformed case.
                continue;
            }
            let (command, more) = request.split_at(1);
            let scanned = run(&[command, &[&path], more].concat());
            let args = [command, &["-"], more].concat();
            let piped = run_with(&args, &bytes);
            // Without a folder for its copy, standard input is loaded into an engine.
            let loaded = ended(casefilter(&args).env("TMPDIR", "/nonexistent").write_stdin(bytes.clone()));
            for (run, name) in [(&scanned, path.as_str()), (&piped, "standard input")] {
                assert_eq!(run.code, loaded.code, "{request:?}");
                assert_eq!(run.out, loaded.out, "{request:?}");
                assert_eq!(run.err, loaded.err.replace("standard input", name), "{request:?}");
            }
        }
        let table = run(&["search", &path, "--format", "table", "--lenient"]).out;
        assert!(table.contains(" · read and searched in "), "{table}");
        let packed = folder.write("packed.ndjson.gz", gzip(&bytes));
        let of = |path: &str| run(&["search", path, "--lenient", "--order", "-id", "--limit", "9"]).out;
        assert_eq!(of(&packed), of(&path));
    }
    let path = folder.path("cases.ndjson");
    run(&["import", "--db", &folder.path("cases.db"), &path]).code(0);
    run(&["explain", &folder.path("cases.db"), "--where", "status = open"]).code(0).err_is("");
}
