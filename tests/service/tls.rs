//! Tests the service over TLS, with a certificate that only these tests use.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use casefilter::service::{ServiceOptions, Tls};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::head;
use super::process::Process;
use super::server::{Database, SEARCH, Server, changed, data, key};

pub(crate) fn pem(name: &str) -> Vec<u8> {
    fs::read(data(&format!("tls/{name}.pem"))).unwrap()
}

#[test]
fn requests_work_over_tls_and_plain_http_is_rejected() {
    let tls = Tls::from_pem(&pem("cert"), &pem("key")).unwrap();
    let options =
        changed(ServiceOptions::default(), |options| options.read_timeout = Duration::from_millis(500));
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

/// Makes a certificate for localhost with its key, and returns its encoding.
pub(crate) fn make_pair(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let file = |ending: &str| folder.join(format!("{name}.{ending}"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "90",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(file("key"))
        .arg("-out")
        .arg(file("cert"))
        .output();
    made.is_ok_and(|made| made.status.success())
        .then(|| CertificateDer::from_pem_file(file("cert")).unwrap().to_vec())
}

/// Connects without verification of names, and returns the connection, and the certificate that the service has shown.
fn connect(
    address: SocketAddr,
    certificates: &[&[u8]],
) -> Option<(StreamOwned<ClientConnection, TcpStream>, Vec<u8>)> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(CertificateDer::from(certificate.to_vec())).unwrap();
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let connection = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").ok()?;
    read_answer(&mut stream);
    let shown = stream.conn.peer_certificates()?.first()?.to_vec();
    Some((stream, shown))
}

fn read_answer(stream: &mut impl Read) {
    let mut text = Vec::new();
    while !text.ends_with(b"{\"status\":\"ok\"}") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
}

#[test]
fn a_changed_certificate_is_used_and_a_broken_one_is_not() {
    let database = Database::new("plain.cases.ndjson");
    let folder = database.folder().to_owned();
    let (Some(first), Some(second)) = (make_pair(&folder, "first"), make_pair(&folder, "second")) else {
        eprintln!("skipped: openssl is not installed");
        return;
    };
    let put = |from: &str, ending: &str| {
        let new = folder.join("new");
        fs::copy(folder.join(format!("{from}.{ending}")), &new).unwrap();
        fs::rename(new, folder.join(format!("used.{ending}"))).unwrap();
    };
    put("first", "cert");
    put("first", "key");
    let [cert, key] = ["used.cert", "used.key"].map(|name| folder.join(name).to_str().unwrap().to_owned());
    let arguments = ["--tls-cert", &cert, "--tls-key", &key, "--ops-listen", "127.0.0.1:0"];
    let process = Process::start(&database, &arguments);
    let known = [&first[..], &second];
    let (mut old, shown) = connect(process.address, &known).unwrap();
    assert_eq!(shown, first);
    let wait_for = |expected: &[u8]| {
        let start = Instant::now();
        while connect(process.address, &known).is_none_or(|(_, shown)| shown != expected) {
            assert!(start.elapsed() < Duration::from_secs(20), "the certificate is not taken over");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // The files are replaced one after the other.
    put("second", "cert");
    std::thread::sleep(Duration::from_millis(100));
    put("second", "key");
    wait_for(&second);
    // The connection from before goes on.
    old.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    read_answer(&mut old);
    // A pair that does not fit, and a file that is no certificate.
    put("first", "key");
    std::thread::sleep(Duration::from_millis(3500));
    assert_eq!(connect(process.address, &known).unwrap().1, second);
    fs::write(folder.join("used.cert"), "nonsense").unwrap();
    process.signal("HUP");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(connect(process.address, &known).unwrap().1, second);
    put("first", "cert");
    wait_for(&first);
    let log = process.terminate();
    let count = |message: &str| log.lines().filter(|line| line.contains(message)).count();
    assert_eq!(count("the certificate was read again, and is in force"), 2, "{log}");
    assert_eq!(count("has changed, but cannot be used"), 2, "{log}");
    assert!(log.contains("KeyMismatch") && log.contains("found no certificate"), "{log}");
}
