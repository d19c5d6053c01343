//! Tests the ends of HTTP/2 connections. A client that ignores GOAWAY and PING prolongs neither a connection over the limit nor a
//! shutdown. A client that reads slowly gets the rest of its answers.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::ServiceOptions;

use super::http2::metric;
use super::http2_client::{
    DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, Http2, WINDOW_UPDATE, on, plain_head,
    signed_head, start,
};
use super::large::{cases, database};
use super::server::{SEARCH, Server, changed, info_of, key};

const ALL: &[u8] = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;

/// The maximum number of connections over the limit that the service answers at the same time.
const MOST_REJECTED: usize = 64;

/// Sends requests on connections, and answers no PING, until the service has ended all of them. Returns the time that this took.
fn insist(clients: &mut Vec<Frames>) -> Duration {
    let start = Instant::now();
    let head = plain_head("GET", "/healthz");
    while !clients.is_empty() {
        clients.retain_mut(|client| {
            let stream = client.next_stream();
            client.send(HEADERS, END_STREAM | END_HEADERS, stream, &head).is_ok()
        });
        assert!(start.elapsed() < Duration::from_secs(9), "{} connections are still open", clients.len());
        thread::sleep(Duration::from_millis(100));
    }
    start.elapsed()
}

#[test]
fn connections_over_the_limit_end_although_their_clients_ignore_goaway() {
    let server = start(changed(ServiceOptions::default(), |options| options.connections = 1));
    let address = server.address;
    let only = Http2::new(address);
    let mut over: Vec<Frames> = (0..MOST_REJECTED).map(|_| Frames::new(address, &[])).collect();
    // The service accepts this connection, and can neither serve nor reject it.
    let _waiting = TcpStream::connect(address).unwrap();
    thread::sleep(Duration::from_millis(50));
    drop(only);
    let begun = Instant::now();
    // The only place is free again, and the next connection must get it.
    let next = thread::spawn(move || {
        let status = Http2::new(address).plain("GET", "/healthz").status;
        (status, begun.elapsed())
    });
    let took = insist(&mut over);
    assert!(took < Duration::from_secs(7), "{took:?}");
    let (status, took) = next.join().unwrap();
    assert!(status == 200 && took < Duration::from_secs(7), "{status} {took:?}");
    server.stop();
}

#[test]
fn late_requests_do_not_prolong_a_shutdown_and_change_nothing() {
    let server = start(ServiceOptions::default());
    let (all, target) = (key("all"), info_of("anna"));
    let mut client = Frames::new(server.address, &[]);
    let [early, late] =
        [r#"{"stateOfBirth":"in time"}"#, r#"{"stateOfBirth":"too late"}"#].map(str::as_bytes);
    let slow = client.head(0, &signed_head(&all, "PATCH", &target, early));
    client.send(DATA, 0, slow, &early[..5]).unwrap();
    let (database, thread) = server.ask_to_stop();
    client.receive_kind(GOAWAY).unwrap();
    // The client had one second to learn of it.
    thread::sleep(Duration::from_millis(1300));
    let stream = client.head(0, &signed_head(&all, "PATCH", &target, late));
    client.send(DATA, END_STREAM, stream, late).unwrap();
    let refused = client.receive_kind(HEADERS).unwrap();
    // The status 200 is 0x88 in HPACK.
    assert!(refused.stream == stream && refused.payload[0] != 0x88, "{refused:?}");
    client.send(DATA, END_STREAM, slow, &early[5..]).unwrap();
    let answered = client.receive_kind(HEADERS).unwrap();
    assert_eq!((answered.stream, answered.payload[0]), (slow, 0x88));
    let took = insist(&mut vec![client]);
    assert!(took < Duration::from_secs(5), "{took:?}");
    thread.join().unwrap().unwrap();
    let text = database.open().records().unwrap().get("applicant", "anna").unwrap().unwrap();
    assert!(text.contains("in time") && !text.contains("too late"), "{text}");
}

/// Requests answers that are not read, up to `most`, until one does not fit into the buffers between the service and its client.
/// Returns the number of requests that were sent, and true if all answers fitted.
fn fill(server: &Server, client: &mut Frames, most: usize) -> (usize, bool) {
    let answers = "casefilter_http_requests_total{operation=\"casesByFilter\",status=\"200\"}";
    let answered = || match server.metrics().text().contains(answers) {
        true => metric(server, answers),
        false => 0,
    };
    let more = |client: &mut Frames, bytes: u32| {
        client.send(WINDOW_UPDATE, 0, 0, &bytes.to_be_bytes()).unwrap();
    };
    more(client, 1 << 30);
    let before = answered();
    for sent in 1..=most {
        let stream = client.head(0, &signed_head(&key("all"), "POST", &format!("{SEARCH}?limit=50"), ALL));
        client.send(DATA, END_STREAM, stream, ALL).unwrap();
        while answered() < before + sent as u64 {
            thread::sleep(Duration::from_millis(1));
        }
        let start = Instant::now();
        // The memory of an answer is free when its last byte was given to the stream of the connection.
        while metric(server, "casefilter_outgoing_bytes") > 0 {
            if start.elapsed() > Duration::from_millis(400) {
                return (sent, false);
            }
            // A frame makes the service look at the connection.
            more(client, 1);
            thread::sleep(Duration::from_millis(2));
        }
    }
    (most, true)
}

#[test]
fn a_client_that_reads_slowly_gets_all_its_answers_during_a_shutdown() {
    let (_folder, database) = database(&cases(50, 1000, "x"));
    let timeout = Duration::from_secs(4);
    let server = on(database, changed(ServiceOptions::default(), |options| options.read_timeout = timeout));
    // The last answer does not fit. Without it, the TLS stream still has the end of the previous answer, for which the system has
    // no room.
    let (count, is_full) = {
        let mut client = Frames::new(server.address, &[]);
        let (sent, fitted) = fill(&server, &mut client, 1000);
        (sent - 1, !fitted)
    };
    assert!(is_full && count > 1, "{count}");
    let start = Instant::now();
    while metric(&server, "casefilter_outgoing_bytes") > 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "memory is not released");
        thread::sleep(Duration::from_millis(5));
    }
    let mut client = Frames::new(server.address, &[]);
    let (count, _) = fill(&server, &mut client, count);
    let (_database, thread) = server.ask_to_stop();
    thread::sleep(Duration::from_millis(2500));
    let (mut ends, mut bytes) = (0, 0);
    while let Some(frame) = client.receive() {
        if frame.kind == DATA {
            bytes += frame.payload.len();
            ends += usize::from(frame.flags & END_STREAM > 0);
        }
    }
    assert_eq!(ends, count, "{bytes} bytes were received");
    thread.join().unwrap().unwrap();
}
