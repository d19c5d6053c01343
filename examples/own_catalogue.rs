//! Your own catalogue: payments instead of cases.
//!
//! ```sh
//! cargo run --example own_catalogue
//! ```

use casefilter::{Catalog, Engine, Field, FieldType, Filter, Order, SearchRequest};

type AnyError = Box<dyn std::error::Error>;

/// Payments as another system writes them, one JSON document per line.
const PAYMENTS: &str = r#"
{"id": "p-1", "reference": "INV-2041", "amount": 950.5, "bookedAt": 1772442000000, "debtor": {"country": "DEU"}, "legs": [{"bank": "COBADEFF"}, {"bank": "BNPAFRPP"}]}
{"id": "p-2", "reference": "INV-2042", "state": "settled", "amount": 12000, "bookedAt": 1772445600000, "debtor": {"country": "FRA"}, "legs": [{"bank": "BNPAFRPP"}]}
{"id": "p-3", "reference": "INV-2043", "state": "held", "amount": 74000, "bookedAt": "1772449200000", "urgent": true, "debtor": {"country": "PAN"}, "legs": []}
"#;

/// Describes the fields of the documents: the path, the type and, for some fields, more about the values.
fn payments() -> Result<Catalog, AnyError> {
    Ok(Catalog::new([
        // Nearly every payment has a different reference, so engines keep an index from references to payments.
        Field::new("reference", FieldType::String).key(),
        // Known values are sorted in this order. Filters with other values get a warning. Without a state, a payment is `new`.
        Field::new("state", FieldType::String).with_known(["new", "held", "settled"]).with_default("new"),
        Field::new("amount", FieldType::Number),
        // In documents, the values are Unix milliseconds. In criteria, they are text such as `2026-03-02 09:00:00`.
        Field::new("bookedAt", FieldType::Timestamp).unix_millis(),
        Field::new("urgent", FieldType::Boolean),
        Field::new("debtor.country", FieldType::String).with_alias("country"),
        // `[]` follows each key whose value is an array: one payment has several banks.
        Field::new("legs[].bank", FieldType::String),
    ])?)
}

fn main() -> Result<(), AnyError> {
    let catalog = payments()?;
    let engine = Engine::new(catalog.clone());
    engine.upsert_many(PAYMENTS.as_bytes())?;

    // States are sorted in the order of the known values, so `new` comes before `held`.
    let by_state = Order::parse(&catalog, "state")?;
    let searches: [(&str, &[&str]); 7] = [
        ("true", &["p-1", "p-3", "p-2"]),
        ("reference = INV-2042", &["p-2"]),
        ("state = new", &["p-1"]),
        ("amount > 1000 and urgent = true", &["p-3"]),
        ("bookedAt >= '2026-03-02 10:00:00'", &["p-3", "p-2"]),
        ("country in (DEU, FRA)", &["p-1", "p-2"]),
        ("legs.bank = BNPAFRPP", &["p-1", "p-2"]),
    ];
    for (text, expected) in searches {
        let request = SearchRequest::new(Filter::compile_text(&catalog, text)?).with_order(by_state.clone());
        let answer = engine.search(&request)?;
        let ids: Vec<&str> = answer.ids().collect();
        println!("{text:35} {}", ids.join(" "));
        assert_eq!(ids, expected, "{text}");
    }

    // Warnings are about filters that compile, but whose meaning the author may not have intended.
    let warnings = Filter::compile_text(&catalog, "state = setled")?.warnings();
    println!("\nwarning: {}", warnings.first().ok_or("expected a warning")?);

    // If you add fields to a catalogue, its compiled filters can still be used: they run on engines of the larger catalogue.
    let settled = Filter::compile_text(&catalog, "state = settled")?;
    let grown = Engine::new(catalog.with([Field::new("riskScore", FieldType::Number)])?);
    grown.upsert_many(PAYMENTS.as_bytes())?;
    assert_eq!(grown.count(&settled)?, 1);

    // A mistake in a catalogue is an error when the catalogue is created, not when it is used.
    let Err(error) = catalog.with([Field::new("amount", FieldType::String)]) else {
        return Err("two fields have one name".into());
    };
    println!("error: {error}");
    Ok(())
}
