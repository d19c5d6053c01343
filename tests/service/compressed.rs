//! Tests compressed responses: the codings, pages that are sent in pieces, streams of events, and limits.

use std::io::Read;

use casefilter::service::ServiceOptions;
use flate2::read::GzDecoder;

use super::client::{Client, Key, Response, head};
use super::http2_client::{
    DATA, END_STREAM, Frames, HEADERS, Http2, INITIAL_WINDOW_SIZE, field, on, plain_head, signed, signed_head,
};
use super::large::{cases, database};
use super::server::{Database, FILTERS, SEARCH, STREAM, Server, key, status_of};

const ALL: &[u8] = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;

/// Sends a request with `Accept-Encoding`. The body of the response is as it was sent, without the framing of chunks.
fn call(client: &mut Client, key: &Key, method: &str, target: &str, body: &[u8], accept: &str) -> Response {
    let mut request = head(key, method, target, body).into_bytes();
    request.extend_from_slice(format!("Accept-Encoding: {accept}\r\n\r\n").as_bytes());
    request.extend_from_slice(body);
    client.send(&request).unwrap();
    let mut response = client.receive().unwrap();
    if response.header("transfer-encoding") == Some("chunked") {
        while let Some(chunk) = client.chunk_bytes().unwrap() {
            response.body.extend_from_slice(&chunk);
        }
    }
    response
}

/// Unpacks the body of a response.
fn unpack(response: &Response) -> String {
    let mut text = String::new();
    match response.header("content-encoding") {
        None => return response.text().to_owned(),
        Some("gzip") => GzDecoder::new(&*response.body).read_to_string(&mut text).map(drop).unwrap(),
        Some("zstd") => {
            // A client with little memory can unpack it.
            let mut decoder = zstd::stream::read::Decoder::new(&*response.body).unwrap();
            decoder.window_log_max(17).unwrap();
            decoder.read_to_string(&mut text).unwrap();
        }
        Some(other) => panic!("{other}"),
    }
    text
}

#[test]
fn responses_are_compressed_if_the_client_asks_for_it() {
    let server = Server::with("plain.cases.ndjson", ServiceOptions::default());
    let all = key("all");
    let mut client = server.client();
    for limit in [1, 20, 700] {
        let target = format!("{SEARCH}?limit={limit}");
        let plain = client.call(&all, "POST", &target, ALL);
        assert!(plain.header("content-encoding").is_none());
        assert_eq!(plain.header("vary"), Some("accept-encoding"));
        let text = plain.text();
        for (accept, expected) in [
            ("gzip", Some("gzip")),
            ("zstd", Some("zstd")),
            ("gzip, deflate, br, zstd", Some("zstd")),
            ("gzip;q=0.9, zstd;q=0.1", Some("gzip")),
            ("identity", None),
            ("*", None),
            ("br", None),
            ("gzip;q=0", None),
            ("identity;q=0, gzip", Some("gzip")),
        ] {
            let answer = call(&mut client, &all, "POST", &target, ALL, accept);
            let is_small = text.len() < 1024 && accept != "identity;q=0, gzip";
            let expected = expected.filter(|_| !is_small);
            assert_eq!(
                (answer.status, answer.header("content-encoding")),
                (200, expected),
                "{accept} {limit}"
            );
            assert_eq!(answer.header("vary"), Some("accept-encoding"));
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(unpack(&answer), text, "{accept} {limit}");
            if expected.is_some() && limit > 1 {
                assert!(
                    answer.body.len() * 2 < text.len(),
                    "{accept}: {} of {}",
                    answer.body.len(),
                    text.len()
                );
            }
        }
    }
    // An error is compressed, too, but a short one only if it must be.
    let error = call(&mut client, &all, "GET", &status_of("nobody"), b"", "gzip");
    assert!(error.status == 404 && error.header("content-encoding").is_none());
    let error = call(&mut client, &all, "GET", &status_of("nobody"), b"", "gzip, identity;q=0");
    assert!(error.status == 404 && unpack(&error).contains("4041"));
    // Nothing is done for a request that accepts no coding.
    for accept in ["identity;q=0", "*;q=0", "br, *;q=0"] {
        let refused = call(&mut server.client(), &all, "GET", FILTERS, b"", accept);
        assert!(refused.failure(400).contains("accepts none of"), "{accept}");
        assert!(refused.header("content-encoding").is_none());
    }
    server.stop();
}

#[test]
fn large_pages_are_compressed_while_they_are_read_and_the_memory_is_released() {
    use std::fmt::Write as _;
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("cases.ndjson");
    let mut cases = String::new();
    for number in 0..3000_u32 {
        let note: String =
            (0..100).map(|at| format!("{:x}", number.wrapping_mul(2_654_435_761).rotate_left(at))).collect();
        let _ = writeln!(cases, r#"{{"id":"{number:05}","note":"{note}"}}"#);
    }
    std::fs::write(&path, cases).unwrap();
    let server =
        Server::with_source(Database::new(path.to_str().unwrap()), ServiceOptions::default(), None, None);
    let all = key("all");
    let target = format!("{SEARCH}?limit=3000");
    let plain = server.client().call(&all, "POST", &target, ALL);
    assert!(plain.body.len() > 1 << 20);
    let workers: Vec<_> = ["gzip", "zstd", "zstd", "gzip"]
        .map(|accept| {
            let (mut client, all, target) = (server.client(), all.clone(), target.clone());
            let expected = plain.text().to_owned();
            std::thread::spawn(move || {
                for _ in 0..3 {
                    let answer = call(&mut client, &all, "POST", &target, ALL, accept);
                    assert_eq!(answer.header("content-encoding"), Some(accept));
                    assert!(unpack(&answer) == expected);
                }
            })
        })
        .into_iter()
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    // Clients that read nothing, or disconnect, keep no encoder.
    for _ in 0..100 {
        let mut client = server.client();
        let mut request = head(&all, "POST", &target, ALL).into_bytes();
        request.extend_from_slice(b"Accept-Encoding: zstd\r\n\r\n");
        request.extend_from_slice(ALL);
        client.send(&request).unwrap();
    }
    let start = std::time::Instant::now();
    while server
        .metrics()
        .text()
        .lines()
        .any(|line| line.strip_prefix("casefilter_outgoing_bytes ").is_some_and(|bytes| bytes != "0"))
    {
        assert!(start.elapsed().as_secs() < 20, "memory is not released");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // An encoder ends after the memory of its page is released. While all are taken, a page is sent as it is.
    while call(&mut server.client(), &all, "POST", &target, ALL, "zstd").header("content-encoding").is_none()
    {
        assert!(start.elapsed().as_secs() < 20, "encoders are not released");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    server.stop();
}

#[test]
fn a_token_and_a_client_without_a_token_leave_encoders_to_others() {
    let (_folder, database) = database(&cases(3000, 1000, "x"));
    let server = on(database, ServiceOptions::default());
    let (all, other, page) = (key("all"), key("viewCases"), format!("{SEARCH}?limit=3000"));
    // Answers whose windows are not opened, each with an encoder as long as there is one.
    let mut unread = Frames::new(server.address, &[(INITIAL_WINDOW_SIZE, 0)]);
    let accept = field("accept-encoding", "zstd");
    for _ in 0..40 {
        let stream = unread.head(0, &[signed_head(&all, "POST", &page, ALL), accept.clone()].concat());
        unread.send(DATA, END_STREAM, stream, ALL).unwrap();
    }
    (0..40).for_each(|_| drop(unread.receive_kind(HEADERS).unwrap()));
    let mut client = Http2::new(server.address);
    let mut ask = |key: &Key, target: &str, accept: &str| {
        let mut request = signed(key, "POST", target, ALL);
        request.headers_mut().insert("accept-encoding", accept.parse().unwrap());
        let sent = client.send(request, ALL).unwrap();
        client.wait(sent).unwrap()
    };
    let coding = |answer: &Response| (answer.status, answer.header("content-encoding").map(str::to_owned));
    assert_eq!(coding(&ask(&all, &page, "zstd")), (200, None));
    let refused = ask(&all, &page, "zstd, identity;q=0");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    // It has the status with which it is counted and recorded.
    let counted = "casefilter_http_requests_total{operation=\"casesByFilter\",status=\"503\"} 1\n";
    assert!(server.metrics().text().contains(counted));
    // Smaller answers, and those of other tokens, are compressed.
    let zstd = || Some("zstd".to_owned());
    assert_eq!(coding(&ask(&all, &format!("{SEARCH}?limit=5"), "zstd, identity;q=0")), (200, zstd()));
    assert_eq!(coding(&ask(&other, &page, "zstd, identity;q=0")), (200, zstd()));
    // Requests without a token take some of the rest, and leave some.
    let mut unsigned = Frames::new(server.address, &[(INITIAL_WINDOW_SIZE, 0)]);
    for _ in 0..40 {
        unsigned.head(END_STREAM, &[plain_head("GET", "/openapi.json"), accept.clone()].concat());
        unsigned.receive_kind(HEADERS).unwrap();
    }
    assert_eq!(coding(&ask(&other, &page, "zstd, identity;q=0")), (200, zstd()));
    drop((unread, unsigned));
    let start = std::time::Instant::now();
    while ask(&all, &page, "zstd").header("content-encoding").is_none() {
        assert!(start.elapsed().as_secs() < 20, "encoders are not released");
    }
    server.stop();
}

#[test]
fn streams_of_events_are_not_compressed() {
    // A source has no events.
    let database = Database::new("plain.cases.ndjson");
    let server = Server::with_source(database, ServiceOptions::default(), None, None);
    let mut client = server.client();
    let request = head(&key("all"), "GET", STREAM, b"") + "Accept-Encoding: gzip\r\n\r\n";
    client.send(request.as_bytes()).unwrap();
    let response = client.receive().unwrap();
    assert_eq!((response.status, response.header("content-type")), (200, Some("text/event-stream")));
    assert!(response.header("content-encoding").is_none());
    drop(client);
    server.stop();
}
