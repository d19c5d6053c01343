//! Uses the bytes as random choices to generate a catalogue, documents, requests and writes. After each write, the engine, the
//! reference evaluator and the plain evaluator must give the same answers.

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
    // Generating a world uses all bytes that it gets. So the bytes are divided, and the writes get their own part.
    let (of_writes, of_world) = bytes.split_at(bytes.len() / 8);
    check(&World::small(&mut Choices::new(of_world)), &mut Choices::new(of_writes));
});
