//! Compares the store with a plain list: on disks that fail, on damaged files, and after reopening at random moments.

mod copies;
mod disk;
mod erase;
mod format;
mod growth;
mod history;
mod history_damage;
mod imports;
mod lazy;
mod members;
mod packed;
mod standing;
mod stops;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::file::File;
use super::verify::verify;
use super::*;
use crate::catalog::{Catalog, Field, FieldType};
use crate::engine::{ImportMode, UpsertOutcome};
use crate::filter::Filter;
use crate::filter::SearchRequest;
use crate::limits::Limits;
use crate::reference;
use crate::standing::{Event, EventKind, StandingFilter};
use disk::{Dice, Disk, Trouble};

fn catalog() -> Catalog {
    Catalog::new([
        Field::new("state", FieldType::String),
        Field::new("amount", FieldType::Number),
        Field::new("tags[]", FieldType::String),
        Field::new("at", FieldType::Timestamp),
    ])
    .unwrap()
}

/// Returns options with small batches for even seeds. For odd seeds, the batches are larger, and heads are merged into them
/// repeatedly.
fn options(seed: u64) -> StoreOptions {
    let options = StoreOptions::default().checkpoint_every(12);
    options.batch_rows(if seed.is_multiple_of(2) { 8 } else { 512 })
}

fn open(disk: &Disk, seed: u64) -> Result<Store, StoreError> {
    // Half of the stores keep a history.
    let options = match seed % 4 < 2 {
        true => options(seed),
        false => options(seed).history(Duration::from_millis(5)),
    };
    let file = File::in_backend(disk.clone(), &catalog());
    file.map_err(|fault| fault.of_file("disk"))
        .and_then(|file| Store::load("disk".to_owned(), file, &catalog(), options))
}

/// Returns all events that are committed, also those that are not shown yet. Checks that their numbers have no gaps.
fn events(store: &Store) -> Result<Vec<Event>, StoreError> {
    let all = |after| store.read_events((after, u64::MAX), usize::MAX);
    let (first, events) = match all(0) {
        Err(error) if error.kind() == StoreErrorKind::EventsGone => {
            let oldest = error.events_gone().unwrap().oldest;
            (oldest, all(oldest - 1)?)
        }
        events => (1, events?),
    };
    assert!(events.iter().map(|event| event.number).eq(first..first + events.len() as u64), "{events:#?}");
    Ok(events)
}

/// Returns the events by case. The events of one case in one write are in no particular order.
fn by_case<'e>(events: impl IntoIterator<Item = (&'e str, String)>) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (id, told) in events {
        match groups.last_mut().filter(|(other, _)| other == id) {
            Some((_, all)) => all.push(told),
            None => groups.push((id.to_owned(), vec![told])),
        }
    }
    groups.iter_mut().for_each(|(_, all)| all.sort());
    groups
}

fn lines(
    filters: impl IntoIterator<Item = StandingFilter>,
    groups: Vec<(String, Vec<String>)>,
) -> Vec<String> {
    let told =
        |filter: StandingFilter| format!("{}: {} {:?}", filter.name(), filter.filter(), filter.fields());
    let mut filters: Vec<String> = filters.into_iter().map(told).collect();
    filters.sort();
    filters
        .into_iter()
        .chain(groups.into_iter().map(|(id, all)| format!("{id}: {}", all.join(", "))))
        .collect()
}

/// Returns all documents in insertion order, followed by the records, the standing filters and the events.
fn all(store: &Store) -> Result<Vec<String>, StoreError> {
    let answer = store
        .search(&SearchRequest::new(Filter::all(store.catalog())).with_limit(10_000).with_count(true))?;
    assert_eq!(answer.total(), Some(answer.len() as u64));
    let documents = answer.documents().map(str::to_owned);
    let records = store.records()?.with_prefix("kind", "")?;
    let events = events(store)?;
    let told = |event: &Event| match &event.kind {
        EventKind::Changed(fields) => format!("{} changed {}", event.filter, fields.join(" ")),
        kind => format!("{} {}", event.filter, kind.name()),
    };
    let groups = by_case(events.iter().map(|event| (event.id.as_str(), told(event))));
    let standing = lines(store.standing_filters(), groups);
    let records = records.into_iter().map(|(key, text)| format!("{key}: {text}"));
    Ok(documents.chain(records).chain(standing).collect())
}

/// The expected contents of a store: pairs of id and document in insertion order, records, and standing filters with their events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plain(Vec<(String, String)>, BTreeMap<String, String>, Watched);

/// The expected standing filters and events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Watched {
    /// Indexes of `FILTERS` by name.
    filters: BTreeMap<String, usize>,
    /// Pairs of an id and an event.
    events: Vec<(String, String)>,
    /// The number of events that are forgotten.
    forgotten: usize,
}

/// Filters, each with the field whose changes it reports.
const FILTERS: &[(&str, Option<&str>)] = &[
    ("state = s1", None),
    ("amount > 500", Some("tags")),
    ("tags = t3", Some("state")),
    ("not state in (s2, s3)", Some("amount")),
    ("at >= 2026-01-05 or amount < 100", None),
];

fn standing(name: &str, number: usize) -> StandingFilter {
    let catalog = catalog();
    let (text, field) = FILTERS[number];
    let field = field.map(|field| catalog.find(field).unwrap());
    StandingFilter::new(name, &Filter::compile_text(&catalog, text).unwrap()).with_fields(field)
}

/// Returns the part of a document of `case` that is the value of a field.
fn member<'d>(document: &'d str, field: &str) -> Option<&'d str> {
    let (_, rest) = document.split_once(&format!("\"{field}\":"))?;
    rest.split_inclusive(if rest.starts_with('[') { ']' } else { ',' }).next()
}

impl Plain {
    fn upsert(&mut self, id: &str, document: &str) {
        self.write(&[(id.to_owned(), document.to_owned())]);
    }

    /// Stores several cases in one write.
    fn write(&mut self, cases: &[(String, String)]) {
        let before: BTreeMap<String, String> = self.0.iter().cloned().collect();
        for (id, document) in cases {
            match self.0.iter_mut().find(|(other, _)| other == id) {
                Some((_, own)) => document.clone_into(own),
                None => self.0.push((id.clone(), document.clone())),
            }
        }
        for (at, (id, document)) in cases.iter().enumerate() {
            if !cases[at + 1..].iter().any(|(later, _)| later == id) {
                self.watch(id, before.get(id).map(String::as_str), Some(document));
            }
        }
    }

    fn delete(&mut self, id: &str) {
        let before = self.0.iter().find(|(other, _)| other == id).map(|(_, document)| document.clone());
        self.0.retain(|(other, _)| other != id);
        self.watch(id, before.as_deref(), None);
    }

    /// Adds the events of a case with these documents before and after a write.
    fn watch(&mut self, id: &str, before: Option<&str>, after: Option<&str>) {
        for (name, number) in &self.2.filters {
            let filter = standing(name, *number);
            let selects = |text: Option<&str>| {
                text.is_some_and(|text| reference::matches(filter.filter(), text).unwrap())
            };
            let told = match (selects(before), selects(after)) {
                (false, true) => format!("{name} entered"),
                (true, false) => format!("{name} left"),
                (false, false) => continue,
                (true, true) => match FILTERS[*number].1 {
                    Some(field) if is_changed(field, before, after) => format!("{name} changed {field}"),
                    _ => continue,
                },
            };
            self.2.events.push((id.to_owned(), told));
        }
    }

    /// Returns the events that are not forgotten, in groups of one case each. The events of a group are sorted.
    fn groups(&self) -> Vec<(String, Vec<String>)> {
        let kept = self.2.events.iter().skip(self.2.forgotten);
        by_case(kept.map(|(id, told)| (id.as_str(), told.clone())))
    }

    fn documents(&self) -> Vec<String> {
        let records = self.1.iter().map(|(key, text)| format!("{key}: {text}"));
        let filters = self.2.filters.iter().map(|(name, number)| standing(name, *number));
        let standing = lines(filters, self.groups());
        self.0.iter().map(|(_, document)| document.clone()).chain(records).chain(standing).collect()
    }
}

fn is_changed(field: &str, before: Option<&str>, after: Option<&str>) -> bool {
    let set = |document: Option<&str>| {
        let value = document.and_then(|document| member(document, field)).unwrap_or_default();
        let parts = value.trim_matches(['[', ']', ',', '}']).split(',').map(str::to_owned);
        parts.filter(|part| !part.is_empty()).collect::<std::collections::BTreeSet<String>>()
    };
    set(before) != set(after)
}

fn case(dice: &mut Dice) -> (String, String) {
    let id = format!("c{}", dice.below(40));
    let filler = "x".repeat([0, 20, 900, 5000][dice.below(4) as usize]);
    let document = format!(
        "{{\"id\":\"{id}\",\"state\":\"s{}\",\"amount\":{},\"tags\":[\"t{}\",\"{}\"],\"at\":\"2026-01-0{} 00:00:00\",\"x\":\"{filler}\"}}",
        dice.below(5),
        dice.below(1000),
        dice.below(9),
        dice.below(3),
        dice.below(9) + 1,
    );
    (id, document)
}

/// The reason for abandoning a write of records: an error of the file, or `None` if the test abandons it on purpose.
struct Unwanted(Option<StoreError>);

impl From<StoreError> for Unwanted {
    fn from(error: StoreError) -> Self {
        Self(Some(error))
    }
}

/// Runs one random operation on `store` and `plain`. Returns true if all writes are on disk afterwards.
fn operate(store: &Store, plain: &mut Plain, dice: &mut Dice) -> Result<bool, StoreError> {
    let synced = dice.one_in(2);
    let durability = if synced { Durability::Synced } else { Durability::Grouped };
    match dice.below(16) {
        0..5 => {
            let (id, document) = case(dice);
            plain.upsert(&id, &document);
            store.upsert(document.as_bytes(), durability)?;
        }
        5 => {
            let cases: Vec<(String, String)> = (0..dice.below(9)).map(|_| case(dice)).collect();
            plain.write(&cases);
            store.upsert_each(cases.iter().map(|(_, document)| document.as_bytes()), durability)?;
        }
        6 => {
            let id = format!("c{}", dice.below(40));
            plain.delete(&id);
            store.delete(&id, durability)?;
        }
        7 => {
            let cases: Vec<(String, String)> = (0..dice.below(30)).map(|_| case(dice)).collect();
            let mut import = store.import(ImportMode::Strict)?;
            for (_, document) in &cases {
                import.push(document.as_bytes())?;
                import.push(b"\n")?;
            }
            if dice.one_in(4) {
                // The import may buffer documents, so the error may come only from the commit.
                let refused = match import.push(b"{\"id\":7}\n") {
                    Ok(()) => import.commit().unwrap_err(),
                    Err(refused) => refused,
                };
                assert!(
                    [StoreErrorKind::RejectedDocument, StoreErrorKind::Io].contains(&refused.kind()),
                    "{refused}"
                );
                return Ok(false);
            }
            if dice.one_in(4) {
                return Ok(false);
            }
            plain.write(&cases);
            import.commit()?;
            return Ok(true);
        }
        8 => {
            store.sync()?;
            return Ok(true);
        }
        9 | 10 => {
            let text = "r".repeat([1, 300, 6000][dice.below(3) as usize]);
            let keys: Vec<String> = (0..dice.below(5)).map(|_| format!("k{}", dice.below(9))).collect();
            let is_refused = dice.one_in(5);
            for key in keys.iter().filter(|_| !is_refused) {
                if plain.1.get(key).is_some_and(|old| old.len() > 300) {
                    plain.1.remove(key);
                } else {
                    plain.1.insert(key.clone(), text.clone());
                }
            }
            store
                .write_records(|records| {
                    for key in &keys {
                        if records.get("kind", key)?.is_some_and(|old| old.len() > 300) {
                            records.remove("kind", key)?;
                        } else {
                            records.put("kind", key, &text)?;
                        }
                    }
                    match is_refused {
                        true => Err(Unwanted(None)),
                        false => Ok(()),
                    }
                })
                .or_else(|unwanted| unwanted.0.map_or(Ok(()), Err))?;
            // If no record was changed, nothing was written or synced.
            return Ok(!is_refused && !keys.is_empty());
        }
        12 | 13 => {
            let name = format!("f{}", dice.below(4));
            let number = dice.below(FILTERS.len() as u64) as usize;
            let filter = standing(&name, number);
            plain.2.filters.insert(name.clone(), number);
            if dice.one_in(3) {
                for (id, document) in &plain.0 {
                    if reference::matches(filter.filter(), document).unwrap() {
                        plain.2.events.push((id.clone(), format!("{name} entered")));
                    }
                }
                store.insert_entering([filter])?;
            } else {
                store.insert_standing([filter])?;
            }
            return Ok(true);
        }
        14 => {
            let name = format!("f{}", dice.below(4));
            let is_there = plain.2.filters.remove(&name).is_some();
            assert_eq!(store.remove_standing(&name)?, is_there);
            return Ok(is_there);
        }
        15 => {
            store.sync()?;
            let groups = plain.groups();
            let past = groups.iter().take(dice.below(groups.len() as u64 / 2 + 1) as usize);
            let past: usize = past.map(|(_, all)| all.len()).sum();
            plain.2.forgotten += past;
            store.forget_events(plain.2.forgotten as u64)?;
            return Ok(true);
        }
        _ => {
            store.checkpoint()?;
            return Ok(false);
        }
    }
    Ok(synced)
}

/// Runs operations until an operation fails. Returns the possible states of the disk: from the last synced state to the state after
/// the failed operation.
fn run(disk: &Disk, seed: u64, dice: &mut Dice, plain: &mut Plain, operations: u64) -> Vec<Plain> {
    let mut possible = vec![plain.clone()];
    let Ok(store) = open(disk, seed) else { return possible };
    let mut shown = store.last_event();
    for _ in 0..operations {
        let mut next = plain.clone();
        let result = operate(&store, &mut next, dice);
        // Events that were shown do not disappear.
        shown = shown.max(store.last_event());
        match result {
            Ok(true) => possible.clear(),
            Ok(false) => {}
            Err(_) => {
                // Readers see all acknowledged writes. A write of records can return an error after it has reached the disk. Then
                // readers may also see its records. When the file is reopened, grouped writes are lost with their documents.
                let with_records = Plain(plain.0.clone(), next.1.clone(), plain.2.clone());
                if let Ok(seen) = all(&store) {
                    assert!(
                        [&*plain, &with_records].iter().any(|plain| plain.documents() == seen),
                        "{seen:#?}"
                    );
                }
                possible.push(next);
                possible.retain(|plain| plain.2.events.len() as u64 >= shown);
                go_on(&store, &mut possible);
                return possible;
            }
        }
        *plain = next;
        possible.push(plain.clone());
    }
    possible.retain(|plain| plain.2.events.len() as u64 >= shown);
    possible
}

/// Writes two more cases after a failed write. All acknowledged writes, before and after the failed write, must be on disk.
fn go_on(store: &Store, possible: &mut Vec<Plain>) {
    for id in ["late", "later"] {
        let case = format!("{{\"id\":\"{id}\"}}");
        let with = |plain: &Plain| {
            let mut plain = plain.clone();
            plain.upsert(id, &case);
            plain
        };
        match store.upsert(case.as_bytes(), Durability::Synced) {
            Ok(_) => {
                *possible = possible.iter().map(with).collect();
                let seen = all(store).unwrap();
                possible.retain(|plain| plain.documents() == seen);
                assert!(!possible.is_empty(), "not what could be on disk: {seen:#?}");
                store.validate().unwrap();
            }
            Err(error) => {
                assert!([StoreErrorKind::Failed, StoreErrorKind::Io].contains(&error.kind()), "{error}");
                let more: Vec<Plain> = possible.iter().map(with).collect();
                possible.extend(more);
            }
        }
    }
}

/// Returns the seeds of a test. There are `few` seeds, unless the environment sets another number.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let read = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    let first = read("CASEFILTER_FIRST_SEED").unwrap_or(0);
    first..first + read("CASEFILTER_SEEDS").unwrap_or(few)
}

#[test]
fn a_store_holds_what_a_plain_list_holds_whatever_is_done_to_it() {
    for seed in seeds(30) {
        let mut dice = Dice::new(seed);
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let mut plain = Plain::default();
        let mut store = open(&disk, seed).unwrap();
        for step in 0..60 {
            let at = format!("seed {seed}, step {step}");
            match dice.below(12) {
                0 => {
                    drop(store);
                    store = open(&disk, seed).unwrap();
                }
                1 => assert!(store.compact().is_ok(), "{at}"),
                _ => assert!(operate(&store, &mut plain, &mut dice).is_ok(), "{at}"),
            }
            assert_eq!(all(&store).unwrap(), plain.documents(), "{at}");
            store.validate().unwrap_or_else(|fault| panic!("{at}: {fault}"));
        }
        drop(store);
        let file = File::in_backend(disk.clone(), &catalog()).unwrap();
        let verified = verify(file, &catalog()).unwrap();
        assert_eq!((verified.documents, verified.was_clean), (plain.0.len() as u64, true), "seed {seed}");
        assert_eq!(verified.records, plain.1.len() as u64, "seed {seed}");
        assert_eq!(verified.standing_filters, plain.2.filters.len() as u64, "seed {seed}");
        assert_eq!(verified.events, (plain.2.events.len() - plain.2.forgotten) as u64, "seed {seed}");
    }
}

/// Creates a disk on which a store was used for some time. Returns the contents of the disk and the expected cases.
fn used(seed: u64, dice: &mut Dice) -> (Vec<u8>, Plain) {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let mut plain = Plain::default();
    run(&disk, seed, dice, &mut plain, 20);
    (disk.contents(), plain)
}

#[test]
fn after_a_crash_every_acknowledged_write_is_there_and_none_is_there_in_half() {
    let mut crashes = 0;
    for seed in seeds(400) {
        let mut dice = Dice::new(seed);
        let (contents, plain) = used(seed, &mut dice);
        // First, the test runs without faults, to count the operations.
        let calm = Disk::new(contents.clone(), Trouble::None, false);
        let script = dice.clone();
        run(&calm, seed, &mut script.clone(), &mut plain.clone(), 15);
        for _ in 0..5 {
            let at = dice.below(calm.operations());
            let trouble = match dice.below(8) {
                0 => Trouble::Once(at),
                1 => Trouble::Full(at),
                2 => Trouble::Unreadable(at),
                _ => Trouble::Crash(at),
            };
            let disk = Disk::new(contents.clone(), trouble, false);
            let possible = run(&disk, seed, &mut script.clone(), &mut plain.clone(), 15);
            let found = disk.after_crash(&mut dice);
            let context = format!("seed {seed}, {trouble:?}");
            let again = Disk::new(found, Trouble::None, false);
            let store = open(&again, seed).unwrap_or_else(|error| panic!("{context}: {error}"));
            store.validate().unwrap_or_else(|fault| panic!("{context}: {fault}"));
            let (documents, cases) = (all(&store).unwrap(), store.len());
            assert!(
                possible.iter().any(|plain| plain.documents() == documents),
                "{context}: found {documents:#?}, possible {possible:#?}"
            );
            store.upsert(b"{\"id\":\"after\"}", Durability::Synced).unwrap();
            drop(store);
            assert_eq!(open(&again, seed).unwrap().len(), cases + 1, "{context}");
            crashes += 1;
        }
    }
    assert!(crashes >= 5);
}

#[test]
fn after_a_read_that_failed_writes_go_on_and_lost_writes_are_not_shown() {
    for grouped in [false, true] {
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = open(&disk, 0).unwrap();
        let text = "x".repeat(100_000);
        for id in 0..40 {
            let case = format!("{{\"id\":\"c{id}\",\"x\":\"{text}\"}}");
            store.upsert(case.as_bytes(), Durability::Synced).unwrap();
        }
        if grouped {
            store.upsert(b"{\"id\":\"c7\"}", Durability::Grouped).unwrap();
        }
        // The cache of 1 MiB contains only a part of the file, so this read needs the disk.
        disk.begin(Trouble::Once(disk.operations()));
        assert_eq!(all(&store).unwrap_err().kind(), StoreErrorKind::Io);
        disk.begin(Trouble::None);
        match grouped {
            // Grouped writes are lost when the file is closed. The cases that they replaced do not reappear.
            true => assert_eq!(all(&store).unwrap_err().kind(), StoreErrorKind::Failed),
            false => assert_eq!(all(&store).unwrap().len(), 40),
        }
        let written = store.upsert(b"{\"id\":\"late\"}", Durability::Synced);
        match grouped {
            true => assert_eq!(written.unwrap_err().kind(), StoreErrorKind::Failed),
            false => assert_eq!(written.unwrap(), UpsertOutcome::Stored),
        }
        drop(store);
        let store = open(&disk, 0).unwrap();
        assert_eq!(all(&store).unwrap().len(), if grouped { 40 } else { 41 });
        store.validate().unwrap();
    }
}

#[test]
fn after_a_write_that_found_no_room_all_is_read_and_written_when_there_is_room() {
    for seed in seeds(10) {
        let mut dice = Dice::new(seed);
        let disk = Disk::new(Vec::new(), Trouble::None, false);
        let store = open(&disk, seed).unwrap();
        let mut plain = Plain::default();
        for _ in 0..12 {
            operate(&store, &mut plain, &mut dice).unwrap();
        }
        // These documents do not fit into the cache of 1 MiB.
        for id in 0..20 {
            let (id, text) = (format!("large{id}"), "x".repeat(100_000));
            let case = format!("{{\"id\":\"{id}\",\"x\":\"{text}\"}}");
            store.upsert(case.as_bytes(), Durability::Grouped).unwrap();
            plain.upsert(&id, &case);
        }
        store.sync().unwrap();
        // For odd seeds, uses a store that was not closed, whose last documents are parsed again.
        let (disk, store) = match seed.is_multiple_of(2) {
            true => (disk, store),
            false => {
                let disk = Disk::new(disk.contents(), Trouble::None, false);
                (disk.clone(), open(&disk, seed).unwrap())
            }
        };
        let records = store.records().unwrap();
        disk.begin(Trouble::NoRoom);
        let large = format!("{{\"id\":\"large\",\"tags\":[\"{}\"]}}", "x".repeat(1 << 20));
        let error = store.upsert(large.as_bytes(), Durability::Synced).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Io, "{error}");
        for _ in 0..2 {
            assert_eq!(all(&store).unwrap(), plain.documents(), "seed {seed}");
            assert_eq!(records.with_prefix("kind", "").unwrap().len(), plain.1.len(), "seed {seed}");
            let ids = SearchRequest::new(Filter::all(store.catalog())).with_limit(10_000);
            let documents: Vec<String> = store.documents(&ids).unwrap().collect::<Result<_, _>>().unwrap();
            assert_eq!(documents.len(), plain.0.len(), "seed {seed}");
            let refused = store.upsert(large.as_bytes(), Durability::Synced).unwrap_err();
            assert!([StoreErrorKind::Failed, StoreErrorKind::Io].contains(&refused.kind()), "{refused}");
        }
        disk.begin(Trouble::None);
        // The same store continues. Between two recovery attempts, it returns an error.
        while let Err(refused) = store.recover() {
            assert!(refused.to_string().contains("in a moment"), "{refused}");
        }
        assert_eq!(all(&store).unwrap(), plain.documents(), "seed {seed}");
        assert_eq!(records.with_prefix("kind", "").unwrap().len(), plain.1.len(), "seed {seed}");
        for (id, case) in [("late", "{\"id\":\"late\"}"), ("large", &large)] {
            store.upsert(case.as_bytes(), Durability::Synced).unwrap();
            plain.upsert(id, case);
        }
        assert_eq!(all(&store).unwrap(), plain.documents(), "seed {seed}");
        store.validate().unwrap();
        drop(records);
        drop(store);
        let store = open(&disk, seed).unwrap();
        assert_eq!(all(&store).unwrap(), plain.documents(), "seed {seed}");
    }
}

#[test]
fn a_disk_that_lies_about_syncs_loses_writes_but_shows_no_mixture() {
    for seed in seeds(150) {
        let mut dice = Dice::new(seed);
        let (contents, plain) = used(seed, &mut dice);
        let script = dice.clone();
        let at = 20 + dice.below(400);
        let disk = Disk::new(contents, Trouble::Crash(at), true);
        let mut states = vec![plain.clone()];
        let mut now = plain;
        if let Ok(store) = open(&disk, seed) {
            let mut script = script;
            for _ in 0..20 {
                let mut next = now.clone();
                let result = operate(&store, &mut next, &mut script);
                states.push(next.clone());
                if result.is_err() {
                    break;
                }
                now = next;
            }
        }
        let again = Disk::new(disk.after_crash(&mut dice), Trouble::None, false);
        let found = open(&again, seed).and_then(|store| all(&store));
        match found {
            Ok(documents) => {
                assert!(
                    states.iter().any(|plain| plain.documents() == documents),
                    "seed {seed}: {documents:#?}"
                );
            }
            Err(error) => assert_eq!(error.kind(), StoreErrorKind::Corrupt, "seed {seed}: {error}"),
        }
    }
}

#[test]
fn a_damaged_file_gives_the_right_answer_or_an_error() {
    let mut outcomes = [0_u32; 3];
    for seed in seeds(1500) {
        let mut dice = Dice::new(seed / 25);
        let (mut contents, plain) = used(seed / 25, &mut dice);
        let mut dice = Dice::new(seed + 1_000_000);
        match dice.below(8) {
            0 => contents.truncate(dice.below(contents.len() as u64) as usize),
            1 => {
                let at = dice.below(contents.len() as u64 / 512) as usize * 512;
                contents[at..at + 512].fill(dice.below(2) as u8 * 255);
            }
            2 => contents[dice.below(320) as usize] ^= 1 << dice.below(8),
            // A large part of a small file is free space. So the damage is placed in bytes that are not zero.
            _ => {
                let taken: Vec<usize> = (0..contents.len()).filter(|at| contents[*at] != 0).collect();
                contents[taken[dice.below(taken.len() as u64) as usize]] ^= 1 << dice.below(8);
            }
        }
        let copy = Disk::new(contents.clone(), Trouble::None, false);
        let verified = catch_unwind(AssertUnwindSafe(|| {
            let file = File::in_backend(copy, &catalog())?;
            verify(file, &catalog())
        }));
        match verified.unwrap_or_else(|_| panic!("seed {seed}: a panic of verify")) {
            Ok(verified) => assert_eq!(verified.documents, plain.0.len() as u64, "seed {seed}"),
            Err(fault) => assert!(!fault.detail.is_empty()),
        }
        let disk = Disk::new(contents, Trouble::None, false);
        let used = catch_unwind(AssertUnwindSafe(|| {
            let store = open(&disk, seed / 25)?;
            let documents = all(&store)?;
            store.upsert(b"{\"id\":\"after\"}", Durability::Synced)?;
            Ok::<_, StoreError>(documents)
        }));
        match used.unwrap_or_else(|_| panic!("seed {seed}: a panic")) {
            Ok(documents) => {
                assert!(documents == plain.documents(), "seed {seed}: a wrong answer");
                outcomes[0] += 1;
            }
            Err(error) => {
                assert!(error.to_string().starts_with("disk: "), "seed {seed}: {error}");
                outcomes[1] += 1;
            }
        }
    }
    assert!(outcomes[0] > 0 && outcomes[1] > 0, "{outcomes:?}");
}
