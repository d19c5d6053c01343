//! Measures counting the cases that a filter selects, by operator, type and selectivity.
//!
//! Before a filter is timed, its count is compared with the reference evaluator on 5,000 cases, and with the unoptimised filter on
//! all cases. The name of a benchmark contains the share of selected cases.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

mod shared;

use casefilter::{Engine, Filter, SearchRequest};
use serde_json::Value;
use shared::{Oracle, case_count, engine, filter};

/// The type, the operator and the text of a filter.
const FILTERS: &[(&str, &str, &str)] = &[
    ("string", "=", "priority = high"),
    ("string", "=", "caseReview.status = resolvedFalsePositive"),
    ("string", "=", "applicantInfo.country = DEU"),
    ("string", "=", "applicantReference.applicantId = nobody"),
    ("string", "<>", "priority <> high"),
    ("string", "$contains", "status in (open, awaitingUser, blocked)"),
    ("string", "$contains", "applicantInfo.country in (DEU, FRA, ESP, ITA, POL, NLD, BEL, AUT, PRT, GRC)"),
    ("strings", "=", "tags = crypto"),
    ("strings", "<>", "tags <> crypto"),
    ("strings", "$contains", "tags in (crypto, cash, pep, mixer, manual)"),
    ("strings", "$all", "tags all (cash, cross-border)"),
    ("string", "presence", "caseReview.assignee is absent"),
    ("strings", "presence", "tags is present"),
    ("number", "presence", "totalAmountInDefaultCurrency is absent and status = open"),
    ("string", "not", "not (priority = high or status in (open, blocked))"),
    ("strings", "not", "not tags all (cash, cross-border)"),
    // A field with few distinct strings, and a field with a different string in every case.
    ("string", "prefix", "blueprintReference.name starts with (Tr, Fr)"),
    ("string", "prefix", "applicantInfo.lastName starts with Ga"),
    ("string", "prefix", "applicantReference.fullName starts with (Ame, Mar)"),
    ("string", "substring", "caseReview.stage includes (lev, eye)"),
    ("string", "substring", "applicantInfo.lastName includes arc"),
    ("string", "substring", "applicantReference.fullName includes ar"),
    ("string", "substring", "id includes abc"),
    ("string", "match", "applicantInfo.lastName matches garcia"),
    ("string", "match", "applicantReference.fullName matches \"garcia maria\""),
    ("string", "match", "id matches \"1a 2b\""),
    ("number", "=", "review.attemptCnt = 1"),
    ("number", ">", "totalAmountInDefaultCurrency > 50000"),
    ("number", ">", "totalAmountInDefaultCurrency > 100"),
    ("number", "<=", "totalAmountInDefaultCurrency <= 10"),
    ("number", "range", "totalAmountInDefaultCurrency >= 100 and totalAmountInDefaultCurrency < 1000"),
    ("timestamp", ">=", "createdAt >= \"2025-12-01 00:00:00\""),
    ("timestamp", "<", "createdAt < \"2025-01-01 00:00:00\""),
    ("timestamp", "range", "createdAt >= \"2024-03-01 00:00:00\" and createdAt < \"2024-04-01 00:00:00\""),
    ("timestamp", "range", "updatedAt >= \"2024-03-01 12:00:00\" and updatedAt < \"2024-03-01 13:00:00\""),
    ("timestamp", ">", "applicantInfo.dob > \"2000-01-01 00:00:00\""),
    ("booleans", "=", "caseReview.checklistState.checklist.checked = \"true\""),
    ("booleans", "<>", "caseReview.checklistState.checklist.checked <> \"true\""),
    // Indexes and postings find the cases that can have such an item.
    (
        "elements",
        "has",
        "caseReview.checklistState.checklist has (name = \"SAR considered\" and checked = true)",
    ),
    (
        "elements",
        "has",
        "not caseReview.checklistState.checklist has (name = \"SAR considered\" and checked = false)",
    ),
    (
        "elements",
        "has",
        "caseReview.checklistState.checklist has (name = \"SAR considered\" and not checked = true) and tags = crypto",
    ),
    ("elements", "has", "caseReview.checklistState.checklist has (name = nothing and checked = true)"),
    ("tree", "and", "status = open and priority = high and createdAt >= \"2025-01-01 00:00:00\""),
    ("tree", "or", "tags = crypto or totalAmountInDefaultCurrency > 50000 or applicantInfo.country = DEU"),
    (
        "tree",
        "nested",
        "(status in (open, blocked) or totalAmountInDefaultCurrency >= 10000 and tags <> cash) and \
         (createdAt >= \"2024-01-01 00:00:00\" or priority = low and (tags in (crypto, mixer) or createdByType = byRule)) \
         and applicantInfo.country <> DEU",
    ),
];

/// Returns filters that select existing cases by keys: for each filter the type, the operator, the benchmark name and the
/// filter itself.
fn by_keys(engine: &Engine) -> Vec<(&'static str, &'static str, String, Filter)> {
    let all = SearchRequest::new(Filter::all(engine.catalog()));
    // Cases from all parts of the sample, and their applicants.
    let mut ids = Vec::new();
    let mut applicants = Vec::new();
    for place in 0..1_000 {
        let offset = place * engine.len() as u64 / 1_000;
        let answer = engine.search(&all.clone().with_offset(offset).with_limit(1)).unwrap();
        let case: Value = serde_json::from_str(answer.documents().next().unwrap()).unwrap();
        ids.extend(answer.ids().map(str::to_owned));
        applicants.extend(case["applicantReference"]["applicantId"].as_str().map(str::to_owned));
    }
    for keys in [&mut ids, &mut applicants] {
        keys.sort_unstable();
        keys.dedup();
    }
    let one = format!("applicantReference.applicantId = {}", quoted(&applicants[..1]));
    let some = format!("applicantReference.applicantId in ({})", quoted(&applicants));
    let either =
        format!("id in ({}) or status = open and updatedAt > \"2025-11-01 00:00:00\"", quoted(&ids[..100]));
    let bare_ids = format!("id in ({})", quoted(&ids));
    vec![
        ("key", "=", "one applicant".to_owned(), filter(&one)),
        ("key", "$contains", format!("{} applicants", applicants.len()), filter(&some)),
        ("key", "$contains", format!("{} ids", ids.len()), filter(&bare_ids)),
        ("tree", "or", "100 ids or status and updatedAt".to_owned(), filter(&either)),
    ]
}

/// Returns strings as a list in the text syntax.
fn quoted(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
    quoted.join(", ")
}

fn evaluate(criterion: &mut Criterion) {
    let oracle = Oracle::new();
    let engine = engine(case_count());
    let mut group = criterion.benchmark_group("evaluate");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(30);
    group.throughput(Throughput::Elements(case_count()));
    let written =
        FILTERS.iter().map(|(kind, operator, text)| (*kind, *operator, (*text).to_owned(), filter(text)));
    let by_keys = by_keys(&engine);
    assert!(by_keys.iter().all(|(.., filter)| engine.count(filter).unwrap() > 0), "a key without cases");
    for (kind, operator, title, filter) in written.chain(by_keys) {
        oracle.check(&SearchRequest::new(filter.clone()));
        let count = engine.count(&filter).unwrap();
        assert_eq!(count, engine.count(&filter.unoptimized()).unwrap(), "{title}");
        let share = 100.0 * count as f64 / engine.len() as f64;
        let name = BenchmarkId::new(format!("{kind} {operator}"), format!("{share:.3}% {title}"));
        group.bench_with_input(name, &filter, |bencher, filter| {
            bencher.iter(|| assert_eq!(engine.count(black_box(filter)).unwrap(), count));
        });
    }
}

criterion_group!(benches, evaluate);
criterion_main!(benches);
