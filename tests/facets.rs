//! Tests of counts by value: the engine and the reference agree on random catalogues, documents and requests, also while documents
//! change, and answers have the sums that the specification asks for.

#[path = "world/facets.rs"]
mod counts;
#[expect(dead_code, reason = "only a part of the worlds is needed here")]
mod world;

use std::collections::{BTreeSet, HashMap};

use casefilter::{
    Catalog, Deadline, Engine, ErrorKind, Facet, FacetCounts, FacetStrategy, FacetsAnswer, FacetsRequest,
    Field, FieldType, Filter, FilterBuilder, Limits, SearchRequest, reference,
};
use proptest::prelude::*;
use serde_json::json;

use counts::{random_facets, rounded};
use world::choices::Choices;
use world::generate::{Query, Size, World};

/// Checks the sums of an answer.
fn check_sums(catalog: &Catalog, answer: &FacetsAnswer) {
    for facet in &answer.facets {
        let is_single = !catalog.get(catalog.find(&facet.field).unwrap()).unwrap().is_many();
        let (sum, _) = match &facet.counts {
            FacetCounts::Values(counts) => {
                let listed: u64 = counts.values.iter().map(|(_, count)| count).sum();
                (listed + counts.other_count, 0)
            }
            FacetCounts::Histogram(buckets) => {
                for pair in buckets.windows(2) {
                    assert_eq!(pair[0].to, pair[1].from);
                }
                (buckets.iter().map(|bucket| bucket.count).sum(), 0)
            }
            FacetCounts::Stats(stats) => (stats.count, 0),
            other => panic!("{other:?}"),
        };
        let present = facet.total - facet.absent;
        assert!(if is_single { sum == present } else { sum >= present }, "{facet:?}");
    }
}

/// The strategies that counted batches.
type Used = BTreeSet<FacetStrategy>;

/// Checks one request on an engine.
fn check(engine: &Engine, texts: &[&str], query: &Query, choices: &mut Choices<'_>, used: &mut Used) {
    let facets = random_facets(&query.catalog, choices);
    let mut body = query.body.clone();
    if !body.is_object() {
        return;
    }
    body["facets"] = json!(facets);
    let builder = FilterBuilder::new(&query.catalog);
    let parsed = match (
        builder.facets(body.to_string().as_bytes()),
        builder.json(query.body.to_string().as_bytes()),
    ) {
        (Ok(parsed), Ok(filter)) => {
            assert_eq!(parsed.filter, filter);
            parsed
        }
        (Err(_), Err(_)) => return,
        (parsed, filter) => panic!("{body}: {parsed:?}, but the criteria alone: {filter:?}"),
    };
    assert_eq!(parsed.facets.len(), facets.len());
    let all = FacetsRequest::new(Filter::all(&query.catalog)).with_facets(parsed.facets.clone());
    let within = all.clone().within(parsed.filter.clone());
    let both = parsed.clone().within(parsed.filter.negated());
    let joined = parsed.filter.and(&Filter::all(&query.catalog)).unwrap();
    let joined = FacetsRequest::new(joined).with_facets(parsed.facets.clone());
    for request in [parsed, all, within, both, joined] {
        let note = || format!("{body}\n{request:#?}\nof {:#?}", &texts[..texts.len().min(100)]);
        let expected = reference::facets(texts, &request);
        let answer = engine.facets(&request);
        match (&answer, &expected) {
            (Ok(answer), Ok(expected)) => {
                let answer = rounded(answer.clone(), expected, 0.0);
                assert_eq!(&answer, expected, "{}", note());
                check_sums(engine.catalog(), &answer);
                let explained = engine.explain_facets(&request).unwrap();
                assert_eq!(explained.len(), request.facets.len());
                used.extend(
                    explained.iter().flat_map(|facet| &facet.answered).map(|(strategy, _)| *strategy),
                );
            }
            (Err(answer), Err(expected)) => assert_eq!(answer.kind, expected.kind, "{}", note()),
            _ => panic!("{answer:?}, expected {expected:?}: {}", note()),
        }
        // A search of the same snapshot has the same total.
        if let Ok(expected) = &expected {
            let search = SearchRequest::new(request.filter.clone()).with_limit(3).with_count(true);
            let (page, answer) = engine.search_with_facets(&search, &request).unwrap();
            assert_eq!(&rounded(answer, expected, 0.0), expected);
            if request.within.is_none() {
                assert_eq!(page.total(), Some(expected.total));
            }
        }
    }
}

/// Writes the documents of a world in random order, and checks its requests in between.
fn check_world(world: &World, choices: &mut Choices<'_>, batch_rows: &[usize], used: &mut Used) {
    if world.is_faulty {
        return;
    }
    let batch_rows = batch_rows[choices.below(batch_rows.len())];
    let engine = Engine::builder(world.catalog.clone()).batch_rows(batch_rows).build();
    let mut stored: Vec<Option<&str>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let id_of = |text: &str| -> String {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["id"].as_str().unwrap().to_owned()
    };
    let mut rest = world.documents.as_slice();
    while !rest.is_empty() {
        let (some, after) = rest.split_at(1 + choices.below(rest.len()));
        rest = after;
        if some.len() < 20 && choices.chance(1, 2) {
            some.iter().for_each(|text| assert!(engine.upsert(text.as_bytes()).is_ok()));
        } else {
            engine.upsert_many(some.join("\n").as_bytes()).unwrap();
        }
        for text in some {
            let place = *places.entry(id_of(text)).or_insert(stored.len());
            if place == stored.len() {
                stored.push(None);
            }
            stored[place] = Some(text);
        }
        for _ in 0..choices.below(3) {
            let id = id_of(&some[choices.below(some.len())]);
            assert_eq!(engine.delete(&id), places.contains_key(&id));
            if let Some(place) = places.remove(&id) {
                stored[place] = None;
            }
        }
        let texts: Vec<&str> = stored.iter().copied().flatten().collect();
        if !world.requests.is_empty() && (rest.is_empty() || choices.chance(1, 2)) {
            check(&engine, &texts, &world.requests[choices.below(world.requests.len())], choices, used);
        }
    }
    engine.validate().unwrap();
}

/// The numbers of rows of a batch.
const SIZES: [usize; 6] = [65_536, 1, 2, 7, 64, 512];

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_agree_with_the_reference_in_small_worlds(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut choices = Choices::new(&bytes);
        check_world(&World::small(&mut choices), &mut choices, &SIZES, &mut Used::new());
    }

    #[test]
    fn counts_agree_with_the_reference_in_full_worlds(seed in any::<u64>()) {
        let mut choices = Choices::seeded(seed);
        check_world(&World::small(&mut choices), &mut choices, &SIZES, &mut Used::new());
    }
}

#[test]
fn counts_agree_with_the_reference_in_large_batches() {
    let mut used = Used::new();
    for seed in 0..24 {
        let mut choices = Choices::seeded(seed);
        let size = Size { documents: 3_000, requests: 6, repeats: true, faults: false };
        let world = World::new(&mut choices, size);
        check_world(&world, &mut choices, &[65_536, 2048, 512], &mut used);
    }
    assert_eq!(Vec::from_iter(used), FacetStrategy::ALL, "every strategy is used");
}

/// Returns an engine of these documents.
fn engine(catalog: &Catalog, documents: &[&str]) -> Engine {
    let engine = Engine::new(catalog.clone());
    engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    engine
}

const CASES: [&str; 5] = [
    r#"{"id":"a","clientId":"acme","priority":"high","caseReview":{"status":"open"},"tags":["vip","cash","vip"]}"#,
    r#"{"id":"b","clientId":"acme","priority":"low","caseReview":{"status":"open"},"tags":["vip"]}"#,
    r#"{"id":"c","clientId":"acme","caseReview":{"status":"blocked"}}"#,
    r#"{"id":"d","clientId":"other","priority":"high","caseReview":{"status":"blocked"},"tags":["secret"]}"#,
    r#"{"id":"e","caseReview":{"status":"odd"}}"#,
];

/// Returns the answer to facets in their text form, as one line of JSON.
fn answer(engine: &Engine, request: FacetsRequest) -> String {
    let json = engine.facets(&request).unwrap().to_json();
    let by_reference = reference::facets(&CASES, &request).unwrap().to_json();
    assert_eq!(json, by_reference);
    json
}

#[test]
fn known_values_are_listed_with_zero_and_ties_are_in_their_order() {
    let catalog = Catalog::cases();
    let engine = engine(&catalog, &CASES);
    let of = |facet: &str| {
        let facet = Facet::parse(&catalog, facet).unwrap();
        answer(&engine, FacetsRequest::new(Filter::all(&catalog)).with_facet(facet))
    };
    // `open` comes before `blocked` in the catalogue, and the unknown value `odd` comes before the values without a case.
    assert_eq!(
        of("status"),
        r#"{"totalItems":5,"facets":[{"field":"caseReview.status","values":[{"value":"open","count":2},{"value":"blocked","count":2},{"value":"odd","count":1},{"value":"awaitingUser","count":0},{"value":"resolvedFalsePositive","count":0},{"value":"resolvedPotentialThreat","count":0}],"absent":0,"otherValues":0,"otherCount":0}]}"#
    );
    assert_eq!(
        of("status:limit=1"),
        r#"{"totalItems":5,"facets":[{"field":"caseReview.status","values":[{"value":"open","count":2}],"absent":0,"otherValues":2,"otherCount":3}]}"#
    );
    // A case without a priority has `medium`, and a repeated tag counts once.
    assert_eq!(
        of("priority"),
        r#"{"totalItems":5,"facets":[{"field":"priority","values":[{"value":"medium","count":2},{"value":"high","count":2},{"value":"low","count":1}],"absent":0,"otherValues":0,"otherCount":0}]}"#
    );
    assert_eq!(
        of("tags:limit=0"),
        r#"{"totalItems":5,"facets":[{"field":"tags","values":[],"absent":2,"otherValues":3,"otherCount":4}]}"#
    );
}

#[test]
fn own_criteria_are_left_out_only_where_they_name_one_field() {
    let catalog = Catalog::cases();
    let engine = engine(&catalog, &CASES);
    let statuses = |text: &str| {
        let facet = Facet::values(&catalog, "status").unwrap().with_own_criteria_apart(true);
        let request = FacetsRequest::new(Filter::compile_text(&catalog, text).unwrap()).with_facet(facet);
        answer(&engine, request.clone());
        let answer = engine.facets(&request).unwrap();
        (answer.total, answer.facets[0].total, answer.facets[0].with_own_criteria)
    };
    assert_eq!(statuses("status = open"), (2, 5, false));
    assert_eq!(statuses("status = open and priority = high"), (1, 2, false));
    assert_eq!(statuses("(status = open and priority = high) and clientId = acme"), (1, 1, false));
    assert_eq!(statuses("(status = open or status = blocked) and clientId = acme"), (3, 3, false));
    assert_eq!(statuses("not status = open and clientId = acme"), (1, 3, false));
    assert_eq!(statuses("(status = open or tags = secret) and status <> blocked"), (2, 3, true));
    assert_eq!(statuses("status = open or priority = high"), (3, 3, true));
    assert_eq!(statuses("priority = high"), (2, 2, false));
    // The ids of a body are no criteria, and they stay.
    let body = br#"{"ids":["e"],"criteria":[{"field":"status","op":"=","values":["open"]},
        {"field":"clientId","op":"=","values":["other"]}],
        "facets":[{"field":"status","ownCriteriaApart":true},{"field":"id","ownCriteriaApart":true}]}"#;
    let request = FilterBuilder::new(&catalog).facets(body).unwrap();
    answer(&engine, request.clone());
    let answer = engine.facets(&request).unwrap();
    assert_eq!((answer.total, answer.facets[0].total), (1, 2));
    assert_eq!((answer.facets[0].with_own_criteria, answer.facets[1].with_own_criteria), (false, true));
}

#[test]
fn criteria_of_the_host_are_never_left_out() {
    let catalog = Catalog::cases();
    let engine = engine(&catalog, &CASES);
    let own = Filter::compile_text(&catalog, "clientId = acme").unwrap();
    let asked = Filter::compile_text(&catalog, "clientId = other and priority = high").unwrap();
    let facets = ["clientId", "tags", "priority"]
        .map(|name| Facet::values(&catalog, name).unwrap().with_own_criteria_apart(true));
    let within = FacetsRequest::new(asked.clone()).within(own.clone()).with_facets(facets.clone());
    let joined = FacetsRequest::new(asked.and(&own).unwrap()).with_facets(facets.clone());
    let negated = FacetsRequest::new(Filter::compile_text(&catalog, "clientId <> acme").unwrap().negated())
        .with_facets(facets);
    for request in [within, joined, negated] {
        let json = answer(&engine, request.clone());
        assert!(!json.contains("other\"") && !json.contains("secret"), "{json}");
        // Facets that leave out criteria of the client still keep the filter of the host.
        assert!(engine.facets(&request).unwrap().facets.iter().all(|facet| facet.total <= 3));
    }
    // `with_own_criteria` is false in spite of the host's criteria on the field. The criteria of the client's filter are left out.
    let request = FacetsRequest::new(asked)
        .within(own)
        .with_facet(Facet::values(&catalog, "clientId").unwrap().with_own_criteria_apart(true));
    let answer = engine.facets(&request).unwrap();
    assert_eq!((answer.total, answer.facets[0].total, answer.facets[0].with_own_criteria), (0, 1, false));
}

#[test]
fn facets_of_hidden_fields_and_of_other_catalogues_are_refused() {
    let catalog = Catalog::cases();
    let engine = engine(&catalog, &CASES);
    let narrow = catalog.allow(["status"]).unwrap();
    assert_eq!(Facet::values(&narrow, "clientId").unwrap_err().kind, ErrorKind::UnknownField);
    let body = br#"{"ids":["a"],"facets":[{"field":"clientId"}]}"#;
    let errors = FilterBuilder::new(&narrow).facets(body).unwrap_err();
    assert_eq!(errors.as_slice()[0].kind, ErrorKind::UnknownField);
    let wide = Facet::values(&catalog, "clientId").unwrap();
    let other = Catalog::new([Field::new("status", FieldType::String)]).unwrap();
    for (filter, facet) in
        [(Filter::all(&narrow), wide), (Filter::all(&catalog), Facet::values(&other, "status").unwrap())]
    {
        let error = engine.facets(&FacetsRequest::new(filter).with_facet(facet)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::CatalogMismatch, "{error}");
    }
    let error = engine.facets(&FacetsRequest::new(Filter::all(&other))).unwrap_err();
    assert_eq!(error.kind, ErrorKind::CatalogMismatch);
}

#[test]
fn limits_are_checked_when_a_request_is_parsed_and_when_it_runs() {
    let catalog = Catalog::cases();
    let limits = Limits::default().with_facets(2).with_facet_values(5).with_facet_buckets(3);
    let engine = Engine::builder(catalog.clone()).limits(limits.clone()).build();
    let dated = |id: &str, date: &str| {
        format!(r#"{{"id":"{id}","createdAt":"{date} 00:00:00","totalAmountInDefaultCurrency":1e300}}"#)
    };
    engine
        .upsert_many(format!("{}\n{}", dated("a", "2024-01-01"), dated("b", "2024-04-01")).as_bytes())
        .unwrap();
    let run = |facets: &[&str]| {
        let facets = facets.iter().map(|text| Facet::parse(&catalog, text).unwrap());
        engine
            .facets(&FacetsRequest::new(Filter::all(&catalog)).with_facets(facets))
            .map_err(|error| error.kind)
    };
    assert!(run(&["status:limit=5", "createdAt:quarter"]).is_ok());
    assert_eq!(run(&["status", "tags", "name"]), Err(ErrorKind::TooManyFacets));
    assert_eq!(run(&["status:limit=6"]), Err(ErrorKind::PageTooLarge));
    assert_eq!(run(&["createdAt:month"]), Err(ErrorKind::TooManyBuckets));
    assert_eq!(run(&["totalAmountInDefaultCurrency:edges=1,2,3,4"]), Err(ErrorKind::TooManyBuckets));
    assert_eq!(run(&["totalAmountInDefaultCurrency:width=0.1"]), Err(ErrorKind::TooManyBuckets));
    let parse = |facets: &str| {
        let body = format!(r#"{{"ids":[],"facets":{facets}}}"#);
        let errors =
            FilterBuilder::new(&catalog).with_limits(limits.clone()).facets(body.as_bytes()).unwrap_err();
        errors.iter().map(|error| (error.kind, error.path.clone())).collect::<Vec<_>>()
    };
    let field = r#"{"field":"status"}"#;
    assert_eq!(
        parse(&format!("[{field},{field},{field},{field}]")),
        [(ErrorKind::TooManyFacets, "facets[2]".to_owned())]
    );
    assert_eq!(
        parse(r#"[{"field":"status","limit":6}]"#),
        [(ErrorKind::PageTooLarge, "facets[0].limit".to_owned())]
    );
    let edges = r#"[{"field":"totalAmountInDefaultCurrency","edges":[1,2,3,4]}]"#;
    assert_eq!(parse(edges), [(ErrorKind::TooManyBuckets, "facets[0].edges".to_owned())]);
    // Hours over ten thousand years are refused, and take neither memory nor time.
    let wide = Engine::new(catalog.clone());
    wide.upsert_many(format!("{}\n{}", dated("a", "0001-01-01"), dated("b", "9999-12-31")).as_bytes())
        .unwrap();
    let request = FacetsRequest::new(Filter::all(&catalog))
        .with_facet(Facet::parse(&catalog, "createdAt:hour").unwrap());
    assert_eq!(
        wide.facets(&request).unwrap_err().to_string(),
        "facets[0] (byte 0): found values of `createdAt` in too many buckets by hour, expected at most 10000 buckets from the first to the \
         last; did you mean a longer interval, or criteria that bound the field?"
    );
    let request = FacetsRequest::new(Filter::all(&catalog))
        .with_facet(Facet::parse(&catalog, "createdAt:year").unwrap());
    let FacetCounts::Histogram(years) = &wide.facets(&request).unwrap().facets[0].counts else { panic!() };
    assert_eq!(years.len(), 9999);
}

#[test]
fn sums_of_integers_and_decimals_are_exact() {
    let catalog = Catalog::new([
        Field::new("i", FieldType::Integer),
        Field::new("d", FieldType::Decimal { scale: 2 }),
        Field::new("n[]", FieldType::Number),
    ])
    .unwrap();
    let documents = [
        r#"{"id":"a","i":9223372036854775807,"d":0.10,"n":[1e308,1e308,1]}"#,
        r#"{"id":"b","i":9223372036854775807,"d":0.20,"n":[1.7e308,1.6e308]}"#,
        r#"{"id":"c","i":1}"#,
    ];
    let engine = Engine::new(catalog.clone());
    engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    let facets = ["i:stats", "d:stats", "n:stats"].map(|text| Facet::parse(&catalog, text).unwrap());
    let request = FacetsRequest::new(Filter::all(&catalog)).with_facets(facets);
    // The sum of `n` is outside the range of a double, but its mean is not.
    let expected = r#"{"totalItems":3,"facets":[{"field":"i","stats":{"count":3,"min":1,"max":9223372036854775807,"sum":18446744073709551615,"mean":6.148914691236517e18},"absent":0},{"field":"d","stats":{"count":2,"min":0.10,"max":0.20,"sum":0.30,"mean":0.15},"absent":1},{"field":"n","stats":{"count":4,"min":1,"max":1.7e308,"mean":1.075e308},"absent":1}]}"#;
    assert_eq!(engine.facets(&request).unwrap().to_json(), expected);
}

#[test]
fn all_faults_of_a_body_are_reported_together() {
    let body = r#"{"critera": 1, "criteria": [{"field": "statu", "op": "=", "values": ["x"]}], "facets": [
        {"field": "status", "interval": "month"}, {"field": "createdAt", "interval": "mont", "stats": false},
        {"field": "createdAt", "interval": "month", "limit": 5}, {"limit": 5}, 7,
        {"field": "totalAmountInDefaultCurrency", "edges": [1, 1]}, {"field": "tags", "limit": -1, "limit": 2},
        {"field": "createdAt", "utcOffset": "+01:00"}], "facets": []}"#;
    let errors = FilterBuilder::new(&Catalog::cases()).facets(body.as_bytes()).unwrap_err();
    let found: Vec<(&str, &str)> = errors.iter().map(|error| (error.kind.code(), &*error.path)).collect();
    let expected = [
        ("unknown_key", "critera"),
        ("unknown_field", "criteria[0].field"),
        ("bad_value", "facets[0].interval"),
        ("bad_value", "facets[1].interval"),
        ("bad_value", "facets[2].limit"),
        ("missing_key", "facets[3]"),
        ("wrong_type", "facets[4]"),
        ("bad_value", "facets[5].edges[1]"),
        ("bad_integer", "facets[6].limit"),
        ("duplicate_key", "facets[6].limit"),
    ];
    assert_eq!(found, expected, "{errors}");
    for (body, expected) in [
        (r#"{"ids":[]}"#, "(byte 0): found no `facets`, expected the key `facets` with a list of facets"),
        (r#"{"ids":[],"facets":[]}"#, "facets (byte 19): found an empty array, expected at least one facet"),
        (
            r#"{"ids":[],"facets":[{]}"#,
            "facets[0] (byte 21): found `]`, expected a key in double quotes or `}`",
        ),
        (
            r#"{"ids":[],"facet":[]}"#,
            "(byte 0): found no `facets`, expected the key `facets` with a list of facets; facet (byte 10): found the key \
             `facet`, expected one of `ids`, `criteria`, `facets`; did you mean `facets`?",
        ),
        (
            r#"{"facets":[{"field":"status"}]}"#,
            "(byte 0): found neither, expected an object with `ids`, `criteria` or both",
        ),
        (
            r#"{"facets":[{"field":"status"}],"ids":[],"facets":[]}"#,
            "facets (byte 40): found `facets`, expected each key at most once",
        ),
    ] {
        let errors = FilterBuilder::new(&Catalog::cases()).facets(body.as_bytes()).unwrap_err();
        assert_eq!(errors.to_string(), expected, "{body}");
    }
    for body in [
        r#"{"facets":[{"field":"tags"}] , "ids":[]}"#,
        r#"{"ids":[],"facets":[{"field":"tags","limit":null}]}"#,
    ] {
        assert!(FilterBuilder::new(&Catalog::cases()).facets(body.as_bytes()).is_ok(), "{body}");
    }
}

#[test]
fn requests_stop_at_their_deadline() {
    let catalog = Catalog::cases();
    let engine = engine(&catalog, &CASES);
    let request = FacetsRequest::new(Filter::compile_text(&catalog, "status <> open").unwrap())
        .with_facet(Facet::values(&catalog, "tags").unwrap());
    let stopped = engine.facets(&request.clone().with_deadline(Deadline::new(|| true)));
    assert_eq!(stopped.unwrap_err().kind, ErrorKind::DeadlineExceeded);
    assert!(engine.facets(&request.with_deadline(Deadline::new(|| false))).is_ok());
}

const BODY: &str = r#"{"ids":["a"],"facets":[{"field":"status","limit":2,"ownCriteriaApart":true},{"field":"createdAt",
    "interval":"month","utcOffset":"+01:00"},{"field":"totalAmountInDefaultCurrency","edges":[0,1e2]},{"field":"updatedAt","stats":true},
    {"field":"totalAmountInDefaultCurrency","width":0.5}],"criteria":[{"field":"tags","op":"=","values":["vip"]}]}"#;

proptest! {
    #[test]
    fn damaged_bodies_are_read_without_a_panic(changes in prop::collection::vec((0..BODY.len(), 0..128_u8, 0..4_usize), 1..6)) {
        let mut body = BODY.as_bytes().to_vec();
        for (at, byte, cut) in changes {
            let at = at.min(body.len() - 1);
            body.splice(at..(at + cut).min(body.len()), [byte]);
        }
        if let Err(errors) = FilterBuilder::new(&Catalog::cases()).facets(&body) {
            let offsets: Vec<usize> = errors.iter().map(|error| error.offset).collect();
            prop_assert!(offsets.is_sorted() && (1..=10).contains(&offsets.len()), "{}", errors);
            prop_assert!(offsets.iter().all(|offset| *offset <= body.len()), "{}", errors);
        }
    }
}
