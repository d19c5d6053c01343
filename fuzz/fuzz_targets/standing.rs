//! Uses the bytes as random choices to generate a catalogue, documents, filters, and writes to a set of standing filters. The set
//! must find the filters that the reference evaluator selects.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/world/standing.rs"]
mod filters;
#[expect(
    dead_code,
    reason = "the property tests also need seeded worlds, the other targets the other checks"
)]
#[path = "../../tests/world/mod.rs"]
mod world;

use filters::check;
use world::choices::Choices;
use world::generate::{Size, World};

fuzz_target!(|bytes: &[u8]| {
    // Generating a world uses all bytes that it gets. So the bytes are divided, and the writes get their own part.
    let (of_writes, of_world) = bytes.split_at(bytes.len() / 8);
    let mut choices = Choices::new(of_world);
    let size = Size { documents: 4, requests: 10, repeats: false, faults: false };
    let world = World::new(&mut choices, size);
    let mut choices = Choices::new(of_writes);
    let filters = choices.below(70);
    check(&world, &mut choices, 12, filters);
});
