//! The command `health`: asks a running service whether it works, for containers without a shell.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::builder::BoolishValueParser;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
};

use crate::input::duration::{VALUE, seconds};
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::status::Status;

/// Ask a running service whether it works
///
/// The exit status is 0 if the service answers /healthz with status 200 in time, and 1 otherwise. Without --url, the command reads
/// the environment variables of `serve` and the file of --config, so that it asks the service in the same container. It asks the
/// address of --ops-listen if there is one, otherwise that of --listen, on this machine.
///
/// With TLS, the certificate is not verified: the command sends no secrets, and reads only a status.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter health
  casefilter health --listen 127.0.0.1:8080 --ready
  casefilter health --url https://cases.example:8443/readyz")]
pub(crate) struct Args {
    /// The address to ask, such as http://127.0.0.1:9100; without a path, /healthz is asked, or /readyz with --ready
    ///
    /// The other settings of the address then have no effect.
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The file of `serve --config`: the values of `listen`, `ops-listen` and `tls-cert` are used
    ///
    /// Flags and environment variables have precedence.
    #[arg(long, value_name = "FILE", env = "CASEFILTER_CONFIG")]
    config: Option<PathBuf>,

    /// The public address of the service
    #[arg(long, value_name = "ADDR", env = "CASEFILTER_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// The address of the service for metrics
    #[arg(long, value_name = "ADDR", env = "CASEFILTER_OPS_LISTEN")]
    ops_listen: Option<SocketAddr>,

    /// The certificate of the service, if it uses TLS at its public address; the file is not read
    #[arg(long, value_name = "FILE", env = "CASEFILTER_TLS_CERT")]
    tls_cert: Option<PathBuf>,

    /// Ask /readyz, which returns 503 during a shutdown, and while requests cannot be answered
    #[arg(long, value_parser = BoolishValueParser::new())]
    ready: bool,

    /// The time that the answer may take
    #[arg(long, value_name = VALUE, default_value = "3s", value_parser = seconds)]
    timeout: Duration,
}

/// A parsed URL.
struct Target {
    is_tls: bool,
    host: String,
    port: u16,
    path: String,
}

impl Args {
    fn target(&self) -> Result<Target, Failure> {
        let path = if self.ready { "/readyz" } else { "/healthz" };
        if let Some(url) = &self.url {
            let target = Target::of(url, path);
            let expected = "expected http:// or https://, a host, and perhaps a port and a path";
            return target
                .ok_or_else(|| Failure::Usage(format!("--url: found `{}`, {expected}", escape(url))));
        }
        let (address, is_tls) = match self.ops_listen {
            Some(address) => (address, false),
            None => (self.listen, self.tls_cert.is_some()),
        };
        // A service that listens on all addresses is asked on this machine.
        let host = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        Ok(Target { is_tls, host: host.to_string(), port: address.port(), path: path.to_owned() })
    }
}

impl Target {
    /// Parses a URL. Returns `None` if it is not one, or if it has parts that the command does not use.
    fn of(url: &str, default_path: &str) -> Option<Self> {
        let (is_tls, rest) = match url.split_once("://")? {
            ("http", rest) => (false, rest),
            ("https", rest) => (true, rest),
            _ => return None,
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let path = if path.is_empty() || path == "/" { default_path } else { path };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (authority, if is_tls { 443 } else { 80 }),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_valid = !host.is_empty() && !host.contains('@') && is_plain(host) && is_plain(path);
        is_valid.then(|| Self { is_tls, host: host.to_owned(), port, path: path.to_owned() })
    }

    /// Asks the service. Returns the status of the answer.
    fn ask(&self, timeout: Duration) -> io::Result<u16> {
        let end = Instant::now().checked_add(timeout);
        let left = || -> io::Result<Duration> {
            let left = end.map_or(timeout, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name of the host has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left()?) {
                Ok(stream) => {
                    stream.set_write_timeout(Some(left()?))?;
                    return match self.is_tls {
                        false => self.ask_on(stream, |stream| stream.set_read_timeout(Some(left()?))),
                        true => {
                            let stream = StreamOwned::new(self.tls()?, stream);
                            self.ask_on(stream, |stream| stream.sock.set_read_timeout(Some(left()?)))
                        }
                    };
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Sends the request, and reads the first line of the answer. `limit` limits the time of the next read.
    fn ask_on<S: Read + Write>(
        &self,
        mut stream: S,
        limit: impl Fn(&S) -> io::Result<()>,
    ) -> io::Result<u16> {
        let Self { host, port, path, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        limit(&stream)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n")?;
        let mut head = Vec::new();
        let mut piece = [0; 64];
        while !head.contains(&b'\n') && head.len() < MOST_LINE_BYTES {
            limit(&stream)?;
            match stream.read(&mut piece)? {
                0 => break,
                count => head.extend_from_slice(piece.get(..count).unwrap_or_default()),
            }
        }
        let line = String::from_utf8_lossy(&head);
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
        status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP"))
    }

    fn tls(&self) -> io::Result<ClientConnection> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(io::Error::other)?.dangerous().with_custom_certificate_verifier(verifier);
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        ClientConnection::new(Arc::new(config.with_no_client_auth()), name).map_err(io::Error::other)
    }
}

/// The maximum length of the first line of an answer, in bytes.
const MOST_LINE_BYTES: usize = 1024;

/// A verifier that accepts any certificate. The service must still prove that it has the key of its certificate.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let target = args.target()?;
    let Target { is_tls, host, port, path } = &target;
    let scheme = if *is_tls { "https" } else { "http" };
    let shown = escape(&format!("{scheme}://{host}:{port}{path}")).into_owned();
    match target.ask(args.timeout) {
        Ok(200) => Ok(Status::Fine),
        Ok(status) => Err(Failure::Failed(format!("{shown}: status {status}"))),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            Err(Failure::Failed(format!("{shown}: no answer in {} s", args.timeout.as_secs_f64())))
        }
        Err(error) => Err(Failure::io("no answer from", &shown, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed() {
        for (url, expected) in [
            ("http://localhost", Some((false, "localhost", 80, "/healthz"))),
            ("http://127.0.0.1:9100/", Some((false, "127.0.0.1", 9100, "/healthz"))),
            ("https://a.example:8443/readyz", Some((true, "a.example", 8443, "/readyz"))),
            ("https://[::1]:8443", Some((true, "::1", 8443, "/healthz"))),
            ("https://[::1]", Some((true, "::1", 443, "/healthz"))),
            ("ftp://a", None),
            ("localhost:80", None),
            ("http://", None),
            ("http://a:99999", None),
            ("http://user@a", None),
            ("http://a/b\r\nc", None),
        ] {
            let target = Target::of(url, "/healthz");
            let found = target.as_ref().map(|own| (own.is_tls, &*own.host, own.port, &*own.path));
            assert_eq!(found, expected, "{url}");
        }
    }
}
