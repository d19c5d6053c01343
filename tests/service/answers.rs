//! Tests that each operation follows the interface document, and returns the same data as the library.

use std::fs;

use casefilter::domain::{aml_case, preview, step_status};
use casefilter::service::{Envelope, ServiceOptions};
use casefilter::{Catalog, Engine, FilterBuilder, ImportMode, SearchParams};
use serde_json::{Value, json};

use super::client::head;
use super::server::{
    FACETS, FILTERS, PREVIEW, SEARCH, STREAM, Server, aml_of, data, info_of, key, status_of,
};

/// Builds the query string from the parameters of a request in the vectors.
fn query(request: &Value) -> (String, [Option<String>; 4]) {
    let names = ["offset", "limit", "order", "countTotalItems"];
    let values = names.map(|name| match &request[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    });
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in names.iter().zip(&values) {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    (query.finish(), values)
}

fn check_vectors(name: &str) {
    let cases = format!("{name}.cases.ndjson");
    let server = Server::with(&cases, ServiceOptions::default());
    let engine = Engine::new(Catalog::cases());
    let mut import = engine.import(ImportMode::Strict);
    import.push(&fs::read(data(&cases)).unwrap()).unwrap();
    import.commit().unwrap();
    let (mut client, key) = (server.client(), key("all"));
    let requests = fs::read_to_string(data(&format!("{name}.requests.ndjson"))).unwrap();
    // The first 60 requests are sent twice. Each is first compiled on a blocking thread, and then found in the cache on the
    // connection's thread.
    for line in requests.lines().chain(requests.lines().take(60)) {
        let line: Value = serde_json::from_str(line).unwrap();
        let body = match &line["request"]["body"] {
            Value::String(raw) => raw.clone(),
            body => body.to_string(),
        };
        let (query, [offset, limit, order, count]) = query(&line["request"]);
        let params = SearchParams::new()
            .offset(offset.as_deref())
            .limit(limit.as_deref())
            .order(order.as_deref())
            .count(count.as_deref());
        let target = format!("{SEARCH}?{query}");
        let answer = client.call(&key, "POST", &target, body.as_bytes());
        match FilterBuilder::new(engine.catalog()).request(body.as_bytes(), &params) {
            Ok(request) => {
                assert_eq!(answer.status, 200, "{line}");
                assert_eq!(answer.text(), engine.search(&request).unwrap().to_json(), "{line}");
                assert_eq!(answer.header("cache-control"), Some("no-store"));
            }
            Err(errors) => {
                let description = answer.failure(400);
                assert_eq!(description, Envelope::invalid("", &errors).description, "{line}");
            }
        }
    }
    server.stop();
}

#[test]
fn searches_answer_the_plain_vectors_byte_for_byte() {
    check_vectors("plain");
}

#[test]
fn searches_answer_the_weird_vectors_byte_for_byte() {
    check_vectors("weird");
}

#[test]
fn the_other_operations_return_the_same_as_the_library() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    let names = client.call(&all, "GET", FILTERS, b"").good();
    let catalog = Catalog::cases();
    assert_eq!(names, json!(catalog.names().collect::<Vec<_>>()));
    for documented in ["caseReview.status", "status", "createdAt", "updatedAt", "createdByType"] {
        assert!(names.as_array().unwrap().contains(&json!(documented)));
    }
    let applicants = ["anna", "boris", "chen", "dana", "firm-one"];
    let statuses = applicants.map(|id| client.call(&all, "GET", &status_of(id), b"").text().to_owned());
    let seen = ["anna", "boris"].map(|id| client.call(&all, "GET", &aml_of(id), b"").text().to_owned());
    let less = client.call(&key("viewAmlScreening"), "GET", &aml_of("anna"), b"").text().to_owned();
    let token = server.database.share_token.clone();
    // A preview can be repeated.
    let previews = [0, 1].map(|_| {
        let answer = client.call(&all, "GET", &format!("{PREVIEW}?shareToken={token}"), b"");
        answer.good();
        answer.text().to_owned()
    });
    let store = server.stop().open();
    for (id, status) in applicants.iter().zip(statuses) {
        assert_eq!(status, step_status(&store, id).unwrap());
    }
    assert_eq!(seen, ["anna", "boris"].map(|id| aml_case(&store, id, true).unwrap()));
    assert_eq!(less, aml_case(&store, "anna", false).unwrap());
    for secret in ["reviewerName", "attributes", "clusteredLinks"] {
        assert!(seen[0].contains(secret) && !less.contains(secret), "{secret}");
    }
    for own in previews {
        assert_eq!(own, preview(&store, &token, std::time::SystemTime::now().into()).unwrap());
    }
}

#[test]
fn an_update_is_acknowledged_visible_and_durable() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    let body = r#"{"firstName":"Юлия","dob":"1991-02-03","placeOfBirth":null,"countryOfBirth":"UKR"}"#;
    let info = client.call(&all, "PATCH", &info_of("anna"), body.as_bytes()).good();
    assert_eq!(info["firstName"], "Юлия");
    assert_eq!(info["firstNameEn"], "Iuliia");
    assert_eq!((&info["lastName"], &info["lastNameEn"]), (&json!("Grün"), &json!("Gruen")));
    assert!(info.get("placeOfBirth").is_none() && info.get("placeOfBirthEn").is_none());
    let again = client.call(&all, "PATCH", &info_of("anna"), br#"{"stateOfBirth":"x"}"#).good();
    assert_eq!((&again["dob"], &again["stateOfBirth"]), (&json!("1991-02-03"), &json!("x")));
    let preview = format!("{PREVIEW}?shareToken={}", server.database.share_token);
    assert_eq!(client.call(&all, "GET", &preview, b"").good()["info"]["firstNameEn"], "Iuliia");
    let server = Server::on(server.stop(), ServiceOptions::default());
    let kept = server.client().call(&all, "PATCH", &info_of("anna"), br#"{"stateOfBirth":"x"}"#).good();
    assert_eq!(kept, again);
    server.stop();
}

/// Checks every row of the Errors table of the interface document.
#[test]
fn errors_are_those_of_the_interface_document() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    let open = r#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#;
    for (query, body, expected) in [
        ("", "", "found the end of the text"),
        ("", "{}", "found neither"),
        ("", r#"{"ids":null,"criteria":null}"#, "found only `null`"),
        (
            "",
            r#"{"criteria":[{"field":"statis","op":"=","values":["open"]}]}"#,
            "criteria[0].field (byte 22): found `statis`",
        ),
        ("", r#"{"criteria":[{"field":"status","op":"~","values":["open"]}]}"#, "criteria[0].op"),
        (
            "",
            r#"{"criteria":[{"field":"createdAt","op":">","values":["yesterday"]}]}"#,
            "criteria[0].values[0]",
        ),
        ("", "[1]", "found an array"),
        ("", "{\"ids\":[\"\u{1}\"]}", "ids[0]"),
        ("?limit=-1", open, "limit (byte 0): found `-1`"),
        ("?limit=10001", open, "limit (byte 0): found 10001, expected at most 10000"),
        ("?limit=5&limit=5", open, "limit (byte 0): found `5` again"),
        ("?offset=x", open, "offset (byte 0): found `x`"),
        ("?order=tags", open, "order"),
        ("?order=-nothing", open, "order"),
        ("?countTotalItems=yes", open, "countTotalItems (byte 0): found `yes`"),
        ("?countTotalItems=yes&offset=x&limit=y&order=z", "{", "countTotalItems (byte 0)"),
    ] {
        let description =
            client.call(&all, "POST", &format!("{SEARCH}{query}"), body.as_bytes()).failure(400);
        assert!(description.starts_with("Invalid parameters: "), "{description}");
        assert!(description.contains(expected), "{query} {body}: {description}");
    }
    let description = client.call(&all, "POST", SEARCH, b"{\"ids\":[\"\xff\"]}").failure(400);
    assert!(description.contains("0xFF"), "{description}");

    let database = &server.database;
    let known = &database.share_token;
    for query in [
        String::new(),
        "?shareToken=".to_owned(),
        "?shareToken=unknown".to_owned(),
        format!("?token={known}"),
        format!("?shareToken={known}&shareToken={known}"),
        format!("?shareToken={}", known.to_uppercase()),
        format!("?shareToken={}", database.used_share_token),
        format!("?shareToken={}", database.expired_share_token),
    ] {
        let description = client.call(&all, "GET", &format!("{PREVIEW}{query}"), b"").failure(401);
        assert_eq!(description, "the share token is invalid", "{query}");
    }

    for id in ["", "nobody", "firm-one", "%00", "%ff", "%C3%A4", "..", "a%2Fb"] {
        let description = client.call(&all, "PATCH", &info_of(id), br#"{"dob":null}"#).failure(400);
        assert!(description.starts_with("Invalid applicant id "), "{id}: {description}");
        if ["nobody", "firm-one", "%ff", ".."].contains(&id) {
            assert!(description.contains(&format!("`{id}`")), "{description}");
        }
    }
    for body in ["", "{}", "[]", r#"{"x":"y"}"#, r#"{"dob":"2999-01-01"}"#, r#"{"countryOfBirth":"DE"}"#] {
        let description = client.call(&all, "PATCH", &info_of("anna"), body.as_bytes()).failure(400);
        assert!(description.starts_with("Invalid parameters: "), "{description}");
    }
    for value in ["", "  ", "a\0b"] {
        let body = json!({"firstName": value}).to_string();
        let description = client.call(&all, "PATCH", &info_of("anna"), body.as_bytes()).failure(400);
        assert!(description.starts_with("Invalid parameters: firstName "), "{description}");
        assert!(description.ends_with("or `null`, which clears `firstName`"), "{description}");
    }

    for id in ["chen", "dana", "nobody", "%00", "%ff"] {
        let description = client.call(&all, "GET", &aml_of(id), b"").failure(404);
        assert_eq!(description, "HTTP 404 Not Found", "{id}");
    }
    for id in ["nobody", "%ff"] {
        let description = client.call(&all, "GET", &status_of(id), b"").failure(404);
        assert_eq!(description, format!("no applicant with the id `{id}`"));
    }
    server.stop();
}

#[test]
fn unknown_paths_and_methods_get_the_envelope() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    let slash = format!("{SEARCH}/");
    for path in ["/", "/resources", &slash, "/resources/applicants/a/b/c", "/%ff"] {
        client.call(&all, "POST", path, b"{}").failure(404);
        client.get(path).failure(404);
    }
    for (method, path, allowed) in [
        ("GET", SEARCH.to_owned(), "POST"),
        ("DELETE", SEARCH.to_owned(), "POST"),
        ("GET", FACETS.to_owned(), "POST"),
        ("POST", FILTERS.to_owned(), "GET,HEAD"),
        ("PUT", status_of("anna"), "GET,HEAD"),
        ("POST", PREVIEW.to_owned(), "GET,HEAD"),
        ("PATCH", aml_of("anna"), "GET,HEAD"),
        ("GET", info_of("anna"), "PATCH"),
        ("BREW", info_of("anna"), "PATCH"),
        ("POST", "/healthz".to_owned(), "GET,HEAD"),
    ] {
        let answer = client.call(&all, method, &path, b"");
        answer.failure(405);
        assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
    }
    server.stop();
}

#[test]
fn cases_are_counted_by_value() {
    let server = Server::start();
    if server.database.source().is_some() {
        server.stop();
        return;
    }
    let (mut client, all) = (server.client(), key("all"));
    let body = br#"{"criteria":[{"field":"status","op":"=","values":["open"]}],"facets":[{"field":"status"},
        {"field":"createdAt","interval":"year"},{"field":"totalAmountInDefaultCurrency","stats":true}]}"#;
    let answer = client.call(&all, "POST", FACETS, body).good();
    let total = answer["totalItems"].as_u64().unwrap();
    assert!(total > 0);
    let facets = answer["facets"].as_array().unwrap();
    assert_eq!(facets[0]["values"][0], json!({"value": "open", "count": total}));
    let sum: u64 =
        facets[1]["buckets"].as_array().unwrap().iter().map(|own| own["count"].as_u64().unwrap()).sum();
    assert_eq!(sum + facets[1]["absent"].as_u64().unwrap(), total);
    assert!(facets[2]["stats"]["mean"].as_f64().unwrap() > 0.0);
    client.call(&key("none"), "POST", FACETS, body).failure(403);
    let hours = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}],"facets":[{"field":"totalAmountInDefaultCurrency","width":1e-9}]}"#;
    let message = client.call(&all, "POST", FACETS, hours).failure(400);
    assert!(message.contains("at most 10000 buckets"), "{message}");
    let message = client
        .call(&all, "POST", FACETS, br#"{"ids":[],"facets":[{"field":"status","stats":true}]}"#)
        .failure(400);
    assert!(
        message.starts_with("Invalid parameters: facets[0].stats (byte 46): found statistics of"),
        "{message}"
    );
    server.stop();
}

#[test]
fn health_readiness_and_metrics_are_reported() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    assert_eq!(client.get("/healthz").good(), json!({"status": "ok"}));
    assert_eq!(client.get("/readyz").good(), json!({"status": "ready"}));
    let body = br#"{"criteria":[{"field":"status","op":"=","values":["open"]}]}"#;
    for _ in 0..3 {
        client.call(&all, "POST", SEARCH, body).good();
    }
    client.call(&all, "POST", SEARCH, b"{}").failure(400);
    client.call(&key("none"), "POST", SEARCH, b"{}").failure(403);
    let answer = server.metrics();
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = answer.text();
    for line in [
        "casefilter_http_requests_total{operation=\"casesByFilter\",status=\"200\"} 3",
        "casefilter_http_requests_total{operation=\"casesByFilter\",status=\"400\"} 1",
        "casefilter_http_requests_total{operation=\"casesByFilter\",status=\"403\"} 1",
        "casefilter_http_requests_total{operation=\"other\",status=\"200\"} 2",
        "casefilter_http_request_duration_seconds_bucket{operation=\"casesByFilter\",le=\"+Inf\"} 5",
        "casefilter_http_request_duration_seconds_count{operation=\"casesByFilter\"} 5",
        "casefilter_compile_failures_total{kind=\"empty_body\"} 1",
        "casefilter_filter_cache_hits_total 2",
        "casefilter_filter_cache_misses_total 2",
        concat!("casefilter_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        "casefilter_cases 700",
        "casefilter_batches 1",
        "casefilter_connections 1",
        "casefilter_requests_at_work 0",
    ] {
        assert!(text.lines().any(|own| own == line), "no {line} in\n{text}");
    }
    let of_source: &[&str] = match server.database.source() {
        None => &["casefilter_rows_examined_total 2100"],
        Some(_) => &[
            "casefilter_source_searches_total{outcome=\"answered\"} 3",
            "casefilter_source_searches_total{outcome=\"timeout\"} 0",
            "casefilter_source_connections 1",
            "casefilter_source_connections_idle 1",
            "casefilter_source_waiting 0",
        ],
    };
    if cfg!(target_os = "linux") {
        for name in [
            "cpu_seconds_total",
            "resident_memory_bytes",
            "virtual_memory_bytes",
            "open_fds",
            "max_fds",
            "start_time_seconds",
        ] {
            let start = format!("process_{name} ");
            let value = text.lines().find_map(|line| line.strip_prefix(&start)).map(str::parse::<f64>);
            assert!(matches!(value, Some(Ok(value)) if value >= 0.0), "no {name} in\n{text}");
        }
    }
    for line in of_source {
        assert!(text.lines().any(|own| own == *line), "no {line} in\n{text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = name.split_once('{').unwrap_or((name, "}"));
        let is_known = ["casefilter_", "process_"].iter().any(|start| name.starts_with(start));
        assert!(is_known && labels.ends_with('}'), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let family = family.filter(|name| name.ends_with("_seconds")).unwrap_or(name);
        assert!(text.contains(&format!("# TYPE {family} ")), "{line}");
    }
    server.stop();
}

#[test]
fn every_endpoint_of_the_openapi_document_exists() {
    let server = Server::start();
    let (mut client, all) = (server.client(), key("all"));
    let document = client.get("/openapi.json").good();
    assert_eq!(document["openapi"].as_str().map(|version| &version[..3]), Some("3.1"));
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            operations += 1;
            let applicant = if path.ends_with("/companyInfo") { "firm-one" } else { "anna" };
            let target = path.replace("{applicantId}", applicant).replace("{name}", "urgent");
            if path == STREAM && server.database.source().is_none() {
                // Its response has no end.
                let mut client = server.client();
                let request = head(&all, "GET", &target, b"") + "\r\n";
                client.send(request.as_bytes()).unwrap();
                assert_eq!(client.head_status(), 200);
                continue;
            }
            let answer = client.call(&all, &method.to_uppercase(), &target, b"{\"x\":1}");
            // There is no standing filter yet. PostgreSQL has none at all.
            let missing = if server.database.source().is_some() { 4044 } else { 4043 };
            let is_missing = answer.status == 404 && answer.code().0 == missing;
            assert!(is_missing || ![404, 405].contains(&answer.status), "{method} {path}: {}", answer.text());
            let status = answer.status.to_string();
            assert!(methods[method]["responses"].get(&status).is_some(), "{method} {path}: {status}");
        }
    }
    assert_eq!(operations, 19);
    server.stop();
}
