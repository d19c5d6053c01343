//! Serves one connection of the public port: its TLS handshake, and its HTTP requests.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use super::client_watch::{ClientWatch, WatchedStream};
use super::closing::OpenConnection;
use super::http1::Http1;
use super::http2::Http2;
use super::peers::Client;
use super::places::Places;
use super::respond::Responder;
use super::tls::HTTP2;
use super::write_timeout::{ResponseDeadline, WriteTimeout};
use crate::service::state::ServiceState;

/// The timeout for a connection over the limit: it applies to the TLS handshake, to the request head, and to the response.
const REJECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum lifetime of an HTTP/2 connection over the limit, after its TLS handshake.
const REJECTED_LIFETIME: Duration = Duration::from_secs(3);

/// The state that all connections of the public port share.
pub(super) struct Server {
    pub(super) shared: Arc<ServiceState>,
    pub(super) places: Arc<Places>,
    responder: Arc<Responder>,
}

impl Server {
    pub(super) fn new(shared: Arc<ServiceState>) -> Self {
        let places = Arc::new(Places::new(&shared.options));
        Self { places, responder: Arc::new(Responder::new(Arc::clone(&shared))), shared }
    }

    /// Serves one connection, from its TLS handshake (if TLS is enabled) to its end.
    pub(super) async fn serve(&self, stream: TcpStream, client: Client, open: OpenConnection) {
        // Each response is written in one piece, so Nagle's algorithm would only delay small responses.
        let _ = stream.set_nodelay(true);
        let options = &self.shared.options;
        close_if_silent(&stream, options.write_timeout);
        let (read_timeout, write_timeout) = match client.is_admitted {
            true => (options.read_timeout, options.write_timeout),
            false => (REJECT_TIMEOUT, REJECT_TIMEOUT),
        };
        let deadline = ResponseDeadline::new(write_timeout);
        let watch = ClientWatch::new();
        let stream = WriteTimeout::new(WatchedStream::new(stream, watch.clone()), deadline.clone());
        let transport = deadline.clone();
        let http1 = Http1 { responder: &self.responder, client, read_timeout, deadline, watch };
        let Some(tls) = &self.shared.tls else {
            return http1.serve(stream, open).await;
        };
        let acceptor = tls.acceptor(options.http2);
        let stream = match tokio::time::timeout(read_timeout, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => return tracing::debug!("a TLS handshake took too long"),
        };
        if stream.get_ref().1.alpn_protocol() != Some(HTTP2) {
            return http1.serve(stream, open).await;
        }
        let (responder, places) = (Arc::clone(&self.responder), Arc::clone(&self.places));
        let is_admitted = client.is_admitted;
        let http2 = Http2 { responder, places, client, read_timeout, write_timeout, transport, open };
        match is_admitted {
            true => http2.serve(stream).await,
            // There are few places for connections over the limit. So such a connection ends even if its client sends further
            // requests.
            false => drop(tokio::time::timeout(REJECTED_LIFETIME, http2.serve(stream)).await),
        }
    }
}

/// Makes the system close a connection whose peer acknowledges nothing for the write timeout.
///
/// A peer may vanish without closing its connection. The heartbeats of a stream of events are small, so the system buffers them for
/// many minutes before it gives up. In this time, the service would treat the client as connected.
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
