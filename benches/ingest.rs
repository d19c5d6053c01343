//! Measures importing NDJSON in bytes per second, compared with parsing the same lines to `serde_json::Value`. With the feature
//! `arrow`, also measures importing a Parquet file of the same cases, in cases per second.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[expect(dead_code, reason = "this bench fills its engines itself")]
mod shared;

use casefilter::{Catalog, Engine, ImportMode};
use shared::{is_test, ndjson};

fn new_engine(catalog: Catalog, keep_documents: bool) -> Engine {
    let builder = Engine::builder(catalog);
    if keep_documents { builder.build() } else { builder.without_documents().build() }
}

fn ingest(criterion: &mut Criterion) {
    let count = if is_test() { 2_000 } else { 100_000 };
    let text = ndjson(count);
    let import = |keep_documents: bool| {
        let engine = new_engine(Catalog::cases(), keep_documents);
        let mut import = engine.import(ImportMode::Strict);
        import.begin_source("sample").unwrap();
        for piece in text.chunks(1 << 16) {
            import.push(piece).unwrap();
        }
        let report = import.commit().unwrap();
        assert_eq!((report.stored, report.replaced, report.skipped), (count, 0, 0));
        engine
    };
    import(true).validate().unwrap();

    let mut group = criterion.benchmark_group("ingest");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(10);
    group.bench_function("engine", |bencher| bencher.iter(|| import(true).len()));
    group.bench_function("engine without documents", |bencher| bencher.iter(|| import(false).len()));
    group.bench_function("yardstick: serde_json::Value", |bencher| {
        bencher.iter(|| {
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let parsed =
                lines.map(|line| serde_json::from_slice::<serde_json::Value>(black_box(line)).unwrap());
            assert_eq!(parsed.map(|value| u64::from(value.is_object())).sum::<u64>(), count);
        });
    });
}

/// Imports cases of a Parquet file, and rebuilds their documents from its columns.
#[cfg(feature = "arrow")]
fn parquet(criterion: &mut Criterion) {
    let count = if is_test() { 2_000 } else { 100_000 };
    let catalog = Catalog::cases();
    let mut writer = casefilter::arrow::ParquetWriter::new(Vec::new(), &catalog, None).unwrap();
    for case in casefilter::sample::Cases::new(count, shared::SEED) {
        writer.push(std::str::from_utf8(&case).unwrap()).unwrap();
    }
    let file = bytes::Bytes::from(writer.finish().unwrap());
    let import = |keep_documents: bool| {
        let engine = new_engine(catalog.clone(), keep_documents);
        let mut import = engine.import(ImportMode::Strict);
        import.parquet("sample", file.clone()).unwrap();
        let report = import.commit().unwrap();
        assert_eq!((report.stored, report.replaced, report.skipped), (count, 0, 0));
        engine
    };
    import(true).validate().unwrap();

    let mut group = criterion.benchmark_group("parquet");
    group.throughput(Throughput::Elements(count)).sample_size(10);
    group.bench_function("engine", |bencher| bencher.iter(|| import(true).len()));
    group.bench_function("engine without documents", |bencher| bencher.iter(|| import(false).len()));
}

#[cfg(feature = "arrow")]
criterion_group!(benches, ingest, parquet);
#[cfg(not(feature = "arrow"))]
criterion_group!(benches, ingest);
criterion_main!(benches);
