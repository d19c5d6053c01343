//! A minimal HTTP client that sends exactly the bytes that a test gives it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use casefilter::service::ErrorCode;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

/// A token and its secret.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) token: String,
    pub(crate) secret: String,
}

/// A persistent connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

pub(crate) fn sign(secret: &str, timestamp: &str, method: &str, target: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    for part in [timestamp.as_bytes(), method.as_bytes(), target.as_bytes(), body] {
        mac.update(part);
    }
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the signed head of a request, without the final empty line.
pub(crate) fn head(key: &Key, method: &str, target: &str, body: &[u8]) -> String {
    let timestamp = now_s().to_string();
    let signature = sign(&key.secret, &timestamp, method, target, body);
    format!(
        "{method} {target} HTTP/1.1\r\nHost: test\r\nX-App-Token: {}\r\nX-App-Access-Ts: {timestamp}\r\n\
         X-App-Access-Sig: {signature}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        key.token,
        body.len()
    )
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn of(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads one response.
    pub(crate) fn receive(&mut self) -> io::Result<Response> {
        receive(&mut self.stream)
    }

    /// Reads a response without a body and returns its status.
    pub(crate) fn head_status(&mut self) -> u16 {
        let mut lines = self.stream.by_ref().lines().map(Result::unwrap);
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        lines.take_while(|line| !line.is_empty()).for_each(drop);
        status
    }

    /// Reads one chunk of a response in chunks. Returns `None` at its end.
    pub(crate) fn chunk(&mut self) -> io::Result<Option<String>> {
        Ok(self.chunk_bytes()?.map(|chunk| String::from_utf8(chunk).unwrap()))
    }

    /// Like [`chunk`](Self::chunk), for a chunk that is not text.
    pub(crate) fn chunk_bytes(&mut self) -> io::Result<Option<Vec<u8>>> {
        chunk_bytes(&mut self.stream)
    }

    /// Sends a signed request and returns the response.
    pub(crate) fn call(&mut self, key: &Key, method: &str, target: &str, body: &[u8]) -> Response {
        let mut request = head(key, method, target, body).into_bytes();
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body);
        self.send(&request).unwrap();
        self.receive().unwrap_or_else(|error| panic!("{method} {target}: {error}"))
    }

    /// Sends an unsigned GET request and returns the response.
    pub(crate) fn get(&mut self, target: &str) -> Response {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes()).unwrap();
        self.receive().unwrap()
    }

    /// Reads until the server closes the connection, and returns the number of bytes.
    pub(crate) fn drain(&mut self) -> io::Result<usize> {
        io::copy(&mut self.stream.by_ref(), &mut io::sink()).map(|count| count as usize)
    }
}

/// Reads one response.
pub(crate) fn receive(stream: &mut impl BufRead) -> io::Result<Response> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status line: {line}"));
    let mut headers = Vec::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let mut answer = Response { status, headers, body: Vec::new() };
    let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
    answer.body.resize(length, 0);
    stream.read_exact(&mut answer.body)?;
    Ok(answer)
}

/// Reads one chunk of a response in chunks. Returns `None` at its end.
pub(crate) fn chunk_bytes(stream: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let length = usize::from_str_radix(line.trim_end(), 16).map_err(|_| io::ErrorKind::UnexpectedEof)?;
    let mut chunk = vec![0; length + 2];
    stream.read_exact(&mut chunk)?;
    chunk.truncate(length);
    Ok((length > 0).then_some(chunk))
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Checks the envelope of an error response and returns its description.
    pub(crate) fn failure(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        let envelope = self.json();
        assert_eq!(envelope["code"], status);
        assert_eq!(envelope["correlationId"].as_str(), self.header("x-correlation-id"));
        assert_eq!(self.header("x-correlation-id").unwrap().len(), 32);
        let known = ["code", "correlationId", "description", "errorCode", "type"];
        assert!(envelope.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())));
        let (number, error_type) = self.code();
        let row = ErrorCode::ALL.iter().find(|row| u64::from(row.number()) == number);
        let row = row.unwrap_or_else(|| panic!("{number} is not in the table: {envelope}"));
        assert_eq!((row.error_type(), row.status()), (error_type.as_str(), status), "{envelope}");
        envelope["description"].as_str().unwrap().to_owned()
    }

    /// Returns `errorCode` and `type` from the envelope of an error response.
    pub(crate) fn code(&self) -> (u64, String) {
        let envelope = self.json();
        let number = envelope["errorCode"].as_u64().unwrap_or_else(|| panic!("no errorCode: {envelope}"));
        (number, envelope["type"].as_str().unwrap_or_else(|| panic!("no type: {envelope}")).to_owned())
    }

    /// Checks that the response is a 201 and returns its body.
    pub(crate) fn created(&self) -> Value {
        assert_eq!(self.status, 201, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        self.json()
    }

    /// Checks that the response is a 200 and returns its body.
    pub(crate) fn good(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.json()
    }
}
