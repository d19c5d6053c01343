//! Tests the service over HTTP/2: its answers and limits are those of HTTP/1.1.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use axum::http::Request;
use casefilter::service::ServiceOptions;
use serde_json::Value;

use super::client::Response;
use super::http2_client::{
    DATA, END_STREAM, Frames, GOAWAY, HEADERS, Http2, Sent, connect, field, on, signed, signed_head, start,
};
use super::process::Process;
use super::search_stop::{database, slow_body, stopped};
use super::server::{
    Database, EVENTS, FILTERS, PREVIEW, SEARCH, STREAM, Server, aml_of, changed, data, info_of, key,
    status_of,
};

const ALL: &[u8] = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;
const BODY: &[u8] = br#"{"ids":["x"]}"#;

fn options() -> ServiceOptions {
    ServiceOptions::default()
}

/// Returns the value of a metric.
pub(super) fn metric(server: &Server, name: &str) -> u64 {
    let metrics = server.metrics();
    let line = metrics.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

/// Waits until a metric has a value.
pub(super) fn wait_for(server: &Server, name: &str, expected: u64) {
    let start = Instant::now();
    while metric(server, name) != expected {
        assert!(start.elapsed() < Duration::from_secs(20), "{name} is {}", metric(server, name));
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns what must be the same over both protocols.
fn essence(answer: &Response) -> (u16, Vec<(String, String)>, Value) {
    let mut headers = answer.headers.clone();
    headers.retain(|(name, _)| !["date", "x-correlation-id", "connection"].contains(&&**name));
    headers.sort();
    let mut body = serde_json::from_slice(&answer.body).unwrap_or_default();
    if let Value::Object(members) = &mut body {
        members.remove("correlationId");
    }
    (answer.status, headers, body)
}

#[test]
fn answers_are_those_of_http_1() {
    let (server, plain) = (start(options()), Server::start());
    let (mut http2, mut http1) = (Http2::new(server.address), plain.client());
    let pages = ["limit=1", "limit=700&order=id", "limit=3&order=-createdAt&countTotalItems=true", "limit=x"];
    let searches = pages.map(|page| format!("{SEARCH}?{page}"));
    let mut calls: Vec<(&str, &str, &str, &[u8])> =
        searches.iter().map(|target| ("all", "POST", target.as_str(), ALL)).collect();
    let [status, aml, info, unknown] =
        [status_of("anna"), aml_of("anna"), info_of("anna"), status_of("nobody")];
    calls.extend([
        ("all", "GET", FILTERS, &b""[..]),
        ("all", "GET", &status, b""),
        ("all", "GET", &unknown, b""),
        ("none", "GET", &status, b""),
        ("all", "GET", &aml, b""),
        ("all", "PATCH", &info, br#"{"firstName":"Anne"}"#),
        ("all", "PATCH", &info, b"{"),
        ("all", "GET", PREVIEW, b""),
        ("all", "POST", "/nowhere", b""),
        ("all", "POST", FILTERS, b""),
        ("all", "GET", "/openapi.json", b""),
    ]);
    for (token, method, target, body) in calls {
        let found = http2.call(&key(token), method, target, body);
        let expected = http1.call(&key(token), method, target, body);
        assert_eq!(essence(&found), essence(&expected), "{method} {target}");
        assert_eq!(found.header("x-correlation-id").unwrap().len(), 32);
        assert_eq!(found.header("connection"), None);
    }
    // A body of more than the windows.
    let mut large = BODY.to_vec();
    large.resize(3 << 20, b' ');
    http2.call(&key("all"), "POST", SEARCH, &large).good();
    // A response to HEAD has no body.
    for target in ["/healthz", "/nowhere"] {
        let found = http2.plain("HEAD", target);
        assert_eq!(found.status, http2.plain("GET", target).status);
        assert!(found.body.is_empty() && found.header("content-length").unwrap() != "0", "{found:?}");
    }
    plain.stop();
    server.stop();
}

#[test]
fn requests_on_one_connection_run_at_the_same_time() {
    let server = start(options());
    let mut client = Http2::new(server.address);
    let all = key("all");
    let waiting: Vec<_> =
        (0..10).map(|_| client.begin(&all, "GET", &format!("{EVENTS}?after=0&wait=30"), b"")).collect();
    wait_for(&server, "casefilter_event_listeners", 10);
    let expected = client.call(&all, "POST", &format!("{SEARCH}?limit=700"), ALL);
    expected.good();
    for _ in 0..3 {
        let sent: Vec<_> =
            (0..40).map(|_| client.begin(&all, "POST", &format!("{SEARCH}?limit=700"), ALL)).collect();
        for sent in sent {
            assert!(client.wait(sent).unwrap().body == expected.body);
        }
    }
    assert!(waiting.iter().all(|sent| !sent.is_answered()));
    waiting.into_iter().for_each(Sent::cancel);
    wait_for(&server, "casefilter_event_listeners", 0);
    server.stop();
}

#[test]
fn answers_are_compressed() {
    let server = start(options());
    let mut client = Http2::new(server.address);
    let target = format!("{SEARCH}?limit=700");
    let plain = client.call(&key("all"), "POST", &target, ALL);
    for coding in ["gzip", "zstd"] {
        let mut request = signed(&key("all"), "POST", &target, ALL);
        request.headers_mut().insert("accept-encoding", coding.parse().unwrap());
        let sent = client.send(request, ALL).unwrap();
        let found = client.wait(sent).unwrap();
        assert_eq!(found.header("content-encoding"), Some(coding));
        assert!(found.body.len() < plain.body.len() / 4);
    }
    server.stop();
}

/// Returns the protocol on which a client and a service agree.
fn agreed(address: SocketAddr, protocols: &[&str]) -> Option<String> {
    let stream = connect(address, protocols).ok()?;
    Some(
        stream.conn.alpn_protocol().map(|name| String::from_utf8(name.to_vec()).unwrap()).unwrap_or_default(),
    )
}

#[test]
fn the_protocol_is_chosen_in_the_tls_handshake() {
    let server = start(options());
    let agreed_with = |protocols: &[&str]| agreed(server.address, protocols);
    assert_eq!(agreed_with(&["h2", "http/1.1"]).as_deref(), Some("h2"));
    assert_eq!(agreed_with(&["http/1.1", "h2"]).as_deref(), Some("h2"));
    assert_eq!(agreed_with(&["http/1.1"]).as_deref(), Some("http/1.1"));
    assert_eq!(agreed_with(&[]).as_deref(), Some(""));
    assert_eq!(agreed_with(&["spdy/3"]), None);
    // A client without a choice gets HTTP/1.1.
    for protocols in [&["http/1.1"][..], &[]] {
        let mut stream = connect(server.address, protocols).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    server.stop();
    let server = start(changed(options(), |options| options.http2 = false));
    assert_eq!(agreed(server.address, &["h2", "http/1.1"]).as_deref(), Some("http/1.1"));
    assert_eq!(agreed(server.address, &["h2"]), None);
    server.stop();
    // Without TLS, there is no HTTP/2.
    let server = Server::start();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&answer));
    server.stop();
}

#[test]
fn a_request_names_one_host() {
    let server = start(options());
    let mut client = Http2::new(server.address);
    for (hosts, status) in [
        (&[][..], 200),
        (&["localhost"], 200),
        (&["LOCALHOST"], 200),
        (&["other"], 400),
        (&["localhost"; 2], 400),
    ] {
        let mut request = Request::builder().uri("https://localhost/healthz");
        for host in hosts {
            request = request.header("host", *host);
        }
        let sent = client.send(request.body(()).unwrap(), b"").unwrap();
        assert_eq!(client.wait(sent).unwrap().status, status, "{hosts:?}");
    }
    // Heads without `:authority`, as a proxy makes them of requests over HTTP/1.1. The statuses are in HPACK: 200 and 400.
    let mut client = Frames::new(server.address, &[]);
    for (hosts, status) in [(1, 0x88), (0, 0x8c), (2, 0x8c)] {
        let pseudo = [(":method", "GET"), (":scheme", "https"), (":path", "/healthz")];
        let hosts = [("host", "localhost"); 2].into_iter().take(hosts);
        let fields = pseudo.into_iter().chain(hosts);
        let stream =
            client.head(END_STREAM, &fields.flat_map(|(name, value)| field(name, value)).collect::<Vec<_>>());
        let answer = client.receive_kind(HEADERS).unwrap();
        assert_eq!((answer.stream, answer.payload[0]), (stream, status), "{:?}", answer.payload);
    }
    server.stop();
}

#[test]
fn each_further_request_at_the_same_time_counts_as_a_connection() {
    let server = start(changed(options(), |options| {
        options.connections = 4;
        options.connections_per_peer = 4;
    }));
    let all = key("all");
    let wait = format!("{EVENTS}?after=0&wait=30");
    let mut client = Http2::new(server.address);
    let mut waiting: Vec<_> = (0..3).map(|_| client.begin(&all, "GET", &wait, b"")).collect();
    wait_for(&server, "casefilter_event_listeners", 3);
    assert_eq!(metric(&server, "casefilter_connections"), 3);
    // The fourth place is free, for a request or for a connection.
    client.call(&all, "POST", SEARCH, BODY).good();
    let mut other = Http2::new(server.address);
    other.call(&all, "POST", SEARCH, BODY).good();
    let refused = client.call(&all, "POST", SEARCH, BODY);
    refused.failure(503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    // A connection over the limit gets 503, and ends.
    let mut third = Http2::new(server.address);
    third.call(&all, "POST", SEARCH, BODY).failure(503);
    third.end();
    // The other connection may use its own place, but no further one.
    other.call(&all, "POST", SEARCH, BODY).good();
    // A request that ends frees its place.
    waiting.pop().unwrap().cancel();
    wait_for(&server, "casefilter_event_listeners", 2);
    client.call(&all, "POST", SEARCH, BODY).good();
    drop(client);
    wait_for(&server, "casefilter_connections", 1);
    server.stop();
}

#[test]
fn the_limits_of_a_token_hold() {
    let server = start(changed(options(), |options| options.requests_per_second = 5));
    let mut client = Http2::new(server.address);
    let sent: Vec<_> = (0..30).map(|_| client.begin(&key("all"), "GET", FILTERS, b"")).collect();
    let statuses: Vec<u16> = sent.into_iter().map(|sent| client.wait(sent).unwrap().status).collect();
    assert!((20..=25).contains(&statuses.iter().filter(|status| **status == 429).count()), "{statuses:?}");
    client.call(&key("viewCases"), "GET", FILTERS, b"").good();
    server.stop();
}

#[test]
fn a_request_that_is_too_large_is_rejected_and_the_connection_goes_on() {
    let mut options = options();
    options.limits.body_bytes = 10_000;
    let server = start(options);
    let mut client = Http2::new(server.address);
    let all = key("all");
    assert!(
        client
            .call(&all, "POST", SEARCH, &[b' '; 200_000])
            .failure(413)
            .contains("found a body of 200000 bytes")
    );
    // Without an announced length.
    let request = Request::builder().method("POST").uri(format!("https://localhost{SEARCH}"));
    let sent = client.send(request.body(()).unwrap(), &[b' '; 20_000]).unwrap();
    client.wait(sent).unwrap().failure(413);
    // Heads: over the size, and with too many headers.
    for (count, length) in [(1, 70_000), (200, 1)] {
        let mut request = Request::builder().uri("https://localhost/healthz");
        for number in 0..count {
            request = request.header(format!("x-{number}"), "x".repeat(length));
        }
        let sent = client.send(request.body(()).unwrap(), b"").unwrap();
        assert_eq!(client.wait(sent).unwrap().status, 431, "{count} {length}");
    }
    client.call(&all, "POST", SEARCH, BODY).good();
    server.stop();
}

#[test]
fn a_search_stops_when_its_stream_is_reset_or_its_client_has_gone() {
    let server = on(database(), changed(options(), |options| options.search_timeout = Duration::ZERO));
    let all = key("all");
    let count = format!("{SEARCH}?limit=0&countTotalItems=true");
    let start = Instant::now();
    for is_reset in [true, false] {
        let before = stopped(&server, "disconnected");
        for number in 1.. {
            let mut client = Http2::new(server.address);
            let search = client.begin(&all, "POST", &count, &slow_body(number));
            thread::sleep(Duration::from_millis(20 + 7 * number as u64 % 90));
            if is_reset {
                search.cancel();
                // The connection goes on.
                assert_eq!(client.plain("GET", "/healthz").status, 200);
            } else {
                drop(client);
            }
            wait_for(&server, "casefilter_requests_at_work", 0);
            if stopped(&server, "disconnected") > before {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no search was stopped");
        }
    }
    server.stop();
}

#[test]
fn a_stream_of_events_ends_with_its_client() {
    let server = start(options());
    let all = key("all");
    let mut client = Http2::new(server.address);
    let first = client.begin(&all, "GET", STREAM, b"");
    let _second = client.begin(&all, "GET", STREAM, b"");
    wait_for(&server, "casefilter_event_listeners", 2);
    first.cancel();
    wait_for(&server, "casefilter_event_listeners", 1);
    drop(client);
    wait_for(&server, "casefilter_event_listeners", 0);
    wait_for(&server, "casefilter_connections", 0);
    server.stop();
}

#[test]
fn a_shutdown_answers_requests_in_flight_and_ends_streams() {
    let server = start(options());
    let all = key("all");
    let [mut idle, mut busy] = [Http2::new(server.address), Http2::new(server.address)];
    idle.call(&all, "POST", SEARCH, BODY).good();
    let events = busy.begin(&all, "GET", STREAM, b"");
    let waiting = busy.begin(&all, "GET", &format!("{EVENTS}?after=0&wait=30"), b"");
    wait_for(&server, "casefilter_event_listeners", 2);
    let mut half = Frames::new(server.address, &[]);
    let update = br#"{"stateOfBirth":"last words"}"#;
    let stream = half.head(0, &signed_head(&all, "PATCH", &info_of("anna"), update));
    half.send(DATA, 0, stream, &update[..5]).unwrap();
    wait_for(&server, "casefilter_connections", 4);
    let begun = Instant::now();
    let (database, thread) = server.ask_to_stop();
    assert_eq!(busy.wait(waiting).unwrap().status, 200);
    assert_eq!(busy.wait(events).unwrap().status, 200);
    // Both connections end by GOAWAY, and the third one as soon as its request has ended.
    idle.end();
    busy.end();
    assert!(!thread.is_finished());
    let goaway = half.receive_kind(GOAWAY).unwrap();
    assert_eq!(goaway.error(), 0);
    half.send(DATA, END_STREAM, stream, &update[5..]).unwrap();
    let head = half.receive_kind(HEADERS).unwrap();
    // The status 200 in HPACK.
    assert_eq!((head.stream, head.payload[0]), (stream, 0x88));
    half.end();
    thread.join().unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let text = database.open().records().unwrap().get("applicant", "anna").unwrap().unwrap();
    assert!(text.contains("last words"));
}

#[test]
fn a_service_that_drains_answers_and_asks_to_connect_anew() {
    let server = start(changed(options(), |options| options.shutdown_delay = Duration::from_secs(3)));
    let (address, all) = (server.address, key("all"));
    let mut client = Http2::new(address);
    client.call(&all, "POST", SEARCH, BODY).good();
    let (_database, thread) = server.ask_to_stop();
    thread::sleep(Duration::from_millis(200));
    // The connection stays open until its next answer.
    client.call(&all, "POST", SEARCH, BODY).good();
    client.end();
    let mut client = Http2::new(address);
    assert_eq!(client.plain("GET", "/readyz").status, 503);
    client.end();
    thread.join().unwrap().unwrap();
}

#[test]
fn curl_uses_http_2() {
    let database = Database::new("plain.cases.ndjson");
    let [cert, tls_key] =
        ["cert", "key"].map(|name| data(&format!("tls/{name}.pem")).to_str().unwrap().to_owned());
    for (flag, http2, expected) in [
        (None, "--http2", "2 200"),
        (Some("--no-http2"), "--http2", "1.1 200"),
        (None, "--http1.1", "1.1 200"),
    ] {
        let mut arguments = vec!["--tls-cert", &cert, "--tls-key", &tls_key];
        arguments.extend(flag);
        let process = Process::start(&database, &arguments);
        let url = format!("https://localhost:{}/healthz", process.address.port());
        let curl = Command::new("curl")
            .args([
                "-sS",
                http2,
                "--cacert",
                &cert,
                "--connect-to",
                &format!("localhost::{}:", process.address.ip()),
            ])
            .args(["-o", "/dev/null", "-w", "%{http_version} %{http_code}", &url])
            .output();
        let Ok(curl) = curl else { return eprintln!("skipped: curl is not installed") };
        let errors = String::from_utf8_lossy(&curl.stderr);
        if errors.contains("does not support") {
            return eprintln!("skipped: this curl has no HTTP/2");
        }
        assert_eq!(String::from_utf8_lossy(&curl.stdout), expected, "{errors}");
        process.terminate();
    }
}
