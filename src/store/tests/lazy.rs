//! Tests of columns that are read when they are first needed: damage, faults of the disk, snapshots that are held, and memory.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable};

use super::super::columns::BatchSource;
use super::super::tables::{BATCHES, LIVE, SUMMARIES, summary_from_bytes, summary_to_bytes};
use super::*;
use crate::batch::BatchSummary;
use crate::facet::{Facet, FacetsRequest};
use crate::filter::{Document, Order};
use crate::operator::Operator;

pub(super) mod removed;

const CASES: u64 = 48;

fn document(number: u64) -> String {
    format!(
        "{{\"id\":\"c{number}\",\"state\":\"s{}\",\"amount\":{},\"tags\":[\"t{}\",\"all\"],\"at\":\"2026-01-0{} 00:00:00\"}}",
        number % 5,
        number * 7 % 48,
        number % 3,
        number % 9 + 1,
    )
}

/// Creates a store with six batches, which are all in its file.
fn create(path: &Path) {
    let store = Store::create(path, catalog(), options(0)).unwrap();
    let documents: Vec<String> = (0..CASES).map(document).collect();
    store.upsert_many(documents.join("\n").as_bytes()).unwrap();
    store.close().unwrap();
}

fn open_at(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, catalog(), options(0))
}

fn filter(text: &str) -> Filter {
    Filter::compile_text(&catalog(), text).unwrap()
}

fn request(text: &str) -> SearchRequest {
    SearchRequest::new(filter(text)).with_count(true)
}

type Answers = Vec<(&'static str, Result<String, StoreError>)>;

/// Runs every reading operation of a store.
fn answers(store: &Store) -> Answers {
    let all = Filter::all(store.catalog());
    let newest = Order::parse(store.catalog(), "-at").unwrap();
    let facets = FacetsRequest::new(all.clone()).with_facet(Facet::values(store.catalog(), "state").unwrap());
    let debug = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let documents = |text: &str| {
        let found: Vec<String> = store.documents(&request(text))?.collect::<Result<_, _>>()?;
        Ok(found.concat())
    };
    let each_id = || {
        let mut ids = String::new();
        store.each_id(&request("amount < 9"), |id| {
            ids.push_str(id);
            Ok::<_, StoreError>(())
        })?;
        Ok(ids)
    };
    let fields = ["state", "amount", "tags", "at", "id"];
    let count = |text: &str| store.count(&filter(text)).map(|count| count.to_string());
    vec![
        (fields[0], count("state = s1 or state = s4")),
        (fields[1], count("amount > 20 and amount < 30")),
        (fields[2], count("tags = t1")),
        (fields[3], count("at >= '2026-01-03 00:00:00' and at < '2026-01-05 00:00:00'")),
        (fields[4], store.get("c17").map(|found| debug(&found))),
        ("contains", store.contains("c9").map(|found| found.to_string())),
        ("search", store.search(&request("state = s1")).map(|answer| answer.to_json())),
        ("newest", {
            let request = SearchRequest::new(all).with_order(newest).with_limit(9);
            store.search(&request).map(|answer| answer.to_json())
        }),
        ("snapshot", store.snapshot().search(&request("tags = t2")).map(|answer| answer.to_json())),
        ("facets", store.facets(&facets).map(|answer| answer.to_json())),
        ("explain_facets", store.explain_facets(&facets).map(|facets| debug(&facets.len()))),
        ("search_with_facets", {
            let found = store.search_with_facets(&request("amount < 9"), &facets);
            found.map(|(page, counts)| page.to_json() + &counts.to_json())
        }),
        ("explain", store.explain(&request("state = s1 and amount > 7")).map(|plan| plan.to_string())),
        ("analyze", {
            let plan = store.analyze(&request("tags = t1"), &|| std::time::Duration::ZERO);
            plan.map(|plan| plan.to_string())
        }),
        ("hints_for", store.hints_for(&request("state = S1")).map(|hints| debug(&hints))),
        ("ids", store.ids(&request("tags = t1")).map(|ids| ids.concat())),
        ("each_id", each_id()),
        ("documents", documents("at > '2026-01-07 00:00:00'")),
    ]
}

/// Copies the file `from`, and changes the copy. Returns the path of the copy.
fn changed(from: &Path, change: impl FnOnce(&redb::WriteTransaction)) -> std::path::PathBuf {
    let path = from.with_extension("changed");
    std::fs::copy(from, &path).unwrap();
    let database = Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
    path
}

/// The least part number of a key filter (`KeyFilter`). All rows and columns have smaller part numbers.
const FILTERS: u16 = 1 << 15;

/// Returns the keys of all pieces.
fn piece_keys(path: &Path) -> Vec<(u64, u16, u32)> {
    let database = Database::create(path).unwrap();
    let pieces = database.begin_read().unwrap().open_table(BATCHES).unwrap();
    pieces.iter().unwrap().map(|piece| piece.unwrap().0.value()).collect()
}

/// Copies the file, and changes one bit of a piece in the copy. Returns the path of the copy.
fn with_damage(path: &Path, key: (u64, u16, u32), at: usize) -> std::path::PathBuf {
    changed(path, |transaction| {
        let mut pieces = transaction.open_table(BATCHES).unwrap();
        let mut bytes = pieces.get(key).unwrap().unwrap().value().to_vec();
        let place = at * 31 % bytes.len();
        bytes[place] ^= 1 << (at % 8);
        pieces.insert(key, bytes.as_slice()).unwrap();
    })
}

#[test]
fn a_search_for_an_id_reads_the_ids_of_few_batches_until_it_builds_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    create(&path);
    let store = open_at(&path).unwrap();
    let read = || store.memory().fields.iter().find(|field| field.name == "id").unwrap().column_bytes;
    let found =
        |text: &str| store.search(&request(text)).unwrap().ids().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(read(), 0);
    assert!(found("id = none").is_empty() && read() == 0);
    assert_eq!(found("id = c17 and state = s2"), ["c17"]);
    let of_one = read();
    assert!(of_one > 0);
    assert_eq!(found("id = c17"), ["c17"]);
    assert_eq!(read(), of_one);
    for number in 0..CASES {
        assert_eq!(found(&format!("id = c{number}")), [format!("c{number}")]);
        assert_eq!(found(&format!("id in (c{number}, c3, none)")).len(), if number == 3 { 1 } else { 2 });
    }
    assert!(read() > 5 * of_one);
    assert!(store.delete("c17", Durability::Synced).unwrap());
    assert!(found("id = c17").is_empty());
}

#[test]
fn damage_of_a_filter_of_keys_is_an_error_of_searches_for_ids_and_of_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    create(&path);
    let keys = piece_keys(&path);
    let filters: Vec<_> = keys.into_iter().filter(|key| key.1 >= FILTERS).collect();
    assert_eq!(filters.len(), 6);
    let id = request("id = none");
    for (at, key) in filters.iter().enumerate() {
        let damaged = with_damage(&path, *key, at);
        let verified = Store::verify(&damaged, &catalog(), &options(0)).unwrap_err();
        assert_eq!(verified.kind(), StoreErrorKind::Corrupt, "{verified}");
        let store = open_at(&damaged).unwrap();
        assert_eq!(store.search(&id).unwrap_err().kind(), StoreErrorKind::Corrupt);
        assert_eq!(store.search(&request("state = s1")).unwrap().total(), Some(10));
        store.warm().unwrap();
        assert_eq!(store.search(&id).unwrap().total(), Some(0));
    }
    // `verify` also finds a wrong filter with a right checksum, because it compares the filter with the ids. A batch without a
    // filter can be read.
    let (batch, part, _) = filters[0];
    let forged = changed(&path, |transaction| {
        let mut pieces = transaction.open_table(BATCHES).unwrap();
        let contents = [0; 32];
        let seed = batch.rotate_left(16) ^ u64::from(part);
        let checksum = xxhash_rust::xxh3::xxh3_64_with_seed(&contents, seed);
        let bytes = [&[1][..], &checksum.to_le_bytes(), &contents].concat();
        pieces.insert(filters[0], bytes.as_slice()).unwrap();
    });
    let error = Store::verify(&forged, &catalog(), &options(0)).unwrap_err();
    assert!(error.to_string().contains("the key filter of id in batch "), "{error}");
    let bare = changed(&path, |transaction| {
        let mut pieces = transaction.open_table(BATCHES).unwrap();
        filters.iter().for_each(|key| drop(pieces.remove(key).unwrap()));
    });
    Store::verify(&bare, &catalog(), &options(0)).unwrap();
    assert_eq!(open_at(&bare).unwrap().search(&request("id = c17")).unwrap().total(), Some(1));
}

#[test]
fn damage_of_a_column_is_an_error_of_all_that_reads_it_and_of_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    create(&path);
    let right = answers(&open_at(&path).unwrap());
    let keys = piece_keys(&path);
    assert_eq!(keys.len(), 6 * 7);
    for (at, key) in keys.into_iter().filter(|key| key.1 < FILTERS).enumerate() {
        let damaged = with_damage(&path, key, at);
        let is_corrupt = |error: &StoreError| {
            assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{key:?}: {error}");
            true
        };
        let verified = Store::verify(&damaged, &catalog(), &options(0));
        assert!(verified.is_err_and(|error| is_corrupt(&error)));
        let store = match open_at(&damaged) {
            Ok(store) => {
                // All other columns are read nevertheless.
                assert!(is_corrupt(&store.warm().unwrap_err()));
                assert!(store.memory().fields.iter().all(|field| field.column_bytes > 0));
                drop(store);
                open_at(&damaged).unwrap()
            }
            Err(error) => {
                assert!(is_corrupt(&error) && key.1 == 0, "{key:?}: {error}");
                continue;
            }
        };
        assert_ne!(key.1, 0, "{key:?}");
        // Part n + 1 is the column of field n. Field 0 is the id.
        let own = ["", "id", "state", "amount", "tags", "at"][usize::from(key.1)];
        for _ in 0..2 {
            for ((name, right), (_, found)) in right.iter().zip(answers(&store)) {
                match found {
                    Ok(found) => {
                        // A search for an id reads only the batch that has it.
                        assert!(own == "id" || *name != own, "{key:?}: {name} has not read the column");
                        assert_eq!(right.as_ref().unwrap(), &found, "{key:?}: {name}");
                    }
                    Err(error) => {
                        let is_other = ["state", "amount", "tags", "at", "id"].contains(name) && *name != own;
                        assert!(is_corrupt(&error) && !is_other, "{key:?}: {name}: {error}");
                    }
                }
            }
        }
        let completions = store.completions("state = ", 8).candidates.len();
        assert_eq!(completions, if own == "state" { 0 } else { 5 });
        assert_eq!(store.hints(&filter("state = S1")).is_empty(), own == "state");
        assert!(store.warm().is_err_and(|error| is_corrupt(&error)));
        assert!(store.validate().is_err());
        // Writes that need the ids fail, and change nothing. The store can still be used.
        let replaced = document(0);
        let parsed = Document::parse(store.catalog(), replaced.as_bytes()).unwrap();
        let writes: [&dyn Fn() -> Result<(), StoreError>; 5] = [
            &|| store.upsert(replaced.as_bytes(), Durability::Synced).map(drop),
            &|| store.upsert_document(&parsed, Durability::Grouped).map(drop),
            &|| store.upsert_each([replaced.as_bytes()], Durability::Grouped).map(drop),
            &|| store.upsert_many(replaced.as_bytes()).map(drop),
            &|| store.delete("c47", Durability::Synced).map(drop),
        ];
        for write in writes {
            let first = write();
            if own == "id" {
                assert!(is_corrupt(&first.unwrap_err()) && is_corrupt(&write().unwrap_err()));
            } else {
                assert!(first.is_ok() || is_corrupt(&first.unwrap_err()));
                // A merge that cannot read the column is given up.
                write().unwrap();
            }
        }
        assert_eq!(store.len() as u64, if own == "id" { CASES } else { CASES - 1 });
        // A copy has the same damage. It is made without reading columns.
        let copy = folder.path().join("copy.db");
        store.backup(&copy).unwrap();
        assert!(Store::verify(&copy, &catalog(), &options(0)).is_err());
        std::fs::remove_file(copy).unwrap();
        store.compact_online().unwrap();
        drop(store);
        let store = open_at(&damaged).unwrap();
        assert_eq!(store.len() as u64, if own == "id" { CASES } else { CASES - 1 });
        let count = store.count(&filter(if own == "state" { "tags = t1" } else { "state = s1" })).unwrap();
        assert!((9..=16).contains(&count), "{count}");
    }
}

#[test]
fn damage_of_a_summary_or_of_live_rows_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    create(&path);
    for table in [SUMMARIES, LIVE] {
        let damaged = changed(&path, |transaction| {
            let mut table = transaction.open_table(table).unwrap();
            let (number, mut bytes) = {
                let (number, bytes) = table.last().unwrap().unwrap();
                (number.value(), bytes.value().to_vec())
            };
            *bytes.last_mut().unwrap() ^= 1;
            table.insert(number, bytes.as_slice()).unwrap();
        });
        assert_eq!(open_at(&damaged).unwrap_err().kind(), StoreErrorKind::Corrupt);
    }
    let removed = changed(&path, |transaction| {
        transaction.open_table(SUMMARIES).unwrap().pop_first().unwrap();
    });
    assert_eq!(open_at(&removed).unwrap_err().kind(), StoreErrorKind::Corrupt);
    // A summary of other values, with a right checksum.
    let forged = changed(&path, |transaction| {
        let mut table = transaction.open_table(SUMMARIES).unwrap();
        let number = table.first().unwrap().unwrap().0.value();
        let stored = table.get(number).unwrap().unwrap().value().to_vec();
        let own: BatchSummary = summary_from_bytes(&catalog(), (number, 8), &stored).unwrap();
        let mut bytes = own.to_bytes(&catalog());
        // The size of the strings of `state`, after the count of rows and the size of the ids.
        bytes[16] ^= 1;
        let forged = BatchSummary::from_bytes(&catalog(), &bytes).unwrap();
        let forged = summary_to_bytes(&catalog(), number, &forged);
        table.insert(number, forged.as_slice()).unwrap();
    });
    let store = open_at(&forged).unwrap();
    assert_eq!(store.count(&filter("tags = t1")).unwrap(), 16);
    let error = store.count(&filter("state = s1")).unwrap_err();
    assert!(
        error.to_string().ends_with("state: values that do not match the summary of the column"),
        "{error}"
    );
    drop(store);
    let verified = Store::verify(&forged, &catalog(), &options(0));
    assert_eq!(verified.unwrap_err().kind(), StoreErrorKind::Corrupt);
    // The greatest size of strings that a summary may state. Merges add up these sizes. A summary with a greater size is rejected.
    let huge = changed(&path, |transaction| {
        let mut table = transaction.open_table(SUMMARIES).unwrap();
        let numbers: Vec<u64> = table.iter().unwrap().map(|entry| entry.unwrap().0.value()).collect();
        for number in numbers {
            let stored = table.get(number).unwrap().unwrap().value().to_vec();
            let own = summary_from_bytes(&catalog(), (number, 8), &stored).unwrap();
            let mut bytes = own.to_bytes(&catalog());
            bytes[16..24].copy_from_slice(&(u64::from(u32::MAX) + 1).to_le_bytes());
            assert!(BatchSummary::from_bytes(&catalog(), &bytes).is_err());
            bytes[16..24].copy_from_slice(&u64::from(u32::MAX).to_le_bytes());
            let forged = BatchSummary::from_bytes(&catalog(), &bytes).unwrap();
            table.insert(number, summary_to_bytes(&catalog(), number, &forged).as_slice()).unwrap();
        }
    });
    let store = open_at(&huge).unwrap();
    for number in 0..200 {
        let written = match number % 8 {
            0..5 if number < CASES => store.delete(&format!("c{number}"), Durability::Grouped).map(drop),
            _ => store.upsert(document(1000 + number).as_bytes(), Durability::Grouped).map(drop),
        };
        assert!(written.is_ok() || written.is_err_and(|error| error.kind() == StoreErrorKind::Corrupt));
    }
}

#[test]
fn a_snapshot_that_is_held_reads_columns_of_batches_that_were_removed() {
    for (from, to, step) in [(8, 40, 1), (0, CASES, 2), (0, CASES, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        create(&path);
        let right = answers(&open_at(&path).unwrap());
        let mut store = open_at(&path).unwrap();
        let snapshot = store.snapshot();
        let ids = (from..to).step_by(step).map(|number| format!("c{number}"));
        let deleted = store.delete_many(ids, Durability::Synced).unwrap();
        store.checkpoint().unwrap();
        for number in 100..160 {
            store.upsert(document(number).as_bytes(), Durability::Grouped).unwrap();
        }
        store.checkpoint().unwrap();
        if step == 1 {
            store.compact_online().unwrap();
        }
        assert_eq!(snapshot.len() as u64, CASES);
        for text in ["tags = t1", "amount > 20 and amount < 30", "state = s1 or state = s4"] {
            let found = snapshot.search(&request(text)).unwrap();
            assert_eq!(found.total(), count_in(&right, text), "{text}");
            assert_eq!(found.documents().count(), found.len());
        }
        assert_eq!(store.len(), CASES as usize - deleted + 60);
        // With the snapshot, the last read transaction ends, so that the file can be compacted.
        drop(snapshot);
        store.compact().unwrap();
        store.validate().unwrap();
        drop(store);
        Store::verify(&path, &catalog(), &options(0)).unwrap();
    }
}

/// Returns the number of cases of the unchanged store that a filter selects.
fn count_in(right: &Answers, text: &str) -> Option<u64> {
    let name = text.split(' ').next().unwrap();
    let (_, count) = right.iter().find(|(own, _)| *own == name).unwrap();
    count.as_ref().unwrap().parse().ok()
}

#[test]
fn only_what_is_needed_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    create(&path);
    let store = open_at(&path).unwrap();
    let read = || -> Vec<String> {
        let fields = store.memory().fields.into_iter();
        fields.filter(|field| field.column_bytes > 0).map(|field| field.name).collect()
    };
    assert_eq!(read(), [""; 0]);
    assert_eq!(store.count(&filter("amount > 100")).unwrap(), 0);
    assert_eq!(read(), [""; 0], "the summaries exclude all batches");
    assert_eq!(store.count(&filter("state = s1")).unwrap(), 10);
    assert_eq!(read(), ["state"]);
    let before = store.memory();
    assert_eq!(store.count(&filter("state = s2")).unwrap(), 10);
    assert_eq!(store.memory(), before);
    // A write needs the ids.
    assert!(store.delete("c3", Durability::Grouped).unwrap());
    assert_eq!(read(), ["id", "state"]);
    store.warm().unwrap();
    assert_eq!(read(), ["id", "state", "amount", "tags", "at"]);
    let warm = store.memory();
    assert!(warm.columns_bytes > before.columns_bytes && warm.index_bytes > before.index_bytes);
    answers(&store);
    assert_eq!(store.memory().columns_bytes, warm.columns_bytes);
}

#[test]
fn a_column_that_could_not_be_read_is_read_again() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let document = |number: u64| {
        let long = removed::noise(number, 115);
        format!("{{\"id\":\"{number}{long}\",\"state\":\"{number}{long}\",\"amount\":{number}}}")
    };
    {
        let store = open(&disk, 1).unwrap();
        let documents: Vec<String> = (0..1500).map(document).collect();
        store.upsert_many(documents.join("\n").as_bytes()).unwrap();
        store.close().unwrap();
    }
    let store = open(&disk, 1).unwrap();
    // The columns of strings do not fit into the cache of 1 MiB, even if they are compressed.
    disk.begin(Trouble::Once(disk.operations()));
    let count = || store.count(&Filter::test(store.catalog(), "state", Operator::StartsWith, ["7"]).unwrap());
    assert_eq!(count().unwrap_err().kind(), StoreErrorKind::Io);
    disk.begin(Trouble::None);
    assert_eq!(count().unwrap(), 111);
    store.recover().unwrap();
    disk.begin(Trouble::Once(disk.operations()));
    // The write reads the ids to find out that the case is new.
    let written = store.upsert(b"{\"id\":\"late\"}", Durability::Synced);
    assert_eq!(written.unwrap_err().kind(), StoreErrorKind::Io);
    disk.begin(Trouble::None);
    while let Err(refused) = store.upsert(b"{\"id\":\"late\"}", Durability::Synced) {
        assert!(refused.to_string().contains("in a moment"), "{refused}");
    }
    assert_eq!((count().unwrap(), store.len()), (111, 1501));
    store.validate().unwrap();
}

#[test]
fn a_merge_that_cannot_read_a_column_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    create(&path);
    let damaged = changed(&path, |transaction| {
        let mut pieces = transaction.open_table(BATCHES).unwrap();
        let number = pieces.first().unwrap().unwrap().0.value().0;
        // The part of `tags`.
        let key = (number, 4, 0);
        let mut bytes = pieces.get(key).unwrap().unwrap().value().to_vec();
        *bytes.last_mut().unwrap() ^= 1;
        pieces.insert(key, bytes.as_slice()).unwrap();
    });
    let mut failed = 0;
    for _ in 0..2 {
        let store = open_at(&damaged).unwrap();
        let mut try_twice = |write: &dyn Fn() -> Result<(), StoreError>| {
            if let Err(error) = write() {
                assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
                failed += 1;
                write().unwrap();
            }
        };
        for number in (0..CASES).filter(|number| number % 8 < 5) {
            try_twice(&|| store.delete(&format!("c{number}"), Durability::Grouped).map(drop));
        }
        for number in 1000..1200 {
            try_twice(&|| store.upsert(document(number).as_bytes(), Durability::Grouped).map(drop));
        }
        assert_eq!(store.len(), 18 + 200);
        assert_eq!(store.count(&filter("state = s1 and amount >= 0")).unwrap(), 4 + 40);
        assert_eq!(store.count(&filter("tags = t1")).unwrap_err().kind(), StoreErrorKind::Corrupt);
        store.close().unwrap();
    }
    // Each opening finds the damage once.
    assert!((1..=2).contains(&failed), "{failed}");
}
