//! Adds, replaces and deletes cases in an engine, and checks that the engine agrees with the reference evaluator and the plain
//! evaluator.

use std::collections::HashMap;
use std::slice::from_ref;

use casefilter::{Engine, UpsertOutcome};
use serde_json::{Value, json};

use super::check::check_query;
use super::choices::Choices;
use super::generate::World;

/// The stored documents, in insertion order.
#[derive(Default)]
struct Stored {
    documents: Vec<Option<(String, Value)>>,
    places: HashMap<String, usize>,
}

impl Stored {
    fn upsert(&mut self, text: &str) -> UpsertOutcome {
        let value: Value = serde_json::from_str(text).unwrap();
        let id = id_of(&value).to_owned();
        let place = *self.places.entry(id).or_insert(self.documents.len());
        let entry = Some((text.to_owned(), value));
        if place == self.documents.len() {
            self.documents.push(entry);
            return UpsertOutcome::Stored;
        }
        self.documents[place] = entry;
        UpsertOutcome::Replaced
    }

    fn delete(&mut self, id: &str) -> bool {
        let place = self.places.remove(id);
        place.map(|place| self.documents[place] = None).is_some()
    }

    fn texts_and_values(&self) -> (Vec<&str>, Vec<Value>) {
        let live = self.documents.iter().flatten();
        live.map(|(text, value)| (text.as_str(), value.clone())).unzip()
    }
}

fn id_of(document: &Value) -> &str {
    document["id"].as_str().unwrap()
}

/// Writes the documents of a valid world in random order, and runs requests in between.
pub(crate) fn check(world: &World, choices: &mut Choices<'_>) {
    if world.is_faulty || world.documents.is_empty() {
        return;
    }
    // In engines of 512 and 1,024 rows per batch, the batches written below are too small to be indexed.
    let batch_rows = [65_536, 1, 2, 7, 64, 512, 1024][choices.below(7)];
    let engine = Engine::builder(world.catalog.clone()).batch_rows(batch_rows).build();
    let mut stored = Stored::default();
    let check_one = |stored: &Stored, request: usize, explains: bool| {
        let (texts, values) = stored.texts_and_values();
        check_query(&world.requests[request], from_ref(&engine), &texts, &values, true, explains);
    };
    for _ in 0..=choices.below(32) {
        write(world, &engine, &mut stored, choices);
        assert_eq!(engine.len(), stored.places.len());
        if !world.requests.is_empty() && choices.chance(1, 3) {
            engine.validate().unwrap();
            check_one(&stored, choices.below(world.requests.len()), false);
        }
    }
    engine.validate().unwrap();
    for request in 0..world.requests.len() {
        check_one(&stored, request, request == 0);
    }
}

/// Does one random write.
fn write(world: &World, engine: &Engine, stored: &mut Stored, choices: &mut Choices<'_>) {
    let documents = &world.documents;
    let from = choices.below(documents.len());
    let some = &documents[from..documents.len().min(from + 1 + choices.below(40))];
    let value = |text: &String| -> Value { serde_json::from_str(text).unwrap() };
    match choices.below(6) {
        0 => {
            let lines = some.join("\n");
            let report = engine.upsert_many(lines.as_bytes()).unwrap();
            let replaced =
                some.iter().filter(|text| stored.upsert(text) == UpsertOutcome::Replaced).count() as u64;
            assert_eq!((report.stored, report.replaced), (some.len() as u64 - replaced, replaced));
        }
        1 => {
            let text = &some[0];
            assert_eq!(engine.upsert(text.as_bytes()), Ok(stored.upsert(text)));
        }
        2 => {
            // One case gets the document of another.
            let mut document = value(&documents[choices.below(documents.len())]);
            document["id"] = json!(id_of(&value(&some[0])));
            let text = document.to_string();
            assert_eq!(engine.upsert(text.as_bytes()), Ok(stored.upsert(&text)));
        }
        3 => {
            let text = json!({ "id": id_of(&value(&some[0])) }).to_string();
            assert_eq!(engine.upsert(text.as_bytes()), Ok(stored.upsert(&text)));
        }
        4 => {
            let document = value(&some[0]);
            assert_eq!(engine.delete(id_of(&document)), stored.delete(id_of(&document)));
        }
        _ => {
            let some: Vec<Value> = some.iter().map(value).collect();
            let ids: Vec<&str> = some.iter().map(id_of).collect();
            let deleted = ids.iter().filter(|id| stored.delete(id)).count();
            assert_eq!(engine.delete_many(&ids), deleted);
        }
    }
}
