//! The server of the admin socket: accepts connections, answers requests, and logs them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;

use super::context::Admin;
use super::import::Cancellation;
use super::routes;
use super::socket::AdminSocket;
use crate::service::audit::AuditLog;
use crate::service::audit::record::{Answered, By, Note};
use crate::service::http::closing::{Closing, OpenConnection};
use crate::service::http::correlation::CorrelationId;
use crate::service::http::errors::Failure;
use crate::service::http::http1::run_connection;
use crate::service::http::write_timeout::{ResponseDeadline, WriteTimeout};
use crate::service::state::ServiceState;

/// The maximum number of simultaneous connections. Further connections wait. Each connection may keep a blocking thread busy.
const CONNECTIONS: usize = 16;

/// The header in which a client names the database that it expects. A service with another database rejects the request. So a
/// command cannot use the wrong service by mistake.
const DATABASE: HeaderName = HeaderName::from_static("x-casefilter-database");

/// The requests that the audit log does not contain: the state of the service, and its metrics.
const UNRECORDED: [&str; 2] = ["GET /", "GET /metrics"];

/// The requests that are logged at the level `debug`, because they change and copy nothing.
const QUIET: [&str; 7] = [
    "GET /",
    "GET /metrics",
    "GET /share-tokens",
    "GET /standing-filters",
    "POST /searches",
    "POST /facets",
    "POST /events",
];

/// The paths of `POST` requests that change nothing on this machine. Such a request ends when the operator disconnects.
const READS: [&str; 4] = ["/searches", "/facets", "/copies", "/events"];

/// The state that all connections of the admin socket share.
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

    /// Accepts connections. Runs until the future is dropped.
    pub(in crate::service) async fn accept(self: &Arc<Self>, socket: &AdminSocket, closing: &Closing) {
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            // The semaphore is never closed, so this does not fail.
            let slot = Arc::clone(&slots).acquire_owned().await;
            let stream = match socket.accept().await {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection of an operator");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let (server, open) = (Arc::clone(self), closing.connection());
            tokio::spawn(async move {
                let _slot = slot;
                server.serve(stream, open).await;
            });
        }
    }

    async fn serve(self: &Arc<Self>, stream: UnixStream, open: OpenConnection) {
        let options = &self.admin.shared.options;
        let user = stream.peer_cred().ok().map(|peer| peer.uid());
        // The client may be slow, because a search command may write to a pager.
        let timeout = options.write_timeout.max(routes::BODY_IDLE_TIMEOUT);
        let stream = WriteTimeout::new(stream, ResponseDeadline::new(timeout));
        let service = service_fn(|request: hyper::Request<Incoming>| self.respond(request, user));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(options.read_timeout)
            .serve_connection(TokioIo::new(stream), service);
        let served = run_connection(connection, open).await;
        if let Err(error) = served {
            tracing::debug!(%error, "a connection of an operator ended early");
        }
    }

    /// Answers a request. If the operator disconnects, `GET` requests and requests to the paths [`READS`] end without a record. All
    /// other requests are recorded: imports and backups are cancelled and end early, others run to their end.
    async fn respond(
        self: &Arc<Self>,
        mut request: hyper::Request<Incoming>,
        user: Option<u32>,
    ) -> Result<Response, Infallible> {
        let cancellation = Cancellation::default();
        let _guard = cancellation.on_drop();
        request.extensions_mut().insert(cancellation);
        if request.method() != Method::POST || READS.contains(&request.uri().path()) {
            return self.answer(request, user).await;
        }
        let own = Arc::clone(self);
        let change = async move {
            let _change = own.admin.shared.changes.acquire().await;
            own.answer(request, user).await
        };
        match tokio::spawn(change).await {
            Ok(response) => response,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        user: Option<u32>,
    ) -> Result<Response, Infallible> {
        let start = Instant::now();
        let id = self.admin.shared.correlation_ids.next();
        let summary = format!("{} {}", request.method(), request.uri().path());
        let expected = request.headers().get(DATABASE);
        let is_expected = expected.is_none_or(|expected| self.admin.database_id().matches(expected));
        // The state of the service is shown even if requests cannot be recorded.
        let audit = self.admin.shared.audit.as_ref().filter(|_| !UNRECORDED.contains(&&*summary));
        let (mut response, mut cause) = if audit.is_some_and(AuditLog::refuses) {
            self.reject(Failure::unrecorded().closing(), id)
        } else if is_expected {
            let mut response = self.router.call(request.map(Body::new)).await?;
            match response.extensions_mut().remove::<Failure>() {
                Some(failure) => self.reject(failure, id),
                None => (response, None),
            }
        } else {
            let found = format!("this service has another database, {}", self.admin.path.display());
            self.reject(Failure::new(StatusCode::CONFLICT, found).typed("other_database").closing(), id)
        };
        if let Some(audit) = audit {
            let by = By::Operator { request: &summary, user };
            let status = response.status().as_u16();
            let note = response.extensions_mut().remove::<Arc<Note>>();
            let record = Answered { correlation_id: id.as_str(), by, status, note: note.as_deref() };
            if !audit.record(record.members()).await {
                (response, cause) = self.reject(Failure::unrecorded().closing(), id);
            }
        }
        id.add_to(&mut response);
        let status = response.status().as_u16();
        let took_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(
                    correlation_id = id.as_str(),
                    request = summary,
                    user,
                    status,
                    took_us,
                    cause,
                    "administered"
                )
            };
        }
        match status {
            503 => event!(warn),
            500.. => event!(error),
            _ if QUIET.contains(&&*summary) => event!(debug),
            // Requests that change or copy data are logged with the default log level.
            _ => event!(info),
        }
        Ok(response)
    }

    /// Returns the response to a failed request. If the service caused the failure, also returns the cause for the log.
    fn reject(&self, failure: Failure, id: CorrelationId) -> (Response, Option<String>) {
        let description = failure.status().is_server_error().then(|| failure.description());
        let cause = failure.cause().or(description).map(str::to_owned);
        (failure.respond_to_operator(id.as_str().to_owned()), cause)
    }
}
