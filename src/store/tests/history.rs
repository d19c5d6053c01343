//! Compares searches as of earlier writes with the reference evaluator, over the documents as they were after each write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::super::history::OldLimit;
use super::*;
use crate::error::ErrorKind;
use crate::facet::{Facet, FacetsRequest};
use crate::filter::Order;
use crate::stop::StopConditions;
use crate::value::Timestamp;

/// The documents after each write, in insertion order, by the number of the write.
type States = BTreeMap<u64, Vec<String>>;

/// The time in milliseconds that the clock of a store shows.
type Now = Arc<AtomicI64>;

const LONG: Duration = Duration::from_millis(1 << 40);

fn open_with(disk: &Disk, seed: u64, now: &Now, history: Duration) -> Result<Store, StoreError> {
    let file = File::in_backend(disk.clone(), &catalog()).map_err(|fault| fault.of_file("disk"))?;
    let mut store = Store::load("disk".to_owned(), file, &catalog(), options(seed))?;
    let now = Arc::clone(now);
    store.clock = Arc::new(move || Timestamp::from_millis(now.load(Ordering::Relaxed)));
    store.set_history(history)?;
    Ok(store)
}

fn last(store: &Store) -> u64 {
    store.snapshot().last_write().unwrap()
}

/// Records the documents after the last write. Checks that no two different states have the same write number.
fn record(states: &mut States, store: &Store, plain: &Plain, at: &str) {
    let documents: Vec<String> = plain.0.iter().map(|(_, document)| document.clone()).collect();
    let before = states.insert(last(store), documents.clone());
    assert!(before.is_none_or(|before| before == documents), "{at}: write {} changes its state", last(store));
}

const ORDERS: &[&str] = &["", "amount", "-amount", "state,-at", "-at", "id", "-id"];

/// Compares a snapshot with the documents that it should have.
fn check(snapshot: &StoreSnapshot<'_>, expected: &[String], dice: &mut Dice, at: &str) {
    let texts: Vec<&str> = expected.iter().map(String::as_str).collect();
    let catalog = catalog().extended();
    assert_eq!(snapshot.len(), texts.len(), "{at}");
    let all = SearchRequest::new(Filter::all(&catalog)).with_limit(1000);
    assert_eq!(snapshot.search(&all).unwrap().documents().collect::<Vec<_>>(), texts, "{at}");
    let (text, _) = FILTERS[dice.below(FILTERS.len() as u64) as usize];
    let filter = match dice.one_in(3) {
        true => Filter::all(&catalog),
        false => Filter::compile_text(&catalog, text).unwrap(),
    };
    let order = ORDERS[dice.below(ORDERS.len() as u64) as usize];
    let order = Order::parse(&catalog, order).unwrap();
    let request = SearchRequest::new(filter.clone()).with_order(order).with_limit(1000).with_count(true);
    let (rows, total) = reference::search(&texts, &request).unwrap();
    let listed: Vec<&str> = rows.into_iter().map(|row| texts[row]).collect();
    assert_eq!(snapshot.count(&filter).unwrap(), total, "{at}");
    let offset = dice.below(9);
    let page = request.clone().with_offset(offset).with_limit(dice.below(9) + 1);
    let (rows, _) = reference::search(&texts, &page).unwrap();
    let answer = snapshot.search(&page).unwrap();
    assert_eq!(answer.total(), Some(total), "{at}");
    let expected: Vec<&str> = rows.into_iter().map(|row| texts[row]).collect();
    assert_eq!(answer.documents().collect::<Vec<_>>(), expected, "{at}");
    assert_eq!(answer.last_write(), snapshot.last_write(), "{at}");
    // The same list, page by page.
    let (mut next, mut found) = (None, Vec::new());
    let limit = dice.below(7) + 1;
    loop {
        let page = request.clone().with_limit(limit).with_cursor(true).with_after(next);
        let answer = snapshot.search(&page).unwrap();
        found.extend(answer.documents().map(str::to_owned));
        next = answer.next().cloned();
        if next.is_none() {
            break;
        }
    }
    assert_eq!(found, listed, "{at}");
    let read: Result<Vec<String>, StoreError> = snapshot.documents(&request).unwrap().collect();
    assert_eq!(read.unwrap(), listed, "{at}");
    let facets = ["state", "tags", "at"].map(|name| Facet::values(&catalog, name).unwrap());
    let facets = FacetsRequest::new(filter).with_facets(facets);
    let expected = reference::facets(&texts, &facets).unwrap();
    assert_eq!(snapshot.facets(&facets).unwrap().to_json(), expected.to_json(), "{at}");
    assert_eq!(snapshot.explain(&request).unwrap().documents, texts.len() as u64, "{at}");
}

fn check_writes(store: &Store, states: &States, oldest: u64, dice: &mut Dice, at: &str) {
    for _ in 0..3 {
        let write = oldest + dice.below(last(store) - oldest + 1);
        let snapshot = store.as_of(AsOf::Write(write)).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(snapshot.last_write(), Some(write), "{at}");
        check(&snapshot, &states[&write], dice, &format!("{at}, as of {write} of {}", last(store)));
    }
}

#[test]
fn a_search_as_of_a_write_gives_the_answer_of_then() {
    for seed in seeds(24) {
        let mut dice = Dice::new(seed);
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let (mut plain, mut states, now) = (Plain::default(), States::new(), Now::default());
        let mut store = open_with(&disk, seed, &now, LONG).unwrap();
        record(&mut states, &store, &plain, "at first");
        for step in 0..60 {
            let at = format!("seed {seed}, step {step}");
            now.fetch_add(dice.below(5) as i64, Ordering::Relaxed);
            match dice.below(12) {
                0 => {
                    drop(store);
                    store = open_with(&disk, seed, &now, LONG).unwrap();
                }
                1 => assert!(store.compact().is_ok(), "{at}"),
                _ => assert!(operate(&store, &mut plain, &mut dice).is_ok(), "{at}"),
            }
            record(&mut states, &store, &plain, &at);
            if step % 4 == 0 {
                check_writes(&store, &states, 0, &mut dice, &at);
            }
        }
        check_writes(&store, &states, 0, &mut dice, &format!("seed {seed}"));
        drop(store);
        let verified = verify(File::in_backend(disk.clone(), &catalog()).unwrap(), &catalog()).unwrap();
        assert!(verified.history > 0, "seed {seed}");
    }
}

#[test]
fn old_documents_are_forgotten_and_the_rest_is_kept() {
    for seed in seeds(12) {
        let mut dice = Dice::new(seed);
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let (mut plain, mut states, now) = (Plain::default(), States::new(), Now::default());
        let store = open_with(&disk, seed, &now, Duration::from_millis(50)).unwrap();
        let mut times: BTreeMap<u64, i64> = BTreeMap::new();
        record(&mut states, &store, &plain, "at first");
        times.insert(last(&store), 0);
        for step in 0..120 {
            let at = format!("seed {seed}, step {step}");
            now.fetch_add(dice.below(8) as i64, Ordering::Relaxed);
            operate(&store, &mut plain, &mut dice).unwrap();
            record(&mut states, &store, &plain, &at);
            times.entry(last(&store)).or_insert(now.load(Ordering::Relaxed));
        }
        let oldest = match store.as_of(AsOf::Write(0)) {
            Ok(_) => panic!("seed {seed}: nothing was forgotten"),
            Err(error) => error.history_gone().unwrap().oldest.unwrap().0,
        };
        check_writes(&store, &states, oldest, &mut dice, &format!("seed {seed}"));
        let end = now.load(Ordering::Relaxed);
        // A checkpoint after the last write can also forget documents, so the ages are measured at `end`.
        assert!(times[&oldest] <= end - 50, "seed {seed}: kept for too short a time");
        assert!(oldest + 40 > last(&store), "seed {seed}: {oldest} of {} is too old", last(&store));
        for _ in 0..20 {
            let time = times[&oldest] + dice.below((end - times[&oldest]) as u64 + 1) as i64;
            let write = times.iter().rev().find(|(_, own)| **own <= time).map(|(write, _)| *write);
            let found = store.as_of(AsOf::Time(Timestamp::from_millis(time))).unwrap();
            assert_eq!(found.last_write(), write, "seed {seed}, time {time}");
        }
        let refused = |moment| store.as_of(moment).unwrap_err().history_gone().unwrap().is_future;
        assert!(!refused(AsOf::Time(Timestamp::from_millis(times[&oldest] - 1))));
        assert!(!refused(AsOf::Write(oldest - 1)));
        assert!(refused(AsOf::Time(Timestamp::from_millis(end + 1))));
        assert!(refused(AsOf::Write(last(&store) + 1)));
        // Ending a history removes its documents. A later history begins without the earlier documents.
        store.set_history(Duration::ZERO).unwrap();
        assert!(store.as_of(AsOf::Write(last(&store))).is_ok());
        assert_eq!(store.as_of(AsOf::Write(oldest)).unwrap_err().history_gone().unwrap().oldest, None);
        store.set_history(LONG).unwrap();
        let from = last(&store);
        operate(&store, &mut plain, &mut dice).unwrap();
        record(&mut states, &store, &plain, "again");
        check_writes(&store, &states, from, &mut dice, &format!("seed {seed}"));
    }
}

#[test]
fn after_a_crash_the_history_is_that_of_the_writes_on_disk() {
    for seed in seeds(150) {
        let mut dice = Dice::new(seed);
        let script = dice.clone();
        // The first run counts the operations of the disk.
        let mut operations = None;
        for _ in 0..2 {
            let mut script = script.clone();
            let disk = Disk::new(Vec::new(), Trouble::None, false);
            let (mut plain, mut states, now) = (Plain::default(), States::new(), Now::default());
            let store = open_with(&disk, seed, &now, Duration::from_millis(30)).unwrap();
            record(&mut states, &store, &plain, "at first");
            let begin = disk.operations();
            let mut at = || begin + dice.below(operations.unwrap_or(1));
            let trouble = match (operations, script.clone().below(4)) {
                (None, _) => Trouble::None,
                (_, 0) => Trouble::Once(at()),
                (_, 1) => Trouble::Full(at()),
                _ => Trouble::Crash(at()),
            };
            disk.begin(trouble);
            for _ in 0..40 {
                now.fetch_add(script.below(5) as i64, Ordering::Relaxed);
                let mut next = plain.clone();
                let write = last(&store);
                if operate(&store, &mut next, &mut script).is_err() {
                    // The write that failed may be on disk.
                    if next.0 != plain.0 {
                        states.insert(write + 1, next.0.into_iter().map(|(_, document)| document).collect());
                    }
                    break;
                }
                plain = next;
                record(&mut states, &store, &plain, &format!("seed {seed}"));
            }
            operations = Some(disk.operations() - begin);
            drop(store);
            let at = format!("seed {seed}, {trouble:?}");
            let found = Disk::new(disk.after_crash(&mut dice), Trouble::None, false);
            let store = open_with(&found, seed, &now, Duration::from_millis(30));
            let store = store.unwrap_or_else(|error| panic!("{at}: {error}"));
            let oldest = match store.as_of(AsOf::Write(0)) {
                Ok(_) => 0,
                Err(error) => error.history_gone().unwrap().oldest.unwrap().0,
            };
            check_writes(&store, &states, oldest, &mut dice, &at);
            drop(store);
            let verified = verify(File::in_backend(found, &catalog()).unwrap(), &catalog());
            verified.unwrap_or_else(|fault| panic!("{at}: {}", fault.detail));
        }
    }
}

#[test]
fn a_damaged_history_gives_the_right_answer_or_an_error() {
    let mut outcomes = [0_u32; 2];
    for seed in seeds(400) {
        let mut dice = Dice::new(seed / 20);
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let (mut plain, mut states, now) = (Plain::default(), States::new(), Now::default());
        let store = open_with(&disk, seed / 20, &now, LONG).unwrap();
        record(&mut states, &store, &plain, "at first");
        for _ in 0..25 {
            operate(&store, &mut plain, &mut dice).unwrap();
            record(&mut states, &store, &plain, "");
        }
        drop(store);
        let mut contents = disk.contents();
        let mut dice = Dice::new(seed + 2_000_000);
        let taken: Vec<usize> = (0..contents.len()).filter(|at| contents[*at] != 0).collect();
        contents[taken[dice.below(taken.len() as u64) as usize]] ^= 1 << dice.below(8);
        let disk = Disk::new(contents, Trouble::None, false);
        let used = catch_unwind(AssertUnwindSafe(|| {
            let store = open_with(&disk, seed / 20, &now, LONG)?;
            let all = SearchRequest::new(Filter::all(store.catalog())).with_limit(1000);
            let mut found = Vec::new();
            for write in 0..=last(&store) {
                let answer = store.as_of(AsOf::Write(write))?.search(&all)?;
                found.push((write, answer.documents().map(str::to_owned).collect::<Vec<_>>()));
            }
            Ok::<_, StoreError>(found)
        }));
        match used.unwrap_or_else(|_| panic!("seed {seed}: a panic")) {
            Ok(found) => {
                for (write, documents) in found {
                    assert!(states[&write] == documents, "seed {seed}: a wrong answer as of write {write}");
                }
                outcomes[0] += 1;
            }
            Err(error) => {
                // The catalogue and the version may be damaged, too.
                let wrong = [StoreErrorKind::HistoryGone, StoreErrorKind::Request, StoreErrorKind::Exists];
                assert!(!wrong.contains(&error.kind()), "seed {seed}: {error}");
                outcomes[1] += 1;
            }
        }
    }
    assert!(outcomes[0] > 0 && outcomes[1] > 0, "{outcomes:?}");
}

#[test]
fn a_backup_a_compacted_file_and_a_reader_have_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["cases.db", "copy.db"].map(|name| folder.path().join(name));
    let store = Store::create(&path, catalog(), StoreOptions::default().history(LONG)).unwrap();
    let (first, second) = (r#"{"id":"a","state":"s1"}"#, r#"{"id":"a","state":"s2"}"#);
    store.upsert(first.as_bytes(), Durability::Synced).unwrap();
    store.upsert(second.as_bytes(), Durability::Synced).unwrap();
    let then = |store: &Store| {
        let all = SearchRequest::new(Filter::all(store.catalog()));
        let answer = store.as_of(AsOf::Write(1)).unwrap().search(&all).unwrap();
        answer.documents().map(str::to_owned).collect::<Vec<_>>()
    };
    let held = store.as_of(AsOf::Write(1)).unwrap();
    store.backup(&copy).unwrap();
    store.compact_online().unwrap();
    let all = SearchRequest::new(Filter::all(store.catalog()));
    assert_eq!(held.search(&all).unwrap().documents().collect::<Vec<_>>(), [first]);
    assert_eq!(then(&store), [first]);
    store.delete("a", Durability::Synced).unwrap();
    assert_eq!(store.as_of(AsOf::Write(2)).unwrap().len(), 1);
    store.close().unwrap();
    for path in [&path, &copy] {
        let store = Store::open_read_only(path, catalog(), StoreOptions::default()).unwrap();
        assert_eq!(then(&store), [first]);
        assert_eq!(store.history(), LONG);
        drop(store);
        assert!(Store::verify(path, &catalog(), &StoreOptions::default()).unwrap().history > 0);
    }
}

/// Returns a store that keeps its history for 50 milliseconds. The history has 5,000 documents, and the clock of the store is at
/// 1,000 milliseconds.
fn with_old_documents(disk: &Disk) -> Store {
    let now = Now::default();
    let mut store = open_with(disk, 1, &now, Duration::from_millis(50)).unwrap();
    store.options = store.options.clone().checkpoint_every(1 << 20);
    let lines: String = (0..5000).map(|number| format!("{{\"id\":\"c{number}\"}}\n")).collect();
    for _ in 0..2 {
        store.upsert_many(lines.as_bytes()).unwrap();
    }
    store.checkpoint().unwrap();
    assert_eq!(store.lock_log().writes.documents, 5000);
    now.store(1000, Ordering::Relaxed);
    store
}

#[test]
fn writes_checkpoints_and_compactions_forget() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let mut store = with_old_documents(&disk);
    let documents = |store: &Store| store.lock_log().writes.documents;
    store.upsert(br#"{"id":"later"}"#, Durability::Synced).unwrap();
    let after = documents(&store);
    assert!((4980..5000).contains(&after), "a write removes a bounded number, and not {}", 5000 - after);
    store.checkpoint().unwrap();
    assert_eq!(documents(&store), after - 4096, "a checkpoint that no write has caused");
    store.compact().unwrap();
    assert_eq!(documents(&store), 0);
    assert_eq!(store.as_of(AsOf::Write(last(&store))).unwrap().len(), 5001);
    drop(store);
    verify(File::in_backend(disk, &catalog()).unwrap(), &catalog()).unwrap();

    let store = with_old_documents(&Disk::new(Vec::new(), Trouble::None, false));
    store.upsert(br#"{"id":"later"}"#, Durability::Synced).unwrap();
    store.set_history(Duration::from_millis(40)).unwrap();
    assert_eq!(documents(&store), 0, "a shorter time");
    store.set_history(Duration::from_nanos(1)).unwrap();
    assert_eq!(store.history(), Duration::from_millis(1));
}

#[test]
fn the_times_of_writes_do_not_go_backwards() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let now = Now::default();
    let store = open_with(&disk, 0, &now, LONG).unwrap();
    for (time, id) in [(100, "a"), (50, "b"), (110, "c")] {
        now.store(time, Ordering::Relaxed);
        store.upsert(format!("{{\"id\":\"{id}\"}}").as_bytes(), Durability::Synced).unwrap();
    }
    let len = |time| store.as_of(AsOf::Time(Timestamp::from_millis(time))).unwrap().len();
    assert_eq!([99, 100, 109, 110].map(len), [0, 2, 2, 3]);
    drop(store);
    verify(File::in_backend(disk, &catalog()).unwrap(), &catalog()).unwrap();
}

#[test]
fn a_write_has_the_time_of_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions::default().history(LONG);
    let mut store = Store::create(folder.path().join("cases.db"), catalog(), options).unwrap();
    store.insert_standing([standing("f", 1)]).unwrap();
    // The commit comes an hour after the events.
    let clock = Arc::clone(&store.clock);
    store.clock = Arc::new(move || Timestamp::from_millis(clock().as_millis() + 3_600_000));
    store.upsert(br#"{"id":"a","state":"s1","amount":900}"#, Durability::Synced).unwrap();
    let events = store.events_after(0, 10).unwrap();
    assert_eq!(store.as_of(AsOf::Time(events[0].time)).unwrap().len(), 1);
}

#[test]
fn a_setting_that_fails_after_its_commit_loses_no_store() {
    let mut committed = 0;
    for step in 0..200 {
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = open_with(&disk, 0, &Now::default(), LONG).unwrap();
        store.upsert(br#"{"id":"a"}"#, Durability::Grouped).unwrap();
        disk.begin(Trouble::Once(disk.operations() + step));
        let set = store.set_history(LONG / 2);
        disk.begin(Trouble::None);
        if set.is_ok() {
            assert!(committed > 0, "no step failed after the commit");
            return;
        }
        let file = File::in_backend(Disk::new(disk.contents(), Trouble::None, false), &catalog());
        let on_disk = file.map(|file| Store::load("disk".to_owned(), file, &catalog(), options(0)).unwrap());
        if on_disk.is_ok_and(|store| store.history() == LONG / 2) && !store.file.sync_failed().is_set() {
            committed += 1;
            store.upsert(br#"{"id":"b"}"#, Durability::Synced).unwrap();
            assert_eq!((store.len(), store.history()), (2, LONG / 2), "step {step}");
        }
    }
    panic!("no setting succeeded");
}

#[test]
fn a_search_as_of_a_moment_has_a_limit_of_old_documents() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open_with(&disk, 0, &Now::default(), LONG).unwrap();
    for state in 0..4 {
        let text = format!("{{\"id\":\"a\",\"state\":\"s{state}\"}}");
        store.upsert(text.as_bytes(), Durability::Synced).unwrap();
        store.upsert(br#"{"id":"b"}"#, Durability::Synced).unwrap();
    }
    let guard = Arc::new(());
    let as_of = |write, most| {
        let limit = OldLimit { most: Some(most), most_bytes: None, guard: Some(Arc::clone(&guard) as _) };
        store.as_of_with(AsOf::Write(write), &StopConditions::default(), limit)
    };
    // The two replaced documents have 23 and 10 bytes.
    for (most_bytes, is_within) in [(1, false), (11, false), (33, true)] {
        let limit = OldLimit { most: None, most_bytes: Some(most_bytes), guard: None };
        let found = store.as_of_with(AsOf::Write(2), &StopConditions::default(), limit);
        assert_eq!(found.is_ok(), is_within, "{most_bytes}");
    }
    let error = as_of(2, 1).unwrap_err();
    assert_eq!(error.request_error().unwrap().kind, ErrorKind::BadValue);
    assert!(
        error
            .to_string()
            .contains("too many documents that were replaced or deleted since (over 1, with 23 bytes)"),
        "{error}"
    );
    let held = as_of(2, 2).unwrap();
    // The guard is dropped with the snapshot.
    assert_eq!((held.len(), Arc::strong_count(&guard)), (2, 2));
    drop(held);
    assert_eq!(Arc::strong_count(&guard), 1);
    let now = as_of(last(&store), 0).unwrap();
    assert_eq!((now.len(), Arc::strong_count(&guard)), (2, 1));
}

#[test]
fn files_of_earlier_versions_keep_no_history() {
    for version in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        let kept = format!("tests/data/store/v{version}.redb");
        std::fs::copy(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(kept), &path).unwrap();
        let store = Store::open(&path, Catalog::cases(), StoreOptions::default()).unwrap();
        assert_eq!(store.snapshot().last_write(), None);
        assert_eq!(store.set_history(LONG).unwrap_err().kind(), StoreErrorKind::OldFormat);
        assert_eq!(store.as_of(AsOf::Write(0)).unwrap_err().kind(), StoreErrorKind::HistoryGone);
        drop(store);
        let error = Store::open(&path, Catalog::cases(), StoreOptions::default().history(LONG)).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::OldFormat);
    }
}
