//! Tests clients that read a compressed answer slowly. All its pieces have one deadline, as the answer has without compression.

use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::domain::{RecordKind, import_records};
use casefilter::service::ServiceOptions;
use rustix::net::sockopt::set_socket_recv_buffer_size;

use super::client::head;
use super::http2_client::{END_STREAM, Frames, HEADERS, field, on, signed_head};
use super::server::{Database, Server, aml_of, changed, key, random_letters};

/// Returns a database in which the AML case of one applicant has 14 MiB of random letters, which gzip makes a quarter smaller.
fn database() -> Database {
    let database = Database::new("plain.cases.ndjson");
    let mut letter = random_letters();
    let note: String = (0..14 << 20).map(|_| letter()).collect();
    let case = format!(
        r#"{{"id":"large","createdAt":"2035-01-01 00:00:00","targetEntityType":"applicant","targetEntityId":"anna","note":"{note}"}}"#
    );
    let store = database.open();
    import_records(&store, RecordKind::AmlCases, |import| import.push(case.as_bytes())).unwrap();
    store.close().unwrap();
    database
}

/// Returns true while the service has an answer in memory.
fn has_answer(server: &Server) -> bool {
    !server.metrics().text().contains("\ncasefilter_outgoing_bytes 0\n")
}

#[test]
fn a_slow_reader_of_a_compressed_answer_is_cut_off_over_http_1() {
    let timeout = Duration::from_millis(1500);
    let server =
        Server::on(database(), changed(ServiceOptions::default(), |options| options.write_timeout = timeout));
    let mut client = server.client();
    // Otherwise, the system of the client would take most of the answer.
    set_socket_recv_buffer_size(client.stream(), 64 << 10).unwrap();
    let request = head(&key("all"), "GET", &aml_of("anna"), b"") + "Accept-Encoding: gzip\r\n\r\n";
    client.send(request.as_bytes()).unwrap();
    let mut piece = vec![0; 16 << 10];
    let first = client.stream().read(&mut piece).unwrap();
    assert!(String::from_utf8_lossy(&piece[..first]).contains("content-encoding: gzip"));
    let start = Instant::now();
    // The client reads more than a piece, and more than the system waits for, in each timeout.
    while has_answer(&server) {
        let mut left = 176 << 10;
        while left > 0 {
            match client.stream().read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(count) => left -= count.min(left),
            }
        }
        thread::sleep(Duration::from_millis(120));
        assert!(start.elapsed() < 10 * timeout, "the answer stays in memory");
    }
    let took = start.elapsed();
    assert!(took < 2 * timeout, "{took:?}");
    server.stop();
}

#[test]
fn a_slow_reader_of_a_compressed_answer_is_cut_off_over_http_2() {
    let timeout = Duration::from_millis(500);
    let server =
        on(database(), changed(ServiceOptions::default(), |options| options.write_timeout = timeout));
    let mut client = Frames::new(server.address, &[]);
    let mut request = signed_head(&key("all"), "GET", &aml_of("anna"), b"");
    request.extend(field("accept-encoding", "gzip"));
    let stream = client.head(END_STREAM, &request);
    client.receive_kind(HEADERS).unwrap();
    let received = client.read_slowly(stream, 100_000, (timeout / 5, 5 * timeout));
    assert!(received > 100_000, "{received}");
    let end = Instant::now();
    while has_answer(&server) {
        assert!(end.elapsed() < Duration::from_secs(5), "the answer stays in memory");
    }
    server.stop();
}
