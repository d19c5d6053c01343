//! Measures the durable store: opening, single writes with both durabilities, pages from disk, the size of the file, and searches
//! as of an earlier write.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tempfile::TempDir;

mod shared;

use casefilter::{
    AsOf, Catalog, Durability, Filter, ImportMode, Order, SearchRequest, Store, StoreOptions, sample,
};
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

/// Returns the resident memory of this process in bytes, or `None` on systems other than Linux.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}

/// The number of cases that are changed before the search. The search finds the cases as they were before these changes.
const CHANGES: u64 = 100_000;

fn history(criterion: &mut Criterion) {
    let folder = TempDir::new().unwrap();
    let options = StoreOptions::default().history(Duration::from_secs(24 * 3600));
    let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), options).unwrap();
    let count = case_count();
    let text = ndjson(count);
    let import = |count: u64| {
        let mut import = store.import(ImportMode::Strict).unwrap();
        let lines = text.split_inclusive(|byte| *byte == b'\n').take(usize::try_from(count).unwrap());
        lines.for_each(|line| import.push(line).unwrap());
        import.commit().unwrap()
    };
    assert_eq!(import(count).stored, count);
    let newest = Order::parse(store.catalog(), "-createdAt").unwrap();
    let request = SearchRequest::new(filter("status = open")).with_order(newest).with_limit(20);
    let request = request.with_count(true);
    let then = store.search(&request).unwrap().to_json();
    // Half of the changes replace cases, and the others delete them.
    let changes = CHANGES.min(count / 2);
    assert_eq!(import(changes / 2).replaced, changes / 2);
    let last = SearchRequest::new(Filter::all(store.catalog())).with_offset(count - changes / 2);
    let last = last.with_limit(10_000);
    let mut deleted = 0;
    while deleted < changes / 2 {
        let ids = store.ids(&last).unwrap();
        deleted += store.delete_many(&ids, Durability::Grouped).unwrap() as u64;
    }
    assert!(store.search(&request).unwrap().to_json() != then);
    eprintln!("{changes} changes of {count} cases");
    let before = resident_bytes();
    let snapshot = store.as_of(AsOf::Write(1)).unwrap();
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        eprintln!("resident memory: {} MB before, {} MB with the snapshot", before >> 20, after >> 20);
    }
    let mut group = criterion.benchmark_group("store");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(5)).sample_size(10);
    group.bench_function("as of a write before the changes", |bencher| {
        bencher.iter(|| store.as_of(AsOf::Write(1)).unwrap());
    });
    assert_eq!(snapshot.search(&request).unwrap().to_json(), then);
    group.bench_function("page of 20 and count, as of then", |bencher| {
        bencher.iter(|| snapshot.search(black_box(&request)).unwrap().into_json());
    });
    group.bench_function("page of 20 and count, as of now", |bencher| {
        bencher.iter(|| store.search(black_box(&request)).unwrap().into_json());
    });
    let mut cases = sample::Cases::new(u64::from(u32::MAX), SEED + 1);
    let mut case = Vec::new();
    group.bench_function("upsert, grouped, with a history", |bencher| {
        bencher.iter(|| {
            case.clear();
            assert!(cases.write_next(&mut case));
            store.upsert(&case, Durability::Grouped).unwrap()
        });
    });
    group.finish();
}

criterion_group!(benches, store, history);
criterion_main!(benches);
