//! Bytes as choices that build a catalogue, documents and requests, and that write the documents in
//! any order, replace and delete them: on the way, engine and both evaluators give the same answers.

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
    // A world takes what bytes there are, and nothing would be left for the writes.
    let (of_writes, of_world) = bytes.split_at(bytes.len() / 8);
    check(&World::small(&mut Choices::new(of_world)), &mut Choices::new(of_writes));
});
