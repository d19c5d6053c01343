//! Imports any bytes as a Parquet file. The import must store cases or return an error, but never panic, and the invariants of the
//! stored cases must be valid. Scans of the same file must not panic either, and give the answers of the engine.
//!
//! The lowest bit of the first byte chooses the import mode, strict or lenient.

#![no_main]

use std::panic;

use bytes::Bytes;
use casefilter::{Catalog, Engine, Filter, ImportMode, Limits, Order, Scan, SearchRequest};
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;

fuzz_target!(
    // The Parquet library panics on some damaged files, and the import converts these panics to errors. So the panic hook must not
    // end the process. A panic that is not caught still ends it.
    init: panic::set_hook(Box::new(|info| eprintln!("{info}"))),
    |bytes: &[u8]| {
        let Some((choice, file)) = bytes.split_first() else { return };
        let mode = if choice & 1 == 0 { ImportMode::Strict } else { ImportMode::Lenient };
        let engine = Engine::new(Catalog::cases());
        let mut import = engine.import(mode);
        let read = import.parquet("fuzz", Bytes::copy_from_slice(file));
        let outcome = import.commit();
        assert_eq!(read.is_ok(), outcome.is_ok(), "a failed file fails the import");
        engine.validate().expect("the engine keeps its invariants");
        let all = SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000).with_count(true);
        let answer = engine.search(&all).unwrap();
        assert_eq!(answer.total(), outcome.ok().map(|report| report.stored).or(Some(0)));
        for document in answer.documents() {
            let _: IgnoredAny = serde_json::from_str(document).expect("a stored document is JSON");
        }
        let catalog = engine.catalog();
        let few = Filter::compile_text(catalog, "status = open or createdAt >= \"2024-01-01 00:00:00\"").unwrap();
        let order = Order::parse(catalog, "-createdAt").unwrap();
        let few = SearchRequest::new(few).with_order(order).with_limit(20).with_count(true);
        for request in [all, few] {
            let scan = Scan::new(catalog, &Limits::default(), mode, &request).unwrap();
            let found = scan.read_parquet(Bytes::copy_from_slice(file));
            // A scan does not find damage in pages that it does not read.
            if let (Ok(found), true) = (found, read.is_ok()) {
                assert_eq!(found.answer.to_json(), engine.search(&request).unwrap().to_json());
            }
        }
    }
);
