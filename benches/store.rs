//! Measures the durable store: opening, single writes with both durabilities, pages from disk, and the size of the file.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tempfile::TempDir;

mod shared;

use casefilter::{Catalog, Durability, ImportMode, Order, SearchRequest, Store, StoreOptions, sample};
use shared::{Oracle, SEED, case_count, filter, ndjson};

fn store(criterion: &mut Criterion) {
    let oracle = Oracle::new();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cases.db");
    let count = case_count();
    let mut store = Store::create(&path, Catalog::cases(), StoreOptions::default()).unwrap();
    let mut import = store.import(ImportMode::Strict).unwrap();
    let text = ndjson(count);
    text.chunks(1 << 20).for_each(|chunk| import.push(chunk).unwrap());
    assert_eq!(import.commit().unwrap().stored, count);
    let size = || std::fs::metadata(&path).unwrap().len() as f64 / count as f64;
    let imported = size();
    store.compact().unwrap();
    eprintln!(
        "{:.0} bytes a case of {:.0} bytes of NDJSON on disk, {imported:.0} before compaction",
        size(),
        text.len() as f64 / count as f64
    );
    drop(text);
    store.close().unwrap();

    let mut group = criterion.benchmark_group("store");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3)).sample_size(10);
    group.bench_function("open", |bencher| {
        bencher.iter(|| {
            let store = Store::open(&path, Catalog::cases(), StoreOptions::default()).unwrap();
            assert_eq!(store.len() as u64, count);
            store
        });
    });

    let store = Store::open(&path, Catalog::cases(), StoreOptions::default()).unwrap();
    let newest = Order::parse(store.catalog(), "-createdAt").unwrap();
    let request = SearchRequest::new(filter("status = open")).with_order(newest).with_limit(20);
    oracle.check(&request);
    let found = store.search(&request).unwrap();
    assert_eq!(found.len(), 20);
    group.bench_function("page of 20", |bencher| {
        bencher.iter(|| store.search(black_box(&request)).unwrap().into_json());
    });
    for (name, durability) in [("grouped", Durability::Grouped), ("synced", Durability::Synced)] {
        let mut cases = sample::Cases::new(u64::from(u32::MAX), SEED + 1);
        let mut case = Vec::new();
        group.bench_function(format!("upsert, {name}"), |bencher| {
            bencher.iter(|| {
                case.clear();
                assert!(cases.write_next(&mut case));
                store.upsert(&case, durability).unwrap()
            });
        });
    }
    group.finish();
    assert_eq!(store.validate(), Ok(()));
}

criterion_group!(benches, store);
criterion_main!(benches);
