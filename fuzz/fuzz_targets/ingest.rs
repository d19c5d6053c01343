//! Imports any bytes as a file of cases. The result must not depend on the pieces in which the bytes are passed to the import, and
//! the invariants of the stored cases must be valid.
//!
//! The lowest bit of the first byte chooses the import mode. The other bits give the size of the pieces.

#![no_main]

use casefilter::{Catalog, Engine, Filter, ImportMode, Limits, SearchRequest};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, file)) = bytes.split_first() else { return };
    let mode = if choice & 1 == 0 { ImportMode::Strict } else { ImportMode::Lenient };
    let size = usize::from(choice >> 1) % 64 + 1;
    let whole = import(mode, [file].into_iter());
    assert_eq!(whole, import(mode, file.chunks(size)), "pieces of {size}");
    if file.len() <= 2048 {
        assert_eq!(whole, import(mode, file.chunks(1)), "pieces of one byte");
    }
});

/// A stored document, of which only `id` is read. A lenient import may store a number that is too large for `serde_json::Value`.
#[derive(Deserialize)]
struct Case {
    id: String,
}

/// Imports the bytes. Returns the report or the error, and the stored documents.
fn import<'f>(
    mode: ImportMode,
    pieces: impl Iterator<Item = &'f [u8]>,
) -> (Result<String, String>, Vec<String>) {
    let limits = Limits::default().with_page(u64::MAX);
    let engine = Engine::builder(Catalog::cases()).limits(limits).build();
    let mut import = engine.import(mode);
    let outcome = import
        .begin_source("fuzz")
        .and_then(|()| pieces.into_iter().try_for_each(|piece| import.push(piece)))
        .and_then(|()| import.commit());
    engine.validate().expect("the engine keeps its invariants");
    let answer = engine
        .search(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(u64::MAX).with_count(true))
        .unwrap();
    assert_eq!(answer.total(), Some(engine.len() as u64));
    for (id, document) in answer.ids().zip(answer.documents()) {
        let case: Case = serde_json::from_str(document).expect("a stored document is JSON");
        assert_eq!(case.id, id);
    }
    assert!(outcome.is_ok() || answer.is_empty(), "a failed import stores nothing");
    let documents = answer.documents().map(str::to_owned).collect();
    let outcome = match outcome {
        Ok(report) => {
            assert_eq!(report.stored, engine.len() as u64);
            Ok(serde_json::to_string(&report).expect("a report is JSON"))
        }
        Err(refusal) => Err(serde_json::to_string(&refusal).expect("a refusal is JSON")),
    };
    (outcome, documents)
}
