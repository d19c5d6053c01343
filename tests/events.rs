//! Tests that the events of writes are the differences of the answers of standing filters before and after each write.

#[expect(dead_code, reason = "only a part of the worlds is needed here")]
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use casefilter::{
    Catalog, Document, Engine, ErrorKind, Event, EventKind, Field, FieldId, FieldType, Filter, FilterSet,
    ImportMode, StandingFilter, Timestamp, reference,
};
#[cfg(feature = "store")]
use casefilter::{Durability, Store, StoreOptions};
use proptest::prelude::*;
use serde_json::Value;

use world::choices::Choices;
use world::generate::{Size, World};

/// The cases and filters that a test has stored, and the events that it expects.
struct Model<'w> {
    world: &'w World,
    /// The documents by id, with their values of each field.
    cases: BTreeMap<String, String>,
    filters: BTreeMap<String, StandingFilter>,
    /// The number of events that were checked.
    checked: u64,
}

/// An event without its number and its time: the filter, and the kind.
type Told = (String, EventKind);

impl Model<'_> {
    /// Returns the events of a case in the order of filters, given its document before and after a write.
    fn events(&self, before: Option<&str>, after: Option<&str>) -> Vec<Told> {
        let mut told = Vec::new();
        for (name, standing) in &self.filters {
            let selects = |document: Option<&str>| {
                document.is_some_and(|document| reference::matches(standing.filter(), document).unwrap())
            };
            match (selects(before), selects(after)) {
                (false, true) => told.push((name.clone(), EventKind::Entered)),
                (true, false) => told.push((name.clone(), EventKind::Left)),
                (true, true) => {
                    let changed: Vec<String> = standing
                        .fields()
                        .iter()
                        .filter(|field| {
                            self.is_changed(**field, before.unwrap_or_default(), after.unwrap_or_default())
                        })
                        .map(|field| self.world.catalog.get(*field).unwrap().name().to_owned())
                        .collect();
                    if !changed.is_empty() {
                        told.push((name.clone(), EventKind::Changed(changed)));
                    }
                }
                (false, false) => {}
            }
        }
        told
    }

    fn is_changed(&self, field: FieldId, before: &str, after: &str) -> bool {
        let name = self.world.catalog.get(field).unwrap().name();
        let set = |document: &str| {
            let filter = Filter::all(&self.world.catalog);
            let request = casefilter::FacetsRequest::new(filter)
                .with_facet(casefilter::Facet::values(&self.world.catalog, name).unwrap().with_limit(1_000));
            let answer = reference::facets(&[document], &request).unwrap();
            format!("{:?} {}", answer.facets[0].counts, answer.facets[0].absent)
        };
        set(before) != set(after)
    }

    /// Returns the expected events of a write. The pairs have the id and the new document of each case, in order.
    fn write(&mut self, written: &[(String, Option<String>)]) -> Vec<(String, Vec<Told>)> {
        let mut expected = Vec::new();
        for (at, (id, after)) in written.iter().enumerate() {
            // A case that is stored several times has its events at its last position.
            if written[at + 1..].iter().any(|(later, _)| later == id) {
                continue;
            }
            let before = self.cases.get(id).map(String::as_str);
            let told = self.events(before, after.as_deref());
            if !told.is_empty() {
                expected.push((id.clone(), told));
            }
        }
        for (id, after) in written {
            match after {
                Some(document) => self.cases.insert(id.clone(), document.clone()),
                None => self.cases.remove(id),
            };
        }
        expected
    }

    /// Checks that the new events are the expected ones.
    fn check(&mut self, found: Vec<Event>, expected: Vec<(String, Vec<Told>)>) {
        let mut by_case: Vec<(String, Vec<Told>)> = Vec::new();
        for event in found {
            self.checked += 1;
            assert_eq!(event.number, self.checked);
            let told = (event.filter, event.kind);
            match by_case.last_mut().filter(|(id, _)| *id == event.id) {
                Some((_, all)) => all.push(told),
                None => by_case.push((event.id, vec![told])),
            }
        }
        by_case.iter_mut().for_each(|(_, told)| told.sort_by(|(a, _), (b, _)| a.cmp(b)));
        assert_eq!(by_case, expected);
    }
}

/// A place where cases are stored and events are read: an engine, or a store.
trait Place {
    fn upsert(&self, document: &str);
    fn upsert_each(&self, documents: &[&str]);
    fn import(&self, documents: &[&str], commits: bool);
    fn delete(&self, ids: &[&str]);
    fn refuse(&self);
    fn insert(&self, filters: Vec<StandingFilter>, enters: bool);
    fn remove(&self, name: &str) -> bool;
    fn events_after(&self, number: u64) -> Vec<Event>;
    fn end_step(&mut self, choices: &mut Choices<'_>);
}

#[cfg(feature = "store")]
struct InFile {
    /// `None` only while the file is reopened.
    store: Option<Store>,
    path: std::path::PathBuf,
    options: StoreOptions,
    durability: Durability,
}

#[cfg(feature = "store")]
impl InFile {
    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }
}

#[cfg(feature = "store")]
impl Place for InFile {
    fn upsert(&self, document: &str) {
        self.store().upsert(document.as_bytes(), self.durability).unwrap();
    }

    fn upsert_each(&self, documents: &[&str]) {
        self.store().upsert_each(documents.iter().map(|text| text.as_bytes()), self.durability).unwrap();
    }

    fn import(&self, documents: &[&str], commits: bool) {
        let mut import = self.store().import(ImportMode::Strict).unwrap();
        for document in documents {
            import.push(document.as_bytes()).unwrap();
            import.push(b"\n").unwrap();
        }
        if commits {
            import.commit().unwrap();
        }
    }

    fn delete(&self, ids: &[&str]) {
        self.store().delete_many(ids, self.durability).unwrap();
    }

    fn refuse(&self) {
        assert!(self.store().upsert_each([&b"{\"id\":\"new\"}"[..], b"{}"], self.durability).is_err());
    }

    fn insert(&self, filters: Vec<StandingFilter>, enters: bool) {
        match enters {
            true => self.store().insert_entering(filters).unwrap(),
            false => self.store().insert_standing(filters).unwrap(),
        };
    }

    fn remove(&self, name: &str) -> bool {
        self.store().remove_standing(name).unwrap()
    }

    fn events_after(&self, number: u64) -> Vec<Event> {
        if self.durability == Durability::Grouped {
            self.store().sync().unwrap();
        }
        let is_there = self.store().wait_for_events(number, std::time::Duration::ZERO);
        let events = self.store().events_after(number, usize::MAX).unwrap();
        assert_eq!(is_there, !events.is_empty());
        events
    }

    fn end_step(&mut self, choices: &mut Choices<'_>) {
        if !choices.chance(1, 6) {
            return;
        }
        let store = self.store.take().unwrap();
        let mut filters: Vec<StandingFilter> = store.standing_filters().collect();
        filters.sort_by(|a, b| a.name().cmp(b.name()));
        let catalog = store.catalog().clone();
        match choices.below(3) {
            0 => drop(store),
            _ => store.close().unwrap(),
        }
        let store = Store::open(&self.path, catalog, self.options.clone()).unwrap();
        let mut again: Vec<StandingFilter> = store.standing_filters().collect();
        again.sort_by(|a, b| a.name().cmp(b.name()));
        assert_eq!(again.len(), filters.len());
        for (again, filter) in again.iter().zip(&filters) {
            assert_eq!((again.name(), again.fields()), (filter.name(), filter.fields()));
            // A filter of a narrower catalogue has the catalogue of the store afterwards.
            assert!(
                again.filter() == filter.filter() || filter.filter().catalog() != store.catalog(),
                "{filter:?}"
            );
        }
        self.store = Some(store);
    }
}

struct InMemory(Engine);

impl Place for InMemory {
    fn upsert(&self, document: &str) {
        self.0.upsert(document.as_bytes()).unwrap();
    }

    fn upsert_each(&self, documents: &[&str]) {
        self.0.upsert_each(documents).unwrap();
    }

    fn import(&self, documents: &[&str], commits: bool) {
        let mut import = self.0.import(ImportMode::Strict);
        for document in documents {
            import.push(document.as_bytes()).unwrap();
            import.push(b"\n").unwrap();
        }
        if commits {
            import.commit().unwrap();
        }
    }

    fn delete(&self, ids: &[&str]) {
        self.0.delete_many(ids);
    }

    fn refuse(&self) {
        assert!(self.0.upsert_each([&b"{\"id\":\"new\"}"[..], b"{}"]).is_err());
    }

    fn insert(&self, filters: Vec<StandingFilter>, enters: bool) {
        match enters {
            true => self.0.insert_entering(filters).unwrap(),
            false => self.0.insert_standing(filters).unwrap(),
        };
    }

    fn remove(&self, name: &str) -> bool {
        self.0.remove_standing(name)
    }

    fn events_after(&self, number: u64) -> Vec<Event> {
        self.0.events_after(number, usize::MAX).unwrap()
    }

    fn end_step(&mut self, choices: &mut Choices<'_>) {
        if choices.chance(1, 8) {
            self.0.validate().unwrap();
        }
    }
}

fn standing(world: &World, choices: &mut Choices<'_>, filters: &[Filter]) -> StandingFilter {
    let name = format!("n{}", choices.below(12));
    let standing = StandingFilter::new(&name, &filters[choices.below(filters.len())]);
    let fields = world.catalog.fields().iter().filter_map(|field| world.catalog.find(field.name()));
    let visible: Vec<FieldId> = fields.filter(|field| world.catalog.is_visible(*field)).collect();
    match choices.below(3) {
        0 => standing,
        few => standing.with_fields((0..few * 2).map(|_| visible[choices.below(visible.len())])),
    }
}

fn id_of(document: &str) -> String {
    let value: Value = serde_json::from_str(document).unwrap();
    value["id"].as_str().unwrap().to_owned()
}

/// Does random writes to cases and filters, and checks the events after each.
fn check(world: &World, choices: &mut Choices<'_>, place: &mut dyn Place, steps: usize) {
    let mut filters: Vec<Filter> = world
        .requests
        .iter()
        .filter_map(|query| Filter::compile(&query.catalog, query.body.to_string().as_bytes()).ok())
        .filter(|filter| filter.catalog().is_within(&world.catalog))
        .collect();
    filters.push(Filter::all(&world.catalog));
    let mut model = Model { world, cases: BTreeMap::new(), filters: BTreeMap::new(), checked: 0 };
    let documents = &world.documents;
    for _ in 0..steps {
        let from = choices.below(documents.len());
        // Some cases get the document of another.
        let some: Vec<String> = documents[from..documents.len().min(from + 1 + choices.below(30))]
            .iter()
            .map(|text| match choices.below(3) {
                0 => text.clone(),
                _ => {
                    let other = &documents[choices.below(documents.len())];
                    let mut value: Value = serde_json::from_str(other).unwrap();
                    value["id"] = Value::String(id_of(text));
                    value.to_string()
                }
            })
            .collect();
        let texts: Vec<&str> = some.iter().map(String::as_str).collect();
        let stored = |texts: &[&str]| -> Vec<(String, Option<String>)> {
            texts.iter().map(|text| (id_of(text), Some((*text).to_owned()))).collect()
        };
        let expected = match choices.below(10) {
            0 | 1 => {
                place.upsert(texts[0]);
                model.write(&stored(&texts[..1]))
            }
            2 => {
                // Some cases are stored twice.
                let mut texts = texts;
                texts.push(documents[choices.below(documents.len())].as_str());
                place.upsert_each(&texts);
                model.write(&stored(&texts))
            }
            3 => {
                let commits = choices.chance(3, 4);
                place.import(&texts, commits);
                if commits { model.write(&stored(&texts)) } else { Vec::new() }
            }
            4 => {
                let ids: Vec<String> = texts.iter().map(|text| id_of(text)).collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                place.delete(&ids);
                // An id that occurs several times is deleted once, at its first position.
                let mut gone: Vec<(String, Option<String>)> = Vec::new();
                for id in ids {
                    if !gone.iter().any(|(other, _)| other == id) {
                        gone.push((id.to_owned(), None));
                    }
                }
                model.write(&gone)
            }
            5 => {
                place.refuse();
                Vec::new()
            }
            6 => {
                let name = format!("n{}", choices.below(12));
                assert_eq!(place.remove(&name), model.filters.remove(&name).is_some());
                Vec::new()
            }
            _ => {
                let new: Vec<StandingFilter> =
                    (0..1 + choices.below(3)).map(|_| standing(world, choices, &filters)).collect();
                let enters = choices.chance(1, 3);
                place.insert(new.clone(), enters);
                // Of several filters with one name, the last is inserted.
                let mut last: Vec<StandingFilter> = Vec::new();
                for filter in new {
                    match last.iter_mut().find(|other| other.name() == filter.name()) {
                        Some(other) => *other = filter,
                        None => last.push(filter),
                    }
                }
                let found = if enters { place.events_after(model.checked) } else { Vec::new() };
                let mut entered: Vec<(String, String)> =
                    found.iter().map(|event| (event.filter.clone(), event.id.clone())).collect();
                assert!(found.iter().all(|event| event.kind == EventKind::Entered));
                assert!(
                    found
                        .iter()
                        .map(|event| event.number)
                        .eq(model.checked + 1..=model.checked + found.len() as u64)
                );
                model.checked += found.len() as u64;
                entered.sort();
                let mut expected = Vec::new();
                for filter in last {
                    for (id, document) in model.cases.iter().filter(|_| enters) {
                        if reference::matches(filter.filter(), document).unwrap() {
                            expected.push((filter.name().to_owned(), id.clone()));
                        }
                    }
                    model.filters.insert(filter.name().to_owned(), filter);
                }
                expected.sort();
                assert_eq!(entered, expected);
                Vec::new()
            }
        };
        let found = place.events_after(model.checked);
        model.check(found, expected);
        place.end_step(choices);
    }
}

fn world(choices: &mut Choices<'_>) -> World {
    World::new(choices, Size { documents: 40, requests: 12, repeats: false, faults: false })
}

fn check_in_memory(choices: &mut Choices<'_>) {
    let world = world(choices);
    if world.is_faulty || world.documents.is_empty() {
        return;
    }
    let rows = [65_536, 1, 2, 7, 64][choices.below(5)];
    let set = Arc::new(FilterSet::new(&world.catalog));
    let clock = || Timestamp::from_millis(7);
    let engine = Engine::builder(world.catalog.clone()).batch_rows(rows);
    let engine = engine.watch(&set, 1_000_000, clock).unwrap().build();
    check(&world, choices, &mut InMemory(engine), 60);
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn events_of_an_engine_are_the_differences_of_the_answers(seed in any::<u64>()) {
        check_in_memory(&mut Choices::seeded(seed));
    }
}

#[cfg(feature = "store")]
fn check_in_file(choices: &mut Choices<'_>) {
    let world = world(choices);
    if world.is_faulty || world.documents.is_empty() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let rows = [65_536, 1, 2, 7, 64][choices.below(5)];
    let options = StoreOptions::default().batch_rows(rows).checkpoint_every([16_384, 10][choices.below(2)]);
    let durability = [Durability::Synced, Durability::Grouped][choices.below(2)];
    let store = Store::create(&path, world.catalog.clone(), options.clone()).unwrap();
    let mut place = InFile { store: Some(store), path: path.clone(), options: options.clone(), durability };
    check(&world, choices, &mut place, 40);
    drop(place);
    Store::verify(&path, &world.catalog, &options).unwrap();
}

#[cfg(feature = "store")]
proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn events_of_a_store_are_the_differences_of_the_answers(seed in any::<u64>()) {
        check_in_file(&mut Choices::seeded(seed));
    }
}

fn engine(most: usize) -> Engine {
    let catalog = Catalog::new([
        Field::new("state", FieldType::String),
        Field::new("tags[]", FieldType::String),
        Field::new("n", FieldType::Number),
    ])
    .unwrap();
    let set = Arc::new(FilterSet::new(&catalog));
    Engine::builder(catalog).watch(&set, most, || Timestamp::from_millis(5)).unwrap().build()
}

fn insert(engine: &Engine, name: &str, text: &str, fields: &[&str]) {
    let catalog = engine.catalog();
    let fields: Vec<FieldId> = fields.iter().map(|field| catalog.find(field).unwrap()).collect();
    let filter = StandingFilter::new(name, &Filter::compile_text(catalog, text).unwrap()).with_fields(fields);
    engine.standing().unwrap().insert(filter).unwrap();
}

/// Returns the events after a number as `filter kind id`.
fn told(engine: &Engine, after: u64) -> Vec<String> {
    let events = engine.events_after(after, 1_000).unwrap();
    events
        .iter()
        .map(|event| match &event.kind {
            EventKind::Changed(fields) => {
                format!("{} changed {} {}", event.filter, event.id, fields.join(","))
            }
            kind => format!("{} {} {}", event.filter, kind.name(), event.id),
        })
        .collect()
}

#[test]
fn a_filter_with_fields_tells_which_of_them_have_other_values() {
    let engine = engine(100);
    insert(&engine, "open", "state = open", &["tags", "n"]);
    for document in [
        r#"{"id":"a","state":"open","tags":["x","y"],"n":1}"#,
        // Other sequences of the same values, and members that are no fields.
        r#"{"id":"a","state":"open","tags":["y","x","y"],"n":1.0,"other":7}"#,
        r#"{"id":"a","state":"open","tags":["y"],"n":1}"#,
        r#"{"id":"a","state":"open","tags":["z"]}"#,
        r#"{"id":"a","state":"closed","n":2}"#,
    ] {
        engine.upsert(document.as_bytes()).unwrap();
    }
    let expected = ["open entered a", "open changed a tags", "open changed a tags,n", "open left a"];
    assert_eq!(told(&engine, 0), expected);
}

#[test]
fn filters_change_after_the_write_in_progress() {
    for is_inserted in [true, false] {
        let (staged, is_staged) = mpsc::channel();
        let (changed, is_changed) = mpsc::channel();
        let clock = {
            let is_changed = Mutex::new(is_changed);
            move || {
                // The write has found its filters. Leaves time to change them before it becomes visible.
                staged.send(()).unwrap();
                let _ = is_changed.lock().unwrap().recv_timeout(Duration::from_millis(100));
                Timestamp::from_millis(0)
            }
        };
        let catalog = Catalog::cases();
        let set = Arc::new(FilterSet::new(&catalog));
        let all = |name| StandingFilter::new(name, &Filter::all(&catalog));
        set.insert(all("old")).unwrap();
        let engine = Engine::builder(catalog.clone()).watch(&set, 10, clock).unwrap().build();
        thread::scope(|scope| {
            scope.spawn(|| engine.upsert(br#"{"id":"a"}"#).unwrap());
            is_staged.recv().unwrap();
            match is_inserted {
                true => assert_eq!(engine.insert_standing([all("new")]).unwrap(), 0),
                false => assert!(engine.remove_standing("old")),
            }
            // The write is visible now: no event of it is missing, and none comes later.
            assert_eq!((engine.len(), engine.last_event()), (1, 1));
            let _ = changed.send(());
        });
        assert_eq!(told(&engine, 0), ["old entered a"]);
    }
    let engine = Engine::new(Catalog::cases());
    let error = engine.insert_standing([]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::CatalogMismatch);
    assert!(error.to_string().starts_with("found an engine without standing filters, "), "{error}");
}

#[test]
fn an_event_has_no_later_time_than_the_next_one() {
    let (staged, is_staged) = mpsc::channel();
    let (told_time, is_told) = mpsc::channel();
    let clock = {
        let (calls, ticks) = (AtomicI64::new(0), AtomicI64::new(0));
        let is_told = Mutex::new(is_told);
        move || {
            if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                // The write is staged. Leaves time for `insert_entering` to read the clock, which it must not do yet.
                staged.send(()).unwrap();
                let _ = is_told.lock().unwrap().recv_timeout(Duration::from_millis(100));
            }
            let time = ticks.fetch_add(1, Ordering::Relaxed);
            let _ = told_time.send(());
            Timestamp::from_millis(time)
        }
    };
    let catalog = Catalog::cases();
    let set = Arc::new(FilterSet::new(&catalog));
    let all = |name| StandingFilter::new(name, &Filter::all(&catalog));
    set.insert(all("old")).unwrap();
    let engine = Engine::builder(catalog.clone()).watch(&set, 10, clock).unwrap().build();
    thread::scope(|scope| {
        scope.spawn(|| engine.upsert(br#"{"id":"a"}"#).unwrap());
        is_staged.recv().unwrap();
        assert_eq!(engine.insert_entering([all("new")]).unwrap(), 0);
    });
    assert_eq!(told(&engine, 0), ["old entered a", "new entered a"]);
    let events = engine.events_after(0, 10).unwrap();
    assert!(events[0].time < events[1].time, "{events:?}");
}

#[test]
fn a_case_that_is_stored_twice_in_a_write_gives_one_difference() {
    let engine = engine(100);
    insert(&engine, "open", "state = open", &[]);
    insert(&engine, "any", "true", &["n"]);
    let open = br#"{"id":"a","state":"open"}"#;
    let closed = br#"{"id":"a","n":1}"#;
    engine.upsert_each([&open[..], closed]).unwrap();
    assert_eq!(told(&engine, 0), ["any entered a"]);
    engine.upsert_each([&open[..], closed]).unwrap();
    assert_eq!(told(&engine, 1), Vec::<String>::new());
    engine.upsert_each([&closed[..], open]).unwrap();
    let mut events = told(&engine, 1);
    events.sort();
    assert_eq!(events, ["any changed a n", "open entered a"]);
}

#[test]
fn events_that_are_not_kept_any_more_are_named() {
    let engine = engine(3);
    insert(&engine, "all", "true", &[]);
    for id in 0..5 {
        engine.upsert(format!("{{\"id\":\"{id}\"}}").as_bytes()).unwrap();
    }
    assert_eq!(engine.last_event(), 5);
    let gone = engine.events_after(1, 10).unwrap_err();
    assert_eq!((gone.oldest, gone.last), (3, 5));
    assert!(gone.to_string().contains("has number 3"), "{gone}");
    assert_eq!(told(&engine, 2), ["all entered 2", "all entered 3", "all entered 4"]);
    assert_eq!(engine.events_after(2, 1).unwrap().len(), 1);
    assert!(engine.events_after(5, 10).unwrap().is_empty());
    assert!(engine.events_after(6, 10).unwrap_err().to_string().contains("no event has number 6 yet"));
    // One write with more events than are kept.
    let documents: Vec<String> = (10..30).map(|id| format!("{{\"id\":\"{id}\"}}")).collect();
    engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    assert_eq!(engine.events_after(0, 10).unwrap_err().oldest, 23);
    assert_eq!(told(&engine, 22), ["all entered 27", "all entered 28", "all entered 29"]);
}

#[test]
fn a_set_of_another_catalogue_is_refused() {
    let other = Arc::new(FilterSet::new(&Catalog::new([Field::new("x", FieldType::String)]).unwrap()));
    let error = Engine::builder(Catalog::cases()).watch(&other, 1, || Timestamp::from_millis(0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::CatalogMismatch);
}

#[test]
fn parsed_documents_give_the_same_events() {
    let engine = engine(10);
    insert(&engine, "open", "state = open", &[]);
    let document = Document::parse(engine.catalog(), br#"{"id":"a","state":"open"}"#).unwrap();
    engine.upsert_document(&document).unwrap();
    engine.upsert_document(&document).unwrap();
    assert_eq!(told(&engine, 0), ["open entered a"]);
}

/// An import that is large enough for its worker threads, with several batches. Each id occurs twice in it, and some are stored
/// already.
#[test]
fn a_large_import_gives_the_differences_of_its_cases() {
    const STORED: usize = 3_000;
    const IMPORTED: usize = 70_000;
    let catalog = Catalog::new([Field::new("state", FieldType::String)]).unwrap();
    let filters = Arc::new(FilterSet::new(&catalog));
    let clock = || Timestamp::from_millis(0);
    let engine = Engine::builder(catalog.clone()).watch(&filters, 1_000_000, clock).unwrap().build();
    let document = |id: usize, state: &str| format!("{{\"id\":\"{id:0>5}\",\"state\":\"{state}\"}}\n");
    let import = |text: String| {
        let mut import = engine.import(ImportMode::Strict);
        import.push(text.as_bytes()).unwrap();
        import.commit().unwrap();
    };
    import((0..STORED).map(|id| document(id, "x")).collect());
    let filter = |state: &str| {
        let filter = Filter::compile_text(&catalog, &format!("state = {state}")).unwrap();
        StandingFilter::new(state, &filter)
    };
    engine.insert_standing([filter("x"), filter("y")]).unwrap();
    let after = |id: usize| ["x", "y", "z"][id % 3];
    let first = (0..IMPORTED).map(|id| document(id, "y"));
    import(first.chain((0..IMPORTED).map(|id| document(id, after(id)))).collect());
    let mut expected = Vec::new();
    for id in 0..IMPORTED {
        let before = if id < STORED { "x" } else { "" };
        for filter in ["x", "y"] {
            let kind = match (before == filter, after(id) == filter) {
                (false, true) => EventKind::Entered,
                (true, false) => EventKind::Left,
                _ => continue,
            };
            expected.push((format!("{id:0>5}"), filter.to_owned(), kind));
        }
    }
    let events = engine.events_after(0, usize::MAX).unwrap();
    assert!(events.iter().map(|event| event.number).eq(1..=expected.len() as u64));
    let mut found: Vec<_> = events.into_iter().map(|event| (event.id, event.filter, event.kind)).collect();
    // The events are in the order of the cases. Those of one case are in no particular order.
    assert!(found.is_sorted_by_key(|(id, ..)| id.clone()));
    found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    assert_eq!(found, expected);
}

#[test]
fn an_event_is_seen_with_its_write_while_filters_change() {
    const WRITES: usize = 3_000;
    let catalog = Catalog::new([Field::new("state", FieldType::String)]).unwrap();
    let filters = Arc::new(FilterSet::new(&catalog));
    let clock = || Timestamp::from_millis(0);
    let engine = Engine::builder(catalog.clone()).watch(&filters, 1_000_000, clock).unwrap().build();
    let filter = |name: &str| StandingFilter::new(name, &Filter::all(&catalog));
    engine.insert_standing([filter("kept")]).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let goes_on = || !is_over.load(std::sync::atomic::Ordering::Relaxed);
    let times = thread::scope(|scope| {
        scope.spawn(|| {
            while goes_on() {
                let cases = engine.len() as u64;
                assert!(engine.last_event() >= cases, "a case is seen before its event");
            }
        });
        let changing = scope.spawn(|| {
            let mut times = Vec::new();
            while goes_on() {
                let before = engine.last_event();
                engine.insert_standing([filter("passing")]).unwrap();
                thread::yield_now();
                assert!(engine.remove_standing("passing"));
                times.push((before, engine.last_event()));
            }
            times
        });
        for id in 0..WRITES {
            engine.upsert(format!("{{\"id\":\"{id}\"}}").as_bytes()).unwrap();
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        changing.join().unwrap()
    });
    let events = engine.events_after(0, usize::MAX).unwrap();
    assert_eq!(events.iter().filter(|event| event.filter == "kept").count(), WRITES);
    let passing: Vec<u64> =
        events.iter().filter(|event| event.filter == "passing").map(|event| event.number).collect();
    // A filter gives events only between its insertion and its removal.
    let mut times = times.into_iter().peekable();
    for number in passing {
        while times.next_if(|(_, end)| *end < number).is_some() {}
        assert!(times.peek().is_some_and(|(start, _)| *start < number), "{number}");
    }
}
