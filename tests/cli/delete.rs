//! Tests the command `delete`, and the manual pages.

use super::run::{Folder, THREE, run, run_with};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("three.ndjson", THREE);
    folder.run(&["import", "--db", "cases.db", "three.ndjson"]).code(0);
    folder
}

#[test]
fn selected_cases_are_counted_and_deleted() {
    let folder = folder();
    let delete = |more: &[&str]| folder.run(&[&["delete", "--db", "cases.db"][..], more].concat());
    let done = delete(&["--where", "status = blocked", "--yes"]).code(0);
    assert_eq!(done.err, "1 of 3 cases in cases.db is selected\n");
    assert_eq!(done.json(), serde_json::json!({"deleted": 1, "cases": 2}));
    assert_eq!(folder.ids("cases.db"), "a\nc\n");
    let none = delete(&["--ids", "b,z", "--yes"]).code(0);
    assert_eq!(none.json(), serde_json::json!({"deleted": 0, "cases": 2}));
    none.err_has("2 of 2 ids in the filter are not in the data: b, z");
    folder.write("ids.txt", "a\n\n\"c\"\n");
    let done = delete(&["--ids-from", "ids.txt", "--yes", "--format", "table"]).code(0);
    assert_eq!(done.out, "2 cases deleted · 0 in the database\n");
    assert_eq!(folder.ids("cases.db"), "");
}

#[test]
fn without_a_terminal_nothing_is_deleted_unless_yes() {
    let folder = folder();
    let delete = |more: &[&str]| folder.run(&[&["delete", "--db", "cases.db"][..], more].concat());
    let unasked = delete(&["--all"]).code(2);
    assert!(
        unasked.err.starts_with(
            "3 of 3 cases in cases.db are selected\nerror: nothing was deleted: --yes is required, because there is no terminal on which to ask\n"
        ),
        "{}",
        unasked.err
    );
    assert_eq!(folder.ids("cases.db"), "a\nb\nc\n");
    delete(&["--yes"]).code(2).err_has("--all deletes every case");
    delete(&["--where", "status = opne", "--yes"]).code(0).err_has("did you mean `open`?");
    delete(&["--where", "staus = open", "--yes"]).code(2).err_has("did you mean `status`?");
    delete(&["--ids", "a", "--where", "status = open"]).code(2);
    folder.write("empty.txt", "\n");
    delete(&["--ids-from", "empty.txt"]).code(2).err_has("found no ids");
    folder.run(&["delete", "--db", "none.db", "--all", "--yes"]).code(1).err_has("none.db");
    folder.run(&["delete", "--db", "three.ndjson", "--all", "--yes"]).code(1);
    let db = folder.path("cases.db");
    assert_eq!(
        run_with(&["delete", "--db", &db, "--ids-from", "-", "-y"], b"a\nb\n").code(0).json()["deleted"],
        2
    );
    assert_eq!(delete(&["--all", "--yes"]).code(0).json()["cases"], 0);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    folder.run(&["man", "-o", "man/man1"]).code(0);
    let mut names: Vec<String> = std::fs::read_dir(folder.path("man/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in ["casefilter.1", "casefilter-search.1", "casefilter-stats.1", "casefilter-token-app.1"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("complete.1") || name.contains("help")), "{names:?}");
    let page = String::from_utf8(folder.read("man/man1/casefilter-search.1")).unwrap();
    assert!(
        page.contains(".SH EXAMPLES\n.nf\nExamples:\n  casefilter search cases.ndjson \\-\\-where"),
        "{page}"
    );
    assert_eq!(run(&["man", "search"]).code(0).out, page);
    assert!(run(&["man"]).code(0).out.contains("casefilter\\-stats(1)"));
    run(&["man", "complete"]).code(2).err_has("expected the name of a command");
    for (shell, part) in [("powershell", "Register-ArgumentCompleter"), ("elvish", "edit:completion")] {
        let script = run(&["completions", shell]).code(0).out;
        assert!(script.contains(part) && script.contains("stats"), "{script}");
    }
}
