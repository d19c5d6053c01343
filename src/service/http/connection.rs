//! Serves one connection of the public port: its TLS handshake, and its HTTP requests.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::client_watch::{ClientWatch, WatchedStream};
use super::peers::{ClientAddress, Peer};
use super::respond::Responder;
use super::write_timeout::{ResponseDeadline, WriteTimeout};
use crate::service::state::ServiceState;

/// The timeout for a connection over the limit: it applies to the TLS handshake, and to the request head.
const REJECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The size of the read buffer for request heads, in bytes. A larger request head is rejected.
const HEAD_BYTES: usize = 64 << 10;

/// The state that all connections of the public port share.
pub(super) struct Server {
    pub(super) shared: Arc<ServiceState>,
    responder: Responder,
}

impl Server {
    pub(super) fn new(shared: Arc<ServiceState>) -> Self {
        Self { responder: Responder::new(Arc::clone(&shared)), shared }
    }

    /// Serves one connection, from its TLS handshake (if TLS is enabled) to its end.
    pub(super) async fn serve(
        &self,
        stream: TcpStream,
        peer: (Peer, ClientAddress),
        watcher: Watcher,
        is_admitted: bool,
    ) {
        // Each response is written in one piece, so Nagle's algorithm would only delay small responses.
        let _ = stream.set_nodelay(true);
        close_if_silent(&stream, self.shared.options.write_timeout);
        let deadline = ResponseDeadline::new(self.shared.options.write_timeout);
        let watch = ClientWatch::default();
        let stream = WriteTimeout::new(WatchedStream::new(stream, watch.clone()), deadline.clone());
        let client = (peer, deadline, watch);
        let timeout = if is_admitted { self.shared.options.read_timeout } else { REJECT_TIMEOUT };
        let Some(tls) = &self.shared.tls else {
            return self.serve_http(stream, client, watcher, timeout, is_admitted).await;
        };
        match tokio::time::timeout(timeout, tls.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => self.serve_http(stream, client, watcher, timeout, is_admitted).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    /// Answers the HTTP requests of one connection.
    async fn serve_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        ((peer, address), deadline, watch): ((Peer, ClientAddress), ResponseDeadline, ClientWatch),
        watcher: Watcher,
        timeout: Duration,
        is_admitted: bool,
    ) {
        let service = service_fn(|mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(address);
            request.extensions_mut().insert(deadline.clone());
            request.extensions_mut().insert(watch.clone());
            self.responder.respond(request, is_admitted)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timeout)
            // A client that has closed its sending side still waits for its responses.
            .half_close(true)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Makes the system close a connection whose peer acknowledges nothing for the write timeout.
///
/// A peer may vanish without a word. The heartbeats of a stream of events are small, so the system keeps them for many minutes
/// before it gives up. Meanwhile, the service would take the client for one that listens.
#[cfg(target_os = "linux")]
fn close_if_silent(stream: &TcpStream, timeout: Duration) {
    let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    // Without the option, the connection ends later.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, millis);
}

#[cfg(not(target_os = "linux"))]
fn close_if_silent(_: &TcpStream, _: Duration) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_system_gives_up_a_silent_client_after_the_write_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        close_if_silent(&stream, Duration::from_secs(30));
        assert_eq!(rustix::net::sockopt::tcp_user_timeout(&stream), Ok(30_000));
    }
}
