//! Measures counts by value: one facet for each strategy, a dashboard of ten facets, and the page beside it.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

mod shared;

use casefilter::{Facet, FacetCounts, FacetStrategy, FacetsRequest, SearchRequest, reference};
use shared::{Oracle, case_count, engine, filter};

/// The lines: the name, the filter, the facets, and the strategy that most batches of the first facet use.
const LINES: &[(&str, &str, &[&str], FacetStrategy)] = &[
    ("values/all", "true", &["status"], FacetStrategy::Index),
    ("values/all of a list", "true", &["tags"], FacetStrategy::Lengths),
    ("values/few of a filter", "status = open", &["priority"], FacetStrategy::Postings),
    ("values/many of a filter", "status = blocked", &["caseReview.assignee"], FacetStrategy::Codes),
    ("values/list of a filter", "priority = high", &["tags:limit=300"], FacetStrategy::Codes),
    ("histogram/month of all", "true", &["createdAt:month"], FacetStrategy::SortedRows),
    (
        "histogram/day of a filter",
        "status in (open, blocked) and createdAt >= '2025-01-01 00:00:00' and createdAt < '2025-01-31 00:00:00'",
        &["createdAt:day"],
        FacetStrategy::SortedRows,
    ),
    ("stats/filter", "status = open", &["totalAmountInDefaultCurrency:stats"], FacetStrategy::Values),
    (
        "dashboard/ten",
        "status = open",
        &[
            "status",
            "priority",
            "createdByType",
            "caseReview.stage",
            "caseReview.assignee",
            "applicantInfo.country",
            "tags",
            "createdAt:month",
            "updatedAt:month",
            "blueprintReference.name",
        ],
        FacetStrategy::Postings,
    ),
];

/// Above this number of cases, there are full batches. Then each of [`LINES`] must use its strategy.
const FULL_BATCHES: u64 = 500_000;

/// Checks a request for counts by value against the reference evaluator.
fn check(oracle: &Oracle, request: &FacetsRequest) {
    let documents: Vec<&str> = oracle.documents.iter().map(String::as_str).collect();
    let expected = reference::facets(&documents, request).unwrap();
    let answer = oracle.engine.facets(request).unwrap();
    assert_eq!(answer.total, expected.total);
    assert_eq!(answer.facets.len(), expected.facets.len());
    for (own, other) in answer.facets.iter().zip(&expected.facets) {
        assert_eq!((own.total, own.absent), (other.total, other.absent), "{}", own.field);
        assert!(matches!(own.counts, FacetCounts::Stats(_)) || own.counts == other.counts, "{}", own.field);
    }
}

fn facets(criterion: &mut Criterion) {
    let engine = engine(case_count());
    let oracle = Oracle::new();
    let mut group = criterion.benchmark_group("facets");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(30);
    for (name, text, facets, strategy) in LINES {
        let facets = facets.iter().map(|text| Facet::parse(engine.catalog(), text).unwrap());
        let request = FacetsRequest::new(filter(text)).with_facets(facets);
        check(&oracle, &request);
        let answered = &engine.explain_facets(&request).unwrap()[0].answered;
        // With few cases, another strategy may count them.
        if case_count() > FULL_BATCHES {
            assert!(answered.iter().any(|(own, _)| own == strategy), "{name}: {answered:?}");
        }
        group.bench_function(*name, |bencher| {
            bencher.iter(|| engine.facets(black_box(&request)).unwrap().total);
        });
    }
    let search = SearchRequest::new(filter("status = open")).with_limit(100);
    oracle.check(&search);
    let request = FacetsRequest::new(filter("status = open"))
        .with_facets(LINES[8].2.iter().map(|text| Facet::parse(engine.catalog(), text).unwrap()));
    group.bench_function("dashboard/ten beside a page", |bencher| {
        bencher.iter(|| engine.search_with_facets(black_box(&search), &request).unwrap().1.total);
    });
}

criterion_group!(benches, facets);
criterion_main!(benches);
