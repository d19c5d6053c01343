//! The router of the public port: maps paths and methods to endpoints.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::routing::MethodRouter;

use super::errors::Failure;
use super::health;
use crate::service::dispatch;
use crate::service::operations::table::ENDPOINTS;
use crate::service::state::ServiceState;

/// Creates the router of the public port.
pub(super) fn router(shared: Arc<ServiceState>) -> Router {
    let mut router = Router::new();
    for endpoint in &ENDPOINTS {
        let method = MethodRouter::new();
        let method = if endpoint.has_id() {
            let handler = async move |State(shared): State<Arc<ServiceState>>,
                                      id: Result<Path<String>, PathRejection>,
                                      request: Request| {
                let id = match id {
                    Ok(Path(id)) => Ok(id),
                    Err(_) => Err(endpoint.raw_id(request.uri().path()).to_owned()),
                };
                dispatch::answer(shared, endpoint, id, request).await
            };
            method.on(endpoint.method, handler)
        } else {
            let handler = async move |State(shared): State<Arc<ServiceState>>, request: Request| {
                dispatch::answer(shared, endpoint, Ok(String::new()), request).await
            };
            method.on(endpoint.method, handler)
        };
        router = router.route(endpoint.path, method);
    }
    health::routes(router)
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "unknown path"))
        .method_not_allowed_fallback(async || {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "the path does not support this method")
        })
        .with_state(shared)
}
