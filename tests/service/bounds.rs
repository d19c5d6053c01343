//! Tests the limits of the service: too large, too slow or too many requests are rejected, and other requests are not affected.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::ServiceOptions;
use serde_json::Value;

use super::client::{Client, Key, head, now_s, sign};
use super::server::{Database, FILTERS, SEARCH, Server, changed, info_of, key, status_of};

const BODY: &[u8] = br#"{"ids":["x"]}"#;

fn options() -> ServiceOptions {
    ServiceOptions::default()
}

fn with(options: ServiceOptions) -> Server {
    Server::with("plain.cases.ndjson", options)
}

#[test]
fn the_requests_of_a_token_per_second_are_limited() {
    let options = changed(ServiceOptions::default(), |options| options.requests_per_second = 5);
    let server = Server::with("plain.cases.ndjson", options);
    let mut client = server.client();
    let mut status = |name: &str| client.call(&key(name), "GET", FILTERS, b"");
    let answers: Vec<_> = (0..30).map(|_| status("all")).collect();
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!((20..=25).contains(&refused.len()), "{}", refused.len());
    assert!(refused[0].failure(429).contains("more than 5 requests in a second"));
    assert_eq!((refused[0].code().0, refused[0].header("retry-after")), (4290, Some("1")));
    // Other tokens are not affected, and a wrong signature does not count.
    assert_eq!(status("viewCases").status, 200);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let wrong = super::client::Key { secret: "a wrong secret of some length".to_owned(), ..key("all") };
    for _ in 0..10 {
        client.call(&wrong, "GET", FILTERS, b"").failure(401);
    }
    assert_eq!(client.call(&key("all"), "GET", FILTERS, b"").status, 200);
    server.stop();
}

#[test]
fn requests_that_are_too_large_are_rejected() {
    let mut options = options();
    options.limits.body_bytes = 10_000;
    let server = with(options);
    let all = key("all");
    for size in [10_000, 10_001, 200_000] {
        let body = vec![b' '; size];
        let answer = server.client().call(&all, "POST", SEARCH, &body);
        if size <= 10_000 {
            assert!(answer.failure(400).starts_with("Invalid parameters: "));
        } else {
            assert!(
                answer
                    .failure(413)
                    .contains(&format!("found a body of {size} bytes, expected at most 10000"))
            );
            assert_eq!(answer.header("connection"), Some("close"));
        }
    }
    // A body without an announced length.
    let mut client = server.client();
    let head = head(&all, "POST", SEARCH, b"").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    client.send(format!("{head}\r\n").as_bytes()).unwrap();
    for _ in 0..12 {
        client.send(format!("3e8\r\n{}\r\n", " ".repeat(1000)).as_bytes()).unwrap();
    }
    client.send(b"0\r\n\r\n").unwrap();
    client.receive().unwrap().failure(413);
    // Request heads.
    let long = format!("GET /healthz HTTP/1.1\r\nHost: t\r\nX: {}\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET /healthz HTTP/1.1\r\nHost: t\r\n{}\r\n", "X: y\r\n".repeat(200));
    for head in [long, many] {
        let mut client = server.client();
        client.send(head.as_bytes()).unwrap();
        assert_eq!(client.receive().unwrap().status, 431, "{head:.60}");
    }
    server.client().call(&all, "POST", SEARCH, BODY).good();
    server.stop();
}

#[test]
fn a_client_with_expect_100_continue_gets_413_before_it_sends_the_body() {
    let mut options = options();
    options.limits.body_bytes = 100;
    let server = with(options);
    let mut client = server.client();
    let head = head(&key("all"), "POST", SEARCH, &[b' '; 101]);
    client.send(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    client.receive().unwrap().failure(413);
    server.stop();
}

#[test]
fn slow_clients_are_cut_off() {
    let timeout = Duration::from_millis(400);
    let server = with(changed(options(), |options| {
        options.read_timeout = timeout;
        options.write_timeout = timeout;
    }));
    let all = key("all");
    let start = Instant::now();
    // A client that sends nothing, one with a slow head, and one with a slow body.
    let mut silent = server.client();
    let mut half_head = server.client();
    half_head.send(b"POST / HTT").unwrap();
    let mut half_body = server.client();
    let head = head(&all, "POST", SEARCH, BODY);
    half_body.send(format!("{head}\r\n{{\"ids").as_bytes()).unwrap();
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(100));
        // On a busy machine the connection may be closed already.
        let _ = half_head.send(b"x");
    }
    assert!(half_body.receive().unwrap().failure(408).contains("in time"));
    for client in [&mut silent, &mut half_head, &mut half_body] {
        let _ = client.drain();
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());

    // A client that requests large pages again and again and reads nothing: the system buffers some megabytes.
    let deaf = server.client();
    let body = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;
    let target = format!("{SEARCH}?limit=700");
    let mut request = super::client::head(&all, "POST", &target, body).into_bytes();
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(body);
    let start = Instant::now();
    deaf.stream().set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut stream = deaf.stream();
    while stream.write_all(&request).is_ok() && start.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(2));
    }
    loop {
        let metrics = server.metrics();
        if metrics.text().lines().any(|line| line == "casefilter_connections 0") {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(15), "the client that does not read is still served");
        thread::sleep(Duration::from_millis(50));
    }
    server.stop();
}

#[test]
fn without_free_concurrency_requests_get_503() {
    // Concurrency 0: requests that need a blocking thread are rejected.
    let server = with(changed(options(), |options| options.concurrency = 0));
    let (mut client, all) = (server.client(), key("all"));
    for (method, target, body) in [
        ("POST", SEARCH, BODY),
        ("GET", &status_of("anna"), b""),
        ("PATCH", &info_of("anna"), b"{\"dob\":null}"),
    ] {
        let answer = client.call(&all, method, target, body);
        answer.failure(503);
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    // The connection stays open, and requests without blocking work are answered.
    client.call(&all, "GET", super::server::FILTERS, b"").good();
    server.stop();

    let server = with(changed(options(), |options| options.buffered_bytes = 8));
    let answer = server.client().call(&all, "POST", SEARCH, BODY);
    answer.failure(503);
    server.client().call(&all, "GET", &status_of("anna"), b"").good();
    server.stop();
}

#[test]
fn overload_gets_503_and_acknowledged_updates_are_kept() {
    let server = with(changed(options(), |options| options.concurrency = 3));
    let all = key("all");
    let (done, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let fields = ["firstName", "lastName", "placeOfBirth", "stateOfBirth"];
    let last: Vec<Option<u32>> = thread::scope(|scope| {
        let update = |number: usize| {
            let mut client = server.client();
            let mut last = None;
            // Four threads write, each to its own field; the others read.
            for round in 0..25_u32 {
                let answer = match fields.get(number) {
                    Some(field) => {
                        let body = format!("{{\"{field}\":\"{round}\"}}");
                        client.call(&all, "PATCH", &info_of("dana"), body.as_bytes())
                    }
                    None => client.call(&all, "GET", &status_of("anna"), b""),
                };
                match answer.status {
                    200 => {
                        done.fetch_add(1, Ordering::Relaxed);
                        last = Some(round);
                    }
                    _ => {
                        answer.failure(503);
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            last
        };
        let threads: Vec<_> = (0..12).map(|number| scope.spawn(move || update(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (done, refused) = (done.into_inner(), refused.into_inner());
    assert!(done > 0 && refused > 0 && done + refused == 300, "{done} done, {refused} refused");
    let store = server.stop().open();
    let text = store.records().unwrap().get("applicant", "dana").unwrap().unwrap();
    let info = &serde_json::from_str::<Value>(&text).unwrap()["info"];
    for (field, last) in fields.iter().zip(last) {
        assert_eq!(info[field].as_str().map(str::to_owned), last.map(|round| round.to_string()), "{field}");
    }
}

#[test]
fn connections_over_the_limit_get_503() {
    let server = with(changed(options(), |options| options.connections = 2));
    let all = key("all");
    let mut kept = [server.client(), server.client()];
    for client in &mut kept {
        client.call(&all, "POST", SEARCH, BODY).good();
    }
    let mut third = server.client();
    let answer = third.call(&all, "POST", SEARCH, BODY);
    answer.failure(503);
    assert_eq!((answer.header("retry-after"), answer.header("connection")), (Some("1"), Some("close")));
    assert_eq!(third.drain().unwrap(), 0);
    for client in &mut kept {
        client.call(&all, "POST", SEARCH, BODY).good();
    }
    drop(kept);
    wait_for_capacity(&server, &all);
    server.stop();
}

/// Waits until the service accepts a new connection.
fn wait_for_capacity(server: &Server, key: &Key) {
    let start = Instant::now();
    while server.client().call(key, "POST", SEARCH, BODY).status != 200 {
        assert!(start.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_shutdown_waits_for_requests_in_flight() {
    let server = with(options());
    let (address, all) = (server.address, key("all"));
    let mut idle = server.client();
    idle.call(&all, "POST", SEARCH, BODY).good();
    let body = br#"{"stateOfBirth":"last words"}"#;
    let mut half = server.client();
    half.send(format!("{}\r\n", head(&all, "PATCH", &info_of("anna"), body)).as_bytes()).unwrap();
    half.send(&body[..5]).unwrap();
    // Wait until the service has noticed the shutdown.
    thread::sleep(Duration::from_millis(200));
    let (database, thread) = server.ask_to_stop();
    assert_eq!(idle.drain().unwrap(), 0, "connections without a request are closed");
    assert!(std::net::TcpStream::connect(address).is_err(), "new connections are not accepted");
    assert!(!thread.is_finished());
    half.send(&body[5..]).unwrap();
    let answer = half.receive().unwrap();
    assert_eq!(answer.good()["stateOfBirth"], "last words");
    thread.join().unwrap().unwrap();
    let text = database.open().records().unwrap().get("applicant", "anna").unwrap().unwrap();
    assert!(text.contains("last words"));
}

#[test]
fn requests_sent_at_the_moment_of_a_shutdown_are_answered() {
    let server = with(options());
    let all = key("all");
    let request = head(&all, "GET", &status_of("anna"), b"") + "\r\n";
    let mut kept = server.client();
    kept.call(&all, "GET", &status_of("anna"), b"").good();
    let mut clients: Vec<Client> = (0..40).map(|_| server.client()).collect();
    clients.push(kept);
    // Some clients send just before the shutdown, some just after.
    let (before, after) = clients.split_at_mut(20);
    for client in before {
        client.send(request.as_bytes()).unwrap();
    }
    let (_database, thread) = server.ask_to_stop();
    thread::sleep(Duration::from_millis(10));
    for client in after {
        client.send(request.as_bytes()).unwrap();
    }
    for client in &mut clients {
        client.receive().unwrap().good();
        // The response closes the connection.
        assert_eq!(client.drain().unwrap(), 0);
    }
    thread.join().unwrap().unwrap();
}

#[test]
fn a_shutdown_does_not_wait_forever() {
    let server = Server::on(
        Database::new("plain.cases.ndjson"),
        changed(options(), |options| options.shutdown_timeout = Duration::from_millis(300)),
    );
    let mut half = Client::new(server.address);
    half.send(format!("{}\r\n{{", head(&key("all"), "POST", SEARCH, BODY)).as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    let (_database, thread) = server.ask_to_stop();
    thread.join().unwrap().unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_client_that_closes_its_sending_side_gets_its_responses() {
    let server = with(options());
    let all = key("all");
    let mut padded = BODY.to_vec();
    padded.resize(1 << 20, b' ');
    for (method, target, body) in [
        ("POST", SEARCH, BODY),
        ("GET", status_of("anna").as_str(), b"".as_slice()),
        ("PATCH", info_of("anna").as_str(), b"{\"stateOfBirth\":\"half\"}"),
        ("POST", SEARCH, &padded),
    ] {
        for _ in 0..20 {
            let mut client = server.client();
            let mut request = format!("{}\r\n", head(&all, method, target, body)).into_bytes();
            request.extend_from_slice(body);
            client.send(&request).unwrap();
            client.stream().shutdown(std::net::Shutdown::Write).unwrap();
            client.receive().unwrap().good();
            assert_eq!(client.drain().unwrap(), 0);
        }
    }
    server.stop();
}

/// Returns the number of responses of an operation in the metrics, by status.
fn counts_by_status(server: &Server, operation: &str) -> Vec<(String, u64)> {
    let start = format!("casefilter_http_requests_total{{operation=\"{operation}\",status=\"");
    let metrics = server.metrics();
    let lines = metrics.text().lines().filter_map(|line| line.strip_prefix(&start)?.split_once("\"} "));
    lines.map(|(status, count)| (status.to_owned(), count.parse().unwrap())).collect()
}

#[test]
fn an_update_is_counted_even_if_its_client_disconnects() {
    let server = with(options());
    let all = key("all");
    for number in 0..30 {
        let body = format!("{{\"stateOfBirth\":\"{number}\"}}");
        let mut request = format!("{}\r\n", head(&all, "PATCH", &info_of("anna"), body.as_bytes()));
        request.push_str(&body);
        let mut client = server.client();
        client.send(request.as_bytes()).unwrap();
        // Disconnects after a varying time. (Unread bytes would make it a TCP reset.)
        thread::sleep(Duration::from_micros(100 * number));
    }
    // Each update was read completely, so it is stored, counted and logged.
    let start = Instant::now();
    while counts_by_status(&server, "updateInfo") != [("200".to_owned(), 30)] {
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", counts_by_status(&server, "updateInfo"));
        thread::sleep(Duration::from_millis(20));
    }
    server.stop();
}

/// Sends a request whose last byte comes later, so that the rest is spooled. Returns the status of the response.
fn status_in_two_parts(server: &Server, key: &Key, body: &[u8]) -> u16 {
    let mut client = server.client();
    let (last, most) = body.split_last().unwrap();
    client.send(format!("{}\r\n", head(key, "POST", SEARCH, body)).as_bytes()).unwrap();
    client.send(most).unwrap();
    thread::sleep(Duration::from_millis(20));
    // A rejected request is closed already.
    let _ = client.send(&[*last]);
    client.receive().map_or(503, |answer| answer.status)
}

#[test]
fn bodies_with_an_unknown_token_or_an_old_timestamp_use_no_space() {
    // A token at one peer gets at most half, 1000 bytes, and only while nothing else is reserved. One byte of each body stays in
    // memory.
    let server = with(changed(options(), |options| {
        options.buffered_bytes = 4000;
        options.spooled_bytes = 2000;
    }));
    let all = key("all");
    let body = [b' '; 900];
    let mut refused: Vec<Client> = (0..4).map(|_| server.client()).collect();
    for (client, token) in refused.iter_mut().zip(["none", "all", "all", "all"]) {
        let head = head(&all, "POST", SEARCH, &body);
        let head = match token {
            "none" => head.replace("X-App-Token: token-all", "X-App-Token: token-of-nobody"),
            _ => head.replace("X-App-Access-Ts: ", "X-App-Access-Ts: 1"),
        };
        client.send(format!("{head}\r\n").as_bytes()).unwrap();
        client.send(&body[..899]).unwrap();
    }
    thread::sleep(Duration::from_millis(100));
    let mut padded = BODY.to_vec();
    padded.resize(1000, b' ');
    assert_eq!(status_in_two_parts(&server, &all, &padded), 200);
    // A spooled body takes space, so the same request fails while such a body is held. The spooled body may itself be rejected if
    // the space of the previous request is not released yet.
    let keep = || {
        let mut kept = server.client();
        kept.send(format!("{}\r\n", head(&all, "POST", SEARCH, &body)).as_bytes()).unwrap();
        let _ = kept.send(&body[..899]);
        thread::sleep(Duration::from_millis(20));
        kept
    };
    let start = Instant::now();
    let mut kept = vec![keep()];
    while status_in_two_parts(&server, &all, &padded) != 503 {
        assert!(start.elapsed() < Duration::from_secs(10), "a spooled body uses no space");
        kept.push(keep());
    }
    drop(kept);
    // The space is released once the service notices the disconnect.
    let start = Instant::now();
    while status_in_two_parts(&server, &all, &padded) != 200 {
        assert!(start.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(10));
    }
    // The space of the last request is released a moment after its response.
    thread::sleep(Duration::from_millis(100));
    // The other requests get the usual 401 once their bodies are complete.
    for mut client in refused {
        client.send(b" ").unwrap();
        assert!(client.receive().unwrap().failure(401).contains("unknown app token"));
    }
    server.stop();
}

#[test]
fn a_request_must_have_exactly_one_host_header() {
    let server = with(options());
    for (hosts, status) in [("", 400), ("Host: a\r\n", 200), ("Host: a\r\nHost: a\r\n", 400)] {
        let mut client = server.client();
        client.send(format!("GET /healthz HTTP/1.1\r\n{hosts}\r\n").as_bytes()).unwrap();
        assert_eq!(client.receive().unwrap().status, status, "{hosts:?}");
    }
    let mut client = server.client();
    client.send(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(client.receive().unwrap().status, 200);
    server.stop();
}

#[test]
fn a_request_disqualified_by_its_head_is_rejected_even_if_its_timestamp_becomes_valid() {
    let window = Duration::from_secs(1);
    let server = with(changed(options(), |options| options.clock_window = window));
    let all = key("all");
    // The timestamp is too far in the future when the head arrives, and valid when the body is complete.
    let timestamp = (now_s() + 3).to_string();
    let signature = sign(&all.secret, &timestamp, "POST", SEARCH, BODY);
    let mut client = server.client();
    let head = format!(
        "POST {SEARCH} HTTP/1.1\r\nHost: t\r\nX-App-Token: {}\r\nX-App-Access-Ts: {timestamp}\r\n\
         X-App-Access-Sig: {signature}\r\nContent-Length: {}\r\n\r\n",
        all.token,
        BODY.len()
    );
    client.send(head.as_bytes()).unwrap();
    client.send(&BODY[..5]).unwrap();
    thread::sleep(Duration::from_secs(3));
    client.send(&BODY[5..]).unwrap();
    client.receive().unwrap().failure(401);
    server.stop();
}

#[test]
fn chunked_is_the_only_accepted_transfer_encoding() {
    let server = with(options());
    let all = key("all");
    for (coding, status) in [
        ("Transfer-Encoding: chunked", 200),
        ("Transfer-Encoding: Chunked", 200),
        ("Transfer-Encoding: gzip, chunked", 501),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 501),
        ("Transfer-Encoding: identity, chunked", 501),
        ("Transfer-Encoding: chunked, chunked", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
    ] {
        let mut client = server.client();
        let head = head(&all, "POST", SEARCH, BODY);
        let head = head.replace(&format!("Content-Length: {}", BODY.len()), coding);
        let length = BODY.len();
        let body = std::str::from_utf8(BODY).unwrap();
        client.send(format!("{head}\r\n{length:x}\r\n{body}\r\n0\r\n\r\n").as_bytes()).unwrap();
        let answer = client.receive().unwrap();
        assert_eq!(answer.status, status, "{coding}: {}", answer.text());
        if status != 200 {
            assert_eq!(answer.header("connection"), Some("close"), "{coding}");
        }
    }
    server.stop();
}

#[test]
fn one_peer_cannot_use_all_connections() {
    let server = with(changed(options(), |options| {
        options.connections = 10;
        options.connections_per_peer = 2;
    }));
    let all = key("all");
    let mut kept = [server.client(), server.client()];
    for client in &mut kept {
        client.call(&all, "POST", SEARCH, BODY).good();
    }
    server.client().call(&all, "POST", SEARCH, BODY).failure(503);
    drop(kept);
    wait_for_capacity(&server, &all);
    server.stop();
}

#[test]
fn each_token_has_its_own_replay_cache() {
    let server = with(changed(options(), |options| {
        options.reject_replays = true;
        options.remembered_signatures = 2;
    }));
    let mut client = server.client();
    let call = |client: &mut Client, name: &str, number: usize| {
        let target = format!("{SEARCH}?limit={number}");
        client.call(&key(name), "POST", &target, BODY).status
    };
    assert_eq!([1, 2, 3].map(|number| call(&mut client, "all", number)), [200, 200, 503]);
    assert_eq!([1, 2, 3].map(|number| call(&mut client, "viewCases", number)), [200, 200, 503]);
    server.stop();
}
