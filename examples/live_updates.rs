//! Live updates: searches do not wait for writes. A search sees the cases at one moment, and each write completely or not at all.
//!
//! ```sh
//! cargo run --example live_updates
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use casefilter::{Catalog, Engine, Error, Filter, SearchRequest};

type AnyError = Box<dyn std::error::Error>;

/// The number of payments. Each has two cases: one for its debtor and one for its creditor.
const PAYMENTS: u64 = 2_000;
/// The number of payments whose cases are updated.
const UPDATED: u64 = 1_000;

/// Returns the two cases of a payment as NDJSON.
fn pair(payment: u64, status: &str) -> String {
    let case = |party: &str| {
        let review = format!(r#"{{"status": "{status}"}}"#);
        format!(r#"{{"id": "{payment}-{party}", "name": "Payment {payment}", "caseReview": {review}}}"#)
    };
    format!("{}\n{}\n", case("debtor"), case("creditor"))
}

/// Blocks both cases of some payments, and deletes both cases of every tenth of them. Returns the number of blocked cases.
fn update(engine: &Engine) -> Result<u64, AnyError> {
    let mut blocked = 0;
    for payment in 0..UPDATED {
        blocked += engine.upsert_many(pair(payment, "blocked").as_bytes())?.replaced;
        if payment % 10 == 0 {
            engine.delete_many([format!("{payment}-debtor"), format!("{payment}-creditor")]);
        }
    }
    Ok(blocked)
}

/// Searches until the writer is done, and returns the number of searches.
fn search(engine: &Engine, request: &SearchRequest, is_done: &AtomicBool) -> Result<u64, Error> {
    let mut searches = 0;
    loop {
        searches += 1;
        let is_last = is_done.load(Ordering::Acquire);
        let total = engine.search(request)?.total().unwrap_or_default();
        assert_eq!(total % 2, 0, "a search saw one case of a payment, but not the other");
        if is_last {
            assert_eq!(total, 2 * (PAYMENTS - UPDATED), "the last search sees every write");
            return Ok(searches);
        }
    }
}

fn main() -> Result<(), AnyError> {
    let engine = Engine::new(Catalog::cases());
    engine.upsert_many((0..PAYMENTS).map(|payment| pair(payment, "open")).collect::<String>().as_bytes())?;
    let open = Filter::compile_text(engine.catalog(), "status = open")?;
    let request = SearchRequest::new(open).with_limit(1).with_count(true);
    let before = engine.search(&request)?;

    let (is_done, start) = (AtomicBool::new(false), Instant::now());
    let blocked = thread::scope(|scope| {
        let searchers = [(); 2].map(|()| scope.spawn(|| search(&engine, &request, &is_done)));
        let updated = update(&engine);
        is_done.store(true, Ordering::Release);
        for searcher in searchers {
            println!("{} searches beside the writer", searcher.join().map_err(|_| "a searcher panicked")??);
        }
        updated
    })?;
    println!("{blocked} cases blocked in {:?}", start.elapsed());
    // An answer keeps its documents: later writes do not change it.
    assert_eq!((blocked, before.total()), (2 * UPDATED, Some(2 * PAYMENTS)));
    assert!(before.documents().all(|document| document.contains(r#""status": "open""#)));
    assert_eq!(engine.len(), 2 * (PAYMENTS - UPDATED / 10) as usize);
    Ok(())
}
