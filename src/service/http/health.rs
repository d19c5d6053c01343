//! Unsigned endpoints: `/healthz`, `/readyz` and `/openapi.json`, and the response of `/metrics`, which is not on the public port.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::errors::{Failure, json};
use crate::service::metrics::text as metrics;
use crate::service::openapi;
use crate::service::state::ServiceState;

/// Adds the unsigned endpoints of the public port.
pub(in crate::service) fn routes(router: Router<Arc<ServiceState>>) -> Router<Arc<ServiceState>> {
    router
        .route("/healthz", get(async || alive()))
        .route("/readyz", get(readiness))
        .route("/openapi.json", get(openapi))
}

/// Handles `/openapi.json`. The schemas of the search depend on the catalogue.
async fn openapi(State(shared): State<Arc<ServiceState>>) -> Response {
    let document = shared.openapi.get_or_init(|| openapi::document(shared.store.catalog()));
    json(document.clone().into_bytes())
}

/// Returns the response of `/healthz`.
pub(super) fn alive() -> Response {
    json(br#"{"status":"ok"}"#.to_vec())
}

/// Handles `/readyz`.
async fn readiness(State(shared): State<Arc<ServiceState>>) -> Response {
    ready(&shared).await.unwrap_or_else(Failure::into_response)
}

/// Returns the response of `/readyz`, with status 200.
///
/// # Errors
/// Returns an error with status 503 if the service is shutting down, if it cannot record requests, or if the source of cases does
/// not respond.
pub(super) async fn ready(shared: &ServiceState) -> Result<Response, Failure> {
    let why = if shared.is_draining() {
        "the service is shutting down"
    } else if shared.is_unrecorded() {
        "the service cannot record requests; the log says why"
    } else if !shared.source_answers().await {
        "the cases cannot be searched; the log says why"
    } else if shared.writes_fail() {
        // The service is still ready, because searches work. A 503 would also stop the searches.
        return Ok(json(br#"{"status":"ready","writes":"failing"}"#.to_vec()));
    } else {
        return Ok(json(br#"{"status":"ready"}"#.to_vec()));
    };
    Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, why))
}

/// Returns the response of `/metrics`, for the metrics listener and the admin socket.
pub(in crate::service) fn metrics(shared: &ServiceState) -> Response {
    let mut response = Response::new(Body::from(metrics::text(shared)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
