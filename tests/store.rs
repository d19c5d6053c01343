//! Tests the durable store as a host program uses it: files of older versions, processes that are killed at any time, concurrent
//! processes, copies.

#![cfg(feature = "store")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use casefilter::{
    Catalog, Durability, EventKind, Field, FieldType, Filter, ImportMode, Order, RecordWriter, SearchRequest,
    StandingFilter, Store, StoreError, StoreErrorKind, StoreOptions, UpsertOutcome, explain,
};
use redb::ReadableDatabase;
use tempfile::TempDir;

fn options() -> StoreOptions {
    StoreOptions::default().checkpoint_every(50).batch_rows(64)
}

fn open(path: &Path) -> Store {
    Store::open(path, Catalog::cases(), options()).unwrap()
}

fn all(store: &Store) -> Vec<String> {
    let request = SearchRequest::new(Filter::all(store.catalog())).with_limit(10_000);
    store.search(&request).unwrap().documents().map(str::to_owned).collect()
}

const CASES: &[u8] = br#"[
{"id":"a","priority":"high","tags":["vip","crypto"],"createdAt":"2026-01-02 03:04:05","totalAmountInDefaultCurrency":12.5},
{"id":"b","caseReview":{"status":"open","checklistState":{"checklist":[{"name":"n","checked":true}]}}},
{"id":"c","applicantInfo":{"dob":"1000","lastName":"O\u2019Neil"},"x":[1,{"y":null}]},
{"id":"d","totalAmountInDefaultCurrency":-3}
]"#;

/// The file does not keep the index of substrings. It is made again when a column is read, even if only the catalogue of the later
/// opening declares the field searchable.
#[test]
fn searchable_fields_have_their_index_after_opening() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("searchable.redb");
    let catalog = |is_searchable: bool| {
        let name = Field::new("name", FieldType::String);
        Catalog::new([if is_searchable { name.searchable() } else { name }]).unwrap()
    };
    let options = || StoreOptions::default().batch_rows(4_000);
    let store = Store::create(&path, catalog(false), options()).unwrap();
    let documents: Vec<String> = (0..5_000_u64)
        .map(|number| {
            format!(
                "{{\"id\":\"{number}\",\"name\":\"Łódź {:x}\"}}",
                number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            )
        })
        .collect();
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(documents.join("\n").as_bytes()).unwrap();
    import.commit().unwrap();
    drop(store);
    for is_searchable in [true, false, true] {
        let mut store = Store::open(&path, catalog(is_searchable), options()).unwrap();
        for text in [
            "name includes 'ź 9e37'",
            "name includes '7f4'",
            "name matches 'ŁODZ 7F4'",
            "not name includes 'ź 3'",
        ] {
            let filter = Filter::compile_text(store.catalog(), text).unwrap();
            let selected = documents.iter().filter(|document| filter.matches(document.as_bytes()).unwrap());
            let request = SearchRequest::new(filter.clone()).with_limit(10_000).with_count(true);
            let answer = store.search(&request).unwrap();
            assert!(answer.documents().eq(selected), "{text}");
            let explanation = store.explain(&request).unwrap();
            let means = explanation.nodes.iter().flat_map(|node| &node.answered).map(|answered| answered.by);
            let by_index = means.filter(|by| *by == explain::Means::SubstringIndex).count();
            assert_eq!(by_index > 0, is_searchable, "{text}");
        }
        store.compact().unwrap();
    }
}

/// Writes the file that later versions must be able to open. Run by hand, once per version of the format.
#[test]
#[ignore = "writes tests/data/store/v3.redb"]
fn write_the_file_of_this_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/store/v3.redb");
    let mut store = Store::create(path, Catalog::cases(), StoreOptions::default()).unwrap();
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(CASES).unwrap();
    import.commit().unwrap();
    store.checkpoint().unwrap();
    store.upsert(br#"{"id":"b","tags":["again"]}"#, Durability::Synced).unwrap();
    store.checkpoint().unwrap();
    assert!(store.delete("d", Durability::Synced).unwrap());
    store.write_records(|records| records.put("kind", "a/1", "one").map(drop)).unwrap();
    store.compact().unwrap();
}

#[test]
fn files_of_earlier_versions_give_the_same_answers() {
    for version in [1, 2, 3] {
        check_the_file_of(version);
    }
}

fn check_the_file_of(version: u8) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("kept.redb");
    let kept = format!("tests/data/store/v{version}.redb");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(kept), &path).unwrap();
    let store = open(&path);
    let ids = |text: &str| {
        let filter = Filter::compile_text(store.catalog(), text).unwrap();
        let answer = store.search(&SearchRequest::new(filter)).unwrap();
        answer.ids().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ids("id in (a, b, c, d)"), ["a", "b", "c"]);
    assert_eq!(ids("tags in (crypto, again)"), ["a", "b"]);
    assert_eq!(ids("totalAmountInDefaultCurrency > 12"), ["a"]);
    assert_eq!(ids("createdAt >= '2026-01-02 03:04:05' and createdAt <= '2026-01-02 03:04:05'"), ["a"]);
    assert_eq!(ids("caseReview.checklistState.checklist.checked = true"), [""; 0]);
    assert_eq!(
        all(&store)[2],
        r#"{"id":"c","applicantInfo":{"dob":"1000","lastName":"O\u2019Neil"},"x":[1,{"y":null}]}"#
    );
    assert_eq!(store.validate(), Ok(()));
    let record = store.records().unwrap().get("kind", "a/1").unwrap();
    assert_eq!(record.as_deref(), (version > 1).then_some("one"));
    store.write_records(|records| records.put("kind", "a/2", "two").map(drop)).unwrap();
    let standing = StandingFilter::new("vip", &Filter::compile_text(store.catalog(), "tags = vip").unwrap());
    if version > 2 {
        // A stored case, whose values are read from the columns of the file.
        assert_eq!(store.insert_entering([standing]).unwrap(), 0);
        store.delete("a", Durability::Synced).unwrap();
        store.upsert(br#"{"id":"a"}"#, Durability::Synced).unwrap();
        let events = store.events_after(0, 10).unwrap();
        assert_eq!(events.iter().map(|event| event.kind.name()).collect::<Vec<_>>(), ["entered", "left"]);
    } else {
        let refused = store.insert_standing([standing]).unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::OldFormat, "{refused}");
    }
    drop(store);
    let verified = Store::verify(&path, &Catalog::cases(), &options()).unwrap();
    assert_eq!((verified.documents, verified.records), (3, if version > 1 { 2 } else { 1 }));
    // The first record makes version 2 of version 1. Only new files have version 3.
    assert_eq!(format_of(&path), u32::from(version.max(2)).to_le_bytes());
}

/// Returns the version of the contents of a file.
fn format_of(path: &Path) -> Vec<u8> {
    let table = redb::TableDefinition::<&str, &[u8]>::new("meta");
    let read = redb::Database::open(path).unwrap().begin_read().unwrap();
    read.open_table(table).unwrap().get("format").unwrap().unwrap().value().to_vec()
}

#[test]
fn a_new_file_has_version_3_and_copies_have_all_records() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s");
    drop(Store::create(&path, Catalog::cases(), options()).unwrap());
    assert_eq!(format_of(&path), [3, 0, 0, 0]);
    let mut store = open(&path);
    assert_eq!(store.records().unwrap().with_prefix("kind", "").unwrap(), []);
    let refused = store.write_records(|records| {
        records.put("kind", "a", "never")?;
        assert_eq!(store.records()?.get("kind", "a")?, None);
        records.get("no kind", "a")?.ok_or(Wanted(None))
    });
    assert!(refused.is_err_and(|refused| refused.0.is_none()));
    drop(store);
    assert_eq!(format_of(&path), [3, 0, 0, 0]);
    store = open(&path);
    let put = |records: &mut RecordWriter<'_>| {
        for key in ["a", "a/1", "a/2", "b"] {
            records.put("kind", key, &key.repeat(3))?;
        }
        records.put("kind of another", "a/3", "")?;
        records.remove("kind", "a/2")
    };
    assert!(store.write_records(put).unwrap());
    let copy = folder.path().join("copy");
    store.backup(&copy).unwrap();
    store.compact().unwrap();
    drop(store);
    for path in [path, copy] {
        assert_eq!(format_of(&path), [3, 0, 0, 0]);
        let store = open(&path);
        let records = store.records().unwrap();
        let keys = |prefix| records.with_prefix("kind", prefix).unwrap().into_iter().map(|(key, _)| key);
        assert_eq!(keys("a").collect::<Vec<_>>(), ["a", "a/1"]);
        assert_eq!(keys("").count(), 3);
        assert_eq!(records.get("kind", "a/1").unwrap().as_deref(), Some("a/1a/1a/1"));
        drop(store);
        assert_eq!(Store::verify(&path, &Catalog::cases(), &options()).unwrap().records, 4);
    }
}

/// The reason to roll back a write.
struct Wanted(Option<StoreError>);

impl From<StoreError> for Wanted {
    fn from(error: StoreError) -> Self {
        Self(Some(error))
    }
}

#[test]
fn an_error_names_another_version_catalogue_or_kind_of_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cases.db");
    drop(Store::create(&path, Catalog::cases(), options()).unwrap());
    let kind = |catalog: Catalog| {
        let error = Store::open(&path, catalog, options()).unwrap_err();
        assert!(error.to_string().contains("cases.db"), "{error}");
        (error.kind(), error.to_string())
    };
    let narrow = Catalog::cases().allow(["status"]).unwrap();
    assert_eq!(kind(narrow).0, StoreErrorKind::OtherCatalog);
    assert_eq!(Store::create(&path, Catalog::cases(), options()).unwrap_err().kind(), StoreErrorKind::Exists);
    let first = open(&path);
    assert_eq!(kind(Catalog::cases()).0, StoreErrorKind::InUse);
    drop(first);

    let table = redb::TableDefinition::<&str, &[u8]>::new("meta");
    let database = redb::Database::open(&path).unwrap();
    let write = database.begin_write().unwrap();
    write.open_table(table).unwrap().insert("format", [9, 0, 0, 0].as_slice()).unwrap();
    write.commit().unwrap();
    drop(database);
    let (found, text) = kind(Catalog::cases());
    assert_eq!(found, StoreErrorKind::UnknownVersion);
    assert!(text.contains("format version 9"), "{text}");

    fs::write(&path, b"id,name\n").unwrap();
    assert_eq!(kind(Catalog::cases()).0, StoreErrorKind::NotADatabase);
    fs::remove_file(&path).unwrap();
    assert_eq!(kind(Catalog::cases()).0, StoreErrorKind::NotFound);
}

#[test]
fn a_file_keeps_the_catalogue_that_it_was_made_with() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("tickets.db");
    let state = || Field::new("state", FieldType::String).with_known(["new", "old"]).with_alias("s");
    let tickets = Catalog::new([state(), Field::new("cost", FieldType::Integer)]).unwrap().extended();
    Store::create(&path, tickets.clone(), options()).unwrap().close().unwrap();
    let kept = |path: &Path| {
        let kept = Store::catalog_of(path).unwrap();
        assert!(kept == tickets && kept.is_extended(), "{kept:?}");
    };
    kept(&path);
    // Another host may use other known values; the file and its copies keep their own.
    let other =
        Catalog::new([Field::new("state", FieldType::String), Field::new("cost", FieldType::Integer)])
            .unwrap();
    let store = Store::open(&path, other.clone(), options()).unwrap();
    store.upsert(br#"{"id":"1","state":"new"}"#, Durability::Synced).unwrap();
    store.backup(folder.path().join("copy.db")).unwrap();
    store.compact_online().unwrap();
    assert_eq!(Store::catalog_of(&path).unwrap_err().kind(), StoreErrorKind::InUse);
    store.close().unwrap();
    kept(&path);
    kept(&folder.path().join("copy.db"));
    let renamed = Catalog::new([state(), Field::new("costs", FieldType::Integer)]).unwrap();
    let error = Store::open(&path, renamed, options()).unwrap_err().to_string();
    assert!(error.ends_with("it has the field `cost integer`, which is not expected"), "{error}");

    // What is not a catalogue, or not that of the columns, is damage.
    let meta = redb::TableDefinition::<&str, &[u8]>::new("meta");
    let write = |key: &str, bytes: Option<&[u8]>| {
        let database = redb::Database::open(&path).unwrap();
        let write = database.begin_write().unwrap();
        match bytes {
            Some(bytes) => drop(write.open_table(meta).unwrap().insert(key, bytes).unwrap()),
            None => drop(write.open_table(meta).unwrap().remove(key).unwrap()),
        }
        write.commit().unwrap();
    };
    let definition = |text: &str| {
        let sum = xxhash_rust::xxh3::xxh3_64_with_seed(text.as_bytes(), 0x6465_6669_6e65);
        [&sum.to_le_bytes()[..], text.as_bytes()].concat()
    };
    let mut wrong = definition("[]");
    wrong[3] ^= 1;
    let deep = "[".repeat(1 << 20);
    for bytes in
        [wrong, definition("[]"), definition("{}"), definition(&deep), definition(&other.to_json()[1..])]
    {
        write("definition", Some(&bytes));
        assert_eq!(Store::catalog_of(&path).unwrap_err().kind(), StoreErrorKind::Corrupt);
        assert_eq!(
            Store::open(&path, tickets.clone(), options()).unwrap_err().kind(),
            StoreErrorKind::Corrupt
        );
    }
    write("definition", None);
    assert_eq!(Store::catalog_of(&path).unwrap(), Catalog::cases());
    Store::open(&path, tickets.clone(), options()).unwrap().close().unwrap();
    write("format", Some(&[9, 0, 0, 0]));
    assert_eq!(Store::catalog_of(&path).unwrap_err().kind(), StoreErrorKind::UnknownVersion);
    let absent = Store::catalog_of(folder.path().join("none.db")).unwrap_err();
    assert_eq!(absent.kind(), StoreErrorKind::NotFound);
}

#[test]
fn answers_are_those_of_an_engine() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path().join("s"), Catalog::cases(), options()).unwrap();
    let engine = casefilter::Engine::new(Catalog::cases());
    engine.upsert_many(CASES).unwrap();
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(CASES).unwrap();
    assert_eq!(import.commit().unwrap().stored, 4);
    let again: &[u8] = br#"{"id":"a","priority":"low"}"#;
    assert_eq!(engine.upsert(again).unwrap(), UpsertOutcome::Replaced);
    assert_eq!(store.upsert(again, Durability::Grouped).unwrap(), UpsertOutcome::Replaced);
    for order in ["", "-priority", "totalAmountInDefaultCurrency"] {
        let order = Order::parse(store.catalog(), order).unwrap();
        let request =
            SearchRequest::new(Filter::all(store.catalog())).with_order(order).with_limit(3).with_count(true);
        assert_eq!(store.search(&request).unwrap().into_json(), engine.search(&request).unwrap().to_json());
    }
    let refused = store.upsert(br#"{"id":"a","tags":"x"}"#, Durability::Synced).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.import_error().unwrap().error.path.as_str()),
        (StoreErrorKind::RejectedDocument, "tags")
    );
    let import_error = std::error::Error::source(&refused).unwrap();
    assert_eq!(import_error.to_string(), refused.to_string());
    assert_eq!(import_error.source().unwrap().to_string(), refused.import_error().unwrap().error.to_string());
    assert_eq!(all(&store)[0].as_bytes(), again);
}

#[test]
fn writes_since_the_checkpoint_are_there_after_reopening() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cases");
    let store = Store::create(&path, Catalog::cases(), options()).unwrap();
    // More than a head holds, so that they are rows of a batch.
    let lines: String = (b'a'..=b't').map(|id| format!("{{\"id\":\"{}\"}}\n", char::from(id))).collect();
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(lines.as_bytes()).unwrap();
    import.commit().unwrap();
    store.checkpoint().unwrap();
    // Too few writes for an automatic checkpoint.
    assert!(store.delete("a", Durability::Synced).unwrap());
    let replaced = r#"{"id":"b","tags":["again"]}"#;
    assert_eq!(store.upsert(replaced.as_bytes(), Durability::Synced).unwrap(), UpsertOutcome::Replaced);
    let before = all(&store);
    assert_eq!((before.len(), before[0].as_str()), (19, replaced));
    // A copy has the state after a crash: closing would make a checkpoint.
    let left = folder.path().join("left");
    fs::copy(&path, &left).unwrap();
    assert_eq!(all(&open(&left)), before);
}

#[test]
fn a_copy_has_the_cases_of_one_moment() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::create(folder.path().join("s"), Catalog::cases(), options()).unwrap();
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(CASES).unwrap();
    import.commit().unwrap();
    let copy = folder.path().join("copy");
    store.backup(&copy).unwrap();
    let before = all(&store);
    store.delete("a", Durability::Synced).unwrap();
    assert_eq!(store.backup(&copy).unwrap_err().kind(), StoreErrorKind::Exists);
    assert_eq!(all(&open(&copy)), before);
    assert_eq!(Store::verify(&copy, &Catalog::cases(), &options()).unwrap().documents, 4);
    store.compact().unwrap();
    assert_eq!(all(&store), before[1..]);
}

/// Does the work of the process that is killed: writes, and prints each acknowledged write.
fn write_until_killed(path: &Path) {
    let store = open(path);
    let mut out = std::io::stdout();
    let mut seen = store.last_event();
    for round in 0_u64.. {
        let id = format!("case-{}", round % 97);
        let document = format!(
            "{{\"id\":\"{id}\",\"name\":\"{}\",\"groupByType\":\"{round}\"}}",
            "n".repeat((round % 700) as usize)
        );
        match round % 13 {
            11 => {
                store.delete(&id, Durability::Synced).unwrap();
                writeln!(out, "deleted {id} {round}").unwrap();
            }
            12 => {
                // All of these are stored, or none.
                let mut import = store.import(ImportMode::Strict).unwrap();
                for part in 0..60 {
                    let case = format!("{{\"id\":\"part-{part}\",\"groupByType\":\"{round}\"}}\n");
                    import.push(case.as_bytes()).unwrap();
                }
                import.commit().unwrap();
                writeln!(out, "imported parts {round}").unwrap();
            }
            _ => {
                store.upsert(document.as_bytes(), Durability::Synced).unwrap();
                writeln!(out, "stored {id} {round}").unwrap();
            }
        }
        for event in store.events_after(seen, 1_000).unwrap() {
            seen = event.number;
            writeln!(out, "event {} {} {}", event.number, event.kind.name(), event.id).unwrap();
        }
        out.flush().unwrap();
    }
}

#[test]
fn a_killed_writer_loses_no_acknowledged_write() {
    const PATH: &str = "CASEFILTER_WRITE_UNTIL_KILLED";
    if let Some(path) = env::var_os(PATH) {
        return write_until_killed(Path::new(&path));
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cases.db");
    let store = Store::create(&path, Catalog::cases(), options()).unwrap();
    let group = store.catalog().find("groupByType").unwrap();
    let every = StandingFilter::new("every", &Filter::all(store.catalog())).with_fields([group]);
    store.insert_standing([every]).unwrap();
    drop(store);
    let kills: u64 = env::var("CASEFILTER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    for kill in 0..kills {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "a_killed_writer_loses_no_acknowledged_write", "--nocapture"])
            .env(PATH, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let reader = thread::spawn(move || lines.lines().map_while(Result::ok).collect::<Vec<String>>());
        thread::sleep(Duration::from_millis(80 + kill * 7919 % 450));
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = reader.join().unwrap();

        let store = open(&path);
        store.validate().unwrap();
        let groups: BTreeMap<String, u64> = all(&store)
            .iter()
            .map(|document| {
                let case: serde_json::Value = serde_json::from_str(document).unwrap();
                let group = case["groupByType"].as_str().unwrap().parse().unwrap();
                (case["id"].as_str().unwrap().to_owned(), group)
            })
            .collect();
        // The first write that was not acknowledged may be stored too, completely.
        let mut last: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
        let mut rounds = 0;
        for line in &acknowledged {
            let words: Vec<&str> = line.rsplit(' ').take(3).collect();
            if let [round, id, what] = words[..]
                && let Ok(round) = round.parse::<u64>()
                && ["stored", "deleted", "imported"].iter().any(|word| what.ends_with(word))
            {
                last.insert(id, (round, what));
                rounds = round + 1;
            }
        }
        for (id, (round, what)) in last.iter().filter(|(id, _)| **id != "parts") {
            let found = groups.get(*id);
            let next_is_it = format!("case-{}", rounds % 97) == *id;
            let is_there = if what.ends_with("deleted") { found.is_none() } else { found == Some(round) };
            assert!(is_there || next_is_it, "kill {kill}: {id} {round} {what}: {found:?}");
        }
        let parts: Vec<Option<&u64>> = (0..60).map(|part| groups.get(&format!("part-{part}"))).collect();
        assert!(parts.iter().all(|part| *part == parts[0]), "kill {kill}: an import is there in half");
        if let Some((round, _)) = last.get("parts") {
            assert!(parts[0] >= Some(round), "kill {kill}: {round}, found {:?}", parts[0]);
        }
        check_events(&store, &acknowledged, groups.keys());
        store.close().unwrap();
    }
    Store::verify(&path, &Catalog::cases(), &options()).unwrap();
}

/// Checks that the events of a filter that selects all cases have no gaps, and that following them gives the stored cases. The
/// events that a killed process has seen must be among them.
fn check_events<'i>(store: &Store, seen: &[String], ids: impl Iterator<Item = &'i String>) {
    let events = store.events_after(0, usize::MAX).unwrap();
    assert!(events.iter().map(|event| event.number).eq(1..=store.last_event()));
    let mut cases = BTreeSet::new();
    for event in &events {
        let is_right = match event.kind {
            EventKind::Entered => cases.insert(&event.id),
            EventKind::Left => cases.remove(&event.id),
            _ => cases.contains(&event.id),
        };
        assert!(is_right, "{event:?}");
    }
    assert!(cases.into_iter().eq(ids));
    for line in seen {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["event", number, kind, id] = words[..]
            && let Ok(number) = number.parse::<usize>()
        {
            let event = &events[number - 1];
            assert_eq!((event.kind.name(), event.id.as_str()), (kind, id), "{event:?}");
        }
    }
}

#[test]
fn readers_see_complete_writes_and_their_documents() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path().join("s"), Catalog::cases(), options()).unwrap();
    let is_done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut searches = 0;
                    while !is_done.load(std::sync::atomic::Ordering::Relaxed) || searches == 0 {
                        let documents = all(&store);
                        let groups: Vec<&str> = documents
                            .iter()
                            .filter_map(|document| document.split("\"groupByType\":").nth(1))
                            .collect();
                        assert!(groups.iter().all(|group| *group == groups[0]), "{documents:?}");
                        searches += 1;
                    }
                    searches
                })
            })
            .collect();
        for round in 0..400 {
            let cases: Vec<String> =
                (0..5).map(|case| format!("{{\"id\":\"{case}\",\"groupByType\":\"{round}\"}}")).collect();
            let durability = if round % 8 == 0 { Durability::Synced } else { Durability::Grouped };
            store.upsert_each(cases.iter().map(String::as_bytes), durability).unwrap();
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 0));
    });
    assert_eq!(all(&store).len(), 5);
}

#[test]
fn concurrent_readers_do_not_change_a_store() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cases.db");
    let read = || Store::open_read_only(&path, Catalog::cases(), options());
    assert_eq!(read().unwrap_err().kind(), StoreErrorKind::NotFound);
    let store = Store::create(&path, Catalog::cases(), options()).unwrap();
    store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Synced).unwrap();
    store.write_records(|records| records.put("kind", "key", "text").map(drop)).unwrap();
    // A file that was not closed, as after a crash, must first be opened by a process that may write it.
    let crashed = folder.path().join("crashed.db");
    fs::copy(&path, &crashed).unwrap();
    let error = Store::open_read_only(&crashed, Catalog::cases(), options()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Failed, "{error}");
    assert!(error.to_string().contains("not closed properly"), "{error}");
    drop(open(&crashed));
    assert_eq!(Store::open_read_only(&crashed, Catalog::cases(), options()).unwrap().len(), 1);
    // A writer has exclusive access.
    assert_eq!(read().unwrap_err().kind(), StoreErrorKind::InUse);
    store.close().unwrap();

    let before = fs::read(&path).unwrap();
    let stores = [read().unwrap(), read().unwrap()];
    assert_eq!(
        Store::open(&path, Catalog::cases(), options()).unwrap_err().kind(),
        StoreErrorKind::InUse,
        "it may not be written while it is read"
    );
    for store in &stores {
        let all = SearchRequest::new(Filter::all(store.catalog()));
        assert_eq!(store.search(&all).unwrap().documents().count(), 1);
        assert_eq!(store.records().unwrap().get("kind", "key").unwrap().as_deref(), Some("text"));
        let kinds = [
            store.upsert(br#"{"id":"b"}"#, Durability::Synced).unwrap_err().kind(),
            store.delete("a", Durability::Grouped).unwrap_err().kind(),
            store.import(ImportMode::Strict).unwrap_err().kind(),
            store.write_records(|records| records.remove("kind", "key").map(drop)).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [StoreErrorKind::ReadOnly; 4]);
        store.checkpoint().unwrap();
        store.sync().unwrap();
        assert_eq!(store.len(), 1);
    }
    let copy = folder.path().join("copy.db");
    stores[0].backup(&copy).unwrap();
    for store in stores {
        store.close().unwrap();
    }
    assert!(fs::read(&path).unwrap() == before, "reading wrote something");
    assert_eq!(open(&copy).len(), 1);
}

#[test]
fn a_file_refuses_a_catalogue_with_another_default_or_scale() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("prices.db");
    let catalog = |scale: u8, default: &str| {
        let price = Field::new("price", FieldType::Decimal { scale });
        let count = Field::new("count", FieldType::Integer).with_known(["1", "2"]).with_default(default);
        Catalog::new([price, count]).unwrap()
    };
    let store = Store::create(&path, catalog(2, "1"), options()).unwrap();
    store.upsert(br#"{"id":"a","price":"0.10"}"#, Durability::Synced).unwrap();
    store.close().unwrap();
    for (other, expected) in [
        (catalog(3, "1"), "found the field `price decimal(2)`, expected `price decimal(3)`"),
        (
            catalog(2, "2"),
            "found the field `count integer default \"1\"`, expected `count integer default \"2\"`",
        ),
    ] {
        let error = Store::open(&path, other, options()).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    assert_eq!(Store::catalog_of(&path).unwrap(), catalog(2, "1"));
    let store = Store::open(&path, catalog(2, "1"), options()).unwrap();
    let filter = Filter::compile_text(store.catalog(), "price = 0.1 and count = 1").unwrap();
    assert_eq!(store.count(&filter).unwrap(), 1);
}
