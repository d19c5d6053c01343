//! Saved filters: each new case is tested against the filters that officers have saved.
//!
//! A host stores the body of a filter with its fingerprint. Equal filters have the same fingerprint, also if their texts differ.
//!
//! ```sh
//! cargo run --example saved_filters
//! ```

use std::collections::BTreeMap;

use casefilter::{Catalog, Document, Filter};

/// Filters as officers send them: a title and a body. The second and the third filter are equal.
const SENT: [(&str, &str); 4] = [
    (
        "High priority",
        r#"{"criteria": [{"field": "priority", "op": "=", "values": ["high"]},
            {"field": "status", "op": "$contains", "values": ["open", "blocked"]}]}"#,
    ),
    ("Cash, crypto", r#"{"criteria": [{"field": "tags", "op": "$contains", "values": ["cash", "crypto"]}]}"#),
    (
        "Crypto, cash",
        r#"{"criteria": [{"op": "$or", "children": [
            {"field": "tags", "op": "$all", "values": ["crypto"]},
            {"field": "tags", "op": "$contains", "values": ["cash"]}]}]}"#,
    ),
    ("Escalated", r#"{"criteria": [{"field": "status", "op": "=", "values": ["escalated"]}]}"#),
];

/// New cases, each with the titles of the filters that select it.
const NEW_CASES: [(&str, &[&str]); 3] = [
    (
        r#"{"id": "c-1", "priority": "high", "tags": ["cash"], "caseReview": {"status": "open"}}"#,
        &["Cash, crypto", "High priority"],
    ),
    (r#"{"id": "c-2", "tags": ["crypto", "mixer"], "caseReview": {"status": "open"}}"#, &["Cash, crypto"]),
    (r#"{"id": "c-3", "priority": "high", "caseReview": {"status": "resolvedFalsePositive"}}"#, &[]),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let catalog = Catalog::cases();
    // In a real host program, this is a table of a database: fingerprint, title, body.
    let mut saved: BTreeMap<u128, (&str, &str)> = BTreeMap::new();
    for (title, body) in SENT {
        let filter = Filter::compile(&catalog, body.as_bytes())?;
        for warning in filter.warnings() {
            println!("{title}: warning: {warning}");
        }
        match saved.get(&filter.fingerprint()) {
            Some((other, _)) => println!("{title}: saved before as {other:?}"),
            None => println!("{title}: saved as {:032x}", filter.fingerprint()),
        }
        saved.entry(filter.fingerprint()).or_insert((title, body));
    }
    assert_eq!(saved.len(), 3);

    // When the host starts again, it compiles the bodies. The fingerprints are still the same.
    let mut filters = Vec::new();
    for (fingerprint, (title, body)) in &saved {
        let filter = Filter::compile(&catalog, body.as_bytes())?;
        assert_eq!(filter.fingerprint(), *fingerprint);
        filters.push((*title, filter));
    }
    filters.sort_by_key(|(title, _)| *title);

    // Each document is parsed once, without an engine. Compiled filters are `Send + Sync` and cheap to clone.
    for (document, expected) in NEW_CASES {
        let parsed = Document::parse(&catalog, document.as_bytes())?;
        let mut titles = Vec::new();
        for (title, filter) in &filters {
            if filter.selects(&parsed)? {
                titles.push(*title);
            }
        }
        println!("{document}\n  {titles:?}");
        assert_eq!(titles, expected);
    }
    Ok(())
}
