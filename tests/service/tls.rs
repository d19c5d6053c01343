//! Tests the service over TLS, with a certificate that only these tests use.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use casefilter::service::{ServiceOptions, Tls};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::head;
use super::server::{Database, SEARCH, Server, data, key};

fn pem(name: &str) -> Vec<u8> {
    fs::read(data(&format!("tls/{name}.pem"))).unwrap()
}

#[test]
fn requests_work_over_tls_and_plain_http_is_rejected() {
    let tls = Tls::from_pem(&pem("cert"), &pem("key")).unwrap();
    let options = ServiceOptions { read_timeout: Duration::from_millis(500), ..ServiceOptions::default() };
    let server = Server::with_tls(Database::new("plain.cases.ndjson"), options, Some(tls));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem("cert")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());

    let connection = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(server.address).unwrap());
    let body = br#"{"criteria":[{"field":"id","op":"<>","values":[""]}]}"#;
    let head = head(&key("all"), "POST", &format!("{SEARCH}?limit=700"), body);
    stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer:.300}");
    assert!(answer.len() > 100_000 && answer.ends_with("\"pageInfo\":{\"limit\":700,\"offset\":0}}}"));

    // A client that sends plain HTTP and one that sends nothing are disconnected.
    let start = Instant::now();
    for words in [&b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n"[..], b""] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(words).unwrap();
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        assert!(!said.starts_with(b"HTTP"));
    }
    assert!(start.elapsed() < Duration::from_secs(5));
    server.stop();
}

#[test]
fn a_certificate_needs_its_key() {
    let (certificate, key) = (pem("cert"), pem("key"));
    for (certificate, key, expected) in [
        (&b""[..], &key[..], "found no certificate"),
        (b"nonsense", &key, "found no certificate"),
        (&key, &key, "found no certificate"),
        (&certificate, b"", "found no private key"),
        (&certificate, &certificate, "found no private key"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            &key,
            "cannot use certificate and key",
        ),
    ] {
        let error = Tls::from_pem(certificate, key).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
