//! Tests commands on databases: importing, searching, exporting and verifying cases, and records besides the cases.

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process;

#[cfg(unix)]
use assert_cmd::cargo::cargo_bin;
#[cfg(unix)]
use casefilter::{Catalog, Durability, Store, StoreOptions};
use serde_json::Value;

use super::run::{Folder, run};

#[test]
fn a_database_is_filled_searched_exported_and_verified() {
    let files = Folder::new();
    let (db, cases) = (files.path("cases.db"), files.path("cases.ndjson"));
    run(&["generate", "--cases", "500", "-o", &cases]).code(0);
    let done = run(&["import", "--db", &db, &cases]).code(0).json();
    assert_eq!((&done["stored"], &done["replaced"], &done["cases"]), (&500.into(), &0.into(), &500.into()));

    // A search of the database returns the same bytes as one of the file.
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

    // A second import replaces cases, and the file has the documents unchanged.
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
        // Without `--order`, a Parquet file is sorted by `createdAt`, for readers that read only parts of it.
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

    // A copy is a full database.
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

    // A database is read like the other files beside it.
    let more = files.write("more.ndjson", "{\"id\":\"one more\"}\n");
    let both = run(&["search", &db, &more, "--count", "--limit", "0"]).code(0).json();
    assert_eq!(both["list"]["totalItems"], 501);
}

#[test]
fn a_rejected_import_leaves_the_database_unchanged() {
    let files = Folder::new();
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
    let files = Folder::new();
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
    // 39 records were imported. The index by client has 7 applicants, and a record that says that it is complete.
    assert_eq!((&verified["cases"], &verified["records"]), (&1.into(), &47.into()));
    run(&["import", "--db", &db, "--kind", "levels", "--lenient", &sample("levels")]).code(0);
    run(&["import", "--db", &db, "--kind", "levels", &db]).code(1).err_has("NDJSON");
    let token = |id: &str| run(&["token", "share", "--db", &db, "--applicant", id, "--expires", "20m"]);
    assert_eq!(token("anna").code(0).out.trim_ascii().len(), 64);
    token("nobody").code(1).err_has("no applicant with the id `nobody`");
}

#[test]
fn records_are_imported_leniently_with_a_report() {
    let files = Folder::new();
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
        "1 applicant left out, 1 kept without the malformed part",
        "kept: ",
        "applicants.ndjson:1: info.dob: found `1.2.1990`",
        "left out: ",
        "applicants.ndjson:2: found no `type`",
        "read 1 time without an offset as UTC",
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
    // Unknown steps are reported, and are not an error.
    let levels =
        files.write("levels.ndjson", "{\"name\":\"l\",\"docSets\":[{\"idDocSetType\":\"SELFIE3\"}]}\n");
    run(&["import", "--db", &db, "--kind", "levels", &levels])
        .code(0)
        .err_has("levels.ndjson:1: docSets[0].idDocSetType: found `SELFIE3`");
}

#[test]
fn records_are_exported_and_imported_again() {
    let files = Folder::new();
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
fn a_missing_or_damaged_database_is_named() {
    let files = Folder::new();
    let db = files.path("cases.db");
    let cases = files.write("a.ndjson", "{\"id\":\"a\"}\n");
    run(&["import", "--db", &db, &cases]).code(0);
    run(&["verify", "--db", &files.path("none.db")]).code(1).err_has("none.db");
    let other = files.write("a.txt", "{}\n");
    run(&["import", "--db", &other, &cases]).code(1).err_has("a.txt: not a database of casefilter");
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

#[cfg(unix)]
#[test]
fn a_database_that_was_not_closed_is_read_by_users_who_may_not_write_it() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let folder = Folder::new();
    if fs::metadata(folder.0.path()).unwrap().uid() != 0 {
        // Only root can run a command as another user.
        return;
    }
    let store = Store::create(folder.path("cases.db"), Catalog::cases(), StoreOptions::default()).unwrap();
    store.upsert(b"{\"id\":\"a\"}", Durability::Synced).unwrap();
    // The state that a crash leaves.
    fs::copy(folder.path("cases.db"), folder.path("crashed.db")).unwrap();
    store.close().unwrap();
    fs::copy(cargo_bin!("casefilter"), folder.path("casefilter")).unwrap();
    for (name, mode) in [("", 0o755), ("crashed.db", 0o644), ("casefilter", 0o755)] {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let before = folder.read("crashed.db");
    let output = process::Command::new(folder.path("casefilter"))
        .args(["search", "crashed.db", "--format", "ids"])
        .current_dir(folder.0.path())
        .uid(65_534)
        .output()
        .unwrap();
    assert!(output.status.success() && output.stdout == b"a\n", "{output:?}");
    assert!(folder.read("crashed.db") == before);
    assert_eq!(folder.ids("crashed.db"), "a\n");
}
