//! Tests writes of every kind in random order, by comparing the engine with a map, and readers concurrent with writers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use casefilter::explain::PageStrategy;
use casefilter::{
    Catalog, Engine, Filter, ImportMode, Order, SearchAnswer, SearchRequest, UpsertOutcome, reference,
};
use proptest::prelude::*;

/// The stored documents, in insertion order.
#[derive(Default)]
struct Model {
    documents: Vec<Option<(String, String)>>,
    places: HashMap<String, usize>,
}

impl Model {
    fn upsert(&mut self, id: &str, document: &str) -> UpsertOutcome {
        let entry = Some((id.to_owned(), document.to_owned()));
        match self.places.get(id) {
            Some(place) => {
                self.documents[*place] = entry;
                UpsertOutcome::Replaced
            }
            None => {
                self.places.insert(id.to_owned(), self.documents.len());
                self.documents.push(entry);
                UpsertOutcome::Stored
            }
        }
    }

    fn delete(&mut self, id: &str) -> bool {
        let place = self.places.remove(id);
        place.map(|place| self.documents[place] = None).is_some()
    }

    fn documents(&self) -> Vec<&str> {
        self.documents.iter().flatten().map(|(_, document)| document.as_str()).collect()
    }
}

const STATES: &[&str] = &["open", "blocked", "awaitingUser", "own state"];
const TAGS: &[&str] = &["cash", "vip", "pep", "é", ""];

/// Returns a document that depends only on the arguments.
fn document(id: &str, seed: u32) -> String {
    let mut text = format!("{{\"id\":\"{id}\"");
    let mut rest = seed;
    let mut choice = |options: u32| {
        let chosen = rest % options;
        rest = rest.wrapping_mul(0x9e37_79b1).rotate_left(9) ^ seed;
        chosen
    };
    if choice(4) > 0 {
        write!(text, ",\"caseReview\":{{\"status\":\"{}\"}}", STATES[choice(4) as usize]).unwrap();
    }
    if choice(4) > 0 {
        let tags: Vec<String> = (0..choice(4)).map(|_| format!("\"{}\"", TAGS[choice(5) as usize])).collect();
        write!(text, ",\"tags\":[{}]", tags.join(",")).unwrap();
    }
    if choice(3) > 0 {
        write!(text, ",\"totalAmountInDefaultCurrency\":{}", choice(20)).unwrap();
    }
    if choice(3) > 0 {
        write!(text, ",\"createdAt\":\"2024-01-{:02} 00:00:{:02}\"", choice(9) + 1, choice(60)).unwrap();
    }
    if choice(2) > 0 {
        write!(text, ",\"applicantReference\":{{\"applicantId\":\"a{}\"}}", choice(30)).unwrap();
    }
    if choice(2) > 0 {
        let checked = choice(2) == 0;
        write!(text, ",\"caseReview2\":{checked},\"name\":\"name {}\"", choice(1000)).unwrap();
    }
    text.push('}');
    text
}

#[derive(Clone, Debug)]
enum Operation {
    Upsert(u16, u32),
    /// Several documents at once, possibly with a repeated id.
    Import(Vec<(u16, u32)>, ImportMode),
    /// A malformed document, in a strict import after valid ones.
    Malformed(u16),
    Delete(u16),
    DeleteMany(Vec<u16>),
    /// A range of ids.
    Clear(u16, u16),
    Search(usize, usize, u64, u64),
}

const FILTERS: &[&str] = &[
    "status = open",
    "status <> open",
    "status in (open, blocked)",
    "tags in (cash, vip)",
    "tags all (cash, pep)",
    "tags <> cash",
    "tags = pep",
    "totalAmountInDefaultCurrency > 9",
    "createdAt >= \"2024-01-05 00:00:00\" and status = open",
    "applicantReference.applicantId = a7",
    "applicantReference.applicantId in (a1, a2, a3, a4, a5, a6, a7)",
    "applicantReference.applicantId <> a7",
    "id in (\"1\", \"2\", \"3\", \"17\", \"200\")",
    "name = \"name 5\" or priority = medium and tags = pep",
    "priority = high",
    "priority = medium",
    "status is absent",
    "tags is present and not tags = cash",
    "not (status = open or totalAmountInDefaultCurrency > 9)",
    "not tags all (cash, pep) and applicantReference.applicantId is present",
    "status starts with (o, aw) or tags includes p",
    "name includes 7 and not name includes (1, 2, 3, 4)",
    "name starts with \"name 1\"",
    "name matches \"7 NÁME 9\" or tags matches E",
    "not applicantReference.applicantId includes 1",
    "createdAt is absent or not createdAt >= \"2024-01-05 00:00:00\"",
];

const ORDERS: &[&str] = &[
    "",
    "-createdAt",
    "totalAmountInDefaultCurrency",
    "status",
    "-name",
    "id",
    "status,-createdAt",
    "-priority,totalAmountInDefaultCurrency,-name",
    "-createdAt,status",
];

fn operation(ids: u16) -> impl Strategy<Value = Operation> {
    let id = move || 0..ids;
    prop_oneof![
        8 => (id(), any::<u32>()).prop_map(|(id, seed)| Operation::Upsert(id, seed)),
        2 => (prop::collection::vec((id(), any::<u32>()), 0..12), prop::bool::ANY)
            .prop_map(|(some, strict)| Operation::Import(some, if strict { ImportMode::Strict } else { ImportMode::Lenient })),
        2 => prop::collection::vec((id(), any::<u32>()), 30..150).prop_map(|some| Operation::Import(some, ImportMode::Strict)),
        1 => id().prop_map(Operation::Malformed),
        2 => id().prop_map(Operation::Delete),
        1 => prop::collection::vec(id(), 0..30).prop_map(Operation::DeleteMany),
        1 => (id(), 1_u16..200).prop_map(|(from, len)| Operation::Clear(from, len)),
        3 => (0..FILTERS.len(), 0..ORDERS.len(), 0_u64..30, 0_u64..30)
            .prop_map(|(filter, order, offset, limit)| Operation::Search(filter, order, offset, limit)),
    ]
}

fn request(catalog: &Catalog, filter: usize, order: usize, offset: u64, limit: u64) -> SearchRequest {
    let filter = Filter::compile_text(catalog, FILTERS[filter]).unwrap();
    let order = Order::parse_list(catalog, ORDERS[order]).unwrap();
    SearchRequest::new(filter).with_order(order).with_offset(offset).with_limit(limit).with_count(true)
}

/// Runs a request on the engine and on the model, and compares the answers.
fn search_both(engine: &Engine, model: &Model, request: &SearchRequest) -> SearchAnswer {
    let documents = model.documents();
    let (page, total) = reference::search(&documents, request).unwrap();
    let answer = engine.search(request).unwrap();
    let wanted: Vec<&str> = page.iter().map(|at| documents[*at]).collect();
    assert_eq!(answer.documents().collect::<Vec<_>>(), wanted, "{}", request.filter);
    assert_eq!(answer.total(), Some(total), "{}", request.filter);
    assert_eq!(engine.count(&request.filter).unwrap(), total, "{}", request.filter);
    // Without a total, a search may stop early.
    let uncounted = engine.search(&request.clone().with_count(false)).unwrap();
    assert_eq!(uncounted.documents().collect::<Vec<_>>(), wanted, "{}", request.filter);
    answer
}

fn apply(engine: &Engine, model: &mut Model, operation: &Operation) {
    match operation {
        Operation::Upsert(id, seed) => {
            let id = id.to_string();
            let text = document(&id, *seed);
            assert_eq!(engine.upsert(text.as_bytes()), Ok(model.upsert(&id, &text)));
        }
        Operation::Import(some, mode) => {
            let mut import = engine.import(*mode);
            let mut counts = (0, 0);
            for (id, seed) in some {
                let id = id.to_string();
                let text = document(&id, *seed);
                match model.upsert(&id, &text) {
                    UpsertOutcome::Stored => counts.0 += 1,
                    UpsertOutcome::Replaced => counts.1 += 1,
                    other => panic!("{other:?}"),
                }
                import.push(text.as_bytes()).unwrap();
                import.push(b"\n").unwrap();
                if *mode == ImportMode::Lenient {
                    import.push(b"{\"id\":7}\n").unwrap();
                }
            }
            let report = import.commit().unwrap();
            assert_eq!((report.stored, report.replaced), counts);
        }
        Operation::Malformed(id) => {
            let lines = format!("{}\n{{\"id\":\"{id}\",\"tags\":3}}\n", document(&id.to_string(), 5));
            assert_eq!(engine.upsert_many(lines.as_bytes()).unwrap_err().error.path, "tags");
            assert!(engine.upsert(b"{\"id\":\"\"}").is_err());
        }
        Operation::Delete(id) => {
            let id = id.to_string();
            assert_eq!(engine.delete(&id), model.delete(&id));
        }
        Operation::DeleteMany(ids) => {
            let ids: Vec<String> = ids.iter().map(u16::to_string).collect();
            let deleted = ids.iter().filter(|id| model.delete(id)).count();
            assert_eq!(engine.delete_many(&ids), deleted);
        }
        Operation::Clear(from, len) => {
            let ids: Vec<String> = (*from..from.saturating_add(*len)).map(|id| id.to_string()).collect();
            let deleted = ids.iter().filter(|id| model.delete(id)).count();
            assert_eq!(engine.delete_many(&ids), deleted);
        }
        Operation::Search(filter, order, offset, limit) => {
            search_both(engine, model, &request(engine.catalog(), *filter, *order, *offset, *limit));
        }
    }
    assert_eq!(engine.len(), model.places.len());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn writes_in_any_order_have_the_result_of_a_map(
        batch_rows in prop::sample::select(vec![1_usize, 2, 7, 32, 128, 256, 65_536]),
        operations in prop::collection::vec(operation(400), 1..200),
    ) {
        let engine = Engine::builder(Catalog::cases()).batch_rows(batch_rows).build();
        let mut model = Model::default();
        let everything = SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000).with_count(true);
        let mut kept: Option<(SearchAnswer, Vec<String>)> = None;
        for (step, operation) in operations.iter().enumerate() {
            apply(&engine, &mut model, operation);
            if step % 5 == 0 {
                engine.validate().unwrap();
            }
            if step % 7 == 0 {
                let answer = search_both(&engine, &model, &everything);
                // An earlier answer does not change.
                if let Some((answer, documents)) = &kept {
                    prop_assert!(answer.documents().eq(documents.iter().map(String::as_str)));
                }
                let documents = answer.documents().map(str::to_owned).collect();
                kept = Some((answer, documents));
            }
            search_both(&engine, &model, &request(engine.catalog(), step % FILTERS.len(), step % ORDERS.len(), 3, 10));
        }
        engine.validate().unwrap();
        search_both(&engine, &model, &everything);
    }
}

/// Large offsets into an engine with overlapping batches. Recently written cases can be anywhere in the order.
#[test]
fn a_large_offset_returns_the_right_cases_after_recent_writes() {
    const CASES: u64 = 6000;
    for (batch_rows, shuffled) in [(4096, false), (2048, true), (65_536, false)] {
        let engine = Engine::builder(Catalog::cases()).batch_rows(batch_rows).build();
        let mut model = Model::default();
        let text = |number: u64, salt: u64| {
            let key = if shuffled { number * 7919 % CASES } else { number };
            let mut text = format!("{{\"id\":\"{:05}\"", number * 31 % 99_991);
            if key % 11 != 3 {
                write!(text, ",\"totalAmountInDefaultCurrency\":{}", key / 7 + salt).unwrap();
            }
            write!(text, ",\"createdAt\":\"2024-01-01 {:02}:{:02}:00\"", key / 300, key / 5 % 60).unwrap();
            write!(text, ",\"priority\":\"{}\"}}", if number.is_multiple_of(5) { "high" } else { "low" })
                .unwrap();
            text
        };
        let id = |number: u64| format!("{:05}", number * 31 % 99_991);
        let mut all = String::new();
        for number in 0..CASES {
            model.upsert(&id(number), &text(number, 0));
            all += &text(number, 0);
            all += "\n";
        }
        engine.upsert_many(all.as_bytes()).unwrap();
        for step in 0..700_u64 {
            let number = if step.is_multiple_of(2) { step * 37 % CASES } else { CASES + step * 53 % CASES };
            let document = text(number % CASES, step % 3).replacen(&id(number % CASES), &id(number), 1);
            model.upsert(&id(number), &document);
            engine.upsert(document.as_bytes()).unwrap();
            if step % 100 == 50 {
                assert!(model.delete(&id(step)) && engine.delete(&id(step)));
            }
        }
        engine.validate().unwrap();
        let orders =
            ["-createdAt", "createdAt", "-totalAmountInDefaultCurrency", "totalAmountInDefaultCurrency", ""];
        for (at, offset) in (0..).zip([1023_u64, 1024, 1500, 2500, 3571, 4900, 5600, 6300]) {
            for (number, order) in orders.iter().enumerate() {
                let text = ["priority = low", "id <> unknown"][(at + number) % 2];
                let filter = Filter::compile_text(engine.catalog(), text).unwrap();
                let order = Order::parse(engine.catalog(), order).unwrap();
                let request =
                    SearchRequest::new(filter).with_order(order.clone()).with_offset(offset).with_limit(7);
                let documents = model.documents();
                let (page, _) = reference::search(&documents, &request).unwrap();
                let wanted: Vec<&str> = page.iter().map(|at| documents[*at]).collect();
                for count in [false, true] {
                    let answer = engine.search(&request.clone().with_count(count)).unwrap();
                    let found: Vec<&str> = answer.documents().collect();
                    assert_eq!(found, wanted, "{text}, {order:?} from {offset}, {batch_rows} rows a batch");
                }
            }
        }
    }
}

/// Pages over batches that all overlap, with more top rows than the index keeps, while cases are added, replaced and deleted.
#[test]
fn pages_over_many_overlapping_batches_are_right_after_writes() {
    const CASES: u64 = 9000;
    const FILTERS: &[&str] = &[
        "priority = low",
        "priority <> low",
        "priority = medium",
        "tags all (cash, pep) or createdByType = byRule",
        "tags <> cash",
        "tags all (cash, pep, unknown)",
        "id <> unknown and totalAmountInDefaultCurrency < 5000",
        "totalAmountInDefaultCurrency > 40000 and priority in (low, high)",
        "applicantReference.applicantId <> a3",
        "createdByType = byRule or applicantReference.applicantId in (a1, a2)",
        // The key index lists the rows of these filters.
        "applicantReference.applicantId = a3",
        "applicantReference.applicantId in (a2, a5, unknown)",
        "id in (\"00031\", \"04030\", \"09300\", \"09331\", \"01550\")",
    ];
    const ORDERS: &[&str] = &[
        "-totalAmountInDefaultCurrency",
        "totalAmountInDefaultCurrency",
        "-createdAt",
        "createdAt",
        "-updatedAt",
        "",
        "priority",
    ];
    // The number of distinct sort values. If there are few, ids decide the order.
    for (batch_rows, spread) in [(256, 90_000_u64), (1024, 1000), (128, 12)] {
        let engine = Engine::builder(Catalog::cases()).batch_rows(batch_rows).build();
        let mut model = Model::default();
        let id = |number: u64| format!("{:05}", number * 31 % 99_991);
        let text = |number: u64, salt: u64| {
            let key = (number * 7919 + salt) % spread;
            let mut text = format!("{{\"id\":\"{}\"", id(number));
            let amount = i64::try_from(key).unwrap() - i64::try_from(spread / 2).unwrap();
            let zero = if amount == 0 { "-" } else { "" };
            if number % 11 != 3 {
                write!(text, ",\"totalAmountInDefaultCurrency\":{zero}{amount}").unwrap();
            }
            let (hour, minute, second) = (key / 3600 % 24, key / 60 % 60, key % 60);
            // Some times are before 1970.
            let day = if key < spread / 2 { "1969-12-31" } else { "2024-01-01" };
            write!(text, ",\"createdAt\":\"{day} {hour:02}:{minute:02}:{second:02}\"").unwrap();
            let priority = ["low", "low", "low", "medium", "high"][(number % 5) as usize];
            write!(text, ",\"priority\":\"{priority}\"").unwrap();
            // All rows of some batches lack one of the tags.
            let has_pep = number >= 2000;
            let tags = ["", "\"cash\"", "\"pep\",\"cash\"", "\"pep\""]
                [(number % if has_pep { 4 } else { 2 }) as usize];
            write!(text, ",\"tags\":[{tags}]").unwrap();
            let applicant = number % 7;
            write!(text, ",\"applicantReference\":{{\"applicantId\":\"a{applicant}\"}}}}").unwrap();
            text
        };
        for first in (0..CASES).step_by(1000) {
            let mut all = String::new();
            for number in first..first + 1000 {
                model.upsert(&id(number), &text(number, 0));
                all += &text(number, 0);
                all += "\n";
            }
            engine.upsert_many(all.as_bytes()).unwrap();
        }
        // Until a case is replaced, the batches are in insertion order.
        for number in CASES + 500..CASES + 540 {
            model.upsert(&id(number), &text(number, 0));
            engine.upsert(text(number, 0).as_bytes()).unwrap();
        }
        let (mut ranked, mut listed) = (0, 0);
        for round in 0..3_u64 {
            for step in (round * 150..).take(if round == 0 { 0 } else { 150 }) {
                // A replaced case, a new one, and one of the last.
                let number = [step * 37 % CASES, CASES + step, CASES - 1 - step][(step % 3) as usize];
                let document = text(number, step);
                model.upsert(&id(number), &document);
                engine.upsert(document.as_bytes()).unwrap();
                if step % 10 == 7 {
                    assert_eq!(model.delete(&id(step * 13)), engine.delete(&id(step * 13)));
                }
            }
            engine.validate().unwrap();
            let documents = model.documents();
            for (number, filter) in FILTERS.iter().enumerate() {
                let filter = Filter::compile_text(engine.catalog(), filter).unwrap();
                for (at, order) in ORDERS.iter().enumerate() {
                    let at = (number + at) as u64 + round;
                    if !at.is_multiple_of(2) {
                        continue;
                    }
                    let (mut offset, mut limit) =
                        ([0, 3, 70, 300][(at % 4) as usize], [1, 20, 100][(at % 3) as usize]);
                    if order.is_empty() && at.is_multiple_of(4) {
                        // The position of the most recently written rows.
                        (offset, limit) = (engine.count(&filter).unwrap().saturating_sub(13), 5);
                    }
                    let order = Order::parse(engine.catalog(), order).unwrap();
                    let request = SearchRequest::new(filter.clone())
                        .with_order(order.clone())
                        .with_offset(offset)
                        .with_limit(limit);
                    let (page, _) = reference::search(&documents, &request).unwrap();
                    let wanted: Vec<&str> = page.iter().map(|at| documents[*at]).collect();
                    let answer = engine.search(&request).unwrap();
                    let found: Vec<&str> = answer.documents().collect();
                    assert_eq!(found, wanted, "{filter}, {order:?} from {offset}, {batch_rows} rows a batch");
                    let explanation = engine.analyze(&request, &|| std::time::Duration::ZERO).unwrap();
                    listed += u64::from(explanation.page.by == PageStrategy::KeyIndex);
                    let analysis = explanation.analysis.unwrap();
                    assert_eq!(analysis.on_page, wanted.len() as u64);
                    ranked += u64::from(analysis.work.rows_ranked > 0);
                }
            }
        }
        assert!(ranked > 10, "{ranked} pages used the top rows of the index");
        assert!(listed > 20, "{listed} pages used the key index");
    }
}

/// Returns the number in the only tag of each case.
fn tagged(answer: &SearchAnswer) -> Vec<String> {
    let tag = |text: &str| text.split("\"t").nth(2).map(|rest| rest.split('"').next().unwrap().to_owned());
    answer.documents().filter_map(tag).collect()
}

#[test]
fn readers_see_each_write_completely_and_never_see_it_undone() {
    const PAIRS: usize = 40;
    let engine = Engine::builder(Catalog::cases()).batch_rows(256).build();
    let pair = |pair: usize, round: usize| {
        format!(
            "{{\"id\":\"{pair}a\",\"tags\":[\"t{round}\"]}}\n{{\"id\":\"{pair}b\",\"tags\":[\"t{round}\"]}}\n"
        )
    };
    for number in 0..PAIRS {
        engine.upsert_many(pair(number, 0).as_bytes()).unwrap();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..3_usize {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || {
                let mut seen = [0_usize; PAIRS];
                let mut cases = 0;
                let all =
                    SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000).with_count(true);
                let only = |number: usize| {
                    let text = format!("id in (\"{number}a\", \"{number}b\")");
                    SearchRequest::new(Filter::compile_text(engine.catalog(), &text).unwrap())
                };
                let pairs: Vec<SearchRequest> = (0..PAIRS).map(only).collect();
                let mut number = reader;
                while !done.load(Ordering::Relaxed) {
                    number = (number + 7) % PAIRS;
                    let found = tagged(&engine.search(&pairs[number]).unwrap());
                    assert_eq!(found.len(), 2, "both or none");
                    assert_eq!(found[0], found[1], "half a write");
                    let round: usize = found[0].parse().unwrap();
                    assert!(round >= seen[number], "a write undone");
                    seen[number] = round;
                    // The pairs are only replaced, and other cases are only added or replaced. So the total never decreases.
                    let answer = engine.search(&all).unwrap();
                    let total = answer.total().unwrap();
                    assert!(total >= cases && total == answer.len() as u64);
                    cases = total;
                }
            });
        }
        for writer in 0..2_usize {
            let (engine, pair) = (&engine, &pair);
            scope.spawn(move || {
                for round in 1..400_usize {
                    let number = (round * 3) % (PAIRS / 2) * 2 + writer;
                    engine.upsert_many(pair(number, round).as_bytes()).unwrap();
                    let id = writer * 1000 + round;
                    engine.upsert(format!("{{\"id\":\"{id}\"}}").as_bytes()).unwrap();
                    let twice = [format!("{{\"id\":\"x{writer}\"}}"), format!("{{\"id\":\"y{writer}\"}}")];
                    engine.upsert_many(twice.join("\n").as_bytes()).unwrap();
                }
            });
        }
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            done.store(true, Ordering::Relaxed);
        });
    });
    engine.validate().unwrap();
    assert_eq!(engine.len(), 2 * PAIRS + 2 * 399 + 4);
}
