//! Serves one connection over HTTP/1.1.

use std::error::Error;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
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
    /// The maximum time to receive a request head. If the connection had an earlier request, the time starts at the end of that
    /// request.
    pub(super) read_timeout: Duration,
    pub(super) deadline: ResponseDeadline,
    pub(super) watch: ClientWatch,
}

impl Http1<'_> {
    /// Serves the connection to its end.
    pub(super) async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        open: OpenConnection,
    ) {
        let Client { peer, address, is_admitted } = self.client;
        let service = service_fn(|mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(address);
            request.extensions_mut().insert(self.deadline.clone());
            request.extensions_mut().insert(self.watch.clone());
            self.responder.respond(request, is_admitted)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.read_timeout)
            // A client that has closed its sending side still waits for its responses.
            .half_close(true)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let served = run_connection(connection, open).await;
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Runs a connection to its end. When it is asked to close, it ends after the response in progress.
pub(in crate::service) async fn run_connection<I, S>(
    connection: http1::Connection<I, S>,
    mut open: OpenConnection,
) -> hyper::Result<()>
where
    I: Read + Write + Unpin,
    S: HttpService<Incoming, ResBody = Body>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        served = connection.as_mut() => served,
        () = open.asked_to_close() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}
