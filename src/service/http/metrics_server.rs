//! The listener for `/metrics`, apart from the port of the clients.
//!
//! Counters of searches tell those who can read them about all tokens' cases, so that clients must not reach them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::errors::Failure;
use super::health;
use super::transport::{Due, Transport};
use crate::service::state::ServiceState;

/// Connections at a time; more wait until one ends.
const CONNECTIONS: usize = 16;

/// Serves `/metrics` until it is dropped.
pub(super) struct MetricsServer(JoinHandle<()>);

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl MetricsServer {
    pub(super) fn start(listener: TcpListener, shared: Arc<ServiceState>) -> Self {
        Self(tokio::spawn(accept(listener, shared)))
    }
}

async fn accept(listener: TcpListener, shared: Arc<ServiceState>) {
    // Aborts its connections when it is dropped.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS {
            connections.join_next().await;
            continue;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve(stream, Arc::clone(&shared)));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection for metrics could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<ServiceState>) {
    let transport = Transport::new(stream, Due::new(shared.options.write_timeout));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let response = respond(&shared, request.method(), request.uri().path());
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.options.read_timeout)
        .serve_connection(TokioIo::new(transport), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection for metrics ended early");
    }
}

fn respond(shared: &ServiceState, method: &Method, path: &str) -> Response {
    let name = shared.names.next();
    let refuse = |status, description| Failure::new(status, description).respond(name.as_str().to_owned());
    let mut response = match (path, method) {
        ("/metrics", &Method::GET | &Method::HEAD) => health::metrics(shared),
        ("/metrics", _) => {
            let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "the path does not have this method");
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET,HEAD"));
            response
        }
        _ => refuse(StatusCode::NOT_FOUND, "there is no such path: this listener has /metrics alone"),
    };
    name.mark(&mut response);
    response
}
