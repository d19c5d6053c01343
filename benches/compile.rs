//! Measures compiling request bodies to filters, compared with parsing the same bytes to `serde_json::Value`.
//!
//! The public API has no call that only parses a body. The bodies in `refused` show the cost of an error: their last value is not a
//! timestamp. They are parsed and resolved completely. Instead of being normalised, they are then parsed a second time to find the
//! path of the error.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use casefilter::{Catalog, Filter, FilterBuilder, FilterCache};

/// Returns a body of about `size` bytes: conjunctions of ranges, sets and disjunctions.
fn body(size: usize, last_timestamp: &str) -> String {
    let mut criteria = Vec::new();
    let mut length = 0;
    while length < size.saturating_sub(400) {
        let i = criteria.len();
        let criterion = format!(
            r#"{{"op":"$or","children":[{{"field":"caseReview.status","op":"$contains","values":["open","blocked","s{i}"]}},{{"op":"$and","children":[{{"field":"totalAmountInDefaultCurrency","op":">=","values":["{i}.25"]}},{{"field":"tags","op":"$all","values":["tag{i}","cash"]}}]}}]}}"#
        );
        length += criterion.len() + 1;
        criteria.push(criterion);
    }
    criteria.push(r#"{"field":"priority","op":"$contains","values":["high","medium"]}"#.to_owned());
    criteria.push(r#"{"field":"applicantInfo.country","op":"<>","values":["DEU"]}"#.to_owned());
    criteria.push(format!(r#"{{"field":"createdAt","op":">=","values":["{last_timestamp}"]}}"#));
    format!(r#"{{"criteria":[{}]}}"#, criteria.join(","))
}

fn compile(criterion: &mut Criterion) {
    let catalog = Catalog::cases();
    let mut group = criterion.benchmark_group("compile");
    for (name, size) in [("0.5 KB", 500), ("5 KB", 5_000), ("50 KB", 50_000)] {
        let sound = body(size, "2024-01-01 00:00:00+0200");
        let refused = body(size, "2024-01-32 00:00:00+0200");
        let filter = Filter::compile(&catalog, sound.as_bytes()).unwrap();
        assert_eq!(Filter::compile(&catalog, filter.to_json().as_bytes()).unwrap(), filter);
        assert_eq!(filter.matches(br#"{"id":"a","createdAt":"2023-01-01 00:00:00"}"#), Ok(false));
        let errors = Filter::compile(&catalog, refused.as_bytes()).unwrap_err();
        assert_eq!(errors.as_slice().len(), 1, "{errors}");

        let cache = FilterCache::new(FilterBuilder::new(&catalog), 16 << 20);
        assert_eq!(cache.compile(sound.as_bytes()).unwrap(), filter);
        assert_eq!(cache.compile(sound.as_bytes()).unwrap(), filter);
        assert_eq!((cache.stats().hits, cache.stats().misses), (1, 1));

        group.throughput(Throughput::Bytes(sound.len() as u64));
        group.bench_with_input(BenchmarkId::new("compile", name), &sound, |bencher, body| {
            bencher.iter(|| Filter::compile(&catalog, black_box(body.as_bytes())).is_ok());
        });
        group.bench_with_input(
            BenchmarkId::new("repeated, from the cache", name),
            &sound,
            |bencher, body| {
                bencher.iter(|| cache.compile(black_box(body.as_bytes())).is_ok());
            },
        );
        group.bench_with_input(BenchmarkId::new("refused", name), &refused, |bencher, body| {
            bencher.iter(|| Filter::compile(&catalog, black_box(body.as_bytes())).is_err());
        });
        group.bench_with_input(BenchmarkId::new("text", name), &filter.to_text(), |bencher, text| {
            bencher.iter(|| Filter::compile_text(&catalog, black_box(text)).is_ok());
        });
        group.bench_with_input(
            BenchmarkId::new("yardstick: serde_json::Value", name),
            &sound,
            |bencher, body| {
                bencher
                    .iter(|| serde_json::from_slice::<serde_json::Value>(black_box(body.as_bytes())).is_ok());
            },
        );
    }
}

criterion_group!(benches, compile);
criterion_main!(benches);
