//! Tests the PostgreSQL source: it must return the same results as an engine, and recover from errors of the server.
//!
//! `tests/postgres/run` starts a server and runs these tests and those of the service on it.

use std::fs;
use std::future::Future;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use casefilter::postgres::{PostgresError, PostgresErrorKind, PostgresOptions, PostgresSource};
use casefilter::sql::{Table, write_copy};
use casefilter::{
    CancelToken, Catalog, Deadline, Engine, Facet, FacetsRequest, Field, FieldType, Filter, FilterBuilder,
    ImportMode, Order, SearchParams, SearchRequest,
};
use serde_json::Value;

#[path = "world/facets.rs"]
mod counts;
#[path = "postgres/tables.rs"]
mod tables;
#[expect(dead_code, reason = "the evaluators are for `tests/properties.rs`")]
mod world;

use counts::{random_facets, rounded};
use tables::{Locked, changed, load, options, psql, psql_beside, unique, variable};
use world::choices::Choices;
use world::generate::{Size, World};

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}

fn server() -> String {
    variable("CASEFILTER_TEST_POSTGRES")
}

fn data(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// Returns an engine with these documents, without those that a table cannot store.
fn engine(catalog: &Catalog, documents: &[String]) -> Engine {
    let (engine, table) = (Engine::new(catalog.clone()), Table::new(catalog));
    let mut import = engine.import(ImportMode::Strict);
    for document in documents {
        if write_copy(&table, &table.row(0, document).unwrap(), &mut String::new()).is_ok() {
            import.push(document.as_bytes()).unwrap();
            import.push(b"\n").unwrap();
        }
    }
    import.commit().unwrap();
    engine
}

/// Creates a table with the cases of an engine and returns its name.
fn table_of(engine: &Engine) -> String {
    let name = unique("world");
    let table = Table::new(engine.catalog()).with_folded().with_elements().named(&name).unwrap();
    let all = SearchRequest::new(Filter::all(engine.catalog())).with_limit(10_000);
    load(&server(), &table, engine.search(&all).unwrap().documents());
    name
}

async fn source(catalog: &Catalog, table: &str) -> PostgresSource {
    PostgresSource::connect(&server(), catalog, &options(table)).await.unwrap()
}

/// Checks that the response is equal to that of the engine, byte for byte.
async fn check(source: &PostgresSource, engine: &Engine, request: &SearchRequest, note: &str) {
    let (expected, found) = (engine.search(request).unwrap(), source.search(request).await);
    let found = found.unwrap_or_else(|error| panic!("{error}: {note}"));
    assert_eq!(found.to_json(), expected.to_json(), "{note}");
    assert_eq!(found.ids().collect::<Vec<_>>(), expected.ids().collect::<Vec<_>>(), "{note}");
    assert_eq!((found.total(), found.len()), (expected.total(), expected.len()), "{note}");
}

/// Checks that the pages after cursors are those of the engine, and that cursors of an order are the same text.
async fn check_cursors(source: &PostgresSource, engine: &Engine, request: &SearchRequest, note: &str) {
    let mut expected = request.clone().with_offset(0).with_limit(3).with_cursor(true);
    let mut found = expected.clone();
    for page in 0..12 {
        let (own, other) = (engine.search(&expected).unwrap(), source.search(&found).await.unwrap());
        assert_eq!(other.ids().collect::<Vec<_>>(), own.ids().collect::<Vec<_>>(), "page {page}: {note}");
        if request.order.is_some() {
            assert_eq!(other.to_json(), own.to_json(), "page {page}: {note}");
        }
        assert_eq!(other.next().is_some(), own.next().is_some(), "page {page}: {note}");
        let (Some(own), Some(other)) = (own.next(), other.next()) else { return };
        (expected, found) = (expected.with_after(own.clone()), found.with_after(other.clone()));
    }
}

/// Checks that the counts by value are those of the engine, or that both fail for the same reason.
async fn check_facets(source: &PostgresSource, engine: &Engine, request: &FacetsRequest, note: &str) {
    match (engine.facets(request), source.facets(request).await) {
        (Ok(expected), Ok(found)) => {
            assert_eq!(rounded(found, &expected, 1e-12), expected, "{note}");
        }
        (Err(expected), Err(found)) => {
            assert_eq!(
                (found.kind(), found.to_string()),
                (PostgresErrorKind::Request, expected.to_string()),
                "{note}"
            );
        }
        (expected, found) => panic!("{found:?} instead of {expected:?}: {note}"),
    }
}

async fn check_vectors(name: &str) {
    let documents: Vec<String> = data(&format!("{name}.cases.ndjson")).lines().map(str::to_owned).collect();
    let engine = engine(&Catalog::cases(), &documents);
    assert_eq!(engine.len(), documents.len());
    let source = source(engine.catalog(), &table_of(&engine)).await;
    let mut answered = 0;
    for line in data(&format!("{name}.requests.ndjson")).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let asked = &line["request"];
        let text = |name: &str| match &asked[name] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let [body, offset, limit, order, count] =
            ["body", "offset", "limit", "order", "countTotalItems"].map(text);
        let params = SearchParams::new()
            .offset(offset.as_deref())
            .limit(limit.as_deref())
            .order(order.as_deref())
            .count(count.as_deref());
        let body = body.unwrap_or_default();
        let request = FilterBuilder::new(engine.catalog()).request(body.as_bytes(), &params);
        if let Ok(request) = request {
            check(&source, &engine, &request, &line.to_string()).await;
            answered += 1;
        }
    }
    assert!(answered > 100, "{answered}");
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn the_vectors_pass() {
    run(async {
        check_vectors("plain").await;
        check_vectors("weird").await;
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn random_data_gives_the_same_results_as_the_engine() {
    run(async {
        let (mut answered, mut elements, mut facets) = (0, 0, 0);
        for seed in 0..24 {
            let size =
                Size { documents: [0, 1, 7, 70, 300][seed % 5], requests: 60, repeats: true, faults: false };
            let world = World::new(&mut Choices::seeded(seed as u64), size);
            let engine = engine(&world.catalog, &world.documents);
            let source = source(&world.catalog, &table_of(&engine)).await;
            let choices = &mut Choices::seeded(!seed as u64);
            for asked in &world.requests {
                let mut counted = asked.body.clone();
                if counted.is_object() {
                    counted["facets"] = random_facets(&asked.catalog, choices).into();
                }
                if let Ok(request) = FilterBuilder::new(&asked.catalog).facets(counted.to_string().as_bytes())
                {
                    check_facets(&source, &engine, &request, &format!("world {seed}: {counted}")).await;
                    facets += request.facets.len();
                }
                let (body, params) = (asked.body.to_string(), &asked.params);
                let params = SearchParams::new()
                    .offset(params.offset.as_deref())
                    .limit(params.limit.as_deref())
                    .order(params.order.as_deref())
                    .count(params.count.as_deref());
                let request = FilterBuilder::new(&asked.catalog).request(body.as_bytes(), &params);
                if let Ok(request) = request {
                    elements += usize::from(request.filter.to_text().contains(" has ("));
                    let note = format!("world {seed}: {body} {params:?}");
                    check(&source, &engine, &request, &note).await;
                    check_cursors(&source, &engine, &request, &note).await;
                    answered += 1;
                }
            }
        }
        assert!(answered > 300 && elements > 50 && facets > 3000, "{answered}, {elements}, {facets}");
    });
}

/// Numbers whose sums, products or quotients are outside the range of a double.
#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn counts_of_extreme_values_are_those_of_the_engine() {
    run(async {
        let fields = [
            Field::new("n", FieldType::Number),
            Field::new("n2[]", FieldType::Number),
            Field::new("i", FieldType::Integer),
            Field::new("d", FieldType::Decimal { scale: 18 }),
        ];
        let catalog = Catalog::new(fields).unwrap();
        let numbers = [1.7e308, -1.7e308, 5e-324, -5e-324, 0.3, 1e300, 1e16, -1e-300, 1e308, 2.5];
        let integers = [i64::MAX, i64::MIN, 0, -1, 1, i64::MAX - 1, i64::MIN + 1, 7, -7, 1 << 62];
        let documents: Vec<String> = (0..10)
            .map(|at| {
                let decimal = format!("{}.{:018}", integers[at] % 9, integers[at].unsigned_abs() % 1_000_000);
                format!(
                    r#"{{"id":"{at}","n":{:e},"n2":[{:e},1.7e308],"i":{},"d":{decimal}}}"#,
                    numbers[at], numbers[at], integers[at]
                )
            })
            .collect();
        let engine = engine(&catalog, &documents);
        assert_eq!(engine.len(), 10);
        let source = source(&catalog, &table_of(&engine)).await;
        let widths = ["1e308", "1.5e308", "5e-324", "1e-300", "1", "0.1", "7e290", "1e291"];
        let mut texts: Vec<String> = widths.iter().map(|width| format!("n:width={width}")).collect();
        texts.extend(["n:stats", "n2:stats", "i:stats", "d:stats", "n", "i", "d"].map(str::to_owned));
        texts.extend([1, 9_000_000_000_000_000_000, i64::MAX].map(|width| format!("i:width={width}")));
        texts.extend(
            ["d:width=9", "d:width=0.000000000000000001", "n:edges=-1e308,0,1e308"].map(str::to_owned),
        );
        for filter in ["true", "n > 0 and n < 3", "n < -1e307", "n > 1e307"] {
            for text in &texts {
                let filter = Filter::compile_text(&catalog, filter).unwrap();
                let note = format!("{text} of {filter:?}");
                let request = FacetsRequest::new(filter).with_facet(Facet::parse(&catalog, text).unwrap());
                check_facets(&source, &engine, &request, &note).await;
            }
        }
    });
}

fn small() -> Engine {
    let documents = (0..50).map(|number| format!(r#"{{"id":"{number:02}","name":"n","tags":["a"]}}"#));
    engine(&Catalog::cases(), &documents.collect::<Vec<_>>())
}

fn all(catalog: &Catalog) -> SearchRequest {
    SearchRequest::new(Filter::all(catalog)).with_limit(1000).with_count(true)
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn page_and_count_come_from_one_snapshot() {
    let engine = small();
    let (server, name) = (server(), table_of(&engine));
    psql(&server, &format!("CREATE TABLE {name}_all AS TABLE {name}"));
    let script = format!(
        "DO $$ BEGIN FOR i IN 1..2000 LOOP DELETE FROM {name}; COMMIT; INSERT INTO {name} SELECT * FROM {name}_all; COMMIT; \
         END LOOP; END $$;"
    );
    let mut writer = psql_beside(&server, &script);
    run(async {
        let source = source(engine.catalog(), &name).await;
        let mut seen = [false; 2];
        while writer.try_wait().unwrap().is_none() {
            let answer = source.search(&all(engine.catalog())).await.unwrap();
            assert_eq!(answer.total(), Some(answer.len() as u64));
            seen[usize::from(answer.is_empty())] = true;
        }
        assert_eq!(seen, [true; 2]);
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn a_slow_statement_times_out_and_the_next_search_works() {
    let engine = small();
    let (server, name) = (server(), table_of(&engine));
    let options = changed(options(&name), |options| {
        options.max_connections = 1;
        options.max_waiting_searches = 1;
        options.statement_timeout = Duration::from_millis(400);
        options.acquire_timeout = Duration::from_millis(100);
    });
    run(async {
        let catalog = engine.catalog();
        let source = PostgresSource::connect(&server, catalog, &options).await.unwrap();
        let request = all(catalog);
        source.search(&request).await.unwrap();
        let locked = Locked::new(&server, &name);
        let start = Instant::now();
        // All searches at once, with one connection.
        let (slow, crowded, turned_away) =
            tokio::join!(biased; source.search(&request), source.search(&request), source.search(&request));
        assert!(turned_away.unwrap_err().to_string().contains("too many searches wait"));
        assert_eq!(slow.unwrap_err().kind(), PostgresErrorKind::Timeout);
        assert_eq!(crowded.unwrap_err().kind(), PostgresErrorKind::Exhausted);
        assert_eq!(source.ping().await.unwrap_err().kind(), PostgresErrorKind::Timeout);
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        drop(locked);
        assert_eq!(source.search(&request).await.unwrap().total(), Some(50));
        let stats = source.stats();
        assert_eq!((stats.answered, stats.connections), (2, 1));
        let failed: Vec<_> = stats.failed.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(failed, [(PostgresErrorKind::Timeout, 1), (PostgresErrorKind::Exhausted, 2)]);
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn a_dropped_search_is_cancelled_on_the_server() {
    let engine = small();
    let (server, name) = (server(), table_of(&engine));
    let active = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'casefilter' AND state = 'active' AND query LIKE '%{name}%'"
    );
    run(async {
        let options = changed(options(&name), |options| options.max_connections = 1);
        let source = PostgresSource::connect(&server, engine.catalog(), &options).await.unwrap();
        let request = all(engine.catalog());
        let locked = Locked::new(&server, &name);
        for _ in 0..3 {
            let search = tokio::time::timeout(Duration::from_millis(300), source.search(&request));
            assert!(search.await.is_err());
        }
        let start = Instant::now();
        while psql(&server, &active) != "0" {
            assert!(start.elapsed() < Duration::from_secs(10), "the statement is still running");
        }
        drop(locked);
        // The connection of the dropped search is not reused.
        assert_eq!(source.search(&request).await.unwrap().len(), 50);
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn a_search_stops_at_its_deadline_and_is_cancelled_on_the_server() {
    let engine = small();
    let (server, name) = (server(), table_of(&engine));
    let active = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'casefilter' AND state = 'active' AND query LIKE '%{name}%'"
    );
    run(async {
        let options = changed(options(&name), |options| options.max_connections = 1);
        let source = PostgresSource::connect(&server, engine.catalog(), &options).await.unwrap();
        let request = all(engine.catalog());
        let locked = Locked::new(&server, &name);
        let end = Instant::now() + Duration::from_millis(300);
        let late = request.clone().with_deadline(Deadline::new(move || Instant::now() >= end));
        let stopped = source.search(&late).await.unwrap_err();
        assert_eq!(stopped.kind(), PostgresErrorKind::Stopped);
        assert_eq!(stopped.to_string(), "the search was stopped at its deadline");
        assert!(Instant::now() >= end && !stopped.kind().is_transient());
        let token = CancelToken::new();
        let cancelled = request.clone().with_cancel(token.clone());
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            token.cancel();
        };
        let (stopped, ()) = tokio::join!(source.search(&cancelled), cancel);
        assert_eq!(stopped.unwrap_err().to_string(), "the search was cancelled");
        let start = Instant::now();
        while psql(&server, &active) != "0" {
            assert!(start.elapsed() < Duration::from_secs(10), "the statement is still running");
        }
        drop(locked);
        let later = Instant::now() + Duration::from_secs(60);
        let in_time = request.with_deadline(Deadline::new(move || Instant::now() >= later));
        assert_eq!(source.search(&in_time).await.unwrap().len(), 50);
        let stats = source.stats();
        assert_eq!(stats.failed.last(), Some(&(PostgresErrorKind::Stopped, 2)));
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn prepared_statements_are_cached_up_to_a_limit() {
    let engine = small();
    let name = table_of(&engine);
    run(async {
        let options = changed(options(&name), |options| {
            options.max_connections = 1;
            options.cached_statements = 4;
        });
        let source = PostgresSource::connect(&server(), engine.catalog(), &options).await.unwrap();
        let before = source.stats();
        let ask = async |limit| {
            source
                .search(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(limit))
                .await
                .unwrap();
            let stats = source.stats();
            (stats.prepared - before.prepared, stats.reused - before.reused)
        };
        for shape in 1..=50 {
            assert_eq!(ask(shape).await, (shape, 0));
        }
        // The last four are cached; the next one was evicted.
        for (number, shape) in (47..=50).rev().enumerate() {
            assert_eq!(ask(shape).await, (50, number as u64 + 1));
        }
        assert_eq!(ask(46).await, (51, 4));
        // The least recently used one was evicted.
        assert_eq!(ask(50).await, (52, 4));
        assert_eq!(ask(47).await, (52, 5));
        // A statement that is too long to be cached.
        let ids =
            (0..1000).map(|id| format!("name = n{id} and clientId = c{id}")).collect::<Vec<_>>().join(" or ");
        let long = SearchRequest::new(Filter::compile_text(engine.catalog(), &ids).unwrap());
        for number in 53..=54 {
            source.search(&long).await.unwrap();
            assert_eq!(source.stats().prepared - before.prepared, number);
        }
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn sessions_are_read_only() {
    let name = table_of(&small());
    let server = server();
    // A row-level security policy that calls a function which writes.
    psql(
        &server,
        &format!(
            "CREATE FUNCTION {name}_f() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN DELETE FROM {name}; RETURN 1; END $$;
             CREATE SCHEMA s_{name}; CREATE TABLE s_{name}.cases (LIKE {name}); ALTER TABLE s_{name}.cases ENABLE ROW LEVEL SECURITY;
             ALTER TABLE s_{name}.cases FORCE ROW LEVEL SECURITY;
             CREATE POLICY p ON s_{name}.cases USING ({name}_f() > 0);
             INSERT INTO s_{name}.cases SELECT * FROM {name};
             CREATE ROLE r_{name} LOGIN; GRANT USAGE ON SCHEMA s_{name} TO r_{name};
             GRANT SELECT ON s_{name}.cases TO r_{name}; GRANT SELECT, DELETE ON {name} TO r_{name};"
        ),
    );
    let server_as = server.replace("user=postgres", &format!("user=r_{name}"));
    assert_ne!(server, server_as);
    run(async {
        let options = options(&format!("s_{name}.cases"));
        let source = PostgresSource::connect(&server_as, &Catalog::cases(), &options).await.unwrap();
        let error = source.search(&all(source.catalog())).await.unwrap_err();
        assert_eq!(error.kind(), PostgresErrorKind::Rejected);
        assert!(error.to_string().contains("cannot execute DELETE in a read-only transaction"), "{error}");
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn the_update_script_of_the_docs_keeps_the_table_current() {
    let (server, schema) = (server(), unique("recipe"));
    let table = Table::new(&Catalog::cases()).named(&format!("{schema}.cases")).unwrap();
    psql(&server, &format!("CREATE SCHEMA {schema}"));
    let case = |id: &str, name: &str| format!(r#"{{"id":"{id}","name":"{name}"}}"#);
    let before = [case("a", "old"), case("b", "old"), case("c", "old")];
    let changed = [case("d", "new"), case("b", "new"), case("e", "new")];
    load(&server, &table, before.iter().map(String::as_str));
    let mut rows = String::new();
    for (place, document) in (0..).zip(&changed) {
        write_copy(&table, &table.row(place, document).unwrap(), &mut rows).unwrap();
    }
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("changed.tsv");
    fs::write(&file, rows).unwrap();
    let documentation = include_str!("../src/postgres/mod.rs").replace("//! ", "");
    let recipe = documentation.split("```sql\n").nth(1).unwrap().split("```").next().unwrap();
    let recipe = recipe.replace("changed.tsv", file.to_str().unwrap());
    psql(&server, &format!("SET search_path = {schema};\n{recipe}"));
    let engine = engine(&Catalog::cases(), &[&before[..], &changed[..]].concat());
    run(async {
        let source = source(engine.catalog(), &format!("{schema}.cases")).await;
        check(&source, &engine, &all(engine.catalog()), "").await;
        let answer = source.search(&all(engine.catalog())).await.unwrap();
        assert_eq!(answer.ids().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn words_are_searched_in_the_folded_columns_that_the_table_has() {
    let (server, name) = (server(), unique("folded"));
    let catalog = Catalog::cases();
    let table = Table::new(&catalog).with_folded_fields(["name"]).unwrap().named(&name).unwrap();
    let documents = [
        r#"{"id":"a","name":"LÓPEZ-GARCÍA, Ana","tags":["Éa"]}"#,
        r#"{"id":"b","name":"lopez"}"#,
        r#"{"id":"c","tags":["ea"]}"#,
    ];
    load(&server, &table, documents.into_iter());
    let engine = engine(&catalog, &documents.map(str::to_owned));
    let request =
        |text: &str| SearchRequest::new(Filter::compile_text(&catalog, text).unwrap()).with_count(true);
    run(async {
        let source = source(&catalog, &name).await;
        for text in [
            "name matches \"garcia lopez\"",
            "not name matches \"Garcia\"",
            "name matches LÓPEZ",
            "tags is absent",
        ] {
            check(&source, &engine, &request(text), text).await;
        }
        let error = source.search(&request("tags matches ea")).await.unwrap_err();
        assert_eq!(error.kind(), PostgresErrorKind::Unsupported);
        assert!(
            error.to_string().starts_with("tags: found `$match` on a field without a folded column"),
            "{error}"
        );
        let failed =
            source.stats().failed.into_iter().find(|(kind, _)| *kind == PostgresErrorKind::Unsupported);
        assert_eq!(failed.map(|(_, count)| count), Some(1));
        // A column of this name must be the one of the script.
        psql(&server, &format!("ALTER TABLE {name} ALTER name_folded TYPE text COLLATE \"POSIX\""));
        assert!(PostgresSource::connect(&server, &catalog, &options(&name)).await.is_ok());
        psql(&server, &format!("ALTER TABLE {name} ALTER name_folded TYPE text COLLATE \"ucs_basic\""));
        let error = refused(&server, &options(&name)).await;
        assert_eq!(error.kind(), PostgresErrorKind::Table);
        assert!(error.to_string().contains("column `name_folded`"), "{error}");
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn elements_are_tested_by_the_element_columns_that_the_table_has() {
    let (server, name) = (server(), unique("elements"));
    let fields = [
        ("legs[].bank", FieldType::String),
        ("legs[].amount", FieldType::Number),
        ("fees[].cost", FieldType::Number),
    ];
    let catalog = Catalog::new(fields.map(|(path, kind)| Field::new(path, kind))).unwrap();
    let table = Table::new(&catalog).with_elements_of(["legs"]).unwrap().named(&name).unwrap();
    let documents = [
        r#"{"id":"a","legs":[{"bank":"x","amount":1},{"bank":"y","amount":9}],"fees":[{"cost":1}]}"#,
        r#"{"id":"b","legs":[{"amount":9},{"bank":"x"}]}"#,
        r#"{"id":"c","legs":[]}"#,
        r#"{"id":"d","legs":[{"bank":"x","amount":9},null]}"#,
    ];
    load(&server, &table, documents.into_iter());
    let engine = engine(&catalog, &documents.map(str::to_owned));
    let request =
        |text: &str| SearchRequest::new(Filter::compile_text(&catalog, text).unwrap()).with_count(true);
    run(async {
        let source = source(&catalog, &name).await;
        for text in [
            "legs has (bank = x and amount = 9)",
            "legs has (bank = x and not amount = 9)",
            "not legs has (bank is absent)",
            "legs has (bank is absent and amount is absent)",
        ] {
            check(&source, &engine, &request(text), text).await;
        }
        let error = source.search(&request("fees has (not cost = 1)")).await.unwrap_err();
        assert_eq!(error.kind(), PostgresErrorKind::Unsupported);
        assert!(
            error.to_string().starts_with("fees: found `$elem` on an array without element columns"),
            "{error}"
        );
        // If one of the columns is missing, the source does not start.
        psql(&server, &format!("ALTER TABLE {name} DROP legs_bank_element"));
        let error = PostgresSource::connect(&server, &catalog, &options(&name)).await.unwrap_err();
        assert_eq!(error.kind(), PostgresErrorKind::Table);
        assert!(error.to_string().contains("column `legs_bank_element`"), "{error}");
    });
}

async fn refused(url: &str, options: &PostgresOptions) -> PostgresError {
    PostgresSource::connect(url, &Catalog::cases(), options).await.unwrap_err()
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn a_table_that_differs_from_the_script_is_rejected_with_the_first_difference() {
    let server = server();
    let table = Table::new(&Catalog::cases()).named(&unique("odd")).unwrap();
    let name = table.qualified_name();
    run(async {
        let error = refused(&server, &options(&name)).await;
        assert_eq!(error.kind(), PostgresErrorKind::Table);
        assert!(error.to_string().starts_with(&format!("found no table `{name}`")), "{error}");
        load(&server, &table, [r#"{"id":"a"}"#].into_iter());
        let mut undone = String::new();
        for (change, undo, expected) in [
            (
                "DROP COLUMN tags CASCADE",
                "ADD COLUMN tags text[] COLLATE \"C\" NOT NULL DEFAULT '{}'",
                "column `tags`",
            ),
            (
                "DROP COLUMN document",
                "ADD COLUMN document text NOT NULL DEFAULT '{}'",
                "found no such column, expected text NOT NULL",
            ),
            ("ALTER created_at TYPE int", "ALTER created_at TYPE bigint", "column `created_at` of table"),
            (
                "ALTER tags DROP NOT NULL",
                "ALTER tags SET NOT NULL",
                "found text[] COLLATE \"C\", expected text[] COLLATE \"C\" NOT NULL",
            ),
            (
                "ALTER client_id TYPE text COLLATE \"en-x-icu\"",
                "ALTER client_id TYPE text COLLATE \"C\"",
                "column `client_id` of table",
            ),
            // The first of two missing columns is named.
            (
                "DROP COLUMN name, DROP COLUMN tags",
                "ADD COLUMN name text COLLATE \"C\", ADD COLUMN tags text[] COLLATE \"C\" NOT NULL DEFAULT '{}'",
                "column `name`",
            ),
        ] {
            psql(&server, &format!("{undone} ALTER TABLE {name} {change};"));
            let error = refused(&server, &options(&name)).await;
            assert_eq!(error.kind(), PostgresErrorKind::Table, "{change}: {error}");
            assert!(error.to_string().contains(expected), "{change}: {error}");
            undone = format!("ALTER TABLE {name} {undo};");
        }
        psql(&server, &undone);
        // Additional columns and another order are allowed. A role without the right to read gets an error.
        psql(&server, &format!("ALTER TABLE {name} ADD COLUMN more text; CREATE ROLE r_{name} LOGIN;"));
        assert_eq!(
            source(&Catalog::cases(), &name).await.search(&all(&Catalog::cases())).await.unwrap().len(),
            1
        );
        let error =
            refused(&server.replace("user=postgres", &format!("user=r_{name}")), &options(&name)).await;
        assert_eq!(error.kind(), PostgresErrorKind::Table);
        assert!(error.to_string().contains("permission denied"), "{error}");
    });
}

#[test]
fn errors_never_repeat_a_connection_string() {
    run(async {
        for (url, expected) in [
            ("postgres://u:geheim@h/d?sslmode=verify-sometimes", "invalid value for option `sslmode`"),
            (
                "postgres://u:geheim@h/d?sslrootcert=geheim",
                "the option `sslrootcert`, which is not supported",
            ),
            ("postgres://u:ge@h/d?geheim=1", "is invalid"),
            ("host=h password=ge geheim=1", "is invalid"),
            ("host=h password='geheim", "is invalid"),
            ("geheim", "is invalid"),
            ("postgres:///d?user=u&password=geheim", "names no host"),
        ] {
            let error = refused(url, &PostgresOptions::default()).await;
            assert_eq!(error.kind(), PostgresErrorKind::Options, "{url}");
            assert!(error.to_string().contains(expected), "{url}: {error}");
            assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
        }
        let odd = changed(PostgresOptions::default(), |options| options.table = "a; b".to_owned());
        assert_eq!(refused("host=h", &odd).await.kind(), PostgresErrorKind::Options);
        let odd =
            changed(PostgresOptions::default(), |options| options.root_certificates = Some(b"x".to_vec()));
        assert_eq!(refused("host=h", &odd).await.kind(), PostgresErrorKind::Options);
        let error = refused("postgres://u:geheim@127.0.0.1:1/d", &PostgresOptions::default()).await;
        assert_eq!(error.kind(), PostgresErrorKind::Unavailable);
        assert!(std::error::Error::source(&error).is_some(), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
    });
}

/// Starts a proxy to a server on this machine, which stops forwarding when `holds` is set. Returns its port.
fn start_proxy(port: u16, holds: &'static AtomicBool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    let carry = move |mut from: TcpStream, mut to: TcpStream| {
        let mut piece = [0; 1 << 12];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            while holds.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(&piece[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    };
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (back, forth) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || carry(client, forth));
            thread::spawn(move || carry(server, back));
        }
    });
    own
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn a_connection_that_stops_responding_is_closed() {
    static HOLDS: AtomicBool = AtomicBool::new(false);
    let url = variable("CASEFILTER_TEST_POSTGRES_TLS");
    let port = url.split("port=").nth(1).unwrap().split(' ').next().unwrap();
    let name = unique("silent");
    let table = Table::new(&Catalog::cases()).named(&name).unwrap();
    load(&url, &table, [r#"{"id":"a"}"#].into_iter());
    let carried = start_proxy(port.parse().unwrap(), &HOLDS).to_string();
    let url = format!("{} sslmode=disable", url.replace(port, &carried));
    let timeout = Duration::from_millis(500);
    let options = changed(options(&name), |options| {
        options.statement_timeout = timeout;
        options.connect_timeout = timeout;
    });
    run(async {
        let source = PostgresSource::connect(&url, &Catalog::cases(), &options).await.unwrap();
        let request = all(source.catalog());
        source.search(&request).await.unwrap();
        HOLDS.store(true, Ordering::Relaxed);
        let start = Instant::now();
        for kind in [PostgresErrorKind::Timeout, PostgresErrorKind::Unavailable] {
            assert_eq!(source.search(&request).await.unwrap_err().kind(), kind);
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        HOLDS.store(false, Ordering::Relaxed);
        assert_eq!(source.search(&request).await.unwrap().len(), 1);
    });
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn a_table_can_be_swapped_for_another_one() {
    let (first, second) = (small(), engine(&Catalog::cases(), &[r#"{"id":"new"}"#.to_owned()]));
    let (server, name, next) = (server(), table_of(&first), table_of(&second));
    run(async {
        let source = source(first.catalog(), &name).await;
        let request = all(first.catalog());
        for _ in 0..3 {
            check(&source, &first, &request, "").await;
        }
        psql(
            &server,
            &format!(
                "BEGIN; ALTER TABLE {name} RENAME TO {name}_old; ALTER TABLE {next} RENAME TO {name}; COMMIT;"
            ),
        );
        check(&source, &second, &request, "").await;
        psql(&server, &format!("DROP TABLE {name}"));
        assert_eq!(source.search(&request).await.unwrap_err().kind(), PostgresErrorKind::Table);
        psql(&server, &format!("ALTER TABLE {name}_old RENAME TO {name}"));
        check(&source, &first, &request, "").await;
    });
}

#[test]
fn a_silent_server_is_waited_for_up_to_the_connect_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://u@{}/d?sslmode=disable", silent.local_addr().unwrap());
    let options =
        changed(PostgresOptions::default(), |options| options.connect_timeout = Duration::from_millis(300));
    let start = Instant::now();
    assert_eq!(run(refused(&url, &options)).kind(), PostgresErrorKind::Unavailable);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn tls_verifies_the_certificate_and_the_host_name() {
    let url = variable("CASEFILTER_TEST_POSTGRES_TLS");
    let name = unique("tls");
    let table = Table::new(&Catalog::cases()).named(&name).unwrap();
    load(&url, &table, [r#"{"id":"a"}"#].into_iter());
    let own = changed(options(&name), |options| {
        options.root_certificates = Some(data("tls/cert.pem").into_bytes());
    });
    run(async {
        for (mode, expected) in [("require", "t"), ("prefer", "t"), ("disable", "f")] {
            let encrypted = format!(
                "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = '{name}_{mode}'"
            );
            let with_mode = format!("{url} sslmode={mode} application_name={name}_{mode}");
            let source = PostgresSource::connect(&with_mode, &Catalog::cases(), &own).await.unwrap();
            assert_eq!(source.search(&all(source.catalog())).await.unwrap().len(), 1);
            assert_eq!(psql(&url, &encrypted), expected, "{mode}");
        }
        // A certificate that the system does not trust, and a host name that is not in the certificate.
        for (url, options) in [
            (format!("{url} sslmode=require"), &options(&name)),
            (format!("{} sslmode=require", url.replace("localhost", "other hostaddr=127.0.0.1")), &own),
        ] {
            let error = refused(&url, options).await;
            assert!(
                [PostgresErrorKind::Unavailable, PostgresErrorKind::Options].contains(&error.kind()),
                "{error}"
            );
        }
    });
    // With `require`, a server without TLS is an error.
    let error = run(refused(&format!("{}&sslmode=require", server()), &own));
    assert_eq!(error.kind(), PostgresErrorKind::Unavailable);
    assert!(error.to_string().contains("TLS"), "{error}");
}

#[test]
#[ignore = "needs a server: tests/postgres/run"]
fn many_searches_at_once_are_all_answered() {
    let engine = small();
    let name = table_of(&engine);
    run(async {
        let options = changed(options(&name), |options| options.max_connections = 3);
        let source = PostgresSource::connect(&server(), engine.catalog(), &options).await.unwrap();
        let expected = engine.search(&all(engine.catalog())).unwrap().to_json();
        let searches: Vec<_> = (0..100)
            .map(|number| {
                let (source, request) = (source.clone(), all(engine.catalog()));
                let request = if number % 2 == 0 {
                    request
                } else {
                    request.with_order(Order::parse(engine.catalog(), "id").unwrap())
                };
                // Futures of searches are `Send`.
                tokio::spawn(async move { source.search(&request).await })
            })
            .collect();
        for search in searches {
            assert_eq!(search.await.unwrap().unwrap().into_json(), expected);
        }
        assert!(source.stats().connections <= 3);
    });
}
