//! From connections to requests, and from answers back to the wire.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
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

use super::errors::Failure;
use super::exchange::Exchange;
use super::metrics_server::MetricsServer;
use super::peers::{Peer, Peers};
use super::router::router;
use super::tls::Tls;
use super::transport::{Due, Transport};
#[cfg(feature = "postgres")]
use crate::postgres::PostgresSource;
#[cfg(unix)]
use crate::service::admin::{AdminSocket, server::AdminServer};
use crate::service::auth::tokens::Tokens;
#[cfg(feature = "postgres")]
use crate::service::operations::source::Source;
use crate::service::operations::table::ENDPOINTS;
use crate::service::options::ServiceOptions;
use crate::service::state::ServiceState;
use crate::store::{Store, StoreError};

/// The five operations over HTTP, ready to [`serve`](Self::serve).
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
    tls: Option<Tls>,
    metrics: Option<TcpListener>,
    #[cfg(unix)]
    admin: Option<AdminSocket>,
}

/// How many connections beyond the bound are told so at a time; more wait until they are accepted.
const TURNED_AWAY: usize = 64;
/// How long they have.
const TURNED_AWAY_TIMEOUT: Duration = Duration::from_secs(1);

/// How long connections that wait to be accepted on shutdown have for it.
const LAST_ACCEPT: Duration = Duration::from_millis(5);
/// How long connections without a request stay open on shutdown: what their clients have sent may not have been read yet.
const LAST_CALL: Duration = Duration::from_millis(250);

/// A head of a request is refused when it is longer and still not whole, in bytes.
const HEAD_BYTES: usize = 64 << 10;

/// What serves connections.
struct Server {
    shared: Arc<ServiceState>,
    tls: Option<Tls>,
    router: TowerToHyperService<Router>,
}

impl Service {
    /// A service of the cases and records in a store, for these tokens.
    ///
    /// The largest page is the smaller one of the two of `options` and of the store.
    #[must_use]
    pub fn new(store: Store, tokens: Tokens, mut options: ServiceOptions) -> Self {
        options.limits.page = options.limits.page.min(store.limits().page);
        Self {
            shared: ServiceState::new(store, tokens, options, ENDPOINTS.iter().map(|endpoint| endpoint.name)),
            tls: None,
            metrics: None,
            #[cfg(unix)]
            admin: None,
        }
    }

    /// The same service on connections that nobody else can read.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// The same service with `/metrics` on a listener of its own, without TLS and signatures, until the service has ended.
    ///
    /// What is counted tells about the cases of all tokens, so that clients should not reach it. It is not on the public port.
    #[must_use]
    pub fn with_metrics(self, listener: TcpListener) -> Self {
        Self { metrics: Some(listener), ..self }
    }

    /// The same service, which operators can ask for imports, share tokens and copies while it runs.
    #[cfg(unix)]
    #[must_use]
    pub fn with_admin(self, socket: AdminSocket) -> Self {
        Self { admin: Some(socket), ..self }
    }

    /// The same service with searches answered by a table of PostgreSQL, all else by the store.
    ///
    /// Its catalogue has to be that of the store, for which the tokens were made.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn with_source(mut self, source: PostgresSource) -> Self {
        self.shared.source = Source::Postgres(source);
        self
    }

    /// Serves connections until `shutdown` is ready, and for [`drain`](ServiceOptions::drain) longer, then answers what is in
    /// flight and puts everything on disk.
    ///
    /// Threads that wait for the file are those of the runtime, which has 512 unless told otherwise: more than
    /// [`concurrency`](ServiceOptions::concurrency) are of no use.
    ///
    /// # Errors
    /// Faults of the file on the way out. What goes wrong with single connections and requests is logged.
    ///
    /// # Panics
    /// Outside a Tokio runtime that has I/O and time.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), StoreError> {
        self.serve_until(listener, shutdown, std::future::pending()).await
    }

    /// As [`serve`](Self::serve), but ends at once when `abort` is ready, during [`drain`](ServiceOptions::drain) or
    /// [`grace`](ServiceOptions::grace): requests in flight are given up, and everything is put on disk.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    ///
    /// # Panics
    /// As [`serve`](Self::serve).
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
            tls,
            metrics,
            #[cfg(unix)]
            admin,
        } = self;
        let shared = Arc::new(shared);
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
                shared.tell_left_out();
            }
        };
        let server = Arc::new(Server { shared: Arc::clone(&shared), tls, router });
        {
            let mut serving = pin!(async {
                tokio::select! {
                    () = accept(&server, &listener, &graceful) => {}
                    () = administer => {}
                    () = log => {}
                }
            });
            tokio::select! {
                () = &mut serving => {}
                () = shared.recover() => {}
                () = shutdown => {}
            }
            shared.begin_draining();
            let drain = shared.options.drain;
            if !drain.is_zero() {
                tracing::info!(
                    drain_s = drain.as_secs_f64(),
                    "draining: not ready, but requests are still answered"
                );
            }
            // Clients that are connected by now are served.
            tokio::select! {
                _ = tokio::time::timeout(drain.max(LAST_ACCEPT), serving) => {}
                () = &mut abort => is_aborted = true,
            }
        }
        drop(listener);
        #[cfg(unix)]
        drop(admin);
        tracing::info!("shutting down");
        let finish = async {
            // Not all of the grace, since connections that are left are to be told too.
            let half = shared.options.grace.checked_div(2).unwrap_or_default();
            shared.last_call(LAST_CALL.min(half)).await;
            graceful.shutdown().await;
            // A client that left may have left work behind.
            shared.finished().await;
        };
        let abort = async {
            if !is_aborted {
                abort.await;
            }
        };
        let finished = tokio::select! {
            biased;
            () = abort => None,
            finished = tokio::time::timeout(shared.options.grace, finish) => Some(finished.is_ok()),
        };
        match finished {
            Some(true) => {}
            Some(false) => {
                tracing::warn!("requests were still in flight at the end of the grace period");
                shared.cut_off();
            }
            None => {
                tracing::warn!("asked to end at once: requests in flight are given up");
                shared.cut_off();
            }
        }
        shared.tell_all_left_out();
        let end = tokio::task::spawn_blocking(move || {
            shared.store.checkpoint()?;
            shared.store.sync()
        });
        match end.await {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("store", &self.shared.store)
            .field("tokens", &self.shared.tokens)
            .finish_non_exhaustive()
    }
}

/// Takes connections, for as long as it is polled.
async fn accept(server: &Arc<Server>, listener: &TcpListener, graceful: &GracefulShutdown) {
    let options = &server.shared.options;
    let seats = Arc::new(Semaphore::new(options.connections.min(Semaphore::MAX_PERMITS)));
    let outside = Arc::new(Semaphore::new(TURNED_AWAY));
    let peers = Peers::new(options.connections_per_peer);
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                if !is_of_one_connection(&error) {
                    // No file handles, most likely: some are given back in a moment.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                continue;
            }
        };
        let peer = Peer::of(address.ip());
        let own = peers.seat(peer);
        let (seat, has_seat) = match (Arc::clone(&seats).try_acquire_owned(), &own) {
            (Ok(seat), Some(_)) => (Ok(seat), true),
            (_, None) => match Arc::clone(&outside).try_acquire_owned() {
                Ok(place) => (Ok(place), false),
                // A peer with too many connections does not keep those of others waiting.
                Err(_) => continue,
            },
            (Err(_), _) => (Arc::clone(&outside).acquire_owned().await, false),
        };
        let (server, watcher) = (Arc::clone(server), graceful.watcher());
        server.shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let _seats = (seat, own);
            server.serve(stream, peer, watcher, has_seat).await;
            server.shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Whether an error of `accept` says nothing about the next connection.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Whether a request has the header that HTTP/1.1 asks for (RFC 9112, section 3.2).
fn names_one_host(request: &hyper::Request<Incoming>) -> bool {
    request.version() != Version::HTTP_11 || request.headers().get_all(header::HOST).iter().count() == 1
}

/// Refuses codings of the transfer other than `chunked`, once: a proxy in front may read them otherwise (RFC 9112, section 6.1).
fn refused_framing(request: &hyper::Request<Incoming>) -> Option<Failure> {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let coding = codings.next()?.as_bytes().trim_ascii();
    let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
    if is_chunked && codings.next().is_none() {
        return None;
    }
    let is_other =
        !coding.split(|byte| *byte == b',').all(|one| one.trim_ascii().eq_ignore_ascii_case(b"chunked"));
    let status = if is_other { StatusCode::NOT_IMPLEMENTED } else { StatusCode::BAD_REQUEST };
    Some(Failure::new(status, "`Transfer-Encoding` is `chunked`, once and nothing else, or is not there"))
}

impl Server {
    /// Serves a connection to its end.
    async fn serve(&self, stream: TcpStream, peer: Peer, watcher: Watcher, has_seat: bool) {
        // Answers go out whole; small ones are not to wait for more.
        let _ = stream.set_nodelay(true);
        let due = Due::new(self.shared.options.write_timeout);
        let transport = Transport::new(stream, due.clone());
        let timeout = if has_seat { self.shared.options.read_timeout } else { TURNED_AWAY_TIMEOUT };
        let Some(tls) = &self.tls else {
            return self.speak(transport, (peer, due), watcher, timeout, has_seat).await;
        };
        match tokio::time::timeout(timeout, tls.acceptor.accept(transport)).await {
            Ok(Ok(stream)) => self.speak(stream, (peer, due), watcher, timeout, has_seat).await,
            Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
            Err(_) => tracing::debug!("a handshake took too long"),
        }
    }

    /// Answers the requests of a connection.
    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        (peer, due): (Peer, Due),
        watcher: Watcher,
        timeout: Duration,
        has_seat: bool,
    ) {
        let service = service_fn(|mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(due.clone());
            self.respond(request, has_seat)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timeout)
            // Who has sent all that there is to send still waits for the answers.
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
        has_seat: bool,
    ) -> Result<Response, Infallible> {
        let mut response = self.answer(request, has_seat).await?;
        if self.shared.is_draining() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }

    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        has_seat: bool,
    ) -> Result<Response, Infallible> {
        let start = Instant::now();
        let mut response = if !has_seat {
            Failure::overloaded().closing().into_response()
        } else if !names_one_host(&request) {
            let description = "a request of HTTP/1.1 has one header `Host`";
            Failure::new(StatusCode::BAD_REQUEST, description).closing().into_response()
        } else if let Some(failure) = refused_framing(&request) {
            failure.closing().into_response()
        } else {
            self.router.call(request.map(Body::new)).await?
        };
        if Exchange::is_ended(&response) {
            return Ok(response);
        }
        // None of an operation: nobody has named it yet.
        let allowed = response.headers_mut().remove(header::ALLOW);
        let result = match response.extensions_mut().remove::<Failure>() {
            Some(failure) => Err(failure),
            None => Ok(response),
        };
        let mut response = Exchange::since(start, &self.shared).end(result);
        if let Some(allowed) = allowed {
            response.headers_mut().insert(header::ALLOW, allowed);
        }
        Ok(response)
    }
}
