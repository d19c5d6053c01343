//! Uses the bytes as random choices to generate a catalogue, documents and requests. The engine, the reference evaluator and the
//! plain evaluator (`tests/world/plain.rs`) must give the same answers.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "the property tests also need seeded worlds")]
#[path = "../../tests/world/mod.rs"]
mod world;

use world::check::check;
use world::choices::Choices;
use world::generate::World;

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let world = World::small(&mut choices);
    check(&world, &mut choices);
});
