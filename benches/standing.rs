//! Measures sets of standing filters: a case against many filters, insertions, and writes to engines that give events.
//!
//! Cases have eight attributes, and filters 2 to 5 criteria. With `CASEFILTER_STANDING_MILLION=1`, also measures a million filters.
//! `benches/peers/filters` has another library beside the same sets.

#[path = "shared/standing.rs"]
mod data;

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use casefilter::{Catalog, Document, Engine, Filter, FilterMatches, FilterSet, StandingFilter, Timestamp};
use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use data::{Case, Data, FREQUENT, RARE, Test, catalog, text_of};

fn documents(data: Data, catalog: &Catalog, number: u64, seed: u64) -> Vec<Document> {
    let document = |case: &Case| Document::parse(catalog, case.json().as_bytes()).unwrap();
    data.cases(number, seed).iter().map(document).collect()
}

fn compiled(data: Data, catalog: &Catalog, number: usize) -> Vec<Filter> {
    let filter = |tests: &Vec<Test>| Filter::compile_text(catalog, &text_of(tests)).unwrap();
    data.filters(number).iter().map(filter).collect()
}

fn standing(filters: &[Filter]) -> Vec<StandingFilter> {
    let of = |(number, filter)| StandingFilter::new(&format!("{number}"), filter);
    filters.iter().enumerate().map(of).collect()
}

/// Returns the number of criteria of the filters, and the number of different ones.
fn criteria(data: Data, number: usize) -> (usize, usize) {
    let filters = data.filters(number);
    let tests = filters.iter().flatten().map(|test| text_of(std::slice::from_ref(test)));
    let (mut count, mut different) = (0, HashSet::new());
    for test in tests {
        count += 1;
        different.insert(test);
    }
    (count, different.len())
}

fn sizes() -> Vec<usize> {
    if std::env::args().any(|argument| argument == "--test") {
        return vec![1_000];
    }
    let million = std::env::var_os("CASEFILTER_STANDING_MILLION").map(|_| 1_000_000);
    [1_000, 100_000].into_iter().chain(million).collect()
}

fn matching(criterion: &mut Criterion) {
    let catalog = catalog();
    let mut group = criterion.benchmark_group("standing");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(20);
    for data in [RARE, FREQUENT] {
        let cases = documents(data, &catalog, 1_000, 42);
        for size in sizes() {
            let filters = compiled(data, &catalog, size);
            let set = FilterSet::new(&catalog);
            set.insert_many(standing(&filters)).unwrap();
            let mut matches = FilterMatches::new();
            for case in cases.iter().take(20) {
                set.matching_into(case, &mut matches).unwrap();
                let names =
                    (0..size).filter(|at| filters[*at].selects(case).unwrap()).map(|at| at.to_string());
                let mut names: Vec<String> = names.collect();
                names.sort_unstable();
                assert_eq!(matches.sorted(), names);
            }
            let mut found = 0;
            for case in &cases {
                set.matching_into(case, &mut matches).unwrap();
                found += matches.len();
            }
            let memory = set.memory();
            let (criteria, different) = criteria(data, size);
            println!(
                "{} of {size} filters select a case, 1 in {:.0}; {:.0} bytes a filter, and {:.0} of texts; \
                 {:.1} criteria a filter, each of them in {:.1} filters",
                found as f64 / cases.len() as f64,
                (size * cases.len()) as f64 / found as f64,
                memory.index_bytes as f64 / size as f64,
                memory.texts_bytes as f64 / size as f64,
                criteria as f64 / size as f64,
                criteria as f64 / different as f64,
            );
            let mut next = 0;
            group.bench_function(BenchmarkId::new(format!("matching, {}", data.name), size), |bencher| {
                bencher.iter(|| {
                    next = (next + 1) % cases.len();
                    set.matching_into(black_box(&cases[next]), &mut matches).unwrap();
                    // Hands out the names.
                    matches.iter().map(str::len).sum::<usize>()
                });
            });
            if size <= 100_000 {
                group.bench_function(
                    BenchmarkId::new(format!("one by one, {}", data.name), size),
                    |bencher| {
                        bencher.iter(|| {
                            next = (next + 1) % cases.len();
                            let case = black_box(&cases[next]);
                            filters.iter().filter(|filter| filter.selects(case).unwrap()).count()
                        });
                    },
                );
            }
        }
    }
}

fn inserting(criterion: &mut Criterion) {
    let catalog = catalog();
    let size = sizes().into_iter().max().unwrap_or_default().min(100_000);
    let filters = standing(&compiled(RARE, &catalog, size + 1_000));
    let (first, more) = filters.split_at(size);
    let mut group = criterion.benchmark_group("standing");
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_secs(2)).sample_size(10);
    group.bench_function(BenchmarkId::new("inserting at once", size), |bencher| {
        bencher.iter(|| {
            let set = FilterSet::new(&catalog);
            set.insert_many(first.iter().cloned()).unwrap();
            set
        });
    });
    group.bench_function(BenchmarkId::new("inserting one by one", size), |bencher| {
        bencher.iter(|| {
            let set = FilterSet::new(&catalog);
            for filter in first {
                set.insert(filter.clone()).unwrap();
            }
            set
        });
    });
    let set = FilterSet::new(&catalog);
    set.insert_many(first.iter().cloned()).unwrap();
    let mut next = 0;
    group.bench_function(BenchmarkId::new("inserting or replacing one more", size), |bencher| {
        bencher.iter(|| {
            next = (next + 1) % more.len();
            set.insert(StandingFilter::new(&format!("more {next}"), more[next].filter())).unwrap()
        });
    });
}

/// Returns the sorted names of the filters in the last `number` events.
fn changed(engine: &Engine, number: u64) -> Vec<String> {
    let events = engine.events_after(engine.last_event() - number, usize::MAX).unwrap();
    let mut names: Vec<String> = events.into_iter().map(|event| event.filter).collect();
    names.sort_unstable();
    names
}

/// Measures writes to engines with 10,000 standing filters and with none.
fn writing(criterion: &mut Criterion) {
    let catalog = catalog();
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (filters, number) = if is_test { (1_000, 1_000) } else { (10_000, 100_000) };
    let mut group = criterion.benchmark_group("standing");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3)).sample_size(10);
    for (name, data, filters) in
        [("no filters", RARE, 0), (RARE.name, RARE, filters), (FREQUENT.name, FREQUENT, filters)]
    {
        let set = Arc::new(FilterSet::new(&catalog));
        set.insert_many(standing(&compiled(data, &catalog, filters))).unwrap();
        let engine = || {
            let engine = Engine::builder(catalog.clone());
            match filters {
                0 => engine.build(),
                _ => engine.watch(&set, 1_000_000, || Timestamp::from_millis(0)).unwrap().build(),
            }
        };
        let [first, second] = [42, 43].map(|seed| documents(data, &catalog, number, seed));
        let text = |cases: &[Document]| -> String {
            cases.iter().filter_map(|case| Some(format!("{}\n", case.text()?))).collect()
        };
        let lines = text(&first);
        let full = engine();
        full.upsert_many(lines.as_bytes()).unwrap();
        for (before, after) in first.iter().zip(&second).take(100) {
            let [before, now] = [before, after].map(|case| set.matching(case).unwrap());
            let one = |name: &&str| {
                before.iter().any(|other| other == *name) != now.iter().any(|other| other == *name)
            };
            let mut expected: Vec<String> =
                before.iter().chain(now.iter()).filter(one).map(str::to_owned).collect();
            expected.sort_unstable();
            let last = full.last_event();
            full.upsert(after.text().unwrap().as_bytes()).unwrap();
            assert_eq!(changed(&full, full.last_event() - last), expected);
        }
        println!("{name}: {} events of {number} new cases", full.last_event());
        group.bench_function(BenchmarkId::new(format!("import, {name}"), number), |bencher| {
            bencher.iter_batched(
                engine,
                |engine| {
                    engine.upsert_many(lines.as_bytes()).unwrap();
                    engine
                },
                BatchSize::PerIteration,
            );
        });
        let mut next = 0;
        group.bench_function(BenchmarkId::new(format!("single upserts, {name}"), number), |bencher| {
            bencher.iter(|| {
                // Each case gets new values.
                let case = if next < second.len() { &second[next] } else { &first[next - second.len()] };
                next = (next + 1) % (2 * second.len());
                full.upsert(black_box(case.text().unwrap().as_bytes())).unwrap()
            });
        });
    }
}

/// Measures writes to stores with 10,000 standing filters and with none.
#[cfg(feature = "store")]
fn storing(criterion: &mut Criterion) {
    use casefilter::{Durability, Store, StoreOptions};
    let catalog = catalog();
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (filters, number) = if is_test { (1_000, 1_000) } else { (10_000, 100_000) };
    let mut group = criterion.benchmark_group("standing");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3)).sample_size(10);
    for (name, filters) in [("no filters", 0), (RARE.name, filters)] {
        let folder = tempfile::tempdir().unwrap();
        let mut made = 0;
        let mut new = || {
            made += 1;
            let path = folder.path().join(format!("{made}.db"));
            let store = Store::create(path, catalog.clone(), StoreOptions::default()).unwrap();
            store.insert_standing(standing(&compiled(RARE, &catalog, filters))).unwrap();
            store
        };
        let [first, second] = [42, 43].map(|seed| documents(RARE, &catalog, number, seed));
        let lines: String = first.iter().filter_map(|case| Some(format!("{}\n", case.text()?))).collect();
        group.bench_function(BenchmarkId::new(format!("import to a store, {name}"), number), |bencher| {
            bencher.iter_batched(
                &mut new,
                |store| {
                    store.upsert_many(lines.as_bytes()).unwrap();
                    store
                },
                BatchSize::PerIteration,
            );
        });
        let store = new();
        store.upsert_many(lines.as_bytes()).unwrap();
        println!("{name}: {} events of {number} new cases", store.last_event());
        let mut next = 0;
        let id = BenchmarkId::new(format!("single upserts to a store, grouped, {name}"), number);
        group.bench_function(id, |bencher| {
            bencher.iter(|| {
                // Each case gets new values.
                let case = if next < second.len() { &second[next] } else { &first[next - second.len()] };
                next = (next + 1) % (2 * second.len());
                store.upsert(case.text().unwrap().as_bytes(), Durability::Grouped).unwrap()
            });
        });
    }
}

#[cfg(not(feature = "store"))]
fn storing(_: &mut Criterion) {}

criterion_group!(benches, matching, inserting, writing, storing);
criterion_main!(benches);
