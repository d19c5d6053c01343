//! The server of the separate listener for operators: `/metrics`, `/healthz` and `/readyz`.
//!
//! The counters include the cases of all tokens. So clients must not be able to read them on the public port.

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
use super::write_timeout::{ResponseDeadline, WriteTimeout};
use crate::service::state::ServiceState;

/// The maximum number of simultaneous connections. Further connections wait.
const CONNECTIONS: usize = 16;

/// A task that serves `/metrics`. Dropping this handle ends the task.
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
    // When a `JoinSet` is dropped, it aborts its tasks. So the connections end together with this task.
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
                tracing::warn!(%error, "cannot accept a connection for metrics");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<ServiceState>) {
    let transport = WriteTimeout::new(stream, ResponseDeadline::new(shared.options.write_timeout));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(respond(&shared, &method, &path).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.options.read_timeout)
        .serve_connection(TokioIo::new(transport), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection for metrics ended early");
    }
}

async fn respond(shared: &ServiceState, method: &Method, path: &str) -> Response {
    let id = shared.correlation_ids.next();
    let reject = |status, description| Failure::new(status, description).respond(id.as_str().to_owned());
    let mut response = match (path, method) {
        ("/metrics", &Method::GET | &Method::HEAD) => health::metrics(shared),
        ("/healthz", &Method::GET | &Method::HEAD) => health::alive(),
        ("/readyz", &Method::GET | &Method::HEAD) => match health::ready(shared).await {
            Ok(response) => response,
            Err(failure) => failure.respond(id.as_str().to_owned()),
        },
        ("/metrics" | "/healthz" | "/readyz", _) => {
            let description = "the path does not support this method";
            let mut response = reject(StatusCode::METHOD_NOT_ALLOWED, description);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET,HEAD"));
            response
        }
        _ => reject(
            StatusCode::NOT_FOUND,
            "unknown path: this listener serves only /metrics, /healthz and /readyz",
        ),
    };
    id.add_to(&mut response);
    response
}
