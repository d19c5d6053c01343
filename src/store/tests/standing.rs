//! Tests standing filters and events in the file: retention, large writes, what readers see, and damage.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::super::options::KeptEvents;
use super::super::standing_bytes::StandingCounters;
use super::super::tables::{EVENTS, META, STANDING, STANDING_COUNTERS};
use super::*;
use crate::standing::EventsGoneError;

fn upsert(store: &Store, id: &str, state: &str, durability: Durability) {
    let document = format!(r#"{{"id":"{id}","state":"{state}"}}"#);
    store.upsert(document.as_bytes(), durability).unwrap();
}

fn filter(name: &str, text: &str) -> StandingFilter {
    StandingFilter::new(name, &Filter::compile_text(&catalog(), text).unwrap())
}

/// Returns the events after a number as `filter kind id`.
fn told(store: &Store, after: u64) -> Vec<String> {
    let events = store.events_after(after, 1_000).unwrap();
    events.iter().map(|event| format!("{} {} {}", event.filter, event.kind.name(), event.id)).collect()
}

#[test]
fn the_latest_events_are_kept() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let file = File::in_backend(disk.clone(), &catalog()).unwrap();
    let options = options(0).keep_events(5);
    let store = Store::load("disk".to_owned(), file, &catalog(), options).unwrap();
    store.insert_standing([filter("a", "true"), filter("b", "state = x")]).unwrap();
    for id in 0..4 {
        upsert(&store, &id.to_string(), "x", Durability::Synced);
    }
    let gone = store.events_after(2, 10).unwrap_err();
    assert_eq!(gone.kind(), StoreErrorKind::EventsGone);
    assert_eq!(gone.events_gone().map(|gone| (gone.oldest, gone.last)), Some((4, 8)));
    assert!(gone.to_string().ends_with("the oldest one that is kept has number 4"), "{gone}");
    // The case `1` has the events 3 and 4, of which one is kept.
    assert_eq!(store.events_after(3, 10).unwrap().len(), 5);
    assert_eq!(store.events_after(3, 10).unwrap()[0].id, "1");
    let early = store.events_after(9, 10).unwrap_err();
    assert!(early.to_string().ends_with("no event has number 9 yet; the last one has number 8"), "{early}");
    // One write with more events than are kept.
    let documents: Vec<String> = (10..30).map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
    store.upsert_many(documents.join("\n").as_bytes()).unwrap();
    assert_eq!(store.last_event(), 28);
    let expected = ["a entered 25", "a entered 26", "a entered 27", "a entered 28", "a entered 29"];
    assert_eq!(told(&store, 23), expected);
    drop(store);
    let file = File::in_backend(disk.clone(), &catalog()).unwrap();
    let verified = verify(file, &catalog()).unwrap();
    assert_eq!((verified.standing_filters, verified.events), (2, 5));
}

#[test]
fn the_file_keeps_the_number_and_the_age_of_kept_events() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let open = |options: StoreOptions| {
        let file = File::in_backend(disk.clone(), &catalog()).unwrap();
        Store::load("disk".to_owned(), file, &catalog(), options).unwrap()
    };
    let write = |store: &Store, ids: Range<u32>| {
        ids.for_each(|id| upsert(store, &id.to_string(), "x", Durability::Synced));
    };
    let oldest = |store: &Store| match store.events_after(0, 1) {
        Ok(events) => events[0].number,
        Err(error) => error.events_gone().unwrap().oldest,
    };
    // The settings are not stored unless the host sets them.
    let store = open(options(0));
    store.insert_standing([filter("a", "true")]).unwrap();
    write(&store, 0..3);
    assert_eq!((store.kept_events(), oldest(&store)), (KeptEvents::default(), 1));
    drop(store);
    drop(open(options(0).keep_events(5)));
    // This program does not set the number, so the number in the file applies.
    let store = open(options(0));
    write(&store, 3..20);
    assert_eq!((store.last_event(), oldest(&store)), (20, 16));
    drop(store);
    let age = Duration::from_secs(3);
    drop(open(options(0).keep_events_for(age).keep_events(7)));
    let store = open(options(0));
    assert_eq!(store.kept_events(), KeptEvents { count: 7, age: Some(age) });
    write(&store, 20..30);
    assert_eq!((store.last_event(), oldest(&store)), (30, 24));
    drop(store);
    verify(File::in_backend(disk.clone(), &catalog()).unwrap(), &catalog()).unwrap();
    // Each setting leaves the other one unchanged.
    drop(open(options(0).keep_events(u64::MAX)));
    assert_eq!(open(options(0)).kept_events(), KeptEvents { count: u64::MAX, age: Some(age) });
    drop(open(options(0).keep_events_for(None)));
    assert_eq!(open(options(0)).kept_events(), KeptEvents { count: u64::MAX, age: None });
}

#[test]
fn a_full_disk_does_not_prevent_opening_with_another_number_of_kept_events() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let file = File::in_backend(disk.clone(), &catalog()).unwrap();
    let store = Store::load("disk".to_owned(), file, &catalog(), options(0)).unwrap();
    store.insert_standing([filter("a", "true")]).unwrap();
    (0..20_u32).for_each(|id| upsert(&store, &id.to_string(), "x", Durability::Synced));
    drop(store);
    let file = File::in_backend(disk.clone(), &catalog()).unwrap();
    disk.begin(Trouble::Full(disk.operations()));
    let few = options(0).keep_events(5);
    let store = Store::load("disk".to_owned(), file, &catalog(), few.clone()).unwrap();
    assert_eq!((store.kept_events().count, store.len()), (5, 20));
    assert_eq!(store.events_after(0, 100).unwrap().len(), 20);
    assert_eq!(store.delete("1", Durability::Synced).unwrap_err().kind(), StoreErrorKind::Failed);
    // When the disk has room again, the setting is in force.
    disk.begin(Trouble::None);
    let start = std::time::Instant::now();
    while store.delete("1", Durability::Synced).is_err() {
        assert!(start.elapsed().as_secs() < 10, "the store is not written again");
    }
    assert_eq!(store.events_after(0, 1).unwrap_err().events_gone().unwrap().oldest, 17);
    drop(store);
    let open = |options| {
        let file = File::in_backend(disk.clone(), &catalog()).unwrap();
        Store::load("disk".to_owned(), file, &catalog(), options).unwrap()
    };
    assert_eq!(open(options(0)).kept_events(), KeptEvents::default());
    drop(open(few));
    assert_eq!(open(options(0)).kept_events().count, 5);
}

#[test]
fn old_events_are_removed() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let file = File::in_backend(disk.clone(), &catalog()).unwrap();
    let options = options(0).keep_events_for(Duration::from_millis(30));
    let store = Store::load("disk".to_owned(), file, &catalog(), options).unwrap();
    store.insert_standing([filter("a", "true")]).unwrap();
    upsert(&store, "1", "x", Durability::Synced);
    std::thread::sleep(Duration::from_millis(60));
    upsert(&store, "2", "x", Durability::Synced);
    assert_eq!(told(&store, 1), ["a entered 2"]);
    assert_eq!(store.events_after(0, 1).unwrap_err().events_gone().unwrap().oldest, 2);
    store.forget_events(u64::MAX).unwrap();
    assert!(store.events_after(2, 10).unwrap().is_empty());
    assert_eq!(store.events_after(1, 1).unwrap_err().events_gone().unwrap().oldest, 3);
    upsert(&store, "3", "x", Durability::Synced);
    assert_eq!(told(&store, 2), ["a entered 3"]);
    drop(store);
    verify(File::in_backend(disk, &catalog()).unwrap(), &catalog()).unwrap();
}

#[test]
fn a_case_with_many_events_has_several_entries() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    let name = |number: u64| format!("{number:0>128}");
    store.insert_standing((1..=1_000).map(|number| filter(&name(number), "state = x"))).unwrap();
    upsert(&store, "1", "x", Durability::Synced);
    let all = store.events_after(0, usize::MAX).unwrap();
    let mut names: Vec<&str> = all.iter().map(|event| event.filter.as_str()).collect();
    names.sort_unstable();
    assert!(names.into_iter().eq((1..=1_000).map(name)));
    for after in [0, 1, 119, 120, 121, 500, 998, 999, 1_000] {
        for most in [0, 1, 2, 300, 2_000] {
            let expected = &all[after.min(all.len())..(after + most).min(all.len())];
            assert_eq!(store.events_after(after as u64, most).unwrap(), expected, "{after}, {most}");
        }
    }
    store.forget_events(500).unwrap();
    assert_eq!(store.events_after(500, 2_000).unwrap(), all[500..]);
    drop(store);
    let store = open(&disk, 0).unwrap();
    assert_eq!(store.events_after(500, 2_000).unwrap(), all[500..]);
    assert_eq!(store.standing_filters().count(), 1_000);
    drop(store);
    assert_eq!(verify(File::in_backend(disk, &catalog()).unwrap(), &catalog()).unwrap().events, 500);
}

#[test]
fn readers_see_events_that_are_on_disk() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 1).unwrap();
    store.insert_standing([filter("x", "state = x")]).unwrap();
    upsert(&store, "1", "x", Durability::Grouped);
    assert_eq!((store.last_event(), told(&store, 0).len()), (0, 0));
    assert!(!store.wait_for_events(0, Duration::from_millis(1)));
    // The event is not shown yet.
    let early = store.events_after(1, 10).unwrap_err().events_gone();
    assert_eq!(early, Some(EventsGoneError { after: 1, oldest: 1, last: 0 }));
    std::thread::scope(|scope| {
        let waiting: Vec<_> =
            (0..4).map(|_| scope.spawn(|| store.wait_for_events(0, Duration::MAX))).collect();
        store.sync().unwrap();
        assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
    });
    assert_eq!(told(&store, 0), ["x entered 1"]);
    // A crash before the next sync loses the write with its event, whose number no reader has seen.
    upsert(&store, "1", "y", Durability::Grouped);
    let mut dice = Dice::new(3);
    let again = Disk::new(disk.after_crash(&mut dice), Trouble::None, false);
    let store = open(&again, 1).unwrap();
    let all = ["x entered 1", "x left 1"];
    let last = usize::try_from(store.last_event()).unwrap();
    assert!([1, 2].contains(&last));
    assert_eq!(told(&store, 0), all[..last]);
    // The next write gives the next number, even if a lost event had it.
    upsert(&store, "2", "x", Durability::Synced);
    assert_eq!(told(&store, last as u64), ["x entered 2"]);
    assert_eq!(store.last_event(), last as u64 + 1);
}

#[test]
fn readers_see_no_number_of_an_event_that_is_not_on_disk() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let file = File::in_backend(disk, &catalog()).unwrap();
    let store = Store::load("disk".to_owned(), file, &catalog(), options(1).keep_events(2)).unwrap();
    store.insert_standing([filter("all", "true")]).unwrap();
    // These writes remove events that no reader has seen.
    for id in 0..5 {
        upsert(&store, &id.to_string(), "x", Durability::Grouped);
    }
    assert_eq!((store.last_event(), told(&store, 0).len()), (0, 0));
    for after in 1..7 {
        let early = store.events_after(after, 10).unwrap_err().events_gone();
        assert_eq!(early, Some(EventsGoneError { after, oldest: 1, last: 0 }));
    }
    store.sync().unwrap();
    let gone = store.events_after(0, 10).unwrap_err().events_gone();
    assert_eq!(gone, Some(EventsGoneError { after: 0, oldest: 4, last: 5 }));
    assert_eq!(told(&store, 3), ["all entered 3", "all entered 4"]);
}

#[test]
fn nothing_is_given_for_writes_that_change_nothing_or_fail() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    store.insert_standing([filter("x", "state = x").with_fields(catalog().find("state"))]).unwrap();
    upsert(&store, "1", "x", Durability::Synced);
    upsert(&store, "1", "x", Durability::Synced);
    assert!(store.upsert_each([&br#"{"id":"2","state":"x"}"#[..], b"{}"], Durability::Synced).is_err());
    let mut import = store.import(ImportMode::Strict).unwrap();
    import.push(br#"{"id":"3","state":"x"}"#).unwrap();
    drop(import);
    assert!(!store.delete("2", Durability::Synced).unwrap());
    for _ in 0..20 {
        upsert(&store, "other", "y", Durability::Grouped);
    }
    store.checkpoint().unwrap();
    drop(store);
    let store = open(&disk, 0).unwrap();
    assert_eq!(told(&store, 0), ["x entered 1"]);
    store.delete("1", Durability::Synced).unwrap();
    store.remove_standing("x").unwrap();
    upsert(&store, "1", "x", Durability::Synced);
    assert_eq!(told(&store, 1), ["x left 1"]);
}

#[test]
fn bad_filters_are_refused_with_their_reason() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    let builder = crate::filter::FilterBuilder::new(&catalog());
    let builder = builder.now(crate::value::Timestamp::from_millis(0));
    let late = StandingFilter::new("late", &builder.text("at >= now - 7d").unwrap());
    let error = store.insert_standing([filter("x", "true"), late]).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Request);
    assert!(error.to_string().contains("without being written"), "{error}");
    assert_eq!(error.request_error().unwrap().path, "filters[1]");
    assert_eq!(store.standing_filters().count(), 0);
    let refused = store.insert_standing([StandingFilter::new("", &Filter::all(&catalog()))]).unwrap_err();
    assert_eq!(refused.request_error().unwrap().path, "filters[0].name");
    assert_eq!(store.insert_standing([]).unwrap(), 0);
}

#[test]
fn forgetting_forged_events_leaves_a_file_that_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    for (from, to) in [(3, 1 << 62), (5, 1 << 62)] {
        let _ = std::fs::remove_file(&path);
        write(&path);
        let database = Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        moved(&transaction, from, to);
        transaction.commit().unwrap();
        drop(database);
        let store = Store::open(&path, catalog(), options(0)).unwrap();
        let error = store.forget_events(u64::MAX).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
        drop(store);
        let store = Store::open(&path, catalog(), options(0)).unwrap();
        assert_eq!(store.len(), 3);
        store.remove_standing("x").unwrap();
    }
}

/// Moves an entry of events to another number.
fn moved(transaction: &redb::WriteTransaction, from: u64, to: u64) {
    let mut events = transaction.open_table(EVENTS).unwrap();
    let bytes = events.remove(from).unwrap().unwrap().value().to_vec();
    events.insert(to, bytes.as_slice()).unwrap();
}

/// Writes a file with filters and events. Returns the events.
fn write(path: &Path) -> Vec<Event> {
    let store = Store::create(path, catalog(), options(0)).unwrap();
    store.insert_standing([filter("x", "state = x"), filter("all", "true")]).unwrap();
    for id in ["1", "2", "3"] {
        upsert(&store, id, "x", Durability::Synced);
    }
    let events = store.events_after(0, 100).unwrap();
    assert_eq!(events.len(), 6);
    store.close().unwrap();
    events
}

#[test]
fn copies_and_compacted_files_have_filters_and_events() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let events = write(&path);
    let mut store = Store::open(&path, catalog(), options(0)).unwrap();
    let copy = folder.path().join("copy.db");
    store.backup(&copy).unwrap();
    store.compact_online().unwrap();
    assert_eq!(store.events_after(0, 100).unwrap(), events);
    store.compact().unwrap();
    store.recover().unwrap();
    assert_eq!(store.events_after(0, 100).unwrap(), events);
    upsert(&store, "1", "y", Durability::Synced);
    assert_eq!(told(&store, 6), ["x left 1"]);
    store.close().unwrap();
    let verified = Store::verify(&copy, &catalog(), &options(0)).unwrap();
    assert_eq!((verified.standing_filters, verified.events), (2, 6));
    let copy = Store::open_read_only(&copy, catalog(), options(0)).unwrap();
    assert_eq!(copy.events_after(0, 100).unwrap(), events);
    assert_eq!(copy.last_event(), 6);
    assert_eq!(copy.insert_standing([filter("y", "true")]).unwrap_err().kind(), StoreErrorKind::ReadOnly);
}

#[test]
fn a_file_without_filters_has_no_tables_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let store = Store::create(&path, catalog(), options(0)).unwrap();
    upsert(&store, "1", "x", Durability::Synced);
    store.close().unwrap();
    let database = Database::open(&path).unwrap();
    let read = database.begin_read().unwrap();
    assert!(read.open_table(STANDING).is_err() && read.open_table(EVENTS).is_err());
    assert!(read.open_table(META).unwrap().get(STANDING_COUNTERS).unwrap().is_none());
}

#[test]
fn damaged_filters_and_events_are_found() {
    type Damage = fn(&redb::WriteTransaction);
    let folder = tempfile::tempdir().unwrap();
    fn counters(transaction: &redb::WriteTransaction, change: fn(&mut StandingCounters)) {
        let mut meta = transaction.open_table(META).unwrap();
        let bytes = meta.get(STANDING_COUNTERS).unwrap().unwrap().value().to_vec();
        let mut counters = StandingCounters::from_bytes(&bytes, u64::MAX).unwrap();
        change(&mut counters);
        meta.insert(STANDING_COUNTERS, counters.to_bytes().as_slice()).unwrap();
    }
    /// Inserts a filter, and counts it.
    fn with_filter(transaction: &redb::WriteTransaction, name: &str, bytes: &[u8]) {
        transaction.open_table(STANDING).unwrap().insert(name, bytes).unwrap();
        counters(transaction, |counters| counters.filters += 1);
    }
    let not_opened: &[(Damage, &str)] = &[
        (
            |to| drop(to.open_table(STANDING).unwrap().remove("x").unwrap()),
            "1 standing filters, counted as 2",
        ),
        (|to| drop(to.open_table(EVENTS).unwrap().pop_first().unwrap()), "2 entries of events, counted as 3"),
        (|to| assert!(to.delete_table(EVENTS).unwrap()), "0 entries of events, counted as 3"),
        (|to| assert!(to.delete_table(STANDING).unwrap()), "0 standing filters, counted as 2"),
        (|to| counters(to, |counters| counters.first_event = 9), "contradict each other"),
        (|to| counters(to, |counters| counters.next_event = u64::MAX), "contradict each other"),
        (
            |to| drop(to.open_table(META).unwrap().remove(STANDING_COUNTERS).unwrap()),
            "3 entries of events, counted as 0",
        ),
        (
            |to| {
                to.open_table(STANDING).unwrap().insert("x", &b"bytes"[..]).unwrap();
            },
            "wrong checksum",
        ),
        (|to| with_filter(to, "y", b"short"), "wrong checksum"),
        (
            |to| {
                let bytes = super::super::standing_bytes::filter_to_bytes(&filter("", "true"), "");
                with_filter(to, "", &bytes);
            },
            "an empty name",
        ),
    ];
    let not_read: &[(Damage, &str)] = &[
        (|to| moved(to, 3, 4), "the event 3 is missing"),
        (|to| moved(to, 1, 2), "the event 1 is missing"),
        (|to| moved(to, 5, 3), "wrong checksum"),
        (|to| counters(to, |counters| counters.next_event = 8), "the event 7 is missing"),
    ];
    let damaged = |damage: Damage| {
        let path = folder.path().join("cases.db");
        let _ = std::fs::remove_file(&path);
        write(&path);
        let database = Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        damage(&transaction);
        // An entry that replaces another one would change the count.
        let entries = transaction.open_table(EVENTS).unwrap().len().unwrap();
        assert!(entries <= 3);
        transaction.commit().unwrap();
        path
    };
    for (damage, what) in not_opened {
        let path = damaged(*damage);
        for error in [
            Store::open(&path, catalog(), options(0)).unwrap_err(),
            Store::verify(&path, &catalog(), &options(0)).unwrap_err(),
        ] {
            assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
            assert!(error.to_string().contains(what), "{error}, not {what}");
        }
    }
    for (damage, what) in not_read {
        let path = damaged(*damage);
        let error = Store::verify(&path, &catalog(), &options(0)).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
        match Store::open(&path, catalog(), options(0)) {
            Ok(store) => {
                let error = store.events_after(0, 100).unwrap_err();
                assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
                assert!(error.to_string().contains(what), "{error}, not {what}");
                // Cases are not affected.
                assert_eq!(store.len(), 3);
                upsert(&store, "4", "y", Durability::Synced);
                store.remove_standing("x").unwrap();
            }
            // The entry replaced another one.
            Err(error) => assert!(error.to_string().contains("counted as 3"), "{error}"),
        }
    }
}

#[cfg(feature = "service")]
mod owned {
    use super::super::super::owned_standing::{Exchange, NewOwnedFilter, OwnedFilter};
    use super::*;

    fn new(owner: &str, name: &str, text: &str) -> NewOwnedFilter {
        let filter = Filter::compile_text(&catalog(), text).unwrap();
        NewOwnedFilter {
            filter: StandingFilter::owned(owner, name, &filter),
            body: format!("body of {name}"),
        }
    }

    fn old(owner: &str, name: &str, text: &str) -> OwnedFilter {
        let new = new(owner, name, text);
        let (body_bytes, stored_bytes) = (new.body.len(), new.stored_bytes());
        let (owner, name) = (owner.to_owned(), name.to_owned());
        OwnedFilter { owner, name, fields: Vec::new(), body_bytes, stored_bytes, body: Some(new.body) }
    }

    fn put(store: &Store, inserted: Vec<NewOwnedFilter>) {
        store.exchange_owned(Exchange { removed: &[], inserted, changed: None }).unwrap();
    }

    #[test]
    fn a_change_of_restrictions_is_one_event_between_those_of_the_old_and_of_the_new_filters() {
        for kept in [0, 1_000] {
            let disk = Disk::new(Vec::new(), Trouble::None, false);
            let file = File::in_backend(disk.clone(), &catalog()).unwrap();
            let options = options(1).keep_events(kept);
            let store = Store::load("disk".to_owned(), file, &catalog(), options).unwrap();
            put(&store, vec![new("one:1", "a", "state = x"), new("one:1", "b", "true")]);
            put(&store, vec![new("onf:1", "a", "state = x"), new("one", "a", "state = x")]);
            assert!(
                store.is_sole_owner("one:", "one:1").unwrap()
                    && store.is_sole_owner("none:", "none:1").unwrap()
            );
            assert!(
                !store.is_sole_owner("one:", "one:0").unwrap()
                    && !store.is_sole_owner("one:", "one:2").unwrap()
            );
            upsert(&store, "1", "x", Durability::Synced);
            let last = store.last_event();
            assert_eq!(last, 4);
            // The two filters of the owner are stored anew, one after the other.
            let (a, b) = (old("one:1", "a", "true"), old("one:1", "b", "state = x"));
            let exchange = |removed: OwnedFilter, inserted| {
                let (removed, inserted) = ([removed], vec![inserted]);
                store
                    .exchange_owned(Exchange { removed: &removed, inserted, changed: Some("one:") })
                    .unwrap();
            };
            exchange(a, new("one:2", "a", "state = y"));
            assert!(["one:1", "one:2"].iter().all(|owner| !store.is_sole_owner("one:", owner).unwrap()));
            exchange(b, new("one:2", "b", "true"));
            assert!(store.is_sole_owner("one:", "one:2").unwrap());
            assert_eq!(store.last_event(), last + 2);
            // The next write has the new filters.
            upsert(&store, "2", "y", Durability::Synced);
            let found = store.owned_events("one:", last, 10);
            if kept == 0 {
                assert_eq!(found.unwrap_err().kind(), StoreErrorKind::EventsGone);
                continue;
            }
            let told = |event: &Event| (event.number, event.owner.clone().unwrap(), event.id.clone());
            let told: Vec<_> = found.unwrap().events.iter().map(told).collect();
            let expected = [(5, "one:", ""), (6, "one:", ""), (7, "one:2", "2"), (8, "one:2", "2")];
            assert_eq!(told, expected.map(|(number, owner, id)| (number, owner.to_owned(), id.to_owned())));
            let marks = store.owned_events("one:", last, 2).unwrap().events;
            assert!(marks.iter().all(|event| event.filter == "restrictions changed"));
            drop(store);
            verify(File::in_backend(disk, &catalog()).unwrap(), &catalog()).unwrap();
        }
    }

    #[test]
    fn owners_have_names_and_events_of_their_own() {
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = open(&disk, 0).unwrap();
        store.insert_standing([filter("a", "state = x")]).unwrap();
        put(&store, vec![new("one:1", "a", "true"), new("one:1", "b", "state = x")]);
        put(&store, vec![new("two:1", "a", "state = y")]);
        assert_eq!(store.standing_filters().count(), 4);
        upsert(&store, "1", "x", Durability::Synced);
        upsert(&store, "2", "y", Durability::Synced);
        assert_eq!(store.last_event(), 5);
        let check = |store: &Store| {
            assert_eq!(
                store.owned_filters("one:", |_| true).unwrap(),
                [old("one:1", "a", "true"), old("one:1", "b", "state = x")]
            );
            assert_eq!(store.owned_filters("two:", |_| true).unwrap(), [old("two:1", "a", "state = y")]);
            assert!(store.owned_filters("on:", |_| true).unwrap().is_empty());
            let told = |start: &str, after, most| {
                let found = store.owned_events(start, after, most).unwrap();
                let mut told: Vec<String> =
                    found.events.iter().map(|event| format!("{} {}", event.filter, event.id)).collect();
                told.sort();
                (told, found.is_all)
            };
            assert_eq!(
                told("one:", 0, 10),
                (vec!["a 1".to_owned(), "a 2".to_owned(), "b 1".to_owned()], true)
            );
            assert_eq!(told("two:", 0, 10), (vec!["a 2".to_owned()], true));
            assert!(!told("one:", 0, 1).1);
            // The next part begins after the last event that was read, even if that event belongs to another owner.
            assert_eq!(store.owned_events("none", 0, 10).unwrap().last, 5);
            assert_eq!(store.owned_events("none", 6, 10).unwrap_err().kind(), StoreErrorKind::EventsGone);
            let of_all = store.events_after(0, 10).unwrap();
            assert_eq!(of_all.iter().filter(|event| event.owner.is_none()).count(), 1);
        };
        check(&store);
        drop(store);
        let store = open(&disk, 0).unwrap();
        check(&store);
        // A filter keeps its name under another owner. A filter that does not exist is not removed.
        let removed = [old("one:1", "a", "true"), old("one:1", "b", "state = x"), old("none", "c", "true")];
        let inserted = vec![new("one:2", "a", "true"), new("one:1", "b", "state = z")];
        store.exchange_owned(Exchange { removed: &removed, inserted, changed: None }).unwrap();
        assert_eq!(
            store.owned_filters("one:", |_| true).unwrap(),
            [old("one:1", "b", "state = z"), old("one:2", "a", "true")]
        );
        assert!(store.remove_standing_of("two:1", "a").unwrap() && store.remove_standing("a").unwrap());
        assert!(!store.remove_standing_of("two:1", "a").unwrap());
        upsert(&store, "3", "z", Durability::Synced);
        let events = store.owned_events("one:", 5, 10).unwrap().events;
        let mut owners: Vec<&str> = events.iter().map(|event| event.owner.as_deref().unwrap()).collect();
        owners.sort_unstable();
        assert_eq!(owners, ["one:1", "one:2"]);
        for (owner, name) in [("", "a"), ("o\0", "a"), ("o", "")] {
            let inserted = vec![new(owner, name, "true")];
            assert!(store.exchange_owned(Exchange { removed: &[], inserted, changed: None }).is_err());
        }
        assert!(store.insert_standing([filter("\0one:1\0c", "true")]).is_err());
        // A host cannot reach the filter of an owner by a name.
        assert_eq!(
            (store.standing("\0one:2\0a"), store.remove_standing("\0one:2\0a").unwrap()),
            (None, false)
        );
        assert!(store.has_owned(&new("one:2", "a", "true").filter));
        assert!(!store.has_owned(&new("one:2", "a", "state = x").filter));
        drop(store);
        verify(File::in_backend(disk, &catalog()).unwrap(), &catalog()).unwrap();
    }
}
