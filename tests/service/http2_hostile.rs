//! Sends frames of HTTP/2 that a hostile client would send: the service ends the connection or the stream in time, and goes on.

use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::ServiceOptions;

use super::client::Client;
use super::http2_client::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, Http2, INITIAL_WINDOW_SIZE, PING,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, field, frame, on, plain_head, signed_head, start,
};
use super::large::{cases, database};
use super::server::{EVENTS, SEARCH, Server, changed, key};

const ALL: &[u8] = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;

/// The error codes of RFC 9113, section 7.
const NO_ERROR: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;
const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

const TIMEOUT: Duration = Duration::from_millis(400);

/// Returns options with short times.
fn impatient() -> ServiceOptions {
    changed(ServiceOptions::default(), |options| {
        options.read_timeout = TIMEOUT;
        options.write_timeout = TIMEOUT;
    })
}

/// Returns the number of open connections.
fn connections(server: &Server) -> String {
    let metrics = Client::new(server.metrics_address()).get("/metrics");
    let line = metrics.text().lines().find_map(|line| line.strip_prefix("casefilter_connections "));
    line.unwrap().to_owned()
}

/// Waits until the service has no connection.
pub(super) fn wait_for_the_end(server: &Server) {
    let start = Instant::now();
    while connections(server) != "0" {
        assert!(start.elapsed() < Duration::from_secs(10), "{} connections are open", connections(server));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_connection_without_a_request_ends() {
    let server = start(impatient());
    let address = server.address;
    let half_head = &plain_head("GET", "/healthz")[..9];
    let start = Instant::now();
    // No preface, no request, a head that does not end, and many pings.
    let mut clients = vec![Frames::silent(address), Frames::new(address, &[])];
    let mut half = Frames::new(address, &[]);
    half.send(HEADERS, END_STREAM, 1, half_head).unwrap();
    clients.push(half);
    let mut answered = Frames::new(address, &[]);
    answered.head(END_STREAM, &plain_head("GET", "/healthz"));
    answered.receive_kind(HEADERS).unwrap();
    clients.push(answered);
    for (number, client) in clients.iter_mut().enumerate() {
        let (last, _) = client.end();
        assert!(start.elapsed() < Duration::from_secs(5), "{number}: {:?}", start.elapsed());
        assert_eq!(last.map(|last| last.error()), (number > 0).then_some(NO_ERROR), "{number}");
    }
    let mut noisy = Frames::new(address, &[]);
    let start = Instant::now();
    while noisy.send(PING, 0, 0, &[0; 8]).is_ok() {
        assert!(start.elapsed() < Duration::from_secs(5), "pings keep the connection open");
        thread::sleep(Duration::from_millis(5));
    }
    wait_for_the_end(&server);
    server.stop();
}

#[test]
fn a_slow_body_gets_408_and_other_streams_go_on() {
    let server = start(impatient());
    let all = key("all");
    let mut client = Frames::new(server.address, &[]);
    let start = Instant::now();
    let slow = client.head(0, &signed_head(&all, "POST", SEARCH, ALL));
    client.send(DATA, 0, slow, &ALL[..5]).unwrap();
    let mut reset = None;
    for _ in 0..8 {
        // Other requests do not extend the time.
        let other = client.head(END_STREAM, &plain_head("GET", "/healthz"));
        loop {
            match client.receive().expect("the connection goes on") {
                frame if frame.kind == DATA && frame.stream == other => break,
                frame if frame.kind == RST_STREAM => reset = Some((frame.stream, frame.error())),
                _ => {}
            }
        }
        thread::sleep(TIMEOUT / 4);
    }
    // The service does not read the rest of the body, so it resets the stream after its response.
    assert_eq!(reset, Some((slow, NO_ERROR)));
    assert!(start.elapsed() < Duration::from_secs(5));
    let metrics = server.metrics();
    assert!(
        metrics
            .text()
            .contains("casefilter_http_requests_total{operation=\"casesByFilter\",status=\"408\"} 1")
    );
    server.stop();
}

#[test]
fn a_client_that_never_opens_its_window_is_cut_off() {
    let (_folder, database) = database(&cases(3000, 8000, "x"));
    let server = on(database, impatient());
    let all = key("all");
    for target in [format!("{SEARCH}?limit=1"), format!("{SEARCH}?limit=30"), format!("{SEARCH}?limit=3000")]
    {
        let mut client = Frames::new(server.address, &[(INITIAL_WINDOW_SIZE, 0)]);
        let start = Instant::now();
        for _ in 0..5 {
            let stream = client.head(0, &signed_head(&all, "POST", &target, ALL));
            client.send(DATA, END_STREAM, stream, ALL).unwrap();
            assert_eq!(client.receive_kind(HEADERS).unwrap().stream, stream);
        }
        client.end();
        let took = start.elapsed();
        assert!(took > TIMEOUT / 2 && took < Duration::from_secs(5), "{took:?}");
        // The memory of the responses is free again.
        wait_for_the_end(&server);
        assert!(server.metrics().text().contains("\ncasefilter_outgoing_bytes 0\n"));
    }
    // A client that opens its window in small steps does not get more time.
    let mut client = Frames::new(server.address, &[(INITIAL_WINDOW_SIZE, 0)]);
    let start = Instant::now();
    let stream = client.head(0, &signed_head(&all, "POST", &format!("{SEARCH}?limit=3000"), ALL));
    client.send(DATA, END_STREAM, stream, ALL).unwrap();
    while client.send(WINDOW_UPDATE, 0, stream, &100_u32.to_be_bytes()).is_ok() {
        assert!(start.elapsed() < Duration::from_secs(5), "the client reads as slowly as it wants");
        thread::sleep(Duration::from_millis(20));
    }
    wait_for_the_end(&server);
    // A client that opens its window for more than a piece of the page each time does not get more time for the whole page.
    let mut client = Frames::new(server.address, &[]);
    let stream = client.head(0, &signed_head(&all, "POST", &format!("{SEARCH}?limit=3000"), ALL));
    client.send(DATA, END_STREAM, stream, ALL).unwrap();
    client.read_slowly(stream, 300_000, (TIMEOUT / 5, 10 * TIMEOUT));
    wait_for_the_end(&server);
    // A client that reads is not cut off.
    let mut client = Http2::new(server.address);
    for _ in 0..10 {
        client.call(&all, "POST", &format!("{SEARCH}?limit=50"), ALL).good();
        thread::sleep(TIMEOUT / 4);
    }
    server.stop();
}

#[test]
fn unread_responses_on_one_connection_take_at_most_half_of_the_memory() {
    let most = 16 << 20;
    let options = changed(ServiceOptions::default(), |options| options.outgoing_bytes = most);
    let (_folder, database) = database(&cases(3000, 8000, "x"));
    let server = on(database, options);
    let all = key("all");
    let mut client = Frames::new(server.address, &[(INITIAL_WINDOW_SIZE, 0)]);
    for _ in 0..40 {
        let stream = client.head(0, &signed_head(&all, "POST", &format!("{SEARCH}?limit=3000"), ALL));
        client.send(DATA, END_STREAM, stream, ALL).unwrap();
    }
    for _ in 0..40 {
        client.receive_kind(HEADERS).unwrap();
    }
    // Each large page reserves two chunks of 256 KiB: sixteen pages are half.
    let metrics = server.metrics();
    assert!(
        metrics.text().contains(&format!("\ncasefilter_outgoing_bytes {}\n", most / 2)),
        "{}",
        metrics.text()
    );
    let mut other = Http2::new(server.address);
    other.call(&all, "POST", &format!("{SEARCH}?limit=3000"), ALL).failure(503);
    other.call(&key("viewCases"), "POST", &format!("{SEARCH}?limit=3000"), ALL).good();
    drop(client);
    let start = Instant::now();
    while other.call(&all, "POST", &format!("{SEARCH}?limit=3000"), ALL).status != 200 {
        assert!(start.elapsed() < Duration::from_secs(10), "the memory is not released");
    }
    server.stop();
}

#[test]
fn streams_over_the_limit_are_refused() {
    let server =
        start(changed(ServiceOptions::default(), |options| options.event_listeners_per_token = 1000));
    let all = key("all");
    let mut client = Frames::new(server.address, &[]);
    let settings = client.receive_kind(SETTINGS).unwrap().payload;
    let most = settings.chunks(6).find(|one| one[..2] == [0, 3]).unwrap();
    assert_eq!(most[2..], 100_u32.to_be_bytes());
    let wait = format!("{EVENTS}?after=0&wait=30");
    let streams: Vec<u32> = (0..110).map(|_| client.get(&all, &wait)).collect();
    for stream in &streams[100..] {
        let reset = client.receive_kind(RST_STREAM).unwrap();
        assert_eq!((reset.stream, reset.error()), (*stream, REFUSED_STREAM));
    }
    // A stream that ends makes room for another one.
    client.send(RST_STREAM, 0, streams[0], &8_u32.to_be_bytes()).unwrap();
    let next = client.head(END_STREAM, &plain_head("GET", "/healthz"));
    assert_eq!(client.receive_kind(HEADERS).unwrap().stream, next);
    drop(client);
    wait_for_the_end(&server);
    server.stop();
}

#[test]
fn a_client_that_resets_its_streams_at_once_is_cut_off() {
    let server = start(ServiceOptions::default());
    let all = key("all");
    let mut client = Frames::new(server.address, &[]);
    let mut bytes = Vec::new();
    for _ in 0..1000 {
        let stream = client.next_stream();
        let head = signed_head(&all, "POST", SEARCH, b"");
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, &head));
        bytes.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
    }
    let _ = client.write(&bytes);
    let (last, took) = client.end();
    // The end of the connection may overtake the frame that says why.
    assert!(last.is_none_or(|last| last.error() == ENHANCE_YOUR_CALM));
    assert!(took < Duration::from_secs(5));
    wait_for_the_end(&server);
    let metrics = server.metrics();
    let start = "casefilter_http_requests_total{operation=\"casesByFilter\"";
    let counts = metrics.text().lines().filter(|line| line.starts_with(start));
    let count: u64 = counts.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert!(count < 500, "{count} requests were begun");
    assert_eq!(Http2::new(server.address).plain("GET", "/healthz").status, 200);
    server.stop();
}

#[test]
fn heads_without_an_end_and_broken_frames_end_the_connection() {
    let server = start(ServiceOptions::default());
    let head = plain_head("GET", "/healthz");
    let large = field("x", &"x".repeat(16_000));
    // Each has a head in very many parts: large ones, and empty ones.
    for (part, most) in [(&large[..], 2_000), (&[], 1_000_000)] {
        let mut client = Frames::new(server.address, &[]);
        client.send(HEADERS, END_STREAM, 1, &head).unwrap();
        let mut sent = 0;
        while sent < most && client.send(CONTINUATION, 0, 1, part).is_ok() {
            sent += 1;
        }
        assert!(sent < most, "all {sent} parts of {} bytes were taken", part.len());
    }
    for bytes in [
        // A stream of the service, a frame that is too long, a ping of a wrong length, and no preface at all.
        frame(HEADERS, END_HEADERS | END_STREAM, 2, &head),
        frame(DATA, 0, 1, &[0; 20_000]),
        frame(PING, 0, 0, &[0; 7]),
        frame(CONTINUATION, END_HEADERS, 1, &head),
        frame(WINDOW_UPDATE, 0, 0, &0_u32.to_be_bytes()),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xff; 40]),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &[&head[..], &field("Upper", "x")].concat()),
    ] {
        let mut client = Frames::new(server.address, &[]);
        let _ = client.write(&bytes);
        let (last, took) = client.end();
        assert!(last.unwrap().error() != NO_ERROR && took < Duration::from_secs(5), "{bytes:?}");
    }
    let mut client = Frames::silent(server.address);
    client.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert!(client.end().1 < Duration::from_secs(5));
    // Headers that HTTP/2 does not have, and content that is longer than announced, are errors of the stream.
    let mut client = Frames::new(server.address, &[]);
    for (name, value) in [("transfer-encoding", "chunked"), ("connection", "close")] {
        let mut head = head.clone();
        head.extend(field(name, value));
        let stream = client.head(END_STREAM, &head);
        let reset = client.receive_kind(RST_STREAM).unwrap();
        assert_eq!((reset.stream, reset.error()), (stream, PROTOCOL_ERROR), "{name}");
    }
    let mut head = signed_head(&key("all"), "POST", SEARCH, ALL);
    head.extend(field("content-length", "3"));
    let stream = client.head(0, &head);
    client.send(DATA, END_STREAM, stream, ALL).unwrap();
    let reset = client.receive_kind(RST_STREAM).unwrap();
    assert_eq!((reset.stream, reset.error()), (stream, PROTOCOL_ERROR));
    // Methods that have no path.
    let connect = [field(":method", "CONNECT"), field(":authority", "localhost:1")].concat();
    for head in [&connect, &plain_head("OPTIONS", "*")] {
        let stream = client.head(END_STREAM, head);
        assert_eq!(client.receive_kind(HEADERS).unwrap().stream, stream);
    }
    // hyper ends the connection of such a request. If it does not do that any more, SECURITY.md changes.
    let mut ended = Frames::new(server.address, &[]);
    ended.head(0, &[connect, field("content-length", "5")].concat());
    let (last, took) = ended.end();
    assert!(last.is_none() && took < Duration::from_secs(5), "{last:?} {took:?}");
    wait_for_healthy(&server, &mut client);
    server.stop();
}

/// Checks that a connection still answers.
fn wait_for_healthy(server: &Server, client: &mut Frames) {
    let stream = client.head(END_STREAM, &plain_head("GET", "/healthz"));
    assert_eq!(client.receive_kind(HEADERS).unwrap().stream, stream);
    assert_eq!(Http2::new(server.address).plain("GET", "/healthz").status, 200);
}

#[test]
fn very_many_empty_parts_of_a_body_end_the_connection() {
    let server = start(ServiceOptions::default());
    let mut client = Frames::new(server.address, &[]);
    let stream = client.head(0, &signed_head(&key("all"), "POST", SEARCH, ALL));
    let parts: Vec<u8> = (0..100).flat_map(|_| frame(DATA, 0, stream, b"")).collect();
    let start = Instant::now();
    while client.write(&parts).is_ok() {
        assert!(start.elapsed() < Duration::from_secs(5), "empty parts are taken");
    }
    assert_eq!(Http2::new(server.address).plain("GET", "/healthz").status, 200);
    server.stop();
}

#[test]
fn a_client_that_reads_nothing_cannot_make_the_service_keep_its_frames() {
    let server = start(changed(ServiceOptions::default(), |options| options.write_timeout = TIMEOUT));
    for kind in [PING, SETTINGS] {
        let mut client = Frames::new(server.address, &[]);
        client.stream().set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        // With a request in progress, the connection does not end for another reason.
        client.get(&key("all"), &format!("{EVENTS}?after=0&wait=30"));
        let payload: &[u8] = if kind == PING { &[0; 8] } else { &[] };
        let flood: Vec<u8> = (0..1000).flat_map(|_| frame(kind, 0, 0, payload)).collect();
        let (start, mut sent) = (Instant::now(), 0);
        // The service stops to read when it cannot write its replies, and then ends the connection. Until then, the systems of both
        // sides keep the frames and the replies.
        while client.write(&flood).is_ok() {
            sent += flood.len();
            assert!(sent < 64 << 20, "the service reads on without writing");
        }
        let took = start.elapsed();
        assert!(took >= TIMEOUT && took < Duration::from_secs(9), "{took:?}, {sent} bytes");
    }
    wait_for_the_end(&server);
    server.stop();
}
