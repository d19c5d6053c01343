//! Engine, reference evaluator and a third evaluator written from the specification agree on
//! random catalogues, documents and requests.

mod world;

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

#[test]
fn the_spellings_of_numbers_are_read_alike() {
    for text in NUMBERS {
        let number: serde_json::Number = serde_json::from_str(text).unwrap();
        assert_eq!(number.as_f64(), text.parse().ok(), "{text}");
    }
}
