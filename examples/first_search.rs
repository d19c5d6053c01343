//! A first search: cases go in as JSON, and a request body selects some of them.
//!
//! ```sh
//! cargo run --example first_search
//! ```

use casefilter::{Catalog, Engine, FilterBuilder, SearchParams, reference};

/// Four cases, one JSON document per line.
const CASES: &str = r#"
{"id": "c-1", "name": "Cash below the threshold", "createdAt": "2026-03-02 09:15:00+0000", "tags": ["cash"], "caseReview": {"status": "open"}}
{"id": "c-2", "name": "New counterparty", "createdAt": "2026-03-03 16:40:00+0000", "totalAmountInDefaultCurrency": 74000, "caseReview": {"status": "blocked"}}
{"id": "c-3", "name": "Name on a sanctions list", "createdAt": "2026-03-04 08:05:00+0000", "tags": ["sanctions"], "caseReview": {"status": "open"}}
{"id": "c-4", "name": "Dormant account", "createdAt": "2026-03-05 11:30:00+0000", "tags": ["cash"], "caseReview": {"status": "resolvedFalsePositive"}}
"#;

/// Cases under review that involve cash or a large amount.
const BODY: &str = r#"{"criteria": [
    {"field": "status", "op": "$contains", "values": ["open", "blocked"]},
    {"op": "$or", "children": [
        {"field": "tags", "op": "$contains", "values": ["cash"]},
        {"field": "totalAmountInDefaultCurrency", "op": ">=", "values": ["10000"]}]}]}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The catalogue describes the documents: the fields that criteria may name, and their types.
    let engine = Engine::new(Catalog::cases());
    let report = engine.upsert_many(CASES.as_bytes())?;
    println!("{} cases stored", report.stored);

    // The body and the parameters come from a client, as text. The error of this call lists all their mistakes.
    let builder = FilterBuilder::new(engine.catalog());
    let params = SearchParams::new().order("-createdAt").limit("10").count("true");
    let request = builder.request(BODY.as_bytes(), &params)?;
    println!("filter: {}\n", request.filter);

    let answer = engine.search(&request)?;
    for document in answer.documents() {
        println!("{document}");
    }
    assert_eq!(answer.ids().collect::<Vec<_>>(), ["c-2", "c-1"]);
    assert_eq!(answer.total(), Some(2));
    // `to_json` returns the same JSON as the HTTP service.
    assert!(answer.to_json().starts_with(r#"{"list":{"items":[{"id": "c-2","#));

    // The text syntax is for people. Two filters with the same normal form are equal, even if they are written differently.
    let text = "(tags in (cash) or totalAmountInDefaultCurrency >= 10000) and status in (blocked, open)";
    assert_eq!(builder.text(text)?, request.filter);

    println!("\nWhy is c-3 not selected?");
    let sanctions = CASES.lines().find(|line| line.contains("c-3")).ok_or("no case c-3")?;
    let why = reference::why(&request.filter, sanctions)?;
    for criterion in &why.criteria {
        println!("  {:28} {}", criterion.path, criterion.holds);
    }
    assert!(!why.selected);

    println!("\nAn error has a code, a place and a suggestion:");
    let Err(errors) = builder.text("statis = open") else { return Err("`statis` is no field".into()) };
    println!("  {errors}");
    let [error] = errors.as_slice() else { return Err("expected one error".into()) };
    assert_eq!(error.kind.code(), "unknown_field");
    assert!(error.suggestion.as_ref().is_some_and(|suggestion| suggestion.to_string().contains("status")));
    Ok(())
}
