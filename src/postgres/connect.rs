//! Opens connections, configures TLS, and closes connections that can no longer be used.

use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{self, Metrics, Object, RecycleError, RecycleResult};
use tokio_postgres::config::{Host, SslMode, SslNegotiation};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::error::{PostgresError, PostgresErrorKind};
use super::options::PostgresOptions;
use super::prepared::Prepared;

/// The connection factory of the pool.
pub(super) struct Manager {
    config: Config,
    tls: MakeRustlsConnect,
    /// The statements that configure a new session.
    session_setup: String,
    connect_timeout: Duration,
    statements: usize,
}

/// A read-only session with its prepared statements.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) prepared: Prepared,
}

impl Manager {
    pub(super) fn new(url: &str, options: &PostgresOptions) -> Result<Self, PostgresError> {
        let wrong = |message: String| PostgresError::new(PostgresErrorKind::Options, message);
        let mut config: Config = url.parse().map_err(|error| wrong(parse_message(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(wrong("the connection string names no host".to_owned()));
        }
        if config.get_application_name().is_none() {
            config.application_name("casefilter");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(options.connect_timeout);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(options.connect_timeout);
        }
        let tls = tls(&config, options)?;
        let timeout_ms = options.statement_timeout.as_millis().clamp(1, i32::MAX.unsigned_abs().into());
        // The values of a column have very different frequencies, so the server plans each search for the values of that search.
        // JIT compilation takes longer than most searches.
        let session_setup = format!(
            "SET default_transaction_read_only = on; SET statement_timeout = {timeout_ms}; \
             SET idle_in_transaction_session_timeout = {timeout_ms}; SET plan_cache_mode = force_custom_plan; SET jit = off"
        );
        let (connect_timeout, statements) = (options.connect_timeout, options.cached_statements);
        Ok(Self { config, tls, session_setup, connect_timeout, statements })
    }

    async fn connect(&self) -> Result<Connection, PostgresError> {
        let (client, connection) =
            self.config.connect(self.tls.clone()).await.map_err(PostgresError::of_driver)?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                let error = PostgresError::of_driver(error);
                tracing::warn!(%error, "a connection to PostgreSQL was lost");
            }
        });
        client.batch_execute(&self.session_setup).await.map_err(PostgresError::of_driver)?;
        Ok(Connection { client, prepared: Prepared::new(self.statements) })
    }
}

/// Returns a message about an invalid connection string. The message contains no part of the string, except the name of an option.
fn parse_message(error: &tokio_postgres::Error) -> String {
    const EXPECTED: &str = "expected such as postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require";
    let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    if reason.starts_with("invalid value for option") {
        return format!("the connection string has an {reason}; {EXPECTED}");
    }
    // Only the names of known options are echoed. Any other text could be the end of a password.
    let unsupported = UNSUPPORTED_OPTIONS.iter().find(|name| reason == format!("unknown option `{name}`"));
    match unsupported {
        Some(name) => {
            format!("the connection string has the option `{name}`, which is not supported; {EXPECTED}")
        }
        None => format!("the connection string is invalid; {EXPECTED}"),
    }
}

/// The options of `libpq` that are not supported.
const UNSUPPORTED_OPTIONS: [&str; 16] = [
    "client_encoding",
    "fallback_application_name",
    "gssencmode",
    "keepalives_count",
    "krbsrvname",
    "passfile",
    "require_auth",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcompression",
    "sslcrl",
    "sslkey",
    "sslpassword",
    "sslrootcert",
];

/// Creates the TLS connector. It trusts the root certificates of the options, or the root certificates of the system.
fn tls(config: &Config, options: &PostgresOptions) -> Result<MakeRustlsConnect, PostgresError> {
    let wrong = |message: String| PostgresError::new(PostgresErrorKind::Options, message);
    let is_local = |host: &Host| !matches!(host, Host::Tcp(_));
    let is_used = config.get_ssl_mode() != SslMode::Disable
        && !(config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_local));
    let mut roots = RootCertStore::empty();
    if let Some(pem) = &options.root_certificates {
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let added = certificate
                .map_err(|error| error.to_string())
                .and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()));
            added.map_err(|error| wrong(format!("cannot use a root certificate: {error}")))?;
        }
        if roots.is_empty() {
            return Err(wrong("found no root certificate".to_owned()));
        }
    } else if is_used {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() && config.get_ssl_mode() == SslMode::Require {
            return Err(wrong(
                "TLS is required, but the system has no root certificates; set `root_certificates`"
                    .to_owned(),
            ));
        }
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(error.to_string()))?;
    let mut tls = tls.with_root_certificates(roots).with_no_client_auth();
    if config.get_ssl_negotiation() == SslNegotiation::Direct {
        tls.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(MakeRustlsConnect::new(tls))
}

impl managed::Manager for Manager {
    type Type = Connection;
    type Error = PostgresError;

    async fn create(&self) -> Result<Connection, PostgresError> {
        self.connect().await
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<PostgresError> {
        if connection.client.is_closed() {
            return Err(RecycleError::message("the connection was closed"));
        }
        Ok(())
    }
}

/// A connection from the pool. Only [`release`](Self::release) returns the connection to the pool.
///
/// If it is dropped without a release, for example because the future of a search is dropped, the connection is closed. The
/// statement that runs on the server is then cancelled.
pub(super) struct PooledConnection(Option<Object<Manager>>);

impl PooledConnection {
    pub(super) fn new(connection: Object<Manager>) -> Self {
        Self(Some(connection))
    }

    pub(super) fn connection(&mut self) -> Result<&mut Connection, PostgresError> {
        let released = || PostgresError::new(PostgresErrorKind::Unavailable, "the connection was released");
        self.0.as_deref_mut().ok_or_else(released)
    }

    /// Gives the connection back to the pool.
    pub(super) fn release(mut self) {
        drop(self.0.take());
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(connection) = self.0.take() else { return };
        let pool = Object::pool(&connection);
        let connection = Object::take(connection);
        let (Some(pool), Ok(runtime)) = (pool, tokio::runtime::Handle::try_current()) else { return };
        if connection.client.is_closed() {
            return;
        }
        let token = connection.client.cancel_token();
        let tls = pool.manager().tls.clone();
        let timeout = pool.manager().connect_timeout;
        runtime.spawn(async move {
            let _ = tokio::time::timeout(timeout, token.cancel_query(tls)).await;
        });
    }
}
