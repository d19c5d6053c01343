//! Tests `match`, which shows the standing filters that select each case.

use super::run::{Folder, OPEN, THREE};

fn folder() -> Folder {
    let files = Folder::new();
    files.write("cases.ndjson", THREE);
    files.write(
        "filters.ndjson",
        format!(
            "{}\n\n{{\"name\":\"open\",\"body\":{OPEN}}}\n{}\n{}\r\n",
            r#"{"name":"none","where":"tags is absent"}"#,
            r#"{"where":"tags = \"x\" or id = b","name":"é"}"#,
            r#"{"name":"as text","body":"{\"ids\":[\"a\"]}"}"#,
        ),
    );
    files
}

#[test]
fn a_line_for_each_case_has_its_id_and_the_sorted_names() {
    let files = folder();
    let expected = "{\"id\":\"a\",\"names\":[\"as text\",\"open\",\"é\"]}\n\
                    {\"id\":\"b\",\"names\":[\"none\",\"é\"]}\n\
                    {\"id\":\"c\",\"names\":[\"none\",\"open\"]}\n";
    let run = files.run(&["match", "--filters", "filters.ndjson", "cases.ndjson"]).code(0).err_is("");
    assert_eq!(run.out, expected);
    files.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    for cases in [&["cases.db"][..], &["--db", "cases.db"]] {
        let args = [&["match", "--filters", "filters.ndjson", "--format", "json"], cases].concat();
        assert_eq!(files.run(&args).code(0).out, expected);
    }
    let table =
        files.run(&["match", "--filters", "filters.ndjson", "cases.ndjson", "--format", "table"]).code(0).out;
    assert_eq!(
        table,
        format!("id  names\n{}\na   as text, open, é\nb   none, é\nc   none, open\n", "─".repeat(20))
    );
}

#[test]
fn a_malformed_field_of_a_lenient_import_counts_as_absent() {
    let files = folder();
    files.write("bad.ndjson", r#"{"id":"a","tags":["x"],"createdAt":"yesterday"}"#);
    let args = ["match", "--filters", "filters.ndjson", "bad.ndjson", "--format", "json"];
    files.run(&args).code(3);
    let expected = "{\"id\":\"a\",\"names\":[\"as text\",\"é\"]}\n";
    assert_eq!(files.run(&[&args[..], &["--lenient"]].concat()).code(3).out, expected);
    files.run(&["import", "--db", "bad.db", "bad.ndjson", "--lenient"]).code(3);
    let run = files.run(&["match", "--filters", "filters.ndjson", "--db", "bad.db", "--format", "json"]);
    assert_eq!(run.code(0).out, expected);
}

#[test]
fn without_filters_no_case_has_a_name() {
    let files = folder();
    files.write("empty.ndjson", "\n");
    let run = files.run(&["match", "--filters", "empty.ndjson", "cases.ndjson"]).code(0);
    assert!(run.lines().iter().all(|line| line["names"].as_array().unwrap().is_empty()));
}

#[track_caller]
fn refused(line: &str, parts: &[&str]) {
    let files = folder();
    files.write("bad.ndjson", format!("{{\"name\":\"a\",\"where\":\"id = a\"}}\n\n{line}\n"));
    let run = files.run(&["match", "--filters", "bad.ndjson", "cases.ndjson"]).code(2);
    assert_eq!(run.out, "");
    for part in parts {
        assert!(run.err.contains(part), "no {part:?} in {}", run.err);
    }
}

#[test]
fn errors_name_the_line_and_show_the_place() {
    refused(
        r#"{"name":"b","where":"nme = a"}"#,
        &[
            "error[unknown_field]: found `nme`",
            "--> bad.ndjson:3:22",
            r#"{"name":"b","where":"nme = a"}"#,
            "^^^",
        ],
    );
    refused(
        r#"{"name":"b","where":"name = \"a\" and statu = open"}"#,
        &["--> bad.ndjson:3:39", "did you mean `status`?"],
    );
    refused(
        r#"{"name":"b","body":{"criteria":[{"field":"name","op":"==","values":["a"]}]}}"#,
        &["error[unknown_operator]", "--> bad.ndjson:3:54"],
    );
    refused(r#"{"name":"b","body":"{\"ids\":3}"}"#, &["error[wrong_type]", "--> bad.ndjson:3:30"]);
    refused(
        r#"{"name":"a","where":"id = b"}"#,
        &["error[duplicate_key]: found `a` again", "--> bad.ndjson:3:9"],
    );
    refused(
        r#"{"name":"","where":"id = b"}"#,
        &["found an empty name", "a name of 1 to 128 bytes", "--> bad.ndjson:3:9"],
    );
    refused(
        r#"{"name":"b","where":"createdAt > now - 7d"}"#,
        &["bad_timestamp", "without being written", "--> bad.ndjson:3:34"],
    );
    refused(r#"{"name":"b"}"#, &["neither `body` nor `where`", "--> bad.ndjson:3:1"]);
    refused(r#"{"name":"b","where":"id = b","body":{"ids":[]}}"#, &["`where` beside `body`"]);
    refused(
        r#"{"name":"b","when":"id = b"}"#,
        &["error[unknown_key]: found unknown field `when`", "--> bad.ndjson:3:"],
    );
    refused(r#"{"name":4,"where":"id = b"}"#, &["error[wrong_type]: found `4`"]);
    refused("nothing", &["error[syntax]: found text that is not JSON", "--> bad.ndjson:3:"]);
}

#[test]
fn usage_and_files_are_checked() {
    let files = folder();
    files.run(&["match", "--filters", "-", "-"]).code(2);
    files.run(&["match", "cases.ndjson"]).code(2).err_has("--filters");
    files
        .run(&["match", "--filters", "missing.ndjson", "cases.ndjson"])
        .code(1)
        .err_has("cannot read missing.ndjson");
    files.write("bad-cases.ndjson", "{\"id\":\"a\",\"tags\":3}\n");
    files.run(&["match", "--filters", "filters.ndjson", "bad-cases.ndjson"]).code(3);
    files.write(
        "extended.ndjson",
        r#"{"name":"a","body":{"criteria":[{"field":"tags","op":"$exists","values":["true"]}]}}"#,
    );
    files.run(&["match", "--filters", "extended.ndjson", "cases.ndjson"]).code(2);
    let run = files.run(&["match", "--filters", "extended.ndjson", "cases.ndjson", "--extended"]).code(0);
    assert!(run.out.starts_with("{\"id\":\"a\",\"names\":[\"a\"]}\n{\"id\":\"b\",\"names\":[]}"));
}
