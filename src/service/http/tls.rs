//! Configures TLS from a certificate chain and a private key.

use std::fmt;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate chain with its private key, for a [`Service`](crate::service::Service) over TLS 1.2 and 1.3.
#[derive(Clone)]
pub struct Tls {
    pub(in crate::service) acceptor: TlsAcceptor,
}

impl Tls {
    /// Parses a certificate chain and a private key, both in PEM. The chain starts with the service's own certificate, and the key
    /// belongs to that certificate.
    ///
    /// # Errors
    /// Returns an error if a text is not PEM, or if the certificate or the key is missing. Also returns an error if they do not
    /// match.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let certificates = certificates.map_err(|error| TlsError::NotPem(error.to_string()))?;
        if certificates.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoPrivateKey)?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key));
        let config = config.map_err(|error| TlsError::Unusable(error.to_string()))?;
        Ok(Self { acceptor: Arc::new(config).into() })
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
