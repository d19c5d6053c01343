//! Two clients for HTTP/2 over TLS: one that keeps to the protocol (`Http2`), and one that sends any frames (`Frames`).

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::Request;
use casefilter::service::{ServiceOptions, Tls};
use h2::client::SendRequest;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::{Key, Response, now_s, sign};
use super::server::{Database, Server, data};

fn pem(name: &str) -> Vec<u8> {
    fs::read(data(&format!("tls/{name}.pem"))).unwrap()
}

/// Starts a server with TLS on the cases of a file.
pub(crate) fn start(options: ServiceOptions) -> Server {
    on(Database::new("plain.cases.ndjson"), options)
}

/// Starts a server with TLS.
pub(crate) fn on(database: Database, options: ServiceOptions) -> Server {
    let tls = Tls::from_pem(&pem("cert"), &pem("key")).unwrap();
    Server::with_source(database, options, Some(tls), None)
}

/// Returns the configuration of a client that offers these protocols.
fn config(protocols: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem("cert")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// Makes a connection over TLS whose client offers these protocols.
pub(crate) fn connect(address: SocketAddr, protocols: &[&str]) -> io::Result<Stream> {
    let mut connection = ClientConnection::new(config(protocols), "localhost".try_into().unwrap()).unwrap();
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(connection, stream))
}

/// Returns the pairs of names and values of the headers that sign a request.
fn signature(key: &Key, method: &str, target: &str, body: &[u8]) -> [(&'static str, String); 3] {
    let timestamp = now_s().to_string();
    let signature = sign(&key.secret, &timestamp, method, target, body);
    [("x-app-token", key.token.clone()), ("x-app-access-ts", timestamp), ("x-app-access-sig", signature)]
}

/// A connection of a client that keeps to the protocol.
pub(crate) struct Http2 {
    runtime: Runtime,
    requests: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

/// A request that was sent.
pub(crate) struct Sent(JoinHandle<Result<Response, h2::Error>>);

impl Http2 {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (requests, connection) = runtime.block_on(async {
            let stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let connector = TlsConnector::from(config(&["h2"]));
            let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
            let (requests, connection) = h2::client::handshake(stream).await.unwrap();
            (requests, tokio::spawn(connection))
        });
        Self { runtime, requests, connection }
    }

    /// Sends a request with a body.
    pub(crate) fn send(&mut self, request: Request<()>, body: &[u8]) -> Result<Sent, h2::Error> {
        let body = Bytes::copy_from_slice(body);
        let requests = self.requests.clone();
        self.runtime.block_on(async {
            let mut requests = requests.ready().await?;
            let (response, mut stream) = requests.send_request(request, body.is_empty())?;
            if !body.is_empty() {
                // The service may have answered, and reset the stream, already.
                let _ = stream.send_data(body, true);
            }
            Ok(Sent(tokio::spawn(receive(response))))
        })
    }

    /// Sends a signed request.
    pub(crate) fn begin(&mut self, key: &Key, method: &str, target: &str, body: &[u8]) -> Sent {
        self.send(signed(key, method, target, body), body).unwrap()
    }

    /// Waits for the response to a request.
    pub(crate) fn wait(&self, sent: Sent) -> Result<Response, h2::Error> {
        self.runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(30), sent.0).await.unwrap().unwrap() })
    }

    /// Sends a signed request and returns the response.
    pub(crate) fn call(&mut self, key: &Key, method: &str, target: &str, body: &[u8]) -> Response {
        let sent = self.begin(key, method, target, body);
        self.wait(sent).unwrap_or_else(|error| panic!("{method} {target}: {error}"))
    }

    /// Sends an unsigned request and returns the response.
    pub(crate) fn plain(&mut self, method: &str, target: &str) -> Response {
        let request = Request::builder().method(method).uri(format!("https://localhost{target}"));
        let sent = self.send(request.body(()).unwrap(), b"").unwrap();
        self.wait(sent).unwrap()
    }

    /// Waits until the service has ended the connection, without an error of the protocol.
    pub(crate) fn end(self) {
        let Self { runtime, requests, connection } = self;
        let ended =
            runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), connection).await });
        drop(requests);
        if let Err(error) = ended.expect("the service ends the connection").unwrap() {
            // The client answers GOAWAY, but the service may have closed the connection already.
            assert!(error.is_io(), "{error}");
        }
    }
}

impl Sent {
    /// Resets the stream of the request.
    pub(crate) fn cancel(self) {
        self.0.abort();
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.0.is_finished()
    }
}

/// Returns the head of a signed request.
pub(crate) fn signed(key: &Key, method: &str, target: &str, body: &[u8]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(format!("https://localhost{target}"));
    for (name, value) in signature(key, method, target, body) {
        request = request.header(name, value);
    }
    let request = request.header("content-type", "application/json").header("content-length", body.len());
    request.body(()).unwrap()
}

async fn receive(response: h2::client::ResponseFuture) -> Result<Response, h2::Error> {
    let (head, mut stream) = response.await?.into_parts();
    let mut body = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece?;
        stream.flow_control().release_capacity(piece.len())?;
        body.extend_from_slice(&piece);
    }
    let text = |value: &axum::http::HeaderValue| value.to_str().unwrap().to_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    Ok(Response { status: head.status.as_u16(), headers, body })
}

/// The types of frames.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// The flags of frames.
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The settings of a client.
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection of a client that sends any frames.
pub(crate) struct Frames {
    stream: Stream,
    input: VecDeque<u8>,
    last_stream: u32,
}

/// A frame of the service.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frames {
    /// Begins a connection with these settings.
    pub(crate) fn new(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let mut own = Self::silent(address);
        own.stream.write_all(PREFACE).unwrap();
        let settings = settings
            .iter()
            .flat_map(|(name, value)| name.to_be_bytes().into_iter().chain(value.to_be_bytes()));
        own.send(SETTINGS, 0, 0, &settings.collect::<Vec<_>>()).unwrap();
        own
    }

    /// Makes a connection that has agreed on HTTP/2, and sends nothing.
    pub(crate) fn silent(address: SocketAddr) -> Self {
        let stream = connect(address, &["h2"]).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"h2"[..]));
        Self { stream, input: VecDeque::new(), last_stream: u32::MAX }
    }

    /// Sends a frame.
    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        self.stream.write_all(&frame(kind, flags, stream, payload))
    }

    /// Sends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Returns the number of a new stream.
    pub(crate) fn next_stream(&mut self) -> u32 {
        self.last_stream = self.last_stream.wrapping_add(2);
        self.last_stream
    }

    /// Sends the head of a request, and returns the number of its stream.
    pub(crate) fn head(&mut self, flags: u8, head: &[u8]) -> u32 {
        let stream = self.next_stream();
        self.send(HEADERS, flags | END_HEADERS, stream, head).unwrap();
        stream
    }

    /// Sends a signed request without a body, and returns the number of its stream.
    pub(crate) fn get(&mut self, key: &Key, target: &str) -> u32 {
        self.head(END_STREAM, &signed_head(key, "GET", target, b""))
    }

    /// Returns the next frame, or `None` at the end of the connection.
    pub(crate) fn receive(&mut self) -> Option<Frame> {
        let head = self.take(9)?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let payload = self.take(length)?;
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut piece = [0; 16 << 10];
        while self.input.len() < count {
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(read) => self.input.extend(&piece[..read]),
                Err(error) => {
                    let is_silent =
                        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
                    assert!(!is_silent, "the service sends nothing");
                    return None;
                }
            }
        }
        Some(self.input.drain(..count).collect())
    }

    /// Returns the first frame of a kind, or `None` if the connection ends before.
    pub(crate) fn receive_kind(&mut self, kind: u8) -> Option<Frame> {
        std::iter::from_fn(|| self.receive()).find(|frame| frame.kind == kind)
    }

    /// Reads to the end of the connection. Returns its last frame GOAWAY, and the time that this took.
    pub(crate) fn end(&mut self) -> (Option<Frame>, Duration) {
        let start = Instant::now();
        let last = std::iter::from_fn(|| self.receive()).filter(|frame| frame.kind == GOAWAY).last();
        (last, start.elapsed())
    }

    /// Reads a response slowly until the service cuts it off: `more` bytes, then a pause. Returns the number of its bytes that were read.
    ///
    /// # Panics
    /// Reading takes longer than `most`.
    pub(crate) fn read_slowly(
        &mut self,
        stream: u32,
        more: u32,
        (pause, most): (Duration, Duration),
    ) -> usize {
        let (start, mut received) = (Instant::now(), 0);
        for turn in 1.. {
            for opened in [0, stream] {
                let _ = self.send(WINDOW_UPDATE, 0, opened, &more.to_be_bytes());
            }
            while received < turn * more as usize {
                let Some(frame) = self.receive() else { return received };
                received += if frame.kind == DATA { frame.payload.len() } else { 0 };
            }
            std::thread::sleep(pause);
            assert!(start.elapsed() < most, "{received} bytes were read, and it goes on");
        }
        received
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream.sock
    }
}

impl Frame {
    /// Returns the error code of a frame RST_STREAM or GOAWAY.
    pub(crate) fn error(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }
}

/// Returns the bytes of a frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Returns a header in HPACK, as a literal.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        // An integer with a prefix of seven bits.
        let mut rest = text.len();
        if rest < 127 {
            bytes.push(rest as u8);
        } else {
            bytes.push(127);
            rest -= 127;
            while rest >= 128 {
                bytes.push(rest as u8 | 128);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// Returns the head of a request in HPACK.
pub(crate) fn plain_head(method: &str, target: &str) -> Vec<u8> {
    let fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", target)];
    fields.into_iter().flat_map(|(name, value)| field(name, value)).collect()
}

/// Returns the head of a signed request in HPACK.
pub(crate) fn signed_head(key: &Key, method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let mut head = plain_head(method, target);
    for (name, value) in signature(key, method, target, body) {
        head.extend(field(name, &value));
    }
    head
}
