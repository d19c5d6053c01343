//! Serves one connection over HTTP/1.1.

use std::pin::pin;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use super::client_watch::ClientWatch;
use super::closing::OpenConnection;
use super::peers::Client;
use super::respond::Responder;
use super::write_timeout::ResponseDeadline;

/// The size of the read buffer for request heads, in bytes. A larger request head is rejected.
const HEAD_BYTES: usize = 64 << 10;

/// A connection.
pub(super) struct Http1<'s> {
    pub(super) responder: &'s Responder,
    pub(super) client: Client,
    /// The maximum time to receive a request head, also from the end of the request before it.
    pub(super) read_timeout: Duration,
    pub(super) deadline: ResponseDeadline,
    pub(super) watch: ClientWatch,
}

impl Http1<'_> {
    /// Serves the connection to its end.
    pub(super) async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        mut open: OpenConnection,
    ) {
        let Client { peer, address, is_admitted } = self.client;
        let service = service_fn(|mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(address);
            request.extensions_mut().insert(self.deadline.clone());
            request.extensions_mut().insert(self.watch.clone());
            self.responder.respond(request, is_admitted)
        });
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.read_timeout)
                // A client that has closed its sending side still waits for its responses.
                .half_close(true)
                .max_buf_size(HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), service)
        );
        let served = tokio::select! {
            biased;
            served = connection.as_mut() => served,
            () = open.asked_to_close() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}
