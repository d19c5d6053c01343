//! The server of the public port: accepts connections, checks the head of requests, and shuts down gracefully.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::client_watch::{ClientWatch, WatchedStream};
use super::encoding::{Accepted, Coding, accepted};
use super::errors::Failure;
use super::metrics_server::MetricsServer;
use super::peers::{ClientAddress, Peer, Peers};
use super::request_log::{Origin, RequestLog};
use super::router::router;
use super::tls::Tls;
use super::write_timeout::{ResponseDeadline, WriteTimeout};
use crate::domain;
#[cfg(feature = "postgres")]
use crate::postgres::PostgresSource;
#[cfg(unix)]
use crate::service::admin::{AdminSocket, server::AdminServer};
use crate::service::audit::AuditLog;
use crate::service::auth::tokens::{TokenUpdater, Tokens};
use crate::service::operations::case_source::CaseSource;
use crate::service::operations::table::ENDPOINTS;
use crate::service::options::ServiceOptions;
use crate::service::state::ServiceState;
use crate::store::{Store, StoreError};

/// An HTTP service for the five operations. [`serve`](Self::serve) runs it.
///
/// ```no_run
/// use casefilter::service::{Service, ServiceOptions, TokenFile, Tokens};
/// use casefilter::{Catalog, Limits, Store, StoreOptions};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Store::open("cases.db", Catalog::cases(), StoreOptions::default())?;
/// let file = TokenFile::read("tokens.json".as_ref())?;
/// let tokens = Tokens::new(file, store.catalog(), &Limits::default())?;
/// let service = Service::new(store, tokens, ServiceOptions::default());
/// tokio::runtime::Runtime::new()?.block_on(async {
///     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
///     service.serve(listener, std::future::pending()).await?;
///     Ok(())
/// })
/// # }
/// ```
pub struct Service {
    shared: ServiceState,
    metrics: Option<TcpListener>,
    #[cfg(unix)]
    admin: Option<AdminSocket>,
}

/// The maximum number of connections over a limit that get a 503 response at the same time. Further connections stay in the accept
/// queue. But those of a peer over its own limit are closed immediately.
const MAX_REJECTING: usize = 64;
/// The timeout for a connection over the limit: it applies to the TLS handshake, and to the request head.
const REJECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The time for which the service still accepts connections from the accept queue on shutdown.
const FINAL_ACCEPT: Duration = Duration::from_millis(5);
/// The time for which connections without a request stay open on shutdown. A request may have arrived that has not been read yet.
const IDLE_GRACE: Duration = Duration::from_millis(250);

/// The time for which a shutdown waits for the records of changes that have outlasted the grace period.
const RECORD_GRACE: Duration = Duration::from_millis(250);

/// The coding of the error for a client that accepts none.
const NO_CODING: Accepted = Accepted { best: Coding::Identity, identity: true };

/// The size of the read buffer for request heads, in bytes. A larger request head is rejected.
const HEAD_BYTES: usize = 64 << 10;

/// The state that all connections of the public port share.
struct Server {
    shared: Arc<ServiceState>,
    router: TowerToHyperService<Router>,
}

impl Service {
    /// Creates a service for the cases and records of `store`. It accepts requests that are signed with `tokens`.
    ///
    /// The maximum size of a page is the smaller of the limits of `options` and of the store. If an earlier version has stored the
    /// applicants, this call writes an index of them, by which tokens with [clients](super::super::TokenEntry::with_clients) find
    /// them.
    #[must_use]
    pub fn new(store: Store, tokens: Tokens, mut options: ServiceOptions) -> Self {
        options.limits.page = options.limits.page.min(store.limits().page);
        let shared =
            ServiceState::new(store, tokens, options, ENDPOINTS.iter().map(|endpoint| endpoint.name));
        if let Err(cause) = shared.spool.check() {
            tracing::warn!(cause, "large request bodies will get 503");
        }
        if let Err(error) = domain::index_clients(&shared.store) {
            let cause = error.to_string();
            tracing::warn!(
                cause,
                "applicants cannot be indexed by client: tokens with clients see none of them"
            );
        }
        Self {
            shared,
            metrics: None,
            #[cfg(unix)]
            admin: None,
        }
    }

    /// Returns a handle that replaces the tokens, also while the service runs.
    #[must_use]
    pub fn token_updater(&self) -> TokenUpdater {
        TokenUpdater {
            shared: Arc::clone(&self.shared.tokens),
            catalog: self.shared.store.catalog().clone(),
            limits: self.shared.options.limits.clone(),
        }
    }

    /// Records each answered request in an audit log. The service closes the log when it stops.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use casefilter::service::{AuditLog, AuditOptions, Service, ServiceOptions, TokenFile, Tokens};
    /// # use casefilter::{Catalog, Limits, Store, StoreOptions};
    /// # let store = Store::open("cases.db", Catalog::cases(), StoreOptions::default())?;
    /// # let tokens = Tokens::new(TokenFile::default(), store.catalog(), &Limits::default())?;
    /// let log = AuditLog::open("audit.ndjson", AuditOptions::default())?;
    /// let service = Service::new(store, tokens, ServiceOptions::default()).with_audit(log);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_audit(mut self, log: AuditLog) -> Self {
        self.shared.audit = Some(log);
        self
    }

    /// Encrypts the connections of the public port with TLS. The caller may keep a clone, to replace the certificate later.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.shared.tls = Some(tls);
        self
    }

    /// Serves `/metrics`, `/healthz` and `/readyz` on a separate listener, without TLS and without signatures, until the service has
    /// stopped.
    ///
    /// The counters include the cases of all tokens, so clients must not be able to reach this listener. The public port does not
    /// serve `/metrics`.
    #[must_use]
    pub fn with_metrics(self, listener: TcpListener) -> Self {
        Self { metrics: Some(listener), ..self }
    }

    /// Lets operators use this socket while the service runs: to import, search, count and delete cases, and to create share
    /// tokens. They can also copy and compact the database.
    #[cfg(unix)]
    #[must_use]
    pub fn with_admin(self, socket: AdminSocket) -> Self {
        Self { admin: Some(socket), ..self }
    }

    /// Searches a PostgreSQL table instead of the store. All other operations still use the store.
    ///
    /// The source must have the same catalogue as the store, because the tokens were checked against the catalogue of the store.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn with_source(mut self, source: PostgresSource) -> Self {
        self.shared.source = CaseSource::Postgres(source);
        self
    }

    /// Serves connections until `shutdown` completes, and then for [`shutdown_delay`](ServiceOptions::shutdown_delay). After that,
    /// finishes the running requests and syncs the store to disk.
    ///
    /// Blocking work runs on the blocking threads of the Tokio runtime (512 by default). For requests of clients, the service uses
    /// at most [`concurrency`](ServiceOptions::concurrency) of these threads.
    ///
    /// # Errors
    /// Returns the error of the final checkpoint or sync. Errors of single connections and requests are only logged.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime with I/O and time enabled.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), StoreError> {
        self.serve_until(listener, shutdown, std::future::pending()).await
    }

    /// Like [`serve`](Self::serve), but the shutdown ends immediately if `abort` completes in the meantime. This applies during
    /// [`shutdown_delay`](ServiceOptions::shutdown_delay) and [`shutdown_timeout`](ServiceOptions::shutdown_timeout). Running
    /// requests are then abandoned, but the store is still synced to disk.
    ///
    /// # Errors
    /// Returns the errors of [`serve`](Self::serve).
    ///
    /// # Panics
    /// Panics in the same cases as [`serve`](Self::serve).
    pub async fn serve_until(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
        abort: impl Future<Output = ()>,
    ) -> Result<(), StoreError> {
        let mut abort = pin!(abort);
        let mut is_aborted = false;
        let Self {
            shared,
            metrics,
            #[cfg(unix)]
            admin,
        } = self;
        let shared = Arc::new(shared);
        let _draining = DrainOnDrop(Arc::clone(&shared));
        let _metrics = metrics.map(|listener| MetricsServer::start(listener, Arc::clone(&shared)));
        let router = TowerToHyperService::new(router(Arc::clone(&shared)));
        let graceful = GracefulShutdown::new();
        let administer = async {
            #[cfg(unix)]
            if let Some(socket) = &admin {
                let server = AdminServer::new(socket, Arc::clone(&shared));
                server.accept(socket, &graceful).await;
            }
            std::future::pending::<()>().await;
        };
        let log = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                shared.log_suppressed();
            }
        };
        let server = Arc::new(Server { shared: Arc::clone(&shared), router });
        let warming = warm(&shared);
        let following = follow(&shared);
        {
            let mut serving = pin!(async {
                tokio::select! {
                    () = accept(&server, &listener, &graceful) => {}
                    () = administer => {}
                    () = log => {}
                    () = shared.restrict_filters() => {}
                }
            });
            tokio::select! {
                () = &mut serving => {}
                () = shared.recover() => {}
                () = shutdown => {}
            }
            shared.begin_draining();
            let drain = shared.options.shutdown_delay;
            if !drain.is_zero() {
                tracing::info!(
                    drain_s = drain.as_secs_f64(),
                    "draining: /readyz is 503, requests are still answered"
                );
            }
            // Connections that are already in the accept queue are still served.
            tokio::select! {
                _ = tokio::time::timeout(drain.max(FINAL_ACCEPT), serving) => {}
                () = &mut abort => is_aborted = true,
            }
        }
        drop(listener);
        #[cfg(unix)]
        drop(admin);
        tracing::info!("shutting down");
        let finish = async {
            // This takes at most half of the grace period. The rest is for running requests.
            let half = shared.options.shutdown_timeout.checked_div(2).unwrap_or_default();
            shared.wait_for_connections(IDLE_GRACE.min(half)).await;
            graceful.shutdown().await;
            // Work continues after its client has disconnected, so closed connections do not mean that all work has ended.
            shared.wait_until_idle().await;
        };
        let abort = async {
            if !is_aborted {
                abort.await;
            }
        };
        let finished = tokio::select! {
            biased;
            () = abort => None,
            finished = tokio::time::timeout(shared.options.shutdown_timeout, finish) => Some(finished.is_ok()),
        };
        match finished {
            Some(true) => {}
            Some(false) => {
                tracing::warn!("the grace period ended with requests still in flight");
                shared.cut_off();
            }
            None => {
                tracing::warn!("asked to end at once: requests in flight are abandoned");
                shared.cut_off();
            }
        }
        shared.log_all_suppressed();
        let end = tokio::task::spawn_blocking(move || {
            // The thread ends soon after the service began to drain. Then the store is closed when `shared` is dropped.
            warming.join();
            following.join();
            let synced = shared.store.checkpoint().and_then(|()| shared.store.sync());
            // The checkpoint waits for the last write, whose record is written after it.
            shared.wait_for_records(RECORD_GRACE);
            shared.close_audit_log();
            synced
        });
        match end.await {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
}

/// Begins to drain when it is dropped, for example because the host has dropped the future of the service. Otherwise, streams of
/// events would keep their connections and the store open.
struct DrainOnDrop(Arc<ServiceState>);

impl Drop for DrainOnDrop {
    fn drop(&mut self) {
        self.0.begin_draining();
    }
}

/// Starts a thread that reads all columns of the database, while the service already answers. The first request that needs a column
/// does not have to read it then. The thread ends early when the service drains. There is no thread if searches do not use the
/// database, or if the system has no more threads.
fn warm(shared: &Arc<ServiceState>) -> Reading {
    if !matches!(shared.source, CaseSource::Store) {
        return Reading::default();
    }
    let shared = Arc::clone(shared);
    let start = Instant::now();
    Reading::start("columns", move |is_wanted| {
        let goes_on = || is_wanted() && !shared.is_draining.load(Ordering::Relaxed);
        match shared.store.warm_while(&goes_on) {
            Ok(true) => {
                tracing::info!(seconds = start.elapsed().as_secs_f64(), "the columns are in memory");
            }
            Ok(false) => {}
            Err(error) => tracing::error!(cause = %error, "the columns of the database cannot be read"),
        }
    })
}

/// Starts a thread that reads each new event of the database once, and tells the requests that wait for it. There is no thread if
/// writes of cases give no events, or if the system has no more threads.
fn follow(shared: &Arc<ServiceState>) -> Reading {
    if !matches!(shared.source, CaseSource::Store) {
        return Reading::default();
    }
    let shared = Arc::clone(shared);
    Reading::start("events", move |is_wanted| {
        let goes_on = || is_wanted() && !shared.is_draining.load(Ordering::Relaxed);
        shared.events.follow(&shared.store, &goes_on);
    })
}

/// A thread that reads columns or events. It ends soon after this value is dropped, for example because the host has dropped the
/// future of the service. Otherwise, the thread would keep the store open.
#[derive(Default)]
struct Reading {
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Reading {
    /// Starts a thread that calls `work`. Its argument returns false when the work must end.
    fn start(name: &str, work: impl FnOnce(&dyn Fn() -> bool) + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&is_over);
        let read = move || work(&|| !own.load(Ordering::Relaxed));
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(read);
        if let Err(error) = &thread {
            tracing::error!(thread = name, %error, "a thread of the service cannot be started: requests do its work themselves");
        }
        Self { is_over, thread: thread.ok() }
    }

    /// Tells the thread to end, and waits until it has ended.
    fn join(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.thread.take().map(std::thread::JoinHandle::join));
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("store", &self.shared.store)
            .field("tokens", &self.shared.tokens.load())
            .finish_non_exhaustive()
    }
}

/// Accepts connections. Serves each connection in a separate task. Runs until the future is dropped.
async fn accept(server: &Arc<Server>, listener: &TcpListener, graceful: &GracefulShutdown) {
    let options = &server.shared.options;
    let slots = Arc::new(Semaphore::new(options.connections.min(Semaphore::MAX_PERMITS)));
    let reject_slots = Arc::new(Semaphore::new(MAX_REJECTING));
    let peers = Peers::new(options.connections_per_peer);
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                if !is_connection_error(&error) {
                    // The process probably has no free file descriptor. A connection that ends frees a descriptor.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                continue;
            }
        };
        let peer = Peer::of(address.ip());
        let of_peer = peers.acquire(peer);
        let (slot, is_admitted) = match (Arc::clone(&slots).try_acquire_owned(), &of_peer) {
            (Ok(slot), Some(_)) => (Ok(slot), true),
            (_, None) => match Arc::clone(&reject_slots).try_acquire_owned() {
                Ok(slot) => (Ok(slot), false),
                // The connection is closed immediately. A peer over its limit must not delay the connections of other peers.
                Err(_) => continue,
            },
            (Err(_), _) => (Arc::clone(&reject_slots).acquire_owned().await, false),
        };
        let (server, watcher) = (Arc::clone(server), graceful.watcher());
        server.shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let _slots = (slot, of_peer);
            let address = ClientAddress(address.ip().to_canonical());
            server.serve(stream, (peer, address), watcher, is_admitted).await;
            server.shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Makes the system close a connection whose peer acknowledges nothing for the write timeout.
///
/// A peer may vanish without a word. The heartbeats of a stream of events are small, so the system keeps them for many minutes
/// before it gives up. Meanwhile, the service would take the client for one that listens.
#[cfg(target_os = "linux")]
fn close_if_silent(stream: &TcpStream, timeout: Duration) {
    let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    // Without the option, the connection ends later.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, millis);
}

#[cfg(not(target_os = "linux"))]
fn close_if_silent(_: &TcpStream, _: Duration) {}

/// Returns true if an error of `accept` is about a single connection. Then the next call of `accept` may succeed immediately.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Returns true if an HTTP/1.1 request has exactly one `Host` header (RFC 9112, section 3.2).
fn has_one_host(request: &hyper::Request<Incoming>) -> bool {
    request.version() != Version::HTTP_11 || request.headers().get_all(header::HOST).iter().count() == 1
}

/// Returns an error if the request has a `Transfer-Encoding` other than a single `chunked`.
///
/// A proxy in front of the service could interpret other encodings differently. This would allow request smuggling (RFC 9112,
/// section 6.1).
fn framing_error(request: &hyper::Request<Incoming>) -> Option<Failure> {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let coding = codings.next()?.as_bytes().trim_ascii();
    let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
    if is_chunked && codings.next().is_none() {
        return None;
    }
    let is_other =
        !coding.split(|byte| *byte == b',').all(|one| one.trim_ascii().eq_ignore_ascii_case(b"chunked"));
    let status = if is_other { StatusCode::NOT_IMPLEMENTED } else { StatusCode::BAD_REQUEST };
    Some(Failure::new(status, "unsupported `Transfer-Encoding`, expected `chunked` once, or no such header"))
}

impl Server {
    /// Serves one connection, from its TLS handshake (if TLS is enabled) to its end.
    async fn serve(
        &self,
        stream: TcpStream,
        peer: (Peer, ClientAddress),
        watcher: Watcher,
        is_admitted: bool,
    ) {
        // Each response is written in one piece, so Nagle's algorithm would only delay small responses.
        let _ = stream.set_nodelay(true);
        close_if_silent(&stream, self.shared.options.write_timeout);
        let deadline = ResponseDeadline::new(self.shared.options.write_timeout);
        let watch = ClientWatch::default();
        let stream = WriteTimeout::new(WatchedStream::new(stream, watch.clone()), deadline.clone());
        let client = (peer, deadline, watch);
        let timeout = if is_admitted { self.shared.options.read_timeout } else { REJECT_TIMEOUT };
        let Some(tls) = &self.shared.tls else {
            return self.serve_http(stream, client, watcher, timeout, is_admitted).await;
        };
        match tokio::time::timeout(timeout, tls.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => self.serve_http(stream, client, watcher, timeout, is_admitted).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    /// Answers the HTTP requests of one connection.
    async fn serve_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        ((peer, address), deadline, watch): ((Peer, ClientAddress), ResponseDeadline, ClientWatch),
        watcher: Watcher,
        timeout: Duration,
        is_admitted: bool,
    ) {
        let service = service_fn(|mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(address);
            request.extensions_mut().insert(deadline.clone());
            request.extensions_mut().insert(watch.clone());
            self.respond(request, is_admitted)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timeout)
            // A client that has closed its sending side still waits for its responses.
            .half_close(true)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    async fn respond(
        &self,
        request: hyper::Request<Incoming>,
        is_admitted: bool,
    ) -> Result<Response, Infallible> {
        let method = request.method().clone();
        let accepted = accepted(request.headers());
        let response = self.answer(request, is_admitted, accepted.is_some()).await?;
        let accepted = accepted.unwrap_or(NO_CODING);
        let mut response = self.shared.compressor.compress(response, &method, accepted).await;
        if self.shared.is_draining() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }

    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        is_admitted: bool,
        has_coding: bool,
    ) -> Result<Response, Infallible> {
        let start = Instant::now();
        let origin = Origin::of(request.headers(), request.extensions());
        let mut response = if !is_admitted {
            Failure::overloaded().closing().into_response()
        } else if !has_one_host(&request) {
            let description = "an HTTP/1.1 request must have exactly one `Host` header";
            Failure::new(StatusCode::BAD_REQUEST, description).closing().into_response()
        } else if let Some(failure) = framing_error(&request) {
            failure.closing().into_response()
        } else if !has_coding {
            let description = "`Accept-Encoding` accepts none of `gzip`, `zstd` and `identity`";
            Failure::new(StatusCode::BAD_REQUEST, description).closing().into_response()
        } else {
            self.router.call(request.map(Body::new)).await?
        };
        if RequestLog::is_ended(&response) {
            return Ok(response);
        }
        // The request did not reach an endpoint, so it has not been logged yet and has no correlation id.
        let allowed = response.headers_mut().remove(header::ALLOW);
        let result = match response.extensions_mut().remove::<Failure>() {
            Some(failure) => Err(failure),
            None => Ok(response),
        };
        let mut response = RequestLog::since(start, &self.shared).from(origin).end(result).await;
        if let Some(allowed) = allowed {
            response.headers_mut().insert(header::ALLOW, allowed);
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_system_gives_up_a_silent_client_after_the_write_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        close_if_silent(&stream, Duration::from_secs(30));
        assert_eq!(rustix::net::sockopt::tcp_user_timeout(&stream), Ok(30_000));
    }

    #[test]
    fn columns_are_no_longer_read_after_the_service_was_dropped() {
        let (sender, ended) = channel();
        let warming = Reading::start("test", move |goes_on| {
            while goes_on() {
                std::thread::yield_now();
            }
            sender.send(()).unwrap();
        });
        assert!(ended.try_recv().is_err());
        drop(warming);
        ended.recv_timeout(Duration::from_secs(60)).unwrap();
        Reading::start("test", |goes_on| while goes_on() {}).join();
        Reading::default().join();
    }
}
