//! Measures writes per second, and searches during writes.
//!
//! The mix repeats nine searches and one single upsert. Half of the upserts have new ids. The time of each search is compared with
//! the time of the same search on an engine without writes. This bench prints the ratios, because criterion cannot compare two
//! benchmarks of one run.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

mod shared;

use casefilter::{Order, SearchRequest, sample};
use shared::{Oracle, case_count, engine, filter, is_test};

/// The searches of the mix: filter, order, offset, limit. With a limit of 0, the search is a count.
const REQUESTS: &[(&str, &str, u64, u64)] = &[
    ("status in (open, awaitingUser)", "", 0, 0),
    (
        "status = open and createdAt >= \"2024-03-01 00:00:00\" and createdAt < \"2024-04-01 00:00:00\"",
        "",
        0,
        0,
    ),
    (
        "status = blocked and priority = high or totalAmountInDefaultCurrency > 5000 and createdByType = byRule",
        "",
        0,
        0,
    ),
    ("tags all (cash, cross-border)", "", 0, 0),
    (
        "tags in (crypto, cash, pep, mixer, manual) and applicantInfo.country in (DEU, FRA, ESP, ITA, POL)",
        "",
        0,
        0,
    ),
    (
        "(status in (open, blocked) or totalAmountInDefaultCurrency >= 10000 and tags <> cash) and \
         (createdAt >= \"2024-01-01 00:00:00\" or priority = low and (tags in (crypto, mixer) or createdByType = byRule)) \
         and applicantInfo.country <> DEU",
        "",
        0,
        0,
    ),
    ("updatedAt >= \"2024-03-01 12:00:00\" and updatedAt < \"2024-03-01 13:00:00\"", "", 0, 0),
    ("status in (open, awaitingUser) and priority = high", "-createdAt", 0, 100),
    ("status = open", "-createdAt", 10_000, 100),
    ("status = open and createdByType = byRule", "-totalAmountInDefaultCurrency", 0, 100),
    ("applicantReference.applicantId = nobody", "", 0, 100),
    ("status = open and updatedAt > \"2025-12-01 00:00:00\"", "", 0, 0),
    ("id in (nobody, none) or status = open and updatedAt > \"2025-12-28 00:00:00\"", "", 0, 0),
];

fn requests() -> Vec<SearchRequest> {
    let one = |(text, order, offset, limit): &(&str, &str, u64, u64)| {
        let filter = filter(text);
        let order = Order::parse(filter.catalog(), order).unwrap();
        SearchRequest::new(filter)
            .with_order(order)
            .with_offset(*offset)
            .with_limit(*limit)
            .with_count(*limit == 0)
    };
    REQUESTS.iter().map(one).collect()
}

/// Returns documents: half of them new, half replacements of the first `stored` sample cases.
fn writes(stored: u64, count: u64) -> Vec<Vec<u8>> {
    let new = sample::Cases::new(count / 2, shared::SEED + 1);
    let old = sample::Cases::new(stored.min(count / 2), shared::SEED);
    new.zip(old).flat_map(|(new, old)| [new.to_vec(), old.to_vec()]).collect()
}

fn write(criterion: &mut Criterion) {
    let stored = case_count();
    let documents = writes(stored, if is_test() { 2_000 } else { 200_000 });
    let count = documents.len() as u64;
    let mut group = criterion.benchmark_group("live");
    group.sample_size(10).throughput(Throughput::Elements(count));
    group.bench_function("single upserts", |bencher| {
        bencher.iter_batched_ref(
            || engine(stored),
            |engine| documents.iter().for_each(|document| assert!(engine.upsert(document).is_ok())),
            BatchSize::PerIteration,
        );
    });
    let bulk = documents.join(&b'\n');
    group.bench_function("upserts in bulk", |bencher| {
        bencher.iter_batched_ref(
            || engine(stored),
            |engine| assert!(engine.upsert_many(&bulk).is_ok()),
            BatchSize::PerIteration,
        );
    });
    let all = engine(stored);
    let some = SearchRequest::new(casefilter::Filter::all(all.catalog())).with_limit(10_000.min(stored));
    let ids: Vec<String> = all.search(&some).unwrap().ids().map(str::to_owned).collect();
    group.throughput(Throughput::Elements(ids.len() as u64));
    group.bench_function("single deletes", |bencher| {
        bencher.iter_batched_ref(
            || engine(stored),
            |engine| assert!(ids.iter().all(|id| engine.delete(id))),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// Runs the mix, and prints the ratios.
fn mix(criterion: &mut Criterion) {
    let requests = requests();
    let oracle = Oracle::new();
    for request in &requests {
        oracle.check(request);
    }
    let stored = case_count();
    let (live, sealed) = (engine(stored), engine(stored));
    let documents = writes(stored, if is_test() { 500 } else { 20_000 });
    let mut times = vec![(Duration::ZERO, Duration::ZERO); requests.len()];
    let mut next = (0..requests.len()).cycle();
    let mut slowest = Duration::ZERO;
    for document in &documents {
        let start = Instant::now();
        live.upsert(document).unwrap();
        slowest = slowest.max(start.elapsed());
        for at in next.by_ref().take(9) {
            let start = Instant::now();
            black_box(live.search(&requests[at]).unwrap());
            times[at].0 += start.elapsed();
            let start = Instant::now();
            black_box(sealed.search(&requests[at]).unwrap());
            times[at].1 += start.elapsed();
        }
    }
    live.validate().unwrap();
    let mut worst: f64 = 0.0;
    for ((live, sealed), (text, ..)) in times.iter().zip(REQUESTS) {
        let ratio = live.as_secs_f64() / sealed.as_secs_f64();
        worst = worst.max(ratio);
        println!("mix: {ratio:.2} times the sealed engine's: {text}");
    }
    let sum = |side: fn(&(Duration, Duration)) -> Duration| times.iter().map(side).sum::<Duration>();
    let mean = sum(|time| time.0).as_secs_f64() / sum(|time| time.1).as_secs_f64();
    println!(
        "mix: searches take {mean:.2} times as long in the mean, {worst:.2} at worst; slowest upsert {slowest:?}"
    );
    // At full size, criterion's sampling would take many minutes, and would not give more information than one pass.
    let documents = writes(stored, if is_test() { 2_000 } else { 200_000 });
    let mut slowest = Duration::ZERO;
    let start = Instant::now();
    for document in &documents {
        let start = Instant::now();
        sealed.upsert(document).unwrap();
        slowest = slowest.max(start.elapsed());
    }
    let rate = documents.len() as f64 / start.elapsed().as_secs_f64();
    println!("write: {rate:.0} single upserts a second, slowest {slowest:?}");
    let bulk = documents.join(&b'\n');
    let start = Instant::now();
    sealed.upsert_many(&bulk).unwrap();
    println!("write: {:.0} upserts a second in bulk", documents.len() as f64 / start.elapsed().as_secs_f64());
    let mut at = (0..requests.len()).cycle();
    criterion.bench_function("live/search after the mix", |bencher| {
        bencher.iter(|| live.search(&requests[at.next().unwrap()]).unwrap().len());
    });
}

/// Measures the number of searches per second for several numbers of threads, with and without concurrent writes.
fn readers(_: &mut Criterion) {
    let requests = requests();
    let stored = case_count();
    let engine = engine(stored);
    let documents = writes(stored, if is_test() { 500 } else { 100_000 });
    let time = Duration::from_millis(if is_test() { 20 } else { 2_000 });
    let search = |first: usize, end: Instant| {
        let mut searches = 0_u32;
        let mut at = (0..requests.len()).cycle().skip(first);
        while Instant::now() < end {
            black_box(engine.search(&requests[at.next().unwrap()]).unwrap());
            searches += 1;
        }
        f64::from(searches)
    };
    let searches = |threads: usize| -> f64 {
        let end = Instant::now() + time;
        scope(|scope| {
            let all: Vec<_> = (0..threads).map(|first| scope.spawn(move || search(first, end))).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    };
    let cores = available_parallelism().map_or(1, usize::from);
    let one = searches(1);
    for threads in [cores, 4 * cores] {
        let ratio = searches(threads) / one;
        println!("readers: {threads} threads on {cores} cores search {ratio:.2} times as often as one");
    }
    for most in [1_000, 10_000, u32::MAX] {
        let is_done = AtomicBool::new(false);
        let start = Instant::now();
        let mut written = 0_u32;
        let beside = scope(|scope| {
            scope.spawn(|| {
                for document in documents.iter().cycle().take_while(|_| !is_done.load(Ordering::Relaxed)) {
                    while f64::from(written) > f64::from(most) * start.elapsed().as_secs_f64() {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                    engine.upsert(document).unwrap();
                    written += 1;
                }
            });
            let beside = searches(1);
            is_done.store(true, Ordering::Relaxed);
            beside
        });
        let (written, ratio) = (f64::from(written) / start.elapsed().as_secs_f64(), beside / one);
        println!(
            "readers: beside {written:.0} single upserts a second, one searches {ratio:.2} times as often"
        );
    }
}

criterion_group!(benches, mix, readers, write);
criterion_main!(benches);
