//! Connections of clients over TLS, which go on after each restart of the service, and requests on the admin socket.

use std::io::{self, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_rustls::rustls::{ClientConnection, StreamOwned};

use super::super::client::{Key, Response, chunk_bytes, head, receive};
use super::Load;

/// The time after which a request that is not answered fails the test.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

type Stream = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// A connection of a client.
pub(super) struct Connection<'l> {
    load: &'l Load,
    /// The open connection, and the epoch in which it was opened.
    open: Option<(Stream, u64)>,
}

/// A response, after as many attempts as were needed.
pub(super) struct Answer {
    pub(super) response: Response,
    /// True if an earlier attempt may have been executed: its response was lost when the service ended.
    pub(super) was_lost: bool,
}

impl<'l> Connection<'l> {
    pub(super) fn new(load: &'l Load) -> Self {
        Self { load, open: None }
    }

    /// Connects, unless there is a connection of this epoch. Waits while the service is down.
    fn connected(&mut self) -> &mut Stream {
        let start = Instant::now();
        loop {
            let epoch = self.load.epoch();
            if self.open.as_ref().is_none_or(|(_, own)| *own != epoch) {
                self.open = self.connect().ok().map(|stream| (stream, epoch));
            }
            if self.open.is_some() {
                return self.open.as_mut().map(|(stream, _)| stream).unwrap();
            }
            self.load.check_patience(start, "the service does not listen");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn connect(&self) -> io::Result<Stream> {
        let stream = TcpStream::connect(self.load.address())?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let name = "localhost".try_into().unwrap();
        let connection = ClientConnection::new(Arc::clone(&self.load.tls), name).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        // The handshake.
        stream.flush()?;
        Ok(BufReader::new(stream))
    }

    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        let stream = self.connected().get_mut();
        stream.write_all(request)?;
        stream.flush()
    }

    fn try_call(&mut self, key: &Key, method: &str, target: &str, body: &[u8]) -> io::Result<Response> {
        let mut request = (head(key, method, target, body) + "\r\n").into_bytes();
        request.extend_from_slice(body);
        self.send(&request)?;
        receive(self.connected_stream()?)
    }

    fn connected_stream(&mut self) -> io::Result<&mut Stream> {
        self.open.as_mut().map(|(stream, _)| stream).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Sends a signed request until it is answered. A request may get 503 or no answer only while the service is down. No request
    /// gets any other 5xx status.
    pub(super) fn call(&mut self, name: &str, method: &str, target: &str, body: &[u8]) -> Answer {
        let (start, mut was_lost) = (Instant::now(), false);
        loop {
            self.load.check_patience(start, target);
            let (epoch, key) = (self.load.epoch(), self.load.key(name));
            match self.try_call(&key, method, target, body) {
                Ok(response) => {
                    self.load.note(&format!("{method} {}", path_of(target)), &response);
                    // The secret was rotated after it was read.
                    let is_rotated = response.status == 401 && self.load.key(name).secret != key.secret;
                    if response.status < 500 && !is_rotated {
                        return Answer { response, was_lost };
                    }
                    assert!(
                        is_rotated || response.status == 503 && self.load.was_down_since(epoch),
                        "{name}: {method} {target}: {} {}",
                        response.status,
                        response.text()
                    );
                }
                Err(error) => {
                    assert!(self.load.was_down_since(epoch), "{name}: {method} {target}: {error}");
                    self.load.note_lost();
                    was_lost = true;
                }
            }
            if self.load.was_down_since(epoch) {
                self.open = None;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Opens a stream of events after an event. Returns the response if it is not a stream.
    pub(super) fn open_stream(
        &mut self,
        name: &str,
        target: &str,
        after: u64,
    ) -> io::Result<Result<(), Response>> {
        let request =
            head(&self.load.key(name), "GET", target, b"") + &format!("Last-Event-ID: {after}\r\n\r\n");
        self.send(request.as_bytes())?;
        let response = receive(self.connected_stream()?)?;
        self.load.note(&format!("GET {}", path_of(target)), &response);
        Ok(if response.status == 200 { Ok(()) } else { Err(response) })
    }

    /// Returns the next chunk of a stream. Returns `None` at its end.
    pub(super) fn chunk(&mut self) -> io::Result<Option<String>> {
        let chunk = chunk_bytes(self.connected_stream()?)?;
        Ok(chunk.map(|chunk| String::from_utf8(chunk).unwrap()))
    }

    /// Closes the connection.
    pub(super) fn close(&mut self) {
        self.open = None;
    }
}

/// Returns a target without its query, and without the ids in it.
fn path_of(target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    let is_id = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit()) && part != "v2";
    let short = |part| if is_id(part) || ["anna", "dana"].contains(&part) { "…" } else { part };
    path.split('/').map(short).collect::<Vec<_>>().join("/")
}

/// Sends a request to the admin socket until it is answered. Returns the status, the body, and true if an earlier attempt may have
/// been executed.
pub(super) fn operate(load: &Load, target: &str, body: &str) -> (u16, Value, bool) {
    let (start, mut was_lost) = (Instant::now(), false);
    loop {
        load.check_patience(start, target);
        let epoch = load.epoch();
        let Ok(stream) = UnixStream::connect(load.database.folder().join("cases.db.sock")) else {
            assert!(load.was_down_since(epoch), "POST {target}: the socket is gone");
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        match try_operate(stream, target, body) {
            Ok(response) => {
                load.note(&format!("admin {}", path_of(target)), &response);
                if response.status < 500 {
                    return (response.status, response.json(), was_lost);
                }
                assert!(load.was_down_since(epoch), "POST {target}: {} {}", response.status, response.text());
            }
            Err(error) => {
                assert!(load.was_down_since(epoch), "POST {target}: {error}");
                load.note_lost();
                was_lost = true;
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn try_operate(mut stream: UnixStream, target: &str, body: &str) -> io::Result<Response> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let head =
        format!("POST {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes())?;
    receive(&mut BufReader::new(stream))
}
