//! Uses the bytes as choices for a catalogue, documents and requests, and for random writes. After each step, the engine and both
//! evaluators must give the same answers.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[expect(
    dead_code,
    reason = "the property tests also need seeded worlds, the target `search` the other checks"
)]
#[path = "../../tests/world/mod.rs"]
mod world;

use world::choices::Choices;
use world::generate::World;
use world::writes::check;

fuzz_target!(|bytes: &[u8]| {
    // A world uses all bytes that it gets, so the writes get their own part.
    let (of_writes, of_world) = bytes.split_at(bytes.len() / 8);
    check(&World::small(&mut Choices::new(of_world)), &mut Choices::new(of_writes));
});
