//! Tests the public interface besides the operations: error codes, parameter names, correlation ids, metrics, shutdown.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use casefilter::service::ServiceOptions;
use serde_json::{Value, json};

use super::client::Client;
use super::server::{COPY, FILTERS, PREVIEW, SEARCH, Server, aml_of, changed, info_of, key, status_of};

#[test]
fn the_public_port_has_no_metrics() {
    let server = Server::start();
    let (mut client, own) = (server.client(), key("own"));
    let body = br#"{"criteria":[{"field":"applicantReference.applicantId","op":"=","values":["x"]}]}"#;
    client.call(&own, "POST", SEARCH, body).good();
    for target in ["/metrics", "/metrics/", "/metrics?x=1", "//metrics", "/%6detrics"] {
        let answer = client.get(target);
        answer.failure(404);
        assert!(!answer.text().contains("casefilter_"), "{target}");
    }
    for method in ["POST", "HEAD", "OPTIONS"] {
        client
            .send(format!("{method} /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").as_bytes())
            .unwrap();
        let status = if method == "HEAD" { client.head_status() } else { client.receive().unwrap().status };
        assert_eq!(status, 404, "{method}");
    }
    for target in ["/healthz", "/readyz", "/openapi.json"] {
        let answer = Client::new(server.address).get(target);
        assert!(!answer.text().contains("rows_examined"), "{target}");
    }
    // The metrics listener, for operators only, has them.
    assert!(server.metrics().text().contains("\ncasefilter_rows_examined_total "));
    let mut metrics = server.metrics_client();
    for target in ["/openapi.json", "/", SEARCH] {
        metrics.get(target).failure(404);
    }
    // Probes can use it, too.
    assert_eq!(metrics.get("/healthz").good(), json!({"status": "ok"}));
    assert_eq!(metrics.get("/readyz").good(), json!({"status": "ready"}));
    metrics.call(&own, "POST", "/readyz", b"{}").failure(405);
    let refused = metrics.call(&own, "POST", "/metrics", b"{}");
    refused.failure(405);
    assert_eq!(refused.header("allow"), Some("GET,HEAD"));
    server.stop();
}

#[test]
fn metrics_connections_over_the_limit_wait_until_one_ends() {
    let server = Server::start();
    let mut idle: Vec<Client> = (0..16).map(|_| server.metrics_client()).collect();
    for client in &mut idle {
        assert_eq!(client.get("/metrics").status, 200);
    }
    let mut one_more = server.metrics_client();
    one_more.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    idle.pop();
    assert_eq!(one_more.receive().unwrap().status, 200);
    // Clients of the public port do not wait for them.
    assert_eq!(server.client().get("/healthz").status, 200);
    server.stop();
}

#[test]
fn every_error_has_the_code_and_the_type_of_its_cause() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    let none = key("none");
    let no_key = super::client::Key { secret: "another secret of some length".to_owned(), ..all.clone() };
    let search = |query: &str| format!("{SEARCH}{query}");
    let preview = |token: &str| format!("{PREVIEW}?shareToken={token}");
    let expected: Vec<(_, &str, String, &[u8], u64, &str)> = vec![
        (&all, "POST", search(""), b"", 4101, "InvalidParametersException"),
        (&all, "POST", search(""), b"\xff", 4102, "InvalidParametersException"),
        (&all, "POST", search(""), b"[]", 4103, "InvalidParametersException"),
        (&all, "POST", search(""), b"{}", 4104, "InvalidParametersException"),
        (&all, "POST", search(""), b"{\"ids\":[],\"x\":1}", 4105, "InvalidParametersException"),
        (&all, "POST", search("?oder=id"), b"{\"ids\":[]}", 4105, "InvalidParametersException"),
        (&all, "POST", search("?limit=1&limit=1"), b"{\"ids\":[]}", 4106, "InvalidParametersException"),
        (&all, "POST", search("?order=nope"), b"{\"ids\":[]}", 4111, "InvalidParametersException"),
        (&all, "POST", search("?order=tags"), b"{\"ids\":[]}", 4118, "InvalidParametersException"),
        (&all, "POST", search("?offset=x"), b"{\"ids\":[]}", 4119, "InvalidParametersException"),
        (&all, "POST", search("?limit=10001"), b"{\"ids\":[]}", 4120, "InvalidParametersException"),
        (&all, "POST", search("?countTotalItems=1"), b"{\"ids\":[]}", 4121, "InvalidParametersException"),
        (&no_key, "POST", search(""), b"{\"ids\":[]}", 4010, "UnauthorizedException"),
        (&none, "POST", search(""), b"{\"ids\":[]}", 4030, "ForbiddenException"),
        (&all, "GET", status_of("nobody"), b"", 4041, "ApplicantNotFoundException"),
        (&all, "GET", status_of("%ff"), b"", 4041, "ApplicantNotFoundException"),
        (&all, "GET", PREVIEW.to_owned(), b"", 4011, "InvalidShareTokenException"),
        (&all, "GET", preview("x"), b"", 4011, "InvalidShareTokenException"),
        (&all, "GET", preview(&server.database.used_share_token), b"", 4011, "InvalidShareTokenException"),
        (&all, "GET", aml_of("nobody"), b"", 4042, "AmlCaseNotFoundException"),
        (&all, "PATCH", info_of("nobody"), b"{\"dob\":null}", 4001, "InvalidApplicantException"),
        (&all, "PATCH", info_of("firm-one"), b"{\"dob\":null}", 4001, "InvalidApplicantException"),
        (&all, "PATCH", info_of("%ff"), b"{\"dob\":null}", 4001, "InvalidApplicantException"),
        (&all, "PATCH", info_of("anna"), b"{\"name\":\"x\"}", 4105, "InvalidParametersException"),
        (&all, "PATCH", info_of("anna"), b"nothing", 4101, "InvalidParametersException"),
        (&all, "GET", "/nowhere".to_owned(), b"", 4040, "NotFoundException"),
        (&all, "DELETE", info_of("anna"), b"", 4050, "MethodNotAllowedException"),
    ];
    for (key, method, target, body, number, error_type) in expected {
        let answer = client.call(key, method, &target, body);
        answer.failure(answer.status);
        assert_eq!(answer.code(), (number, error_type.to_owned()), "{method} {target}: {}", answer.text());
    }
    client.send(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    let answer = client.receive().unwrap();
    answer.failure(400);
    assert_eq!(answer.code(), (4000, "BadRequestException".to_owned()));
    server.stop();
}

#[test]
fn a_misspelt_parameter_is_rejected_with_a_suggestion() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    for (query, meant) in [
        ("oder=-createdAt", "`order`"),
        ("Limit=5", "`limit`"),
        ("offSet=10", "`offset`"),
        ("limit=5&ofset=10", "`offset`"),
        ("countTotalitems=true", "`countTotalItems`"),
    ] {
        let told = client.call(&all, "POST", &format!("{SEARCH}?{query}"), b"{\"ids\":[]}").failure(400);
        assert!(
            told.starts_with("Invalid parameters: ") && told.ends_with(&format!("did you mean {meant}?")),
            "{told}"
        );
    }
    // Together with the errors of the body.
    let told = client.call(&all, "POST", &format!("{SEARCH}?oder=id"), b"{}").failure(400);
    assert!(told.contains("found neither") && told.contains("did you mean `order`?"), "{told}");
    client.call(&all, "POST", &format!("{SEARCH}?_=1&trace=a&limit=1"), b"{\"ids\":[]}").good();

    let share = &server.database.share_token;
    let told = client.call(&all, "GET", &format!("{PREVIEW}?ShareToken={share}"), b"").failure(400);
    assert!(told.ends_with("did you mean `shareToken`?"), "{told}");
    client.call(&all, "GET", &format!("{PREVIEW}?shareToken={share}&x=1"), b"").good();

    for name in ["unsetFields", "unsetfields"] {
        let target = format!("{}?{name}=lastName", info_of("anna"));
        let told = client.call(&all, "PATCH", &target, b"{\"firstName\":\"Anna\"}").failure(400);
        assert!(told.contains("set it to `null` in the body"), "{told}");
    }
    // The rejected updates changed nothing.
    let info = client.call(&all, "PATCH", &format!("{}?x=1", info_of("anna")), b"{\"dob\":null}").good();
    assert_eq!(info["firstName"], "Änne");
    for target in [FILTERS.to_owned(), status_of("anna"), aml_of("anna")] {
        client.call(&all, "GET", &format!("{target}?limit=1&unsetFields=a"), b"").good();
    }
    // Without a valid signature the response does not mention it.
    let unsigned = client.get(&format!("{PREVIEW}?ShareToken=x"));
    unsigned.failure(401);
    server.stop();
}

#[test]
fn a_number_out_of_range_is_rejected() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    for (query, expected) in [
        ("offset=99999999999999999999", "at most 18446744073709551615"),
        ("offset=18446744073709551616", "at most 18446744073709551615"),
        ("limit=18446744073709551616", "at most 10000"),
    ] {
        let told = client.call(&all, "POST", &format!("{SEARCH}?{query}"), b"{\"ids\":[]}").failure(400);
        assert!(told.contains(expected), "{told}");
    }
    let target = format!("{SEARCH}?offset=18446744073709551615");
    let answer = client.call(&all, "POST", &target, b"{\"ids\":[]}").good();
    assert_eq!(answer["list"]["pageInfo"]["offset"], json!(u64::MAX));
    server.stop();
}

#[test]
fn correlation_ids_do_not_count_requests() {
    let server = Server::start();
    let mut client = server.client();
    let ids: Vec<u128> = (0..200)
        .map(|_| {
            u128::from_str_radix(client.get("/healthz").header("x-correlation-id").unwrap(), 16).unwrap()
        })
        .collect();
    let unique: HashSet<&u128> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len());
    // Neither half of an id is a constant or a counter.
    for shift in [0, 64] {
        let words: Vec<u64> = ids.iter().map(|id| (id >> shift) as u64).collect();
        let steps: HashSet<u64> = words.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        assert_eq!(steps.len(), words.len() - 1, "steps repeat");
    }
    server.stop();
}

#[test]
fn while_draining_it_is_not_ready_but_serves_new_connections() {
    let drain = Duration::from_millis(1_500);
    let server = Server::with(
        "plain.cases.ndjson",
        changed(ServiceOptions::default(), |options| options.shutdown_delay = drain),
    );
    let (address, metrics, all) = (server.address, server.metrics_address(), key("all"));
    assert_eq!(Client::new(address).get("/readyz").status, 200);
    let start = Instant::now();
    let (_database, thread) = server.ask_to_stop();
    while Client::new(address).get("/readyz").status != 503 {
        assert!(start.elapsed() < drain / 2, "the service is still ready");
    }
    let told = Client::new(address).get("/readyz").failure(503);
    assert_eq!(told, "the service is shutting down");
    let mut served = 0;
    while start.elapsed() < drain.mul_f32(0.7) {
        let mut client = Client::new(address);
        let answer = client.call(&all, "POST", SEARCH, b"{\"ids\":[\"x\"]}");
        answer.good();
        // Persistent connections are closed, so that their clients connect to another instance.
        assert_eq!(answer.header("connection"), Some("close"));
        assert_eq!(Client::new(metrics).get("/metrics").status, 200);
        served += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(served > 3, "{served}");
    thread.join().unwrap().unwrap();
    assert!(start.elapsed() >= drain, "it ended after {:?}", start.elapsed());
    assert!(std::net::TcpStream::connect(address).is_err());
    assert!(std::net::TcpStream::connect(metrics).is_err());
}

#[test]
fn the_examples_of_the_openapi_document_are_valid() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    let document = client.get("/openapi.json").good();
    assert_eq!(document["servers"][0]["url"], "/");
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            let good = if responses.contains_key("201") { "201" } else { "200" };
            for status in [good, "400", "401", "403", "408", "413", "414", "429", "431", "500", "501", "503"]
            {
                assert!(responses.contains_key(status), "{method} {path} lacks {status}");
            }
            assert!(responses[good]["headers"].get("X-Correlation-Id").is_some(), "{method} {path}");
            let content = responses[good]["content"].as_object().unwrap().values().next().unwrap();
            assert!(content.get("example").is_some(), "{method} {path} has no example");
            let media = &operation["requestBody"]["content"]["application/json"];
            let many = media["examples"].as_object().into_iter().flat_map(|all| all.values());
            let examples: Vec<&Value> = many.map(|own| &own["value"]).chain(media.get("example")).collect();
            let has_no_body = ["get", "delete"].contains(&method.as_str());
            assert_eq!(examples.is_empty(), has_no_body, "{method} {path}");
            // PostgreSQL gives no events.
            let is_left_out = server.database.source().is_some() && path.contains("standingFilters");
            for example in examples.into_iter().filter(|_| !is_left_out) {
                let applicant = if path.ends_with("/companyInfo") { "firm-one" } else { "anna" };
                let mut target = path.replace("{applicantId}", applicant).replace("{name}", "urgent");
                if path == COPY {
                    target.extend(["?shareToken=", &server.database.share_token]);
                }
                let answer =
                    client.call(&all, &method.to_uppercase(), &target, example.to_string().as_bytes());
                assert_eq!(answer.status.to_string(), good, "{method} {path}: {}", answer.text());
            }
        }
    }
    for (name, response) in document["components"]["responses"].as_object().unwrap() {
        let Some(example) = response["content"]["application/json"].get("example") else { continue };
        let rows = casefilter::service::ErrorCode::ALL.iter();
        let mut fitting = rows.filter(|row| {
            (json!(row.number()), json!(row.error_type()), json!(row.status()))
                == (example["errorCode"].clone(), example["type"].clone(), example["code"].clone())
        });
        assert!(fitting.next().is_some(), "{name}: {example}");
    }
    server.stop();
}

#[cfg(unix)]
mod operators {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::super::server::Server;

    /// Sends a request over the admin socket and returns status and body of the response.
    fn admin_request(server: &Server, method: &str, target: &str, body: &str) -> (u16, String) {
        let mut stream = UnixStream::connect(server.database.folder().join("cases.db.sock")).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    #[test]
    fn the_admin_socket_has_the_metrics() {
        let server = Server::start();
        let (status, text) = admin_request(&server, "GET", "/metrics", "");
        assert_eq!(status, 200);
        assert!(text.contains("\ncasefilter_rows_examined_total 0\n"), "{text}");
        server.stop();
    }

    #[test]
    fn the_admin_socket_accepts_each_parameter_once_and_suggests_known_ones() {
        let server = Server::start();
        let case = "{\"id\":\"a-1\"}";
        for (query, expected) in [
            ("mode=lenient&mode=strict", "found the query parameter `mode` again, expected it once"),
            ("mode=strict&mode=strict", "found the query parameter `mode` again, expected it once"),
            ("source=a&source=b", "found the query parameter `source` again, expected it once"),
            ("format=ndjson&format=parquet", "found the query parameter `format` again, expected it once"),
            ("Mode=lenient", "expected `mode`, `source` or `format`; did you mean `mode`?"),
            ("formt=parquet", "expected `mode`, `source` or `format`; did you mean `format`?"),
            ("lenient=true", "found the query parameter `lenient`, expected `mode`, `source` or `format`"),
            ("mode=Lenient", "`mode` must be `strict` or `lenient`"),
        ] {
            let (status, told) = admin_request(&server, "POST", &format!("/imports/cases?{query}"), case);
            assert_eq!(status, 400, "{query}: {told}");
            assert!(told.contains(expected), "{query}: {told}");
        }
        let (status, told) =
            admin_request(&server, "POST", "/imports/cases?mode=lenient&source=x&format=ndjson", case);
        assert_eq!(status, 200, "{told}");
        server.stop();
    }

    #[test]
    fn the_admin_socket_accepts_only_objects_and_valid_paths() {
        let server = Server::start();
        let folder = server.database.folder().display().to_string();
        for body in [
            format!("[\"{folder}/copy.db\"]"),
            "[\"anna\",60]".to_owned(),
            "\"x\"".to_owned(),
            " [ ]".to_owned(),
        ] {
            for target in ["/backups", "/share-tokens"] {
                let (status, told) = admin_request(&server, "POST", target, &body);
                assert_eq!(status, 400, "{target} {body}: {told}");
                assert!(told.contains("expected an object"), "{told}");
            }
        }
        for long in ["n".repeat(256), "n/".repeat(3_000)] {
            let body = format!("{{\"path\":\"{folder}/{long}\"}}");
            let (status, told) = admin_request(&server, "POST", "/backups", &body);
            assert_eq!(status, 400, "{told}");
            assert!(told.contains("longer than the system allows"), "{told}");
        }
        assert!(!server.database.folder().join("copy.db").exists());
        let (status, told) =
            admin_request(&server, "POST", "/backups", &format!(" {{\"path\":\"{folder}/copy.db\"}}"));
        assert_eq!(status, 200, "{told}");
        server.stop();
    }
}
