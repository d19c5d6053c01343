//! Tests the files that commands write: they must be complete, and must never overwrite a file that is still needed.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{self, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use super::run::{
    Folder, OPEN, THREE, casefilter, death, gzip, mode, run, run_with, signal, wait_for, written,
};

#[cfg(unix)]
#[test]
fn an_interrupted_generate_leaves_the_file_unchanged_and_dies_by_the_signal() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let files = Folder::new();
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
fn an_ignored_signal_does_not_end_a_command() {
    let files = Folder::new();
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
    let files = Folder::new();
    let db = files.path("cases.db");
    let interrupt = || {
        let mut child = process::Command::new(cargo_bin!("casefilter"))
            .args(["import", "--db", &db, "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than a pipe holds: once it is written, the import has begun.
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
#[test]
fn of_two_imports_that_create_a_database_the_later_one_waits_or_fails_at_once() {
    let files = Folder::new();
    let db = files.path("cases.db");
    let begin = |args: &[&str]| {
        process::Command::new(cargo_bin!("casefilter"))
            .args([&["import", "--db", &db, "-"], args].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let claim = ".cases.db.new".to_owned();
    let mut first = begin(&[]);
    let mut stdin = first.stdin.take().unwrap();
    wait_for(&mut first, || files.names().contains(&claim));
    let import = ["import", "--db", &db, "-"];
    run_with(&import, THREE.as_bytes())
        .code(1)
        .err_has("cases.db: this process or another process is creating it; wait for it by --wait 30s");
    run_with(&[&import[..], &["--wait", "200ms"]].concat(), THREE.as_bytes())
        .code(1)
        .err_has("; waited 0.2 s");
    let mut second = begin(&["--wait", "60s"]);
    second.stdin.take().unwrap().write_all(THREE.as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(second.try_wait().unwrap(), None);
    stdin.write_all(b"{\"id\":\"a\"}\n{\"id\":\"z\"}\n").unwrap();
    drop(stdin);
    assert!(first.wait_with_output().unwrap().status.success());
    let second = second.wait_with_output().unwrap();
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));
    let report: Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!((&report["stored"], &report["replaced"], &report["cases"]), (&2.into(), &1.into(), &4.into()));
    assert_eq!(files.names(), ["cases.db"]);

    // The claim of a killed import does not stop the next import.
    fs::remove_file(&db).unwrap();
    let mut killed = begin(&[]);
    wait_for(&mut killed, || files.names().contains(&claim));
    killed.kill().unwrap();
    killed.wait().unwrap();
    run_with(&import, THREE.as_bytes()).code(0);
    assert_eq!(files.names(), ["cases.db"]);
}

/// The commands that replace a file. The last argument is the name of that file.
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
        let files = Folder::new();
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
        // Only root may change the owner of a file.
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

        // A link to a file that does not exist yet.
        fs::remove_file(&target).unwrap();
        run();
        assert!(fs::symlink_metadata(&out).unwrap().is_symlink() && Path::new(&target).is_file(), "{args:?}");
        assert_eq!(files.names().len(), 4, "{args:?}: {:?}", files.names());
        assert_eq!(fs::read_dir(files.path("elsewhere")).unwrap().count(), 1, "{args:?}");
    }
}

#[test]
fn a_failed_export_leaves_the_file_unchanged_and_no_other_file() {
    let files = Folder::new();
    let cases = files.write("zero.ndjson", "{\"id\":\"a\"}\n{\"id\":\"b\",\"name\":\"a\\u0000\"}\n");
    let out = files.write("out.tsv", "before");
    run(&["export", &cases, "-o", &out]).code(3);
    assert_eq!(fs::read(&out).unwrap(), b"before");
    assert_eq!(files.names().len(), 2, "{:?}", files.names());
}

#[test]
fn a_dash_is_standard_output_for_lines_and_rejected_elsewhere() {
    let files = Folder::new();
    files.write("cases.ndjson", THREE);
    let run = |args: &[&str]| files.run(args);
    assert_eq!(run(&["export", "cases.ndjson", "-o", "-"]).code(0).out, THREE);
    let order = ["export", "cases.ndjson", "--where", "status = open", "--order", "createdAt", "-o", "-"];
    assert!(run(&order).code(0).out.starts_with("{\"id\":\"c\""));
    let some = run(&["generate", "--cases", "20"]).code(0).out;
    assert_eq!(run(&["generate", "--cases", "20", "-o", "-"]).code(0).out, some);
    run(&["export", "cases.ndjson", "--flat", "-o", "-"]).code(2).err_has("--flat is for files");
    run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    run(&["backup", "--db", "cases.db", "-o", "-"]).code(2).err_has("found `-`, expected a file");
    let report = ["search", "cases.ndjson", "--lenient", "--report", "-"];
    run(&report).code(2).err_has("found `-`, expected a file");
    let mut names = files.names();
    names.sort();
    assert_eq!(names, ["cases.db", "cases.ndjson"]);
    for command in ["export", "generate"] {
        assert!(run(&[command, "--help"]).code(0).out.contains("FILE|-"));
    }
}

#[test]
fn export_to_a_closed_pipe_ends_quietly() {
    let files = Folder::new();
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
fn a_report_never_overwrites_a_file_that_the_command_uses() {
    let files = Folder::new();
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
    // A database that does not exist yet.
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
fn a_database_is_never_overwritten() {
    let files = Folder::new();
    fs::write(files.path("cases.ndjson"), "{\"id\":\"a\"}\n").unwrap();
    let database = files.path("cases.db");
    run(&["import", "--db", &database, &files.path("cases.ndjson")]).code(0);
    let before = fs::read(&database).unwrap();
    run(&["export", &database, "-o", &database]).code(2).err_has("is a database");
    run(&["generate", "--cases", "1", "-o", &database]).code(2).err_has("is a database");
    run(&["token", "app", "--file", "-", "--allow", "viewCases"])
        .code(2)
        .err_has("found `-`, expected a file");
    assert!(fs::read(&database).unwrap() == before);
}

#[test]
fn an_output_has_the_format_of_its_ending_or_is_rejected() {
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
fn files_of_one_format_take_no_ending_of_another() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    folder.write("applicants.ndjson", "{\"id\":\"a1\",\"type\":\"individual\"}\n");
    folder.run(&["import", "--db", "cases.db", "--kind", "applicants", "applicants.ndjson"]).code(0);
    let before = folder.names().len();
    let database = "a database is written there; expected .db, or an ending of no other format";
    let report = "the report is JSON, which is written there; expected .json, or";
    let tokens = "tokens are JSON, which is written there; expected .json, or";
    let share = "the token is plain text, which is written there; expected .txt, or";
    for (args, contents) in [
        (&["backup", "cases.db", "-o"][..], database),
        (&["import", "cases.ndjson", "--db"], database),
        (&["import", "cases.ndjson", "--db", "new.db", "--report"], report),
        (&["search", "cases.ndjson", "--lenient", "--report"], report),
        (&["token", "app", "--allow", "viewCases", "--file"], tokens),
        (&["token", "app", "--allow", "viewCases", "-o"], tokens),
        (&["token", "share", "--db", "cases.db", "--applicant", "a1", "-o"], share),
    ] {
        for name in ["x.csv", "x.tsv", "x.xlsx", "x.parquet", "x.ndjson", "x.jsonl", "x.json.zst", "x.GZ"] {
            let ending = name.rsplit('.').next().unwrap().to_lowercase();
            let told = folder.run(&[args, &[name]].concat()).code(2);
            told.err_has(&format!("cannot write {name}: found the ending .{ending}, but {contents}"));
        }
    }
    folder.run(&["backup", "cases.db", "-o", "x.json"]).code(2).err_has("found the ending .json");
    let app = ["token", "app", "--allow", "viewCases", "--file", "x.db"];
    folder.run(&app).code(2).err_has("found the ending .db");
    assert_eq!(folder.names().len(), before, "{:?}", folder.names());
    // Other endings are accepted.
    folder.run(&["backup", "cases.db", "-o", "cases.monday"]).code(0);
    folder.run(&["import", "cases.ndjson", "--db", "cases.2026-01-31", "--report", "report.txt"]).code(0);
    // A database is recognised by its contents, under any name.
    fs::copy(folder.path("cases.db"), folder.path("old.csv")).unwrap();
    folder.run(&["import", "cases.ndjson", "--db", "old.csv"]).code(0);
    folder.run(&["verify", "old.csv"]).code(0);
}

#[test]
fn a_file_that_is_given_as_a_database_is_named_by_its_ending() {
    let folder = Folder::with_cases();
    folder.run(&["generate", "--cases", "3", "-o", "cases.parquet"]).code(0);
    folder.write("tokens.json", "{\"tokens\":[]}");
    for name in ["cases.ndjson", "cases.parquet", "none.json.gz", "none.csv"] {
        let ending = name.rsplit('.').next().unwrap();
        let found = format!("cannot read {name}: found the ending .{ending}, expected a database of cases");
        let with_cases = "; a file of cases is given without --db";
        let imported = ", as `casefilter import` makes it";
        for (args, advice) in [
            (&["search", "--db", name][..], with_cases),
            (&["why", "--id", "a", "--db", name], with_cases),
            (&["explain", "--db", name], with_cases),
            (&["export", "-o", "-", "--db", name], with_cases),
            (&["verify", name], imported),
            (&["verify", "--db", name], imported),
            (&["compact", name], imported),
            (&["backup", "-o", "copy.db", name], imported),
            (&["token", "share", "--applicant", "a", "--db", name], imported),
            (&["serve", "--tokens", "tokens.json", "--db", name], imported),
        ] {
            folder.run(args).code(1).err_has(&format!("{found}{advice}"));
        }
    }
}

#[test]
fn texts_in_another_encoding_are_named() {
    let folder = Folder::new();
    folder.write("cases.ndjson", THREE);
    let utf16 = |text: &str, has_mark: bool| {
        let text = if has_mark { format!("\u{feff}{text}") } else { text.to_owned() };
        text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    for (has_mark, found) in [
        (true, "found text in UTF-16, expected JSON in UTF-8; convert it with `iconv -f UTF-16 -t UTF-8`"),
        (
            false,
            "found text in UTF-16 without a byte-order mark, expected JSON in UTF-8; convert it with `iconv -f UTF-16LE -t UTF-8`",
        ),
    ] {
        folder.write("cases16.ndjson", utf16(THREE, has_mark));
        folder.run(&["search", "cases16.ndjson"]).code(3).err_has(&format!("cases16.ndjson:1: {found}"));
        folder.write("body.json", utf16(OPEN, has_mark));
        let errors = folder.run(&["check", "--body", "body.json"]).code(2).json()["errors"].clone();
        let [error] = errors.as_array().unwrap().as_slice() else { panic!("{errors}") };
        let told = [&error["found"], &error["expected"]].map(|text| text.as_str().unwrap());
        assert_eq!(format!("found {}, expected {}", told[0], told[1]), found);
        for command in ["search", "explain"] {
            let told = folder.run(&[command, "cases.ndjson", "--body", "body.json"]).code(2).err;
            assert!(told.contains(error["found"].as_str().unwrap()) && told.contains("iconv"), "{told}");
            assert!(told.contains("body.json:1:1") && !told.contains("u{0}"), "{told}");
        }
        folder.write("requests.ndjson", utf16(&format!("{{\"body\":{OPEN}}}\n").repeat(3), has_mark));
        for command in
            [&["search", "cases.ndjson"][..], &["bench", "cases.ndjson"], &["sql", "--dialect", "spark"]]
        {
            let run = folder.run(&[command, &["--requests", "requests.ndjson"]].concat()).code(2);
            run.err_is(&format!("error: requests.ndjson:1: {found} [bad_file]\n"));
        }
        folder.write("tokens.json", utf16("{\"tokens\":[]}\n", has_mark));
        for command in [
            &["token", "app", "--allow", "viewCases", "--file", "tokens.json"][..],
            &["serve", "--db", "none.db", "--tokens", "tokens.json"],
        ] {
            folder.run(command).code(1).err_has(&format!("cannot read tokens.json: {found}"));
        }
    }
    folder.write("body.json", gzip(OPEN.as_bytes()));
    let packed = folder.run(&["check", "--body", "body.json"]).code(2);
    assert!(packed.out.contains("a gzip file"), "{packed:?}");
}

#[test]
fn tokens_that_are_added_at_once_are_all_in_the_file() {
    let folder = Folder::new();
    // In the first round the file does not exist yet.
    for round in 1..=4_usize {
        let children: Vec<_> = (0..8)
            .map(|_| {
                process::Command::new(cargo_bin!("casefilter"))
                    .args(["token", "app", "--file", "tokens.json", "--allow", "viewCases"])
                    .current_dir(folder.0.path())
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let file: Value = serde_json::from_slice(&folder.read("tokens.json")).unwrap();
        let stored: Vec<&Value> =
            file["tokens"].as_array().unwrap().iter().map(|entry| &entry["token"]).collect();
        assert_eq!(stored.len(), 8 * round);
        for output in &outputs {
            assert!(output.status.success(), "{output:?}");
            let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(stored.contains(&&printed["token"]), "{printed}");
        }
    }
    assert_eq!(folder.names(), ["tokens.json"]);
}

#[cfg(unix)]
#[test]
fn a_token_goes_into_a_new_file_that_only_its_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("applicants.ndjson", "{\"id\":\"a1\",\"type\":\"individual\"}\n");
    folder.run(&["import", "--db", "cases.db", "--kind", "applicants", "applicants.ndjson"]).code(0);
    let share = ["token", "share", "--db", "cases.db", "--applicant", "a1"];
    let printed = folder.run(&share).code(0).out;
    assert_eq!(folder.run(&[&share[..], &["-o", "share.txt"]].concat()).code(0).out, "");
    let written = String::from_utf8(folder.read("share.txt")).unwrap();
    assert!(written.len() == printed.len() && written != printed && written.ends_with('\n'), "{written}");
    folder.run(&["token", "app", "--allow", "viewCases", "-o", "app.json"]).code(0);
    for name in ["share.txt", "app.json"] {
        assert_eq!(mode(&folder.path(name)), 0o600);
        // A file that other users may read is not written either.
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let before = folder.read("share.txt");
    folder.run(&[&share[..], &["-o", "share.txt"]].concat()).code(1).err_has("share.txt");
    folder.run(&[&share[..], &["-o", "none/share.txt"]].concat()).code(1).err_has("none/share.txt");
    folder.run(&[&share[..], &["-o", "-"]].concat()).code(2).err_has("found `-`, expected a file");
    assert_eq!(folder.read("share.txt"), before);
}

#[test]
fn copies_that_older_versions_left_are_named_and_kept() {
    let folder = Folder::with_cases();
    folder.run(&["import", "--db", "cases.db", "cases.ndjson"]).code(0);
    // The names contain process ids that no system has.
    for name in [
        "cases.db.4000000001.copy",
        "cases.db.4000000002.copy",
        "other.db.4000000001.copy",
        "cases.db.x.copy",
    ] {
        fs::copy(folder.path("cases.db"), folder.path(name)).unwrap();
    }
    folder.write("cases.db.4000000003.copy", "no database");
    let count = folder.names().len();
    for command in [["verify", "cases.db"], ["compact", "cases.db"]] {
        let err = folder.run(&command).code(0).err;
        let lines: Vec<&str> = err.lines().collect();
        let [first, second] = lines.as_slice() else { panic!("{err}") };
        assert!(
            first.starts_with("warning: cases.db.4000000001.copy (") && first.contains("remove it"),
            "{first}"
        );
        assert!(second.starts_with("warning: cases.db.4000000002.copy ("), "{second}");
    }
    assert_eq!(folder.names().len(), count);
}
