//! Runs the conformance vectors of `tests/data` on the library. It must return the expected ids, in order, the expected totals
//! and the expected errors.

use std::fs;
use std::path::{Path, PathBuf};

use casefilter::{Catalog, Engine, FilterBuilder, ImportMode, SearchParams, SearchRequest, reference};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Returns a parameter of a request as the text of a query string.
fn param(request: &Value, name: &str) -> Option<String> {
    match &request[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn request(catalog: &Catalog, line: &Value) -> Result<SearchRequest, casefilter::Errors> {
    let body = match &line["body"] {
        Value::String(raw) => raw.clone(),
        body => body.to_string(),
    };
    let [order, offset, limit, count] =
        ["order", "offset", "limit", "countTotalItems"].map(|name| param(line, name));
    let params = SearchParams::new()
        .order(order.as_deref())
        .offset(offset.as_deref())
        .limit(limit.as_deref())
        .count(count.as_deref());
    FilterBuilder::new(catalog).request(body.as_bytes(), &params)
}

fn check(name: &str, wanted_requests: usize) {
    let catalog = Catalog::cases();
    let cases = fs::read_to_string(data(&format!("{name}.cases.ndjson"))).unwrap();
    let documents: Vec<&str> = cases.lines().collect();
    let engine = Engine::new(catalog.clone());
    let mut import = engine.import(ImportMode::Strict);
    import.begin_source(name).unwrap();
    for piece in cases.as_bytes().chunks(1000) {
        import.push(piece).unwrap();
    }
    import.commit().unwrap();
    engine.validate().unwrap();
    assert_eq!(engine.len(), documents.len());

    let requests = fs::read_to_string(data(&format!("{name}.requests.ndjson"))).unwrap();
    let mut seen = 0;
    for (number, line) in requests.lines().enumerate() {
        let note = || format!("{name}, line {}: {line}", number + 1);
        let line: Value = serde_json::from_str(line).unwrap();
        let expect = &line["expect"];
        seen += 1;
        let request = match request(&catalog, &line["request"]) {
            Ok(request) => request,
            Err(errors) => {
                assert_eq!(expect["error"], true, "{errors}\n{}", note());
                assert!(errors.description().starts_with("Invalid parameters: "), "{}", note());
                continue;
            }
        };
        assert_ne!(expect["error"], true, "no error: {}", note());
        let answer = engine.search(&request).unwrap();
        let ids: Vec<&str> = answer.ids().collect();
        assert_eq!(Value::from(ids.clone()), expect["ids"], "{}", note());
        assert_eq!(answer.total(), expect["totalItems"].as_u64(), "{}", note());

        let (page, total) = reference::search(&documents, &request).unwrap();
        assert_eq!(
            answer.documents().collect::<Vec<_>>(),
            page.iter().map(|at| documents[*at]).collect::<Vec<_>>()
        );
        assert_eq!(total, engine.count(&request.filter).unwrap(), "{}", note());
    }
    assert_eq!(seen, wanted_requests);
}

#[test]
fn the_plain_vectors_pass() {
    check("plain", 250);
}

#[test]
fn the_weird_vectors_pass() {
    check("weird", 414);
}
