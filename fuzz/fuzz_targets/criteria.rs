//! Parses any bytes as a request body and as a text filter. If a filter compiles, printing and compiling it again must give the
//! same filter. An error must have a position. The fast path must accept a body exactly if the strict parser finds no error in the
//! body, and both must return the same tree.

#![no_main]

use casefilter::{Catalog, Engine, Errors, Filter, FilterBuilder, Limits, reference};
use libfuzzer_sys::fuzz_target;

const DOCUMENTS: [&str; 6] = [
    r#"{"id":"a"}"#,
    r#"{"id":"b","tags":["vip","cash",""],"priority":"high","totalAmountInDefaultCurrency":12.5,"createdAt":"2024-01-01 00:00:00"}"#,
    r#"{"id":"c","caseReview":{"status":"open","checklistState":{"checklist":[{"name":"EDD done","checked":true},{"checked":false}]}}}"#,
    r#"{"id":"d","applicantInfo":{"dob":"-1","country":"DEU","applicantTags":["a","b"]},"createdAt":"9999-12-31 23:59:59-1800"}"#,
    r#"{"id":"e","createdByType":"byRule","createdByRule":{"revision":-0.0,"id":"x"},"amlCases":[{"amlCaseId":"1"},{"amlCaseId":"2"}]}"#,
    "{\"id\":\"f\",\"name\":\"LÓPEZ-GARCI\u{301}A, Ana \u{fdfa}\u{378}\",\"tags\":[\"Straße\",\"\u{301}\u{301}\",\"vip\"]}",
];

fuzz_target!(|bytes: &[u8]| {
    let catalog = Catalog::cases();
    let strict = Filter::compile(&catalog, bytes);
    let extended = Filter::compile(&catalog.extended(), bytes);
    if let (Ok(strict), Ok(extended)) = (&strict, &extended) {
        assert!(strict == extended, "an extended catalogue changes the meaning of a strict body");
    }
    assert!(strict.is_err() || extended.is_ok());
    check_facets(&catalog, bytes);
    check(&catalog, bytes, strict);
    check(&catalog, bytes, extended);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let tight =
            Limits::default().with_depth(2).with_criteria(3).with_values(3).with_ids(1).with_string_bytes(6);
        for limits in [Limits::default(), tight] {
            if let Err(difference) = casefilter::internal::check_parsers(text, &limits) {
                panic!("{text}\n{difference}");
            }
        }
        check(&catalog, bytes, Filter::compile_text(&catalog, text));
    }
});

fn check(catalog: &Catalog, input: &[u8], compiled: Result<Filter, Errors>) {
    match compiled {
        Ok(filter) => check_filter(catalog, &filter),
        Err(errors) => check_errors(input, &errors),
    }
}

fn check_filter(catalog: &Catalog, filter: &Filter) {
    let json = filter.to_json();
    let text = filter.to_text();
    let from_json = Filter::compile(&catalog.extended(), json.as_bytes())
        .unwrap_or_else(|fault| panic!("{json}\n{fault}"));
    let from_text = Filter::compile_text(catalog, &text).unwrap_or_else(|fault| panic!("{text}\n{fault}"));
    for again in [&from_json, &from_text] {
        assert!(again == filter, "{json}\n{again:?}");
        assert_eq!(again.to_json(), json);
        assert_eq!(again.to_text(), text);
    }
    assert!(!filter.plan().is_empty());
    assert!(filter.warnings().len() <= 100);
    let plain = filter.unoptimized();
    for document in DOCUMENTS {
        let matches = filter.matches(document.as_bytes());
        assert!(matches.is_ok());
        assert_eq!(matches, plain.matches(document.as_bytes()), "{document}\n{text}");
        assert_eq!(matches, casefilter::reference::matches(filter, document), "{document}\n{text}");
        let others = filter.negated().matches(document.as_bytes());
        assert_eq!(others, matches.map(|selected| !selected), "{document}\n{text}");
    }
}

fn check_errors(input: &[u8], errors: &Errors) {
    let errors_in_order = errors.as_slice();
    assert!((1..=10).contains(&errors_in_order.len()));
    assert!(errors_in_order.iter().all(|error| error.offset <= input.len()), "{errors:?}");
    assert!(errors_in_order.is_sorted_by_key(|error| error.offset), "{errors:?}");
    assert!(errors.message().starts_with("Invalid parameters: "));
    // Errors contain only the beginning of long input, so they need little more memory than the input.
    assert!(errors.message().len() < 20_000 + 4 * input.len());
    assert!(serde_json::to_string(errors).is_ok());
}

/// Parses the bytes as a body with facets. The answer to a valid body must be that of the reference evaluator.
fn check_facets(catalog: &Catalog, bytes: &[u8]) {
    match FilterBuilder::new(catalog).facets(bytes) {
        Ok(request) => {
            let engine = Engine::new(catalog.clone());
            engine.upsert_many(DOCUMENTS.join("\n").as_bytes()).unwrap();
            match (engine.facets(&request), reference::facets(&DOCUMENTS, &request)) {
                (Ok(own), Ok(expected)) => assert_eq!(own.total, expected.total),
                (Err(own), Err(expected)) => assert_eq!(own.kind, expected.kind),
                (own, expected) => panic!("{own:?}, expected {expected:?}"),
            }
        }
        Err(errors) => {
            let offsets: Vec<usize> = errors.iter().map(|error| error.offset).collect();
            assert!(offsets.is_sorted() && (1..=10).contains(&offsets.len()), "{errors}");
            assert!(offsets.iter().all(|offset| *offset <= bytes.len()), "{errors}");
        }
    }
}
