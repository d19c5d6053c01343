//! Tests the statements of counts by value: their texts, and requests for the databases, which `tests/sql/facets.py` runs.

use std::fs;

use casefilter::sql::{Dialect, Table};
use casefilter::{Catalog, Engine, ErrorKind, Facet, FacetCounts, FacetsRequest, Field, FieldType, Filter};
use serde_json::{Value, json};

/// The catalogue of the documents.
fn catalog() -> Catalog {
    Catalog::new([
        Field::new("state", FieldType::String).with_known(["open", "closed"]).with_default("open"),
        Field::new("owner", FieldType::String),
        Field::new("tags[]", FieldType::String),
        Field::new("on", FieldType::Boolean),
        Field::new("flags[]", FieldType::Boolean),
        Field::new("amount", FieldType::Number),
        Field::new("numbers[]", FieldType::Number),
        Field::new("count", FieldType::Integer),
        Field::new("price", FieldType::Decimal { scale: 2 }),
        Field::new("prices[]", FieldType::Decimal { scale: 2 }),
        Field::new("at", FieldType::Timestamp),
        Field::new("times[]", FieldType::Timestamp),
    ])
    .unwrap()
}

/// Returns documents whose values repeat.
fn documents() -> Vec<String> {
    let mut state = 5_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let date = |n: u64, m: u64| {
        format!(
            "{:04}-{:02}-{:02} {:02}:30:00",
            [0, 1, 1899, 1969, 1970, 2000, 2024, 9999][n as usize % 8],
            1 + n % 12,
            1 + m % 28,
            m % 24
        )
    };
    (0..600)
        .map(|id| {
            let mut document = json!({ "id": id.to_string() });
            if next(3) > 0 {
                document["state"] = json!(["closed", "odd", "open", "é"][next(4) as usize]);
            }
            if next(4) > 0 {
                document["owner"] = json!(format!("o{}", next(30).min(next(30))));
                document["amount"] =
                    json!([0.3, 0.7, 12.5, -0.1, 4.35, 100.0, 1e6, 0.1 * next(50) as f64][next(8) as usize]);
                document["count"] = json!(next(40) as i64 - 20);
                document["price"] = json!(format!("{}.{:02}", next(9), next(100)).parse::<f64>().unwrap());
            }
            if next(4) > 0 {
                document["on"] = json!(next(2) == 0);
                document["at"] = json!(date(next(8) + 2, next(1000)));
            }
            let list = |next: &mut dyn FnMut(u64) -> u64, of: &dyn Fn(u64) -> Value| -> Vec<Value> {
                (0..next(4)).map(|_| of(next(7))).collect()
            };
            document["tags"] = json!(list(&mut next, &|n| json!(format!("t{n}"))));
            document["flags"] = json!(list(&mut next, &|n| json!(n % 2 == 0)));
            document["numbers"] = json!(list(&mut next, &|n| json!(n as f64 / 10.0)));
            document["prices"] = json!(list(&mut next, &|n| json!(n as f64 / 4.0 - 0.75)));
            document["times"] = json!(list(&mut next, &|n| json!(date(n + 4, n * 37))));
            document.to_string()
        })
        .collect()
}

const FACETS: &[&str] = &[
    "state",
    "state:limit=2",
    "owner:limit=5",
    "owner:limit=0",
    "tags",
    "tags:limit=3",
    "on",
    "flags",
    "amount:limit=4",
    "numbers",
    "count",
    "price:limit=3",
    "prices",
    "at:limit=2",
    "times",
    "at:hour",
    "at:day",
    "at:day@+05:30",
    "at:week",
    "at:month",
    "at:month@-11:00",
    "at:quarter",
    "at:year",
    "times:day",
    "times:week",
    "times:month",
    "times:year",
    "amount:width=0.1",
    "amount:width=7",
    "numbers:width=0.2",
    "count:width=7",
    "price:width=0.25",
    "prices:width=0.5",
    "amount:edges=0,0.3,100",
    "numbers:edges=0.2,0.4",
    "count:edges=-5,5",
    "price:edges=1.25,2.5",
    "prices:edges=0",
    "amount:stats",
    "numbers:stats",
    "count:stats",
    "price:stats",
    "prices:stats",
    "at:stats",
    "times:stats",
];

/// Returns the answer in the form of the rows of the statements, without the values and buckets that no document has.
fn rows(facet: &casefilter::FacetAnswer) -> Value {
    let text = |value: &casefilter::Value<'_>| match value {
        casefilter::Value::Timestamp(at) => at.as_millis().to_string(),
        value => value.to_string(),
    };
    match &facet.counts {
        FacetCounts::Values(counts) => {
            let values: Vec<_> = counts.values.iter().filter(|(_, count)| *count > 0).collect();
            let values: Vec<_> = values.iter().map(|(value, count)| json!([text(value), count])).collect();
            json!({"values": values, "absent": facet.absent, "other": [counts.other_values, counts.other_count]})
        }
        FacetCounts::Histogram(buckets) => {
            // The numbers of the buckets are consecutive.
            let first = buckets.iter().position(|bucket| bucket.count > 0).unwrap_or(0);
            let counts = buckets.iter().enumerate().filter(|(_, bucket)| bucket.count > 0);
            let counts: Vec<_> = counts.map(|(at, bucket)| json!([at - first, bucket.count])).collect();
            json!({"buckets": counts, "absent": facet.absent})
        }
        FacetCounts::Stats(stats) => json!({
            "stats": [stats.count, stats.min.as_ref().map(text), stats.max.as_ref().map(text)],
            "sum": stats.sum.map(casefilter::FacetSum::to_f64),
            "absent": facet.absent,
        }),
        other => panic!("{other:?}"),
    }
}

/// Writes a file with documents, statements and expected rows to `CASEFILTER_FACETS`, if that is set.
#[test]
fn statements_are_written_for_the_databases() {
    let catalog = catalog();
    let documents = documents();
    let engine = Engine::new(catalog.clone());
    engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    let table = Table::new(&catalog).named("counted").unwrap();
    let mut lines = Vec::new();
    for filter in ["true", "state = open and count > -10", "tags = t1 or amount < 1"] {
        for text in FACETS {
            for apart in [false, true] {
                let facet = Facet::parse(&catalog, text).unwrap().with_own_criteria_apart(apart);
                let filter = Filter::compile_text(&catalog, filter).unwrap();
                let request = FacetsRequest::new(filter).with_facet(facet);
                let answer = engine.facets(&request);
                let mut line = json!({"facet": text, "sql": {}});
                match &answer {
                    Ok(answer) => {
                        line["total"] = json!(answer.total);
                        line["expected"] = rows(&answer.facets[0]);
                    }
                    Err(error) if error.kind == ErrorKind::TooManyBuckets => continue,
                    Err(error) => panic!("{error}"),
                }
                for dialect in Dialect::ALL {
                    let statements = table.facets(dialect, &request).unwrap();
                    assert_eq!(statements.facets.len(), 1);
                    line["sql"][dialect.name()] = json!({
                        "sql": statements.facets[0].to_sql(),
                        "literal": statements.facets[0].to_literal(),
                        "params": serde_json::to_value(statements.facets[0].params()).unwrap(),
                        "total": statements.total.to_literal(),
                    });
                }
                lines.push(line);
            }
        }
    }
    assert!(lines.len() > 150, "{}", lines.len());
    let Some(folder) = std::env::var_os("CASEFILTER_FACETS") else { return };
    let folder = std::path::Path::new(&folder);
    fs::write(folder.join("catalog.json"), catalog.to_json()).unwrap();
    fs::write(folder.join("documents.ndjson"), documents.join("\n")).unwrap();
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(folder.join("facets.ndjson"), lines.join("\n")).unwrap();
}

#[test]
fn facets_of_hidden_fields_are_refused() {
    let catalog = catalog();
    let narrow = catalog.allow(["state"]).unwrap();
    let request =
        FacetsRequest::new(Filter::all(&narrow)).with_facet(Facet::values(&catalog, "owner").unwrap());
    let error = Table::new(&catalog).facets(Dialect::DuckDb, &request).unwrap_err();
    assert_eq!(error.kind, ErrorKind::CatalogMismatch);
}
