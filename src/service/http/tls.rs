//! Connections that nobody else can read.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate with its key, for a [`Service`](crate::service::Service) that speaks TLS 1.2 and 1.3.
#[derive(Clone)]
pub struct Tls {
    pub(in crate::service) acceptor: TlsAcceptor,
}

impl Tls {
    /// Takes a chain of certificates, the service's own first, and the key of that, both as PEM.
    ///
    /// # Errors
    /// A sentence about what is wrong with them, without the key.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, String> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let certificates = certificates.map_err(|error| format!("the certificates are no PEM: {error}"))?;
        if certificates.is_empty() {
            return Err("there is no certificate".to_owned());
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| "there is no private key".to_owned())?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key));
        let config = config.map_err(|error| format!("certificate and key are of no use: {error}"))?;
        Ok(Self { acceptor: Arc::new(config).into() })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}
