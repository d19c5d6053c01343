//! TLS configuration.

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
    /// Parses a certificate chain, which starts with the service's own certificate, and the private key of that certificate. Both are PEM.
    ///
    /// # Errors
    /// Returns a message if the text is not PEM, if the certificate or the key is missing, or if they do not match. The
    /// message never contains the key.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, String> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let certificates =
            certificates.map_err(|error| format!("the certificate file is not PEM: {error}"))?;
        if certificates.is_empty() {
            return Err("found no certificate".to_owned());
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| "found no private key".to_owned())?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key));
        let config = config.map_err(|error| format!("cannot use certificate and key: {error}"))?;
        Ok(Self { acceptor: Arc::new(config).into() })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}
