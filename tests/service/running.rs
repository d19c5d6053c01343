//! Tests commands on a database that a running service has open. They must do the same as on a file that no process has open.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use casefilter::{Catalog, ImportMode, Store, StoreOptions};
use serde_json::{Value, json};

use super::client::Client;
use super::process::{Process, casefilter};
use super::server::{Database, SEARCH, info_of, key};

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// Returns the exit status of a command, its standard output and its standard error.
fn output_of(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run(casefilter().current_dir(folder).args(arguments));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Removes the times from an output.
fn without_times(text: &str, command: &[&str]) -> String {
    if !command.contains(&"--analyze") {
        return text.split(" · searched in ").next().unwrap_or_default().to_owned();
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_time = |place: usize| {
        let unit = |word: &str| ["ns", "µs", "ms", "s"].contains(&word.trim_end_matches([',', '.']));
        unit(words[place]) || words.get(place + 1).is_some_and(|next| unit(next))
    };
    (0..words.len()).filter(|place| !is_time(*place)).map(|place| words[place]).collect::<Vec<_>>().join(" ")
}

/// Removes the positions of hints: a service receives the normal form of a filter, so it cannot give positions.
fn without_places(text: &str) -> String {
    let hint = |line: &str| match line.strip_prefix("hint: criteria[") {
        Some(rest) => format!("hint: {}", rest.split_once(": ").unwrap().1),
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(hint).collect()
}

fn serve(database: &Database) -> Process {
    Process::run(casefilter(), database, &[], None)
}

#[test]
fn commands_print_the_same_through_a_service_as_on_the_file() {
    let database = Database::new("weird.cases.ndjson");
    let folder = database.folder();
    let lines: String = include_str!("../data/weird.requests.ndjson")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["request"].to_string() + "\n")
        .collect();
    let few: String = lines.lines().take(9).map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("few.ndjson"), few).unwrap();
    fs::write(folder.join("requests.ndjson"), format!("{lines}{{\"bdy\":1}}\n[]\n{{\"body\":\"x = \"}}\n"))
        .unwrap();
    fs::write(folder.join("body.json"), r#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#)
        .unwrap();
    let id = {
        let store = database.open();
        let all = casefilter::SearchRequest::new(casefilter::Filter::all(store.catalog()));
        store.ids(&all).unwrap().into_iter().nth(3).unwrap()
    };
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["search", "cases.db", "--requests", "requests.ndjson"],
        vec!["search", "cases.db", "--body", "body.json", "--count"],
        vec!["search", "cases.db", "--where", "status = opne and", "--limit", "x"],
        vec!["search", "cases.db", "--order", "nope", "--format", "ids"],
        vec!["search", "cases.db", "--limit", "0", "--count"],
        vec!["search", "cases.db", "--where", "status = open", "--timeout", "1h", "--format", "table"],
        vec!["why", "cases.db", "--id", &id, "--where", "status = open or tags in (vip)"],
        vec!["why", "cases.db", "--id", &id, "--where", "status = open", "--format", "table"],
        vec!["why", "cases.db", "--id", "no such id", "--where", "status = open"],
        vec!["explain", "cases.db", "--where", "status = open or tags in (vip)"],
        vec!["explain", "cases.db", "--order", "-createdAt", "--count", "--format", "table"],
        vec!["explain", "cases.db", "--where", "status ="],
        vec!["explain", "cases.db", "--analyze", "--where", "status <> open", "--format", "table"],
    ];
    let filters = [
        "status = open",
        "status <> open and name <> ''",
        "tags <> vip and (priority = high or totalAmountInDefaultCurrency > 1.5)",
        "id in (none, such)",
        "caseReview.assignee is absent and not name includes a",
        "name matches E or tags starts with (v, c)",
    ];
    // Hints, unknown ids, and streamed pages.
    commands.push(vec!["search", "cases.db", "--where", "status = OPEN and id <> none"]);
    commands.push(vec!["explain", "cases.db", "--where", "status = OPEN"]);
    commands.push(vec!["why", "cases.db", "--id", &id, "--where", "id <> none", "--limit", "2"]);
    for format in ["json", "ndjson", "ids", "table"] {
        commands.push(vec!["search", "cases.db", "--limit", "all", "--format", format]);
        for filter in filters {
            commands.push(vec!["search", "cases.db", "--where", filter, "--format", format]);
        }
        let page =
            ["search", "cases.db", "--order", "-createdAt", "--offset", "2", "--limit", "3", "--count"];
        commands.push([&page[..], &["--format", format]].concat());
    }
    let here: Vec<_> = commands.iter().map(|command| output_of(folder, command)).collect();
    assert!(here.iter().filter(|said| said.0 == Some(0)).count() > 20, "{here:#?}");
    assert!(here.iter().any(|said| said.2.contains("hint: ")), "{here:#?}");
    let process = serve(&database);
    for (command, here) in commands.iter().zip(&here) {
        let there = output_of(folder, command);
        assert_eq!(there.0, here.0, "{command:?}: {there:?}");
        assert_eq!(without_times(&there.1, command), without_times(&here.1, command), "{command:?}");
        assert_eq!(there.2, without_places(&here.2), "{command:?}");
    }
    // `bench` measures on a copy, and removes it.
    let before = fs::read_dir(folder).unwrap().count();
    let (status, times, _) =
        output_of(folder, &["bench", "cases.db", "--requests", "few.ndjson", "--runs", "2"]);
    assert_eq!(status, Some(0));
    let timed: Vec<Value> = times.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        timed.iter().any(|timed| timed["median_us"].as_f64() > Some(0.0) && timed["runs"] == 2),
        "{times}"
    );
    assert_eq!(fs::read_dir(folder).unwrap().count(), before);
    process.terminate();
}

#[test]
fn requests_from_standard_input_are_answered_one_by_one() {
    let database = Database::new("plain.cases.ndjson");
    let process = serve(&database);
    let mut child = casefilter()
        .current_dir(database.folder())
        .args(["search", "cases.db", "--requests", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for limit in [1, 5, 600] {
        let line = json!({"body": {"ids": [], "criteria": []}, "limit": limit});
        // An empty filter matches nothing. To match all cases, this filter tests a field that every case has.
        let line = line.to_string().replace(
            r#"{"criteria":[],"ids":[]}"#,
            r#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#,
        );
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["list"]["items"].as_array().unwrap().len(), limit, "{answer}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    process.terminate();
}

#[test]
fn an_online_compaction_loses_no_acknowledged_update() {
    let database = Database::new("plain.cases.ndjson");
    let folder = database.folder().to_owned();
    let process = serve(&database);
    let mut client = process.client();
    let lines: String = (0..20_000)
        .map(|case| format!("{{\"id\":\"more-{case}\",\"name\":\"{}\"}}\n", "n".repeat(300)))
        .collect();
    fs::write(folder.join("more.ndjson"), lines).unwrap();
    let import = || output_of(&folder, &["import", "--db", "cases.db", "more.ndjson"]);
    assert_eq!(import().0, Some(0));
    assert_eq!(import().0, Some(0));
    let update = |client: &mut Client, name: &str| {
        let body = json!({"firstName": name}).to_string();
        client.call(&key("all"), "PATCH", &info_of("anna"), body.as_bytes())
    };
    update(&mut client, "before").good();
    let (done, searches) = (AtomicBool::new(false), AtomicBool::new(false));
    let size = || fs::metadata(database.path()).unwrap().len();
    let before = size();
    let kept = thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = process.client();
            let body = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;
            while !done.load(Ordering::Relaxed) {
                let target = format!("{SEARCH}?limit=2000&offset=9000");
                let page = client.call(&key("all"), "POST", &target, body).good();
                assert_eq!(page["list"]["items"].as_array().unwrap().len(), 2000);
                searches.store(true, Ordering::Relaxed);
            }
        });
        let updates = scope.spawn(|| {
            let mut client = process.client();
            let mut kept = "before".to_owned();
            for round in 0.. {
                let name = format!("name {round}");
                match update(&mut client, &name).status {
                    200 => kept = name,
                    status => assert_eq!(status, 503),
                }
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
            kept
        });
        for _ in 0..3 {
            let (status, told, error) = output_of(&folder, &["compact", "--db", "cases.db"]);
            assert_eq!(status, Some(0), "{error}");
            let told: Value = serde_json::from_str(&told).unwrap();
            assert!(told["bytes_after"].as_u64() <= told["bytes_before"].as_u64(), "{told}");
        }
        done.store(true, Ordering::Relaxed);
        updates.join().unwrap()
    });
    assert!(searches.load(Ordering::Relaxed));
    assert!(size() * 5 < before * 4, "{} of {before}", size());
    // The socket knows the new file, and other processes cannot open it.
    assert_eq!(output_of(&folder, &["search", "cases.db", "--format", "ids", "--limit", "1"]).0, Some(0));
    assert!(Store::open(database.path(), Catalog::cases(), StoreOptions::default()).is_err());
    let databases = fs::read_dir(&folder)
        .unwrap()
        .filter(|entry| casefilter::Store::exists(entry.as_ref().unwrap().path()));
    assert_eq!(databases.count(), 1);
    process.kill();
    let store = database.open();
    assert_eq!(store.len(), 20_700);
    store.validate().unwrap();
    assert!(
        store.records().unwrap().get("applicant", "anna").unwrap().unwrap().contains(&format!("\"{kept}\""))
    );
}

#[test]
fn a_service_killed_while_it_compacts_leaves_the_file_before_or_the_file_after() {
    let database = Database::new("plain.cases.ndjson");
    let folder = database.folder().to_owned();
    {
        let store = database.open();
        let mut import = store.import(ImportMode::Strict).unwrap();
        for case in 0..20_000 {
            let line = format!("{{\"id\":\"more-{case}\",\"name\":\"{}\"}}\n", "n".repeat(300));
            import.push(line.as_bytes()).unwrap();
        }
        import.commit().unwrap();
        store.close().unwrap();
    }
    let names = |folder: &std::path::Path| {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let databases =
            names.filter(|name| casefilter::Store::exists(folder.join(name)) || name.contains("casefilter"));
        databases.collect::<std::collections::BTreeSet<String>>()
    };
    let before = names(&folder);
    let mut kept = 0;
    for kill in 0..8_u64 {
        let process = serve(&database);
        let mut client = process.client();
        let body = json!({"firstName": format!("kill {kill}")}).to_string();
        client.call(&key("all"), "PATCH", &info_of("anna"), body.as_bytes()).good();
        let mut compact = casefilter();
        compact.current_dir(&folder).args(["compact", "--db", "cases.db"]);
        let mut compact = compact.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(20 + kill * 60));
        process.kill();
        compact.wait().unwrap();
        let store = database.open();
        assert_eq!(store.len(), 20_700, "kill {kill}");
        store.validate().unwrap();
        let anna = store.records().unwrap().get("applicant", "anna").unwrap().unwrap();
        assert!(anna.contains(&format!("\"kill {kill}\"")), "kill {kill}");
        kept += 1;
        store.close().unwrap();
    }
    assert_eq!(kept, 8);
    // No copy remains.
    assert_eq!(names(&folder), before);
}

/// Opens a database, which locks it until the store is dropped.
fn lock(path: &Path) -> Store {
    Store::open(path, Catalog::cases(), StoreOptions::default()).unwrap()
}

#[test]
fn commands_wait_for_a_locked_database_up_to_their_timeout() {
    let database = Database::new("plain.cases.ndjson");
    let folder = database.folder().to_owned();
    fs::write(folder.join("one.ndjson"), "{\"id\":\"one\"}\n").unwrap();
    let commands: [&[&str]; 6] = [
        &["search", "cases.db", "--format", "ids", "--limit", "1"],
        &["why", "cases.db", "--id", "one"],
        &["explain", "cases.db"],
        &["import", "--db", "cases.db", "one.ndjson"],
        &["verify", "--db", "cases.db"],
        &["compact", "--db", "cases.db"],
    ];
    let store = lock(&database.path());
    for command in commands {
        let (status, _, error) = output_of(&folder, command);
        assert_eq!(status, Some(1), "{command:?}: {error}");
        assert!(error.contains("--wait"), "{command:?}: {error}");
        if cfg!(target_os = "linux") {
            let own = format!("(process {})", std::process::id());
            assert!(error.contains(&own), "{command:?}: {error}");
        }
    }
    let start = Instant::now();
    let (status, _, error) = output_of(&folder, &["search", "cases.db", "--wait", "300ms"]);
    assert_eq!(status, Some(1), "{error}");
    assert!(start.elapsed() >= Duration::from_millis(300) && error.contains("waited 0.3 s"), "{error}");
    assert_eq!(output_of(&folder, &["search", "cases.db", "--wait", "soon"]).0, Some(2));

    thread::scope(|scope| {
        let folder = &folder;
        // The import runs first, so that there is a case to search for.
        let import = scope
            .spawn(move || output_of(folder, &["import", "--db", "cases.db", "one.ndjson", "--wait", "60s"]));
        thread::sleep(Duration::from_millis(300));
        assert!(!import.is_finished());
        drop(store);
        assert_eq!(import.join().unwrap().0, Some(0));
    });
    let store = lock(&database.path());
    thread::scope(|scope| {
        let folder = &folder;
        let waiting: Vec<_> = commands
            .iter()
            .map(|command| scope.spawn(move || output_of(folder, &[*command, &["--wait", "60s"]].concat())))
            .collect();
        thread::sleep(Duration::from_millis(300));
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
        drop(store);
        for (waiting, command) in waiting.into_iter().zip(commands) {
            let (status, _, error) = waiting.join().unwrap();
            assert_eq!(status, Some(0), "{command:?}: {error}");
        }
    });
}

#[test]
fn a_slow_reader_does_not_block_a_writer() {
    let database = Database::new("plain.cases.ndjson");
    let folder = database.folder().to_owned();
    {
        let store = database.open();
        let name = "n".repeat(2_000);
        let mut import = store.import(ImportMode::Strict).unwrap();
        for case in 0..2_000 {
            import.push(format!("{{\"id\":\"more-{case}\",\"name\":\"{name}\"}}\n").as_bytes()).unwrap();
        }
        import.commit().unwrap();
        store.close().unwrap();
    }
    fs::write(folder.join("one.ndjson"), "{\"id\":\"one\"}\n").unwrap();
    // More output than fits into a pipe, and it is not read yet.
    let mut reader = casefilter()
        .current_dir(&folder)
        .args(["search", "cases.db", "--limit", "2000", "--format", "ndjson"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(reader.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let (status, _, error) = output_of(&folder, &["import", "--db", "cases.db", "one.ndjson"]);
    assert_eq!(status, Some(0), "{error}");
    assert_eq!(output.lines().count(), 1_999, "the page comes from one snapshot");
    assert!(reader.wait().unwrap().success());
}
