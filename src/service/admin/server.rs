//! Serves the connections of operators.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;

use super::context::Admin;
use super::routes;
use super::socket::AdminSocket;
use crate::service::http::correlation::Name;
use crate::service::http::errors::Failure;
use crate::service::http::transport::{Due, Transport};
use crate::service::state::ServiceState;

/// Connections at a time; more wait until one ends. Each may have a thread that waits for the file.
const CONNECTIONS: usize = 16;

/// By which a client names the database that it means, so that none is taken for another.
const DATABASE: HeaderName = HeaderName::from_static("x-casefilter-database");

/// Serves the requests of operators.
pub(in crate::service) struct AdminServer {
    admin: Arc<Admin>,
    router: TowerToHyperService<Router>,
}

impl AdminServer {
    pub(in crate::service) fn new(socket: &AdminSocket, shared: Arc<ServiceState>) -> Arc<Self> {
        let (path, database) = socket.database();
        let admin = Arc::new(Admin { shared, database, path: path.to_owned() });
        let router = TowerToHyperService::new(routes::router(Arc::clone(&admin)));
        Arc::new(Self { admin, router })
    }

    /// Takes connections, for as long as it is polled.
    pub(in crate::service) async fn accept(
        self: &Arc<Self>,
        socket: &AdminSocket,
        graceful: &GracefulShutdown,
    ) {
        let seats = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            // A semaphore that nobody closes.
            let seat = Arc::clone(&seats).acquire_owned().await;
            let stream = match socket.accept().await {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection of an operator could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let (server, watcher) = (Arc::clone(self), graceful.watcher());
            tokio::spawn(async move {
                let _seat = seat;
                server.serve(stream, watcher).await;
            });
        }
    }

    async fn serve(&self, stream: UnixStream, watcher: Watcher) {
        let options = &self.admin.shared.options;
        let user = stream.peer_cred().ok().map(|peer| peer.uid());
        // A command that searches may print to someone who reads slowly.
        let transport = Transport::new(stream, Due::new(options.write_timeout.max(routes::PATIENCE)));
        let service = service_fn(|request: hyper::Request<Incoming>| self.respond(request, user));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(options.read_timeout)
            .serve_connection(TokioIo::new(transport), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection of an operator ended early");
        }
    }

    async fn respond(
        &self,
        request: hyper::Request<Incoming>,
        user: Option<u32>,
    ) -> Result<Response, Infallible> {
        let start = Instant::now();
        let name = self.admin.shared.names.next();
        let what = format!("{} {}", request.method(), request.uri().path());
        let means_this = request.headers().get(DATABASE).is_none_or(|meant| self.admin.identity().is(meant));
        let (mut response, cause) = if means_this {
            let mut response = self.router.call(request.map(Body::new)).await?;
            match response.extensions_mut().remove::<Failure>() {
                Some(failure) => self.refuse(failure, name),
                None => (response, None),
            }
        } else {
            let found = format!("this service has another database, {}", self.admin.path.display());
            self.refuse(Failure::new(StatusCode::CONFLICT, found).typed("other_database").closing(), name)
        };
        name.mark(&mut response);
        let status = response.status().as_u16();
        let took_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(
                    correlation_id = name.as_str(),
                    request = what,
                    user,
                    status,
                    took_us,
                    cause,
                    "administered"
                )
            };
        }
        match status {
            500.. => event!(error),
            _ if ["GET /", "GET /metrics", "POST /searches"].contains(&&*what) => event!(debug),
            // Whoever changes what is there leaves a trace.
            _ => event!(info),
        }
        Ok(response)
    }

    /// The answer to a request that failed, and its cause, which the log has for all that is no fault of the client.
    fn refuse(&self, failure: Failure, name: Name) -> (Response, Option<String>) {
        let told = failure.status().is_server_error().then(|| failure.description());
        let cause = failure.cause().or(told).map(str::to_owned);
        (failure.respond_to_operator(name.as_str().to_owned()), cause)
    }
}
