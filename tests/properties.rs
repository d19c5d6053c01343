//! Engine, reference evaluator and a third evaluator written from the specification agree on
//! random catalogues, documents and requests.

mod world;

use std::fmt::Write as _;

use casefilter::{Catalog, Engine, Filter, Request, reference};
use proptest::prelude::*;

use world::check::check;
use world::choices::Choices;
use world::generate::{NUMBERS, Size, World};

/// Builds a world from a stream of choices and checks it with those that are left.
fn small(mut choices: Choices<'_>) {
    let world = World::small(&mut choices);
    check(&world, &mut choices);
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everyone_agrees_in_small_worlds(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        small(Choices::new(&bytes));
    }

    #[test]
    fn everyone_agrees_in_full_worlds(seed in any::<u64>()) {
        small(Choices::seeded(seed));
    }
}

/// Worlds of a number of documents around the sizes of words and batches.
fn sized(rows: usize, requests: usize, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut choices = Choices::seeded(seed);
        let world =
            World::new(&mut choices, Size { documents: rows, requests, repeats: false, faults: false });
        check(&world, &mut choices);
    }
}

#[test]
fn everyone_agrees_around_the_size_of_a_word() {
    for rows in [0, 1, 63, 64, 65, 127, 128, 129] {
        sized(rows, 6, 0..12);
    }
}

#[test]
fn everyone_agrees_at_65_535_rows() {
    sized(65_535, 6, 0..2);
}

#[test]
fn everyone_agrees_at_65_536_rows() {
    sized(65_536, 6, 2..4);
}

#[test]
fn everyone_agrees_at_65_537_rows() {
    sized(65_537, 6, 4..6);
}

/// Trees of criteria that leave few rows, in every order, on a batch so large that indexes answer them.
#[test]
fn conjunctions_that_become_few_select_the_same() {
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
            match next(11) {
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
        let request = Request::new(filter.clone()).limit(10_000);
        let (page, total) = reference::search(&documents, &request).unwrap();
        assert_eq!(engine.count(&filter), total, "{text}");
        let wanted = page.iter().map(|at| documents[*at]);
        assert!(engine.search(&request).documents().eq(wanted), "{text}");
    }
}

#[test]
fn the_spellings_of_numbers_are_read_alike() {
    for text in NUMBERS {
        let number: serde_json::Number = serde_json::from_str(text).unwrap();
        assert_eq!(number.as_f64(), text.parse().ok(), "{text}");
    }
}
