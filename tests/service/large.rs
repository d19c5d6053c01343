//! Tests pages of cases that are larger than one chunk. They are streamed, their size is limited, and the memory for them is shared
//! fairly between tokens.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::Store;
use casefilter::domain::{RecordKind, import_records};
use casefilter::service::ServiceOptions;
use tempfile::TempDir;

use super::client::{Client, Key, Response, head};
use super::server::{Database, SEARCH, Server, aml_of, changed, info_of, key, status_of};

const ALL: &[u8] = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;

/// The text before the first document of a response.
const BEGIN: &str = "{\"list\":{\"items\":[";

/// Returns cases whose documents have lengths around `mean` bytes.
pub(super) fn cases(count: usize, mean: usize, name: &str) -> String {
    let mut text = String::new();
    for number in 0..count {
        let note = "n".repeat(mean / 2 + number * 7919 % mean);
        let _ = writeln!(text, r#"{{"id":"{number:05}","name":"{name}","tags":["vip"],"note":"{note}"}}"#);
    }
    text
}

/// Returns a database with these cases, and the folder of the file that they were imported from.
pub(super) fn database(cases: &str) -> (TempDir, Database) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cases.ndjson");
    std::fs::write(&path, cases).unwrap();
    let database = Database::new(path.to_str().unwrap());
    (folder, database)
}

/// Starts a service with these cases. Also returns the folder of the file that they were imported from.
fn serve(cases: &str, options: ServiceOptions) -> (TempDir, Server) {
    let (folder, database) = database(cases);
    (folder, Server::with_source(database, options, None, None))
}

fn page(client: &mut Client, key: &Key, query: &str) -> Response {
    client.call(key, "POST", &format!("{SEARCH}?{query}"), ALL)
}

/// Returns the text of the documents in a response, and the text after them.
fn documents(answer: &Response) -> (String, String) {
    let text = answer.text().strip_prefix(BEGIN).unwrap_or_else(|| panic!("{:.200}", answer.text()));
    let end = text.rfind("],\"").map(|at| text[..at].rfind("],\"totalItems").unwrap_or(at)).unwrap();
    (text[..end].to_owned(), text[end..].to_owned())
}

/// Sends a search for all cases and does not read the response.
fn send_unread_search(server: &Server, key: &Key, limit: usize) -> Client {
    let mut client = server.client();
    let mut request = head(key, "POST", &format!("{SEARCH}?limit={limit}"), ALL).into_bytes();
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(ALL);
    client.send(&request).unwrap();
    client
}

#[test]
fn the_bytes_of_a_token_in_flight_are_limited() {
    let options = changed(ServiceOptions::default(), |options| options.bytes_in_flight = 1 << 20);
    let (_folder, server) = serve(&cases(3000, 8000, "a"), options);
    let (all, other) = (key("all"), key("viewCases"));
    // Pages that are not read. Each takes 512 KiB.
    let unread: Vec<Client> = (0..2)
        .map(|_| {
            let before = outgoing_bytes(&server);
            let client = send_unread_search(&server, &all, 3000);
            wait_for_outgoing(&server, before + (256 << 10)..=before + (1 << 20));
            client
        })
        .collect();
    let refused = page(&mut server.client(), &all, "limit=3000");
    assert!(refused.failure(429).contains("more than 1048576 bytes in flight"), "{}", refused.text());
    assert_eq!((refused.code().0, refused.header("retry-after")), (4290, Some("1")));
    // Small answers, and those of other tokens, are not affected.
    assert_eq!(page(&mut server.client(), &all, "limit=1").status, 200);
    assert_eq!(page(&mut server.client(), &other, "limit=3000").status, 200);
    drop(unread);
    wait_for_outgoing(&server, 0..=0);
    assert_eq!(page(&mut server.client(), &all, "limit=3000").status, 200);
    server.stop();
}

#[test]
fn a_single_request_may_exceed_the_bytes_in_flight_by_its_body_and_its_answer() {
    let options = changed(ServiceOptions::default(), |options| options.bytes_in_flight = 1_000_000);
    let (_folder, server) = serve(&cases(3000, 8000, "a"), options);
    let (all, target) = (key("all"), format!("{SEARCH}?limit=3000"));
    let mut body = ALL.to_vec();
    body.resize(700_000, b' ');
    let mut client = server.client();
    for _ in 0..3 {
        client.call(&all, "POST", &target, &body).good();
    }
    // Beside another request, it is refused.
    let unread = send_unread_search(&server, &all, 3000);
    wait_for_outgoing(&server, 1 << 19..=1 << 19);
    let refused = client.call(&all, "POST", &target, &body);
    assert!(refused.failure(429).contains("more than 1000000 bytes in flight"), "{}", refused.text());
    drop(unread);
    wait_for_outgoing(&server, 0..=0);
    client.call(&all, "POST", &target, &body).good();
    server.stop();
}

/// Returns the memory that the service has reserved for responses.
fn outgoing_bytes(server: &Server) -> usize {
    let metrics = server.metrics();
    let line = metrics.text().lines().find_map(|line| line.strip_prefix("casefilter_outgoing_bytes "));
    line.unwrap().parse().unwrap()
}

/// Waits until the memory reserved for responses is in a range.
fn wait_for_outgoing(server: &Server, expected: RangeInclusive<usize>) {
    let start = Instant::now();
    loop {
        let bytes = outgoing_bytes(server);
        if expected.contains(&bytes) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{bytes} bytes are held, not {expected:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_large_page_has_the_documents_of_small_pages() {
    let (_folder, server) = serve(&cases(3000, 1000, "x"), ServiceOptions::default());
    let mut client = server.client();
    for token in ["all", "narrow"] {
        let key = key(token);
        let mut small = Vec::new();
        for offset in (0..3000).step_by(50) {
            let answer = page(&mut client, &key, &format!("limit=50&offset={offset}&order=id"));
            answer.good();
            small.push(documents(&answer).0);
        }
        // Around the size of one chunk, and much larger.
        for (pages, offset) in [(1, 0), (4, 0), (5, 0), (6, 0), (7, 10), (20, 40), (60, 0), (40, 20)] {
            let (limit, skipped) = (pages * 50, offset * 50);
            let query = format!("limit={limit}&offset={skipped}&order=id&countTotalItems=true");
            let answer = page(&mut client, &key, &query);
            answer.good();
            let (found, end) = documents(&answer);
            assert_eq!(found, small[offset..offset + pages].join(","), "{token} {query}");
            assert_eq!(
                end,
                format!("],\"totalItems\":3000,\"pageInfo\":{{\"limit\":{limit},\"offset\":{skipped}}}}}}}")
            );
            assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
    }
    // Page lengths around the end of the first chunk, in steps of one case.
    let mut lengths = Vec::new();
    for limit in 245..275 {
        let answer = page(&mut client, &key("all"), &format!("limit={limit}&order=id"));
        assert_eq!(answer.good()["list"]["items"].as_array().unwrap().len(), limit);
        lengths.push(answer.body.len());
    }
    assert!(lengths[0] < 256 << 10 && lengths[29] > 256 << 10 && lengths.is_sorted(), "{lengths:?}");
    wait_for_outgoing(&server, 0..=0);
    server.stop();
}

#[test]
fn documents_larger_than_a_chunk_are_sent_whole() {
    let mut text = String::new();
    for (number, bytes) in [10, 300_000, 5, 3_000_000, 262_144, 262_000, 20].into_iter().enumerate() {
        let _ = writeln!(text, r#"{{"id":"{number}","note":"{}"}}"#, "n".repeat(bytes));
    }
    let (_folder, server) = serve(&text, ServiceOptions::default());
    let (mut client, all) = (server.client(), key("all"));
    let expected: Vec<&str> = text.lines().collect();
    for (limit, offset) in [(7, 0), (1, 1), (1, 3), (2, 3), (4, 3), (3, 0), (1, 6)] {
        let answer = page(&mut client, &all, &format!("limit={limit}&offset={offset}&order=id"));
        answer.good();
        assert!(documents(&answer).0 == expected[offset..offset + limit].join(","), "{limit} {offset}");
    }
    server.stop();
}

#[test]
fn a_page_over_the_limit_is_rejected_and_its_first_excess_item_is_named() {
    let text = cases(1200, 1000, "x");
    for most in [300, 100_000, 300_000, 700_000] {
        let (_folder, server) =
            serve(&text, changed(ServiceOptions::default(), |options| options.max_response_bytes = most));
        let (mut client, all) = (server.client(), key("all"));
        // The number of documents that fit, including the text around them.
        let mut bytes = BEGIN.len() + "],\"pageInfo\":{\"limit\":1200,\"offset\":0}}}".len() - 1;
        let fitting = text.lines().take_while(|line| {
            bytes += line.len() + 1;
            bytes <= most
        });
        let fitting = fitting.count().max(1);
        let answer = page(&mut client, &all, "limit=1200&order=id");
        let told = answer.failure(400);
        assert_eq!(
            told,
            format!(
                "Invalid parameters: limit (byte 0): found a page that exceeds {most} bytes at \
                 `list.items[{fitting}]`, expected a smaller page, such as `limit={fitting}`"
            )
        );
        assert_eq!(answer.code(), (4128, "InvalidParametersException".to_owned()));
        let answer = page(&mut client, &all, &format!("limit={fitting}&order=id"));
        assert_eq!(answer.good()["list"]["items"].as_array().unwrap().len(), fitting);
        assert!(answer.body.len() <= most || fitting == 1, "{}", answer.body.len());
        // A page of one case is always sent.
        page(&mut client, &all, "limit=1&offset=7&order=id").good();
        // Fields that the token does not see do not count.
        let answer = page(&mut client, &key("narrow"), "limit=1200&order=id");
        if most >= 100_000 {
            answer.good();
        } else {
            answer.failure(400);
        }
        wait_for_outgoing(&server, 0..=0);
        server.stop();
    }
}

#[test]
fn clients_that_do_not_read_occupy_at_most_half_of_the_memory() {
    let most = 16 << 20;
    let (_folder, server) = serve(
        &cases(3000, 8000, "x"),
        changed(ServiceOptions::default(), |options| options.outgoing_bytes = most),
    );
    let (all, other) = (key("all"), key("viewCases"));
    let mut held: Vec<Client> = (0..40).map(|_| send_unread_search(&server, &all, 3000)).collect();
    // Each large page reserves two chunks of 256 KiB: sixteen pages are half.
    wait_for_outgoing(&server, most / 2..=most / 2);
    let mut client = server.client();
    // The token itself gets no more large pages, but still small ones.
    page(&mut client, &all, "limit=3000").failure(503);
    page(&mut client, &all, "limit=2").good();
    // Another token gets both.
    let start = Instant::now();
    page(&mut client, &other, "limit=2").good();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let answer = page(&mut client, &other, "limit=3000");
    assert_eq!(answer.good()["list"]["items"].as_array().unwrap().len(), 3000);
    assert!(outgoing_bytes(&server) <= most);
    // Clients that continue to read get the whole page. Clients that disconnect release their memory.
    let statuses: Vec<u16> = held.iter_mut().map(|client| client.receive().unwrap().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 16, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    let held: Vec<Client> = (0..10).map(|_| send_unread_search(&server, &all, 3000)).collect();
    wait_for_outgoing(&server, 10 << 19..=10 << 19);
    drop(held);
    wait_for_outgoing(&server, 0..=0);
    page(&mut client, &all, "limit=3000").good();
    server.stop();
}

#[test]
fn responses_smaller_than_a_chunk_count_too() {
    let (_folder, server) = serve(
        &cases(200, 1000, "x"),
        changed(ServiceOptions::default(), |options| options.outgoing_bytes = 200_000),
    );
    let (mut client, all) = (server.client(), key("all"));
    // 32 KiB of each response do not count, and a token has half of the memory.
    for (limit, status) in [(20, 200), (100, 200), (150, 503), (30, 200), (200, 503)] {
        let answer = page(&mut client, &all, &format!("limit={limit}"));
        assert_eq!(answer.status, status, "{limit}: {} bytes", answer.body.len());
    }
    wait_for_outgoing(&server, 0..=0);
    server.stop();
}

#[test]
fn a_client_that_reads_slowly_is_cut_off_after_the_write_timeout() {
    let timeout = Duration::from_secs(1);
    let (_folder, server) = serve(
        &cases(4000, 8000, "x"),
        changed(ServiceOptions::default(), |options| options.write_timeout = timeout),
    );
    let all = key("all");
    let slow = send_unread_search(&server, &all, 4000);
    let start = Instant::now();
    // The client reads more than one chunk per timeout: that does not extend the deadline of the response.
    let mut piece = vec![0; 256 << 10];
    let mut read = 0;
    loop {
        match slow.stream().read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => read += count,
        }
        assert!(start.elapsed() < timeout * 10, "{read} bytes were read, and it goes on");
        thread::sleep(Duration::from_millis(150));
    }
    assert!(read < 30 << 20, "the system buffered everything: {read}");
    wait_for_outgoing(&server, 0..=0);
    // A client that reads fast enough is not cut off.
    let mut client = server.client();
    for _ in 0..3 {
        page(&mut client, &all, "limit=4000").good();
        page(&mut client, &all, "limit=1").good();
    }
    // Nor is one that waits for a long time between two requests.
    thread::sleep(timeout * 2);
    page(&mut client, &all, "limit=4000").good();
    server.stop();
}

/// Imports a file into the database of a service.
#[cfg(unix)]
fn import(server: &Server, file: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casefilter"));
    let output = command.arg("import").arg("--db").arg(server.database.path()).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
#[test]
fn an_import_does_not_change_a_page_that_is_being_sent() {
    let (folder, server) = serve(&cases(3000, 8000, "before"), ServiceOptions::default());
    let all = key("all");
    let mut client = server.client();
    let expected = page(&mut client, &all, "limit=3000");
    expected.good();
    let mut slow = send_unread_search(&server, &all, 3000);
    wait_for_outgoing(&server, 1 << 19..=1 << 19);
    let path = folder.path().join("after.ndjson");
    std::fs::write(&path, cases(3000, 8000, "after")).unwrap();
    import(&server, &path);
    let after = page(&mut client, &all, "limit=3000");
    assert!(after.text().contains(r#""name":"after""#) && !after.text().contains(r#""name":"before""#));
    let found = slow.receive().unwrap();
    assert_eq!(found.status, 200);
    assert!(found.body == expected.body, "the page changed while it was sent");
    server.stop();
}

#[test]
fn a_large_page_is_sent_completely_during_a_shutdown() {
    let (_folder, server) = serve(&cases(3000, 8000, "x"), ServiceOptions::default());
    let all = key("all");
    let expected = page(&mut server.client(), &all, "limit=3000");
    let mut slow = send_unread_search(&server, &all, 3000);
    wait_for_outgoing(&server, 1 << 19..=1 << 19);
    let (_database, thread) = server.ask_to_stop();
    thread::sleep(Duration::from_millis(400));
    let found = slow.receive().unwrap();
    assert!(found.status == 200 && found.body == expected.body);
    thread.join().unwrap().unwrap();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (_folder, server) = serve(&cases(1000, 1000, "x"), ServiceOptions::default());
    let (mut client, all) = (server.client(), key("all"));
    let mut requests = Vec::new();
    for limit in [1000, 1, 900, 800, 2] {
        requests.extend_from_slice(head(&all, "POST", &format!("{SEARCH}?limit={limit}"), ALL).as_bytes());
        requests.extend_from_slice(b"\r\n");
        requests.extend_from_slice(ALL);
    }
    client.stream().write_all(&requests).unwrap();
    for limit in [1000, 1, 900, 800, 2] {
        let items = client.receive().unwrap().good()["list"]["items"].as_array().unwrap().len();
        assert_eq!(items, limit);
    }
    server.stop();
}

#[test]
fn answers_reserve_memory_before_their_records_are_read() {
    let database = Database::new("plain.cases.ndjson");
    let note = "n".repeat(200_000);
    {
        let store = database.open();
        let case = format!(
            r#"{{"id":"large","createdAt":"2035-01-01 00:00:00","targetEntityType":"applicant","targetEntityId":"anna","note":"{note}"}}"#
        );
        import_records(&store, RecordKind::AmlCases, |import| import.push(case.as_bytes())).unwrap();
        let applicant = format!(r#"{{"id":"wide","type":"individual","info":{{"note":"{note}"}}}}"#);
        import_records(&store, RecordKind::Applicants, |import| import.push(applicant.as_bytes())).unwrap();
        store.close().unwrap();
    }
    // A token gets half of the memory, which is less than three times the size of the record.
    let narrow = changed(ServiceOptions::default(), |options| options.outgoing_bytes = 1_000_000);
    let server = Server::on(database, narrow);
    let (mut client, all) = (server.client(), key("all"));
    let answer = client.call(&all, "GET", &aml_of("anna"), b"");
    assert!(answer.failure(500).contains("larger than this service can answer with"));
    assert_eq!((answer.code().0, answer.header("retry-after")), (5001, None));
    client.call(&all, "GET", &status_of("anna"), b"").good();
    let database = server.stop();
    // There is no room for the answer of an update, which changes nothing then.
    let server =
        Server::on(database, changed(ServiceOptions::default(), |options| options.outgoing_bytes = 300_000));
    let mut client = server.client();
    client.call(&all, "PATCH", &info_of("wide"), br#"{"firstName":"Zoe"}"#).failure(500);
    assert!(!server.client().get("/readyz").text().contains("failing"), "the file can be written");
    let database = server.stop();
    let wide = |store: &Store| store.records().unwrap().get("applicant", "wide").unwrap().unwrap();
    assert!(!wide(&database.open()).contains("Zoe"));
    let server = Server::on(
        database,
        changed(ServiceOptions::default(), |options| options.outgoing_bytes = 2_000_000),
    );
    let mut client = server.client();
    for _ in 0..5 {
        let answer = client.call(&all, "GET", &aml_of("anna"), b"");
        answer.good();
        assert!(answer.text().contains(&note));
    }
    client.call(&all, "PATCH", &info_of("wide"), br#"{"firstName":"Zoe"}"#).good();
    let start = Instant::now();
    while !server.metrics().text().contains("casefilter_outgoing_bytes 0") {
        assert!(start.elapsed() < Duration::from_secs(5), "not all of it is given back");
    }
    assert!(wide(&server.stop().open()).contains("Zoe"));
}
