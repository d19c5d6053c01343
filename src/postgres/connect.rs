//! Connections: how they are made, kept, lent and given up.

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

/// Makes connections, and tells which are still good.
pub(super) struct Manager {
    config: Config,
    tls: MakeRustlsConnect,
    /// What a session is told when it begins.
    greeting: String,
    connect_timeout: Duration,
    statements: usize,
}

/// A session of its own, which only reads.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) prepared: Prepared,
}

impl Manager {
    pub(super) fn new(url: &str, options: &PostgresOptions) -> Result<Self, PostgresError> {
        let wrong = |message: String| PostgresError::new(PostgresErrorKind::Options, message);
        let mut config: Config = url.parse().map_err(|error| wrong(said_of(&error)))?;
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
        // Values are skewed, so a plan is made for those that were sent; compiling one takes longer than most searches.
        let greeting = format!(
            "SET default_transaction_read_only = on; SET statement_timeout = {timeout_ms}; \
             SET idle_in_transaction_session_timeout = {timeout_ms}; SET plan_cache_mode = force_custom_plan; SET jit = off"
        );
        let (connect_timeout, statements) = (options.connect_timeout, options.statements);
        Ok(Self { config, tls, greeting, connect_timeout, statements })
    }

    async fn connect(&self) -> Result<Connection, PostgresError> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                let error = PostgresError::from(error);
                tracing::warn!(%error, "a connection to PostgreSQL was lost");
            }
        });
        client.batch_execute(&self.greeting).await?;
        Ok(Connection { client, prepared: Prepared::new(self.statements) })
    }
}

/// What is wrong with a connection string, without a word of it but for the names of options.
fn said_of(error: &tokio_postgres::Error) -> String {
    const EXPECTED: &str = "expected such as postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require";
    let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    if reason.starts_with("invalid value for option") {
        return format!("the connection string has an {reason}; {EXPECTED}");
    }
    // Of what looks like an option, only what one is may be repeated: it could be the end of a password.
    let foreign = FOREIGN_OPTIONS.iter().find(|name| reason == format!("unknown option `{name}`"));
    match foreign {
        Some(name) => {
            format!("the connection string has the option `{name}`, which is not known here; {EXPECTED}")
        }
        None => format!("the connection string cannot be read; {EXPECTED}"),
    }
}

/// Options that `libpq` has beyond those that are known here.
const FOREIGN_OPTIONS: [&str; 16] = [
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

/// The connector for a connection string, with those who may vouch for the server.
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
            added.map_err(|error| wrong(format!("a root certificate is of no use: {error}")))?;
        }
        if roots.is_empty() {
            return Err(wrong("there is no root certificate".to_owned()));
        }
    } else if is_used {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() && config.get_ssl_mode() == SslMode::Require {
            return Err(wrong(
                "TLS is required, and the system has no root certificates: name some".to_owned(),
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

/// A connection on loan, which goes back to the pool only by [`give_back`](Self::give_back).
///
/// Dropped before, as when nobody waits for the answer any more, it is closed, and what the server was doing for it is cancelled.
pub(super) struct Loan(Option<Object<Manager>>);

impl Loan {
    pub(super) fn new(connection: Object<Manager>) -> Self {
        Self(Some(connection))
    }

    pub(super) fn connection(&mut self) -> Result<&mut Connection, PostgresError> {
        let lost = || PostgresError::new(PostgresErrorKind::Unavailable, "the connection was given back");
        self.0.as_deref_mut().ok_or_else(lost)
    }

    /// Lends it to the next search.
    pub(super) fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Loan {
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
