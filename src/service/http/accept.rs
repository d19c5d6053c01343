//! Accepts connections on the public port, within the limits of the service and of each peer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::connection::Server;
use super::peers::{ClientAddress, Peer, Peers};

/// The maximum number of connections over a limit that get a 503 response at the same time. Further connections stay in the accept
/// queue. But those of a peer over its own limit are closed immediately.
const MAX_REJECTING: usize = 64;

/// Accepts connections. Serves each connection in a separate task. Runs until the future is dropped.
pub(super) async fn accept(server: &Arc<Server>, listener: &TcpListener, graceful: &GracefulShutdown) {
    let options = &server.shared.options;
    let slots = Arc::new(Semaphore::new(options.connections.min(Semaphore::MAX_PERMITS)));
    let reject_slots = Arc::new(Semaphore::new(MAX_REJECTING));
    let peers = Peers::new(options.connections_per_peer);
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                if !is_connection_error(&error) {
                    // The process probably has no free file descriptor. A connection that ends frees a descriptor.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                continue;
            }
        };
        let peer = Peer::of(address.ip());
        let of_peer = peers.acquire(peer);
        let (slot, is_admitted) = match (Arc::clone(&slots).try_acquire_owned(), &of_peer) {
            (Ok(slot), Some(_)) => (Ok(slot), true),
            (_, None) => match Arc::clone(&reject_slots).try_acquire_owned() {
                Ok(slot) => (Ok(slot), false),
                // The connection is closed immediately. A peer over its limit must not delay the connections of other peers.
                Err(_) => continue,
            },
            (Err(_), _) => (Arc::clone(&reject_slots).acquire_owned().await, false),
        };
        let (server, watcher) = (Arc::clone(server), graceful.watcher());
        server.shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let _slots = (slot, of_peer);
            let address = ClientAddress(address.ip().to_canonical());
            server.serve(stream, (peer, address), watcher, is_admitted).await;
            server.shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Returns true if an error of `accept` is about a single connection. Then the next call of `accept` may succeed immediately.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
