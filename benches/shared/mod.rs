//! Code that all benches share: it creates the sample cases, and checks each answer before the bench times it.

use casefilter::{Catalog, Engine, Filter, ImportMode, SearchRequest, reference, sample};

/// The seed of the sample cases of all benches.
pub(crate) const SEED: u64 = 42;

/// The number of cases on which answers are checked against the reference evaluator.
const CHECKED_CASES: u64 = 5_000;

/// Returns true if every bench runs only once: `cargo bench -- --test`.
pub(crate) fn is_test() -> bool {
    std::env::args().any(|argument| argument == "--test")
}

/// Returns the number of cases: a million, 20,000 in test mode, or `CASEFILTER_BENCH_CASES`.
pub(crate) fn case_count() -> u64 {
    let wanted = std::env::var("CASEFILTER_BENCH_CASES").ok().and_then(|text| text.parse().ok());
    wanted.unwrap_or(if is_test() { 20_000 } else { 1_000_000 })
}

/// Returns sample cases, one per line.
pub(crate) fn ndjson(count: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for case in sample::Cases::new(count, SEED) {
        text.extend_from_slice(&case);
        text.push(b'\n');
    }
    text
}

/// Creates an engine with this number of sample cases.
pub(crate) fn engine(count: u64) -> Engine {
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(ImportMode::Strict);
    import.begin_source("sample").unwrap();
    let mut cases = sample::Cases::new(count, SEED);
    let mut line = Vec::new();
    while cases.write_next(&mut line) {
        line.push(b'\n');
        import.push(&line).unwrap();
        line.clear();
    }
    let report = import.commit().unwrap();
    assert_eq!(report.stored, count);
    engine
}

/// A check of answers against the reference evaluator, on fewer cases.
pub(crate) struct Oracle {
    pub(crate) engine: Engine,
    pub(crate) documents: Vec<String>,
}

impl Oracle {
    pub(crate) fn new() -> Self {
        let text = String::from_utf8(ndjson(CHECKED_CASES)).unwrap();
        Self { engine: engine(CHECKED_CASES), documents: text.lines().map(str::to_owned).collect() }
    }

    /// Checks a request, and returns the share of cases that it selects.
    pub(crate) fn check(&self, request: &SearchRequest) -> f64 {
        let documents: Vec<&str> = self.documents.iter().map(String::as_str).collect();
        let (page, total) = reference::search(&documents, request).unwrap();
        let answer = self.engine.search(request).unwrap();
        let wanted: Vec<&str> = page.iter().map(|at| documents[*at]).collect();
        assert_eq!(answer.documents().collect::<Vec<_>>(), wanted, "{}", request.filter);
        assert_eq!(self.engine.count(&request.filter).unwrap(), total, "{}", request.filter);
        total as f64 / CHECKED_CASES as f64
    }
}

/// Compiles a filter in the text syntax.
pub(crate) fn filter(text: &str) -> Filter {
    Filter::compile_text(&Catalog::cases(), text).unwrap_or_else(|errors| panic!("{text}: {errors}"))
}
