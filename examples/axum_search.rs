//! An axum service for several tenants. Each tenant has a list of fields that it may name, and a filter for its own cases. Criteria
//! of the tenant cannot select other cases.
//!
//! ```sh
//! cargo run --example axum_search --features service
//! ```

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::{collections::HashMap, error::Error, sync::Arc};

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use axum::{Router, body::Bytes, response::IntoResponse, routing::post};
use casefilter::{Catalog, Engine, Filter, FilterBuilder, FilterCache, Operator, SearchParams};
use serde_json::json;

const CASES: &str = r#"[{"id": "a-1", "clientId": "acme", "caseReview": {"status": "open"}},
    {"id": "a-2", "clientId": "acme", "priority": "high", "caseReview": {"status": "open"}},
    {"id": "g-1", "clientId": "globex", "priority": "high", "caseReview": {"status": "open"}}]"#;

/// The cases of all tenants, and the compiled filters of each tenant by its API key.
struct Service(Engine, HashMap<&'static str, FilterCache>);

/// Returns a cache of filters that name only `fields` and select only the cases of `client`.
fn tenant(cases: &Catalog, client: &str, fields: &[&str]) -> Result<FilterCache, Box<dyn Error>> {
    let own_cases = Filter::test(cases, "clientId", Operator::Equal, [client])?;
    let builder = FilterBuilder::new(&cases.allow(fields.iter().copied())?);
    Ok(FilterCache::new(builder, 1 << 20).within(&own_cases)?)
}

/// Responds with ids only, because documents also have members that the tenant may not name.
async fn search(
    State(service): State<Arc<Service>>,
    Query(params): Query<SearchParams<'static>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<impl IntoResponse, StatusCode> {
    let tenant = headers.get("x-api-key").and_then(|key| service.1.get(key.to_str().ok()?));
    let request = tenant.ok_or(StatusCode::UNAUTHORIZED)?.request(&body, &params);
    let (status, kind, reply) = match request.map(|request| service.0.search(&request)) {
        Ok(Ok(answer)) => (StatusCode::OK, "application/json", answer.ids().collect()),
        Ok(Err(_)) => return Err(StatusCode::INTERNAL_SERVER_ERROR),
        // A problem document (RFC 9457). Each error has its code, its position and a description.
        Err(errors) => (StatusCode::BAD_REQUEST, "application/problem+json", json!({"errors": errors})),
    };
    Ok((status, [(CONTENT_TYPE, kind)], reply.to_string()))
}

/// Sends a search over TCP, and returns the response.
fn send(address: SocketAddr, key: &str, body: &str) -> Result<String, Box<dyn Error>> {
    let (mut stream, mut response) = (TcpStream::connect(address)?, String::new());
    let head = format!("Host: x\r\nConnection: close\r\nX-Api-Key: {key}\r\nContent-Length: {}", body.len());
    write!(stream, "POST /search?order=-id HTTP/1.1\r\n{head}\r\n\r\n{body}")?;
    stream.read_to_string(&mut response)?;
    println!("{key} sends {body}\n{response}\n");
    Ok(response)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (cases, engine) = (Catalog::cases(), Engine::new(Catalog::cases()));
    engine.upsert_many(CASES.as_bytes())?;
    let acme = tenant(&cases, "acme", &["id", "status"])?;
    let globex = tenant(&cases, "globex", &["id", "status", "priority"])?;
    let service = Service(engine, HashMap::from([("acme-key", acme), ("globex-key", globex)]));
    let app = Router::new().route("/search", post(search)).with_state(Arc::new(service));
    let runtime = tokio::runtime::Runtime::new()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    runtime.spawn(axum::serve(listener, app).into_future());
    // Open cases, and `g-1` by its id. For acme, neither this case nor the field `priority` exists.
    let body = r#"{"ids": ["g-1"], "criteria": [{"field": "status", "op": "=", "values": ["open"]}]}"#;
    assert!(send(address, "acme-key", body)?.ends_with(r#"["a-2","a-1"]"#));
    assert!(send(address, "globex-key", body)?.ends_with(r#"["g-1"]"#));
    let hidden = send(address, "acme-key", &body.replace("status", "priority"))?;
    assert!(hidden.starts_with("HTTP/1.1 400 ") && hidden.contains(r#""kind":"unknown_field""#));
    assert!(hidden.contains(r#""path":"criteria[0].field""#));
    Ok(())
}
