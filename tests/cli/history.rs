//! Tests the history of a database: `--history`, `--as-of`, and `erase`.

#[cfg(unix)]
use std::process::{Command, Stdio};

#[cfg(unix)]
use assert_cmd::cargo::cargo_bin;

use super::run::{Folder, run};

/// Imports three versions of the cases, with a history.
fn filled(files: &Folder) -> String {
    let db = files.path("cases.db");
    for (name, text) in [
        ("1.ndjson", "{\"id\":\"a\",\"priority\":\"high\"}\n{\"id\":\"b\",\"priority\":\"low\"}\n"),
        (
            "2.ndjson",
            "{\"id\":\"a\",\"priority\":\"low\"}\n{\"id\":\"c\",\"priority\":\"high\",\"name\":\"Quetzalcoatlus\"}\n",
        ),
    ] {
        let file = files.write(name, text);
        run(&["import", "--db", &db, &file, "--history", "30d"]).code(0);
    }
    run(&["delete", "--db", &db, "--ids", "b", "--yes"]).code(0);
    db
}

#[test]
fn a_database_is_searched_as_of_a_write_or_a_time() {
    let files = Folder::new();
    let db = filled(&files);
    let ids = |more: &[&str]| run(&[&["search", &db, "--format", "ids"][..], more].concat()).code(0).out;
    assert_eq!(ids(&[]), "a\nc\n");
    assert_eq!(ids(&["--as-of", "2"]), "a\nb\nc\n");
    assert_eq!(ids(&["--as-of", "1"]), "a\nb\n");
    assert_eq!(ids(&["--as-of", "1", "--where", "priority = high"]), "a\n");
    assert_eq!(ids(&["--as-of", "1", "--limit", "all"]), "a\nb\n");
    assert_eq!(ids(&["--as-of", "0"]), "");
    let page =
        run(&["search", "--db", &db, "--as-of", "1", "--count", "--order", "-priority"]).code(0).json();
    assert_eq!(page["list"]["totalItems"], 2);
    let counts = run(&["stats", &db, "--by", "priority", "--as-of", "1", "--where", "id = a"]).code(0).json();
    assert_eq!(counts["facets"][0]["values"][0]["value"], "high");
    let why = run(&["why", &db, "--id", "b", "--where", "priority = low", "--as-of", "2"]).code(0).json();
    assert_eq!((&why["selected"], &why["page"]["selected"]), (&true.into(), &2.into()));
    let requests = files.write("requests.ndjson", "{\"body\":{\"ids\":[\"b\"]}}\n");
    let line = run(&["search", &db, "--as-of", "1", "--requests", &requests]).code(0).out;
    assert!(line.contains("\"priority\":\"low\""), "{line}");

    let refused = |moment: &str, text: &str| {
        run(&["search", &db, "--as-of", moment]).code(1).err_has(text);
    };
    refused("4", "write 4 has not come yet; the last write is 3");
    refused("2999-01-01", "has not come yet");
    refused("2020-01-01 00:00:00", "are not kept; the oldest moment kept is write 0, of 2");
    run(&["search", &db, "--as-of", "yesterday"])
        .code(2)
        .err_has("expected the number of a write, or a time");
    run(&["search", &files.path("1.ndjson"), "--as-of", "1"]).code(2).err_has("--as-of is for a database");
    // The oldest moment of the message can be asked for.
    let message = run(&["search", &db, "--as-of", "2020-01-01 00:00:00"]).code(1).err;
    let oldest = message.trim_end().rsplit_once(", of ").unwrap().1;
    assert_eq!(ids(&["--as-of", oldest]), "");
    run(&["verify", &db]).code(0);

    // Zero ends the history.
    run(&["import", "--db", &db, &files.path("1.ndjson"), "--history", "0s"]).code(0);
    refused("1", "keeps no history");
    assert_eq!(ids(&["--as-of", "4"]), "a\nc\nb\n");
}

#[test]
fn an_erased_case_is_in_no_moment_and_in_no_byte() {
    let files = Folder::new();
    let db = filled(&files);
    let has_name = || String::from_utf8_lossy(&files.read("cases.db")).contains("Quetzalcoatlus");
    assert!(has_name());
    run(&["erase", "--db", &db, "--case", "c"]).code(2).err_has("nothing was erased: --yes is required");
    run(&["erase", "--db", &db]).code(2).err_has("--applicant");
    run(&["erase", "--db", &db, "--case", "", "--yes"]).code(2).err_has("--case: expected the id of a case");
    // An id may have commas.
    let done = run(&["erase", "--db", &db, "--case", "c,b", "--yes"]).code(0);
    assert!(done.out.starts_with("{\"cases\":0,\"records\":0,\"history\":0,"), "{}", done.out);
    assert!(has_name());
    let left = ".casefilter-999999999-0.part";
    files.write(left, "cases");
    let done = run(&["erase", "--db", &db, "--case", "c", "--case", "b", "--yes"]).code(0).err_has(left);
    std::fs::remove_file(files.path(left)).unwrap();
    assert_eq!(
        done.out,
        "{\"cases\":1,\"records\":0,\"history\":1,\"events\":0,\"standing_filters\":[],\"copies\":[]}\n"
    );
    std::fs::remove_file(files.path("2.ndjson")).unwrap();
    assert!(!has_name());
    assert_eq!(run(&["search", &db, "--format", "ids", "--as-of", "2"]).code(0).out, "a\n");
    assert_eq!(run(&["search", &db, "--format", "ids", "--as-of", "1"]).code(0).out, "a\n");
    run(&["verify", &db]).code(0);
    let done = run(&["erase", "--db", &db, "--applicant", "nobody", "--yes", "--format", "table"]).code(0);
    assert_eq!(done.out, "0 cases, 0 records, 0 earlier documents and the ids of 0 events erased\n");
}

#[cfg(unix)]
#[test]
fn an_erasure_that_is_killed_has_erased_all_or_nothing() {
    let files = Folder::new();
    let (db, cases) = (files.path("cases.db"), files.path("cases.ndjson"));
    run(&["generate", "--cases", "3000", "-o", &cases]).code(0);
    run(&["import", "--db", &db, &cases, "--history", "1d"]).code(0);
    let ids = run(&["search", &db, "--format", "ids", "--limit", "3000"]).code(0).out;
    let erased: Vec<&str> = ids.lines().take(700).collect();
    let list = files.write("erased.ids", erased.join("\n"));
    let erase = ["erase", "--db", &db, "--cases-from", &list, "--yes"];
    let count = || run(&["search", &db, "--format", "ids", "--limit", "all"]).code(0).out.lines().count();
    for after in [5, 40, 80, 120, 160, 200, 300] {
        let mut erasing = Command::new(cargo_bin("casefilter"));
        let mut child = erasing.args(erase).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(after));
        // The command may have ended.
        let _ = child.kill();
        child.wait().unwrap();
        assert!([3000, 2300].contains(&count()), "after {after} ms");
        assert_eq!(
            files.names().iter().filter(|name| name.contains("cases.db")).count(),
            1,
            "{:?}",
            files.names()
        );
        run(&["verify", &db]).code(0);
    }
    run(&erase).code(0);
    assert_eq!(count(), 2300);
    assert_eq!(
        run(&["search", &db, "--format", "ids", "--as-of", "1", "--limit", "all"])
            .code(0)
            .out
            .lines()
            .count(),
        2300
    );
}
