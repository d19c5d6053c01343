//! The service of the public port (`Service`): its parts, its start, and its shutdown.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::accept::accept;
use super::background::{follow, warm};
use super::closing::Closing;
use super::connection::Server;
use super::metrics_server::MetricsServer;
use super::tls::Tls;
use crate::domain;
#[cfg(feature = "postgres")]
use crate::postgres::PostgresSource;
#[cfg(unix)]
use crate::service::admin::{AdminSocket, server::AdminServer};
use crate::service::audit::AuditLog;
use crate::service::auth::tokens::{TokenUpdater, Tokens};
#[cfg(feature = "postgres")]
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

/// The time for which the service still accepts connections from the accept queue on shutdown.
const FINAL_ACCEPT: Duration = Duration::from_millis(5);
/// The time for which connections without a request stay open on shutdown. A request may have arrived that has not been read yet.
const IDLE_GRACE: Duration = Duration::from_millis(250);

/// The time for which a shutdown waits for the audit records of writes that were still running at the end of the grace period.
const RECORD_GRACE: Duration = Duration::from_millis(250);

impl Service {
    /// Creates a service for the cases and records of `store`. It accepts requests that are signed with `tokens`.
    ///
    /// The maximum size of a page is the smaller of the limits of `options` and of the store. If an earlier version has stored the
    /// applicants, this call writes an index of the applicants. Requests with a token with
    /// [clients](super::super::TokenEntry::with_clients) need this index.
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

    /// Returns a handle that replaces the tokens, even while the service runs.
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

    /// Serves `/metrics`, `/healthz` and `/readyz` on a separate listener, without TLS and without signatures, until the service
    /// has stopped.
    ///
    /// The counters include the cases of all tokens, so clients must not be able to reach this listener. The public port does not
    /// serve `/metrics`.
    #[must_use]
    pub fn with_metrics(self, listener: TcpListener) -> Self {
        Self { metrics: Some(listener), ..self }
    }

    /// Lets operators administer the service through this socket while it runs. See [operators](crate::service#operators) for the
    /// requests.
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
    /// at most [`concurrency`](ServiceOptions::concurrency) of these threads. To read parts of large pages, it uses one thread for
    /// each processor, and at least two. To compress responses, it uses the same number of threads.
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
        let closing = Closing::new();
        let administer = async {
            #[cfg(unix)]
            if let Some(socket) = &admin {
                let server = AdminServer::new(socket, Arc::clone(&shared));
                server.accept(socket, &closing).await;
            }
            std::future::pending::<()>().await;
        };
        let log = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                shared.log_suppressed();
            }
        };
        let server = Arc::new(Server::new(Arc::clone(&shared)));
        let warming = warm(&shared);
        let following = follow(&shared);
        {
            let mut serving = pin!(async {
                tokio::select! {
                    () = accept(&server, &listener, &closing) => {}
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
            closing.close().await;
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
            // Both threads end soon after the service began to drain. So the store is closed when `shared` is dropped.
            warming.join();
            following.join();
            let synced = shared.store.checkpoint().and_then(|()| shared.store.sync());
            // The checkpoint waits for the last write. The audit record of this write is written after the write.
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

/// Begins to drain when it is dropped, for example because the host has dropped the future of the service. Without this, streams of
/// events would keep their connections and the store open.
struct DrainOnDrop(Arc<ServiceState>);

impl Drop for DrainOnDrop {
    fn drop(&mut self) {
        self.0.begin_draining();
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
