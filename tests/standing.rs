//! Tests that a set of standing filters finds the filters that select a case, and no others.

#[path = "world/standing.rs"]
mod filters;
#[expect(dead_code, reason = "only a part of the worlds is needed here")]
mod world;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use casefilter::{
    Catalog, Document, ErrorKind, Field, FieldType, Filter, FilterBuilder, FilterMatches, FilterSet,
    InsertOutcome, StandingFilter, Timestamp, reference,
};
use proptest::prelude::*;

use filters::check;
use world::choices::Choices;
use world::generate::{Size, World};

fn world(choices: &mut Choices<'_>, requests: usize) -> World {
    World::new(choices, Size { documents: 6, requests, repeats: false, faults: false })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_set_finds_what_the_reference_selects(
        of_world in prop::collection::vec(any::<u8>(), 0..3000),
        of_writes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let world = world(&mut Choices::new(&of_world), 12);
        check(&world, &mut Choices::new(&of_writes), 12, 5);
    }

    #[test]
    fn a_set_finds_what_the_reference_selects_in_full_worlds(seed in any::<u64>()) {
        let mut choices = Choices::seeded(seed);
        let world = world(&mut choices, 40);
        check(&world, &mut choices, 30, 40);
    }
}

#[test]
fn a_set_finds_what_the_reference_selects_at_0_1_64_and_65_filters() {
    for filters in [0, 1, 64, 65] {
        for seed in 0..12 {
            let mut choices = Choices::seeded(seed);
            let world = world(&mut choices, 66);
            check(&world, &mut choices, 8, filters);
        }
    }
}

/// Returns a catalogue with a field for each case that a test is about.
fn catalog() -> Catalog {
    Catalog::new([
        Field::new("a", FieldType::String),
        Field::new("b", FieldType::String),
        Field::new("tags[]", FieldType::String),
        Field::new("n", FieldType::Number),
        Field::new("numbers[]", FieldType::Number),
        Field::new("flag", FieldType::Boolean),
        Field::new("at", FieldType::Timestamp),
        Field::new("legs[].bank", FieldType::String),
        Field::new("legs[].amount", FieldType::Number),
    ])
    .unwrap()
    .extended()
}

fn standing(catalog: &Catalog, name: &str, text: &str) -> StandingFilter {
    StandingFilter::new(name, &Filter::compile_text(catalog, text).unwrap())
}

/// Checks that a set of these filters finds those that the reference evaluator selects, alone and among many other filters.
#[track_caller]
fn finds(texts: &[&str], documents: &[&str]) {
    let catalog = catalog();
    for others in [0, 10, 40, 300] {
        let set = FilterSet::new(&catalog);
        let others = (0..others).map(|n| {
            standing(&catalog, &format!("other {n}"), &format!("a = other{n} and b = {} and n > {n}", n % 7))
        });
        set.insert_many(others).unwrap();
        for text in texts {
            assert_eq!(set.insert(standing(&catalog, text, text)), Ok(InsertOutcome::New));
        }
        for document in documents {
            let expected: BTreeSet<&str> = texts
                .iter()
                .filter(|text| {
                    reference::matches(&Filter::compile_text(&catalog, text).unwrap(), document).unwrap()
                })
                .copied()
                .collect();
            let mut matches = FilterMatches::new();
            set.matching_json(document.as_bytes(), &mut matches).unwrap();
            assert_eq!(matches.len(), expected.len(), "a name is repeated: {matches:?}");
            assert_eq!(matches.iter().collect::<BTreeSet<_>>(), expected, "{document}");
        }
    }
}

const DOCUMENTS: &[&str] = &[
    r#"{"id":"1"}"#,
    r#"{"id":"2","a":"x"}"#,
    r#"{"id":"3","b":"x","n":5}"#,
    r#"{"id":"4","a":"x","b":"y","tags":["x","y"],"n":0,"numbers":[1,2,9],"flag":true}"#,
    r#"{"id":"5","a":"García Lopez","tags":["a Garcia","lopez"],"at":"2024-01-01 00:00:00"}"#,
    r#"{"id":"6","a":"xyxx","legs":[{"bank":"x","amount":1},{"bank":"y","amount":9}]}"#,
    r#"{"id":"7","a":"other3","b":"3","n":1,"legs":[{"amount":1},{}],"flag":false}"#,
    r#"{"id":"8","a":"","tags":[],"legs":[]}"#,
];

#[test]
fn filters_of_negations_or_absence_alone_are_found() {
    finds(
        &[
            "a <> x",
            "not a in (x, y)",
            "a is absent",
            "a is present",
            "not (a = x and b = y)",
            "a <> x and b <> y and tags is absent",
            "a <> x or b <> y",
            "not tags all (x, y)",
            "not a includes x",
            "not a matches lopez",
            "not legs has (bank = x)",
            "n is absent and not numbers > 5",
            "not flag = true",
            "true",
            "false",
        ],
        DOCUMENTS,
    );
}

#[test]
fn a_rule_that_another_key_finds_is_evaluated_as_a_whole() {
    finds(
        &[
            "a = x and b = y",
            "a = x and b = z",
            "a = x and not b = y",
            "(a = x and b = z) or (a = y and b = x)",
            "(a = x or b = x) and (n = 0 or n = 5)",
            "(a = x or b = x) and (n is absent or n = 5)",
            "a in (x, y) and tags in (x, y) and numbers in (1, 2)",
            "a = x and (b = z or (n = 0 and not tags = q))",
            "not (a = x and (b = y or n > 3))",
        ],
        DOCUMENTS,
    );
}

#[test]
fn the_same_value_under_two_fields_is_two_values() {
    finds(
        &[
            "a = x",
            "b = x",
            "tags = x",
            "a = x and b = x",
            "a = x or b = x",
            "legs.bank = x",
            "a = true",
            "flag = true",
        ],
        DOCUMENTS,
    );
}

#[test]
fn ranges_are_found() {
    finds(
        &[
            "n = 0",
            "n >= 0",
            "n < 5",
            "n in (0, 5, 7)",
            "n > 4 and n < 6",
            "n < 1 or n > 6",
            "numbers > 1 and numbers < 2",
            "numbers all (1, 9)",
            "not numbers all (1, 3)",
            "numbers in (1, 2)",
            "numbers > 0",
            "at on 2024-01-01",
            "at is present and not at > \"2025-01-01 00:00:00\"",
        ],
        DOCUMENTS,
    );
}

#[test]
fn patterns_are_found() {
    finds(
        &[
            "a starts with x",
            "a starts with (xy, Gar)",
            "a starts with y",
            "a includes yx",
            "a includes (y, Lop)",
            "a includes x and a starts with x",
            "tags matches 'garcia a'",
            "tags matches 'garcia lopez'",
            "a matches 'LOPEZ garcía'",
            "a matches lopez",
            "tags starts with lo",
            "not tags includes Gar",
        ],
        DOCUMENTS,
    );
}

#[test]
fn tests_of_elements_are_found() {
    finds(
        &[
            "legs has (bank = x and amount = 1)",
            "legs has (bank = x and amount = 9)",
            "legs has (bank is absent)",
            "legs has (bank is absent and amount is absent)",
            "not legs has (bank = y and amount > 5)",
            "legs has (bank = x or amount = 1)",
            "legs has (not bank = x)",
            "a = xyxx and legs has (bank = y)",
            "legs has (bank <> q or bank = q)",
        ],
        DOCUMENTS,
    );
}

#[test]
fn nested_texts_are_found_in_linear_time() {
    let catalog = catalog();
    let set = FilterSet::new(&catalog);
    // Every text ends with all shorter ones.
    let filters = (1..2000).map(|len| {
        let value = "x".repeat(len);
        standing(&catalog, &format!("{len}"), &format!("a includes {value} or a starts with y{value}"))
    });
    set.insert_many(filters).unwrap();
    let mut matches = FilterMatches::new();
    let case = |text: &str| format!(r#"{{"id":"1","a":"{text}"}}"#);
    set.matching_json(case(&"x".repeat(100_000)).as_bytes(), &mut matches).unwrap();
    assert_eq!(matches.len(), 1999);
    set.matching_json(case(&format!("y{}", "x".repeat(7))).as_bytes(), &mut matches).unwrap();
    assert_eq!(matches.len(), 7);
}

#[test]
fn replaced_and_removed_filters_are_not_found() {
    let catalog = catalog();
    let set = FilterSet::new(&catalog);
    let found = |value: &str| {
        let document = format!(r#"{{"id":"1","a":"{value}"}}"#);
        let matches = set.matching(&Document::parse(&catalog, document.as_bytes()).unwrap()).unwrap();
        matches.sorted().into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    for number in 0..500 {
        set.insert(standing(&catalog, &format!("{number}"), "a = x")).unwrap();
    }
    for number in 0..500 {
        let name = format!("{number}");
        match number % 3 {
            0 => assert_eq!(set.insert(standing(&catalog, &name, "a = y")), Ok(InsertOutcome::Replaced)),
            1 => assert!(set.remove(&name) && !set.remove(&name) && !set.contains(&name)),
            _ => {}
        }
        let (x, y) = (found("x"), found("y"));
        assert_eq!((x.len(), y.len()), (500 - number - 1 + (number + 1) / 3, number / 3 + 1), "{number}");
        assert_eq!(x.contains(&name), number % 3 == 2);
    }
    // A filter that is inserted again after its removal is found once.
    set.insert(standing(&catalog, "1", "a = x or a starts with x or tags = z")).unwrap();
    assert_eq!(found("x").iter().filter(|name| *name == "1").count(), 1);
    for name in set.iter().map(|standing| standing.name().to_owned()).collect::<Vec<_>>() {
        assert!(set.remove(&name));
    }
    assert!(set.is_empty() && found("x").is_empty());
    assert_eq!(set.memory().texts_bytes, 0);
}

#[test]
fn matches_keep_their_names_while_the_set_changes() {
    let catalog = catalog();
    let set = FilterSet::new(&catalog);
    set.insert_many((0..100).map(|number| standing(&catalog, &format!("{number}"), "a = x"))).unwrap();
    let document = Document::parse(&catalog, br#"{"id":"1","a":"x"}"#).unwrap();
    let before = set.matching(&document).unwrap();
    let names: Vec<String> = before.iter().map(str::to_owned).collect();
    for name in &names {
        set.remove(name);
    }
    assert!(before.iter().eq(names.iter().map(String::as_str)));
    assert!(set.matching(&document).unwrap().is_empty());
}

#[test]
fn bad_filters_and_names_are_refused() {
    let cases = Catalog::cases();
    let set = FilterSet::new(&cases).with_max_filters(2);
    let all = Filter::all(&cases);
    let refusal = |standing: StandingFilter| set.insert(standing).unwrap_err();
    assert_eq!(refusal(StandingFilter::new("", &all)).kind, ErrorKind::BadValue);
    let error = refusal(StandingFilter::new(&"é".repeat(65), &all));
    assert_eq!(
        (error.kind, error.to_string().as_str()),
        (ErrorKind::StringTooLong, "name (byte 0): found a name of 130 bytes, expected at most 128 bytes")
    );
    let builder = FilterBuilder::new(&cases).now(Timestamp::parse("2025-12-08 09:30:00").unwrap());
    for text in ["name = a and createdAt >= now - 7d", "createdAt on today"] {
        let filter = builder.text(text).unwrap();
        for filter in [filter.clone(), !filter] {
            let error = refusal(StandingFilter::new("late", &filter));
            assert_eq!(error.kind, ErrorKind::BadTimestamp);
            assert!(error.to_string().contains("without being written"), "{error}");
        }
    }
    set.insert(StandingFilter::new("fixed", &builder.text("createdAt < 2025-12-01").unwrap())).unwrap();
    let other = Catalog::new([Field::new("x", FieldType::String)]).unwrap();
    assert_eq!(refusal(StandingFilter::new("other", &Filter::all(&other))).kind, ErrorKind::CatalogMismatch);
    let wide = cases.with([Field::new("x", FieldType::String)]).unwrap();
    let fields = StandingFilter::new("fields", &all).with_fields(wide.find("x"));
    assert_eq!(refusal(fields).kind, ErrorKind::CatalogMismatch);

    set.insert(StandingFilter::new("second", &all)).unwrap();
    assert_eq!(refusal(StandingFilter::new("third", &all)).kind, ErrorKind::TooManyFilters);
    assert_eq!(set.insert(StandingFilter::new("second", &all)), Ok(InsertOutcome::Replaced));
    let many = ["a", ""].map(|name| StandingFilter::new(name, &all));
    assert_eq!(set.insert_many(many).unwrap_err().path, "filters[1].name");
    assert_eq!(set.len(), 2);

    let document = Document::parse(&other, br#"{"id":"1"}"#).unwrap();
    assert_eq!(set.matching(&document).unwrap_err().kind, ErrorKind::CatalogMismatch);
    // A catalogue that grew is no other catalogue.
    let document = Document::parse(&wide, br#"{"id":"1","x":"y"}"#).unwrap();
    assert!(set.matching(&document).unwrap().iter().any(|name| name == "second"));
}

#[test]
fn equal_filters_share_their_index() {
    let catalog = catalog();
    let filters = |texts: &'static [&'static str]| {
        let catalog = catalog.clone();
        (0..10_000)
            .map(move |number| standing(&catalog, &format!("{number:05}"), texts[number % texts.len()]))
    };
    let (one, alike) = (FilterSet::new(&catalog), FilterSet::new(&catalog));
    one.insert_many(filters(&["a = x and n > 5 and tags in (x, y)"])).unwrap();
    alike
        .insert_many(filters(&[
            "a = x and n > 5 and tags in (x, y)",
            "tags in (y, x, y) and (n > 5 and a = x)",
        ]))
        .unwrap();
    assert_eq!(one.memory().index_bytes, alike.memory().index_bytes);
    assert!(one.memory().index_bytes < 20 * 10_000, "{:?}", one.memory());
}

#[test]
fn fields_are_kept() {
    let cases = Catalog::cases();
    let set = FilterSet::new(&cases);
    let fields = [cases.find("status").unwrap(), cases.find("name").unwrap()];
    for number in 0..100 {
        let standing = standing(&cases, &format!("{number}"), &format!("name = n{number}"));
        let standing = if number % 2 == 0 { standing.with_fields(fields) } else { standing };
        set.insert(standing.clone()).unwrap();
        assert_eq!(set.get(standing.name()), Some(standing));
    }
    for number in 0..100 {
        assert_eq!(
            set.get(&format!("{number}")).unwrap().fields().len(),
            if number % 2 == 0 { 2 } else { 0 }
        );
    }
}

/// Draws numbers, the same for the same seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Writes one criterion of a large set of filters.
fn criterion(draws: &mut Draws) -> String {
    let (a, b) = (draws.below(1000), draws.below(1000));
    match draws.below(14) {
        0 => format!("clientId = c{a}"),
        1 => format!("clientId in (c{a}, c{b}, c{})", a % 7),
        2 => format!("status = s{}", a % 5),
        3 => format!("priority <> p{}", a % 3),
        4 => format!("tags in (t{}, t{})", a % 40, b % 40),
        5 => format!("tags all (t{}, t{})", a % 40, b % 40),
        6 => format!("totalAmountInDefaultCurrency > {a}"),
        7 => format!(
            "totalAmountInDefaultCurrency >= {} and totalAmountInDefaultCurrency < {}",
            a.min(b),
            a.max(b)
        ),
        8 => format!("createdAt >= \"2024-01-{:02} 07:00:00\"", 1 + a % 28),
        9 => format!("name includes 'n{}'", a % 300),
        10 => format!("(clientId = c{a} or tags = t{})", b % 40),
        11 => format!("name matches 'N{} n{}'", a % 30, b % 30),
        12 => "caseReview.assignee is absent".to_owned(),
        _ => format!("caseReview.assignee starts with o{}", a % 100),
    }
}

#[test]
fn a_set_of_100_000_filters_finds_what_each_filter_selects() {
    const FILTERS: usize = 100_000;
    let cases = Catalog::cases();
    let mut draws = Draws(5);
    let mut filters: Vec<Filter> = Vec::with_capacity(FILTERS);
    for number in 0..FILTERS {
        let mut text = criterion(&mut draws);
        for _ in 0..=draws.below(3) {
            let joined = if draws.below(8) == 0 { "or" } else { "and" };
            write!(text, " {joined} {}", criterion(&mut draws)).unwrap();
        }
        if number % 1000 == 0 {
            text = format!("not ({text})");
        }
        filters.push(Filter::compile_text(&cases, &text).unwrap());
    }
    let set = FilterSet::new(&cases);
    let standing = |number: usize| StandingFilter::new(&format!("{number}"), &filters[number]);
    // Half at once, a part one by one, and the rest at once.
    set.insert_many((0..FILTERS / 2).map(standing)).unwrap();
    for number in FILTERS / 2..FILTERS / 2 + 1500 {
        set.insert(standing(number)).unwrap();
    }
    set.insert_many((FILTERS / 2 + 1500..FILTERS).map(standing)).unwrap();
    let is_removed = |number: usize| number % 97 == 5;
    for number in (0..FILTERS).filter(|number| is_removed(*number)) {
        assert!(set.remove(&format!("{number}")));
    }
    let mut most = 0;
    for number in 0..8 {
        let text = format!(
            r#"{{"id":"{number}","clientId":"c{}","name":"n{} N{} n{}","priority":"p{}","totalAmountInDefaultCurrency":{},
            "createdAt":"2024-01-{:02} 08:00:00","tags":["t{}","t{}"],"caseReview":{{"status":"s{}"{}}}}}"#,
            draws.below(1000),
            draws.below(300),
            draws.below(30),
            draws.below(30),
            draws.below(3),
            draws.below(1000),
            1 + draws.below(28),
            draws.below(40),
            draws.below(40),
            draws.below(5),
            if number % 2 == 0 { format!(r#","assignee":"o{}""#, draws.below(100)) } else { String::new() },
        );
        let document = Document::parse(&cases, text.as_bytes()).unwrap();
        let expected: BTreeSet<String> = (0..FILTERS)
            .filter(|at| !is_removed(*at) && filters[*at].selects(&document).unwrap())
            .map(|at| at.to_string())
            .collect();
        let matches = set.matching(&document).unwrap();
        assert_eq!(matches.len(), expected.len());
        assert_eq!(matches.iter().map(str::to_owned).collect::<BTreeSet<_>>(), expected, "{text}");
        most = most.max(expected.len());
        for at in (number..FILTERS).step_by(997).filter(|at| !is_removed(*at)) {
            let is_found = expected.contains(&at.to_string());
            assert_eq!(reference::matches(&filters[at], &text), Ok(is_found), "{}", filters[at]);
        }
    }
    assert!(most > 100, "{most}");
}
