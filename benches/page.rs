//! Measures complete searches, with filter, order and page, up to the bytes of the answer.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

mod shared;

use casefilter::{Order, SearchRequest, sample};
use shared::{Oracle, case_count, engine, filter};

const FILTERS: &[(&str, &str)] = &[
    ("all", "true"),
    ("half", "createdAt >= \"2024-07-01 00:00:00\""),
    ("few", "status = open and priority = high and createdAt >= \"2025-06-01 00:00:00\""),
];
const ORDERS: &[&str] =
    &["", "createdAt", "-createdAt", "-totalAmountInDefaultCurrency", "priority", "applicantInfo.lastName"];
const OFFSETS: &[u64] = &[0, 10_000];

fn page(criterion: &mut Criterion) {
    let oracle = Oracle::new();
    let engine = engine(case_count());
    let mut group = criterion.benchmark_group("page");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(30);
    for (share, text) in FILTERS {
        for order in ORDERS {
            for offset in OFFSETS {
                let parsed = Order::parse(engine.catalog(), order).unwrap();
                let request = SearchRequest::new(filter(text)).with_order(parsed).with_offset(*offset);
                // The sample may be smaller than the larger offset.
                oracle.check(&request.clone().with_offset(offset / 100));
                let total = engine.count(&request.filter).unwrap();
                let length = total.saturating_sub(*offset).min(request.limit) as usize;
                let counted = engine.search(&request.clone().with_count(true)).unwrap();
                assert_eq!(counted.total(), Some(total), "{text}");
                let ids: Vec<String> = counted.ids().map(str::to_owned).collect();
                assert!(engine.search(&request).unwrap().ids().eq(&ids), "{text}: counting changes the page");
                assert_eq!(ids.len(), length, "{text}");

                let order = if order.is_empty() { "stored" } else { order };
                let name = BenchmarkId::new(format!("{share} by {order}"), format!("from {offset}"));
                let mut out = Vec::new();
                group.bench_with_input(name, &request, |bencher, request| {
                    bencher.iter(|| {
                        out.clear();
                        engine.search(black_box(request)).unwrap().write_json(&mut out).unwrap();
                        out.len()
                    });
                });
            }
        }
    }
}

/// Measures large offsets and first pages over overlapping batches. After thousands of single writes, the batches overlap in every
/// timestamp field.
fn overlapping(criterion: &mut Criterion) {
    let engine = engine(case_count());
    let count = if case_count() < 10_000 { 200 } else { 5_000 };
    for document in sample::Cases::new(count, shared::SEED + 1).map(|case| case.to_vec()) {
        engine.upsert(&document).unwrap();
    }
    let mut group = criterion.benchmark_group("page");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(30);
    for (name, order, offset) in [
        ("after single writes/from 9900", "-createdAt", 9_900),
        ("after single writes/from 0", "-createdAt", 0),
        ("overlapping batches/from 1000", "-totalAmountInDefaultCurrency", 1_000),
    ] {
        let order = Order::parse(engine.catalog(), order).unwrap();
        let request = SearchRequest::new(filter("status <> open")).with_order(order).with_offset(offset);
        let sought = engine.search(&request).unwrap();
        // The expected page: a part of a longer page that starts at the first case.
        let whole = request.clone().with_offset(0).with_limit(offset + request.limit);
        let whole = engine.search(&whole).unwrap();
        assert!(sought.ids().eq(whole.ids().skip(offset as usize)), "{name}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| engine.search(black_box(&request)).unwrap().len());
        });
    }
}

/// Measures orders by several fields, and a page after a cursor in the middle of the list, beside the first page.
fn several_fields(criterion: &mut Criterion) {
    let oracle = Oracle::new();
    let engine = engine(case_count());
    let mut group = criterion.benchmark_group("page");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(30);
    for (name, order) in [
        ("two fields/priority, newest", "priority,-createdAt"),
        ("two fields/newest, priority", "-createdAt,priority"),
        (
            "three fields/assignee, priority, amount",
            "caseReview.assignee,priority,-totalAmountInDefaultCurrency",
        ),
    ] {
        for text in ["true", "status = open"] {
            let order = Order::parse_list(engine.catalog(), order).unwrap();
            let request = SearchRequest::new(filter(text)).with_order(order);
            oracle.check(&request);
            group.bench_function(format!("{name}, {text}"), |bencher| {
                bencher.iter(|| engine.search(black_box(&request)).unwrap().len());
            });
        }
    }
    // Most cases of the fourth list have no amount, so ids alone order its second half.
    for (name, text) in [
        ("-createdAt", "status <> open"),
        ("priority,-createdAt", "status <> open"),
        ("-totalAmountInDefaultCurrency", "status <> open"),
        (
            "-totalAmountInDefaultCurrency",
            "totalAmountInDefaultCurrency is absent or totalAmountInDefaultCurrency > 100000",
        ),
        ("-status", "priority <> high"),
    ] {
        let order = Order::parse_list(engine.catalog(), name).unwrap();
        let first = SearchRequest::new(filter(text)).with_order(order).with_cursor(true);
        let middle = engine.count(&first.filter).unwrap() / 2;
        let before = first.clone().with_offset(middle - 1).with_limit(1);
        let after = engine.search(&before).unwrap().next().cloned();
        let behind = first.clone().with_after(after);
        let expected = engine.search(&first.clone().with_offset(middle)).unwrap();
        assert!(engine.search(&behind).unwrap().ids().eq(expected.ids()), "{name}, {text}");
        for (place, request) in [("first page", &first), ("behind the middle", &behind)] {
            group.bench_function(format!("cursor/{name}, {text}, {place}"), |bencher| {
                bencher.iter(|| engine.search(black_box(request)).unwrap().len());
            });
        }
    }
}

criterion_group!(benches, page, overlapping, several_fields);
criterion_main!(benches);
