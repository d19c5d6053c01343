//! Tests searches that are stopped at the timeout of the service, and searches whose clients disconnect.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::ServiceOptions;
use casefilter::{ImportMode, Store};

use super::client::{Client, head};
use super::server::{Database, SEARCH, Server, changed, key};

/// The number of cases that are added to the database: four batches.
const CASES: usize = 200_000;

/// The number of pairs of criteria in the body of a slow search.
const PAIRS: usize = 1_200;

const FAST: &[u8] = br#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#;

/// Returns a database with some hundred thousand cases.
pub(super) fn database() -> Database {
    let database = Database::new("plain.cases.ndjson");
    let store: Store = database.open();
    let mut import = store.import(ImportMode::Strict).unwrap();
    let mut text = String::new();
    for number in 0..CASES {
        let (amount, day, hour) = (number * 7_919 % CASES, number * 31 % 28 + 1, number * 17 % 24);
        let _ = writeln!(
            text,
            r#"{{"id":"slow-{number}","totalAmountInDefaultCurrency":{amount},"createdAt":"2024-03-{day:02} {hour:02}:00:00"}}"#
        );
    }
    import.push(text.as_bytes()).unwrap();
    import.commit().unwrap();
    store.close().unwrap();
    database
}

/// Returns a body of as many criteria as the limits allow, none of which an index decides. Different bodies are not cached.
pub(super) fn slow_body(number: usize) -> Vec<u8> {
    let pair = |at: usize| {
        let (amount, day, minute) = (at * 163 % CASES + number, at % 28 + 1, at % 60);
        format!(
            r#"{{"op":"$and","children":[{{"field":"totalAmountInDefaultCurrency","op":">","values":["{amount}"]}},{{"field":"createdAt","op":"<","values":["2024-03-{day:02} 10:{minute:02}:00"]}}]}}"#
        )
    };
    let pairs: Vec<String> = (0..PAIRS).map(pair).collect();
    format!(r#"{{"criteria":[{{"op":"$or","children":[{}]}}]}}"#, pairs.join(",")).into_bytes()
}

/// Starts a service that searches its file, even if the tests run with PostgreSQL.
fn server(database: Database, search_timeout: Duration) -> Server {
    let options = changed(ServiceOptions::default(), |options| options.search_timeout = search_timeout);
    Server::with_source(database, options, None, None)
}

/// Returns the number of searches that were stopped for this cause.
pub(super) fn stopped(server: &Server, cause: &str) -> u64 {
    let start = format!("casefilter_searches_stopped_total{{cause=\"{cause}\"}} ");
    let metrics = server.metrics();
    metrics.text().lines().find_map(|line| line.strip_prefix(&start)?.parse().ok()).unwrap()
}

#[test]
fn a_search_that_takes_too_long_gets_503_and_is_stopped() {
    let server = server(database(), Duration::from_millis(1));
    let (mut client, all) = (server.client(), key("all"));
    let count = format!("{SEARCH}?limit=0&countTotalItems=true");
    for number in 0..3 {
        let answer = client.call(&all, "POST", &count, &slow_body(number));
        let description = answer.failure(503);
        assert_eq!(
            description,
            "the search took longer than the service allows, search for fewer cases or try again later"
        );
        assert_eq!(answer.code(), (5033, "SearchTimeoutException".to_owned()));
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!((stopped(&server, "timeout"), stopped(&server, "disconnected")), (3, 0));
    // The connection and the service go on.
    client.get("/readyz").good();
    // Errors in a request are reported even if there is no time for its search.
    client.call(&all, "POST", &count, b"{}").failure(400);
    server.stop();
}

#[test]
fn a_time_that_is_over_before_the_search_stops_every_search() {
    let server = server(Database::new("plain.cases.ndjson"), Duration::from_nanos(1));
    let (mut client, all) = (server.client(), key("all"));
    for query in ["", "?limit=0&countTotalItems=true", "?order=-createdAt&limit=700&offset=3"] {
        let answer = client.call(&all, "POST", &format!("{SEARCH}{query}"), FAST);
        assert_eq!(answer.code(), (5033, "SearchTimeoutException".to_owned()), "{query}");
    }
    assert_eq!(stopped(&server, "timeout"), 3);
    server.stop();
}

#[test]
fn without_a_limit_a_slow_search_is_answered() {
    let server = server(database(), Duration::ZERO);
    let (mut client, all) = (server.client(), key("all"));
    let answer = client.call(&all, "POST", &format!("{SEARCH}?limit=1&countTotalItems=true"), &slow_body(0));
    assert!(answer.good()["list"]["totalItems"].as_u64() > Some(0));
    assert_eq!((stopped(&server, "timeout"), stopped(&server, "disconnected")), (0, 0));
    server.stop();
}

#[test]
fn a_search_stops_when_its_client_has_gone() {
    let server = server(database(), Duration::ZERO);
    let all = key("all");
    let count = format!("{SEARCH}?limit=0&countTotalItems=true");
    let start = Instant::now();
    // The client may disconnect before the search begins or after it ends, so the delays vary.
    for number in 1.. {
        let body = slow_body(number);
        let mut client: Client = server.client();
        // The response to the first request stays unread, so the client closes its socket by a reset.
        client.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        client.send(format!("{}\r\n", head(&all, "POST", &count, &body)).as_bytes()).unwrap();
        client.send(&body).unwrap();
        thread::sleep(Duration::from_millis(20 + 7 * number as u64 % 90));
        drop(client);
        // All threads of the service are free again: the search was stopped, or had ended.
        while !server.metrics().text().contains("\ncasefilter_requests_at_work 0\n") {
            assert!(start.elapsed() < Duration::from_secs(60), "a search goes on");
            thread::sleep(Duration::from_millis(2));
        }
        if stopped(&server, "disconnected") > 0 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no search was stopped");
    }
    assert_eq!(stopped(&server, "timeout"), 0);
    server.client().call(&all, "POST", SEARCH, FAST).good();
    server.stop();
}
