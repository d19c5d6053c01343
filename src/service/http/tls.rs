//! Configures TLS from a certificate chain and a private key.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::certificate::not_after_s;

/// The names of the protocols that a client may choose in the TLS handshake (ALPN, RFC 7301).
pub(super) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// A certificate chain with its private key, for a [`Service`](crate::service::Service) over TLS 1.2 and 1.3.
///
/// All clones share the certificate: [`replace`](Self::replace) changes it for a running service.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    current: ArcSwap<Current>,
    /// True if the last replacement failed, or if changed files could not be read since.
    is_failing: AtomicBool,
}

/// The certificate for new connections.
struct Current {
    config: Arc<ServerConfig>,
    /// The same configuration without HTTP/2.
    http1: Arc<ServerConfig>,
    /// The time at which the certificate ends, in seconds since the Unix epoch.
    not_after_s: Option<i64>,
}

impl Tls {
    /// Parses a certificate chain and a private key, both in PEM. The chain starts with the service's own certificate, and the key
    /// belongs to that certificate.
    ///
    /// # Errors
    /// Returns an error if a text is not PEM, or if the certificate or the key is missing. Also returns an error if they do not
    /// match.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let current = ArcSwap::from_pointee(Current::from_pem(certificates, key)?);
        Ok(Self(Arc::new(Shared { current, is_failing: AtomicBool::new(false) })))
    }

    /// Replaces the certificate and its key for connections that begin from now on. Existing connections keep their certificate.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use casefilter::service::Tls;
    /// let tls = Tls::from_pem(&std::fs::read("cert.pem")?, &std::fs::read("key.pem")?)?;
    /// // A service that was built by `service.with_tls(tls.clone())` is running, and the files have changed:
    /// if let Err(error) = tls.replace(&std::fs::read("cert.pem")?, &std::fs::read("key.pem")?) {
    ///     eprintln!("the service keeps its certificate: {error}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`from_pem`](Self::from_pem). If there is an error, the certificate stays the same.
    pub fn replace(&self, certificates: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let replaced =
            Current::from_pem(certificates, key).map(|current| self.0.current.store(current.into()));
        self.0.is_failing.store(replaced.is_err(), Ordering::Relaxed);
        replaced
    }

    /// Notes that changed files could not be read, for the metric `casefilter_tls_file_failing`. The next successful call of
    /// [`replace`](Self::replace) ends this state.
    pub fn note_failure(&self) {
        self.0.is_failing.store(true, Ordering::Relaxed);
    }

    /// Returns the time at which the certificate ends, in seconds since the Unix epoch. Returns `None` if it cannot be read.
    #[must_use]
    pub fn not_after_s(&self) -> Option<i64> {
        self.0.current.load().not_after_s
    }

    /// Returns true if the last replacement failed, or if changed files could not be read since.
    pub(in crate::service) fn is_failing(&self) -> bool {
        self.0.is_failing.load(Ordering::Relaxed)
    }

    /// Returns the acceptor of new connections. It offers HTTP/1.1, and also HTTP/2 if `http2` is true.
    pub(super) fn acceptor(&self, http2: bool) -> TlsAcceptor {
        let current = self.0.current.load();
        Arc::clone(if http2 { &current.config } else { &current.http1 }).into()
    }
}

impl Current {
    fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let certificates = certificates.map_err(|error| TlsError::NotPem(error.to_string()))?;
        let not_after_s = match certificates.first() {
            Some(first) => not_after_s(first),
            None => return Err(TlsError::NoCertificate),
        };
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoPrivateKey)?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key));
        let mut config = config.map_err(|error| TlsError::Unusable(error.to_string()))?;
        config.alpn_protocols = vec![HTTP1.to_vec()];
        let http1 = Arc::new(config.clone());
        config.alpn_protocols.insert(0, HTTP2.to_vec());
        Ok(Self { config: Arc::new(config), http1, not_after_s })
    }
}

/// An error of [`Tls::from_pem`]. It never contains the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificates are not valid PEM. Contains the reason.
    NotPem(String),
    /// The text contains no certificate.
    NoCertificate,
    /// The text of the key contains no private key, or is not valid PEM.
    NoPrivateKey,
    /// The certificate or the key is invalid, or the key does not match the certificate. Contains the reason.
    Unusable(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPem(reason) => write!(f, "the certificate file is not PEM: {reason}"),
            Self::NoCertificate => f.write_str("found no certificate"),
            Self::NoPrivateKey => f.write_str("found no private key"),
            Self::Unusable(reason) => write!(f, "cannot use certificate and key: {reason}"),
        }
    }
}

impl std::error::Error for TlsError {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
