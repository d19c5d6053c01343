//! Tests the history of a database: `--history`, `--as-of`, and `erase`.

#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
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
    // A running process may have the id of a process that has ended. The file is in use only if the running process has it open.
    #[cfg(target_os = "linux")]
    {
        let left = format!(".casefilter-{}-0.part", std::process::id());
        files.write(&left, "cases");
        let nothing = ["erase", "--db", &db, "--case", "none", "--yes"];
        run(&nothing).code(0).err_has(&left);
        let open = std::fs::File::open(files.path(&left)).unwrap();
        assert!(!run(&nothing).code(0).err.contains(&left));
        drop(open);
        run(&nothing).code(0).err_has(&left);
        std::fs::remove_file(files.path(&left)).unwrap();
    }
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

/// The states in which an erasure is killed.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    /// The new file was created.
    Created,
    /// A part of the cases was written to the new file.
    Written,
    /// The new file has a name of its own, and is about to take that of the database.
    Named,
}

/// Returns the length of the new file that a process has open in a folder: an unnamed file, or a file with a name for unfinished
/// files. The second value is true if the file has a name. Returns `None` if there is no such file.
#[cfg(target_os = "linux")]
fn new_file(process: u32, folder: &std::path::Path) -> Option<(u64, bool)> {
    let links = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    links.flatten().find_map(|link| {
        let to = std::fs::read_link(link.path()).ok()?;
        let name = to.strip_prefix(folder).ok()?.to_str()?.to_owned();
        let is_unnamed = name.ends_with(" (deleted)");
        let has_name = name.starts_with(".casefilter-") && !is_unnamed;
        // Linking an unnamed file does not change the link in /proc on all systems, so the folder is looked at, too.
        let is_linked = || {
            std::fs::read_dir(folder).is_ok_and(|all| {
                all.flatten().any(|own| own.file_name().to_string_lossy().ends_with(".part"))
            })
        };
        (is_unnamed || has_name)
            .then(|| Some((std::fs::metadata(link.path()).ok()?.len(), has_name || is_linked())))?
    })
}

#[cfg(target_os = "linux")]
#[test]
fn an_erasure_that_is_killed_has_erased_all_or_nothing() {
    let files = Folder::new();
    let (made, cases) = (files.path("made.db"), files.path("cases.ndjson"));
    run(&["generate", "--cases", "3000", "-o", &cases]).code(0);
    run(&["import", "--db", &made, &cases, "--history", "1d"]).code(0);
    let ids = run(&["search", &made, "--format", "ids", "--limit", "3000"]).code(0).out;
    let erased: Vec<&str> = ids.lines().take(700).collect();
    let list = files.write("erased.ids", erased.join("\n"));
    let mut hit = Vec::new();
    for state in [Killed::Created, Killed::Written, Killed::Named] {
        // The last state lasts only briefly, so several attempts are made.
        for attempt in 0..30 {
            let own = Folder::new();
            let db = own.path("cases.db");
            std::fs::copy(&made, &db).unwrap();
            let folder = std::fs::canonicalize(own.path("")).unwrap();
            let erase = ["erase", "--db", &db, "--cases-from", &list, "--yes"];
            let mut erasing = Command::new(cargo_bin("casefilter"));
            let mut child = erasing.args(erase).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let was_hit = loop {
                match new_file(child.id(), &folder) {
                    Some(_) if state == Killed::Created => break true,
                    Some((bytes, _)) if state == Killed::Written && bytes > 200_000 => break true,
                    Some((_, true)) if state == Killed::Named => break true,
                    _ if child.try_wait().unwrap().is_some() => break false,
                    _ => {}
                }
            };
            let _ = child.kill();
            // If the erasure has succeeded in spite of the kill, the kill came too late.
            let was_hit = was_hit && !child.wait().unwrap().success();
            let count =
                run(&["search", &db, "--format", "ids", "--limit", "all"]).code(0).out.lines().count();
            let expected: &[usize] = if state == Killed::Named { &[3000, 2300] } else { &[3000] };
            assert!(!was_hit && count == 2300 || expected.contains(&count), "{state:?}: {count}");
            run(&["verify", &db]).code(0);
            if was_hit || attempt == 29 {
                hit.extend(was_hit.then_some(state));
                run(&erase).code(0);
                for moment in [&[][..], &["--as-of", "1"]] {
                    let search = ["search", &db, "--format", "ids", "--limit", "all"];
                    let left = run(&[&search[..], moment].concat()).code(0).out;
                    assert_eq!(left.lines().count(), 2300, "{moment:?}");
                    assert!(!left.lines().any(|id| erased.contains(&id)));
                }
                break;
            }
        }
    }
    assert!([Killed::Created, Killed::Written].iter().all(|state| hit.contains(state)), "{hit:?}");
}
