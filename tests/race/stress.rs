//! Runs readers concurrently with writers, under the thread sanitizer (`tests/race/run`).
//!
//! The assertions are the same as in `src/engine/interleavings.rs`. Here the swap of the snapshot, the writer lock and all other
//! code run on real threads, and the sanitizer checks each access to memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use casefilter::{Catalog, Engine, Filter, Order, SearchRequest};

const ROUNDS: usize = 1500;

/// Returns the two cases of a writer, which always have the same tag.
fn pair(writer: usize, round: usize) -> String {
    let case = |side| format!("{{\"id\":\"{writer}{side}\",\"tags\":[\"t{round}\",\"w{writer}\"]}}\n");
    case('a') + &case('b')
}

fn write(engine: &Engine, writer: usize, done: &AtomicUsize) {
    for round in 1..=ROUNDS {
        engine.upsert_many(pair(writer, round).as_bytes()).unwrap();
        done.store(round, Ordering::SeqCst);
        // Enough other cases to seal heads, and to merge and drop batches.
        let id = format!("{writer} {}", round % 700);
        engine.upsert(format!("{{\"id\":\"{id}\",\"totalAmountInDefaultCurrency\":{round}}}").as_bytes()).unwrap();
        if round % 5 == 0 {
            assert!(engine.delete(&id));
        }
    }
}

fn read(engine: &Engine, reader: usize, done: &[AtomicUsize]) {
    let filters = ["w0", "w1"].map(|tag| Filter::compile_text(engine.catalog(), &format!("tags = {tag}")).unwrap());
    let all = SearchRequest::new(Filter::all(engine.catalog()))
        .with_order(Order::parse(engine.catalog(), "-totalAmountInDefaultCurrency").unwrap())
        .with_limit(20)
        .with_count(true);
    let mut seen = [0; 2];
    for turn in reader.. {
        let writer = turn % 2;
        let acknowledged = done[writer].load(Ordering::SeqCst);
        let answer = engine.search(&SearchRequest::new(filters[writer].clone())).unwrap();
        let rounds: Vec<usize> = answer
            .documents()
            .map(|text| text.split("\"t").nth(2).and_then(|tag| tag.split('"').next()).unwrap().parse().unwrap())
            .collect();
        assert!(matches!(rounds.as_slice(), [a, b] if a == b), "half a write: {rounds:?}");
        assert!(rounds[0] >= seen[writer].max(acknowledged), "a write undone");
        seen[writer] = rounds[0];
        let answer = engine.search(&all).unwrap();
        assert!(answer.total().unwrap() >= answer.len() as u64);
        if seen == [ROUNDS; 2] {
            return;
        }
    }
}

fn main() {
    let engine = Arc::new(Engine::builder(Catalog::cases()).batch_rows(256).build());
    let done = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    (0..2).for_each(|writer| drop(engine.upsert_many(pair(writer, 0).as_bytes()).unwrap()));
    let mut threads = Vec::new();
    for number in 0..2 {
        let (own, noted) = (Arc::clone(&engine), Arc::clone(&done));
        threads.push(thread::spawn(move || write(&own, number, &noted[number])));
        let (own, noted) = (Arc::clone(&engine), Arc::clone(&done));
        threads.push(thread::spawn(move || read(&own, number, &*noted)));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    engine.validate().unwrap();
    println!("{} cases after {ROUNDS} rounds of two writers", engine.len());
}
