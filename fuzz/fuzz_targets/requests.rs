//! Parses any bytes as the body of a request for counts by value, as a facet, as an order and as a cursor. The engine and the
//! reference evaluator must give the same counts and the same pages. An error must have a position. What is parsed must be printed
//! as text that has the same meaning.

#![no_main]

use casefilter::{
    Catalog, Cursor, Engine, Errors, Facet, FacetSum, FacetsAnswer, FacetsRequest, Filter, FilterBuilder,
    Order, SearchRequest, reference,
};
use libfuzzer_sys::fuzz_target;

const DOCUMENTS: [&str; 6] = [
    r#"{"id":"a"}"#,
    r#"{"id":"b","tags":["vip","cash",""],"priority":"high","totalAmountInDefaultCurrency":12.5,"createdAt":"2024-01-01 00:00:00"}"#,
    r#"{"id":"c","caseReview":{"status":"open","checklistState":{"checklist":[{"name":"x","checked":true},{"checked":false}]}}}"#,
    r#"{"id":"d","applicantInfo":{"dob":"-1","country":"DEU","applicantTags":["a","b"]},"createdAt":"9999-12-31 23:59:59-1800"}"#,
    r#"{"id":"e","createdByType":"byRule","totalAmountInDefaultCurrency":-1e300,"createdAt":"2024-02-29 12:00:00"}"#,
    r#"{"id":"f","name":"x","tags":["cash"],"totalAmountInDefaultCurrency":1e300,"priority":"low","caseReview":{"status":"open"}}"#,
];

fuzz_target!(|bytes: &[u8]| {
    let catalog = Catalog::cases().extended();
    match FilterBuilder::new(&catalog).facets(bytes) {
        Ok(request) => compare_counts(&request),
        Err(errors) => check_errors(&errors, bytes),
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(facet) = Facet::parse(&catalog, text) {
        compare_counts(&FacetsRequest::new(Filter::all(&catalog)).with_facet(facet));
    }
    let order = match Order::parse_list(&catalog, text) {
        Ok(order) => order,
        Err(error) => return assert!(error.offset <= bytes.len(), "{error}"),
    };
    if let Some(order) = &order {
        assert_eq!(Order::parse_list(&catalog, &order.to_string()).unwrap().as_ref(), Some(order));
    }
    let request = SearchRequest::new(Filter::all(&catalog)).with_order(order).with_limit(2);
    compare_pages(&request.with_cursor(true));
    if let Ok(cursor) = text.parse::<Cursor>() {
        assert_eq!(cursor.to_string(), text);
        let request = SearchRequest::new(Filter::all(&catalog)).with_after(cursor);
        // The cursor may belong to an order by other fields.
        if let Ok(page) = engine().search(&request) {
            assert!(page.len() <= DOCUMENTS.len());
        }
    }
});

fn engine() -> Engine {
    let engine = Engine::builder(Catalog::cases().extended()).batch_rows(2).build();
    let cases: Vec<String> = DOCUMENTS.iter().map(|document| (*document).to_owned()).collect();
    engine.upsert_many(format!("[{}]", cases.join(",")).as_bytes()).unwrap();
    engine
}

fn compare_counts(request: &FacetsRequest) {
    let found = engine().facets(request);
    let expected = reference::facets(&DOCUMENTS, request);
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert!(is_same(&found, &expected), "{found:?}, {expected:?}"),
        (found, expected) => assert_eq!(
            found.map_err(|error| error.kind).map(|_| ()),
            expected.map_err(|error| error.kind).map(|_| ())
        ),
    }
}

/// Compares two answers. A sum of doubles may differ in its last digits.
fn is_same(found: &FacetsAnswer, expected: &FacetsAnswer) -> bool {
    use casefilter::FacetCounts::Stats;
    let is_near = |one: Option<FacetSum>, other: Option<FacetSum>| match (one, other) {
        (Some(FacetSum::Number(one)), Some(FacetSum::Number(other))) => {
            (one.get() - other.get()).abs() <= 1e-9 * one.get().abs().max(1e-300)
        }
        (one, other) => one == other,
    };
    found.total == expected.total
        && found.facets.len() == expected.facets.len()
        && found.facets.iter().zip(&expected.facets).all(|(found, expected)| {
            match (&found.counts, &expected.counts) {
                (Stats(one), Stats(other)) => {
                    (one.count, &one.min, &one.max) == (other.count, &other.min, &other.max)
                        && is_near(one.sum, other.sum)
                        && found.absent == expected.absent
                }
                _ => found == expected,
            }
        })
}

/// Reads all pages by cursors, and compares them with those of the reference evaluator.
fn compare_pages(request: &SearchRequest) {
    let engine = engine();
    let mut request = request.clone();
    let mut seen = 0;
    loop {
        let page = engine.search(&request).unwrap();
        let (expected, _) = reference::search(&DOCUMENTS, &request).unwrap();
        assert!(page.documents().eq(expected.iter().map(|at| DOCUMENTS[*at])));
        seen += page.len();
        match page.next() {
            Some(next) => request = request.with_after(next.to_string().parse::<Cursor>().unwrap()),
            None => break,
        }
    }
    assert_eq!(seen, DOCUMENTS.len());
}

fn check_errors(errors: &Errors, bytes: &[u8]) {
    let offsets: Vec<usize> = errors.iter().map(|error| error.offset).collect();
    assert!(offsets.is_sorted() && (1..=10).contains(&offsets.len()), "{errors}");
    assert!(offsets.iter().all(|offset| *offset <= bytes.len()), "{errors}");
    assert!(errors.to_string().len() < 20_000, "{errors}");
}
