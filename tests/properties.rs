//! Tests on random catalogues, documents and requests that the engine, the reference evaluator and the plain evaluator (in
//! `world/plain.rs`) agree.

mod world;

use std::fmt::Write as _;

use casefilter::explain::{Means, TotalStrategy};
use casefilter::{Catalog, Engine, Field, FieldType, Filter, SearchRequest, reference};
use proptest::prelude::*;

use world::check::check;
use world::choices::Choices;
use world::generate::{NUMBERS, Size, World};
use world::writes;

/// Generates a world from a stream of choices, and checks it with the rest of the stream.
fn small(mut choices: Choices<'_>) {
    let world = World::small(&mut choices);
    check(&world, &mut choices);
}

/// Like [`small`], with cases that are added, replaced and deleted between requests.
fn written(mut of_world: Choices<'_>, mut of_writes: Choices<'_>) {
    writes::check(&World::small(&mut of_world), &mut of_writes);
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn evaluators_agree_in_small_worlds(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        small(Choices::new(&bytes));
    }

    #[test]
    fn evaluators_agree_in_full_worlds(seed in any::<u64>()) {
        small(Choices::seeded(seed));
    }

    #[test]
    fn evaluators_agree_while_cases_change(
        of_world in prop::collection::vec(any::<u8>(), 0..2000),
        of_writes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        written(Choices::new(&of_world), Choices::new(&of_writes));
    }

    #[test]
    fn evaluators_agree_while_cases_change_in_full_worlds(seed in any::<u64>()) {
        written(Choices::seeded(seed), Choices::seeded(seed.rotate_left(32)));
    }
}

/// Checks that a store that was just opened, and has not read a column yet, answers like an engine with the same documents.
#[cfg(feature = "store")]
mod reopened {
    use casefilter::{
        Durability, Engine, FilterBuilder, ImportMode, Limits, SearchParams, SearchRequest, Store,
        StoreOptions,
    };

    use super::*;
    use crate::world::generate::Query;

    fn request(query: &Query) -> Option<SearchRequest> {
        let params = SearchParams::new()
            .order(query.params.order.as_deref())
            .offset(query.params.offset.as_deref())
            .limit(query.params.limit.as_deref())
            .count(query.params.count.as_deref());
        let request = FilterBuilder::new(&query.catalog).request(query.body.to_string().as_bytes(), &params);
        Some(request.ok()?.with_cursor(true))
    }

    /// Checks that the store answers like the engine.
    fn compare(store: &Store, engine: &Engine, request: &SearchRequest) {
        let answer = engine.search(request).unwrap().to_json();
        assert_eq!(store.search(request).unwrap().to_json(), answer, "{request:?}");
        assert_eq!(store.count(&request.filter).unwrap(), engine.count(&request.filter).unwrap());
        let all = request.clone().with_offset(0).with_limit(u64::MAX);
        let ids = store.documents(&all).unwrap().map(Result::unwrap);
        assert_eq!(ids.count() as u64, engine.count(&request.filter).unwrap(), "{request:?}");
    }

    pub(super) fn check(world: &World, choices: &mut Choices<'_>) {
        if world.is_faulty {
            return;
        }
        let requests: Vec<SearchRequest> = world.requests.iter().filter_map(request).collect();
        let rows = [65_536, 1, 2, 7, 64, 512][choices.below(6)];
        let limits = Limits::default().with_page(10_000);
        let engine = Engine::builder(world.catalog.clone()).batch_rows(rows).limits(limits.clone()).build();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        let options = StoreOptions::default().batch_rows(rows).limits(limits);
        let options = options.checkpoint_every(1 + choices.below(60) as u64);
        let mut store = Store::create(&path, world.catalog.clone(), options.clone()).unwrap();
        let mut rest = world.documents.as_slice();
        for round in 0..4 {
            let size = if round == 3 { rest.len() } else { choices.below(rest.len() + 1) };
            let (now, later) = rest.split_at(size);
            rest = later;
            if choices.chance(1, 2) {
                let text = now.join("\n");
                engine.upsert_many(text.as_bytes()).unwrap();
                let mut import = store.import(ImportMode::Strict).unwrap();
                import.push(text.as_bytes()).unwrap();
                import.commit().unwrap();
            } else {
                for document in now {
                    engine.upsert(document.as_bytes()).unwrap();
                    store.upsert(document.as_bytes(), Durability::Grouped).unwrap();
                }
            }
            let all = SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000);
            let ids: Vec<String> = engine.search(&all).unwrap().ids().map(str::to_owned).collect();
            for id in ids.iter().filter(|_| choices.chance(1, 12)) {
                assert!(engine.delete(id) && store.delete(id, Durability::Grouped).unwrap());
            }
            if choices.chance(3, 4) {
                store.close().unwrap();
                store = Store::open(&path, world.catalog.clone(), options.clone()).unwrap();
            }
            for request in requests.iter().filter(|_| choices.chance(2, 3)) {
                compare(&store, &engine, request);
            }
        }
        store.validate().unwrap();
        store.close().unwrap();
        let verified = Store::verify(&path, &world.catalog, &options).unwrap();
        assert_eq!(verified.documents, engine.len() as u64);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_reopened_store_answers_like_an_engine(seed in any::<u64>()) {
            let mut choices = Choices::seeded(seed);
            let world = World::small(&mut choices);
            check(&world, &mut choices);
        }
    }

    #[test]
    fn a_reopened_store_answers_like_an_engine_with_many_batches() {
        for seed in 0..8 {
            let mut choices = Choices::seeded(seed);
            let size = Size { documents: 900, requests: 8, repeats: true, faults: false };
            check(&World::new(&mut choices, size), &mut choices);
        }
    }
}

/// Checks a world in which a filter once had another normal form after it was printed and compiled again.
#[test]
fn evaluators_agree_on_a_field_that_is_never_absent() {
    small(Choices::seeded(2_044_242_825_516_007_318));
}

/// Checks worlds with numbers of documents around the sizes of words and batches.
fn sized(rows: usize, requests: usize, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut choices = Choices::seeded(seed);
        let world =
            World::new(&mut choices, Size { documents: rows, requests, repeats: false, faults: false });
        check(&world, &mut choices);
    }
}

#[test]
fn evaluators_agree_around_the_size_of_a_word() {
    for rows in [0, 1, 63, 64, 65, 127, 128, 129] {
        sized(rows, 6, 0..12);
    }
}

#[test]
fn evaluators_agree_at_65_535_rows() {
    sized(65_535, 6, 0..2);
}

#[test]
fn evaluators_agree_at_65_536_rows() {
    sized(65_536, 6, 2..4);
}

#[test]
fn evaluators_agree_at_65_537_rows() {
    sized(65_537, 6, 4..6);
}

/// Trees of criteria that select few rows, in every order, on a batch large enough for the indexes.
#[test]
fn conjunctions_that_leave_few_rows_select_the_same() {
    const ROWS: u64 = 5_000;
    let mut state = 7_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let documents: Vec<String> = (0..ROWS)
        .map(|number| {
            let mut text = format!("{{\"id\":\"{number}\",\"clientId\":\"c{}\"", next(90).min(next(90)));
            if next(5) > 0 {
                write!(text, ",\"totalAmountInDefaultCurrency\":{}", next(10_000)).unwrap();
            }
            if next(4) > 0 {
                write!(text, ",\"updatedAt\":\"2024-01-{:02} {:02}:00:00\"", 1 + next(28), next(24)).unwrap();
            }
            let tags: Vec<String> = (0..next(4)).map(|_| format!("\"t{}\"", next(9))).collect();
            write!(text, ",\"tags\":[{}],\"priority\":\"p{}\"}}", tags.join(","), next(3)).unwrap();
            text
        })
        .collect();
    let catalog = Catalog::cases();
    let engine = Engine::new(catalog.clone());
    engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    for _ in 0..300 {
        let mut criterion = || {
            let (a, b) = (next(10_000), next(10_000));
            match next(18) {
                11 => format!("clientId starts with (c{}, c{})", a % 90, b % 9),
                12 => format!("clientId includes ({}, {})", a % 90, b % 90),
                13 => format!("not tags all (t{}, t{})", a % 9, b % 9),
                14 => format!("tags matches T{} and updatedAt is present", a % 9),
                15 => "totalAmountInDefaultCurrency is absent or clientId is absent".to_owned(),
                16 => format!("not (updatedAt >= \"2024-01-{:02} 07:00:00\")", 1 + a % 28),
                17 => format!("not clientId includes {}", b % 10),
                0 => format!(
                    "totalAmountInDefaultCurrency >= {} and totalAmountInDefaultCurrency < {}",
                    a.min(b),
                    a.max(b)
                ),
                1 => format!(
                    "totalAmountInDefaultCurrency < {} or totalAmountInDefaultCurrency > {}",
                    a.min(b),
                    a.max(b)
                ),
                2 => format!("updatedAt >= \"2024-01-{:02} 07:00:00\"", 1 + a % 28),
                3 => format!("clientId = c{}", a % 90),
                4 => format!("clientId in (c{}, c{}, c{}, c{})", a % 90, b % 90, a % 7, b % 40),
                5 => format!("tags in (t{}, t{})", a % 9, b % 9),
                6 => format!("priority = p{}", a % 3),
                7 => format!("clientId <> c{}", a % 7),
                8 => format!("priority <> p{}", b % 3),
                9 => format!("clientId = c{} and priority <> p{}", a % 90, b % 3),
                _ => format!("tags all (t{}, t{})", a % 9, b % 9),
            }
        };
        let mut conjunction = |most: u64| {
            let members: Vec<String> = (0..2 + most).map(|_| format!("({})", criterion())).collect();
            members.join(" and ")
        };
        let text = format!(
            "({}) or ({} and ({} or {}))",
            conjunction(3),
            conjunction(1),
            conjunction(0),
            conjunction(2)
        );
        let filter = Filter::compile_text(&catalog, &text).unwrap();
        let request = SearchRequest::new(filter.clone()).with_limit(10_000);
        let (page, total) = reference::search(&documents, &request).unwrap();
        assert_eq!(engine.count(&filter).unwrap(), total, "{text}");
        let wanted = page.iter().map(|at| documents[*at]);
        assert!(engine.search(&request).unwrap().documents().eq(wanted), "{text}");
    }
}

/// Counts that the index gives without a plan, and counts of rows listed by key in addition to others. The batches are large
/// enough for bitmaps of sorted rows; some rows are deleted, and some written recently.
#[test]
fn counts_of_ranges_and_listed_rows_match_the_documents() {
    const ROWS: u64 = 7_000;
    /// The number of cases written last. Most are in an uncovered batch, the last ones are single writes.
    const LATE: u64 = 170;
    let mut state = 11_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut document = |number: u64| {
        // `createdAt` ascends, `updatedAt` does so only roughly. Statuses are frequent, rare, or in every row of a batch.
        let status = ["open", "blocked", "rare"][usize::from(next(3) == 0) + usize::from(next(400) == 0)];
        let minute = number % 60;
        let mut text = format!(
            "{{\"id\":\"{number}\",\"priority\":\"p{}\",\"caseReview\":{{\"status\":\"{status}\"}},\"createdAt\":\"2024-{:02}-{:02} {:02}:{minute:02}:00\"",
            number / 3_000,
            1 + number / 1_000 % 12,
            1 + number / 40 % 25,
            number % 40 / 2,
        );
        if next(9) > 0 {
            write!(text, ",\"applicantReference\":{{\"applicantId\":\"a{}\"}}", number / 3).unwrap();
        }
        if next(5) > 0 {
            write!(text, ",\"totalAmountInDefaultCurrency\":{}", next(10_000)).unwrap();
        }
        if next(4) > 0 {
            let (month, day) = (1 + number / 1_000 % 12 + u64::from(next(30) == 0), 1 + next(28));
            write!(text, ",\"updatedAt\":\"2024-{month:02}-{day:02} {:02}:00:00\"", next(24)).unwrap();
        }
        text + "}"
    };
    let mut documents: Vec<String> = (0..ROWS).map(&mut document).collect();
    let catalog = Catalog::cases();
    let engine = Engine::builder(catalog.clone()).batch_rows(3_000).build();
    engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    let mut state = 13_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut filters = || {
        let mut range = || {
            let (a, b) = (next(10_000), next(10_000));
            match next(10) {
                7 => "totalAmountInDefaultCurrency is present".to_owned(),
                8 => "updatedAt is absent".to_owned(),
                9 => format!("not totalAmountInDefaultCurrency > {a}"),
                0 => format!(
                    "totalAmountInDefaultCurrency >= {} and totalAmountInDefaultCurrency < {}",
                    a.min(b),
                    a.max(b)
                ),
                1 => format!("totalAmountInDefaultCurrency > {a}"),
                2 => format!("totalAmountInDefaultCurrency <= {}", a / 10),
                3 => format!("updatedAt > \"2024-{:02}-{:02} 07:00:00\"", 1 + a % 12, 1 + b % 28),
                4 => format!("updatedAt < \"2024-{:02}-{:02} 07:00:00\"", 1 + a % 12, 1 + b % 28),
                5 => format!("createdAt >= \"2024-{:02}-{:02} 00:00:00\"", 1 + a % 12, 1 + b % 28),
                _ => "totalAmountInDefaultCurrency >= 0".to_owned(),
            }
        };
        let (range, other) = (range(), range());
        let string = match next(8) {
            5 => "status starts with (re, bl)".to_owned(),
            6 => "applicantReference.applicantId includes 77".to_owned(),
            7 => "not status matches RARE".to_owned(),
            0 => format!("priority = p{}", next(4)),
            1 => "status = rare".to_owned(),
            2 => "status = blocked".to_owned(),
            3 => "status in (open, nowhere)".to_owned(),
            _ => "status = open".to_owned(),
        };
        // Some cases are listed both by applicant and by id.
        let numbers: Vec<u64> =
            (0..1 + next(12)).map(|_| if next(4) == 0 { ROWS + next(LATE) } else { next(ROWS) }).collect();
        let listed = |key: &dyn Fn(u64) -> String| {
            numbers.iter().map(|number| key(*number)).collect::<Vec<_>>().join(", ")
        };
        let ids = listed(&|number| number.to_string());
        let applicants =
            listed(&|number| format!("a{}", if number % 3 == 0 { number / 3 } else { number % (ROWS / 3) }));
        [
            range.clone(),
            format!("{string} and {range}"),
            format!("id in ({ids}) or {range}"),
            format!("id in ({ids}) or {string} and {range}"),
            format!("id in ({ids}) or {string} and {range} and {other}"),
            format!("id in ({ids}) or {string} and {range} or {other}"),
            format!("id in ({ids}) or applicantReference.applicantId in ({applicants})"),
            format!(
                "id in ({ids}) or applicantReference.applicantId in ({applicants}) or {string} and {range}"
            ),
            format!("id in ({ids}) or {string} and priority <> p1 and {range}"),
            format!(
                "id in ({ids}) or {range} and (applicantReference.applicantId in ({applicants}) or {string})"
            ),
        ]
    };
    for stage in 0..3 {
        if stage == 1 {
            // Some cases are deleted, and some replaced.
            let dead = |number: &u64| number % 7 == 3 && *number < 3_500;
            for number in (0..ROWS).filter(dead) {
                assert!(engine.delete(&number.to_string()));
            }
            documents =
                (0..ROWS).zip(documents).filter(|(number, _)| !dead(number)).map(|(_, text)| text).collect();
        }
        if stage == 2 {
            let late: Vec<String> = (ROWS..ROWS + LATE)
                .map(|number| {
                    let amount = number % 10 * 1_000;
                    format!(
                        "{{\"id\":\"{number}\",\"caseReview\":{{\"status\":\"open\"}},\"totalAmountInDefaultCurrency\":{amount}}}"
                    )
                })
                .collect();
            let (many, one_by_one) = late.split_at(late.len() - 20);
            engine.upsert_many(many.join("\n").as_bytes()).unwrap();
            one_by_one.iter().for_each(|text| assert!(engine.upsert(text.as_bytes()).is_ok()));
            documents.extend(late);
        }
        let beside =
            Filter::compile_text(&catalog, "id in (1, 2) or totalAmountInDefaultCurrency > 5").unwrap();
        let explanation = engine.explain(&SearchRequest::new(beside).with_limit(0).with_count(true)).unwrap();
        assert_eq!(explanation.total.by, TotalStrategy::PartlyIndexed);
        for text in (0..6).flat_map(|_| filters()) {
            let filter = Filter::compile_text(&catalog, &text).unwrap();
            let selects = |document: &&String| reference::matches(&filter, document).unwrap();
            let selected: Vec<&String> = documents.iter().filter(selects).collect();
            assert_eq!(engine.count(&filter).unwrap(), selected.len() as u64, "{text}");
            let page = engine.search(&SearchRequest::new(filter).with_limit(50).with_count(true)).unwrap();
            assert_eq!(page.total(), Some(selected.len() as u64), "{text}");
            assert!(page.documents().eq(selected.into_iter().take(50)), "{text}");
        }
    }
}

/// Searches of parts of many different strings, by the index of substrings and by the rows of each string. Some rows are deleted,
/// some are replaced, and batches are merged.
#[test]
fn searchable_fields_match_the_documents() {
    const ROWS: u64 = 5_000;
    const SYLLABLES: [&str; 12] =
        ["ga", "RCI", "a ", "ló", "lo\u{301}", "pez", "ß", "ﬁ", "İ", "ова", "王", "\u{ac01}"];
    let mut state = 17_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut name = |length: u64| -> String { (0..length).map(|_| SYLLABLES[next(12) as usize]).collect() };
    let mut documents: Vec<String> = (0..ROWS)
        .map(|number| {
            let (few, tag, other) = (name(1), name(2), name(3));
            let hash = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let own = name(4 + number % 3);
            format!(
                "{{\"id\":\"{hash:016x}\",\"few\":\"{few}\",\"name\":\"{own}\",\"tags\":[\"{tag}\",\"{other}\",\"{tag}\"]}}"
            )
        })
        .collect();
    let fields = ["id", "few", "name", "tags[]"];
    let catalog = |is_searchable: bool| {
        let field = |path: &&str| {
            let field = Field::new(path, FieldType::String);
            if is_searchable { field.searchable() } else { field }
        };
        Catalog::new(fields.iter().map(field)).unwrap()
    };
    let engine = Engine::builder(catalog(true)).batch_rows(2_000).build();
    let plain = Engine::builder(catalog(false)).batch_rows(2_000).build();
    for engine in [&engine, &plain] {
        engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    }
    let bytes = |engine: &Engine| -> Vec<u64> {
        engine.memory().fields.iter().map(|field| field.index_bytes).collect()
    };
    let (own, others) = (bytes(&engine), bytes(&plain));
    for (at, values) in [(0, ROWS), (2, ROWS), (3, ROWS * 2)] {
        let of_index = own[at] - others[at];
        assert!(of_index > ROWS * 4 && of_index < values * 25, "{of_index} bytes for {}", fields[at]);
    }
    let mut by_index = 0;
    for stage in 0..3 {
        if stage == 1 {
            for document in documents.extract_if(.., |document| document.contains("\":\"1")) {
                assert!(engine.delete(&document[7..23]));
            }
        }
        if stage == 2 {
            for document in documents.iter_mut().filter(|document| document.contains("\":\"2")) {
                *document = document.replace("ga", "gagarcía");
                engine.upsert(document.as_bytes()).unwrap();
            }
        }
        for round in 0..24_u64 {
            let field = ["id", "few", "name", "tags"][round as usize % 4];
            let part = |length: u64| {
                format!("{:x}", (round + 7).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (4 * (16 - length)))
            };
            let (a, b) = if field == "id" { (part(4), part(2)) } else { (name(2), name(1 + round % 3)) };
            for text in [
                format!("{field} includes '{a}'"),
                format!("not {field} includes ('{a}', '{b}')"),
                format!("{field} starts with '{a}' or {field} starts with '{b}'"),
                format!("{field} matches 'x{a}' or {field} matches '{a}i {b}u'"),
                format!("{field} includes '{a}' and not name includes '{b}'"),
                format!("{field} = '{a}' or name includes 'pez'"),
            ] {
                // Some texts have no word.
                let Ok(filter) = Filter::compile_text(engine.catalog(), &text) else { continue };
                let selects = |document: &&String| reference::matches(&filter, document).unwrap();
                let mut selected: Vec<&String> = documents.iter().filter(selects).collect();
                let request = SearchRequest::new(filter).with_limit(10_000).with_count(true);
                let page = engine.search(&request).unwrap();
                assert_eq!(page.total(), Some(selected.len() as u64), "{text}");
                let mut found: Vec<&str> = page.documents().collect();
                found.sort_unstable();
                selected.sort_unstable();
                assert!(found.into_iter().eq(selected), "{text}");
                let explanation = engine.explain(&request).unwrap();
                let nodes = explanation.nodes.iter().flat_map(|node| &node.answered);
                by_index += nodes.filter(|answered| answered.by == Means::SubstringIndex).count();
            }
        }
    }
    assert!(by_index > 100, "{by_index} criteria by the index");
}

#[test]
fn spellings_of_numbers_mean_the_same_as_in_serde_json() {
    for text in NUMBERS {
        let number: serde_json::Number = serde_json::from_str(text).unwrap();
        assert_eq!(number.as_f64(), text.parse().ok(), "{text}");
    }
}
