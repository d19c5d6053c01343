//! Tests the bounds on what the requests of an HTTP/2 client take: the memory for their heads, and their places.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::ServiceOptions;

use super::http2::{metric, wait_for};
use super::http2_client::{
    DATA, END_HEADERS, END_STREAM, Frames, HEADERS, PING, RST_STREAM, frame, on, plain_head, signed_head,
};
use super::http2_hostile::wait_for_the_end;
use super::process::Process;
use super::server::{Database, EVENTS, Server, changed, data, info_of, key};
use super::writes::{answer, send_import};

/// Returns the greatest memory of a process so far, in bytes.
fn peak(process: &Process) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn large_heads_are_refused_and_take_no_memory() {
    let database = Database::new("plain.cases.ndjson");
    let [cert, tls_key] =
        ["cert", "key"].map(|name| data(&format!("tls/{name}.pem")).to_str().unwrap().to_owned());
    let process = Process::with_source(&database, &["--tls-cert", &cert, "--tls-key", &tls_key], None);
    let address = process.address;
    // The field `accept:` of the static table takes one byte, and 38 bytes as HTTP/2 counts it.
    let mut large = plain_head("GET", "/healthz");
    large.extend([0x80 | 19; 1700]);
    let mut clients: Vec<Frames> = (0..24).map(|_| Frames::new(address, &[])).collect();
    let heads: Vec<Vec<u8>> = clients
        .iter_mut()
        .map(|client| {
            let streams: Vec<u32> = (0..100).map(|_| client.next_stream()).collect();
            let heads =
                streams.into_iter().map(|stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &large));
            heads.flatten().collect()
        })
        .collect();
    let before = peak(&process);
    let senders: Vec<_> = clients
        .into_iter()
        .zip(heads)
        .map(|(mut client, heads)| {
            thread::spawn(move || {
                client.write(&heads).unwrap();
                client
            })
        })
        .collect();
    let clients: Vec<Frames> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
    for mut client in clients {
        // The status 431 is not in the static table, as 200 is.
        for _ in 0..100 {
            assert_ne!(client.receive_kind(HEADERS).unwrap().payload[0], 0x88);
        }
        // The connection goes on.
        let stream = client.head(END_STREAM, &plain_head("GET", "/healthz"));
        let answer = client.receive_kind(HEADERS).unwrap();
        assert_eq!((answer.stream, answer.payload[0]), (stream, 0x88));
    }
    // A head takes about 150 KB while it is read: 15 MB for the 100 heads of a connection. Only the connections that a thread is
    // reading have them in memory.
    let grown = peak(&process).saturating_sub(before);
    assert!(grown < 150 << 20, "{grown} bytes");
    process.terminate();
}

/// Returns the number of updates that have ended.
fn ended(server: &Server) -> u64 {
    let metrics = server.metrics();
    let start = "casefilter_http_requests_total{operation=\"updateInfo\"";
    let counts = metrics.text().lines().filter(|line| line.starts_with(start));
    counts.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn an_update_that_is_reset_keeps_its_place_until_it_ends() {
    let database = Database::new("plain.cases.ndjson");
    let server = on(database, changed(ServiceOptions::default(), |options| options.connections = 2));
    let all = key("all");
    let mut client = Frames::new(server.address, &[]);
    // This request uses the place of the connection.
    client.get(&all, &format!("{EVENTS}?after=0&wait=60"));
    wait_for(&server, "casefilter_event_listeners", 1);
    let applicants = |round: usize| -> String {
        let applicant = |number| format!("{{\"id\":\"a{round}-{number}\",\"type\":\"individual\"}}\n");
        (0..60_000).map(applicant).collect()
    };
    let mut sent = 0;
    for round in 0.. {
        let stream = send_import(&server.database, "applicants", &applicants(round));
        let import = thread::spawn(move || answer(stream));
        let body = br#"{"stateOfBirth":"anywhere"}"#;
        // An update that waits for the import.
        let update = loop {
            let update = client.head(0, &signed_head(&all, "PATCH", &info_of("anna"), body));
            client.send(DATA, END_STREAM, update, body).unwrap();
            sent += 1;
            thread::sleep(Duration::from_millis(40));
            if metric(&server, "casefilter_connections") == 2 {
                break Some(update);
            }
            if import.is_finished() {
                break None;
            }
        };
        let mut is_kept = None;
        if let Some(update) = update {
            client.send(RST_STREAM, 0, update, &8_u32.to_be_bytes()).unwrap();
            // The service has seen the reset when it replies to what follows.
            client.send(PING, 0, 0, &[1; 8]).unwrap();
            client.receive_kind(PING).unwrap();
            thread::sleep(Duration::from_millis(40));
            let further = client.head(END_STREAM, &plain_head("GET", "/healthz"));
            let head =
                std::iter::from_fn(|| client.receive_kind(HEADERS)).find(|head| head.stream == further);
            // The status 200 is 0x88 in HPACK.
            let is_refused = head.unwrap().payload[0] != 0x88;
            is_kept = (ended(&server) < sent).then_some(is_refused);
        }
        let (status, report) = import.join().unwrap();
        assert_eq!(status, 200, "{report}");
        match is_kept {
            Some(is_kept) => {
                assert!(is_kept, "the update has given its place back before it ended");
                break;
            }
            // On a busy machine, no update may have arrived while the import was stored.
            None => assert!(round < 5, "no update had to wait"),
        }
    }
    let start = Instant::now();
    while metric(&server, "casefilter_connections") != 1 {
        assert!(start.elapsed() < Duration::from_secs(10), "the place is not given back");
        thread::sleep(Duration::from_millis(10));
    }
    drop(client);
    wait_for_the_end(&server);
    server.stop();
}
