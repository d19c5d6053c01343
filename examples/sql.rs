//! Prints requests as SQL: a table, its rows, and statements for PostgreSQL and DuckDB.
//!
//! The output is a script for `psql` that creates and loads the table. When the table exists, the last command below searches it.
//! ```sh
//! cargo run --example sql --features sql
//! cargo run --quiet --example sql --features sql | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"
//! DATABASE_URL=postgres://… cargo run --example sql --features postgres
//! ```

use casefilter::sql::{Dialect, Table, write_copy};
use casefilter::{Catalog, Engine, Filter, Order, SearchRequest};

type AnyError = Box<dyn std::error::Error>;

const CASES: [&str; 3] = [
    r#"{"id": "c-1", "createdAt": "2026-03-02 09:15:00+0000", "tags": ["cash"], "caseReview": {"status": "open"}}"#,
    r#"{"id": "c-2", "createdAt": "2026-03-03 16:40:00+0000", "tags": ["it's new", "cash"], "caseReview": {"status": "blocked"}}"#,
    r#"{"id": "c-3", "createdAt": "2026-03-04 08:05:00+0000", "tags": [], "caseReview": {"status": "open"}}"#,
];

/// Returns the lines of a text as comments of SQL.
fn comments(text: &str) -> String {
    text.lines().map(|line| format!("-- {line}\n")).collect()
}

fn main() -> Result<(), AnyError> {
    let catalog = Catalog::cases().allow(["id", "status", "createdAt", "tags"])?;
    let table = Table::new(&catalog).named("example_cases")?;
    let filter =
        Filter::compile_text(&catalog, "status in (open, blocked) and tags in (cash, \"it's new\")")?;
    let newest_first = Order::parse(&catalog, "-createdAt")?;
    let request = SearchRequest::new(filter).with_order(newest_first).with_limit(20).with_count(true);

    // A row has the position in insertion order, a value for each field, and the document.
    let mut rows = String::new();
    for (place, document) in (0..).zip(CASES) {
        write_copy(&table, &table.row(place, document)?, &mut rows)?;
    }
    // The script loads a file. In this example, the rows follow the load command instead, up to the line `\.`.
    let load = "FROM 'rows.tsv' WITH (FORMAT text, ENCODING 'UTF8')\n";
    let inline = load.replace("'rows.tsv'", "STDIN") + &rows + "\\.\n";
    println!("{}", table.script(Dialect::Postgres, "rows.tsv").replace(load, &inline));

    // A driver takes the statement and its parameters. Tools that take no parameters need the statement with literals.
    let statement = table.page(Dialect::Postgres, &request)?;
    let params = serde_json::to_string(statement.params())?;
    print!("{}", comments(&format!("{}\nwith {params}", statement.to_sql())));
    println!("{};\n", statement.to_literal());
    assert_eq!(params, r#"[["blocked","open"],["cash","it's new"]]"#);
    assert!(
        statement
            .to_sql()
            .contains(r#"WHERE "case_review_status" = ANY ($1::text[]) AND "tags" && $2::text[]"#)
    );
    assert!(statement.to_literal().contains("E'it''s new'"));

    let duckdb = table.page(Dialect::DuckDb, &request)?;
    print!("{}", comments(&table.script(Dialect::DuckDb, "cases.parquet")));
    print!("{}", comments(&duckdb.to_literal()));
    assert!(duckdb.to_sql().contains(r#"list_has_any("tags", $2"#));

    // The database returns the same answer as an engine: the same documents in the same order, and the same count.
    let engine = Engine::new(catalog);
    engine.upsert_many(CASES.join("\n").as_bytes())?;
    let answer = engine.search(&request)?.to_json();
    print!("\n{}", comments(&answer));
    #[cfg(feature = "postgres")]
    if let Ok(url) = std::env::var("DATABASE_URL") {
        use casefilter::postgres::{PostgresOptions, PostgresSource};
        let mut options = PostgresOptions::default();
        options.table = table.qualified_name();
        let source = PostgresSource::connect(&url, engine.catalog(), &options);
        let search = async { source.await?.search(&request).await };
        assert_eq!(tokio::runtime::Runtime::new()?.block_on(search)?.to_json(), answer);
        println!("-- PostgreSQL has the same answer.");
    }
    Ok(())
}
